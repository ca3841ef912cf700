//! Program failure manager: block map, shift table and open block lists (FT-PASSD, section IV, figures 9 to
//! 12). It recovers program failures, so a write can complete before it is in flash.
//!
//! A *page* in this module is the data of one program. A chunk is mapped to a block of `N` pages: its page
//! `p` is page `(p + shift) mod N` of the block.
//!
//! 1. When a program fails, a reserve block is appended to the chunk's open block list. The page is
//!    programmed there, and further pages follow it.
//! 2. When the chunk is full, its pages in other blocks are copied to the last block, after the pages that it
//!    has.
//! 3. From then on the chunk is mapped to that block.
//!
//! The manager only has tables and rules. The device programs, and notifies it. For what the paper leaves
//! open see `docs/open-channel.md`.

mod list;
mod reserve;

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use wordline_kernel::ensure::ensure;
use wordline_kernel::{Bytes, Column};
use wordline_nand::BlockSetId;

use super::chunks::ChunkId;

pub use list::{Element, OpenBlockList, Phase};
pub use reserve::{NoBlock, Reserve};

/// Entry of the shift table for a chunk with an open block list (`NULL` in the paper).
const LISTED: u16 = u16::MAX;

/// Page of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageLocation {
    /// Block.
    pub block: BlockSetId,
    /// Page number in the block, from 0.
    pub page: u32,
}

/// Step of the migration of a chunk into one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// Programs a page of padding, because the host closed the chunk early.
    Pad {
        /// Destination.
        to: PageLocation,
    },
    /// Copies a page.
    Copy {
        /// Source.
        from: PageLocation,
        /// Destination.
        to: PageLocation,
    },
    /// All pages are in one block: call [`finish`](Manager::finish).
    Finish,
}

/// Treatment of a chunk that the host closes early while its pages are in several blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EarlyClose {
    /// The chunk is padded to its end, and its pages are copied into one block.
    #[default]
    Pad,
    /// The chunk keeps its open block list until it is reset.
    KeepList,
}

/// Dimensions of a manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Number of parallel units.
    pub units: u32,
    /// Blocks in a parallel unit.
    pub blocks_per_unit: u32,
    /// Chunks in a parallel unit: its blocks minus the reserve.
    pub chunks_per_unit: u32,
    /// Pages in a block.
    pub pages: u32,
}

/// Program failure manager of a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manager {
    map: Vec<BlockSetId>,
    shift: Vec<u16>,
    lists: BTreeMap<ChunkId, OpenBlockList>,
    reserves: Vec<Reserve>,
    /// Chunks to be migrated into one block, by parallel unit.
    migrating: Vec<VecDeque<ChunkId>>,
    chunks_per_unit: u32,
    pages: u32,
    shifts: bool,
    early_close: EarlyClose,
}

/// Table entries of a chunk and of its parallel unit before a change, to undo it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedEntries {
    chunk: ChunkId,
    map: BlockSetId,
    shift: u16,
    list: Option<OpenBlockList>,
    reserve: Reserve,
    migrating: VecDeque<ChunkId>,
}

impl SavedEntries {
    /// Chunk.
    pub fn chunk(&self) -> ChunkId {
        self.chunk
    }

    /// Removes a block from the saved reserve. The block stays removed even if the change is undone.
    pub(super) fn exclude(&mut self, block: BlockSetId) {
        self.reserve.forget(block);
    }
}

