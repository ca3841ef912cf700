//! Idle GC: GC runs before free blocks are needed, while the host is idle.

use wordline_kernel::{Duration, state};

use super::{Background, IdleGroup};

/// Collects each plane group until it has reached both goals for its free blocks.
pub struct IdleGc {
    /// Idle time before GC starts: no host command is outstanding for this long.
    pub idle: Duration,
    /// Goal for the free blocks of a plane group.
    pub until_free: u32,
    /// Goal for the free blocks of a plane group, as a fraction of its spare blocks.
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
