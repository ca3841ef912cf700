//! Whose reads of the controller somebody waits for. A read for what leaves the buffer goes behind the host's reads until a
//! command of the host waits for it: for its page to be in flash, or for room in the buffer.

use wordline_kernel::Schedule;

use super::{Device, Event};
use crate::buffer::EntryId;
use crate::ftl::mapping::LogicalPage;
use crate::policy::placement::Row;
use crate::queue::{Purpose, Transaction};

impl Device {
    /// Whether a command of the host waits until the entry is in flash.
    pub(super) fn is_waited_for(&self, id: EntryId) -> bool {
        !self.stalled.is_empty()
            || self.buffer.has_waiters(id)
            || self.flushes.back().is_some_and(|(epoch, _)| self.buffer.epoch(id) <= *epoch)
    }

    /// The host waits for the whole buffer to be written out, or for any room in it.
    #[inline]
    pub(super) fn hurry_all(&mut self, calendar: &mut impl Schedule<Event>) {
        if self.queues.has_background() {
            self.hurry(|_| true, calendar);
        }
    }

    /// The host waits for an entry that is being completed.
    #[inline]
    pub(super) fn hurry_fill(&mut self, id: EntryId, calendar: &mut impl Schedule<Event>) {
        if self.queues.has_background() {
            let table = self.table_with(self.buffer.get(id).logical);
            self.hurry(|read| is_fill_of(read, id) || is_table(read, table), calendar);
        }
    }

    /// The host waits for what is on its way of a unit.
    pub(super) fn hurry_sub_request(&mut self, sub: u32, calendar: &mut impl Schedule<Event>) {
        if !self.queues.has_background() {
            return;
        }
        let (entries, pages) = self.subs().members_of(sub);
        let tables: Vec<_> = pages.map(|page| self.table_with(LogicalPage(page))).collect();
        let is_of_unit = |read: &Transaction| {
            read.purpose == Purpose::UnitFill && read.owner == sub
                || entries.iter().any(|id| is_fill_of(read, *id))
                || tables.iter().any(|table| is_table(read, *table))
        };
        self.hurry(is_of_unit, calendar);
    }

    /// The host waits for a translation page that is being read.
    #[inline]
    pub(super) fn hurry_table(&mut self, table: u32, calendar: &mut impl Schedule<Event>) {
        if self.queues.has_background() {
            self.hurry(|read| is_table(read, Some(table)), calendar);
        }
    }

    /// The translation page that tells where a page is, if there is one.
    fn table_with(&self, page: LogicalPage) -> Option<u32> {
        self.translation.as_ref().map(|translation| translation.table_of(page).0)
    }

    #[inline(never)]
    fn hurry(&mut self, wanted: impl Fn(&Transaction) -> bool, calendar: &mut impl Schedule<Event>) {
        for die in self.config.pools.all_dies() {
            if self.queues.hurry(die, &wanted) {
                self.kick(die, calendar);
            }
        }
    }

    /// Reads that wait in a victim of which the collector has moved everything go as its commands do: else it would go on
    /// with other victims, and never come to the erase that waits for them.
    #[inline(never)]
    pub(super) fn readers_inherit(&mut self, row: Row) {
        let Self { collector, blocks, queues, config, .. } = self;
        for block in collector.waits_for_readers(row, blocks) {
            let die = config.pools.die_of_block(block);
            queues.inherit(die, |read| config.pools.block_of_page(read.page) == block);
        }
    }
}

fn is_fill_of(read: &Transaction, id: EntryId) -> bool {
    read.purpose == Purpose::Fill && read.owner == id
}

fn is_table(read: &Transaction, table: Option<u32>) -> bool {
    read.purpose == Purpose::TranslationRead && Some(read.owner) == table
}
