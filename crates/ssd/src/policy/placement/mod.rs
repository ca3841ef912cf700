//! Which channel, package, die and row of planes a write goes to.

mod dynamic;
mod fixed;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::Id;
use wordline_kernel::snapshot::State;
use wordline_nand::Pools;

pub use dynamic::Dynamic;
pub use fixed::Fixed;
pub use wordline_nand::RowId;

/// The rows that take a program unit now: their last one is done, and they have free pages.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RowSet {
    words: Vec<u64>,
}

impl RowSet {
    /// No rows, of `count`.
    pub fn new(count: u32) -> Self {
        Self { words: vec![0; count.div_ceil(64) as usize] }
    }

    /// Words of 64 rows that it takes.
    pub(crate) fn words(&self) -> usize {
        self.words.len()
    }

    /// Whether `row` is among them.
    #[inline]
    pub fn contains(&self, row: RowId) -> bool {
        self.words[row.index() / 64] >> (row.0 % 64) & 1 != 0
    }

    /// Whether none is beyond the rows that there are.
    pub(crate) fn is_of(&self, count: u32) -> bool {
        self.words.len() == count.div_ceil(64) as usize && self.next_from(RowId(count)).is_none()
    }

    /// Whether `row` is among them, whatever number it is.
    #[inline]
    pub(crate) fn has(&self, row: RowId) -> bool {
        self.words.get(row.index() / 64).is_some_and(|word| word >> (row.0 % 64) & 1 != 0)
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Puts `row` in or takes it out; whether it is in and was not.
    #[inline]
    pub fn set(&mut self, row: RowId, member: bool) -> bool {
        let (word, bit) = (&mut self.words[row.index() / 64], 1 << (row.0 % 64));
        let before = *word;
        *word = if member { before | bit } else { before & !bit };
        *word & !before != 0
    }

    /// Takes all out.
    pub(crate) fn clear(&mut self) {
        self.words.fill(0);
    }

    /// The first of them from `row` on.
    #[inline]
    pub fn next_from(&self, row: RowId) -> Option<RowId> {
        self.next_where(row, |_| u64::MAX)
    }

    /// The first from `row` on that is in another set, too.
    #[inline]
    pub fn next_common(&self, other: &Self, row: RowId) -> Option<RowId> {
        self.next_where(row, |word| other.words[word])
    }

    /// The first from `row` on of those that `mask` leaves of each word.
    #[inline]
    fn next_where(&self, row: RowId, mask: impl Fn(usize) -> u64) -> Option<RowId> {
        let mut rest = u64::MAX << (row.0 % 64);
        for word in row.index() / 64..self.words.len() {
            rest &= self.words[word] & mask(word);
            if rest != 0 {
                return Some(RowId(word as u32 * 64 + rest.trailing_zeros()));
            }
            rest = u64::MAX;
        }
        None
    }

    /// All of them, ascending.
    pub fn iter(&self) -> impl Iterator<Item = RowId> + '_ {
        self.words.iter().enumerate().flat_map(|(n, word)| {
            std::iter::successors(Some(*word), |rest| Some(rest & rest.wrapping_sub(1)))
                .take_while(|rest| *rest != 0)
                .map(move |rest| RowId(n as u32 * 64 + rest.trailing_zeros()))
        })
    }
}

/// Says where a page goes. It looks and answers; the mechanism checks the answer and acts.
pub trait Placement: State + Send {
    /// The row of pool `pool` that logical page `page` goes to, if that is fixed by its number. All pages have one in each pool, or none.
    fn home(&self, page: u32, pool: usize) -> Option<RowId>;

    /// Whether pages have homes.
    fn has_homes(&self) -> bool {
        self.home(0, 0).is_some()
    }

    /// Whether a state that was just taken over can be one of this policy.
    ///
    /// # Errors
    /// The contradiction.
    fn check_loaded(&self) -> Result<(), String> {
        Ok(())
    }

    /// For pages without a home, and in a device of several pools for those of tables and those that leave their pool: one of the rows that
    /// take a program unit, which are of one pool; `None` when there are none.
    fn next(&mut self, rows: &RowSet) -> Option<RowId>;
}

/// The placements that are built in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "kebab-case", deny_unknown_fields)]
pub enum PlacementKind {
    /// The next row in turn whose die is free.
    Dynamic {},
    /// A row fixed by the logical page number.
    Fixed {
        /// Which coordinate changes first from one logical page to the next: the letters of channel, way (package),
        /// die and plane in some order.
        #[serde(default = "cwdp")]
        order: String,
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
    /// The error in the settings: what was found and what was wanted.
    pub fn complaint(&self) -> Option<(String, &'static str)> {
        match self {
            Self::Fixed { order } if !fixed::is_order(order) => {
                Some((order.clone(), "the letters C, W, D and P, each once, such as \"CWDP\""))
            }
            _ => None,
        }
    }

    /// The policy for a device of these pools, with `packages` packages on a channel of each.
    pub fn build(&self, pools: &Pools, packages: &[u32]) -> Box<dyn Placement> {
        match self {
            Self::Dynamic {} => Box::new(Dynamic::new(pools)),
            Self::Fixed { order } => Box::new(Fixed::of(pools, packages, order)),
        }
    }
}
