//! Data tags of programs that wait for their die.

use serde::{Deserialize, Serialize};
use wordline_kernel::ensure;
use wordline_nand::DataTag;

/// Program units that wait for the transfer to a die, in slots of one size. No more slots are allocated than
/// ever waited at once.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Payloads {
    /// Data tags in a slot.
    size: usize,
    stamps: Vec<DataTag>,
    free: Vec<u32>,
}

impl Payloads {
    /// No slots yet. Each slot will have at most `size` data tags.
    pub fn new(size: u32) -> Self {
        Self { size: size as usize, ..Self::default() }
    }

    /// Takes a free slot. Its contents are undefined.
    pub fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            let places = self.stamps.len() / self.size;
            self.stamps.resize(self.stamps.len() + self.size, DataTag::PADDING);
            places as u32
        })
    }

    /// The first `count` data tags of a slot.
    pub fn get(&self, place: u32, count: u32) -> &[DataTag] {
        &self.stamps[place as usize * self.size..][..count as usize]
    }

    /// The first `count` data tags of a slot, mutable.
    pub fn get_mut(&mut self, place: u32, count: u32) -> &mut [DataTag] {
        &mut self.stamps[place as usize * self.size..][..count as usize]
    }

    /// Returns a slot.
    pub fn release(&mut self, place: u32) {
        self.free.push(place);
    }

    /// Drops everything.
    pub fn forget(&mut self) {
        self.stamps.clear();
        self.free.clear();
    }

    /// Data tags in a slot, which follows from the configuration.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Whether no loaded slot is free twice.
    pub fn is_sound(&self) -> bool {
        let mut seen = vec![false; self.stamps.len() / self.size.max(1)];
        let mut take = |place: u32| ensure::is_first(&mut seen, place as usize);
        self.free.iter().all(|place| take(*place))
    }

    /// Whether a slot with this number exists.
    pub fn has(&self, place: u32) -> bool {
        (place as usize) < self.stamps.len() / self.size
    }
}
