//! The part of the device that a design sees when it is asked or told something.

use wordline_kernel::{Instant, Stream};
use wordline_nand::{BlockSetId, CellMode, DieId, Pools, RowId};

use crate::flash::Flash;
use crate::lifetime::{Fullness, Worn};
use crate::policy::seen::Level;
use crate::pools::{EVERYTHING_IN, PoolState};
use crate::space::{Space, State, WordLineFacts};

/// The state of a block set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockFacts {
    /// Its state.
    pub state: State,
    /// Its valid logical pages.
    pub valid: u32,
    /// How often it was erased.
    pub erases: u32,
    /// The number of its last opening: the device counts them, so that a larger one is later.
    pub opened: u64,
    /// Its cell mode.
    pub mode: CellMode,
    /// The collector's stream that wrote it last; none if the host's pages are in it.
    pub moved_by: Option<u8>,
}

/// The parts of the device that a view shows.
#[derive(Clone, Copy)]
pub(crate) struct Sight<'a> {
    pub(crate) flash: &'a Flash,
    pub(crate) space: &'a Space,
}

/// A read-only view of the device for a design, and the design's own random stream.
pub struct View<'a> {
    pub(super) sight: Sight<'a>,
    pub(super) level: Level,
    pub(super) now: Instant,
    pub(super) random: &'a mut Stream,
}

impl View<'_> {
    /// The time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Whether the device is being aged: no time passes.
    pub fn is_aged(&self) -> bool {
        self.sight.flash.has_no_clock()
    }

    /// The pools: parts, geometry, and what number is what.
    pub fn pools(&self) -> &Pools {
        self.sight.space.pools()
    }

    /// How worn and how full a pool is, by its number. In a device with a single pool this takes time in proportion to
    /// its blocks.
    pub fn pool(&self, pool: usize) -> PoolState {
        let Sight { flash, space } = self.sight;
        let one = space.pools().iter().nth(pool).expect("a pool of the device");
        let counts = &flash.chips().counts_of_pools()[pool];
        PoolState {
            worn: Worn {
                erases: counts.block_sets_erased,
                blocks: u64::from(one.geometry.block_sets()),
                endurance: one.part.endurance,
            },
            fullness: Fullness { valid: space.valid_of(pool), total: u64::from(one.locations.count()) },
        }
    }

    /// How full the write buffer was when the present event began, or when a page was last taken out of it.
    pub fn buffer(&self) -> Level {
        self.level
    }

    /// How full the part of the write buffer is that belongs to a pool, by its number: pages on their way to it, over its share of the
    /// buffer, which is its share of the device's locations (chosen). Pages of which the pool is not known yet count for the first
    /// pool; so in a device with a single pool this is [how full the buffer is](Self::buffer).
    pub fn buffer_of(&self, pool: usize) -> Level {
        let Sight { space, .. } = self.sight;
        let on_their_way = |pool| u32::try_from(space.on_their_way(pool)).unwrap_or(u32::MAX);
        let elsewhere = || (0..space.pools().count()).map(on_their_way).fold(0, u32::saturating_add);
        let used = match pool {
            EVERYTHING_IN => self.level.used.saturating_sub(elsewhere()),
            _ => on_their_way(pool),
        };
        let own = u64::from(space.pools().get(pool).locations.count());
        let share = own * u64::from(self.level.capacity) / u64::from(space.pools().locations());
        Level { used, capacity: (share as u32).max(1) }
    }

    /// Tasks that wait for a die or are under way on it. Each call counts them.
    pub fn queue_length(&self, die: DieId) -> u32 {
        self.sight.flash.queue_length(die)
    }

    /// The die that a row of planes is on.
    pub fn die_of_row(&self, row: RowId) -> DieId {
        self.pools().of_row(row).geometry.die_of_row(row)
    }

    /// Free blocks of a row.
    pub fn free_blocks(&self, row: RowId) -> u32 {
        self.sight.space.free(row) as u32
    }

    /// Valid logical pages of a row.
    pub fn valid_in(&self, row: RowId) -> u32 {
        self.sight.space.valid_in(row)
    }

    /// The state of a block set.
    pub fn block(&self, block: BlockSetId) -> BlockFacts {
        let Sight { flash, space } = self.sight;
        BlockFacts {
            state: space.state(block),
            valid: space.valid(block),
            erases: flash.chips().erases()[block],
            opened: space.opened_as(block),
            mode: space.mode(block),
            moved_by: space.moved_by(block),
        }
    }

    /// The state of a word line of a block with two bits a cell.
    pub fn word_line(&self, block: BlockSetId, word_line: u32) -> WordLineFacts {
        self.sight.space.word_line(block, word_line)
    }

    /// Word lines of a super layer in the pool of a block; none where no word line is programmed again.
    pub fn super_layer(&self, block: BlockSetId) -> Option<u32> {
        self.sight.space.per_super_layer(block)
    }

    /// The design's own random stream.
    pub fn random(&mut self) -> &mut Stream {
        self.random
    }
}
