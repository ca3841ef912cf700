//! Queries of chips, and functions that fill them before a run.

use wordline_kernel::{Column, Duration, Instant};

use super::Chips;
use super::command::{CommandCompletion, Operation};
use super::counts::Counts;
use super::die_times::DieTimes;
use super::pages::{DataTag, Violations};
use crate::energy::{EnergyReport, StageTimes};
use crate::geometry::{BlockSetId, DieId, Geometry, PageId};
use crate::locations::Location;
use crate::physics::{Outcome, Parameters};
use crate::{CellMode, Part, Pool, Pools, Stage};

impl Chips {
    /// The data tag at `location`.
    #[inline]
    pub fn stamp(&self, location: Location) -> DataTag {
        self.cells.pages.stamp(location)
    }

    /// Prefetches the data tag at `location`, which is read soon; see [`Column::prefetch`].
    #[inline]
    pub fn prefetch(&self, location: Location) {
        self.cells.pages.prefetch(location);
    }

    /// Programs `location` in no time, to fill a device before a run. Panics if the location is not the next
    /// of its block.
    #[inline]
    pub fn put(&mut self, location: Location, stamp: DataTag) {
        self.cells.pages.put(location, stamp);
    }

    /// Makes a programmed location unreadable.
    pub fn corrupt(&mut self, location: Location) {
        self.cells.pages.corrupt(location);
    }

    /// Erases `block` in no time. Returns false if this exceeds the endurance of the block.
    pub fn wipe(&mut self, block: BlockSetId) -> bool {
        self.cells.reset_block_counts(block);
        self.cells.pages.wipe(block)
    }

    /// Sets the number of erases of `block` before the run.
    pub fn set_erases(&mut self, block: BlockSetId, erases: u32) {
        self.cells.pages.erases[block] = erases;
    }

    /// Erases of each block set.
    pub fn erases(&self) -> &Column<BlockSetId, u32> {
        &self.cells.pages.erases
    }

    /// Number of programmed locations of `block`.
    pub fn programmed(&self, block: BlockSetId) -> u32 {
        self.cells.pages.programmed[block]
    }

    /// Allows the word lines of a block to be programmed in any order from now on, each once. By default a
    /// program out of order panics.
    pub fn program_in_any_order(&mut self) {
        self.cells.pages.any_order = true;
    }

    /// Whether a location is programmed, readable or not.
    pub fn is_programmed(&self, location: Location) -> bool {
        self.cells.pages.stamp(location) != DataTag::ERASED
    }

    /// Counts of exceeded limits of the part.
    pub fn violations(&self) -> Violations {
        self.cells.pages.violations()
    }

    /// The part of the first pool.
    pub fn part(&self) -> &Part {
        &self.cells.pools.first().part
    }

    /// The geometry of the first pool.
    pub fn geometry(&self) -> &Geometry {
        &self.cells.pools.first().geometry
    }

    /// The pools of dies.
    pub fn pools(&self) -> &Pools {
        &self.cells.pools
    }

    /// Operation counters of all chips.
    pub fn counts(&self) -> Counts {
        self.cells.counts.iter().copied().sum()
    }

    /// Operation counters of each pool.
    pub fn counts_of_pools(&self) -> &[Counts] {
        &self.cells.counts
    }

    /// Energy by stage after `elapsed` time, idle included.
    pub fn energy(&self, elapsed: Duration) -> EnergyReport {
        self.energy_of_pools(elapsed).sum()
    }

