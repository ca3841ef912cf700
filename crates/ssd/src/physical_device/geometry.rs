//! The geometry of a physical device, and how its logical blocks are named.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Duration};

/// A chunk: its group, its parallel unit in the group, and its number in that (section 1.2.3, Address Representation).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Chunk {
    /// The group, which shares a bus with no other.
    pub group: u16,
    /// The parallel unit, counted from 0 in its group.
    pub unit: u16,
    /// The chunk, counted from 0 in its parallel unit.
    pub chunk: u32,
}

impl Chunk {
    /// One of its logical blocks.
    #[inline]
    pub fn at(self, block: u32) -> LogicalBlock {
        LogicalBlock { chunk: self, block }
    }

    /// This many of its logical blocks, from one on.
    pub fn range(self, first: u32, count: u32) -> impl Iterator<Item = LogicalBlock> {
        (first..first + count).map(move |block| self.at(block))
    }
}

/// A logical block, the least that is read: its chunk, and its place in that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LogicalBlock {
    /// Its chunk.
    pub chunk: Chunk,
    /// Its place, counted from 0.
    pub block: u32,
}

/// How long a command for one parallel unit keeps its array busy, without the bus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// A read: mostly, and at the most (TRDT, TRDM).
    pub read: [Duration; 2],
    /// A write of [`ws_min`](Geometry::ws_min) logical blocks (TWRT, TWRM).
    pub write: [Duration; 2],
    /// A reset of a chunk (TCRST, TCRSM).
    pub reset: [Duration; 2],
}

/// Optional commands and rules (MCCAP, and VWC of Identify Controller in NVMe).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// It copies within the device (bit 0).
    pub copy: bool,
    /// It resets chunks that are free already (bit 1).
    pub multiple_resets: bool,
    /// It resets chunks that are open (bit 2, of devices in use rather than of the specification).
    pub early_resets: bool,
    /// It answers writes before they outlive a power cut: a flush makes them do so (VWC).
    pub volatile_writes: bool,
}

/// The geometry of a device, as it answers the command Geometry (E2h).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Geometry {
    /// Groups (NUM_GRP): parallel units of different groups share no bus.
    pub groups: u16,
    /// Parallel units of a group (NUM_PU): each works by itself.
    pub units_per_group: u16,
    /// Chunks of a parallel unit (NUM_CHK).
    pub chunks_per_unit: u32,
    /// Logical blocks of a chunk (CLBA).
    pub blocks_per_chunk: u32,
    /// Bytes of a logical block.
    pub block_size: Bytes,
    /// A write to a chunk is a multiple of this many logical blocks.
    pub ws_min: u32,
    /// Writes of a multiple of this many go fastest.
    pub ws_opt: u32,
    /// A logical block of an open chunk can be read once more than this many after it were written.
    pub mw_cunits: u32,
    /// Chunks that may be open at a time (MAXOC); 0 for no limit.
    pub max_open: u32,
    /// Chunks of a parallel unit that may be open at a time (MAXOCPU); 0 for no limit.
    pub max_open_per_unit: u32,
    /// Its capabilities.
    pub capabilities: Capabilities,
    /// How long commands take.
    pub times: Times,
}

impl Geometry {
    /// Parallel units of the device.
    pub fn units(&self) -> u32 {
        u32::from(self.groups) * u32::from(self.units_per_group)
    }

    /// Chunks of the device.
    pub fn chunks(&self) -> u32 {
        self.units() * self.chunks_per_unit
    }

    /// Bytes of all chunks.
    pub fn capacity(&self) -> Bytes {
        self.block_size * (u64::from(self.chunks()) * u64::from(self.blocks_per_chunk))
    }

    /// Whether there is such a chunk.
    #[inline]
    pub fn has(&self, chunk: Chunk) -> bool {
        chunk.group < self.groups && chunk.unit < self.units_per_group && chunk.chunk < self.chunks_per_unit
    }

    /// The number of a chunk among all of the device: by group, then by parallel unit, then by chunk.
    #[inline]
    pub fn number(&self, Chunk { group, unit, chunk }: Chunk) -> u32 {
        let unit = u32::from(group) * u32::from(self.units_per_group) + u32::from(unit);
        unit * self.chunks_per_unit + chunk
    }

    /// The chunk with a number.
    #[inline]
    pub fn chunk(&self, number: u32) -> Chunk {
        let (unit, chunk) = (number / self.chunks_per_unit, number % self.chunks_per_unit);
        let per_group = u32::from(self.units_per_group);
        Chunk { group: (unit / per_group) as u16, unit: (unit % per_group) as u16, chunk }
    }

    /// All chunks, in the order of their numbers.
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
