//! The state that every engine uses: the flash, the block table, the configuration, policies, and counts.

mod audit;
mod designs;
mod life;
mod new;
mod page;
mod progress;
mod read;

use wordline_kernel::{Digest, Duration, Instant, state};
use wordline_nand::{BlockSetId, CellMode, PageId, Pool, RowId};

use crate::command::Command;
use crate::config::{Config, Protection};
use crate::contents::{Contents, Mutant};
use crate::event::Event;
use crate::factors::TimeFactors;
use crate::faults::Faults;
use crate::flash::Flash;
use crate::gauges::Gauges;
use crate::lifetime::{Fullness, Worn};
use crate::map::LogicalPage;
use crate::parts::Policies;
use crate::pools::PoolState;
use crate::sectors::Sectors;
use crate::snapshot::Agenda;
use crate::space::{Space, State};
use crate::times::WriteBack;
use crate::totals::Totals;

pub(crate) use life::Life;
pub(crate) use page::{PageSize, Piece};
pub(crate) use read::{LocationRead, Wanted};

/// The state that every engine uses. Its parts are public, so that each can be borrowed alone; it has short helpers and no
/// mechanism.
pub struct Base {
    pub(crate) config: Config,
    /// The chips, the queues of their dies, and what they carry out.
    pub flash: Flash,
    /// The block table.
    pub space: Space,
    pub(crate) policies: Policies,
    pub(crate) life: Life,
    pub(crate) page_size: PageSize,
    /// Whether the placement fixes the row of each page by its number.
    pub(crate) has_homes: bool,
    /// The states of the pools as policies see them; computed when a policy is asked.
    pub(crate) states: Vec<PoolState>,
    digest: Digest,
    pub(crate) totals: Totals,
    /// Where the time of the reads and programs went that wrote the buffer out, for each pool.
    written_back: Vec<WriteBack>,
    /// The contents of the sectors; none unless the host asked to follow them.
    pub(crate) contents: Option<Box<Contents>>,
}

state!(Base {
    values { digest, totals, written_back }
    parts { flash, space, policies, life }
    fixed { config, page_size, has_homes, states, contents }
});

impl Base {
    /// Part of the capacity in good blocks that holds nothing valid: what is spare in effect. It is more than the
    /// over-provisioning by what the host never wrote or discarded. It takes time in proportion to the number of blocks.
    pub fn effective_spare(&self) -> f64 {
        let pools = &self.config.pools;
        let good = |row| u64::from(self.space.good(row)) * u64::from(pools.per_block_of(row));
        let all: u64 = pools.all_rows().map(good).sum();
        1.0 - self.space.total_valid() as f64 / all.max(1) as f64
    }

    /// How full the flash is, blocks out of use included. It takes time in proportion to the number of blocks.
    pub fn fullness(&self) -> Fullness {
        Fullness { valid: self.space.total_valid(), total: u64::from(self.config.pools.locations()) }
    }

    /// The readings of the flash at `now`, of a write buffer that holds so many pages, and of a collector that has gone through so many.
    pub(crate) fn gauges(&self, buffered: u32, gone_through: u64, now: Instant) -> Gauges {
        let (chips, pools) = (self.flash.chips(), &self.config.pools);
        Gauges {
            arrays: chips.array_busy(now).map(Duration::from_ps).collect(),
            free_blocks: pools.all_rows().map(|row| self.space.free(row) as u64).sum(),
            good_blocks: pools.all_rows().map(|row| u64::from(self.space.good(row))).sum(),
            room: (self.space.free_pages() + gone_through) * self.config.unit.0,
            buffered_pages: buffered.into(),
            victim_pages: self.totals.gc_victim_pages,
            victim_valid_pages: self.totals.gc_victim_valid_pages,
        }
    }

