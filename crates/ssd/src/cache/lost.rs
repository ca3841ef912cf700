//! Pages that are lost in flash, but for the sectors that the buffer has.

use wordline_nand::{PageId, SlotId, Stamp};

use crate::base::Base;
use crate::cache::Cache;
use crate::contents::Mutant;
use crate::map::{LogicalPage, Map};
use crate::sectors::Sectors;

impl Cache {
    /// Every slot of a page is lost.
    pub(crate) fn lose_page(&mut self, page: PageId, base: &mut Base, map: &mut Map) {
        let slots = base.config.pools.of_page(page).slots;
        let first = slots.slot_of(page).0;
        for slot in (first..first + slots.per_page()).map(SlotId) {
            if base.space.is_valid(slot) {
                base.space.invalidate(slot);
                self.lose_slot(slot, base, map);
            }
        }
    }

    /// What a slot held, which is valid no more, is mapped nowhere and known as lost, but for what the buffer has.
    pub(crate) fn lose_slot(&mut self, slot: SlotId, base: &mut Base, map: &mut Map) {
        let Stamp { logical, version } = base.flash.chips().stamp(slot);
        let page = LogicalPage(logical);
        let was = map.clear(page);
        assert_eq!(was, Some(slot), "a valid slot is where its logical page is mapped to");
        if base.is_table(page.0) {
            let row = base.space.row_of(base.config.pools.block_of(slot));
            if let Some((discards, table)) = map.discard_page_of(page.0) {
                discards.lost(table, row);
                if let Some(checkpoints) = map.checkpoints_mut() {
                    checkpoints.lost();
                }
            } else if let Some(translation) = map.translation_mut() {
                let table = translation.table(page.0).expect("it has the number of a translation page");
                translation.lost(table, row);
            }
            return;
        }
        map.note_amend(page, slot, base);
        self.read.forget(page);
        let kept = self.buffer.find(page).map(|id| self.buffer.get(id)).filter(|entry| !entry.discarded);
        let gone = base.full_page().without(kept.map_or(Sectors::NONE, |entry| entry.sectors));
        // Whatever comes to flash next of the page has all that the buffer has of it now.
        let next = kept.map(|_| (version + 1, gone));
        if !gone.is_empty() {
            base.totals.lost_pages += 1;
            base.faults_at(base.config.pools.block_of(slot)).lost_pages += 1;
        }
        if !base.has(Mutant::LossNotNoted) {
            map.lose(page, version, base.full_page(), next);
        }
    }
}
