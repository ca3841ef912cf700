//! Vertical: the word lines of the same position in all layers, one position after another (cubeFTL, section
//! 4.1.3, Figure 12b).

use wordline_kernel::state;

use super::{Frontier, OpenBlock};

/// Selects the first word line of every layer, then the second word line of every layer, and so on.
pub struct Vertical;

state!(Vertical {});

impl Frontier for Vertical {
    fn next(&mut self, open: &OpenBlock<'_>) -> u32 {
        let layers = open.shape.layers;
        open.written % layers * open.shape.per_layer + open.written / layers
    }
}
