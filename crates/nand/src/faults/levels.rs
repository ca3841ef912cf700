//! The sets of read levels that the layers of blocks need, where rules make them need any but the nominal one.

use wordline_kernel::{Column, state};

use crate::CellMode;
use crate::geometry::{BlockSetId, PageId};
use crate::layers::{LayerId, Layers};

/// The highest set of read levels that a rule may ask for. Chosen: what a byte holds, but for [`NOT_DRAWN`].
pub(super) const HIGHEST: u32 = 254;

const NOT_DRAWN: u8 = u8::MAX;

/// The set that each layer needs since its block was erased, drawn when the layer is first sensed.
#[derive(Clone, Debug)]
pub(super) struct Needs {
    layers: Layers,
    needed: Column<LayerId, u8>,
}

state!(Needs { parts { needed } fixed { layers } });

impl Needs {
    /// Nothing is drawn yet.
    pub(super) fn new(layers: Layers) -> Self {
        Self { needed: Column::filled(layers.count(), NOT_DRAWN), layers }
    }

    /// The layer of a page, and what is known of what it needs.
    pub(super) fn of(&self, sense: &Sense) -> (LayerId, Option<u8>) {
        let layer = self.layers.layer_of(sense.page, sense.mode);
        (layer, Some(self.needed[layer]).filter(|set| *set != NOT_DRAWN))
    }

    pub(super) fn set(&mut self, layer: LayerId, set: u8) {
        self.needed[layer] = set;
    }

    /// An erase of a block: its layers draw their needs anew.
    pub(super) fn erased(&mut self, block: BlockSetId) {
        for layer in self.layers.of_block(block) {
            self.needed[LayerId(layer)] = NOT_DRAWN;
        }
    }
}

/// How a page is sensed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sense {
    pub(crate) page: PageId,
    /// The set of read levels, 0 for the nominal ones.
    pub(crate) level: u8,
    /// The mode of its block.
    pub(crate) mode: CellMode,
}
