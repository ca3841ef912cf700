//! Whose reads of the controller somebody waits for. A read for what leaves the buffer goes behind the host's reads until a
//! command of the host waits for it: for its page to be in flash, or for room in the buffer.

use wordline_kernel::Schedule;

use super::{Device, Event};
use crate::buffer::EntryId;
use crate::flash::{Class, Ticket};
use crate::ftl::mapping::LogicalPage;
use crate::policy::placement::Row;

impl Device {
    /// Whether a command of the host waits until the entry is in flash.
    pub(super) fn is_waited_for(&self, id: EntryId) -> bool {
        !self.stalled.is_empty()
            || self.buffer.has_waiters(id)
            || self.flushes.back().is_some_and(|(epoch, _)| self.buffer.epoch(id) <= *epoch)
    }

    /// The class of reads for an entry that leaves the buffer.
    #[inline]
    pub(super) fn class_of_reads_for(&self, id: EntryId) -> Class {
        if self.is_waited_for(id) { Class::Read } else { Class::Background }
    }

    /// The host waits for the whole buffer to be written out, or for any room in it.
    #[inline]
    pub(super) fn hurry_all(&mut self, calendar: &mut impl Schedule<Event>) {
        self.flash.promote_all(&*self.policies.tuner, &mut calendar.within(Event::Flash));
    }

    /// The host waits for an entry that is being completed.
    #[inline]
    pub(super) fn hurry_fill(&mut self, id: EntryId, calendar: &mut impl Schedule<Event>) {
        if self.flash.has_background() {
            let fill = Ticket::Fill(id);
            let table = self.ticket_of_table(self.buffer.get(id).logical);
            self.promote(&[fill, table.unwrap_or(fill)], calendar);
        }
    }

    /// The host waits for what is on its way of a unit.
    pub(super) fn hurry_sub_request(&mut self, sub: u32, calendar: &mut impl Schedule<Event>) {
        if !self.flash.has_background() {
            return;
        }
        let (entries, pages) = self.subs().members_of(sub);
        let tables = pages.filter_map(|page| self.ticket_of_table(LogicalPage(page)));
        let mut tickets: Vec<Ticket> = tables.collect();
        tickets.push(Ticket::UnitFill(sub));
        tickets.extend(entries.into_iter().map(Ticket::Fill));
        self.promote(&tickets, calendar);
    }

    /// The host waits for a translation page that is being read.
    #[inline]
    pub(super) fn hurry_table(&mut self, table: u32, calendar: &mut impl Schedule<Event>) {
        self.promote(&[Ticket::Table(table)], calendar);
    }

    /// The ticket of a read of the translation page that tells where a page is, if there is one.
    fn ticket_of_table(&self, page: LogicalPage) -> Option<Ticket> {
        self.translation.as_ref().map(|translation| Ticket::Table(translation.table_of(page).0))
    }

    fn promote(&mut self, tickets: &[Ticket], calendar: &mut impl Schedule<Event>) {
        self.flash.promote(tickets, &*self.policies.tuner, &mut calendar.within(Event::Flash));
    }

    /// Reads that wait in a victim of which the collector has moved everything go as its commands do: else it would go on
    /// with other victims, and never come to the erase that waits for them.
    #[inline(never)]
    pub(super) fn readers_inherit(&mut self, row: Row) {
        let Self { collector, blocks, flash, .. } = self;
        collector.waits_for_readers(row, blocks).for_each(|block| flash.raise_readers(block));
    }
}
