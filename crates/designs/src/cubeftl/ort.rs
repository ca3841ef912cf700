//! ORT: the read offsets that last succeeded on each horizontal layer of each block (cubeFTL, sections 4.2
//! and 5.1).

use wordline_kernel::{Column, state};
use wordline_nand::{BlockSetId, LayerId, Layers};

/// Read levels of cells with three bits.
const LEVELS: u16 = 7;
/// A one in each of the two-bit fields, one field for each level.
const ONES: u16 = {
    let (mut ones, mut level) = (0, 0);
    while level < LEVELS {
        ones |= 1 << (2 * level);
        level += 1;
    }
    ones
};

/// The optimal read table: two bytes for each horizontal layer of each block, two bits for each of seven
/// levels.
///
/// An entry of the part's retry table shifts all levels together, so that all fields of a layer are equal: a
/// quarter of the table.
pub struct Ort {
    layers: Layers,
    offsets: Column<LayerId, u16>,
}

state!(Ort { parts { offsets } fixed { layers } });

impl Ort {
    /// A table with the default levels for all layers.
    pub fn new(layers: Layers) -> Self {
        Self { offsets: Column::filled(layers.count(), 0), layers }
    }

    /// Retry-table entries in a quarter of the table, of which `highest` is the last.
    fn quarter(highest: u8) -> u8 {
        ((u16::from(highest) + 1) / 4).max(1) as u8
    }

    /// The entry with which a read of a layer starts.
    pub fn level(&self, layer: LayerId, highest: u8) -> u8 {
        let field = (self.offsets[layer] & 0b11) as u8;
        (field * Self::quarter(highest)).min(highest)
    }

    /// Notes the entry with which a read of a layer succeeded.
    pub fn learn(&mut self, layer: LayerId, level: u8, highest: u8) {
        let field = u16::from(level / Self::quarter(highest)).min(0b11);
        self.offsets[layer] = field * ONES;
    }

    /// Resets an erased block: its cells have no drift.
    pub fn erased(&mut self, block: BlockSetId) {
        for layer in self.layers.of_block(block) {
            self.offsets[LayerId(layer)] = 0;
        }
    }

    /// Resets the table after a power cut.
    pub fn forget(&mut self) {
        for layer in self.offsets.ids() {
            self.offsets[layer] = 0;
        }
    }

    /// Memory of the table in bytes.
    pub fn bytes(&self) -> u64 {
        (self.layers.count() * size_of::<u16>()) as u64
    }
}
