//! ORT, the optimal read table: the read offsets that last succeeded on each horizontal layer of each block
//! (cubeFTL, sections 4.2 and 5.1).

use wordline_kernel::{Column, state};
use wordline_nand::{BlockSetId, LayerId, Layers};

/// Read reference voltages of cells with three bits.
const LEVELS: u16 = 7;
/// A one in each two-bit field. There is one field for each read reference voltage.
const ONES: u16 = {
    let (mut ones, mut level) = (0, 0);
    while level < LEVELS {
        ones |= 1 << (2 * level);
        level += 1;
    }
    ones
};

/// The optimal read table. Each horizontal layer of each block has two bytes: two bits for each of seven read
/// reference voltages.
///
/// An entry of the part's retry table shifts all voltages together. So all fields of a layer are equal, and
/// their value selects a quarter of the retry table.
pub struct Ort {
    layers: Layers,
    offsets: Column<LayerId, u16>,
}

state!(Ort { parts { offsets } fixed { layers } });

impl Ort {
    /// A table with the default read reference voltages for all layers.
    pub fn new(layers: Layers) -> Self {
        Self { offsets: Column::filled(layers.count(), 0), layers }
    }

    /// Number of retry-table entries in a quarter of the table. `highest`: the last entry.
    fn quarter(highest: u8) -> u8 {
        ((u16::from(highest) + 1) / 4).max(1) as u8
    }

    /// The retry-table entry with which a read of a layer starts.
    pub fn level(&self, layer: LayerId, highest: u8) -> u8 {
        let field = (self.offsets[layer] & 0b11) as u8;
        (field * Self::quarter(highest)).min(highest)
    }

    /// Notes the retry-table entry with which a read of a layer succeeded.
    pub fn learn(&mut self, layer: LayerId, level: u8, highest: u8) {
        let field = u16::from(level / Self::quarter(highest)).min(0b11);
        self.offsets[layer] = field * ONES;
    }

    /// Resets the layers of an erased block, whose cells have no drift.
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