    /// How worn each pool is, in their order. It takes time in proportion to the number of blocks.
    pub fn worn(&self) -> Vec<Worn> {
        let pools = self.config.pools.iter().map(|pool| {
            let all = pool.geometry.all_blocks();
            let erases = all.map(|block| u64::from(self.flash.chips().erases()[block])).sum();
            Worn { erases, blocks: u64::from(pool.geometry.block_sets()), endurance: pool.part.endurance }
        });
        pools.collect()
    }

    /// The lengths of the lists whose lengths follow from the configuration.
    pub(crate) fn shape(&self) -> Vec<usize> {
        let mut lengths = vec![self.life.failures.len(), self.written_back.len()];
        lengths.extend(self.space.shape());
        lengths.extend(self.flash.shape());
        lengths
    }

    /// Checks what was loaded at `now`.
    pub(crate) fn check_loaded(&self, agenda: &Agenda) -> Result<(), String> {
        self.space.check_loaded(|block| self.flash.chips().programmed(block))?;
        self.flash.check_loaded(agenda.now)?;
        self.check_pending(agenda)
    }

    /// Checks what was loaded of the policies that the device asks itself, and that the pending events are those that the dies wait for.
    fn check_pending(&self, agenda: &Agenda) -> Result<(), String> {
        self.policies.placement.check_loaded()?;
        self.flash.check_pending(agenda.events.iter().filter_map(|(_, event)| match *event {
            Event::Flash(event) => Some(event),
            _ => None,
        }))
    }

    /// Takes a word of what happened into the digest.
    #[inline]
    pub(crate) fn digest(&mut self, word: u64) {
        self.digest.add(word);
    }

    /// The digest of everything that happened.
    pub(crate) fn digest_so_far(&self) -> Digest {
        self.digest
    }

    /// Where the time of the reads and programs went that wrote the buffer out, for each pool.
    pub(crate) fn written_back(&self) -> &[WriteBack] {
        &self.written_back
    }

    /// From the next commands on flash and firmware take their times with these factors.
    pub(crate) fn change_times(&mut self, factors: &TimeFactors) {
        self.flash.change_times(factors);
        let file = &mut self.config.file;
        file.front.command_time = factors.controller.of(file.front.command_time);
        file.buffer.access_time = factors.controller.of(file.buffer.access_time);
    }

    /// From now on it is known what the sectors hold.
    pub(crate) fn keep_contents(&mut self, mut contents: Contents) {
        contents.per_page = self.sectors_per_page();
        self.contents = Some(Box::new(contents));
    }

    /// Whether a deliberate fault is switched on.
    #[inline(always)]
    pub(crate) fn has(&self, mutant: Mutant) -> bool {
        cfg!(debug_assertions) && self.contents.as_ref().is_some_and(|contents| contents.has(mutant))
    }

    /// To count what failed in the pool of a block.
    pub(crate) fn faults_at(&mut self, block: BlockSetId) -> &mut Faults {
        let pools = &self.config.pools;
        self.totals.faults.count(pools.number_of_row(pools.row_of_block(block)))
    }

    /// Sectors of a logical page.
    #[inline]
    pub(crate) fn sectors_per_page(&self) -> u64 {
        self.page_size.sectors
    }

    /// All sectors of a logical page.
    #[inline]
    pub(crate) fn full_page(&self) -> Sectors {
        self.page_size.all
    }

    /// The pages that a command touches: first, and one beyond the last; the same if it has no sectors.
    #[inline]
    pub(crate) fn pages_of(&self, command: &Command) -> (u32, u32) {
        let first = self.page_size.page_of(command.sector);
        let end = match command.sectors {
            0 => first,
            sectors => self.page_size.page_of(command.sector + sectors - 1) + 1,
        };
        (first, end)
    }

    /// The part of `command` that lies in page `page`, one of those that it touches.
    #[inline]
    pub(crate) fn piece(&self, command: &Command, page: u32) -> Piece {
        let per_page = self.sectors_per_page();
        let start = u64::from(page) * per_page;
        let from = command.sector.saturating_sub(start);
        let to = (command.sector + command.sectors - start).min(per_page);
        Piece { page: LogicalPage(page), from: from as u32, to: to as u32 }
    }

