//! Reports about chips, and ways by which a device fills them before a run.

use wordline_kernel::{Column, Duration, Instant};

use super::die::{Die, Picoseconds};
use super::times::HoldTimes;
use super::{Chips, Counts, Operation, Stamp, Violations};
use crate::energy::{EnergyReport, StageTimes};
use crate::geometry::{BlockSetId, DieId, Geometry};
use crate::locations::Location;
use crate::{Part, Pool, Pools};

impl Chips {
    /// The stamp at `location`.
    #[inline]
    pub fn stamp(&self, location: Location) -> Stamp {
        self.pages.stamp(location)
    }

    /// Prefetches the stamp at `location`, which is read soon; see [`Column::prefetch`].
    #[inline]
    pub fn prefetch(&self, location: Location) {
        self.pages.prefetch(location);
    }

    /// Programs `location` in no time: the effect of a program, and how a device is filled before a run.
    /// A bug if the location is not the next of its block.
    #[inline]
    pub fn put(&mut self, location: Location, stamp: Stamp) {
        self.pages.put(location, stamp);
    }

    /// Makes a programmed location unreadable, as its program was not good enough.
    pub fn spoil(&mut self, location: Location) {
        self.pages.spoil(location);
    }

    /// Erases `block` in no time: the effect of an erase. False if the block stood its last erase before.
    pub fn wipe(&mut self, block: BlockSetId) -> bool {
        self.forget_block(block);
        self.pages.wipe(block)
    }

    /// Sets how often `block` was erased before the run.
    pub fn set_erases(&mut self, block: BlockSetId, erases: u32) {
        self.pages.erases[block] = erases;
    }

    /// How often each block set was erased.
    pub fn erases(&self) -> &Column<BlockSetId, u32> {
        &self.pages.erases
    }

    /// Locations of `block` that are programmed.
    pub fn programmed(&self, block: BlockSetId) -> u32 {
        self.pages.programmed[block]
    }

    /// Lets the word lines of a block be programmed in any order from now on, each of them once. Without it one out of order
    /// is a bug of the caller.
    pub fn program_in_any_order(&mut self) {
        self.pages.any_order = true;
    }

    /// Whether a location is programmed, readable or not.
    pub fn is_programmed(&self, location: Location) -> bool {
        self.pages.stamp(location) != Stamp::ERASED
    }

    /// Limits of the part that commands broke.
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

    /// The pools that its dies are of.
    pub fn pools(&self) -> &Pools {
        &self.pools
    }

    /// Operations of the chips.
    pub fn counts(&self) -> Counts {
        self.counts.iter().copied().sum()
    }

    /// Operations of the chips of each pool.
    pub fn counts_of_pools(&self) -> &[Counts] {
        &self.counts
    }

    /// Energy by stage after `elapsed` time, idle included.
    pub fn energy(&self, elapsed: Duration) -> EnergyReport {
        self.energy_of_pools(elapsed).sum()
    }

    /// The same of each pool.
    pub fn energy_of_pools(&self, elapsed: Duration) -> impl Iterator<Item = EnergyReport> + '_ {
        self.pools.iter().map(move |pool| self.stages_of(pool, elapsed).price(&pool.part.power))
    }

    /// Time in each stage, summed over dies, after `elapsed` time; what is not over is idle still.
    pub fn stages(&self, elapsed: Duration) -> StageTimes {
        self.pools.iter().map(|pool| self.stages_of(pool, elapsed)).sum()
    }

    /// The same over the dies of a pool.
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

    /// Time in which bus and array of one die worked at once, in stages that are over after `elapsed` time, in
    /// picoseconds: cache operations, and the latch of a suspend.
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

    /// Time in each stage of one kind of operation ([`Operation::kind`]), summed over dies, after `elapsed` time.
    pub fn stages_of_kind(&self, kind: usize, elapsed: Duration) -> StageTimes {
        assert!(kind < Operation::KINDS, "an operation has one of {} kinds", Operation::KINDS);
        let now = Instant::ZERO + elapsed;
        self.all_dies().map(|die| self.over(die, now).of_kind(kind)).sum()
    }

    /// Time in stages that are over of commands that are not finished after `elapsed` time, in picoseconds.
    pub fn unfinished_ps(&self, elapsed: Duration) -> u128 {
        let now = Instant::ZERO + elapsed;
        let unfinished = |die: DieId| {
            let present = self.dies[die].unfinished(&self.behind[die], &self.present_hold(die, now), now);
            u128::from(present) + u128::from(self.parked(die).ps())
        };
        self.all_dies().map(unfinished).sum()
    }

    fn all_dies(&self) -> impl Iterator<Item = DieId> + use<> {
        self.pools.all_dies()
    }

    /// The stages of a die that are over.
    pub(super) fn over(&self, die: DieId, now: Instant) -> Picoseconds {
        self.dies[die].over(&self.behind[die], &self.present_hold(die, now), now)
    }

    /// The times of the hold of the bus that is under way.
    fn present_hold(&self, die: DieId, now: Instant) -> HoldTimes {
        let Die { step, command, hold_until, late, .. } = &self.dies[die];
        if *hold_until <= now {
            return HoldTimes::default();
        }
        let times = self.seen_by(die).1;
        times.of_step(&self.pool_of(die).geometry, *step, command).later(*late)
    }

    /// Time that each channel's bus was held until `now`, in picoseconds.
    pub fn bus_busy(&self, now: Instant) -> impl Iterator<Item = u64> + '_ {
        self.buses.iter().map(move |bus| bus.busy(now))
    }

    /// Time that dies waited for each channel's bus in holds that have begun, summed over dies, in picoseconds.
    pub fn bus_waited(&self) -> impl Iterator<Item = u64> + '_ {
        self.buses.iter().map(|bus| bus.waited)
    }

    /// Time that each die's array worked in stages that are over by `now`, in picoseconds.
    pub fn array_busy(&self, now: Instant) -> impl Iterator<Item = u64> + '_ {
        self.all_dies().map(move |die| self.dies[die].array_busy(&self.behind[die], now))
    }
}
