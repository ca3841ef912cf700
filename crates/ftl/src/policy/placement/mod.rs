//! Placement policies: the plane group, and so the channel, package and die, of a write.

mod dynamic;
mod fixed;
mod partitioned;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::Id;
use wordline_kernel::snapshot::State;
use wordline_nand::Pools;

pub use dynamic::Dynamic;
pub use fixed::Fixed;
pub(crate) use partitioned::check as check_ranges;
pub use partitioned::{Partitioned, PlacementRange};
pub use wordline_nand::PlaneGroupId;

/// Set of the plane groups that accept a program unit now: the previous unit is programmed, and free pages
/// are left.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlaneGroupSet {
    words: Vec<u64>,
}

impl PlaneGroupSet {
    /// Empty set for plane groups 0 to `count` - 1.
    pub fn new(count: u32) -> Self {
        Self { words: vec![0; count.div_ceil(64) as usize] }
    }

    /// Number of 64-bit words of the set.
    pub fn words(&self) -> usize {
        self.words.len()
    }

    /// Whether `row` is in the set.
    #[inline]
    pub fn contains(&self, row: PlaneGroupId) -> bool {
        self.words[row.index() / 64] >> (row.0 % 64) & 1 != 0
    }

    /// Whether a loaded set has only plane groups below `count`.
    pub fn is_of(&self, count: u32) -> bool {
        self.words.len() == count.div_ceil(64) as usize && self.next_from(PlaneGroupId(count)).is_none()
    }

    /// Whether `row` is in the set. Any number is allowed.
    #[inline]
    pub(crate) fn has(&self, row: PlaneGroupId) -> bool {
        self.words.get(row.index() / 64).is_some_and(|word| word >> (row.0 % 64) & 1 != 0)
    }

    /// Whether the set is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Adds or removes `row`. Returns whether it was added.
    #[inline]
    pub fn set(&mut self, row: PlaneGroupId, member: bool) -> bool {
        let (word, bit) = (&mut self.words[row.index() / 64], 1 << (row.0 % 64));
        let before = *word;
        *word = if member { before | bit } else { before & !bit };
        *word & !before != 0
    }

    /// Empties the set.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// First member at or after `row`.
    #[inline]
    pub fn next_from(&self, row: PlaneGroupId) -> Option<PlaneGroupId> {
        self.next_where(row, |_| u64::MAX)
    }

    /// First common member of both sets at or after `row`.
    #[inline]
    pub fn next_common(&self, other: &Self, row: PlaneGroupId) -> Option<PlaneGroupId> {
        self.next_where(row, |word| other.words[word])
    }

    /// First member at or after `row`, of the members in `mask`, which takes the index of a word.
    #[inline]
    fn next_where(&self, row: PlaneGroupId, mask: impl Fn(usize) -> u64) -> Option<PlaneGroupId> {
        let mut rest = u64::MAX << (row.0 % 64);
        for word in row.index() / 64..self.words.len() {
            rest &= self.words[word] & mask(word);
            if rest != 0 {
                return Some(PlaneGroupId(word as u32 * 64 + rest.trailing_zeros()));
            }
            rest = u64::MAX;
        }
        None
    }

    /// All members, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = PlaneGroupId> + '_ {
        self.words.iter().enumerate().flat_map(|(n, word)| {
            std::iter::successors(Some(*word), |rest| Some(rest & rest.wrapping_sub(1)))
                .take_while(|rest| *rest != 0)
                .map(move |rest| PlaneGroupId(n as u32 * 64 + rest.trailing_zeros()))
        })
    }
}

/// Selects the plane group of a page.
pub trait Placement: State + Send {
    /// Plane group of logical page `page` in pool `pool` under static allocation. Returns `Some` for all
    /// pages, or `None` for all.
    fn home(&self, page: u32, pool: usize) -> Option<PlaneGroupId>;

    /// Whether allocation is static.
    fn has_homes(&self) -> bool {
        self.home(0, 0).is_some()
    }

    /// Whether the plane groups of the first pages repeat over all pages of a pool, under static allocation.
    fn is_periodic(&self) -> bool {
        true
    }

    /// Checks that the loaded state is consistent.
    ///
    /// # Errors
    /// Description of the inconsistency.
    fn check_loaded(&self) -> Result<(), String> {
        Ok(())
    }

    /// Selects one of the plane groups that accept a program unit, all in one pool. `None` if the set is
    /// empty.
    ///
    /// Called for pages under dynamic allocation. With several pools, also called for translation pages and
    /// for pages migrated to another pool.
    fn next(&mut self, rows: &PlaneGroupSet) -> Option<PlaneGroupId>;
}

/// Built-in placement policies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "kebab-case", deny_unknown_fields)]
pub enum PlacementKind {
    /// Dynamic allocation: round-robin over the plane groups that are free.
    Dynamic {},
    /// Static allocation: the logical page number determines the plane group.
    Fixed {
        /// Order in which the coordinates change from one logical page to the next: the letters C (channel),
        /// W (way, or package), D (die) and P (plane).
        #[serde(default = "cwdp")]
        order: String,
    },
    /// Static allocation with plane groups for each range of addresses, such as those of a tenant.
    Partitioned {
        /// Order in which the coordinates change from one logical page to the next: the letters C (channel),
        /// W (way, or package), D (die) and P (plane).
        #[serde(default = "cwdp")]
        order: String,
        /// The ranges, from the first logical byte on. Pages behind them go to the plane groups that no range
        /// has, or to all plane groups if there is none.
        ranges: Vec<PlacementRange>,
    },
}

fn cwdp() -> String {
    "CWDP".into()
}

impl Default for PlacementKind {
    fn default() -> Self {
        Self::Dynamic {}
    }
}

impl PlacementKind {
    /// Invalid order, and the allowed values, if any.
    pub fn complaint(&self) -> Option<(String, &'static str)> {
        match self {
            Self::Fixed { order } | Self::Partitioned { order, .. } if !fixed::is_order(order) => {
                Some((order.clone(), "the letters C, W, D and P, each once, such as \"CWDP\""))
            }
            _ => None,
        }
    }

    /// Builds the policy for these pools. `packages` has the packages on a channel of each pool.
    pub fn build(&self, pools: &Pools, packages: &[u32]) -> Box<dyn Placement> {
        match self {
            Self::Dynamic {} => Box::new(Dynamic::new(pools)),
            Self::Fixed { order } => Box::new(Fixed::of(pools, packages, order)),
            Self::Partitioned { order, ranges } => {
                let pool = pools.first();
                let unit = pool.locations.size;
                Box::new(Partitioned::of(&pool.geometry, packages[0], unit, order, ranges))
            }
        }
    }
}
