//! Invariants: the table of chunks against the chips, and commands against what they wait for. Also the check whether a state that
//! was read can be one of the device.

use wordline_kernel::Duration;
use wordline_nand::BlockSetId;

use super::chunks::{Entry, Unit};
use super::{Event, OpenChannel};
use crate::physical_device::{ChunkState, Operation};
use crate::snapshot::{Agenda, ensure};

impl OpenChannel {
    pub(super) fn audit_all(&self, elapsed: Duration) {
        self.flash.audit(elapsed);
        let programs = self.chips().counts().program_commands;
        assert_eq!(programs, self.counts.programs + self.cut_programs, "programs are those of writes");
        let parts: u32 = self.commands.iter().map(|command| command.parts).sum();
        assert_eq!(parts as usize, self.parts_in_flight(), "commands wait for what is in flight");
        if self.recovering.is_none() {
            for (block, entry) in self.chunks.iter() {
                self.check_chunk(block, entry).unwrap_or_else(|wrong| panic!("{wrong}"));
            }
        }
    }

    /// Parts of commands in flight, as the table of chunks and the flash know them: units that wait in the table are in no queue.
    fn parts_in_flight(&self) -> usize {
        let of_recovery = self.recovering.as_ref().map_or(0, |recovering| recovering.left as usize);
        self.flash.outstanding() - of_recovery + self.chunks.waiting()
    }

    /// Whether a chunk is what the chips say.
    fn check_chunk(&self, block: BlockSetId, entry: &Entry) -> Result<(), String> {
        let Entry { state, next, programmed, .. } = *entry;
        let (unit, size) = (self.config.geometry.ws_min, self.config.geometry.blocks_per_chunk);
        let in_flash = self.chips().programmed(block);
        let fits = match state {
            ChunkState::Free => in_flash == 0 && next == 0 && programmed == 0,
            ChunkState::Open => in_flash == programmed && programmed < size && next > 0,
            // With the unit behind it that failed or was torn.
            ChunkState::Closed => [programmed, programmed + unit].contains(&in_flash) && next == programmed,
            ChunkState::Offline => next == 0 && programmed == 0,
        };
        ensure(fits, || {
            format!(
                "chunk {} is {state:?}, programmed to {programmed} of {next}; its flash to {in_flash}",
                block.0
            )
        })
    }

    pub(super) fn check_state(&self, agenda: &Agenda<Event>) -> Result<(), String> {
        self.flash.check_loaded()?;
        let (unit, all) = (self.config.geometry.ws_min as usize, self.config.pools.locations());
        for command in self.commands.iter() {
            let count = if command.operation == Operation::Reset { 0 } else { command.locations.len() };
            let fits =
                command.locations.iter().all(|location| location.0 < all) && command.stamps.len() == count;
            ensure(fits && command.parts > 0, || format!("command {} cannot be", command.tag))?;
        }
        let knows = |block: BlockSetId, unit_of: Unit| {
            let locations = self.commands.find(unit_of.command).map(|command| &command.locations);
            let at = unit_of.at as usize;
            locations.and_then(|locations| locations.get(at..at + unit)).is_some_and(|locations| {
                locations.iter().all(|location| self.config.pools.block_of(*location) == block)
            })
        };
        self.chunks.check_loaded(self.config.geometry.blocks_per_chunk, knows)?;
        if self.recovering.is_none() {
            self.chunks.iter().try_for_each(|(block, entry)| self.check_chunk(block, entry))?;
        }
        let blocks = self.recovering.iter().flat_map(|recovering| &recovering.chunks);
        let there = blocks.copied().all(|block| (block.0 as usize) < self.chunks.len());
        ensure(there, || "a recovery of a chunk that is not there".into())?;
        let parts: u32 = self.commands.iter().map(|command| command.parts).sum();
        ensure(parts as usize == self.parts_in_flight(), || "commands that wait for nothing".into())?;
        agenda.events.iter().try_for_each(|(_, event)| self.flash.check_event(*event))
    }
}
