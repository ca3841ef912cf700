//! Injected faults: commands that fail by a rule, and the state of their pages.

use wordline_kernel::Instant;

use super::cells::Cells;
use super::command::{Command, CommandCompletion, Operation};
use super::die::Die;
use super::pages::{DataTag, plane_mask};
use crate::Stage;
use crate::faults::{Fails, Sense, Site};
use crate::geometry::{DieId, PageId};
use crate::physics::{CellModel, Sensed};

impl Cells {
    /// Whether the cell model determines which pages are uncorrectable.
    pub(super) fn cells_determine_uncorrectable(&self) -> bool {
        self.asked().is_some_and(|asks| asks.determines_uncorrectable)
    }

    /// Queries the cell model for each programmed page of a read of a die with the read reference voltages
    /// `level`, if it determines which pages are uncorrectable. Returns the results as a bit mask with the
    /// lowest bit for the first page.
    fn query_sensed(
        &mut self,
        die: DieId,
        command: &Command,
        (level, now): (u8, Instant),
        query: impl Fn(&mut CellModel, &Sensed) -> bool,
    ) -> u16 {
        if !self.cells_determine_uncorrectable() {
            return 0;
        }
        let mode = self.mode_at(command, Stage::Ton, command.page);
        let Self { modes, pools, pages, .. } = self;
        let asks = modes.as_mut().and_then(|modes| modes.asks.as_mut()).expect("they were there just now");
        asks.query_sensed(command, (mode, level, now), (pools.of_die(die), pages), query)
    }

    /// Pages of a completed read of a die that need soft-decision decoding: one bit for each, the lowest for the
    /// first.
    pub(super) fn pages_with_soft_decision(&mut self, work: &Die, done: &CommandCompletion) -> u16 {
        let soft = |asked: &mut CellModel, sensed: &Sensed| asked.needs_soft_decision(sensed);
        self.query_sensed(done.die, &done.command, (done.level, work.ends()), soft)
    }

    /// Checks the rules at the end of a command. If the command fails, applies the effect and returns the
    /// failed planes; for a read, the planes with unreadable pages.
    #[cold]
    pub(super) fn apply_fault(&mut self, die: DieId, work: &Die, command: &Command) -> Option<u16> {
        let failed = match command.operation {
            Operation::Program | Operation::ProgramCache | Operation::Copyback { .. } => {
                self.program_fault(die, work, command)
            }
            Operation::Erase => self.erase_fault(die, command, work.ends()),
            Operation::Read | Operation::ReadCache { .. } => self.read_fault(die, work, command),
        };
        (failed != 0).then_some(failed)
    }

    /// The conditions under which the pages of a command are sensed.
    fn sensing_of(&self, work: &Die, command: &Command) -> impl Fn(PageId) -> Sense + use<> {
        let (level, mode) = (work.level, self.mode_of(command).of_block());
        move |page| Sense { page, level, mode }
    }

    fn program_fault(&mut self, die: DieId, work: &Die, command: &Command) -> u16 {
        let (word_line, now) = (self.pages_per_program(work, command), work.ends());
        let sense = self.sensing_of(work, command);
        let Self { pools, faults, pages, .. } = self;
        let (geometry, Some(faults)) = (&pools.of_die(die).geometry, faults.as_deref_mut()) else { return 0 };
        let Command { operation, page, planes, .. } = *command;
        let dead = faults.die_fails(die, now);
        let is_copy = matches!(operation, Operation::Copyback { .. });
        let to = if let Operation::Copyback { to } = operation { to } else { page };
        let [of_source, erases] = [page, to].map(|page| pages.erases_of(geometry.block_of(page)));
        let site = Site::new(geometry, to, planes, word_line, erases);
        let failed =
            faults.failed_planes_of(Fails::Program, &site, now) | if dead { plane_mask(planes) } else { 0 };
        if is_copy && failed == 0 {
            // It senses at the nominal levels. Reads amid a suspended copyback may have set others since.
            let nominal = Sense { level: 0, ..sense(page) };
            faults.copied(nominal, to, planes * word_line, of_source, now);
        }
        if failed != 0 {
            self.tear_program(die, command, to, word_line, failed);
        }
        failed
    }

    /// Corrupts the pages of a program in the failed planes. The data in the other planes are readable.
    fn tear_program(&mut self, die: DieId, command: &Command, to: PageId, word_line: u32, failed: u16) {
        let is_again = self.modes.is_some() && self.mode_of(command).is_reprogram();
        if failed == plane_mask(command.planes) && !is_again && !self.has_partial_programs() {
            self.pages.tear(to, command.planes * word_line);
            return;
        }
        self.apply_in_mode(die, command, word_line);
        if is_again {
            self.spoil_reprogram(to, failed);
        } else {
            self.pages.spoil_planes(to, word_line, failed);
        }
    }

    fn erase_fault(&mut self, die: DieId, command: &Command, now: Instant) -> u16 {
        let Self { pools, faults, pages, .. } = self;
        let (geometry, Some(faults)) = (&pools.of_die(die).geometry, faults.as_deref_mut()) else { return 0 };
        let Command { page, planes, .. } = *command;
        let block = geometry.block_of(page);
        let dead = faults.die_fails(die, now);
        let site = Site::new(geometry, page, planes, geometry.pages_per_block, pages.erases_of(block));
        let failed =
            faults.failed_planes_of(Fails::Erase, &site, now) | if dead { plane_mask(planes) } else { 0 };
        if failed != 0 {
            pages.wear(block);
        } else {
            faults.erased(block);
        }
        failed
    }

    fn read_fault(&mut self, die: DieId, work: &Die, command: &Command) -> u16 {
        let (sense, now) = (self.sensing_of(work, command), work.ends());
        let uncorrectable = |asked: &mut CellModel, sensed: &Sensed| asked.is_uncorrectable(sensed);
        let by_cells = self.query_sensed(die, command, (work.level, now), uncorrectable);
        let Self { pools, faults, pages, .. } = self;
        let (geometry, Some(faults)) = (&pools.of_die(die).geometry, faults.as_deref_mut()) else { return 0 };
        let Command { page, planes, .. } = *command;
        let dead = faults.die_fails(die, now);
        let erases = pages.erases_of(geometry.block_of(page));
        let mut unreadable = 0;
        for n in 0..planes {
            let page = PageId(page.0 + n);
            let site = Site::new(geometry, page, 1, 1, erases);
            let torn = pages.holds(page, DataTag::UNREADABLE);
            let sensed = (&sense(page), by_cells >> n & 1 != 0);
            let fails = faults.is_sense_unreadable(sensed, &site, now) || dead || torn;
            unreadable |= u16::from(fails) << n;
        }
        unreadable
    }
}
