//! None: cold data stay where they are.

use std::ops::Range;

use wordline_kernel::{Stream, state};
use wordline_nand::RowId;

use super::{RowBlocks, WearLeveller};

/// Relocates nothing for wear levelling.
pub struct None;

state!(None {});

impl WearLeveller for None {
    fn is_on(&self) -> bool {
        false
    }

    fn erased(&mut self, _: RowId, _: u32) {}

    fn next(&mut self, _: &RowBlocks<'_>, _: &mut Stream) -> Option<Range<u32>> {
        Option::None
    }
}
