//! Idle fold: the SLC cache is folded while the host is idle.

use wordline_kernel::{Duration, state};

use super::{Background, IdleGroup};

/// Folds the blocks of each plane group that are in the SLC cache, oldest first, until `until_cached` are
/// left.
pub struct IdleFold {
    /// Idle time before folding starts: no host command is outstanding for this long.
    pub idle: Duration,
    /// Blocks of each plane group that stay in the cache.
    pub until_cached: u32,
}

state!(IdleFold { fixed { idle, until_cached } });

impl Background for IdleFold {
    fn idle_delay(&self) -> Option<Duration> {
        Some(self.idle)
    }

    fn free_blocks(&mut self, _: &IdleGroup) -> u32 {
        0
    }

    fn cached_blocks(&mut self, _: &IdleGroup) -> u32 {
        self.until_cached
    }
}
