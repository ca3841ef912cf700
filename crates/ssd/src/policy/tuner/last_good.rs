//! Last good: read reference voltages that last succeeded in a layer are tried first.

use wordline_kernel::{Column, state};
use wordline_nand::{BlockSetId, LayerId, Layers};

use super::{ReadOutcome, ReadParameters, SensedPage, Tuner};

/// Remembers for each horizontal layer of each block which set of read reference voltages last read a page of
/// it, as cubeFTL's table of optimal read reference voltages does (section 5.1). Chosen: erases and power
/// cuts clear it, on which the paper is silent.
pub struct LastGood {
    layers: Layers,
    /// Set that last read a page of the layer; the nominal one if none has.
    known: Column<LayerId, u8>,
}

state!(LastGood { parts { known } fixed { layers } });

impl LastGood {
    /// Table of nominal sets.
    pub fn new(layers: Layers) -> Self {
        Self { known: Column::filled(layers.count(), 0), layers }
    }
}

impl Tuner for LastGood {
    fn read(&self, page: &SensedPage) -> ReadParameters {
        ReadParameters { level: self.known[page.layer] }
    }

    fn read_finished(&mut self, page: &SensedPage, outcome: &ReadOutcome) {
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
