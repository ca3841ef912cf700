//! Counters of a device.

use wordline_kernel::counters;
use wordline_nand::CellMode;

use crate::faults::OfPools;
use crate::times::Times;

counters! {
    /// Counters of a device since its creation.
    pub struct Totals {
        host_reads: "flash.host_reads", LogicalPages, "Logical pages read for the host.";
        rmw_reads: "flash.rmw_reads", LogicalPages, "Pages read to complete a partial write (read-modify-write).";
        read_ahead_reads: "flash.read_ahead_reads", LogicalPages, "Logical pages read ahead of the host.";
        gc_reads: "flash.gc_reads", LogicalPages, "Pages read by garbage collection.";
        host_programs: "flash.host_programs", LogicalPages, "Logical pages (mapping units) programmed for the host.";
        slc_programs: "flash.slc_programs", LogicalPages, "Logical pages among those of the host that were programmed in SLC mode.";
        two_bit_programs: "flash.two_bit_programs", LogicalPages, "Logical pages among those of the host that were programmed in the two-bit mode.";
        reprogrammed: "flash.reprogrammed", LogicalPages, "Logical pages among those in the two-bit mode that replaced one of a word line that was programmed again.";
        remote_programs: "flash.remote_programs", LogicalPages, "Logical pages that went to another row of planes than their home.";
        unit_programs: "flash.unit_programs", LogicalPages, "Logical pages programmed because others of their unit were written, in a pool that is mapped by whole units, or because a design sent them there alone from another pool.";
        gc_programs: "flash.gc_programs", LogicalPages, "Logical pages (mapping units) programmed by garbage collection.";
        folded: "flash.folded", LogicalPages, "Logical pages among those of garbage collection that came out of the SLC cache.";
        gc_copied: "flash.gc_copied", LogicalPages, "Logical pages among those of garbage collection that were moved inside their chip.";
        gc_empty_victims: "flash.gc_empty_victims", BlockSets, "Victims that held nothing valid when cleaning of them began: erased without moving a page.";
        gc_victim_pages: "flash.gc_victim_pages", LogicalPages, "Pages of the victims that were erased.";
        gc_victim_valid_pages: "flash.gc_victim_valid_pages", LogicalPages, "Those of them that were valid when the victim was selected.";
        gc_array_us: "flash.gc_array_us", Microseconds, "Time that dies spent on reads, programs and erases of garbage collection, without the bus; that of each command is rounded to a microsecond.";
        translation_programs: "flash.translation_programs", LogicalPages, "Translation pages programmed because they changed; those that were moved are among the collector's pages.";
        translation_reads: "flash.translation_reads", LogicalPages, "Pages read for translation pages.";
        map_hits: "flash.map_hits", Count, "Lookups of the map that found the place of a page in memory; 0 where the whole map is there.";
        map_misses: "flash.map_misses", Count, "Lookups that did not.";
        padding: "flash.padding", LogicalPages, "Room for logical pages programmed without data, to complete a program unit.";
        erases: "flash.block_set_erases", BlockSets, "Erases; blocks that are erased together count as one.";
        program_failures: "faults.program_failures", Count, "Program commands that failed.";
        refused_programs: "faults.refused_programs", Count, "Program commands whose outcome a design did not accept.";
        erase_failures: "faults.erase_failures", Count, "Erase commands that failed.";
        unreadable_pages: "faults.unreadable_pages", Pages, "Flash pages that no retry read.";
        lost_pages: "faults.lost_pages", LogicalPages, "Logical pages of which something was lost.";
        grown_bad_blocks: "faults.grown_bad_block_sets", BlockSets, "Blocks that went out of use during the run; those that are erased together count as one.";
        failed_dies: "faults.failed_dies", Count, "Dies that were lost.";
        reads_without_flash: "buffer.reads_without_flash", LogicalPages, "Pages that reads found in write buffer or read cache, or never written.";
        read_cache_hits: "buffer.read_cache_hits", LogicalPages, "Those that were in the read cache or on their way into it.";
        read_ahead_pages: "buffer.read_ahead_pages", LogicalPages, "Pages fetched ahead of reads.";
        read_ahead_used: "buffer.read_ahead_used", LogicalPages, "Those that the host then read.";
        coalesced_writes: "buffer.coalesced_writes", LogicalPages, "Page writes that merged with one that waited.";
    }
    beside {
        /// Latency breakdown of commands.
        times: Times;
        /// Failures of each pool; the flash counts read retries.
        faults: OfPools;
    }
}

/// Corrections for programs that were counted when their group was formed and will not happen: each subtracts
/// the data of its program.
impl Totals {
    /// Counts host pages programmed in a mode.
    #[inline]
    pub(crate) fn count_in_mode(&mut self, mode: CellMode, host: u64) {
        match mode {
            CellMode::Native => {}
            CellMode::Slc => self.slc_programs += host,
            CellMode::TwoBit => self.two_bit_programs += host,
            CellMode::Reprogrammed(_) => {
                self.two_bit_programs += host;
                self.reprogrammed += host;
            }
        }
    }

    /// Subtracts a host group, with carried pages, of `unit` locations in a mode.
    pub(crate) fn take_back_group(&mut self, host: u64, carried: u64, unit: u64, mode: CellMode) {
        self.host_programs -= host;
        match mode {
            CellMode::Native => {}
            CellMode::Slc => self.slc_programs -= host,
            CellMode::TwoBit => self.two_bit_programs -= host,
            CellMode::Reprogrammed(_) => {
                self.two_bit_programs -= host;
                self.reprogrammed -= host;
            }
        }
        self.unit_programs -= carried;
        self.padding -= unit - host - carried;
    }

    /// Subtracts table pages.
    pub(crate) fn take_back_tables(&mut self, pages: u64, unit: u64) {
        self.translation_programs -= pages;
        self.padding -= unit - pages;
    }

    /// Subtracts relocated pages, perhaps by copyback.
    pub(crate) fn take_back_moved(&mut self, pages: u64, unit: u64, inside: bool) {
        self.gc_programs -= pages;
        self.gc_copied -= if inside { pages } else { 0 };
        self.padding -= unit - pages;
    }
}