impl Manager {
    /// Manager of an empty device. Also returns the chunks that are offline because of `bad` blocks. With
    /// `shifts` the host continues at once after a failure and pages are copied later; otherwise they are
    /// copied first.
    pub fn new(
        shape: Shape,
        shifts: bool,
        early_close: EarlyClose,
        bad: &[BlockSetId],
    ) -> (Self, Vec<ChunkId>) {
        let Shape { units, blocks_per_unit, chunks_per_unit, pages } = shape;
        assert!(pages < u32::from(LISTED), "the configuration limits the pages of a chunk");
        let is_good = |block: &BlockSetId| !bad.contains(block);
        let blocks = |unit: u32, range: std::ops::Range<u32>| {
            range.map(move |block| BlockSetId(unit * blocks_per_unit + block))
        };
        let reserve = |unit| Reserve::of(blocks(unit, chunks_per_unit..blocks_per_unit).filter(is_good));
        let mut manager = Self {
            map: (0..units).flat_map(|unit| blocks(unit, 0..chunks_per_unit)).collect(),
            shift: vec![0; (units * chunks_per_unit) as usize],
            lists: BTreeMap::new(),
            reserves: (0..units).map(reserve).collect(),
            migrating: vec![VecDeque::new(); units as usize],
            chunks_per_unit,
            pages,
            shifts,
            early_close,
        };
        let without = (0..units * chunks_per_unit)
            .map(ChunkId)
            .filter(|chunk| is_good(&manager.map[chunk.0 as usize]) || manager.replace(*chunk).is_ok());
        // Each of the other chunks received a reserve block.
        let good: Vec<ChunkId> = without.collect();
        let all = (0..units * chunks_per_unit).map(ChunkId);
        let offline = all.filter(|chunk| good.binary_search(chunk).is_err()).collect();
        (manager, offline)
    }

    /// Block that a chunk is mapped to.
    pub fn block(&self, chunk: ChunkId) -> BlockSetId {
        self.map[chunk.0 as usize]
    }

    /// Shift of a chunk; `None` while it has an open block list.
    pub fn shift(&self, chunk: ChunkId) -> Option<u32> {
        Some(self.shift[chunk.0 as usize]).filter(|shift| *shift != LISTED).map(u32::from)
    }

    /// Open block list of a chunk, if it has one.
    pub fn list(&self, chunk: ChunkId) -> Option<&OpenBlockList> {
        self.lists.get(&chunk)
    }

    /// Reserve of a parallel unit.
    pub fn reserve(&self, unit: u32) -> &Reserve {
        &self.reserves[unit as usize]
    }

    /// Parallel unit of a chunk.
    pub fn unit_of(&self, chunk: ChunkId) -> u32 {
        chunk.0 / self.chunks_per_unit
    }

    /// Location of a written page. With an open block list, also of the next page (algorithm 2).
    #[inline]
    pub fn locate(&self, chunk: ChunkId, page: u32) -> PageLocation {
        let shift = self.shift[chunk.0 as usize];
        if shift == LISTED {
            let list = &self.lists[&chunk];
            return list.find(page).unwrap_or_else(|| list.end());
        }
        let shifted = page + u32::from(shift);
        let page = if shifted >= self.pages { shifted - self.pages } else { shifted };
        PageLocation { block: self.block(chunk), page }
    }

    /// Records that the next page of a chunk is programmed. A full chunk with an open block list begins to
    /// migrate.
    pub fn note_programmed(&mut self, chunk: ChunkId) {
        let Some(list) = self.lists.get_mut(&chunk) else { return };
        list.tail_mut().pages += 1;
        if list.pages() == self.pages {
            list.phase = Phase::Migrating;
            self.queue(chunk);
        }
    }

    /// Handles a failed program of the next page of a chunk, which has `pages` pages so far (algorithm 1).
    /// `is_bad` is false if a power loss interrupted the program.
    ///
    /// # Errors
    /// No block can replace the failed one. Nothing has changed.
    pub fn failed(&mut self, chunk: ChunkId, pages: u32, is_bad: bool) -> Result<(), NoBlock> {
        let new = self.take(chunk)?;
        let block = self.block(chunk);
        self.shift[chunk.0 as usize] = LISTED;
        let list = self.lists.entry(chunk).or_insert_with(|| OpenBlockList::new(block, pages, is_bad));
        list.tail_mut().is_bad = is_bad;
        if self.shifts {
            list.elements.push(Element { block: new, pages: 0, is_bad: false });
        } else {
            (list.whole, list.copied, list.phase) = (Some(new), 0, Phase::Migrating);
            self.queue(chunk);
        }
        Ok(())
    }

    /// Records that the host closed a chunk.
    pub fn closed(&mut self, chunk: ChunkId) {
        let Some(list) = self.lists.get_mut(&chunk) else { return };
        if list.phase != Phase::Writing {
            return;
        }
        list.phase = match self.early_close {
            EarlyClose::Pad => Phase::Migrating,
            EarlyClose::KeepList => Phase::Kept,
        };
        if list.phase == Phase::Migrating {
            self.queue(chunk);
        }
    }

