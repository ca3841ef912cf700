//! Sizes of a host that follow from its configuration and its device.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_device::physical_device::Chunk;

/// Distribution of writes over the parallel units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Spread {
    /// All pages of a request go to one parallel unit. The next request goes to the next parallel unit.
    #[default]
    Requests,
    /// A request is split into parts of one program. Each part goes to the next parallel unit.
    Programs,
}

/// Sizes of a host that follow from its configuration and its device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Groups of the device.
    pub groups: u32,
    /// Parallel units of the device.
    pub units: u32,
    /// Chunks of each parallel unit.
    pub chunks_per_unit: u32,
    /// Logical blocks of a chunk.
    pub blocks_per_chunk: u32,
    /// Logical blocks of a program.
    pub ws_min: u32,
    /// Logical blocks that the host may address.
    pub pages: u32,
    /// Distribution of writes over the parallel units.
    pub spread: Spread,
    /// Whether failed writes are submitted again.
    pub retry: bool,
}

impl Layout {
    /// The chunk with a number that counts over all parallel units. Parallel units are numbered across the
    /// groups, so that neighbours share no bus.
    pub(super) fn chunk(&self, number: u32) -> Chunk {
        let (unit, chunk) = (number / self.chunks_per_unit, number % self.chunks_per_unit);
        Chunk { group: (unit % self.groups) as u16, unit: (unit / self.groups) as u16, chunk }
    }
}
