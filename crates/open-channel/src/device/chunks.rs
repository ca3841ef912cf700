//! Chunk table as the host sees it: states, write pointers, and commands in flight on each chunk.

use serde::{Deserialize, Serialize};
use wordline_device::physical_device::{ChunkState, Geometry};
use wordline_kernel::ensure::ensure;
use wordline_kernel::{Column, id};

id!(
    /// Number of a chunk, in the order of the host: by parallel unit, then by chunk.
    ChunkId
);

/// Table entry of a chunk.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) state: ChunkState,
    /// Write pointer. Writes in flight count as done.
    pub(super) next: u32,
    /// Number of logical blocks that count as written: those in flash, and with write-back those in the
    /// buffer.
    pub(super) written: u32,
    /// Number of logical blocks programmed.
    pub(super) programmed: u32,
    /// Logical blocks of outstanding writes.
    pub(super) writing: u32,
    /// Outstanding reads.
    pub(super) readers: u32,
    pub(super) is_resetting: bool,
    /// Whether the block of the chunk is being erased.
    pub(super) is_erasing: bool,
    /// Whether the block of the chunk is retired at the next reset, because a program failed.
    pub(super) is_bad: bool,
    /// Whether the data are lost because a reset has begun.
    pub(super) is_void: bool,
}

impl Entry {
    const FREE: Self = Self {
        state: ChunkState::Free,
        next: 0,
        written: 0,
        programmed: 0,
        writing: 0,
        readers: 0,
        is_resetting: false,
        is_erasing: false,
        is_bad: false,
        is_void: false,
    };

    /// Whether outstanding commands change the chunk.
    pub(super) fn changes(&self) -> bool {
        self.is_resetting || self.writing > 0
    }

    /// Whether blocks before the write pointer are not programmed yet.
    pub(super) fn is_behind(&self) -> bool {
        self.programmed != self.next
    }

    /// Number of readable logical blocks, from the first on. An open chunk keeps its last `mw_cunits` blocks
    /// unreadable.
    pub(super) fn readable(&self, mw_cunits: u32) -> u32 {
        match self.state {
            ChunkState::Closed => self.written,
            ChunkState::Open => self.written.saturating_sub(mw_cunits),
            ChunkState::Free => 0,
            // A chunk that went offline because the reserve was used up is still readable.
            ChunkState::Offline => self.written,
        }
    }

    /// Checks that the entry of a chunk agrees with the programmed logical blocks of its block. A device with
    /// a failure manager `repairs` programs, and knows with an open block list where the pages are (not
    /// `is_mapped`).
    pub(super) fn check(
        &self,
        chunk: ChunkId,
        in_flash: u32,
        (has_repairs, is_mapped): (bool, bool),
        (unit, size): (u32, u32),
    ) -> Result<(), String> {
        let Self { state, next, written, programmed, .. } = *self;
        // A failed unit follows the programmed units in a closed chunk, or while the failure manager waits
        // for an erased block.
        let is_behind_failure = in_flash == programmed + unit;
        let is_as_programmed =
            !is_mapped || self.is_void || in_flash == programmed || has_repairs && is_behind_failure;
        // Padding of a chunk that was closed early.
        let is_padded = has_repairs && in_flash == size;
        let fits = match state {
            ChunkState::Free => is_as_programmed && next == 0 && programmed == 0,
            ChunkState::Open => is_as_programmed && programmed < size && next > 0,
            ChunkState::Closed => is_as_programmed || is_padded || is_behind_failure && next == programmed,
            ChunkState::Offline => next == written,
        };
        ensure(fits && programmed <= written && written <= next, || {
            format!(
                "chunk {} is {state:?}, programmed to {programmed} of {written} of {next}; its flash to {in_flash}",
                chunk.0
            )
        })
    }
}

/// Table of all chunks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Chunks {
    entries: Column<ChunkId, Entry>,
    per_unit: u32,
    size: u32,
    /// Number of open chunks in each parallel unit.
    open: Vec<u32>,
}

impl Chunks {
    /// Table of free chunks.
    pub(super) fn new(geometry: &Geometry) -> Self {
        Self {
            entries: Column::filled(geometry.chunks() as usize, Entry::FREE),
            per_unit: geometry.chunks_per_unit,
            size: geometry.blocks_per_chunk,
            open: vec![0; geometry.units() as usize],
        }
    }

