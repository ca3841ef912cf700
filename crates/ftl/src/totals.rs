//! Counters of a device.

use wordline_device::times::Times;
use wordline_flash::faults::{Faults, PoolFaults};
use wordline_kernel::counters;
use wordline_nand::{BlockSetId, CellMode, Pools};

counters! {
    /// Counters of a device since its creation.
    pub struct Totals {
        host_reads: "flash.host_reads", Pages, "Flash pages read for the host.";
        rmw_reads: "flash.rmw_reads", Pages, "Flash pages read to complete a partial write (read-modify-write).";
        read_ahead_reads: "flash.read_ahead_reads", Pages, "Flash pages read ahead of the host.";
        gc_reads: "flash.gc_reads", Pages, "Flash pages read by garbage collection.";
        host_programs: "flash.host_programs", LogicalPages, "Logical pages (mapping units) programmed for the host.";
        slc_programs: "flash.slc_programs", LogicalPages, "Host pages programmed in SLC mode.";
        two_bit_programs: "flash.two_bit_programs", LogicalPages, "Host pages programmed in MLC mode.";
        reprogrammed: "flash.reprogrammed", LogicalPages, "Host pages programmed by reprogramming a word line, which replaces one of its pages.";
        remote_programs: "flash.remote_programs", LogicalPages, "Logical pages programmed in another plane group than the statically assigned one.";
        unit_programs: "flash.unit_programs", LogicalPages, "Logical pages programmed because others of their mapping unit were written, in a coarsely mapped pool, or because a design migrated them individually from another pool.";
        gc_programs: "flash.gc_programs", LogicalPages, "Logical pages (mapping units) programmed by garbage collection.";
        folded: "flash.folded", LogicalPages, "GC pages that came from the SLC cache.";
        gc_copied: "flash.gc_copied", LogicalPages, "GC pages relocated by copyback.";
        gc_empty_victims: "flash.gc_empty_victims", BlockSets, "Victims without valid pages when they were chosen: direct erases, without a relocation.";
        gc_victim_pages: "flash.gc_victim_pages", LogicalPages, "Pages of the victims erased.";
        gc_victim_valid_pages: "flash.gc_victim_valid_pages", LogicalPages, "Pages of the victims erased that were valid when the victim was selected.";
        gc_array_us: "flash.gc_array_us", Microseconds, "Time that dies spent on reads, programs and erases of GC, without the bus; rounded to a microsecond for each command.";
        translation_programs: "flash.translation_programs", LogicalPages, "Translation pages programmed because they changed; relocated ones are among the GC pages.";
        translation_reads: "flash.translation_reads", Pages, "Flash pages read for translation pages.";
        map_hits: "flash.map_hits", Count, "Map lookups that found the entry in memory (CMT hits); 0 where the whole map is in memory.";
        map_misses: "flash.map_misses", Count, "Map lookups that did not find the entry in memory (CMT misses).";
        padding: "flash.padding", LogicalPages, "Logical pages programmed without data, to complete a program unit.";
        erases: "flash.block_set_erases", BlockSets, "Erases of multi-plane blocks.";
        program_failures: "faults.program_failures", Count, "Program commands that failed.";
        rejected_programs: "faults.rejected_programs", Count, "Program commands whose outcome a design rejected.";
        erase_failures: "faults.erase_failures", Count, "Erase commands that failed.";
        unreadable_pages: "faults.unreadable_pages", Pages, "Flash pages that no retry read.";
        lost_pages: "faults.lost_pages", LogicalPages, "Logical pages with lost sectors.";
        grown_bad_blocks: "faults.grown_bad_block_sets", BlockSets, "Multi-plane blocks that left service during the run.";
        failed_dies: "faults.failed_dies", Count, "Failed dies.";
        reads_without_flash: "buffer.reads_without_flash", LogicalPages, "Pages that reads found in write buffer or read cache, or never written.";
        read_cache_hits: "buffer.read_cache_hits", LogicalPages, "Pages that reads found in the read cache or on their way into it.";
        read_ahead_pages: "buffer.read_ahead_pages", LogicalPages, "Pages fetched ahead of reads.";
        read_ahead_used: "buffer.read_ahead_used", LogicalPages, "Pages fetched ahead that the host then read.";
        coalesced_writes: "buffer.coalesced_writes", LogicalPages, "Page writes coalesced with a waiting one.";
    }
    beside {
        /// Latency breakdown of commands.
        times: Times;
        /// Failures of each pool; the flash counts read retries.
        faults: PoolFaults;
    }
}

/// Corrections for programs that will not happen. A program is counted when its pages are collected. Each
/// function here subtracts one program.
impl Totals {
    /// Pages of all programs so far, with padding. A program counts when it is queued.
    pub(crate) fn programmed(&self) -> u64 {
        self.host_programs + self.unit_programs + self.gc_programs + self.translation_programs + self.padding
    }

    /// Failure counters of the pool of a block.
    pub fn faults_at(&mut self, block: BlockSetId, pools: &Pools) -> &mut Faults {
        self.faults.count(pools.number_of_group(pools.group_of_block(block)))
    }

    /// Counts host pages programmed in a mode.
    #[inline]
    pub fn count_in_mode(&mut self, mode: CellMode, host: u64) {
        match mode {
            CellMode::Native => {}
            CellMode::Slc => self.slc_programs += host,
            CellMode::Mlc => self.two_bit_programs += host,
            CellMode::Reprogrammed(_) => {
                self.two_bit_programs += host;
                self.reprogrammed += host;
            }
        }
    }

    /// Subtracts a program in `mode` with `host` host pages and `carried` other pages of their units. `unit`
    /// is the number of locations programmed.
    pub(crate) fn uncount_group(&mut self, host: u64, carried: u64, unit: u64, mode: CellMode) {
        self.host_programs -= host;
        match mode {
            CellMode::Native => {}
            CellMode::Slc => self.slc_programs -= host,
            CellMode::Mlc => self.two_bit_programs -= host,
            CellMode::Reprogrammed(_) => {
                self.two_bit_programs -= host;
                self.reprogrammed -= host;
            }
        }
        self.unit_programs -= carried;
        self.padding -= unit - host - carried;
    }

    /// Subtracts a program of table pages.
    pub(crate) fn uncount_tables(&mut self, pages: u64, unit: u64) {
        self.translation_programs -= pages;
        self.padding -= unit - pages;
    }

    /// Subtracts a program of relocated pages. `inside` means that copybacks would have moved them.
    pub(crate) fn uncount_relocated(&mut self, pages: u64, unit: u64, inside: bool) {
        self.gc_programs -= pages;
        self.gc_copied -= if inside { pages } else { 0 };
        self.padding -= unit - pages;
    }
}
