//! Queries of chips, and functions that fill them before a run.

use wordline_kernel::{Column, Duration, Instant};

use super::die::{Die, Picoseconds};
use super::times::PhaseTimes;
use super::{Chips, Counts, DataTag, Operation, Violations};
use crate::energy::{EnergyReport, StageTimes};
use crate::geometry::{BlockSetId, DieId, Geometry};
use crate::locations::Location;
use crate::{Part, Pool, Pools};

impl Chips {
    /// The data tag at `location`.
    #[inline]
    pub fn stamp(&self, location: Location) -> DataTag {
        self.pages.stamp(location)
    }

    /// Prefetches the data tag at `location`, which is read soon; see [`Column::prefetch`].
    #[inline]
    pub fn prefetch(&self, location: Location) {
        self.pages.prefetch(location);
    }

    /// Programs `location` in no time, to fill a device before a run. Panics if the location is not the next
    /// of its block.
    #[inline]
    pub fn put(&mut self, location: Location, stamp: DataTag) {
        self.pages.put(location, stamp);
    }

    /// Makes a programmed location unreadable.
    pub fn corrupt(&mut self, location: Location) {
        self.pages.corrupt(location);
    }

    /// Erases `block` in no time. Returns false if this exceeds the endurance of the block.
    pub fn wipe(&mut self, block: BlockSetId) -> bool {
        self.reset_block_counts(block);
        self.pages.wipe(block)
    }

    /// Sets the number of erases of `block` before the run.
    pub fn set_erases(&mut self, block: BlockSetId, erases: u32) {
        self.pages.erases[block] = erases;
    }

    /// Erases of each block set.
    pub fn erases(&self) -> &Column<BlockSetId, u32> {
        &self.pages.erases
    }

    /// Number of programmed locations of `block`.
    pub fn programmed(&self, block: BlockSetId) -> u32 {
        self.pages.programmed[block]
    }

    /// Allows the word lines of a block to be programmed in any order from now on, each once. By default a
    /// program out of order panics.
    pub fn program_in_any_order(&mut self) {
        self.pages.any_order = true;
    }

    /// Whether a location is programmed, readable or not.
    pub fn is_programmed(&self, location: Location) -> bool {
        self.pages.stamp(location) != DataTag::ERASED
    }

    /// Counts of exceeded limits of the part.
    pub fn violations(&self) -> Violations {
        self.pages.violations()
    }

    /// The part of the first pool.
    pub fn part(&self) -> &Part {
        &self.pools.first().part
    }

    /// The geometry of the first pool.
    pub fn geometry(&self) -> &Geometry {
        &self.pools.first().geometry
    }

    /// The pools of dies.
    pub fn pools(&self) -> &Pools {
        &self.pools
    }

    /// Operation counters of all chips.
    pub fn counts(&self) -> Counts {
        self.counts.iter().copied().sum()
    }

    /// Operation counters of each pool.
    pub fn counts_of_pools(&self) -> &[Counts] {
        &self.counts
    }

    /// Energy by stage after `elapsed` time, idle included.
    pub fn energy(&self, elapsed: Duration) -> EnergyReport {
        self.energy_of_pools(elapsed).sum()
    }

