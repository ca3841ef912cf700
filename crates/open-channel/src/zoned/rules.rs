//! Rules of commands from a host that sees zones as chunks.

use wordline_device::physical_device::{
    ChunkState, Command, Geometry, LogicalBlock, MOST_BLOCKS, Operation, Refusal,
};
use wordline_nand::DataTag;

use super::command::Status;
use super::zones::Zones;
use wordline_device::ZoneState;

/// Chunk state of a zone.
pub(super) fn state_of(state: ZoneState) -> ChunkState {
    match state {
        ZoneState::Empty => ChunkState::Free,
        ZoneState::ImplicitlyOpen | ZoneState::ExplicitlyOpen | ZoneState::Closed => ChunkState::Open,
        ZoneState::Full => ChunkState::Closed,
        ZoneState::ReadOnly | ZoneState::Offline => ChunkState::Offline,
    }
}

/// Splits a list into runs of consecutive logical blocks.
pub(super) fn runs(blocks: &[LogicalBlock]) -> impl Iterator<Item = &[LogicalBlock]> {
    blocks.chunk_by(|one, next| *next == one.chunk.at(one.block + 1))
}

/// Rules of a device with this geometry, and zones in these states.
pub(super) struct ChunkRules<'a> {
    pub(super) geometry: &'a Geometry,
    pub(super) zones: &'a Zones,
}

impl ChunkRules<'_> {
    /// Checks a command of a host that sees zones as chunks.
    pub(super) fn check(&self, command: &Command<'_>) -> Result<(), Refusal> {
        let Command { operation, blocks, to, stamps, .. } = *command;
        if operation == Operation::Copy {
            return Err(Refusal::Unsupported { operation });
        }
        let allowed = if operation == Operation::Flush { 0..=0 } else { 1..=MOST_BLOCKS };
        if !allowed.contains(&blocks.len()) {
            return Err(Refusal::Count { found: blocks.len() });
        }
        if !to.is_empty() {
            return Err(Refusal::Destinations { found: to.len(), wanted: 0 });
        }
        let is_there =
            |at: &&LogicalBlock| self.geometry.has(at.chunk) && at.block < self.geometry.blocks_per_chunk;
        if let Some(block) = blocks.iter().find(|block| !is_there(block)) {
            return Err(Refusal::NoSuchBlock { block: *block });
        }
        let wanted = if operation == Operation::Write { blocks.len() } else { 0 };
        if stamps.len() != wanted {
            return Err(Refusal::Stamps { found: stamps.len(), wanted });
        }
        match operation {
            Operation::Read => blocks.iter().try_for_each(|block| {
                let end = self.zones.completed_blocks(self.zones.config.layout.zone_from_chunk(block.chunk));
                if block.block < end { Ok(()) } else { Err(Refusal::NotReadable { block: *block, end }) }
            }),
            Operation::Write => self.check_runs(blocks, stamps),
            Operation::Reset | Operation::Close => self.check_changes(operation, blocks),
            Operation::Copy | Operation::Flush => Ok(()),
        }
    }

    /// Checks that each run of a list begins at the write pointer of its zone and fills whole programs.
    fn check_runs(&self, blocks: &[LogicalBlock], stamps: &[DataTag]) -> Result<(), Refusal> {
        let is_written = |stamp: &DataTag| stamp.is_data() || *stamp == DataTag::PADDING;
        if let Some(at) = stamps.iter().position(|stamp| !is_written(stamp)) {
            return Err(Refusal::NoData { block: blocks[at] });
        }
        let mut after = None;
        for run in runs(blocks) {
            let (first, found) = (run[0], run.len() as u32);
            let (chunk, zone) = (first.chunk, self.zones.config.layout.zone_from_chunk(first.chunk));
            let table = after.as_ref().unwrap_or(&self.zones.table);
            let entry = table.get(zone);
            let state = state_of(entry.state);
            table.check_write(zone, Some(first.block), u64::from(found), true).map_err(
                |status| match status {
                    Status::InvalidWrite => Refusal::OutOfOrder { block: first, wanted: entry.next },
                    Status::TooManyActive | Status::TooManyOpen => {
                        Refusal::TooManyOpen { chunk, limit: self.geometry.max_open }
                    }
                    _ => Refusal::State { chunk, state },
                },
            )?;
            let wanted = self.geometry.ws_min;
            if !found.is_multiple_of(wanted) {
                return Err(Refusal::WriteSize { chunk, found, wanted });
            }
            if run.len() < blocks.len() {
                after.get_or_insert_with(|| self.zones.table.clone()).write(zone, found);
            }
        }
        Ok(())
    }

    fn check_changes(&self, operation: Operation, blocks: &[LogicalBlock]) -> Result<(), Refusal> {
        for (n, LogicalBlock { chunk, .. }) in blocks.iter().enumerate() {
            let state =
                state_of(self.zones.table.get(self.zones.config.layout.zone_from_chunk(*chunk)).state);
            let may = match operation {
                Operation::Close => state == ChunkState::Open,
                _ => state != ChunkState::Offline,
            };
            if !may {
                return Err(Refusal::State { chunk: *chunk, state });
            }
            if blocks[..n].iter().any(|before| before.chunk == *chunk) {
                return Err(Refusal::Twice { chunk: *chunk });
            }
        }
        Ok(())
    }
}
