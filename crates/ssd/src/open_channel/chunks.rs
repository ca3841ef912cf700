//! The table of chunks: their states and write pointers, and what in each is in flight.
//!
//! The flash has one program of a chunk at the most. Further writes of a chunk wait here, so that nothing more of it is
//! programmed once a program of it has failed.

use serde::{Deserialize, Serialize};
use wordline_kernel::Column;
use wordline_nand::BlockSetId;

use crate::physical_device::ChunkState;
use crate::snapshot::ensure;

const NONE: u32 = u32::MAX;

/// The data of one program of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Unit {
    /// The command.
    pub(super) command: u32,
    /// Where in its list the logical blocks begin.
    pub(super) at: u32,
    next: u32,
}

/// A chunk.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) state: ChunkState,
    /// Where the next write has to begin, those in flight counted as done.
    pub(super) next: u32,
    /// Logical blocks that are programmed.
    pub(super) programmed: u32,
    /// Reads in flight.
    pub(super) readers: u32,
    pub(super) is_resetting: bool,
    /// Whether a program failed in it since it was reset.
    pub(super) has_failed: bool,
    /// The units that are to be programmed; the first is at its die.
    first: u32,
    last: u32,
}

impl Entry {
    const FREE: Self = Self {
        state: ChunkState::Free,
        next: 0,
        programmed: 0,
        readers: 0,
        is_resetting: false,
        has_failed: false,
        first: NONE,
        last: NONE,
    };

    /// Whether commands that change it are in flight.
    pub(super) fn changes(&self) -> bool {
        self.is_resetting || self.first != NONE
    }
}

/// All chunks, by the block sets that they are.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Chunks {
    entries: Column<BlockSetId, Entry>,
    units: Vec<Unit>,
    free: Vec<u32>,
}

impl Chunks {
    /// This many free chunks, but for those that are bad from the factory.
    pub(super) fn new(chunks: u32, bad: &[BlockSetId]) -> Self {
        let mut entries = Column::filled(chunks as usize, Entry::FREE);
        for block in bad {
            entries[*block] = Entry { state: ChunkState::Offline, ..Entry::FREE };
        }
        Self { entries, units: Vec::new(), free: Vec::new() }
    }

    #[inline]
    pub(super) fn get(&self, block: BlockSetId) -> &Entry {
        &self.entries[block]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, block: BlockSetId) -> &mut Entry {
        &mut self.entries[block]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (BlockSetId, &Entry)> {
        self.entries.entries()
    }

    /// A unit of `blocks` logical blocks is to be written to a chunk; whether its turn is now.
    pub(super) fn write(&mut self, block: BlockSetId, command: u32, at: u32, blocks: u32) -> bool {
        let unit = Unit { command, at, next: NONE };
        let id = match self.free.pop() {
            Some(id) => {
                self.units[id as usize] = unit;
                id
            }
            None => {
                self.units.push(unit);
                self.units.len() as u32 - 1
            }
        };
        let entry = &mut self.entries[block];
        entry.state = ChunkState::Open;
        entry.next += blocks;
        match std::mem::replace(&mut entry.last, id) {
            NONE => entry.first = id,
            last => self.units[last as usize].next = id,
        }
        entry.first == id
    }

    /// The unit of a chunk that is at its die.
    pub(super) fn current(&self, block: BlockSetId) -> Option<Unit> {
        self.units.get(self.entries[block].first as usize).copied()
    }

    /// Takes the first unit of a chunk.
    fn take(&mut self, block: BlockSetId) -> Option<Unit> {
        let unit = self.current(block)?;
        let entry = &mut self.entries[block];
        self.free.push(entry.first);
        entry.first = unit.next;
        if entry.first == NONE {
            entry.last = NONE;
        }
        Some(unit)
    }

    /// The current unit of a chunk of `size` logical blocks is programmed, `blocks` of them: what it was.
    pub(super) fn programmed(&mut self, block: BlockSetId, blocks: u32, size: u32) -> Unit {
        let unit = self.take(block).expect("a unit of it was at its die");
        let entry = &mut self.entries[block];
        entry.programmed += blocks;
        if entry.programmed == size {
            entry.state = ChunkState::Closed;
        }
        unit
    }

    /// The program of the current unit failed: the chunk ends before it. All units that will not be written.
    pub(super) fn close_early(&mut self, block: BlockSetId) -> Vec<Unit> {
        let units = std::iter::from_fn(|| self.take(block)).collect();
        let entry = &mut self.entries[block];
        (entry.state, entry.has_failed) = (ChunkState::Closed, true);
        entry.next = entry.programmed;
        units
    }

    /// The reset of a chunk is over.
    pub(super) fn reset_over(&mut self, block: BlockSetId, failed: bool) {
        let state = if failed { ChunkState::Offline } else { ChunkState::Free };
        self.entries[block] = Entry { state, ..Entry::FREE };
    }

    /// The power is cut: nothing is in flight any more. Chunks that commands in flight would have changed.
    pub(super) fn forget(&mut self) -> Vec<BlockSetId> {
        let changing = self.entries.entries().filter(|(_, entry)| entry.changes());
        let changing: Vec<BlockSetId> = changing.map(|(block, _)| block).collect();
        for block in self.entries.ids() {
            let entry = &mut self.entries[block];
            (entry.first, entry.last, entry.readers) = (NONE, NONE, 0);
        }
        self.units.clear();
        self.free.clear();
        changing
    }

    /// Units that wait for the one before them in their chunk.
    pub(super) fn waiting(&self) -> usize {
        let at_dies = self.entries.iter().filter(|entry| entry.first != NONE).count();
        self.units.len() - self.free.len() - at_dies
    }

    /// How many chunks there are.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Checks what was loaded: each unit is of one chunk, and of a command that `knows` it there.
    pub(super) fn check_loaded(
        &self,
        blocks_per_chunk: u32,
        knows: impl Fn(BlockSetId, Unit) -> bool,
    ) -> Result<(), String> {
        let mut left = vec![true; self.units.len()];
        for id in &self.free {
            take_once(&mut left, *id)?;
        }
        for (block, entry) in self.entries.entries() {
            let in_order = entry.programmed <= entry.next && entry.next <= blocks_per_chunk;
            ensure(in_order, || format!("chunk {} is written beyond its end", block.0))?;
            let (mut id, mut last) = (entry.first, NONE);
            while id != NONE {
                take_once(&mut left, id)?;
                let unit = self.units[id as usize];
                ensure(knows(block, unit), || format!("a unit of chunk {} of no command", block.0))?;
                (last, id) = (id, unit.next);
            }
            ensure(last == entry.last, || format!("chunk {} has a list without an end", block.0))?;
        }
        ensure(left.iter().all(|left| !left), || "a unit of no chunk".into())
    }
}

fn take_once(left: &mut [bool], id: u32) -> Result<(), String> {
    let is_first = left.get_mut(id as usize).is_some_and(std::mem::take);
    ensure(is_first, || format!("unit {id} is in two places, or is none"))
}
