//! In order: word lines in numerical order, as data sheets require. On a 3D part this order is horizontal
//! first.

use wordline_kernel::state;

use super::{Frontier, OpenBlock};

/// Selects the unprogrammed word line with the lowest number.
pub struct InOrder;

state!(InOrder {});

impl Frontier for InOrder {
    fn is_in_order(&self) -> bool {
        true
    }

    fn next(&mut self, open: &OpenBlock<'_>) -> u32 {
        open.written
    }
}
