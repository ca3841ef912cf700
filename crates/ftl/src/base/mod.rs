//! State shared by all engines: the flash, the block table, the configuration, policies, and counters.

mod designs;
mod life;
mod new;
mod page;
mod pool_states;
mod read;

use wordline_device::lifetime::{PoolWear, Utilization};
use wordline_device::times::WriteBack;
use wordline_device::{Gauges, TimeFactors};
use wordline_flash::faults::Faults;
use wordline_flash::{Event, Flash};
use wordline_kernel::{Digest, Duration, Instant, gcd, state};
use wordline_nand::chips::Counts;
use wordline_nand::{BlockSetId, CellMode, PageId, PlaneGroupId, Pool};

use crate::blocks::BlockManager;
use crate::config::Config;
use crate::contents::{Contents, InjectedFault};
use crate::parts::Policies;
use crate::policy::pool_state::PoolState;
use crate::totals::Totals;

pub use life::DeviceHealth;
pub use page::{PageSize, Piece};
pub use pool_states::PoolStates;
pub use read::{LocationRead, WantedSectors};

/// State shared by all engines. Its fields are public so that they can be borrowed separately. It has
/// helpers, but no mechanism.
pub struct Base {
    /// The configuration.
    pub config: Config,
    /// Chips, the command queues of their dies, and the commands in progress.
    pub flash: Flash,
    /// Block table.
    pub blocks: BlockManager,
    /// Policies that several engines query, and the designs.
    pub policies: Policies,
    /// Failures, and whether writes are accepted.
    pub life: DeviceHealth,
    /// Size of logical pages.
    pub page_size: PageSize,
    /// Whether allocation is static.
    pub has_homes: bool,
    /// States of the pools, as they were when a policy was queried last.
    pub states: PoolStates,
    digest: Digest,
    /// Counters.
    pub totals: Totals,
    /// Latency breakdown of the reads and programs that destaged the buffer, for each pool.
    written_back: Vec<WriteBack>,
    /// Contents of the sectors; `None` unless the host asked for data verification.
    pub contents: Option<Box<Contents>>,
}

state!(Base {
    values { digest, totals, written_back }
    parts { flash, blocks, policies, life }
    fixed { config, page_size, has_homes, states, contents }
});

impl Base {
    /// Effective over-provisioning: the fraction of good capacity without valid data. It includes pages that
    /// the host never wrote or has discarded. The time grows with the number of blocks.
    pub fn effective_spare(&self) -> f64 {
        let pools = &self.config.pools;
        let good = |row| u64::from(self.blocks.space().good(row)) * u64::from(pools.per_block_of(row));
        let all: u64 = pools.all_groups().map(good).sum();
        1.0 - self.blocks.by_pool().total_valid() as f64 / all.max(1) as f64
    }

    /// Utilization of the flash. Blocks out of service count as capacity. A call takes longer with more
    /// blocks.
    pub fn fullness(&self) -> Utilization {
        Utilization {
            valid: self.blocks.by_pool().total_valid(),
            total: u64::from(self.config.pools.locations()),
        }
    }

    /// Gauges of the flash at `now`. The caller adds the pages in the write buffer.
    pub fn gauges(&self, buffered: u32, now: Instant) -> Gauges {
        let (chips, pools) = (self.flash.chips(), &self.config.pools);
        Gauges {
            arrays: chips.array_busy(now).map(Duration::from_ps).collect(),
            free_blocks: pools.all_groups().map(|row| self.blocks.space().free(row) as u64).sum(),
            good_blocks: pools.all_groups().map(|row| u64::from(self.blocks.space().good(row))).sum(),
            buffered_pages: buffered.into(),
            victim_pages: self.totals.gc_victim_pages,
            victim_valid_pages: self.totals.gc_victim_valid_pages,
        }
    }

    /// Wear of each pool, in order. The time grows with the number of blocks.
    pub fn worn(&self) -> Vec<PoolWear> {
        let pools = self.config.pools.iter().map(|pool| {
            let all = pool.geometry.all_blocks();
            let erases = all.map(|block| u64::from(self.flash.chips().erases()[block])).sum();
            PoolWear { erases, blocks: u64::from(pool.geometry.block_sets()), endurance: pool.part.endurance }
        });
        pools.collect()
    }

    /// Lengths of the lists that follow from the configuration, for a check of loaded states.
    pub fn shape(&self) -> Vec<usize> {
        let mut lengths = vec![self.life.failures.len(), self.written_back.len()];
        lengths.extend(self.blocks.shape());
        lengths.extend(self.flash.shape());
        lengths
    }

    /// Checks the loaded state at time `now`, with these pending events.
    ///
    /// # Errors
    /// Description of the inconsistency.
    pub(crate) fn check_loaded(
        &self,
        now: Instant,
        pending: impl Iterator<Item = Event>,
    ) -> Result<(), String> {
        self.blocks.check_loaded(|block| self.flash.chips().programmed(block))?;
        self.flash.check_loaded(now)?;
        self.blocks.table().check_programs(self.flash.programs())?;
        self.policies.placement.check_loaded()?;
        self.flash.check_pending(pending)
    }

