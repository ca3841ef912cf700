//! Mixed: leaders are programmed before the other word lines of their layers (cubeFTL, section 4.1.3, Figure
//! 12c).

use wordline_kernel::state;

use super::{Frontier, OpenBlock};

/// Selects the leaders of a group of layers, then the other word lines of these layers, layer by layer. Then
/// it continues with the next group.
pub struct Mixed {
    /// Layers in a group. A block with fewer layers is a single group.
    pub layers: u32,
}

state!(Mixed { fixed { layers } });

impl Frontier for Mixed {
    fn next(&mut self, open: &OpenBlock<'_>) -> u32 {
        let (all, per_layer) = (open.shape.layers, open.shape.per_layer);
        let ahead = self.layers.min(all);
        let round = open.written / (ahead * per_layer);
        let (first, within) = (round * ahead, open.written - round * ahead * per_layer);
        // The last group may have fewer layers.
        let here = ahead.min(all - first);
        if within < here {
            return (first + within) * per_layer;
        }
        let (layer, word_line) = ((within - here) / (per_layer - 1), (within - here) % (per_layer - 1));
        (first + layer) * per_layer + 1 + word_line
    }
}