    #[inline]
    pub(super) fn get(&self, chunk: ChunkId) -> &Entry {
        &self.entries[chunk]
    }

    /// Mutable entry. Its state must be changed by [`set_state`](Self::set_state).
    #[inline]
    pub(super) fn get_mut(&mut self, chunk: ChunkId) -> &mut Entry {
        &mut self.entries[chunk]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (ChunkId, &Entry)> {
        self.entries.entries()
    }

    /// Number of chunks.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Parallel unit of a chunk.
    #[inline]
    pub(super) fn unit_of(&self, chunk: ChunkId) -> u32 {
        chunk.0 / self.per_unit
    }

    /// Number of open chunks in a parallel unit.
    pub(super) fn open_of(&self, unit: u32) -> u32 {
        self.open[unit as usize]
    }

    /// Number of open chunks.
    pub(super) fn open(&self) -> u32 {
        self.open.iter().sum()
    }

    pub(super) fn set_state(&mut self, chunk: ChunkId, state: ChunkState) {
        let unit = self.unit_of(chunk) as usize;
        let before = std::mem::replace(&mut self.entries[chunk].state, state);
        let open = &mut self.open[unit];
        *open = *open + u32::from(state == ChunkState::Open) - u32::from(before == ChunkState::Open);
    }

    /// Advances the write pointer of a chunk by `blocks`, for a write command.
    pub(super) fn write(&mut self, chunk: ChunkId, blocks: u32) {
        let entry = &mut self.entries[chunk];
        entry.next += blocks;
        entry.writing += blocks;
        if entry.state == ChunkState::Free {
            self.set_state(chunk, ChunkState::Open);
        }
    }

    /// Counts `blocks` more logical blocks of a chunk as written. Their write may complete.
    pub(super) fn written(&mut self, chunk: ChunkId, blocks: u32) {
        let entry = &mut self.entries[chunk];
        entry.written += blocks;
        entry.writing -= blocks;
        if entry.written == self.size {
            self.set_state(chunk, ChunkState::Closed);
        }
    }

    /// Ends a chunk after its programmed blocks. The chunk accepts no more writes.
    pub(super) fn end(&mut self, chunk: ChunkId, state: ChunkState) {
        let entry = &mut self.entries[chunk];
        (entry.next, entry.written) = (entry.programmed, entry.programmed);
        self.set_state(chunk, state);
    }

    /// Ends the reset of a chunk.
    pub(super) fn finish_reset(&mut self, chunk: ChunkId, failed: bool) {
        self.set_state(chunk, ChunkState::Free);
        self.entries[chunk] = Entry::FREE;
        if failed {
            self.set_state(chunk, ChunkState::Offline);
        }
    }

    /// Sets a chunk after a power loss: it has the programmed blocks and `kept` blocks in the buffer.
    pub(super) fn settle(&mut self, chunk: ChunkId, kept: u32) {
        let size = self.size;
        let entry = &mut self.entries[chunk];
        let was_closed_early = entry.state == ChunkState::Closed && entry.next < size;
        entry.next = entry.programmed + kept;
        (entry.written, entry.writing) = (entry.next, 0);
        let state = match entry.next {
            _ if entry.state == ChunkState::Offline || was_closed_early => entry.state,
            0 => ChunkState::Free,
            next if next == size => ChunkState::Closed,
            _ => ChunkState::Open,
        };
        self.set_state(chunk, state);
    }

    /// Drops the counts of outstanding commands, at a power loss.
    pub(super) fn forget(&mut self) {
        for entry in self.entries.iter_mut() {
            (entry.writing, entry.readers) = (0, 0);
        }
    }

    /// Sizes that follow from the configuration.
    pub(super) fn lengths(&self) -> [usize; 4] {
        [self.entries.len(), self.open.len(), self.per_unit as usize, self.size as usize]
    }

    /// Checks a loaded state.
    pub(super) fn check_loaded(&self) -> Result<(), String> {
        let mut open = vec![0; self.open.len()];
        for (chunk, entry) in self.entries.entries() {
            open[self.unit_of(chunk) as usize] += u32::from(entry.state == ChunkState::Open);
            let in_order = entry.programmed <= entry.next && entry.next <= self.size;
            ensure(in_order && entry.written <= self.size, || {
                format!("chunk {} is written beyond its end", chunk.0)
            })?;
        }
        ensure(open == self.open, || "other chunks are open than are counted".into())
    }
}
