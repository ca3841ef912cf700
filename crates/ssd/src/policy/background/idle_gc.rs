//! Idle GC: blocks are collected ahead of need while the host is idle.

use wordline_kernel::{Duration, state};

use super::{Background, IdleGroup};

/// Collects each plane group until it has this many free blocks, or this fraction of its spare ones.
pub struct IdleGc {
    /// Idle time: no host command outstanding for this long.
    pub idle: Duration,
    /// Free blocks of a plane group.
    pub until_free: u32,
    /// Free blocks of a plane group, as a fraction of its spare ones.
    pub until_spare: f64,
}

state!(IdleGc { fixed { idle, until_free, until_spare } });

impl Background for IdleGc {
    fn idle_delay(&self) -> Option<Duration> {
        Some(self.idle)
    }

    fn free_blocks(&mut self, row: &IdleGroup) -> u32 {
        let spare = row.good_blocks.saturating_sub(row.full_blocks);
        self.until_free.max((f64::from(spare) * self.until_spare) as u32)
    }
}
