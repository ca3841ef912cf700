//! Layout of zones: the chunks of each zone, and the locations of its logical blocks.
//!
//! A *position* counts the logical blocks of all chunks of a zone in the order of writing, padding included.

use serde::{Deserialize, Serialize};
use wordline_device::physical_device::{Chunk, Geometry, LogicalBlock};

use super::table::ZoneId;

/// Dimensions of zones, in logical blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Number of zones.
    pub zones: u32,
    /// Zone size: distance between the starts of two zones.
    pub size: u64,
    /// Zone capacity: writable logical blocks from the start of a zone on.
    pub capacity: u32,
    /// Chunks in a zone, each on a different parallel unit.
    pub width: u32,
    /// Consecutive logical blocks in a chunk before the zone continues in the next chunk.
    pub stripe: u32,
    /// Logical blocks of a program.
    pub unit: u32,
    pub(super) groups: u32,
    pub(super) units: u32,
    pub(super) blocks_per_chunk: u32,
}

impl Layout {
    /// Layout of zones with `width` chunks, on a device with this geometry.
    pub(super) fn of(geometry: &Geometry, width: u32, stripe: u32, capacity: u32, size: u64) -> Self {
        let units = geometry.units();
        Self {
            zones: units / width * geometry.chunks_per_unit,
            size,
            capacity,
            width,
            stripe,
            unit: geometry.ws_min,
            groups: u32::from(geometry.groups),
            units,
            blocks_per_chunk: geometry.blocks_per_chunk,
        }
    }

    /// Number of positions of a zone: the logical blocks of all its chunks.
    pub fn positions(&self) -> u32 {
        self.width * self.blocks_per_chunk
    }

    /// Chunk `member` of a zone. Adjacent zones are on different parallel units. The chunks of a zone are on
    /// different groups as far as possible.
    pub(super) fn chunk(&self, zone: ZoneId, member: u32) -> Chunk {
        let sets = self.units / self.width;
        let unit = zone.0 % sets * self.width + member;
        Chunk { group: (unit % self.groups) as u16, unit: (unit / self.groups) as u16, chunk: zone.0 / sets }
    }

    /// Chunks of a zone.
    pub(super) fn chunks(&self, zone: ZoneId) -> impl Iterator<Item = Chunk> + use<'_> {
        (0..self.width).map(move |member| self.chunk(zone, member))
    }

    /// Zone of a chunk of the device below.
    pub(super) fn zone_of(&self, chunk: Chunk) -> ZoneId {
        let sets = self.units / self.width;
        let unit = u32::from(chunk.unit) * self.groups + u32::from(chunk.group);
        ZoneId(chunk.chunk * sets + unit / self.width)
    }

    /// Chunk address of a zone, for hosts that see zones as chunks. Zones on the same parallel units form one
    /// parallel unit.
    #[inline]
    pub fn as_chunk(&self, zone: ZoneId) -> Chunk {
        let sets = self.units / self.width;
        Chunk { group: 0, unit: (zone.0 % sets) as u16, chunk: zone.0 / sets }
    }

    /// Zone of a chunk address of such a host.
    #[inline]
    pub(super) fn zone_from_chunk(&self, chunk: Chunk) -> ZoneId {
        ZoneId(chunk.chunk * (self.units / self.width) + u32::from(chunk.unit))
    }

    /// Logical block of the device below at a position of a zone.
    #[inline]
    pub(super) fn block(&self, zone: ZoneId, position: u32) -> LogicalBlock {
        let (strip, rest) = (position / self.stripe, position % self.stripe);
        self.chunk(zone, strip % self.width).at(strip / self.width * self.stripe + rest)
    }

    /// Position of a logical block in chunk `member` of a zone. The block may be one past the last.
    pub(super) fn position(&self, member: u32, block: u32) -> u32 {
        let (row, rest) = (block / self.stripe, block % self.stripe);
        (row * self.width + member) * self.stripe + rest
    }

    /// Number of logical blocks in chunk `member` of a zone below a position.
    pub(super) fn below(&self, member: u32, position: u32) -> u32 {
        let row = self.stripe * self.width;
        let rest = (position % row).saturating_sub(member * self.stripe).min(self.stripe);
        position / row * self.stripe + rest
    }

    /// Zone and offset of a logical block; `None` if there is no such zone.
    pub fn locate(&self, block: u64) -> Option<(ZoneId, u64)> {
        let zone = block / self.size;
        (zone < u64::from(self.zones)).then(|| (ZoneId(zone as u32), block % self.size))
    }

    /// First logical block of a zone.
    pub fn start(&self, zone: ZoneId) -> u64 {
        u64::from(zone.0) * self.size
    }
}

