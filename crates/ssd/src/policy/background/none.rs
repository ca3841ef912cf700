//! None: no background work while the host is idle.

use wordline_kernel::{Duration, state};

use super::{Background, Resting};

/// Does no background work.
pub struct None;

state!(None {});

impl Background for None {
    fn rests_after(&self) -> Option<Duration> {
        Option::None
    }

    fn free_blocks(&mut self, _: &Resting) -> u32 {
        0
    }
}
