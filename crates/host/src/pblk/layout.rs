//! The layout of lines, and the sizes that follow from the geometry of a device.

use wordline_device::physical_device::{Chunk, Geometry, LogicalBlock, MOST_BLOCKS};
use wordline_kernel::id;

id!(
    /// A line: the chunks with the same number in all parallel units.
    LineId
);
id!(
    /// A logical page: the mapping unit, as large as a logical block of the device.
    Page
);
id!(
    /// A physical location: a logical block of the device. Locations are numbered line by line, and in write
    /// order within a line.
    Ppa
);

impl Ppa {
    /// No location.
    pub(super) const NONE: Self = Self(u32::MAX);
}

/// Size of the header of smeta. The header sizes are the sizes of pblk's structures without the bitmap of
/// chunks (Linux 5.10, `drivers/lightnvm/pblk.h`).
const SMETA_BYTES: u64 = 64;
/// Size of the header of emeta with the counters of write amplification.
const EMETA_BYTES: u64 = 72 + 24;
/// Bytes of a list entry of emeta (same file).
const LBA_BYTES: u64 = 8;
/// Bytes of the valid count of a line in emeta (same file).
const COUNT_BYTES: u64 = 4;

/// Minimum number of ring entries that pblk allocates (Linux 5.10, `pblk_rb_calculate_size`).
const LEAST_RING: u32 = 128;

/// The sizes of an FTL that follow from the geometry of its device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Layout {
    /// Groups of the device.
    pub groups: u32,
    /// Parallel units of the device.
    pub units: u32,
    /// Lines of the device.
    pub lines: u32,
    /// Logical blocks of a chunk.
    pub blocks_per_chunk: u32,
    /// Strip: logical blocks that are written to a parallel unit at once (`ws_opt`). A stripe has one strip
    /// of each parallel unit.
    pub strip: u32,
    /// Logical blocks of an open chunk, at its write pointer, that are not readable yet.
    pub mw_cunits: u32,
    /// Strips of smeta, at the beginning of a line.
    pub smeta: u32,
    /// Strips of emeta, at the end of a line.
    pub emeta: u32,
    /// Minimum number of chunks of a usable line.
    pub least_chunks: u32,
    /// Logical pages that the host sees.
    pub pages: u32,
    /// Chunks of over-provisioning.
    pub over_provisioned: u32,
    /// Smeta and emeta of all lines, in chunks.
    pub metadata: u32,
    /// Free chunks reserved for GC.
    pub reserved: u32,
    /// High watermark: GC runs below this many free chunks.
    pub high: u32,
    /// Entries of the ring buffer.
    pub ring: u32,
    /// Written ring entries that are kept, because the device cannot read them yet.
    pub threshold: u32,
}

impl Layout {
    /// The layout for a device with this fraction of over-provisioning and a ring of at least `ring` entries.
    /// Without `ring` the ring has as many entries as in pblk.
    pub fn of(geometry: &Geometry, over_provisioning: f64, ring: Option<u32>) -> Self {
        let (units, lines) = (geometry.units(), geometry.chunks_per_unit);
        let (strip, blocks_per_chunk) = (geometry.ws_opt, geometry.blocks_per_chunk);
        let (smeta, emeta) = (smeta_strips(geometry), emeta_strips(geometry));
        let of_metadata = (smeta + emeta) * strip;
        let threshold = geometry.mw_cunits.next_multiple_of(strip) * units;
        let least = least_ring(geometry);
        let ring = ring.unwrap_or(LEAST_RING).max(least).next_power_of_two();
        let per_line = units * blocks_per_chunk;
        let in_line = per_line.saturating_sub(of_metadata).max(1);

        let chunks = units * lines;
        let provisioned = (f64::from(chunks) * (1.0 - over_provisioning)) as u32;
        let over_provisioned = chunks - provisioned;
        let metadata =
            (u64::from(of_metadata) * u64::from(lines)).div_ceil(u64::from(blocks_per_chunk)) as u32;
        // The second term is for small devices: space for the contents of the ring, and a line for relocated
        // pages.
        let reserved = ((1.0 / over_provisioning).ceil() as u32).max(2 + ring.div_ceil(in_line));
        Self {
            groups: u32::from(geometry.groups),
            units,
            lines,
            blocks_per_chunk,
            strip,
            mw_cunits: geometry.mw_cunits,
            smeta,
            emeta,
            least_chunks: if units > 1 { 1 + of_metadata.div_ceil(blocks_per_chunk) } else { 1 },
            pages: provisioned.saturating_sub(metadata) * blocks_per_chunk,
            over_provisioned,
            metadata,
            reserved: reserved.saturating_mul(units),
            high: over_provisioned.saturating_sub(metadata.saturating_add(units)),
            ring,
            threshold,
        }
    }

