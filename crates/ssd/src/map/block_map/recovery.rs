//! Recovery of the block-level map after a power cut, from the contents of the blocks.

use wordline_kernel::Id;
use wordline_nand::{BlockSetId, Chips};

use super::{BlockMap, LogicalBlock, NONE, NOWHERE, Pair, PlaneGroupState};
use crate::blocks::{BlockManager, State};
use crate::map::mapping::{LogicalPage, Mapping};

/// A multi-plane block with pages of a logical block, and the sequence number of its opening.
type Written = (LogicalBlock, u64, BlockSetId);

impl BlockMap {
    /// Resets everything that a power cut loses.
    pub fn forget(&mut self) {
        self.pairs.ids().for_each(|logical| self.pairs[logical] = NOWHERE);
        self.owners.ids().for_each(|block| self.owners[block] = NONE);
        self.strays.clear();
        self.rows.fill(PlaneGroupState::default());
    }

    /// Written blocks of each logical block, in the order of opening.
    fn written(&self, blocks: &BlockManager, chips: &Chips) -> Vec<Written> {
        let all = self.owners.ids();
        let used =
            all.filter(|block| blocks.table().state(*block) != State::Bad && chips.programmed(*block) > 0);
        let owner = |block: BlockSetId| {
            let mut stamps =
                (0..chips.programmed(block)).map(|place| chips.stamp(self.locations.at(block, place)));
            let data = stamps.find(|stamp| stamp.is_data())?;
            Some((self.split(LogicalPage(data.logical)).0, blocks.table().opening_number(block), block))
        };
        let mut written: Vec<Written> = used.filter_map(owner).collect();
        written.sort_unstable_by_key(|(logical, opened, _)| (logical.index(), *opened));
        written
    }

    /// Selects one of several copies of a page with the same version. The copy in the replacement block comes
    /// first, then the copy in the data block. A third block has only copies, and is not used.
    pub fn settle(&self, mapping: &mut Mapping, blocks: &mut BlockManager, chips: &Chips) {
        let written = self.written(blocks, chips);
        for group in written.chunk_by(|one, other| one.0 == other.0).filter(|group| group.len() > 1) {
            let mut order: Vec<BlockSetId> = group.iter().map(|(_, _, block)| *block).collect();
            order.swap(0, 1);
            for place in 0..self.locations.per_block() {
                let page = LogicalPage(group[0].0.0 * self.locations.per_block() + place);
                if page.0 >= mapping.len() {
                    break;
                }
                let Some(known) = mapping.get(page) else { continue };
                let locations = order.iter().map(|block| self.locations.at(*block, place));
                let mut same = locations.filter(|location| chips.stamp(*location) == chips.stamp(known));
                let first = same.next().expect("a mapped page is in a block of its logical block");
                if first != known {
                    mapping.set(page, first);
                    blocks.invalidate(known);
                    blocks.validate(first);
                }
            }
        }
    }

    /// Finds the data block and the replacement block of each logical block, when the valid pages are known
    /// and all blocks are closed. Logical blocks that cannot continue, for example after an interrupted
    /// program, are merged again. Blocks without valid pages are erased.
    pub fn rebuild(&mut self, blocks: &mut BlockManager, chips: &Chips) {
        let written = self.written(blocks, chips);
        for (logical, _, block) in written.iter().filter(|(_, _, block)| blocks.table().valid(*block) > 0) {
            self.owners[*block] = logical.0;
            let Pair { data, replacement } = &mut self.pairs[*logical];
            match (*data, *replacement) {
                (NONE, _) => *data = block.0,
                (_, NONE) => *replacement = block.0,
                _ => self.strays.push((*logical, *block)),
            }
        }
        for block in self.owners.ids() {
            let closed = matches!(blocks.table().state(block), State::Closed | State::PendingRetirement);
            if closed && blocks.table().valid(block) == 0 {
                self.erase(blocks.table().group_of(block), block, blocks);
            }
        }
        self.find_work(blocks, chips);
    }

    fn find_work(&mut self, blocks: &mut BlockManager, chips: &Chips) {
        let mut replaced = Vec::new();
        for logical in self.pairs.ids() {
            let all: Vec<BlockSetId> = self.blocks_of(logical).collect();
            let Some(first) = all.first() else { continue };
            let row = blocks.table().group_of(*first);
            let mut fails =
                all.len() > 2 || all.iter().any(|block| blocks.table().is_pending_retirement(*block));
            if let Some(replacement) = self.pairs[logical].replacement() {
                replaced.push((blocks.table().opening_number(replacement), row, logical));
                if blocks.table().state(replacement) == State::Closed
                    && chips.programmed(replacement) < self.locations.per_block()
                {
                    blocks.reopen(replacement);
                }
                fails |= self.merge_target(logical, blocks, chips).is_none();
            }
            if fails {
                self.queue_merge(row, logical);
            }
        }
        replaced.sort_unstable_by_key(|(opened, ..)| *opened);
        for (_, row, logical) in replaced {
            self.rows[row].replaced.push_back(logical);
        }
    }
}
