//! None: nothing is done while the host rests.

use wordline_kernel::{Duration, state};

use super::{Background, Resting};

/// Leaves the flash alone.
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