/// Map from the logical blocks of a zone to positions. Each pair begins a run of consecutive blocks at
/// consecutive positions; padding is between the runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Runs(Vec<(u32, u32)>);

impl Default for Runs {
    /// Zone without padding.
    fn default() -> Self {
        Self(vec![(0, 0)])
    }
}

impl Runs {
    /// Position of a logical block.
    #[inline]
    pub(super) fn position(&self, block: u32) -> u32 {
        let run = self.0.partition_point(|(first, _)| *first <= block) - 1;
        let (first, position) = self.0[run];
        position + (block - first)
    }

    /// Number of logical blocks below a position, not more than `end`.
    pub(super) fn blocks_below(&self, position: u32, end: u32) -> u32 {
        let run = self.0.partition_point(|(_, first)| *first < position);
        let Some((first, from)) = self.0[..run].last() else { return 0 };
        let next = self.0.get(run).map_or(end, |(next, _)| *next);
        (first + (position - from)).min(next).min(end)
    }

    /// Begins a run: logical block `block` is at `position`. Drops earlier runs that begin at or after
    /// `block`.
    pub(super) fn add_run(&mut self, block: u32, position: u32) {
        self.0.retain(|(first, _)| *first < block);
        if self.0.is_empty() || self.position(block) != position {
            self.0.push((block, position));
        }
    }

    /// Whether a loaded state is consistent.
    pub(super) fn is_sound(&self, capacity: u32, positions: u32) -> bool {
        let is_in_order = |pair: &[(u32, u32)]| {
            let [(first, from), (next, to)] = pair else { return true };
            first < next && next - first <= to.saturating_sub(*from)
        };
        self.0.first().is_some_and(|(first, _)| *first == 0)
            && self.0.windows(2).all(is_in_order)
            && self.0.iter().all(|(first, position)| *first <= capacity && *position <= positions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout() -> Layout {
        let geometry = Geometry {
            groups: 2,
            units_per_group: 3,
            chunks_per_unit: 5,
            blocks_per_chunk: 12,
            ws_min: 2,
            ..Geometry::default()
        };
        Layout::of(&geometry, 3, 4, 34, 64)
    }

    #[test]
    fn each_chunk_is_of_one_zone_and_each_block_at_one_position() {
        let layout = layout();
        let mut seen = Vec::new();
        assert_eq!((layout.zones, layout.positions()), (10, 36));
        for zone in (0..layout.zones).map(ZoneId) {
            assert_eq!(layout.zone_from_chunk(layout.as_chunk(zone)), zone);
            for (member, chunk) in (0..).zip(layout.chunks(zone)) {
                assert_eq!(layout.zone_of(chunk), zone);
                seen.push(chunk);
                for block in 0..12 {
                    let position = layout.position(member, block);
                    assert_eq!(layout.block(zone, position), chunk.at(block));
                    assert_eq!(layout.below(member, position), block);
                }
            }
        }
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 30);
    }

    #[test]
    fn what_is_below_a_position_is_that_of_all_chunks() {
        let layout = layout();
        for position in 0..=36 {
            let all: u32 = (0..3).map(|member| layout.below(member, position)).sum();
            assert_eq!(all, position);
        }
    }

    #[test]
    fn blocks_behind_padding_lie_further_on() {
        let mut runs = Runs::default();
        assert_eq!((runs.position(7), runs.blocks_below(8, 7)), (7, 7));
        runs.add_run(7, 8);
        runs.add_run(9, 12);
        assert_eq!([0, 6, 7, 8, 9, 10].map(|block| runs.position(block)), [0, 6, 8, 9, 12, 13]);
        assert_eq!(
            [6, 7, 8, 9, 10, 12, 13, 99].map(|at| runs.blocks_below(at, 20)),
            [6, 7, 7, 8, 9, 9, 10, 20]
        );
        assert!(runs.is_sound(34, 36));
        runs.add_run(8, 9);
        assert_eq!(runs, Runs(vec![(0, 0), (7, 8)]), "a run that changes nothing is none");
        runs.add_run(0, 4);
        assert_eq!(runs, Runs(vec![(0, 4)]));
        assert!(!Runs(vec![(0, 0), (5, 4)]).is_sound(34, 36));
    }
}
