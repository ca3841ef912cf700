//! Invariants: the chunk table agrees with the chips, and commands with the work that they wait for. Also
//! checks loaded states.

use wordline_device::physical_device::{ChunkState, Operation};
use wordline_device::snapshot::Agenda;
use wordline_kernel::ensure::ensure;
use wordline_kernel::{Duration, Instant};

use super::buffer::Unit;
use super::chunks::{ChunkId, Entry};
use super::in_flight::InFlight;
use super::journal::Journal;
use super::{Event, OpenChannel};

impl OpenChannel {
    pub(super) fn audit_all(&self, elapsed: Duration) {
        self.flash.audit(elapsed);
        let programs = self.chips().counts().program_commands;
        assert_eq!(programs, self.counts.all_programs() + self.cut_programs, "programs are those of writes");
        let parts: u32 = self.commands.iter().map(|command| command.parts).sum();
        assert_eq!(Some(parts as usize), self.parts_in_flight(), "commands wait for what is in flight");
        let checked = self.check_tables();
        assert!(checked.is_ok(), "{checked:?}");
    }

    /// Number of parts of outstanding commands: flash reads and erases, units, resets and flushes. `None` if
    /// fewer flash commands are outstanding than recovery, failure manager and buffer count together. This
    /// happens only in a forged state.
    fn parts_in_flight(&self) -> Option<usize> {
        let of_recovery = self.recovering.as_ref().map_or(0, |recovering| recovering.left as usize);
        let of_repairs = self.repairs.as_ref().map_or(0, |repairs| repairs.tasks_in_flight());
        let of_none = of_recovery.checked_add(of_repairs)?.checked_add(self.buffers.programs())?;
        let of_commands = self.flash.outstanding().checked_sub(of_none)?;
        Some(of_commands + self.buffers.awaited_units() + self.buffers.flushes() + self.resets.len())
    }

    /// Checks that the tables agree with each other and, after recovery, with the chips.
    fn check_tables(&self) -> Result<(), String> {
        self.chunks.check_loaded()?;
        if let Some(repairs) = &self.repairs {
            let journals = repairs.hands.iter().filter_map(|hand| hand.journal.as_ref());
            let of_journals = journals.flat_map(Journal::blocks);
            repairs.manager.check(self.config.pools.block_sets(), of_journals)?;
        }
        if self.recovering.is_some() {
            return Ok(());
        }
        self.chunks.iter().try_for_each(|(chunk, entry)| self.check_chunk(chunk, entry))
    }

    /// Whether the table entry of a chunk agrees with the chips.
    fn check_chunk(&self, chunk: ChunkId, entry: &Entry) -> Result<(), String> {
        let Entry { state, next, written, programmed, .. } = *entry;
        let (unit, size) = (self.config.geometry.ws_min, self.config.geometry.blocks_per_chunk);
        let in_flash = self.chips().programmed(self.block_of(chunk));
        // The failure manager knows where the pages of a chunk with an open block list are.
        let is_mapped = self.failures().is_none_or(|manager| manager.shift(chunk) == Some(0));
        // A failed unit follows the programmed units in a closed chunk, or while the failure manager waits
        // for an erased block.
        let is_behind_failure = in_flash == programmed + unit;
        let is_as_programmed = !is_mapped
            || entry.is_void
            || in_flash == programmed
            || self.repairs.is_some() && is_behind_failure;
        // Padding of a chunk that was closed early.
        let is_padded = self.repairs.is_some() && in_flash == size;
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

    pub(super) fn check_state(&self, agenda: &Agenda<Event>) -> Result<(), String> {
        self.flash.check_loaded(agenda.now)?;
        ensure(self.commands.is_sound(), || "a command is over that was the oldest".into())?;
        self.commands.iter().try_for_each(|command| self.check_command(command))?;
        let chunks = self.chunks.len();
        let unit_of = |chunk: ChunkId| ((chunk.0 as usize) < chunks).then(|| self.chunks.unit_of(chunk));
        let size = self.config.geometry.ws_min as usize;
        let knows = |unit: &Unit| {
            let Some(number) = unit.command else { return true };
            let written = self.commands.find(number).map(InFlight::written);
            let at = unit.at as usize;
            written.and_then(|written| written.get(at..at + size)).is_some_and(|blocks| {
                self.id_of(blocks[0].chunk) == unit.chunk && blocks[0].block == unit.first
            })
        };
        self.buffers.check_loaded(unit_of, knows)?;
        self.check_tables()?;
        let blocks = self.recovering.iter().flat_map(|recovering| &recovering.chunks);
        let there = blocks.copied().all(|chunk| (chunk.0 as usize) < chunks);
        ensure(there, || "a recovery of a chunk that does not exist".into())?;
        let parts: u32 = self.commands.iter().map(|command| command.parts).sum();
        ensure(Some(parts as usize) == self.parts_in_flight(), || {
            "commands that wait without work in flight".into()
        })?;
        let of_flash = |(_, event): &(Instant, Event)| match *event {
            Event::Flash(event) => Some(event),
            Event::Link(_) | Event::Unit(_) => None,
        };
        self.flash.check_pending(agenda.events.iter().filter_map(of_flash))?;
        agenda.events.iter().try_for_each(|(_, event)| self.check_event(*event))
    }

    fn check_command(&self, command: &InFlight) -> Result<(), String> {
        let (blocks, geometry) = (command.blocks.len(), &self.config.geometry);
        let is_read = matches!(command.operation, Operation::Read | Operation::Copy);
        let located = if is_read || command.operation == Operation::Reset { blocks } else { 0 };
        let stamps = if is_read || command.operation == Operation::Write { blocks } else { 0 };
        let all = command.blocks.iter().chain(&command.to);
        let fits =
            all.clone().all(|block| geometry.has(block.chunk) && block.block < geometry.blocks_per_chunk)
                && (command.locations.len(), command.stamps.len()) == (located, stamps);
        ensure(fits, || format!("command {} cannot be", command.tag))
    }

    fn check_event(&self, event: Event) -> Result<(), String> {
        match event {
            Event::Flash(event) => self.flash.check_event(event),
            Event::Link(number) => {
                ensure(self.link.is_some() && self.commands.find(number).is_some(), || {
                    format!("{event:?} of no command")
                })
            }
            Event::Unit(id) => {
                ensure(self.link.is_some() && self.buffers.has(id), || format!("{event:?} of no unit"))
            }
        }
    }
}
