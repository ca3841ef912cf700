//! Geometry of a physical device, and addresses of its logical blocks.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Duration};

use crate::SECTOR;
use crate::block_device::Shape;

/// Address of a chunk: group, parallel unit, chunk (section 1.2.3, Address Representation).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Chunk {
    /// Group. Groups share no bus.
    pub group: u16,
    /// Parallel unit within the group, counted from 0.
    pub unit: u16,
    /// Chunk within the parallel unit, counted from 0.
    pub chunk: u32,
}

impl Chunk {
    /// A logical block of the chunk.
    #[inline]
    pub fn at(self, block: u32) -> LogicalBlock {
        LogicalBlock { chunk: self, block }
    }

    /// `count` logical blocks of the chunk, beginning with `first`.
    #[inline]
    pub fn range(self, first: u32, count: u32) -> impl Iterator<Item = LogicalBlock> {
        (first..first + count).map(move |block| self.at(block))
    }
}

/// Address of a logical block, the smallest unit that can be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LogicalBlock {
    /// The chunk.
    pub chunk: Chunk,
    /// Block within its chunk, counted from 0.
    pub block: u32,
}

/// Array times of commands to one parallel unit, without bus times: typical and maximum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Read (TRDT, TRDM).
    pub read: [Duration; 2],
    /// Write of [`ws_min`](Geometry::ws_min) logical blocks (TWRT, TWRM).
    pub write: [Duration; 2],
    /// Reset of a chunk (TCRST, TCRSM).
    pub reset: [Duration; 2],
}

/// Optional commands and rules (MCCAP, and VWC of Identify Controller in NVMe).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Copies within the device (bit 0).
    pub copy: bool,
    /// Resets of free chunks (bit 1).
    pub multiple_resets: bool,
    /// Resets of open chunks (bit 2). Existing devices have this bit; the specification does not.
    pub early_resets: bool,
    /// A volatile write cache (VWC): a write may complete before it would survive a power cut, and a flush
    /// makes it durable.
    pub volatile_writes: bool,
}

/// Geometry of a device, as the command Geometry (E2h) returns it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Geometry {
    /// Number of groups (NUM_GRP). Parallel units of different groups share no bus.
    pub groups: u16,
    /// Parallel units of a group (NUM_PU). Each works independently of the others.
    pub units_per_group: u16,
    /// Chunks of a parallel unit (NUM_CHK).
    pub chunks_per_unit: u32,
    /// Logical blocks of a chunk (CLBA).
    pub blocks_per_chunk: u32,
    /// Size of a logical block.
    pub block_size: Bytes,
    /// Minimum write size: a write to a chunk must be a multiple of this many logical blocks.
    pub ws_min: u32,
    /// Optimal write size in logical blocks.
    pub ws_opt: u32,
    /// Number of later blocks of an open chunk that must be written before a logical block is readable.
    pub mw_cunits: u32,
    /// Most open chunks (MAXOC); 0 for no limit.
    pub max_open: u32,
    /// Most open chunks of a parallel unit (MAXOCPU); 0 for no limit.
    pub max_open_per_unit: u32,
    /// Optional features.
    pub capabilities: Capabilities,
    /// Array times of commands.
    pub times: Times,
}

impl Geometry {
    /// Dimensions of a host FTL over the device: `pages` logical pages, each of one logical block of the
    /// device.
    pub fn shape_of(&self, pages: u32) -> Shape {
        let page = self.block_size;
        let capacity = page * u64::from(pages);
        Shape {
            namespaces: vec![capacity.0 / SECTOR.0],
            capacity,
            sector_size: page,
            logical_page: page,
            discard_unit: page,
            deallocates_zeroes: false,
            block_set: page * u64::from(self.blocks_per_chunk),
            zones: None,
        }
    }

    /// Number of parallel units of the device.
    #[inline]
    pub fn units(&self) -> u32 {
        u32::from(self.groups) * u32::from(self.units_per_group)
    }

    /// Number of chunks of the device.
    #[inline]
    pub fn chunks(&self) -> u32 {
        self.units() * self.chunks_per_unit
    }

    /// Capacity of all chunks.
    pub fn capacity(&self) -> Bytes {
        self.block_size * (u64::from(self.chunks()) * u64::from(self.blocks_per_chunk))
    }

    /// Whether the chunk exists.
    #[inline]
    pub fn has(&self, chunk: Chunk) -> bool {
        chunk.group < self.groups && chunk.unit < self.units_per_group && chunk.chunk < self.chunks_per_unit
    }

    /// Number of a chunk in the device. The order is by group, parallel unit and chunk.
    #[inline]
    pub fn number(&self, Chunk { group, unit, chunk }: Chunk) -> u32 {
        let unit = u32::from(group) * u32::from(self.units_per_group) + u32::from(unit);
        unit * self.chunks_per_unit + chunk
    }

    /// Chunk with this number.
    #[inline]
    pub fn chunk(&self, number: u32) -> Chunk {
        let (unit, chunk) = (number / self.chunks_per_unit, number % self.chunks_per_unit);
        let per_group = u32::from(self.units_per_group);
        Chunk { group: (unit / per_group) as u16, unit: (unit % per_group) as u16, chunk }
    }

    /// All chunks in the order of their numbers.
    pub fn all_chunks(&self) -> impl Iterator<Item = Chunk> {
        (0..self.chunks()).map(|number| self.chunk(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_has_one_number() {
        let none = [Duration::ZERO; 2];
        let geometry = Geometry {
            groups: 3,
            units_per_group: 2,
            chunks_per_unit: 5,
            blocks_per_chunk: 8,
            block_size: Bytes::kib(4),
            ws_min: 4,
            ws_opt: 4,
            mw_cunits: 0,
            max_open: 0,
            max_open_per_unit: 0,
            capabilities: Capabilities::default(),
            times: Times { read: none, write: none, reset: none },
        };
        let numbers: Vec<u32> = geometry.all_chunks().map(|chunk| geometry.number(chunk)).collect();
        assert_eq!(numbers, (0..30).collect::<Vec<_>>());
        assert!(geometry.all_chunks().all(|chunk| geometry.has(chunk)));
        assert!(!geometry.has(Chunk { group: 0, unit: 2, chunk: 0 }));
        assert_eq!(geometry.capacity(), Bytes::kib(4 * 240));
    }
}