    /// Energy of each pool by stage after `elapsed` time, idle included.
    pub fn energy_of_pools(&self, elapsed: Duration) -> impl Iterator<Item = EnergyReport> + '_ {
        self.pools.iter().map(move |pool| self.stages_of(pool, elapsed).price(&pool.part.power))
    }

    /// Time in each stage, summed over dies, after `elapsed` time; unfinished stages count as idle.
    pub fn stages(&self, elapsed: Duration) -> StageTimes {
        self.pools.iter().map(|pool| self.stages_of(pool, elapsed)).sum()
    }

    /// Time in each stage, summed over the dies of a pool.
    fn stages_of(&self, pool: &Pool, elapsed: Duration) -> StageTimes {
        let now = Instant::ZERO + elapsed;
        let of_die = |die| {
            let over = self.over(die, now);
            (0..Operation::KINDS).map(move |kind| over.of_kind(kind))
        };
        let mut stages: StageTimes = pool.geometry.all_dies().flat_map(of_die).sum();
        let overlap = pool.geometry.all_dies().map(|die| u128::from(self.dies[die].overlap(now))).sum();
        stages.set_idle(pool.geometry.dies(), elapsed, overlap);
        stages
    }

    /// Time during which bus and array of a die worked concurrently, summed over dies, in picoseconds. Only
    /// stages that are over after `elapsed` time are included. The overlap comes from cache operations and
    /// from the latch of a suspend.
    pub fn overlap_ps(&self, elapsed: Duration) -> u128 {
        let now = Instant::ZERO + elapsed;
        self.dies.iter().map(|die| u128::from(die.overlap(now))).sum()
    }

    /// Time in each stage of one die after `elapsed` time.
    pub fn stages_of_die(&self, die: DieId, elapsed: Duration) -> StageTimes {
        let now = Instant::ZERO + elapsed;
        let over = self.over(die, now);
        let mut stages: StageTimes = (0..Operation::KINDS).map(|kind| over.of_kind(kind)).sum();
        stages.set_idle(1, elapsed, u128::from(self.dies[die].overlap(now)));
        stages
    }

    /// Time in each stage of one kind of operation ([`Operation::kind`]), summed over dies, after `elapsed`
    /// time.
    pub fn stages_of_kind(&self, kind: usize, elapsed: Duration) -> StageTimes {
        assert!(kind < Operation::KINDS, "an operation has one of {} kinds", Operation::KINDS);
        let now = Instant::ZERO + elapsed;
        self.all_dies().map(|die| self.over(die, now).of_kind(kind)).sum()
    }

    /// Time in finished stages of unfinished commands after `elapsed` time, in picoseconds.
    pub fn unfinished_ps(&self, elapsed: Duration) -> u128 {
        let now = Instant::ZERO + elapsed;
        let unfinished = |die: DieId| {
            let present = self.dies[die].unfinished(&self.behind[die], &self.current_phase(die, now), now);
            u128::from(present) + u128::from(self.parked(die).ps())
        };
        self.all_dies().map(unfinished).sum()
    }

    fn all_dies(&self) -> impl Iterator<Item = DieId> + use<> {
        self.pools.all_dies()
    }

    /// The stages of a die that are over.
    pub(super) fn over(&self, die: DieId, now: Instant) -> Picoseconds {
        self.dies[die].over(&self.behind[die], &self.current_phase(die, now), now)
    }

    /// The times of the current bus grant of a die.
    fn current_phase(&self, die: DieId, now: Instant) -> PhaseTimes {
        let Die { step, command, hold_until, late, .. } = &self.dies[die];
        if *hold_until <= now {
            return PhaseTimes::default();
        }
        let times = self.part_and_times(die).1;
        times.of_step(&self.pool_of(die).geometry, *step, command).later(*late)
    }

    /// Busy time of each channel's bus until `now`, in picoseconds.
    pub fn bus_busy(&self, now: Instant) -> impl Iterator<Item = u64> + '_ {
        self.buses.iter().map(move |bus| bus.busy(now))
    }

    /// Time that dies waited for each channel's bus, summed over dies, in picoseconds. Only waits that have
    /// ended in a grant are included.
    pub fn bus_waited(&self) -> impl Iterator<Item = u64> + '_ {
        self.buses.iter().map(|bus| bus.waited)
    }

    /// Array time of each die in stages that are over by `now`, in picoseconds.
    pub fn array_busy(&self, now: Instant) -> impl Iterator<Item = u64> + '_ {
        self.all_dies().map(move |die| self.dies[die].array_busy(&self.behind[die], now))
    }
}
