//! Writer: destages dirty pages of the write buffer. It builds program units, queries the router for their
//! streams and the placement policy for their plane groups, and triggers the next GC steps.

mod balance;
mod build;
mod collect;
mod done;
mod failing;
mod losses;
mod plane_groups;
mod program_unit;
pub mod queue;

use std::fmt::{self, Write};
use std::ops::Range;

use wordline_device::Command;
use wordline_flash::{Task, Ticket};
use wordline_ftl::ActivePolicies;
use wordline_ftl::blocks::{BlockManager, ModeShare, Streams};
use wordline_ftl::{Config, Ftl};
use wordline_kernel::{Schedule, state};
use wordline_nand::Operation;
use wordline_nand::{CellMode, PlaneGroupId};

use crate::cache::Cache;
use crate::cache::buffer::EntryId;
use crate::engines::Core;
use crate::event::Event;
use balance::Balance;
use plane_groups::PlaneGroups;
use program_unit::ProgramUnit;
use queue::WriteQueue;
use queue::units::{Counts, SubRequests};

/// Destages dirty pages of the write buffer to flash.
pub struct Writer {
    /// Pages on their way from the buffer to a program unit.
    queue: WriteQueue,
    /// Streams that each plane group accepts, and its program unit in progress.
    rows: PlaneGroups,
    /// Program units that may be programmed outside their assigned plane group.
    balance: Balance,
}

state!(Writer { parts { queue, rows, balance } });

/// Whether the end of a task may let pages of the buffer be programmed.
#[inline]
pub(crate) fn unblocks_writes(task: &Task) -> bool {
    match task.ticket {
        Ticket::Request(_) | Ticket::Prefetch(_) | Ticket::Guess(_) | Ticket::Scan(_) => false,
        Ticket::Gc(..) => task.operation == Operation::Erase,
        Ticket::Rmw(_)
        | Ticket::UnitRmw(_)
        | Ticket::Table(_)
        | Ticket::HostUnit(_)
        | Ticket::TableUnit(_) => true,
    }
}

impl Writer {
    /// Writer without pages.
    pub(crate) fn new(ftl: &Ftl) -> Self {
        let Ftl { config, policies, blocks, .. } = ftl;
        let shares = &config.mode_shares(|pool, mode| policies.mode_streams(pool, mode));
        let (streams, has_homes) = (blocks.streams(), policies.placement.has_homes());
        let units = new_units(config, streams, shares, has_homes);
        let subs = new_sub_requests(config, policies);
        Self {
            queue: WriteQueue::new(units, streams.host.into(), has_homes, subs),
            rows: PlaneGroups::new(config, pools_of_streams(config, policies, streams), shares),
            balance: Balance::new(config.pools.rows()),
        }
    }

    /// Streams that each plane group accepts, and its program unit in progress.
    #[inline]
    pub(crate) fn rows(&self) -> &PlaneGroups {
        &self.rows
    }

    /// Whether host writes are split into sub-requests for several pools.
    #[inline]
    pub(crate) fn has_units(&self) -> bool {
        self.queue.subs().is_some()
    }

    /// Writes a report of the pages in the writer, with at most `lists` lists.
    pub(crate) fn describe(&self, lists: usize, out: &mut String) -> fmt::Result {
        writeln!(
            out,
            "writer: {} pages wait for RMW reads, {} being programmed",
            self.queue.filling(),
            self.rows.programming()
        )?;
        self.queue.describe(lists, out)
    }

    /// Lengths of the lists whose lengths follow from the configuration.
    pub(crate) fn shape(&self) -> Vec<usize> {
        let mut lengths = vec![self.balance.rows()];
        lengths.extend(self.queue.lists().shape());
        lengths.extend(self.rows.shape());
        lengths
    }

    /// Checks a loaded state against the cache and the number of logical `pages`.
    pub(crate) fn check_loaded(
        &self,
        cache: &Cache,
        blocks: &BlockManager,
        pages: u32,
    ) -> Result<(), String> {
        self.queue.check_loaded(cache, blocks)?;
        self.rows.check_loaded(cache, pages)
    }

    /// Checks the valid-page counts of units, and the page counts of the pools.
    pub(crate) fn audit(&self, core: &Core) {
        if let Some(subs) = self.queue.subs() {
            subs.audit(core);
        }
    }

    /// Sub-requests of a device with several pools.
    pub(crate) fn subs(&self) -> &SubRequests {
        self.queue.subs().expect("the device has several pools")
    }

    /// Counts of sub-requests by pool; `None` in a device with one pool.
    pub fn sub_requests(&self) -> Option<Counts> {
        self.queue.subs().map(SubRequests::counts)
    }

    /// Drops all pages, in a power loss.
    pub(crate) fn forget(&mut self) {
        self.queue.forget();
        self.rows.forget();
    }

    /// Puts a page of a write into the buffer. `None` if the write has to wait, because the buffer is full.
    /// With the buffer off, a write also waits while the page or another page of its unit is on its way to
    /// flash.
    #[inline(always)]
    pub(crate) fn admit_page(&self, command: &Command, page: u32, core: &mut Core) -> Option<EntryId> {
        self.queue.admit_page(command, page, core)
    }

    /// Destages an entry that the host just wrote, if it is waiting and the destage policy or a design
    /// decides so.
    pub(crate) fn destage_if_due(
        &mut self,
        id: EntryId,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        self.queue.destage_if_due(id, core, calendar);
    }

    /// Destages a dirty entry, together with the other pages of its coalesced unit, if any.
    pub(crate) fn destage(&mut self, id: EntryId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        self.queue.destage(id, core, calendar);
    }

    /// Forces the flush of an entry.
    pub(crate) fn force(&mut self, id: EntryId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        self.queue.force(id, core, calendar);
    }

    /// Forces the flush of the entries of these pages, in order.
    pub(crate) fn force_pages(
        &mut self,
        pages: Range<u32>,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        self.queue.force_pages(pages, core, calendar);
    }

    /// Forces the flush of the pages being destaged that belong to this flush epoch or an older one.
    pub(crate) fn force_covered(&mut self, epoch: u64, core: &mut Core) {
        self.queue.force_covered(epoch, core);
    }
}

/// Smallest program unit of each list of complete pages, in pages.
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

/// Pool of each host stream, which the router or a design assigns. Translation pages and discard records go
/// to the last pool.
fn pools_of_streams(config: &Config, policies: &ActivePolicies, streams: Streams) -> Vec<usize> {
    let pools = config.pools.count();
    let pool_of = |stream| match stream < policies.host_streams() {
        true if pools > 1 => usize::from(policies.pool_of_stream(stream)),
        true => 0,
        false => pools - 1,
    };
    (0..streams.host).map(pool_of).collect()
}

/// Sub-requests; `None` in a device with one pool.
fn new_sub_requests(config: &Config, policies: &ActivePolicies) -> Option<Box<SubRequests>> {
    if config.pools.count() == 1 {
        return None;
    }
    let pools = (0..policies.host_streams()).map(|stream| policies.pool_of_stream(stream)).collect();
    Some(Box::new(SubRequests::new(config, pools)))
}
