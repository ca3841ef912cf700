//! Table of logical blocks: which multi-plane blocks hold the pages of each.

use wordline_kernel::ensure::ensure;
use wordline_kernel::{Column, Id, id, state, word};
use wordline_nand::{BlockSetId, Chips, Location, Locations, PlaneGroupId};

use crate::blocks::{BlockManager, State};
use crate::map::{LogicalPage, Map};

id!(
    /// A logical block: the logical pages of a multi-plane block.
    LogicalBlock
);

const NONE: u32 = u32::MAX;

/// The multi-plane blocks of a logical block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    data: u32,
    replacement: u32,
}

word!(Pair { data: u32, replacement: u32 });

const NOWHERE: Pair = Pair { data: NONE, replacement: NONE };

fn block(number: u32) -> Option<BlockSetId> {
    (number != NONE).then_some(BlockSetId(number))
}

impl Pair {
    pub fn data(self) -> Option<BlockSetId> {
        block(self.data)
    }

    pub fn replacement(self) -> Option<BlockSetId> {
        block(self.replacement)
    }
}

/// A multi-plane block with pages of a logical block, and the sequence number of its opening.
type Written = (LogicalBlock, u64, BlockSetId);

/// Multi-plane blocks of each logical block.
pub(super) struct LogicalBlocks {
    locations: Locations,
    pairs: Column<LogicalBlock, Pair>,
    /// Logical block of each multi-plane block; `NONE` for a block that is free or waits for an erase.
    owners: Column<BlockSetId, u32>,
    /// Third blocks of logical blocks: targets of merges in which a program failed.
    strays: Vec<(LogicalBlock, BlockSetId)>,
}

state!(LogicalBlocks { values { strays } parts { pairs, owners } fixed { locations } });

impl LogicalBlocks {
    /// Logical blocks that are in no multi-plane block.
    pub fn new(logical_blocks: u32, block_sets: u32, locations: Locations) -> Self {
        Self {
            locations,
            pairs: Column::filled(logical_blocks as usize, NOWHERE),
            owners: Column::filled(block_sets as usize, NONE),
            strays: Vec::new(),
        }
    }

    /// Forgets all blocks.
    pub fn forget(&mut self) {
        self.pairs.ids().for_each(|logical| self.pairs[logical] = NOWHERE);
        self.owners.ids().for_each(|block| self.owners[block] = NONE);
        self.strays.clear();
    }

    /// Logical block of a page, and offset of the page in it.
    #[inline]
    pub fn split(&self, page: LogicalPage) -> (LogicalBlock, u32) {
        let (logical, place) = self.locations.split(Location(page.0));
        (LogicalBlock(logical.0), place)
    }

    /// Logical block that owns a multi-plane block; `None` if the block is free or waits for an erase.
    pub fn owner(&self, block: BlockSetId) -> Option<LogicalBlock> {
        let owner = self.owners[block];
        (owner != NONE).then_some(LogicalBlock(owner))
    }

    /// Data block and replacement block of a logical block.
    #[inline]
    pub fn pair(&self, logical: LogicalBlock) -> Pair {
        self.pairs[logical]
    }

    /// All logical blocks.
    pub fn all(&self) -> impl Iterator<Item = LogicalBlock> + use<> {
        self.pairs.ids()
    }

    /// All multi-plane blocks.
    pub fn all_blocks(&self) -> impl Iterator<Item = BlockSetId> + use<> {
        self.owners.ids()
    }

    /// Records that a multi-plane block belongs to a logical block.
    pub fn own(&mut self, block: BlockSetId, logical: LogicalBlock) {
        self.owners[block] = logical.0;
    }

    /// Records that a multi-plane block belongs to no logical block any more.
    pub fn disown(&mut self, block: BlockSetId) {
        self.owners[block] = NONE;
    }

    /// Gives a logical block a new replacement block.
    pub fn replace(&mut self, logical: LogicalBlock, replacement: BlockSetId) {
        self.own(replacement, logical);
        self.pairs[logical].replacement = replacement.0;
    }

    /// Makes the data block of a logical block its replacement block.
    pub fn replace_by_data(&mut self, logical: LogicalBlock, data: BlockSetId) {
        self.pairs[logical] = Pair { data: NONE, replacement: data.0 };
    }

    /// Locations of a multi-plane block.
    pub fn per_block(&self) -> u32 {
        self.locations.per_block()
    }

