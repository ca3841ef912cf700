//! ORT: the read levels that read each horizontal layer of each block last (cubeFTL, sections 4.2 and 5.1).

use wordline_kernel::{Column, state};
use wordline_nand::{BlockSetId, LayerId, Layers};

/// Levels between the states of cells of three bits.
const LEVELS: u16 = 7;
/// One in each of the fields of two bits that a level has.
const ONES: u16 = {
    let (mut ones, mut level) = (0, 0);
    while level < LEVELS {
        ones |= 1 << (2 * level);
        level += 1;
    }
    ones
};

/// Two bytes for each horizontal layer of each block: two bits for each of seven levels.
///
/// An entry of the part's table moves all levels together, so that all fields of a layer say the same: a quarter of the table.
pub struct Ort {
    layers: Layers,
    offsets: Column<LayerId, u16>,
}

state!(Ort { parts { offsets } fixed { layers } });

impl Ort {
    /// The default levels for all layers.
    pub fn new(layers: Layers) -> Self {
        Self { offsets: Column::filled(layers.count(), 0), layers }
    }

    /// Entries of the table in a quarter of it, of which `highest` is the last.
    fn quarter(highest: u8) -> u8 {
        ((u16::from(highest) + 1) / 4).max(1) as u8
    }

    /// The entry with which a read of a layer begins.
    pub fn level(&self, layer: LayerId, highest: u8) -> u8 {
        let field = (self.offsets[layer] & 0b11) as u8;
        (field * Self::quarter(highest)).min(highest)
    }

    /// A read of a layer ended with this entry.
    pub fn learn(&mut self, layer: LayerId, level: u8, highest: u8) {
        let field = u16::from(level / Self::quarter(highest)).min(0b11);
        self.offsets[layer] = field * ONES;
    }

    /// A block was erased: its cells have not drifted any more.
    pub fn erased(&mut self, block: BlockSetId) {
        for layer in self.layers.of_block(block) {
            self.offsets[LayerId(layer)] = 0;
        }
    }

    /// The power failed: what was in memory is gone.
    pub fn forget(&mut self) {
        for layer in self.offsets.ids() {
            self.offsets[layer] = 0;
        }
    }

    /// The memory that it takes.
    pub fn bytes(&self) -> u64 {
        (self.layers.count() * size_of::<u16>()) as u64
    }
}
