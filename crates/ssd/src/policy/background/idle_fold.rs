//! Idle fold: the SLC cache is emptied while the host rests.

use wordline_kernel::{Duration, state};

use super::{Background, Resting};

/// Folds each row's cached blocks, the oldest first, until this many are left.
pub struct IdleFold {
    /// How long no command of the host must have been outstanding.
    pub idle: Duration,
    /// Blocks of a row that stay in the cache.
    pub until_cached: u32,
}

state!(IdleFold { fixed { idle, until_cached } });

impl Background for IdleFold {
    fn rests_after(&self) -> Option<Duration> {
        Some(self.idle)
    }

    fn free_blocks(&mut self, _: &Resting) -> u32 {
        0
    }

    fn cached_blocks(&mut self, _: &Resting) -> u32 {
        self.until_cached
    }
}