    fn queue(&mut self, chunk: ChunkId) {
        let unit = self.unit_of(chunk) as usize;
        self.migrating[unit].push_back(chunk);
    }

    /// Next chunk of a parallel unit to be migrated.
    pub fn next_to_migrate(&self, unit: u32) -> Option<ChunkId> {
        self.migrating[unit as usize].front().copied()
    }

    /// Whether a chunk is being migrated into one block.
    pub fn is_migrating(&self, chunk: ChunkId) -> bool {
        self.lists.get(&chunk).is_some_and(|list| list.phase == Phase::Migrating)
    }

    /// Whether the host continues at once after a failure.
    pub(super) fn shifts(&self) -> bool {
        self.shifts
    }

    /// Whether a failed write waits until the pages of its chunk are copied.
    pub fn must_copy_first(&self, unit: u32) -> bool {
        !self.shifts && self.next_to_migrate(unit).is_some()
    }

    /// Next step of the migration of a chunk.
    pub fn step(&self, chunk: ChunkId) -> Step {
        self.lists[&chunk].step(self.pages)
    }

    /// Records that a step is done.
    pub fn complete_step(&mut self, chunk: ChunkId, step: Step) {
        let list = self.lists.get_mut(&chunk).expect("a step of it was under way");
        match step {
            Step::Pad { .. } => list.tail_mut().pages += 1,
            Step::Copy { .. } => list.copied += 1,
            Step::Finish => unreachable!("finishing is no step that a die takes"),
        }
    }

    /// Handles a failed step. All pages are copied to another block from the first on; the copies made so far
    /// are not used. `is_bad` is false if a power loss interrupted the program.
    ///
    /// # Errors
    /// No block can replace the failed one. If the reserve is used up, the open block list stays.
    pub fn fail_step(&mut self, chunk: ChunkId, step: Step, is_bad: bool) -> Result<(), NoBlock> {
        let new = self.take(chunk);
        if let Err(NoBlock::NotErased(_)) = new {
            return new.map(drop);
        }
        let unit = self.unit_of(chunk) as usize;
        let list = self.lists.get_mut(&chunk).expect("a step of it was under way");
        let whole = list.whole.take();
        list.copied = 0;
        match whole {
            None => list.tail_mut().is_bad |= is_bad,
            // A block without needed pages returns to the reserve, unless it is bad.
            Some(whole) if !is_bad => self.reserves[unit].take_back(whole),
            Some(_) => {}
        }
        match (new, step) {
            (Err(_), _) => {
                list.phase = Phase::Kept;
                self.migrating[unit].retain(|other| *other != chunk);
            }
            (Ok(new), Step::Pad { .. }) if whole.is_none() => {
                list.elements.push(Element { block: new, pages: 0, is_bad: false });
            }
            (Ok(new), _) => list.whole = Some(new),
        }
        new.map(drop)
    }

    /// Ends a migration: all pages are in one block (algorithm 3, lines 17 to 19). The shift is the number of
    /// pages that the block had before the others were copied to it.
    pub fn finish(&mut self, chunk: ChunkId) {
        let list = self.lists.remove(&chunk).expect("its pages were brought together");
        let (block, shift) = match list.whole {
            Some(whole) => (whole, 0),
            None => (list.tail().block, list.tail().pages % self.pages),
        };
        self.map[chunk.0 as usize] = block;
        self.shift[chunk.0 as usize] = shift as u16;
        self.leave(chunk, &list, block);
    }

    /// Removes all blocks of a list except `block` from the chunk. Good blocks return to the reserve.
    fn leave(&mut self, chunk: ChunkId, list: &OpenBlockList, block: BlockSetId) {
        let unit = self.unit_of(chunk) as usize;
        self.migrating[unit].retain(|other| *other != chunk);
        for element in list.elements.iter().filter(|element| element.block != block && !element.is_bad) {
            self.reserves[unit].take_back(element.block);
        }
        if let Some(whole) = list.whole.filter(|whole| *whole != block) {
            self.reserves[unit].take_back(whole);
        }
    }

