//! The program failure manager: block map, shift table and open block lists (FT-PASSD, section IV, figures 9
//! to 12).
//!
//! It recovers program failures, so that a write can complete before it is in flash. A page here is one
//! program. A chunk is mapped to a block; its page `p` is page `(p + shift) mod N` of the block. When a
//! program fails, a reserve block is appended to the chunk's open block list and the page is programmed
//! there. When the chunk is full, its pages are copied behind those of the last block, to which the chunk is
//! mapped from then on.
//!
//! It consists of tables and rules only: it programs nothing and is notified of programs.
//! `docs/open-channel.md` lists what the paper leaves open.

mod list;
mod reserve;

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Column};
use wordline_nand::BlockSetId;

use super::chunks::ChunkId;
use crate::ensure::ensure;

pub use list::{Element, OpenBlockList, Phase};
pub use reserve::{NoBlock, Reserve};

/// The entry of the shift table for a chunk with a list (`NULL`).
const LISTED: u16 = u16::MAX;

/// A page of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageLocation {
    /// The block.
    pub block: BlockSetId,
    /// The page, counted from 0.
    pub page: u32,
}

/// A step of the migration of a chunk into one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// Programs a page of padding, because the chunk was closed early.
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
    /// All pages are there: [finish](Manager::finish).
    Finish,
}

/// Treatment of a chunk that is closed early while its pages are in several blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EarlyClose {
    /// It is padded to its end, then its pages are copied into one block.
    #[default]
    Pad,
    /// Its open block list stays until it is reset.
    KeepList,
}

/// Dimensions of a manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Parallel units.
    pub units: u32,
    /// Blocks of a parallel unit.
    pub blocks_per_unit: u32,
    /// Chunks of a parallel unit: its blocks without the reserve.
    pub chunks_per_unit: u32,
    /// Pages of a block.
    pub pages: u32,
}

/// The program failure manager of a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manager {
    map: Vec<BlockSetId>,
    shift: Vec<u16>,
    lists: BTreeMap<ChunkId, OpenBlockList>,
    reserves: Vec<Reserve>,
    /// Chunks to migrate into one block, by parallel unit.
    migrating: Vec<VecDeque<ChunkId>>,
    chunks_per_unit: u32,
    pages: u32,
    shifts: bool,
    early_close: EarlyClose,
}

/// The table entries of a chunk and the reserve of its parallel unit, before a change.
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
    /// The chunk.
    pub fn chunk(&self) -> ChunkId {
        self.chunk
    }

    /// Removes a block from the saved reserve: it is used for something else, even if the change is undone.
    pub(super) fn exclude(&mut self, block: BlockSetId) {
        self.reserve.forget(block);
    }
}