    /// Whether an FTL with this layout always has room for GC, and pages for the host.
    pub fn is_viable(&self) -> bool {
        let least = self.least_chunks * self.blocks_per_chunk / self.strip;
        self.pages > 0
            && self.high >= self.reserved
            && self.units >= self.least_chunks
            && least > self.smeta + self.emeta
    }

    /// Lines that take the contents of the ring and the pages of a line.
    pub(super) fn lines_to_relocate(&self) -> u32 {
        let in_line = self.per_line().saturating_sub((self.smeta + self.emeta) * self.strip).max(1);
        1 + self.ring.div_ceil(in_line)
    }

    /// Logical blocks of a line.
    #[inline]
    pub fn per_line(&self) -> u32 {
        self.units * self.blocks_per_chunk
    }

    /// Strips of a line.
    #[inline]
    pub fn strips(&self) -> u32 {
        self.per_line() / self.strip
    }

    /// The parallel unit of a strip of a line.
    #[inline]
    pub fn unit_of(&self, strip: u32) -> u32 {
        strip % self.units
    }

    /// The line of a location.
    #[inline]
    pub fn line_of(&self, place: Ppa) -> LineId {
        LineId(place.0 / self.per_line())
    }

    /// The strip of a location in its line.
    #[inline]
    pub fn strip_of(&self, place: Ppa) -> u32 {
        place.0 % self.per_line() / self.strip
    }

    /// The locations of a line.
    #[inline]
    pub fn locations_of(&self, line: LineId) -> std::ops::Range<u32> {
        let first = line.0 * self.per_line();
        first..first + self.per_line()
    }

    /// The locations of a strip.
    #[inline]
    pub fn locations_in(&self, line: LineId, strip: u32) -> impl Iterator<Item = Ppa> + use<> {
        let first = line.0 * self.per_line() + strip * self.strip;
        (first..first + self.strip).map(Ppa)
    }

    /// The chunk of a line in a parallel unit. Parallel units are numbered across the groups, so that
    /// neighbouring strips share no bus.
    #[inline]
    pub fn chunk(&self, line: LineId, unit: u32) -> Chunk {
        Chunk { group: (unit % self.groups) as u16, unit: (unit / self.groups) as u16, chunk: line.0 }
    }

    /// The parallel unit of a chunk.
    pub fn unit_of_chunk(&self, chunk: Chunk) -> u32 {
        u32::from(chunk.unit) * self.groups + u32::from(chunk.group)
    }

    /// The location of a logical block.
    pub fn place(&self, block: LogicalBlock) -> Ppa {
        let strip = block.block / self.strip * self.units + self.unit_of_chunk(block.chunk);
        Ppa(block.chunk.chunk * self.per_line() + strip * self.strip + block.block % self.strip)
    }

    /// The logical block at a location.
    #[inline]
    pub fn block(&self, place: Ppa) -> LogicalBlock {
        let (line, at) = (place.0 / self.per_line(), place.0 % self.per_line());
        let (strip, rest) = (at / self.strip, at % self.strip);
        self.chunk(LineId(line), strip % self.units).at(strip / self.units * self.strip + rest)
    }

    /// Maximum number of logical blocks of a write command: a stripe, in whole strips.
    #[inline]
    pub fn most_write(&self) -> u32 {
        let most = (self.strip * self.units).min(MOST_BLOCKS as u32);
        most - most % self.strip
    }

    /// Maximum number of ring entries for a part of a host command. Such a part fits into the ring beside
    /// entries that wait for a full strip.
    pub fn most_io(&self) -> u32 {
        self.ring - self.strip - self.threshold.max(1)
    }
}

/// Minimum number of ring entries for a device: the entries that the device cannot read yet, and a strip in
/// flight for each parallel unit.
pub(super) fn least_ring(geometry: &Geometry) -> u32 {
    let (strip, units) = (geometry.ws_opt, geometry.units());
    let unreadable = geometry.mw_cunits.next_multiple_of(strip);
    // The second term is for a device with one parallel unit: another strip has to fit beside a partly filled
    // strip and the entries that stay readable.
    ((unreadable.max(strip) + strip) * units).max(unreadable * units + 2 * strip + 1)
}

fn bitmap_bytes(geometry: &Geometry) -> u64 {
    u64::from(geometry.units().div_ceil(u64::BITS)) * 8
}

fn smeta_strips(geometry: &Geometry) -> u32 {
    let blocks = (SMETA_BYTES + bitmap_bytes(geometry)).div_ceil(geometry.block_size.0);
    (blocks as u32).div_ceil(geometry.ws_opt)
}

