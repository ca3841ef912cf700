//! The registers of a plane.

use super::Row;

/// The value of erased cells and unwritten register bytes.
pub(super) const ERASED: u8 = 0xff;

/// The registers of a plane:
/// * the cache register, which the bus accesses;
/// * the data register, which the array fills;
/// * in a one-shot part, a write-back register for each page of a word line.
///
/// A program keeps a copy of its bytes, so that the data of a suspended program survive reads in between
/// (chosen: a plane has separate latches for them).
#[derive(Clone, Debug)]
pub(super) struct PlaneRegisters {
    pub cache: Vec<u8>,
    /// The last sensed page, until it moves to the cache register.
    pub sensed: Option<Vec<u8>>,
    /// Pages of a word line that wait for their program, indexed by the bit that they store.
    pub write_back: Vec<Option<(Row, Vec<u8>)>>,
    /// The page in the cache register from a copyback read.
    pub copied: Option<Row>,
}

impl PlaneRegisters {
    /// Registers for pages of `bytes`, with `write_back` write-back registers.
    pub fn new(bytes: usize, write_back: usize) -> Self {
        Self { cache: vec![ERASED; bytes], sensed: None, write_back: vec![None; write_back], copied: None }
    }

    /// Writes `data` at `column` of the cache register; bytes beyond its end are lost.
    pub fn load(&mut self, column: u32, data: &[u8]) {
        let from = (column as usize).min(self.cache.len());
        let fits = data.len().min(self.cache.len() - from);
        self.cache[from..from + fits].copy_from_slice(&data[..fits]);
    }

    /// `len` bytes from `column` of the cache register; FFh beyond its end.
    pub fn output(&self, column: u32, len: u32) -> Vec<u8> {
        let from = (column as usize).min(self.cache.len());
        let to = (from + len as usize).min(self.cache.len());
        let mut data = self.cache[from..to].to_vec();
        data.resize(len as usize, ERASED);
        data
    }

    /// Moves the sensed page to the cache register.
    pub fn transfer_to_cache(&mut self) {
        if let Some(page) = self.sensed.take() {
            self.cache = page;
        }
    }
}
