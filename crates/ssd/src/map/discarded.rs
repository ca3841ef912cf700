//! Discards on their way to flash, and checkpoints of the map.

use wordline_nand::Stamp;

use crate::base::Base;
use crate::command::RequestId;
use crate::map::Map;
use crate::map::checkpoint::Known;
use crate::map::discards::{DiscardPage, Discards};
use crate::policy::placement::Row;

impl Map {
    /// A request waits until everything that was discarded is so after a power cut; false if it is.
    pub(crate) fn waits_for_discards(&mut self, id: RequestId) -> bool {
        self.discards.as_mut().is_some_and(|discards| discards.flush(id))
    }

    /// The page of the table of discards that the map numbers so, if it is one.
    pub(crate) fn discard_page_of(&mut self, logical: u32) -> Option<(&mut Discards, DiscardPage)> {
        let discards = self.discards.as_mut()?;
        let table = discards.table(logical)?;
        Some((discards, table))
    }

    /// Whether a row has room for a unit of pages of tables beside those that have their home there. With a balancer the
    /// pages of a full row find room elsewhere.
    pub(crate) fn takes_tables(&self, row: Row, base: &Base) -> bool {
        let unit = base.config.pools.per_program(row);
        let fits = |spare| self.tables_in(row) + unit <= spare;
        base.policies.balancer.is_some() || base.spare_beside_homes(row).is_some_and(fits)
    }

    /// Pages of tables that have their place in a row.
    pub(super) fn tables_in(&self, row: Row) -> u32 {
        let tables = self.translation.as_ref().map_or(0, |translation| translation.in_row(row));
        tables + self.discards.as_ref().map_or(0, |discards| discards.in_row(row))
    }

    /// Begins a checkpoint of the map if the host has written enough.
    #[inline]
    pub(crate) fn note_checkpoint(&mut self, base: &mut Base) {
        let pages = base.totals.host_programs;
        if self.checkpoints.as_ref().is_some_and(|checkpoints| checkpoints.is_due(pages)) {
            self.begin_checkpoint(pages, base);
        }
    }

    #[cold]
    fn begin_checkpoint(&mut self, pages: u64, base: &mut Base) {
        let Self { discards, checkpoints, .. } = self;
        let Base { flash, .. } = base;
        if let (Some(discards), Some(checkpoints)) = (discards, checkpoints)
            && discards.begin_checkpoint()
        {
            let chips = flash.chips();
            let known =
                |(block, erases): (_, &u32)| Known { programmed: chips.programmed(block), erases: *erases };
            checkpoints.begin(pages, chips.erases().entries().map(known));
        }
    }

    /// Whether pages that tell of discards are to be written.
    #[inline]
    pub(crate) fn has_discards_to_write(&self) -> bool {
        self.discards.as_ref().is_some_and(Discards::is_due)
    }

    /// Puts pages that tell of discards into a unit, up to so many pages.
    pub(crate) fn fill_unit_with_discards(&mut self, pages: usize, unit: &mut Vec<Stamp>) {
        let Some(discards) = &mut self.discards else { return };
        while unit.len() < pages {
            let Some(table) = discards.take_queued() else { break };
            let logical = discards.logical(table);
            let version = self.pages.written(logical);
            discards.begin_program(table, version);
            unit.push(Stamp { logical: logical.0, version });
        }
    }

    /// Those who waited for pages that tell of discards, all of which are in flash; none while some are on their way or where nobody
    /// waits.
    pub(crate) fn end_discards(&mut self) -> Option<Vec<RequestId>> {
        let discards = self.discards.as_mut().filter(|discards| discards.is_at_rest())?;
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.over();
        }
        discards.is_waited_for().then(|| discards.batch_over())
    }
}