    /// Resets a chunk to a single block, which the caller must erase. With `is_bad` the current block is not
    /// used again.
    ///
    /// # Errors
    /// No block is available.
    pub fn reset(&mut self, chunk: ChunkId, is_bad: bool) -> Result<BlockSetId, NoBlock> {
        let Some(list) = self.lists.get_mut(&chunk) else {
            if is_bad {
                self.replace(chunk)?;
            }
            self.shift[chunk.0 as usize] = 0;
            return Ok(self.block(chunk));
        };
        list.tail_mut().is_bad |= is_bad;
        let sound = list.elements.iter().rev().find(|element| !element.is_bad).map(|element| element.block);
        let block = match list.whole.or(sound) {
            Some(block) => block,
            None => self.take(chunk)?,
        };
        let list = self.lists.remove(&chunk).expect("it has one");
        self.map[chunk.0 as usize] = block;
        self.shift[chunk.0 as usize] = 0;
        self.leave(chunk, &list, block);
        Ok(block)
    }

    /// Maps a chunk to an erased block of the reserve.
    ///
    /// # Errors
    /// No erased block is available.
    pub fn replace(&mut self, chunk: ChunkId) -> Result<BlockSetId, NoBlock> {
        let block = self.take(chunk)?;
        self.map[chunk.0 as usize] = block;
        Ok(block)
    }

    /// Takes two erased reserve blocks of a parallel unit for its journal, if there are two.
    pub(super) fn take_for_journal(&mut self, unit: u32) -> Option<[BlockSetId; 2]> {
        let reserve = &mut self.reserves[unit as usize];
        if reserve.ready().count() < 2 {
            return None;
        }
        let mut take = || reserve.take().ok();
        Some([take()?, take()?])
    }

    /// Takes an erased reserve block of a parallel unit.
    pub(super) fn take_reserve_block(&mut self, unit: u32) -> Option<BlockSetId> {
        self.reserves[unit as usize].take().ok()
    }

    fn take(&mut self, chunk: ChunkId) -> Result<BlockSetId, NoBlock> {
        let unit = self.unit_of(chunk) as usize;
        self.reserves[unit].take()
    }

    /// Next reserve block of a parallel unit to be erased.
    pub fn next_to_erase(&self, unit: u32) -> Option<BlockSetId> {
        self.reserves[unit as usize].next_to_erase()
    }

    /// Whether a reserve has no erased block, but one that can be erased.
    pub(super) fn needs_erase(&self, unit: u32) -> bool {
        let reserve = &self.reserves[unit as usize];
        reserve.ready().next().is_none() && reserve.next_to_erase().is_some()
    }

    /// Records the end of the erase of [`next_to_erase`](Self::next_to_erase).
    pub fn erased(&mut self, unit: u32, failed: bool) {
        self.reserves[unit as usize].erased(failed);
    }

    /// Saves the table entries of a chunk and of its parallel unit.
    pub fn before(&self, chunk: ChunkId) -> SavedEntries {
        let unit = self.unit_of(chunk) as usize;
        SavedEntries {
            chunk,
            map: self.block(chunk),
            shift: self.shift[chunk.0 as usize],
            list: self.lists.get(&chunk).cloned(),
            reserve: self.reserves[unit].clone(),
            migrating: self.migrating[unit].clone(),
        }
    }

    /// Undoes a change. Chunks that have become full since are still migrated.
    pub fn undo(&mut self, before: SavedEntries) {
        let SavedEntries { chunk, map, shift, list, reserve, mut migrating } = before;
        let unit = self.unit_of(chunk) as usize;
        self.map[chunk.0 as usize] = map;
        self.shift[chunk.0 as usize] = shift;
        match list {
            Some(list) => self.lists.insert(chunk, list),
            None => self.lists.remove(&chunk),
        };
        let since = self.migrating[unit].iter().filter(|other| **other != chunk);
        let since: Vec<ChunkId> = since.filter(|other| !migrating.contains(other)).copied().collect();
        migrating.extend(since);
        (self.reserves[unit], self.migrating[unit]) = (reserve, migrating);
    }

    /// All open block lists, by chunk.
    pub fn lists(&self) -> impl Iterator<Item = (ChunkId, &OpenBlockList)> {
        self.lists.iter().map(|(chunk, list)| (*chunk, list))
    }

    /// Number of blocks in all reserves.
    pub fn reserve_blocks(&self) -> usize {
        self.reserves.iter().map(Reserve::len).sum()
    }