    /// Adds a word to the event digest.
    #[inline]
    pub fn digest(&mut self, word: u64) {
        self.digest.add(word);
    }

    /// Digest of all events so far.
    pub fn digest_so_far(&self) -> Digest {
        self.digest
    }

    /// Latency breakdown of the reads and programs that destaged the buffer, for each pool.
    pub fn written_back(&self) -> &[WriteBack] {
        &self.written_back
    }

    /// Scales the times of flash by these factors, from the next commands on.
    pub fn change_times(&mut self, factors: &TimeFactors) {
        self.flash.change_times(&factors.of_chips(), factors.controller);
    }

    /// Tracks the contents of sectors from now on.
    pub fn keep_contents(&mut self, mut contents: Contents) {
        contents.per_page = self.page_size.sectors();
        self.contents = Some(Box::new(contents));
    }

    /// Whether a deliberate fault is enabled.
    #[inline(always)]
    pub fn has(&self, mutant: InjectedFault) -> bool {
        cfg!(debug_assertions) && self.contents.as_ref().is_some_and(|contents| contents.has(mutant))
    }

    /// Failure counters of the pool of a block.
    pub fn faults_at(&mut self, block: BlockSetId) -> &mut Faults {
        let pools = &self.config.pools;
        self.totals.faults.count(pools.number_of_group(pools.group_of_block(block)))
    }

    /// Pages that the good blocks of a pool can hold, if each plane group has one program unit in progress.
    pub(crate) fn room_of(&self, pool: &Pool) -> u64 {
        let of_group =
            |row| u64::from(self.blocks.space().limit(row).saturating_sub(pool.locations.per_program));
        pool.geometry.all_groups().map(of_group).sum()
    }

    /// Pages that a plane group can hold beyond those statically assigned to it, with one program unit in
    /// progress; `None` if it cannot hold even these.
    pub(crate) fn spare_beyond_static(&self, row: PlaneGroupId) -> Option<u32> {
        let homes = self.life.home_pages.as_ref().map_or(0, |pages| pages[row]);
        self.blocks.space().limit(row).checked_sub(homes + self.config.pools.per_program(row))
    }

    /// Whether each plane group must hold its statically assigned pages, because no balancer moves them to
    /// another group.
    pub(crate) fn is_bound_to_static(&self) -> bool {
        self.life.has_static_pages() && !self.policies.balances()
    }

    /// Returns erased blocks to native mode.
    pub(crate) fn set_modes(&mut self) {
        for block in self.config.pools.all_blocks() {
            if self.blocks.table().is_native(block) && self.flash.chips().programmed(block) == 0 {
                self.flash.set_mode(block, CellMode::Native);
            }
        }
    }

    /// Sets the block of `page` in the flash to the mode in which it was opened.
    #[inline]
    pub fn set_mode(&mut self, row: PlaneGroupId, page: PageId) {
        if !self.blocks.modes(row).are_none() {
            let block = self.config.pools.block_of_page(page);
            self.flash.set_mode(block, self.blocks.table().mode(block));
        }
    }

    /// States of the pools, as policies see them.
    pub fn pool_states(&self) -> Vec<PoolState> {
        pool_states::states_now(&self.flash, &self.blocks).collect()
    }

    /// Checks the programs of the chips against the counters; panics if they differ. A program is counted
    /// before the chips execute it. So the counters may be ahead by at most two program units of each plane
    /// group. The size of a unit depends on the pool and on the mode of the block.
    pub fn audit(&self, elapsed: Duration) {
        let pools = &self.config.pools;
        let programmed = |(pool, counts): (&Pool, &Counts)| {
            let locations = &pool.locations;
            counts.pages_programmed * u64::from(locations.per_page()) / u64::from(locations.pages())
        };
        let timed: u64 = pools.iter().zip(self.flash.chips().counts_of_pools()).map(programmed).sum();
        let programmed = timed + self.flash.laid();
        let units =
            pools.iter().map(|pool| pool.locations.per_program).chain(self.blocks.by_pool().smaller_units());
        let unit = units.map(u64::from).fold(0, gcd);
        let most: u64 = pools.all_groups().map(|row| u64::from(2 * pools.per_program(row))).sum();
        let queued = self.totals.programmed() - programmed;
        assert!(
            queued.is_multiple_of(unit) && queued <= most,
            "pages programmed are the host's, the map's, the collector's and padding, but for units under way: {queued}"
        );
        self.blocks.audit();
        let again = |location| self.flash.chips().reprograms(self.config.pools.page_of(location));
        self.blocks.by_pool().audit_reprograms(self.blocks.table(), again);
        self.flash.audit(elapsed);
    }

    /// Recomputes the number of host pages that each pool can hold, after blocks failed.
    pub(crate) fn update_room(&mut self) {
        let shares = self.config.shares();
        for n in 0..self.config.pools.count() {
            let room = self.room_of(self.config.pools.get(n));
            self.life.room[n] = room.saturating_sub(shares.tables_in(n));
        }
    }
}
