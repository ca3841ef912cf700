//! Last good: the read levels that read a layer last are tried first.

use wordline_kernel::{Column, state};
use wordline_nand::{BlockSetId, LayerId, Layers};

use super::{ReadOutcome, ReadParameters, SensedPage, Tuner};

/// Remembers for each horizontal layer of each block which read levels read a page of it last, as cubeFTL's table of optimal
/// read reference voltages does (section 5.1). Chosen: an erase and a power cut make it forget, which the paper does not tell.
pub struct LastGood {
    layers: Layers,
    /// The set that read a page of the layer last; the nominal one where none has yet.
    known: Column<LayerId, u8>,
}

state!(LastGood { parts { known } fixed { layers } });

impl LastGood {
    /// A table of the nominal levels.
    pub fn new(layers: Layers) -> Self {
        Self { known: Column::filled(layers.count(), 0), layers }
    }
}

impl Tuner for LastGood {
    fn read(&self, page: &SensedPage) -> ReadParameters {
        ReadParameters { level: self.known[page.layer] }
    }

    fn read_over(&mut self, page: &SensedPage, outcome: &ReadOutcome) {
        if outcome.is_read {
            self.known[page.layer] = outcome.parameters.level;
        }
    }

    fn erased(&mut self, block: BlockSetId) {
        for layer in self.layers.of_block(block) {
            self.known[LayerId(layer)] = 0;
        }
    }

    fn forget(&mut self) {
        for layer in self.known.ids() {
            self.known[layer] = 0;
        }
    }
}