    /// Lengths of the lists whose lengths follow from the configuration.
    pub(super) fn lengths(&self) -> [usize; 4] {
        [self.map.len(), self.shift.len(), self.reserves.len(), self.migrating.len()]
    }

    /// Checks that each of `blocks` blocks is used at most once, including `beside`, and that the tables
    /// agree.
    ///
    /// # Errors
    /// Description of the inconsistency.
    pub fn check(&self, blocks: u32, beside: impl IntoIterator<Item = BlockSetId>) -> Result<(), String> {
        let mut used: Column<BlockSetId, bool> = Column::filled(blocks as usize, false);
        let mut take = |block: BlockSetId| {
            let is_first = block.0 < blocks && !std::mem::replace(&mut used[block], true);
            ensure(is_first, || format!("block {} is in two places, or is none", block.0))
        };
        for (chunk, shift) in (0..).map(ChunkId).zip(&self.shift) {
            let list = self.lists.get(&chunk);
            ensure(list.is_some() == (*shift == LISTED), || format!("the list of chunk {}", chunk.0))?;
            match list {
                None => take(self.block(chunk))?,
                Some(list) => {
                    let fits = list.pages() <= self.pages && !list.elements.is_empty();
                    ensure(fits, || format!("the list of chunk {} has {} pages", chunk.0, list.pages()))?;
                    list.elements
                        .iter()
                        .map(|element| element.block)
                        .chain(list.whole)
                        .try_for_each(&mut take)?;
                }
            }
        }
        self.reserves.iter().flat_map(Reserve::all).try_for_each(&mut take)?;
        beside.into_iter().try_for_each(&mut take)?;
        let listed = self.migrating.iter().flatten().all(|chunk| self.lists.contains_key(chunk));
        ensure(listed && self.lists.keys().all(|chunk| (chunk.0 as usize) < self.map.len()), || {
            "a list of a chunk that has none".into()
        })
    }
}

/// Memory of the block map and of the shift table, in packed bits, for `blocks` blocks with `pages` pages
/// each (FT-PASSD, section V.A). A map entry has a block number; a shift entry has a page number or the mark
/// of an open block list.
pub fn memory(blocks: u64, pages: u32) -> [Bytes; 2] {
    [blocks, u64::from(pages) + 1].map(|values| table(blocks, values))
}

/// Bits needed for `values` different values.
pub fn bits(values: u64) -> u64 {
    u64::from(u64::BITS - (values - 1).leading_zeros())
}

/// Memory of a table of `entries` entries in packed bits. Each entry has one of `values` values.
pub fn table(entries: u64, values: u64) -> Bytes {
    Bytes((entries * bits(values)).div_ceil(8))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bits of an entry, and memory, of a table that maps all parts of a volume.
    fn mapping(volume: u64, part: u64) -> (u64, Bytes) {
        let parts = volume.div_ceil(part);
        (bits(parts), table(parts, parts))
    }

    const GIB: u64 = 1 << 30;
    const MIB: u64 = 1 << 20;
    const KIB: u64 = 1 << 10;

    #[test]
    fn page_maps_take_what_table_1_of_ft_passd_says_but_for_the_last() {
        assert_eq!(mapping(256 * GIB, 16 * KIB), (24, Bytes(48 * MIB)));
        assert_eq!(mapping(256 * GIB, 8 * KIB), (25, Bytes(100 * MIB)));
        // The paper's table has 30 bits, which would be 240 MiB.
        assert_eq!(mapping(1_024 * GIB, 16 * KIB), (26, Bytes(208 * MIB)));
        assert_eq!((1_024 * GIB / (16 * KIB) * 30) / 8, 240 * MIB);
    }

    #[test]
    fn block_maps_take_what_table_2_of_ft_passd_says_to_whole_kibibytes() {
        for (volume, block, bits, kib) in [(256, 24, 14, 18), (256, 12, 15, 40), (1_024, 24, 16, 85)] {
            let (found, memory) = mapping(volume * GIB, block * MIB);
            assert_eq!((found, memory.0 / KIB), (bits, kib), "{volume} GiB of blocks of {block} MiB");
        }
    }

    #[test]
    fn the_tables_of_the_manager_take_what_section_5_of_ft_passd_says() {
        assert_eq!(memory(8_192, 1_536), [Bytes(13 * KIB), Bytes(11 * KIB)]);
    }
}