    /// Written pages in the buffer that still come to flash when the power fails; no more than these are ever in it if
    /// there are any.
    pub fn protected_pages(&self) -> u32 {
        if self.is_protected() { self.config.buffer_pages } else { 0 }
    }

    /// Whether what is in the buffer outlives the power.
    pub(crate) fn is_protected(&self) -> bool {
        self.config.file.buffer.power_loss_protection != Protection::None
    }

    /// Pages that the good blocks of a pool can hold with a program unit under way in each row.
    pub(crate) fn room_of(&self, pool: &Pool) -> u64 {
        let of_row = |row| u64::from(self.space.limit(row).saturating_sub(pool.locations.per_program));
        pool.geometry.all_rows().map(of_row).sum()
    }

    /// Pages that a row can hold beside those that have their home there, with a program unit of them under way.
    pub(crate) fn spare_beside_homes(&self, row: RowId) -> Option<u32> {
        let homes = self.life.home_pages.as_ref().map_or(0, |pages| pages[row]);
        self.space.limit(row).checked_sub(homes + self.config.pools.per_program(row))
    }

    /// Whether pages of tables leave room for the pages that have their home in a row.
    pub(crate) fn has_homes_beside_tables(&self) -> bool {
        self.life.home_pages.is_some()
    }

    /// Whether each row must hold the pages that have their home there: without a balancer they go nowhere else.
    pub(crate) fn stay_at_home(&self) -> bool {
        self.has_homes_beside_tables() && !self.policies.balances()
    }

    /// All block sets that are not out of use.
    pub(crate) fn blocks_in_use(&self) -> Vec<BlockSetId> {
        let all = self.config.pools.all_blocks();
        all.filter(|block| self.space.state(*block) != State::Bad).collect()
    }

    /// Erased blocks are native.
    pub(crate) fn set_modes(&mut self) {
        for block in self.config.pools.all_blocks() {
            if self.space.is_native(block) && self.flash.chips().programmed(block) == 0 {
                self.flash.set_mode(block, CellMode::Native);
            }
        }
    }

    /// Puts the block of a row that `page` is in into the mode that it was opened in.
    #[inline]
    pub(crate) fn set_mode(&mut self, row: RowId, page: PageId) {
        if self.space.has_modes(row) {
            let block = self.config.pools.block_of_page(page);
            self.flash.set_mode(block, self.space.mode(block));
        }
    }

    /// The states of the pools that policies see.
    pub fn pool_states(&self) -> Vec<PoolState> {
        self.states_now().collect()
    }

    /// Works out what a policy may know of the pools, which it is going to be asked about.
    pub(crate) fn gather_states(&mut self) {
        let mut states = std::mem::take(&mut self.states);
        states.clear();
        states.extend(self.states_now());
        self.states = states;
    }

    fn states_now(&self) -> impl Iterator<Item = PoolState> + '_ {
        let pools = self.config.pools.iter().zip(self.flash.chips().counts_of_pools()).enumerate();
        pools.map(|(n, (pool, counts))| PoolState {
            worn: Worn {
                erases: counts.block_sets_erased,
                blocks: u64::from(pool.geometry.block_sets()),
                endurance: pool.part.endurance,
            },
            fullness: Fullness { valid: self.space.valid_of(n), total: u64::from(pool.locations.count()) },
        })
    }

    /// Works out again how many pages of the host the rows of each pool can hold: blocks have failed.
    pub(crate) fn note_room(&mut self) {
        let shares = self.config.shares();
        for n in 0..self.config.pools.count() {
            let room = self.room_of(self.config.pools.get(n));
            self.life.room[n] = room.saturating_sub(shares.tables_in(n));
        }
    }
}