impl Manager {
    /// A manager of an empty device, and the chunks that are offline because of `bad` blocks. With `shifts`
    /// the host continues writing at once after a failure, and pages are copied later; otherwise they are
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
        // Each of the others has a reserve block now.
        let good: Vec<ChunkId> = without.collect();
        let all = (0..units * chunks_per_unit).map(ChunkId);
        let offline = all.filter(|chunk| good.binary_search(chunk).is_err()).collect();
        (manager, offline)
    }

    /// The block that a chunk is mapped to.
    pub fn block(&self, chunk: ChunkId) -> BlockSetId {
        self.map[chunk.0 as usize]
    }

    /// The shift of a chunk; none while it has an open block list.
    pub fn shift(&self, chunk: ChunkId) -> Option<u32> {
        Some(self.shift[chunk.0 as usize]).filter(|shift| *shift != LISTED).map(u32::from)
    }

    /// The open block list of a chunk, if it has one.
    pub fn list(&self, chunk: ChunkId) -> Option<&OpenBlockList> {
        self.lists.get(&chunk)
    }

    /// The reserve of a parallel unit.
    pub fn reserve(&self, unit: u32) -> &Reserve {
        &self.reserves[unit as usize]
    }

    /// The parallel unit of a chunk.
    pub fn unit_of(&self, chunk: ChunkId) -> u32 {
        chunk.0 / self.chunks_per_unit
    }

    /// Location of a written page; with an open block list also of the next one (algorithm 2).
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

    /// Notes that the next page of a chunk is programmed; a full chunk begins to migrate.
    pub fn note_programmed(&mut self, chunk: ChunkId) {
        let Some(list) = self.lists.get_mut(&chunk) else { return };
        list.tail_mut().pages += 1;
        if list.pages() == self.pages {
            list.phase = Phase::Migrating;
            self.queue(chunk);
        }
    }

    /// Handles a failed program of the next page of a chunk, which has `pages` so far (algorithm 1); a block
    /// that is not `is_bad` was only torn by a power cut.
    ///
    /// # Errors
    /// No block can replace it, and nothing has changed.
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

    /// Notes that the host closed a chunk.
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

    /// The next chunk of a parallel unit to migrate.
    pub fn next_to_migrate(&self, unit: u32) -> Option<ChunkId> {
        self.migrating[unit as usize].front().copied()
    }

    /// Whether a chunk is being migrated into one block.
    pub fn is_migrating(&self, chunk: ChunkId) -> bool {
        self.lists.get(&chunk).is_some_and(|list| list.phase == Phase::Migrating)
    }

    /// Whether the host continues writing at once after a failure.
    pub(super) fn shifts(&self) -> bool {
        self.shifts
    }

    /// Whether a failed write waits for the copies of its chunk.
    pub fn must_copy_first(&self, unit: u32) -> bool {
        !self.shifts && self.next_to_migrate(unit).is_some()
    }

    /// The next step of the migration of a chunk.
    pub fn step(&self, chunk: ChunkId) -> Step {
        self.lists[&chunk].step(self.pages)
    }

    /// Notes that a step is done.
    pub fn complete_step(&mut self, chunk: ChunkId, step: Step) {
        let list = self.lists.get_mut(&chunk).expect("a step of it was under way");
        match step {
            Step::Pad { .. } => list.tail_mut().pages += 1,
            Step::Copy { .. } => list.copied += 1,
            Step::Finish => unreachable!("finishing is no step that a die takes"),
        }
    }

    /// Handles a failed step; a block that is not `is_bad` was only torn by a power cut. All pages are copied
    /// to another block, in order; those copied so far stay where they are until that is done.
    ///
    /// # Errors
    /// No block can replace it. If the reserve is used up, the list stays.
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
            // Nothing in it is needed: a bad one is in no list from then on.
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
    /// pages that the block had before the others were copied behind them.
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

    /// Takes all blocks of a list except `block` from the chunk: sound ones return to the reserve.
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

    /// Resets a chunk: it has one block from then on, which is still to be erased. With `is_bad` its current
    /// block is not used again.
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

    /// Replaces the block of a chunk by an erased one of the reserve.
    ///
    /// # Errors
    /// No such block is available.
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

    /// The next reserve block of a parallel unit to erase.
    pub fn next_to_erase(&self, unit: u32) -> Option<BlockSetId> {
        self.reserves[unit as usize].next_to_erase()
    }

    /// Whether a reserve has no erased block but one to erase.
    pub(super) fn needs_erase(&self, unit: u32) -> bool {
        let reserve = &self.reserves[unit as usize];
        reserve.ready().next().is_none() && reserve.next_to_erase().is_some()
    }

    /// The erase of that block has ended.
    pub fn erased(&mut self, unit: u32, failed: bool) {
        self.reserves[unit as usize].erased(failed);
    }

    /// Saves the table entries of a chunk and its parallel unit.
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

    /// Undoes a change. Chunks that were filled meanwhile are still to be migrated.
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

    /// All open block lists.
    pub fn lists(&self) -> impl Iterator<Item = (ChunkId, &OpenBlockList)> {
        self.lists.iter().map(|(chunk, list)| (*chunk, list))
    }

    /// Blocks of all reserves.
    pub fn reserve_blocks(&self) -> usize {
        self.reserves.iter().map(Reserve::len).sum()
    }

    /// Lengths of the lists whose lengths follow from the configuration.
    pub(super) fn lengths(&self) -> [usize; 4] {
        [self.map.len(), self.shift.len(), self.reserves.len(), self.migrating.len()]
    }

    /// Checks that each of `blocks` blocks is in at most one place, and that the tables agree.
    ///
    /// # Errors
    /// The contradiction.
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

/// Memory of the block map and of the shift table for this many blocks of this many pages, in packed bits
/// (FT-PASSD, section V.A): an entry for each block, of as many bits as tell blocks apart, or pages and the
/// mark of a list.
pub fn memory(blocks: u64, pages: u32) -> [Bytes; 2] {
    [blocks, u64::from(pages) + 1].map(|values| table(blocks, values))
}

/// Bits that tell this many values apart.
pub fn bits(values: u64) -> u64 {
    u64::from(u64::BITS - (values - 1).leading_zeros())
}

/// Memory of a table of this many entries, each one of `values` values, in packed bits.
pub fn table(entries: u64, values: u64) -> Bytes {
    Bytes((entries * bits(values)).div_ceil(8))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bits of an entry and the memory of a table that maps each part of a volume.
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
        // The table has 30 bits, which would be 240 MiB.
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
