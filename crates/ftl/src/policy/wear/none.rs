//! None: no static wear levelling.

use std::ops::Range;

use wordline_kernel::{Stream, state};
use wordline_nand::PlaneGroupId;

use super::{PlaneGroupBlocks, WearLeveller};

/// Relocates nothing for wear levelling.
pub struct None;

state!(None {});

impl WearLeveller for None {
    fn is_on(&self) -> bool {
        false
    }

    fn erased(&mut self, _: PlaneGroupId, _: u32) {}

    fn next(&mut self, _: &PlaneGroupBlocks<'_>, _: &mut Stream) -> Option<Range<u32>> {
        Option::None
    }
}
