//! Operation counters of chips.

use serde::{Deserialize, Serialize};

/// Operation counters of chips, in commands, pages and block sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Read commands.
    pub read_commands: u64,
    /// Pages read.
    pub pages_read: u64,
    /// Program commands.
    pub program_commands: u64,
    /// Pages programmed.
    pub pages_programmed: u64,
    /// Block sets erased.
    pub block_sets_erased: u64,
}

impl Counts {
    /// Counts a read command of this many pages.
    #[inline]
    pub(super) fn read(&mut self, pages: u32) {
        self.read_commands += 1;
        self.pages_read += u64::from(pages);
    }
}

impl std::iter::Sum for Counts {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), |a, b| Self {
            read_commands: a.read_commands + b.read_commands,
            pages_read: a.pages_read + b.pages_read,
            program_commands: a.program_commands + b.program_commands,
            pages_programmed: a.pages_programmed + b.pages_programmed,
            block_sets_erased: a.block_sets_erased + b.block_sets_erased,
        })
    }
}
