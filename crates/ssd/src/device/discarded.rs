//! Discards on their way to flash: the pages that tell of them are written when a flush, or what counts as one, wants it.

use wordline_kernel::Schedule;
use wordline_nand::Stamp;

use super::{Device, Event};
use crate::command::RequestId;
use crate::ftl::Discards;
use crate::ftl::checkpoint::Known;
use crate::ftl::discards::DiscardPage;
use crate::policy::placement::Row;

impl Device {
    /// A request waits until everything that was discarded is so after a power cut; false if it is.
    pub(super) fn waits_for_discards(&mut self, id: RequestId) -> bool {
        self.discards.as_mut().is_some_and(|discards| discards.flush(id))
    }

    /// The page of the table of discards that the map numbers so, if it is one.
    pub(super) fn discard_page_of(&mut self, logical: u32) -> Option<(&mut Discards, DiscardPage)> {
        let discards = self.discards.as_mut()?;
        let table = discards.table(logical)?;
        Some((discards, table))
    }

    /// Queues program units of pages that tell of discards, while there are some and a row takes them.
    #[cold]
    pub(super) fn write_discards(&mut self, calendar: &mut impl Schedule<Event>) {
        let stream = self.accepting.len() - 1;
        while self.discards.as_ref().is_some_and(|discards| discards.is_due())
            && self.some_row_accepts(stream, calendar)
        {
            let row = match self.has_homes {
                true => self.accepting[stream].iter().find(|row| self.takes_tables(*row)),
                false => self.policies.placement.next(&self.accepting[stream]),
            };
            let Some(row) = row else { return };
            self.form_discards(row, calendar);
        }
    }

    /// Whether a row has room for a unit of pages of tables beside those that have their home there. With a balancer the
    /// pages of a full row find room elsewhere.
    pub(super) fn takes_tables(&self, row: Row) -> bool {
        let unit = self.config.pools.per_program(row);
        let fits = |spare| self.tables_in(row) + unit <= spare;
        self.policies.balancer.is_some() || self.spare_beside_homes(row).is_some_and(fits)
    }

    /// Pages of tables that have their place in a row.
    pub(super) fn tables_in(&self, row: Row) -> u32 {
        let tables = self.translation.as_ref().map_or(0, |translation| translation.in_row(row));
        tables + self.discards.as_ref().map_or(0, |discards| discards.in_row(row))
    }

    fn form_discards(&mut self, row: Row, calendar: &mut impl Schedule<Event>) {
        let Some(discards) = &mut self.discards else { return };
        let pages = self.config.pools.per_program(row) as usize;
        let unit = &mut self.units[row as usize];
        while unit.stamps.len() < pages {
            let Some(table) = discards.take_queued() else { break };
            let logical = discards.logical(table);
            let version = self.mapping.written(logical);
            discards.begin_program(table, version);
            unit.stamps.push(Stamp { logical: logical.0, version });
        }
        self.queue_tables(row, calendar);
    }

    /// Pages that tell of discards are in flash: those who waited for them go on.
    #[cold]
    pub(super) fn discards_written(&mut self, calendar: &mut impl Schedule<Event>) {
        while let Some(discards) = self.discards.as_mut().filter(|discards| discards.is_at_rest()) {
            if let Some(checkpoints) = &mut self.checkpoints {
                checkpoints.over();
            }
            if !discards.is_waited_for() {
                return;
            }
            discards.batch_over().into_iter().for_each(|id| self.part_done(id, calendar));
        }
    }

    /// Begins a checkpoint of the map if the host has written enough.
    #[inline]
    pub(super) fn note_checkpoint(&mut self) {
        let pages = self.totals.host_programs;
        if self.checkpoints.as_ref().is_some_and(|checkpoints| checkpoints.is_due(pages)) {
            self.begin_checkpoint(pages);
        }
    }

    #[cold]
    fn begin_checkpoint(&mut self, pages: u64) {
        let Self { discards, checkpoints, flash, .. } = self;
        if let (Some(discards), Some(checkpoints)) = (discards, checkpoints)
            && discards.begin_checkpoint()
        {
            let chips = flash.chips();
            let known =
                |(block, erases): (_, &u32)| Known { programmed: chips.programmed(block), erases: *erases };
            checkpoints.begin(pages, chips.erases().entries().map(known));
        }
    }
}
