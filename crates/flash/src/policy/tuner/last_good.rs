//! Last good: a read begins with the read reference voltages that last succeeded in the same layer.

use wordline_kernel::ensure::ensure;
use wordline_kernel::{Column, state};
use wordline_nand::{BlockSetId, LayerId, Layers};

use super::{ReadOutcome, ReadParameters, SensedPage, Tuner};

/// Stores for each horizontal layer of each block the set of read reference voltages that last read one of
/// its pages (cubeFTL, section 5.1). Chosen: erases and power losses clear the table; the paper does not say.
pub struct LastGood {
    layers: Layers,
    /// Set that last read a page of the layer; the nominal one if there is none.
    known: Column<LayerId, u8>,
}

state!(LastGood { parts { known } fixed { layers } });

impl LastGood {
    /// Policy with the nominal set for all layers.
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
    fn check_loaded(&self, highest: u8) -> Result<(), String> {
        let known = self.known.iter().max().copied().unwrap_or_default();
        ensure(known <= highest, || {
            format!("a layer was read with set {known}, and the highest is {highest}")
        })
    }
}