/// Strips for the header, the list of the remaining logical blocks, and the valid counts of all lines. Each
/// of the three starts at a logical block.
fn emeta_strips(geometry: &Geometry) -> u32 {
    let (size, strip) = (geometry.block_size.0, geometry.ws_opt);
    let all = geometry.units() * geometry.blocks_per_chunk;
    let header = (EMETA_BYTES + bitmap_bytes(geometry)).div_ceil(size);
    let counts = (u64::from(geometry.chunks_per_unit) * COUNT_BYTES).div_ceil(size);
    let fits = |strips: &u32| {
        let list = (u64::from(all - (strips * strip).min(all)) * LBA_BYTES).div_ceil(size);
        header + list + counts <= u64::from(strips * strip)
    };
    (1..all / strip).find(fits).unwrap_or(all / strip)
}

#[cfg(test)]
mod tests {
    use wordline_kernel::Bytes;

    use super::*;

    fn geometry() -> Geometry {
        Geometry {
            groups: 2,
            units_per_group: 4,
            chunks_per_unit: 1_024,
            blocks_per_chunk: 6_144,
            block_size: Bytes::kib(4),
            ws_min: 4,
            ws_opt: 4,
            mw_cunits: 24,
            ..Geometry::default()
        }
    }

    #[test]
    fn the_sizes_of_a_large_device_are_those_of_pblk() {
        let layout = Layout::of(&geometry(), 0.11, None);
        // The list of (49,152 - 400) x 8 B takes 96 logical blocks. With the header and 1,024 counts of 4 B
        // these are 98 blocks, or 100 in strips of four.
        assert_eq!((layout.smeta, layout.emeta), (1, 25));
        assert_eq!(layout.least_chunks, 2);
        // Of 8,192 chunks 89 % (7,290) are for data, and 902 are over-provisioned. Metadata take (4 + 100) x
        // 1,024 / 6,144 chunks.
        assert_eq!((layout.over_provisioned, layout.metadata), (902, 18));
        assert_eq!(layout.pages, (7_290 - 18) * 6_144);
        assert_eq!((layout.high, layout.reserved), (902 - 18 - 8, 80));
        // The ring has (24 + 4) x 8 entries, rounded up to a power of two. 24 x 8 of them stay readable.
        assert_eq!((layout.ring, layout.threshold), (256, 192));
        assert_eq!((layout.most_write(), layout.most_io()), (32, 256 - 4 - 192));
        assert!(layout.is_viable());
    }

    #[test]
    fn smeta_has_a_bitmap_of_the_parallel_units_behind_its_header() {
        let blocks_of = |size| smeta_strips(&Geometry { block_size: Bytes(size), ws_opt: 1, ..geometry() });
        // The first value: 64 B and a word of eight bytes.
        assert_eq!([blocks_of(128), blocks_of(72), blocks_of(64)], [1, 1, 2]);
    }

    #[test]
    fn a_ring_has_at_least_128_entries_unless_it_is_set() {
        let small = Geometry { mw_cunits: 0, ..geometry() };
        assert_eq!(Layout::of(&small, 0.11, None).ring, 128);
        assert_eq!(Layout::of(&small, 0.11, Some(1)).ring, 64);
        assert_eq!(Layout::of(&small, 0.11, Some(65)).ring, 128);
    }

    #[test]
    fn a_device_of_few_lines_needs_more_over_provisioning() {
        // A reserve of ten lines, at 10 % of 100 lines: one line more than over-provisioning leaves.
        let few = Geometry { chunks_per_unit: 100, ..geometry() };
        assert!(!Layout::of(&few, 0.1, None).is_viable());
        assert!(Layout::of(&few, 0.12, None).is_viable());
        assert!(!Layout::of(&Geometry { chunks_per_unit: 3, ..geometry() }, 0.9, None).is_viable());
    }

    #[test]
    fn places_go_from_group_to_group_and_back_to_their_blocks() {
        let layout = Layout::of(&geometry(), 0.11, None);
        let block = |place| layout.block(Ppa(place));
        assert_eq!(block(0), Chunk { group: 0, unit: 0, chunk: 0 }.at(0));
        assert_eq!(block(3), Chunk { group: 0, unit: 0, chunk: 0 }.at(3));
        assert_eq!(block(4), Chunk { group: 1, unit: 0, chunk: 0 }.at(0));
        assert_eq!(block(8), Chunk { group: 0, unit: 1, chunk: 0 }.at(0));
        assert_eq!(block(33), Chunk { group: 0, unit: 0, chunk: 0 }.at(5));
        for place in (0..200_000).step_by(77).map(Ppa) {
            assert_eq!(layout.place(layout.block(place)), place);
            let line = layout.line_of(place);
            assert!(layout.locations_in(line, layout.strip_of(place)).any(|other| other == place));
        }
    }
}
