//! Rules that a host must follow (sections 1.2.4, Chunk Access Rules, and 3). They are checked before any
//! state changes.

use wordline_device::physical_device::{
    Capabilities, Chunk, ChunkState, Command, Geometry, LogicalBlock, MOST_BLOCKS, Operation, Refusal,
};
use wordline_nand::DataTag;

use super::chunks::{ChunkId, Chunks, Entry};

/// Rules of a device with this geometry, and chunks in these states.
pub(super) struct Rules<'a> {
    pub(super) geometry: &'a Geometry,
    pub(super) chunks: &'a Chunks,
}

impl Rules<'_> {
    /// Checks a command against all rules.
    pub(super) fn check(&self, command: &Command<'_>) -> Result<(), Refusal> {
        let Command { operation, blocks, to, stamps, .. } = *command;
        let geometry = self.geometry;
        if operation == Operation::Copy && !geometry.capabilities.copy {
            return Err(Refusal::Unsupported { operation });
        }
        let allowed = if operation == Operation::Flush { 0..=0 } else { 1..=MOST_BLOCKS };
        if !allowed.contains(&blocks.len()) {
            return Err(Refusal::Count { found: blocks.len() });
        }
        let wanted = if operation == Operation::Copy { blocks.len() } else { 0 };
        if to.len() != wanted {
            return Err(Refusal::Destinations { found: to.len(), wanted });
        }
        let is_there =
            |block: &LogicalBlock| geometry.has(block.chunk) && block.block < geometry.blocks_per_chunk;
        if let Some(block) = blocks.iter().chain(to).find(|block| !is_there(block)) {
            return Err(Refusal::NoSuchBlock { block: *block });
        }
        let wanted = if operation == Operation::Write { blocks.len() } else { 0 };
        if stamps.len() != wanted {
            return Err(Refusal::Stamps { found: stamps.len(), wanted });
        }
        match operation {
            Operation::Read => blocks.iter().try_for_each(|block| self.check_read(*block)),
            Operation::Write => self.check_data_tags(blocks, stamps).and_then(|()| self.check_write(blocks)),
            Operation::Copy => blocks
                .iter()
                .try_for_each(|block| self.check_read(*block))
                .and_then(|()| self.check_write(to)),
            Operation::Reset => self.check_reset(blocks),
            Operation::Close => self.check_close(blocks),
            Operation::Flush => Ok(()),
        }
    }

    fn id_of(&self, chunk: Chunk) -> ChunkId {
        ChunkId(self.geometry.number(chunk))
    }

    /// Entry of a chunk, if the chunk is in one of `states` and not being reset.
    fn chunk_in(&self, chunk: Chunk, states: &[ChunkState]) -> Result<&Entry, Refusal> {
        let entry = self.chunks.get(self.id_of(chunk));
        if entry.is_resetting {
            return Err(Refusal::InFlight { chunk });
        }
        let state = entry.state;
        if states.contains(&state) { Ok(entry) } else { Err(Refusal::State { chunk, state }) }
    }

    fn check_read(&self, block: LogicalBlock) -> Result<(), Refusal> {
        use ChunkState::{Closed, Free, Offline, Open};
        let end = self.chunks.get(self.id_of(block.chunk)).readable(self.geometry.mw_cunits);
        // Completed blocks of a chunk stay readable when it goes offline.
        let states: &[ChunkState] =
            if end > 0 { &[Free, Open, Closed, Offline] } else { &[Free, Open, Closed] };
        self.chunk_in(block.chunk, states)?;
        if block.block < end { Ok(()) } else { Err(Refusal::NotReadable { block, end }) }
    }

    fn check_data_tags(&self, blocks: &[LogicalBlock], stamps: &[DataTag]) -> Result<(), Refusal> {
        let is_written = |stamp: &DataTag| stamp.is_data() || *stamp == DataTag::PADDING;
        let at = stamps.iter().position(|stamp| !is_written(stamp));
        at.map_or(Ok(()), |at| Err(Refusal::NoData { block: blocks[at] }))
    }

    /// Checks a write. Each run in a chunk must begin at the write pointer, or where the command's last run
    /// in the chunk ended. The command must not exceed the limits of open chunks.
    fn check_write(&self, blocks: &[LogicalBlock]) -> Result<(), Refusal> {
        let unit = self.geometry.ws_min;
        let mut ends: Vec<LogicalBlock> = Vec::new();
        let mut opened: Vec<Chunk> = Vec::new();
        let is_beside = |one: &LogicalBlock, next: &LogicalBlock| *next == one.chunk.at(one.block + 1);
        for run in blocks.chunk_by(is_beside) {
            let (first, found) = (run[0], run.len() as u32);
            let entry = self.chunk_in(first.chunk, &[ChunkState::Free, ChunkState::Open])?;
            let is_opened =
                entry.state == ChunkState::Free && ends.iter().all(|end| end.chunk != first.chunk);
            if is_opened {
                self.check_open(first.chunk, &mut opened)?;
            }
            let before = ends.iter().rev().find(|end| end.chunk == first.chunk);
            let wanted = before.map_or(entry.next, |end| end.block);
            if first.block != wanted {
                return Err(Refusal::OutOfOrder { block: first, wanted });
            }
            if !found.is_multiple_of(unit) {
                return Err(Refusal::WriteSize { chunk: first.chunk, found, wanted: unit });
            }
            ends.push(first.chunk.at(first.block + found));
        }
        Ok(())
    }

    /// Checks whether a chunk may be opened. `opened` has the chunks that the same command opens.
    fn check_open(&self, chunk: Chunk, opened: &mut Vec<Chunk>) -> Result<(), Refusal> {
        let Geometry { max_open, max_open_per_unit, .. } = *self.geometry;
        let is_of_unit = |other: &&Chunk| (other.group, other.unit) == (chunk.group, chunk.unit);
        let of_unit = self.chunks.open_of(self.chunks.unit_of(self.id_of(chunk)));
        let of_unit = of_unit + opened.iter().filter(is_of_unit).count() as u32;
        let all = if max_open > 0 { self.chunks.open() + opened.len() as u32 } else { 0 };
        for (open, limit) in [(all, max_open), (of_unit, max_open_per_unit)] {
            if limit > 0 && open >= limit {
                return Err(Refusal::TooManyOpen { chunk, limit });
            }
        }
        opened.push(chunk);
        Ok(())
    }

    fn check_reset(&self, blocks: &[LogicalBlock]) -> Result<(), Refusal> {
        let Capabilities { multiple_resets, early_resets, .. } = self.geometry.capabilities;
        let mut states = vec![ChunkState::Closed];
        states.extend(early_resets.then_some(ChunkState::Open));
        states.extend(multiple_resets.then_some(ChunkState::Free));
        self.check_chunks(blocks, &states)
    }

    fn check_close(&self, blocks: &[LogicalBlock]) -> Result<(), Refusal> {
        self.check_chunks(blocks, &[ChunkState::Open])
    }

    /// Checks that each chunk of a list is in one of these states, is listed once, and has no outstanding
    /// commands.
    fn check_chunks(&self, blocks: &[LogicalBlock], states: &[ChunkState]) -> Result<(), Refusal> {
        for (n, LogicalBlock { chunk, .. }) in blocks.iter().enumerate() {
            let entry = self.chunk_in(*chunk, states)?;
            if entry.readers > 0 || entry.changes() {
                return Err(Refusal::InFlight { chunk: *chunk });
            }
            if blocks[..n].iter().any(|before| before.chunk == *chunk) {
                return Err(Refusal::Twice { chunk: *chunk });
            }
        }
        Ok(())
    }
}
