//! Counts of events of the device.

use wordline_device::physical_device::Operation;
use wordline_kernel::counters;

use super::in_flight::InFlight;

counters! {
    /// Counts of events since the device was created.
    pub struct Counts {
        reads: "vector.reads", Count, "Vector reads taken.";
        writes: "vector.writes", Count, "Vector writes taken.";
        resets: "vector.resets", Count, "Vector resets taken.";
        copies: "vector.copies", Count, "Vector copies taken.";
        flushes: "vector.flushes", Count, "Flushes taken.";
        blocks_read: "vector.blocks_read", Count, "Logical blocks requested by reads.";
        blocks_unreadable: "vector.blocks_unreadable", Count, "Logical blocks of these that could not be read.";
        programs: "vector.programs", Count, "Host program commands that ended, including failed ones.";
        blocks_written: "vector.blocks_written", Count, "Logical blocks that were programmed.";
        early_closes: "vector.early_closes", Count, "Chunks that were closed because a program failed.";
        blocks_lost: "vector.blocks_lost", Count, "Logical blocks whose write completed and that are lost: their program failed, or the power was cut.";
        program_failures: "vector.program_failures", Count, "Program commands that failed.";
        erase_failures: "vector.erase_failures", Count, "Erases for resets that failed.";
        recovered: "failures.recovered", Count, "Failed programs that the device recovered.";
        migrated: "failures.migrated", Count, "Chunks whose pages were migrated into one block.";
        copied_first: "failures.copied_first", Pages, "Copies of a die for which a failed program waited.";
        repair_programs: "failures.programs", Count, "Program commands that copied pages within the device, or padded chunks.";
        reserve_erases: "failures.erases", Count, "Erases of reserve blocks.";
        journal_programs: "failures.journal_programs", Count, "Program commands that recorded changes of the tables.";
        journal_erases: "failures.journal_erases", Count, "Erases of blocks of the journals.";
        chunks_reset: "vector.chunks_reset", Count, "Chunks that were erased.";
        reset_failures: "vector.reset_failures", Count, "Chunks that went offline when they were reset.";
    }
}

impl Counts {
    /// Counts a command that was started.
    pub(super) fn count(&mut self, command: &InFlight) {
        let blocks = command.blocks.len() as u64;
        match command.operation {
            Operation::Read => {
                self.reads += 1;
                self.blocks_read += blocks;
            }
            Operation::Write => self.writes += 1,
            Operation::Reset => self.resets += 1,
            Operation::Copy => self.copies += 1,
            Operation::Flush => self.flushes += 1,
            Operation::Close => {}
        }
    }

    /// Number of program commands that the device needed beside those of the host's data: copies, padding,
    /// journals, and the repetitions of failed programs.
    pub(super) fn own_programs(&self) -> u64 {
        self.repair_programs + self.journal_programs + self.recovered
    }

    /// Number of program commands that have ended.
    pub(super) fn all_programs(&self) -> u64 {
        self.programs + self.repair_programs + self.journal_programs
    }
}
