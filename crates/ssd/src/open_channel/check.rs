//! The rules that a host has to keep (sections 1.2.4, Chunk Access Rules, and 3), checked before anything changes.

use wordline_nand::Stamp;

use super::OpenChannel;
use super::chunks::Entry;
use crate::physical_device::{Chunk, ChunkState, Command, LogicalBlock, MOST_BLOCKS, Operation, Refusal};

impl OpenChannel {
    /// Whether a command breaks no rule.
    pub(super) fn check(&self, command: &Command<'_>) -> Result<(), Refusal> {
        let Command { operation, blocks, stamps, .. } = *command;
        if self.recovering.is_some() {
            return Err(Refusal::NotReady);
        }
        if !(1..=MOST_BLOCKS).contains(&blocks.len()) {
            return Err(Refusal::Count { found: blocks.len() });
        }
        let geometry = &self.config.geometry;
        let is_there =
            |block: &LogicalBlock| geometry.has(block.chunk) && block.block < geometry.blocks_per_chunk;
        if let Some(block) = blocks.iter().find(|block| !is_there(block)) {
            return Err(Refusal::NoSuchBlock { block: *block });
        }
        let wanted = if operation == Operation::Write { blocks.len() } else { 0 };
        if stamps.len() != wanted {
            return Err(Refusal::Stamps { found: stamps.len(), wanted });
        }
        match operation {
            Operation::Read => blocks.iter().try_for_each(|block| self.check_read(*block)),
            Operation::Write => self.check_write(blocks, stamps),
            Operation::Reset => self.check_reset(blocks),
        }
    }

    /// A chunk whose state takes a command.
    fn chunk_in(&self, chunk: Chunk, states: &[ChunkState]) -> Result<&Entry, Refusal> {
        let entry = self.chunks.get(self.block_of(chunk));
        if entry.is_resetting {
            return Err(Refusal::InFlight { chunk });
        }
        let state = entry.state;
        if states.contains(&state) { Ok(entry) } else { Err(Refusal::State { chunk, state }) }
    }

    fn check_read(&self, block: LogicalBlock) -> Result<(), Refusal> {
        use ChunkState::{Closed, Free, Open};
        self.chunk_in(block.chunk, &[Free, Open, Closed])?;
        let end = self.readable(self.block_of(block.chunk));
        if block.block < end { Ok(()) } else { Err(Refusal::NotReadable { block, end }) }
    }

    /// In each chunk a write begins at its write pointer, and so on where its list comes back to a chunk.
    fn check_write(&self, blocks: &[LogicalBlock], stamps: &[Stamp]) -> Result<(), Refusal> {
        let is_written = |stamp: &Stamp| stamp.is_data() || *stamp == Stamp::PADDING;
        if let Some(at) = stamps.iter().position(|stamp| !is_written(stamp)) {
            return Err(Refusal::NoData { block: blocks[at] });
        }
        let unit = self.config.geometry.ws_min;
        let mut ends: Vec<LogicalBlock> = Vec::new();
        let is_beside = |one: &LogicalBlock, next: &LogicalBlock| *next == one.chunk.at(one.block + 1);
        for run in blocks.chunk_by(is_beside) {
            let (first, found) = (run[0], run.len() as u32);
            let entry = self.chunk_in(first.chunk, &[ChunkState::Free, ChunkState::Open])?;
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

    fn check_reset(&self, blocks: &[LogicalBlock]) -> Result<(), Refusal> {
        for (n, LogicalBlock { chunk, .. }) in blocks.iter().enumerate() {
            let entry = self.chunk_in(*chunk, &[ChunkState::Open, ChunkState::Closed])?;
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
