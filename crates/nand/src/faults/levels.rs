//! Fault rules for read reference voltages: the set of voltages that each layer of each block needs.

use wordline_kernel::{Column, state};

use crate::CellMode;
use crate::geometry::{BlockSetId, PageId};
use crate::layers::{LayerId, Layers};

/// The highest set of read reference voltages in a rule. Chosen: the largest byte except [`NOT_DRAWN`] and
/// [`ANY`].
pub(super) const HIGHEST: u32 = 253;

const NOT_DRAWN: u8 = u8::MAX;
/// Marks a layer that no rule selects: all sets read it equally well.
pub(super) const ANY: u8 = u8::MAX - 1;

/// The set that each layer needs since its block was erased, drawn on the first sense of the layer.
#[derive(Clone, Debug)]
pub(super) struct LayerLevels {
    layers: Layers,
    needed: Column<LayerId, u8>,
}

state!(LayerLevels { parts { needed } fixed { layers } });

impl LayerLevels {
    /// No set is drawn yet.
    pub(super) fn new(layers: Layers) -> Self {
        Self { needed: Column::filled(layers.count(), NOT_DRAWN), layers }
    }

    /// The layer of a page, and the set that it needs, if drawn.
    pub(super) fn of(&self, sense: &Sense) -> (LayerId, Option<u8>) {
        let layer = self.layers.layer_of(sense.page, sense.mode);
        (layer, Some(self.needed[layer]).filter(|set| *set != NOT_DRAWN))
    }

    pub(super) fn set(&mut self, layer: LayerId, set: u8) {
        self.needed[layer] = set;
    }

    /// Handles an erase of a block: its layers draw new sets.
    pub(super) fn erased(&mut self, block: BlockSetId) {
        for layer in self.layers.of_block(block) {
            self.needed[LayerId(layer)] = NOT_DRAWN;
        }
    }
}

/// The conditions of a page sense.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sense {
    pub(crate) page: PageId,
    /// The set of read reference voltages, 0 for the data sheet.
    pub(crate) level: u8,
    /// The mode of its block.
    pub(crate) mode: CellMode,
}
