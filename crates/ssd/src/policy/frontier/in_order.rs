//! In order: the word lines by their numbers, which is what data sheets ask for. On a 3D part that is horizontal first.

use wordline_kernel::state;

use super::{Frontier, OpenBlock};

/// The lowest number.
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
