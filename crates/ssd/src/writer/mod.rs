//! The writer: moves dirty pages of the buffer to flash. It queries the router for the stream of a page and
//! the placement for its plane group, builds program units, tracks which plane groups accept one, and lets GC
//! of plane groups continue.

mod balance;
mod build;
mod collect;
mod done;
mod plane_groups;
mod program_unit;
pub mod queue;

use std::fmt::{self, Write};
use std::ops::Range;

use wordline_kernel::{Schedule, state};
use wordline_nand::{CellMode, PlaneGroupId};

use crate::base::Base;
use crate::blocks::{BlockManager, ModeShare, Streams};
use crate::cache::Cache;
use crate::cache::buffer::EntryId;
use crate::command::Command;
use crate::config::Config;
use crate::engines::Core;
use crate::event::Event;
use crate::policy::placement::PlaneGroupSet;
use balance::Balance;
use plane_groups::PlaneGroups;
pub(crate) use program_unit::PageCounts;
use program_unit::ProgramUnit;
use queue::WriteQueue;
use queue::units::{Counts, SubRequests};

/// Moves dirty pages of the buffer to flash.
pub struct Writer {
    /// Pages on their way to a program unit.
    queue: WriteQueue,
    /// The streams that each plane group accepts, and the program unit that is programmed there.
    rows: PlaneGroups,
    /// Program units that wait for a plane group and may go to another.
    balance: Balance,
}

state!(Writer { parts { queue, rows, balance } });

impl Writer {
    /// A writer without pages.
    pub(crate) fn new(base: &Base) -> Self {
        let shares = &base.mode_shares();
        let streams = base.space.streams();
        let units = new_units(&base.config, streams, shares, base.has_homes);
        Self {
            queue: WriteQueue::new(units, streams.host.into(), base.has_homes, new_sub_requests(base)),
            rows: PlaneGroups::new(base, shares),
            balance: Balance::new(base.config.pools.rows()),
        }
    }

    /// Whether a plane group has begun to accept a stream, or has failed, since the last move.
    #[inline]
    pub(crate) fn has_opened(&self) -> bool {
        self.rows.has_opened()
    }

    /// Whether units of pages go to several pools.
    #[inline]
    pub(crate) fn has_units(&self) -> bool {
        self.queue.subs().is_some()
    }

    /// Whether nothing is being programmed.
    #[inline]
    pub(crate) fn has_no_programs(&self) -> bool {
        self.rows.programming() == 0
    }

    /// The plane groups that accept a program unit of tables.
    pub(crate) fn groups_for_tables(&self) -> &PlaneGroupSet {
        self.rows.of_all().last().expect("there is a stream of the host")
    }

    /// The plane groups that accept a program unit of a host stream.
    pub(crate) fn groups_of(&self, stream: usize) -> &PlaneGroupSet {
        self.rows.of(stream)
    }

    /// The program unit that is programmed in a plane group.
    pub(crate) fn group(&self, row: PlaneGroupId) -> &ProgramUnit {
        self.rows.group(row)
    }

    /// Writes a report of the pages in flight and waiting, with at most this many lists.
    pub(crate) fn describe(&self, lists: usize, out: &mut String) -> fmt::Result {
        writeln!(
            out,
            "writer: {} pages wait for RMW reads, {} being programmed",
            self.queue.filling(),
            self.rows.programming()
        )?;
        self.queue.describe(lists, out)
    }

    /// Report of the streams that a plane group accepts.
    pub(crate) fn describe_group(&self, row: PlaneGroupId) -> String {
        format!(
            "accepts streams {:b}, program in progress {}",
            self.rows.accepted_of(row),
            self.rows.is_busy(row)
        )
    }

    /// Lengths of the lists whose lengths follow from the configuration.
    pub(crate) fn shape(&self) -> Vec<usize> {
        let mut lengths = vec![self.balance.rows()];
        lengths.extend(self.queue.lists().shape());
        lengths.extend(self.rows.shape());
        lengths
    }

    /// Checks a loaded state: it writes entries of the cache, or one of `pages` pages.
    pub(crate) fn check_loaded(&self, cache: &Cache, space: &BlockManager, pages: u32) -> Result<(), String> {
        self.queue.check_loaded(cache, space)?;
        self.rows.check_loaded(cache, pages)
    }

    /// Checks the counts of valid pages of units, and the accounts of the pools.
    pub(crate) fn audit(&self, core: &Core) {
        if let Some(subs) = self.queue.subs() {
            subs.audit(core);
        }
    }

    /// The sub-requests of a device with several pools.
    pub(crate) fn subs(&self) -> &SubRequests {
        self.queue.subs().expect("the device has several pools")
    }

    /// Counts of sub-requests by their pools; none in a device with one pool.
    pub fn sub_requests(&self) -> Option<Counts> {
        self.queue.subs().map(SubRequests::counts)
    }

    /// Drops all pages on their way, in a power cut.
    pub(crate) fn forget(&mut self) {
        self.queue.forget();
        self.rows.forget();
    }

    /// Puts a page of a write into the buffer; none if it has to wait for space or, with the buffer off, for
    /// the same page or another one of its unit on their way.
    #[inline(always)]
    pub(crate) fn admit_page(&self, command: &Command, page: u32, core: &mut Core) -> Option<EntryId> {
        self.queue.admit_page(command, page, core)
    }

    /// Destages an entry that the host wrote, if the policy or a design decides so and it is waiting.
    pub(crate) fn destage_if_due(
        &mut self,
        id: EntryId,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        self.queue.destage_if_due(id, core, calendar);
    }

    /// Destages a dirty entry, with its neighbours if they belong to it.
    pub(crate) fn destage(&mut self, id: EntryId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        self.queue.destage(id, core, calendar);
    }

    /// Forces an entry out of the buffer.
    pub(crate) fn force(&mut self, id: EntryId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        self.queue.force(id, core, calendar);
    }

    /// Forces the entries of these pages out of the buffer, in order.
    pub(crate) fn force_pages(
        &mut self,
        pages: Range<u32>,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        self.queue.force_pages(pages, core, calendar);
    }

    /// Forces the pages in flight of a flush epoch and of older ones.
    pub(crate) fn force_covered(&mut self, epoch: u64, core: &mut Core) {
        self.queue.force_covered(epoch, core);
    }
}

/// The smallest program unit of each list of complete pages.
fn new_units(config: &Config, streams: Streams, shares: &[Vec<ModeShare>], has_homes: bool) -> Vec<u32> {
    let lists = usize::from(streams.host) as u32;
    let least_unit = |share: &ModeShare| match share.mode {
        CellMode::Mlc if config.file.again() > 0 => share.reprogram_unit(),
        _ => share.unit,
    };
    let of_host =
        |row| shares[config.pools.number_of_group(row)].iter().filter(|share| share.streams.host != 0);
    let unit =
        |row| of_host(row).fold(config.pools.per_program(row), |least, share| least.min(least_unit(share)));
    match has_homes {
        true => (0..config.pools.rows() * lists).map(|list| unit(PlaneGroupId(list / lists))).collect(),
        false => vec![config.pools.all_groups().map(unit).min().unwrap_or(1); lists as usize],
    }
}

/// The sub-requests of a device with several pools.
fn new_sub_requests(base: &Base) -> Option<Box<SubRequests>> {
    let Base { config, policies, .. } = base;
    if config.pools.count() == 1 {
        return None;
    }
    let pools = (0..policies.host_streams()).map(|stream| policies.pool_of_stream(stream)).collect();
    Some(Box::new(SubRequests::new(config, pools)))
}
