//! None: no background work while the host is idle.

use wordline_kernel::{Duration, state};

use super::{Background, IdleGroup};

/// Does no background work.
pub struct None;

state!(None {});

impl Background for None {
    fn idle_delay(&self) -> Option<Duration> {
        Option::None
    }

    fn free_blocks(&mut self, _: &IdleGroup) -> u32 {
        0
    }
}
