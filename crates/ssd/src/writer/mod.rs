//! The writer: it brings dirty pages of the buffer to flash. It asks the router for a page's stream and the placement for its row,
//! forms program units, knows which rows accept one, and says when a row goes on cleaning.

mod balance;
mod collect;
mod done;
mod form;
mod group;
pub mod queue;
mod rows;

use std::fmt::{self, Write};
use std::ops::Range;

use wordline_kernel::{Schedule, state};
use wordline_nand::{CellMode, RowId};

use crate::base::Base;
use crate::cache::Cache;
use crate::cache::buffer::EntryId;
use crate::command::Command;
use crate::config::Config;
use crate::engines::Core;
use crate::event::Event;
use crate::policy::placement::RowSet;
use crate::space::{ModeShare, Space, Streams};
use balance::Balance;
pub(crate) use group::Counted;
use group::Group;
use queue::WriteQueue;
use queue::units::{Counts, SubRequests};
use rows::Rows;

/// Brings dirty pages of the buffer to flash.
pub struct Writer {
    /// Pages on their way to a program unit.
    queue: WriteQueue,
    /// The streams that each row accepts, and the group that is programmed there.
    rows: Rows,
    /// Program units that wait for a row and may go to another.
    balance: Balance,
}

state!(Writer { parts { queue, rows, balance } });

impl Writer {
    /// Nothing is on its way.
    pub(crate) fn new(base: &Base) -> Self {
        let shares = &base.mode_shares();
        let streams = base.space.streams();
        let units = new_units(&base.config, streams, shares, base.has_homes);
        Self {
            queue: WriteQueue::new(units, streams.host.into(), base.has_homes, new_sub_requests(base)),
            rows: Rows::new(base, shares),
            balance: Balance::new(base.config.pools.rows()),
        }
    }

    /// Whether a row has begun to accept a stream, or was lost, since pages were last moved on.
    #[inline]
    pub(crate) fn row_opened(&self) -> bool {
        self.rows.have_opened()
    }

    /// Whether units of pages go to several pools.
    #[inline]
    pub(crate) fn has_units(&self) -> bool {
        self.queue.subs().is_some()
    }

    /// Whether nothing is being programmed.
    #[inline]
    pub(crate) fn is_at_rest(&self) -> bool {
        self.rows.programming() == 0
    }

    /// The rows that take a program unit of tables.
    pub(crate) fn rows_for_tables(&self) -> &RowSet {
        self.rows.of_all().last().expect("there is a stream of the host")
    }

    /// The rows that take a program unit of a stream of the host.
    pub(crate) fn rows_of(&self, stream: usize) -> &RowSet {
        self.rows.of(stream)
    }

    /// The group that is programmed in a row.
    pub(crate) fn group(&self, row: RowId) -> &Group {
        self.rows.group(row)
    }

    /// Writes the pages in flight and those that wait, as text: at most this many lists.
    pub(crate) fn tell(&self, lists: usize, out: &mut String) -> fmt::Result {
        writeln!(
            out,
            "writer: {} pages being completed, {} being programmed",
            self.queue.filling(),
            self.rows.programming()
        )?;
        self.queue.tell(lists, out)
    }

    /// The streams that a row takes, as text.
    pub(crate) fn tell_row(&self, row: RowId) -> String {
        format!(
            "takes streams {:b}, program under way {}",
            self.rows.accepted_of(row),
            self.rows.is_busy(row)
        )
    }

    /// The lengths of the lists whose lengths follow from the configuration.
    pub(crate) fn shape(&self) -> Vec<usize> {
        let mut lengths = vec![self.balance.rows()];
        lengths.extend(self.queue.lists().shape());
        lengths.extend(self.rows.shape());
        lengths
    }

    /// Checks what was loaded: it writes what is in the cache, or one of so many `pages`.
    pub(crate) fn check_loaded(&self, cache: &Cache, space: &Space, pages: u32) -> Result<(), String> {
        self.queue.check_loaded(cache, space)?;
        self.rows.check_loaded(cache, pages)
    }

    /// Checks that what is valid of units, and the books of the pools, are right.
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

    /// Forgets what is on its way, as when the power is cut.
    pub(crate) fn forget(&mut self) {
        self.queue.forget();
        self.rows.forget();
    }

    /// Puts a page of a write into the buffer; none if it has to wait for room, or with the buffer off for what is on
    /// its way of the same page, or of the unit that leaves together with it.
    #[inline(always)]
    pub(crate) fn admit_page(&self, command: &Command, page: u32, core: &mut Core) -> Option<EntryId> {
        self.queue.admit_page(command, page, core)
    }

    /// The host wrote the entry: it leaves now if the policy or a design says so, and it waits.
    pub(crate) fn leave_if_told(
        &mut self,
        id: EntryId,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        self.queue.leave_if_told(id, core, calendar);
    }

    /// Takes a dirty entry out of the buffer's list, and its neighbours if they are to go with it.
    pub(crate) fn leave(&mut self, id: EntryId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        self.queue.leave(id, core, calendar);
    }

    /// An entry must not stay in the buffer.
    pub(crate) fn urge(&mut self, id: EntryId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        self.queue.urge(id, core, calendar);
    }

    /// Urges the entries of these pages out of the buffer, one after another.
    pub(crate) fn urge_pages(
        &mut self,
        pages: Range<u32>,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        self.queue.urge_pages(pages, core, calendar);
    }

    /// Urges the pages in flight of a flush epoch and of older ones.
    pub(crate) fn urge_covered(&mut self, epoch: u64, core: &mut Core) {
        self.queue.urge_covered(epoch, core);
    }
}

/// The pages that make a program unit at least, of each list of complete pages.
fn new_units(config: &Config, streams: Streams, shares: &[Vec<ModeShare>], has_homes: bool) -> Vec<u32> {
    let lists = usize::from(streams.host) as u32;
    let least_unit = |share: &ModeShare| match share.mode {
        CellMode::TwoBit if config.file.again() > 0 => share.unit_again(),
        _ => share.unit,
    };
    let of_host =
        |row| shares[config.pools.number_of_row(row)].iter().filter(|share| share.streams.host != 0);
    let unit =
        |row| of_host(row).fold(config.pools.per_program(row), |least, share| least.min(least_unit(share)));
    match has_homes {
        true => (0..config.pools.rows() * lists).map(|list| unit(RowId(list / lists))).collect(),
        false => vec![config.pools.all_rows().map(unit).min().unwrap_or(1); lists as usize],
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
