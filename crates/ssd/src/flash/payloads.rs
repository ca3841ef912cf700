//! The payloads of programs that wait for their die.

use crate::ensure;
use serde::{Deserialize, Serialize};
use wordline_nand::Stamp;

/// Program units that wait to be moved into a die: places of one size, so that none is allocated once as many wait as ever
/// do.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Payloads {
    /// Stamps that a place has room for.
    size: usize,
    stamps: Vec<Stamp>,
    free: Vec<u32>,
}

impl Payloads {
    /// None so far, of at most `size` stamps each.
    pub fn new(size: u32) -> Self {
        Self { size: size as usize, ..Self::default() }
    }

    /// A place, which holds anything.
    pub fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            let places = self.stamps.len() / self.size;
            self.stamps.resize(self.stamps.len() + self.size, Stamp::PADDING);
            places as u32
        })
    }

    /// The first `count` stamps of a place.
    pub fn get(&self, place: u32, count: u32) -> &[Stamp] {
        &self.stamps[place as usize * self.size..][..count as usize]
    }

    /// The same, to be written.
    pub fn get_mut(&mut self, place: u32, count: u32) -> &mut [Stamp] {
        &mut self.stamps[place as usize * self.size..][..count as usize]
    }

    /// Gives a place back.
    pub fn release(&mut self, place: u32) {
        self.free.push(place);
    }

    /// Forgets everything.
    pub fn forget(&mut self) {
        self.stamps.clear();
        self.free.clear();
    }

    /// The size of a place, which follows from the configuration.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Whether places that were loaded are free once at the most.
    pub fn is_sound(&self) -> bool {
        let mut seen = vec![false; self.stamps.len() / self.size.max(1)];
        let mut take = |place: u32| ensure::is_first(&mut seen, place as usize);
        self.free.iter().all(|place| take(*place))
    }

    /// Whether there is a place of this number.
    pub fn has(&self, place: u32) -> bool {
        (place as usize) < self.stamps.len() / self.size
    }
}