    /// Energy of each pool by stage after `elapsed` time, idle included.
    pub fn energy_of_pools(&self, elapsed: Duration) -> impl Iterator<Item = EnergyReport> + '_ {
        self.cells.pools.iter().map(move |pool| self.stages_of(pool, elapsed).price(&pool.part.power))
    }

    /// Time in each stage, summed over dies, after `elapsed` time; unfinished stages count as idle.
    pub fn stages(&self, elapsed: Duration) -> StageTimes {
        self.cells.pools.iter().map(|pool| self.stages_of(pool, elapsed)).sum()
    }

    /// Time in each stage, summed over the dies of a pool.
    fn stages_of(&self, pool: &Pool, elapsed: Duration) -> StageTimes {
        let now = Instant::ZERO + elapsed;
        let of_die = |die| {
            let over = self.sequencer.over(die, now, &self.cells);
            (0..Operation::KINDS).map(move |kind| over.of_kind(kind))
        };
        let mut stages: StageTimes = pool.geometry.all_dies().flat_map(of_die).sum();
        let overlap =
            pool.geometry.all_dies().map(|die| u128::from(self.sequencer.dies[die].overlap(now))).sum();
        stages.set_idle(pool.geometry.dies(), elapsed, overlap);
        stages
    }

    /// Time during which bus and array of a die worked concurrently, summed over dies, in picoseconds. Only
    /// stages that are over after `elapsed` time are included. The overlap comes from cache operations and
    /// from the latch of a suspend.
    pub fn overlap_ps(&self, elapsed: Duration) -> u128 {
        let now = Instant::ZERO + elapsed;
        self.sequencer.dies.iter().map(|die| u128::from(die.overlap(now))).sum()
    }

    /// Time in each stage of one die after `elapsed` time.
    pub fn stages_of_die(&self, die: DieId, elapsed: Duration) -> StageTimes {
        let now = Instant::ZERO + elapsed;
        let over = self.sequencer.over(die, now, &self.cells);
        let mut stages: StageTimes = (0..Operation::KINDS).map(|kind| over.of_kind(kind)).sum();
        stages.set_idle(1, elapsed, u128::from(self.sequencer.dies[die].overlap(now)));
        stages
    }

    /// Time in each stage of one kind of operation ([`Operation::kind`]), summed over dies, after `elapsed`
    /// time.
    pub fn stages_of_kind(&self, kind: usize, elapsed: Duration) -> StageTimes {
        assert!(kind < Operation::KINDS, "an operation has one of {} kinds", Operation::KINDS);
        let now = Instant::ZERO + elapsed;
        self.all_dies().map(|die| self.sequencer.over(die, now, &self.cells).of_kind(kind)).sum()
    }

    /// Time in finished stages of unfinished commands after `elapsed` time, in picoseconds.
    pub fn unfinished_ps(&self, elapsed: Duration) -> u128 {
        let now = Instant::ZERO + elapsed;
        let unfinished = |die: DieId| {
            let present = self.sequencer.dies[die].unfinished(
                &self.sequencer.behind[die],
                &self.sequencer.current_phase(die, now, &self.cells),
                now,
            );
            u128::from(present) + u128::from(self.sequencer.parked(die).ps())
        };
        self.all_dies().map(unfinished).sum()
    }

    fn all_dies(&self) -> impl Iterator<Item = DieId> + use<> {
        self.cells.pools.all_dies()
    }

    /// Busy time of each channel's bus until `now`, in picoseconds.
    pub fn bus_busy(&self, now: Instant) -> impl Iterator<Item = u64> + '_ {
        self.sequencer.buses.iter().map(move |bus| bus.busy(now))
    }

    /// Time that dies waited for each channel's bus, summed over dies, in picoseconds. Only waits that have
    /// ended in a grant are included.
    pub fn bus_waited(&self) -> impl Iterator<Item = u64> + '_ {
        self.sequencer.buses.iter().map(|bus| bus.waited)
    }

    /// Array time of each die until `now`, with the elapsed part of an operation in progress, in picoseconds.
    pub fn array_busy(&self, now: Instant) -> impl Iterator<Item = u64> + '_ {
        let of = move |die| self.sequencer.dies[die].array_busy(&self.sequencer.behind[die], now);
        self.all_dies().map(of)
    }

    /// The time of each die until `now` by activity, in the order of dies.
    pub fn die_times(&self, now: Instant) -> impl Iterator<Item = DieTimes> + '_ {
        let elapsed = now - Instant::ZERO;
        self.all_dies().map(move |die| {
            let stages = self.stages_of_die(die, elapsed);
            // No stage of a die exceeds the range of the clock.
            let of = |stage| Duration::from_ps(stages.ps(stage) as u64);
            DieTimes {
                sensing: of(Stage::Ton),
                programming: of(Stage::Tin),
                erasing: of(Stage::Ber),
                bus: of(Stage::Cle) + of(Stage::Ale) + of(Stage::Tir) + of(Stage::Tor),
                both: Duration::from_ps(self.sequencer.dies[die].overlap(now)),
            }
        })
    }

    /// The mode of a block.
    pub fn mode(&self, block: BlockSetId) -> CellMode {
        self.cells.mode(block)
    }

    /// Number of reprogram passes of the word line of `page` since its block was erased.
    pub fn reprograms(&self, page: PageId) -> u8 {
        self.cells.reprograms(page)
    }

    /// Programs of `page` since its block was erased, if partial programs are enabled.
    pub fn programs(&self, page: PageId) -> u8 {
        self.cells.partly().map_or(0, |partly| partly.programs(page))
    }

    /// The parameters in set `number`; `None` if there is no such set.
    pub fn parameters(&self, number: u16) -> Option<&Parameters> {
        self.cells.asked()?.asked.parameters(number)
    }

    /// The outcome of a command that has just completed, if its parameters request it; for a copyback, the
    /// outcome of the program.
    pub fn outcome(&self, done: &CommandCompletion) -> Option<&Outcome> {
        self.cells.asked()?.outcome(done)
    }

    /// Pages of a completed read that need soft-decision decoding: one bit for each, the lowest for the first.
    pub fn pages_with_soft_decision(&mut self, done: &CommandCompletion) -> u16 {
        self.cells.pages_with_soft_decision(&self.sequencer.dies[done.die], done)
    }

    /// The factory bad block sets of the fault rules.
    pub fn factory_bad(&self) -> Vec<BlockSetId> {
        self.cells.faults.as_ref().map_or_else(Vec::new, |faults| faults.factory_bad())
    }

    /// Whether `die` has failed.
    pub fn has_failed(&self, die: DieId) -> bool {
        self.cells.faults.as_ref().is_some_and(|faults| faults.has_failed(die))
    }

    /// Number of failed dies.
    pub fn failed_dies(&self) -> u32 {
        self.cells.faults.as_ref().map_or(0, |faults| faults.failed_dies())
    }

    /// Fills the next `locations` locations of a block with padding, in no time: the rest of an interrupted
    /// word line.
    pub fn skip(&mut self, block: BlockSetId, locations: u32) {
        self.cells.skip(block, locations);
    }

    /// Replaces a page of a word line in no time, before the run. `stamps` are the data tags of its locations
    /// from `first` on, in all planes.
    pub fn put_reprogrammed(&mut self, first: Location, stamps: &[DataTag]) {
        self.cells.put_reprogrammed(first, stamps);
    }
}