    /// Multi-plane blocks that may have pages of a logical block, except the third block of a merge in
    /// progress.
    pub fn blocks_of(&self, logical: LogicalBlock) -> impl Iterator<Item = BlockSetId> + '_ {
        let pair = self.pairs[logical];
        let strays = self.strays.iter().filter(move |(of, _)| *of == logical).map(|(_, block)| *block);
        pair.data().into_iter().chain(pair.replacement()).chain(strays)
    }

    /// First valid location of a logical block that is outside `into` and at or after offset `place`, with
    /// its offset.
    pub fn next_outside(
        &self,
        logical: LogicalBlock,
        into: BlockSetId,
        place: u32,
        blocks: &BlockManager,
    ) -> Option<(u32, Location)> {
        let others = self.blocks_of(logical).filter(|other| *other != into);
        let first = others.filter_map(|other| {
            let at = blocks.table().next_valid(other, place)?;
            Some((at, self.locations.at(other, at)))
        });
        first.min_by_key(|(at, _)| *at)
    }

    /// Replacement block of a logical block, if it can take all valid pages from the other blocks.
    pub fn merge_target(
        &self,
        logical: LogicalBlock,
        blocks: &BlockManager,
        chips: &Chips,
    ) -> Option<BlockSetId> {
        let replacement = self.pairs[logical].replacement()?;
        let is_sound = blocks.table().state(replacement) == State::Open
            && !blocks.table().is_pending_retirement(replacement);
        let first = self.next_outside(logical, replacement, 0, blocks);
        let fits = first.is_none_or(|(place, _)| place >= chips.programmed(replacement));
        (is_sound && fits).then_some(replacement)
    }

    /// Whether a merge of a logical block frees a block and needs no free block.
    pub fn merge_gains(&self, logical: LogicalBlock, blocks: &BlockManager, chips: &Chips) -> bool {
        self.pairs[logical].data().is_some() && self.merge_target(logical, blocks, chips).is_some()
    }

    /// Leaves a logical block only `data`, after its other blocks were released.
    pub fn keep_only(&mut self, logical: LogicalBlock, data: Option<BlockSetId>) {
        self.strays.retain(|(of, _)| *of != logical);
        self.pairs[logical] = Pair { data: data.map_or(NONE, |data| data.0), replacement: NONE };
    }

    /// Records a block in which a program failed. If it was the target of a merge, its pages are in a third
    /// block of the logical block.
    pub fn note_failed(&mut self, logical: LogicalBlock, block: BlockSetId) {
        let pair = self.pairs[logical];
        if pair.data != block.0 && pair.replacement != block.0 {
            self.strays.push((logical, block));
        }
    }

    /// Forgets the blocks of a plane group that is out of service.
    pub fn lose(&mut self, row: PlaneGroupId, blocks: &BlockManager) {
        let is_here = |number: u32| block(number).is_some_and(|block| blocks.table().group_of(block) == row);
        for logical in self.pairs.ids() {
            let pair = self.pairs[logical];
            if is_here(pair.data) || is_here(pair.replacement) {
                self.pairs[logical] = NOWHERE;
            }
        }
        self.strays.retain(|(_, stray)| blocks.table().group_of(*stray) != row);
        self.owners.ids().filter(|block| blocks.table().group_of(*block) == row).for_each(|block| {
            self.owners[block] = NONE;
        });
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

    /// Adds the blocks with valid pages to their logical blocks, in the order of opening.
    pub fn rebuild(&mut self, blocks: &BlockManager, chips: &Chips) {
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
    }

    /// Selects one of several copies of a page with the same version. The copy in the replacement block comes
    /// first, then the copy in the data block. A third block has only copies, and is not used.
    pub fn settle(&self, map: &mut Map, blocks: &mut BlockManager, chips: &Chips) {
        let written = self.written(blocks, chips);
        for group in written.chunk_by(|one, other| one.0 == other.0).filter(|group| group.len() > 1) {
            let mut order: Vec<BlockSetId> = group.iter().map(|(_, _, block)| *block).collect();
            order.swap(0, 1);
            for place in 0..self.locations.per_block() {
                let page = LogicalPage(group[0].0.0 * self.locations.per_block() + place);
                if page.0 >= map.pages() {
                    break;
                }
                let Some(known) = map.get(page) else { continue };
                let locations = order.iter().map(|block| self.locations.at(*block, place));
                let mut same = locations.filter(|location| chips.stamp(*location) == chips.stamp(known));
                let first = same.next().expect("a mapped page is in a block of its logical block");
                if first != known {
                    map.install(page, first, blocks);
                }
            }
        }
    }

    /// Checks the loaded state: the blocks of each logical block must exist.
    pub fn check_loaded(&self) -> Result<(), String> {
        let is_there = |block: BlockSetId| block.index() < self.owners.len();
        let is_right = |pair: &Pair| [pair.data(), pair.replacement()].into_iter().flatten().all(is_there);
        ensure(self.pairs.iter().all(is_right), || "a logical block is in blocks that do not exist".into())
    }

    /// Checks that each valid page of a block is at its offset, and of the logical block. Panics otherwise.
    pub fn audit_places(
        &self,
        logical: LogicalBlock,
        block: BlockSetId,
        blocks: &BlockManager,
        chips: &Chips,
    ) {
        let mut place = 0;
        while let Some(at) = blocks.table().next_valid(block, place) {
            let stamp = chips.stamp(self.locations.at(block, at));
            let found = self.split(LogicalPage(stamp.logical));
            assert_eq!(found, (logical, at), "{stamp:?} in {block:?}");
            place = at + 1;
        }
    }
}
