//! Zones of a store without a file system: which zone gets which data, and when a zone is reset.
//!
//! Data with different lifetimes go to different zones, as in ZenFS (Bjørling et al., ATC 2021), which takes
//! the lifetime from RocksDB's write hints. Here each class of data (log, flushed tables, each level) has one
//! zone at a time that it writes in order. A zone whose data are all deleted is reset.

use std::collections::VecDeque;

use wordline_kernel::{Bytes, Complaints};

use super::super::block_requests::{BLOCK, MAX_WRITE_BLOCKS};

/// Class of the log.
pub const LOG: usize = 0;

/// Class of flushed tables.
pub const FLUSHED: usize = 1;

/// Class of the first level below the flushed tables.
pub const FIRST_LEVEL: usize = 2;

/// Zones for the manifest. While one is written, the other one is reset. Chosen: the least; ZenFS has three
/// zones for its metadata.
const MANIFEST_ZONES: u32 = 2;

/// Fewest blocks of a zone. Chosen: its sixteenth holds the largest record, as a durable piece of the log.
const LEAST_CAPACITY: u32 = 512;

/// Active zones that are not zones of a class: the manifest's, and three while writers pass from one zone to
/// the next (log, flush, compaction).
const OTHER_ACTIVE: u32 = 4;

/// Smallest number of active zones: one for each class, with one class for all levels.
const LEAST_ACTIVE: u32 = FIRST_LEVEL as u32 + 1 + OTHER_ACTIVE;

/// Free zones that compactions leave to relocation, log and flush. Each of these may need one to make room.
pub const KEPT: usize = 3;

/// Zones of a zoned namespace, one after the other from its first byte on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneLayout {
    /// Bytes from the start of a zone to the start of the next one.
    pub size: Bytes,
    /// Writable bytes of a zone.
    pub capacity: Bytes,
    /// Number of zones.
    pub count: u32,
    /// Upper bound on open and closed zones together; `None` without one.
    pub max_active: Option<u32>,
}

impl ZoneLayout {
    /// Blocks from the start of a zone to the start of the next one.
    fn size_blocks(&self) -> u32 {
        (self.size.0 / BLOCK) as u32
    }

    /// The first zones, which are this share of all of them, and have fewer blocks than `most`.
    pub fn part(&self, share: f64, most: u64) -> Self {
        let addressable = most / (self.size.0 / BLOCK).max(1);
        let count = (f64::from(self.count) * share) as u64;
        Self { count: count.min(addressable) as u32, ..*self }
    }

    /// Writable blocks of a zone.
    pub fn capacity_blocks(&self) -> u32 {
        (self.capacity.0 / BLOCK) as u32
    }

    /// Number of zones for data.
    fn data_zones(&self) -> u32 {
        self.count.saturating_sub(MANIFEST_ZONES)
    }

    /// Writable blocks of all zones for data.
    pub fn data_blocks(&self) -> u32 {
        self.data_zones() * self.capacity_blocks()
    }

    /// Requires zones that a store can use.
    ///
    /// # Errors
    /// The key that does not fit.
    pub fn check(&self) -> Result<(), Complaints> {
        let mut wrong = Complaints::default();
        let holds = self.max_active.is_none_or(|most| most >= LEAST_ACTIVE);
        let found = format!("a device with at most {} active zones", self.max_active.unwrap_or_default());
        wrong.require(holds, "model.kind", found, format!("lsm with at least {LEAST_ACTIVE} active zones"));
        let (size, capacity) = (self.size.0, self.capacity.0);
        let is_whole = size.is_multiple_of(BLOCK) && capacity.is_multiple_of(BLOCK);
        let found = format!("zones of {capacity} B, {size} B apart");
        let wanted = "lsm with zones of whole blocks of 4 KiB, and of at least 2 MiB";
        let has_room = self.capacity_blocks() >= LEAST_CAPACITY;
        wrong.require(is_whole && has_room, "model.kind", found, wanted);
        wrong.into_result(())
    }
}

/// Zone of the store.
#[derive(Clone, Copy, Debug, Default)]
struct ZoneEntry {
    class: usize,
    /// Blocks with data that are not deleted.
    live: u32,
    /// Whether the zone has its last data.
    is_sealed: bool,
}

/// The zones of a store.
#[derive(Clone, Debug)]
pub struct ZoneSpace {
    layout: ZoneLayout,
    zones: Vec<ZoneEntry>,
    /// Zone of each class that is being written, and its blocks allocated so far.
    open: Vec<Option<(u32, u32)>>,
    /// Empty zones, the one that was reset longest ago first.
    free: VecDeque<u32>,
    /// Number of levels of the store.
    levels: usize,
    /// Zones that are being reset.
    resetting: usize,
    /// Manifest: its zone, from 0 to 1, and the blocks allocated there.
    manifest: (u32, u32),
}

impl ZoneSpace {
    /// Creates empty zones for a store with this many levels below the flushed tables.
    pub fn new(layout: ZoneLayout, levels: usize) -> Self {
        let most = layout.max_active.map_or(levels, |most| (most - LEAST_ACTIVE) as usize + 1);
        let classes = FIRST_LEVEL + levels.min(most).max(1);
        Self {
            layout,
            zones: vec![ZoneEntry::default(); layout.data_zones() as usize],
            open: vec![None; classes],
            free: (0..layout.data_zones()).collect(),
            levels,
            resetting: 0,
            manifest: (0, 0),
        }
    }

    /// Class of a level from 1 on. Adjacent levels share a class if the device has too few active zones.
    pub fn class_of(&self, level: usize) -> usize {
        FIRST_LEVEL + (level - 1) * (self.open.len() - FIRST_LEVEL) / self.levels
    }

    fn capacity(&self) -> u32 {
        self.layout.capacity_blocks()
    }

    /// First block of a zone.
    fn start(&self, zone: u32) -> u32 {
        zone * self.layout.size_blocks()
    }

    fn zone_of(&self, block: u32) -> u32 {
        block / self.layout.size_blocks()
    }

    /// Number of zones that are empty or being reset.
    pub fn empty_soon(&self) -> usize {
        self.free.len() + self.resetting
    }

    /// Whether a class has space for these blocks if it leaves `kept` empty zones.
    pub fn has_room(&self, class: usize, blocks: u32, kept: usize) -> bool {
        let here = self.open[class].map_or(0, |(_, used)| self.capacity() - used);
        let zones = self.free.len().saturating_sub(kept) as u64;
        u64::from(blocks) <= u64::from(here) + zones * u64::from(self.capacity())
    }

    /// Allocates blocks of a class, which must have [room](Self::has_room): extents in the order in which
    /// they must be written.
    pub fn allocate(&mut self, class: usize, blocks: u32) -> Vec<(u32, u32)> {
        let (mut left, mut extents) = (blocks, Vec::new());
        while left > 0 {
            let (zone, used) = self.open_zone(class);
            let here = left.min(self.capacity() - used);
            extents.push(self.extend(class, (zone, used), here));
            left -= here;
        }
        extents
    }

    /// Most blocks of a piece of the log. Chosen: those of a write, but at most a sixteenth of a zone, so that
    /// padding takes less than a sixteenth.
    pub fn log_piece(&self) -> u32 {
        MAX_WRITE_BLOCKS.min(self.capacity() / 16)
    }

    /// Allocates a piece of the log in one zone. An extent after which no other one
    /// would fit has padding up to the end of the zone.
    pub fn allocate_log(&mut self, blocks: u32) -> (u32, u32) {
        let (zone, used) = self.open_zone(LOG);
        let left = self.capacity() - used - blocks;
        let padding = if left < self.log_piece() { left } else { 0 };
        self.extend(LOG, (zone, used), blocks + padding)
    }

    /// Returns the zone that a class writes, with the blocks allocated there.
    fn open_zone(&mut self, class: usize) -> (u32, u32) {
        if let Some(open) = self.open[class] {
            return open;
        }
        let zone = self.free.pop_front().expect("the room was checked");
        self.zones[zone as usize] = ZoneEntry { class, live: 0, is_sealed: false };
        (zone, 0)
    }

    fn extend(&mut self, class: usize, (zone, used): (u32, u32), blocks: u32) -> (u32, u32) {
        let is_full = used + blocks == self.capacity();
        self.open[class] = (!is_full).then_some((zone, used + blocks));
        let entry = &mut self.zones[zone as usize];
        (entry.live, entry.is_sealed) = (entry.live + blocks, is_full);
        (self.start(zone) + used, blocks)
    }

    /// Records that the data of an extent are deleted. If nothing else is left in its zone and the zone has
    /// its last data, returns the first block of the zone, which is to be reset.
    pub fn delete(&mut self, block: u32, blocks: u32) -> Option<u32> {
        let zone = self.zone_of(block);
        let entry = &mut self.zones[zone as usize];
        entry.live = entry.live.checked_sub(blocks).expect("an extent is deleted once");
        let is_dead = entry.is_sealed && entry.live == 0;
        self.resetting += usize::from(is_dead);
        is_dead.then(|| self.start(zone))
    }

    /// Records that the zone with this first block was reset.
    pub fn release(&mut self, block: u32) {
        let zone = self.zone_of(block);
        let entry = &mut self.zones[zone as usize];
        assert!(entry.is_sealed && entry.live == 0, "only a zone without data is reset");
        entry.is_sealed = false;
        self.resetting -= 1;
        self.free.push_back(zone);
    }

    /// The zone of levels with the least data that are not deleted: its class, and its first block and the
    /// block after its last. `None` if every zone is full of data or being written.
    pub fn victim(&self) -> Option<(usize, std::ops::Range<u32>)> {
        let is_victim = |entry: &ZoneEntry| {
            entry.is_sealed && entry.class >= FIRST_LEVEL && (1..self.capacity()).contains(&entry.live)
        };
        let candidates = self.zones.iter().enumerate().filter(|(_, entry)| is_victim(entry));
        let (zone, entry) = candidates.min_by_key(|(_, entry)| entry.live)?;
        let first = self.start(zone as u32);
        Some((entry.class, first..first + self.layout.size_blocks()))
    }

    /// Seals all zones that are being written, at the start of a run: the device has full zones only.
    /// Returns their number, counted from the first zone on.
    pub fn seal_all(&mut self) -> u32 {
        for (zone, _) in self.open.iter_mut().filter_map(Option::take) {
            self.zones[zone as usize].is_sealed = true;
        }
        self.zones.iter().filter(|entry| entry.is_sealed).count() as u32
    }

    /// Allocates a block of the manifest: the first block of its zone, for an append. When half of the zone
    /// is used, the other one is to be reset, with the records that are superseded by then; its first block
    /// is returned too.
    pub fn extend_manifest(&mut self) -> (u32, Option<u32>) {
        let capacity = self.capacity();
        let (mut zone, mut used) = self.manifest;
        if used == capacity {
            (zone, used) = (1 - zone, 0);
        }
        self.manifest = (zone, used + 1);
        let start = |zone: u32| self.start(self.layout.data_zones() + zone);
        let resets = used + 1 == capacity.div_ceil(2);
        (start(zone), resets.then(|| start(1 - zone)))
    }
}

#[cfg(test)]
impl ZoneSpace {
    /// Blocks of the namespace, and the data of each zone that are not deleted.
    pub fn audit(&self) -> (u32, Vec<u32>) {
        (self.start(self.layout.count), self.zones.iter().map(|entry| entry.live).collect())
    }

    /// Zone of a block.
    pub fn zone_number(&self, block: u32) -> usize {
        self.zone_of(block) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Zones of 16 blocks, 32 blocks apart.
    fn layout(count: u32, max_active: Option<u32>) -> ZoneLayout {
        ZoneLayout { size: Bytes(32 * BLOCK), capacity: Bytes(16 * BLOCK), count, max_active }
    }

    #[test]
    fn classes_write_zones_of_their_own_in_order_and_a_zone_of_deleted_data_is_reset() {
        let mut space = ZoneSpace::new(layout(8, None), 2);
        assert_eq!(space.allocate(FLUSHED, 10), [(0, 10)]);
        assert_eq!(space.allocate(FIRST_LEVEL, 20), [(32, 16), (64, 4)]);
        assert_eq!(space.allocate(FLUSHED, 10), [(10, 6), (96, 4)]);
        assert!(space.has_room(FLUSHED, 12 + 32, 0) && !space.has_room(FLUSHED, 12 + 32, 1));
        assert_eq!(space.delete(0, 10), None);
        assert_eq!(space.delete(10, 6), Some(0));
        assert_eq!(space.delete(96, 4), None, "it is still written");
        assert_eq!((space.free.len(), space.empty_soon()), (2, 3));
        space.release(0);
        assert_eq!((space.free.len(), space.empty_soon()), (3, 3));
    }

    #[test]
    fn a_zone_of_the_log_has_padding_where_no_piece_would_fit() {
        let large = Bytes::mib(2);
        let layout = ZoneLayout { size: large, capacity: large, count: 8, max_active: None };
        let mut space = ZoneSpace::new(layout, 1);
        assert_eq!(space.log_piece(), 32);
        let all: Vec<_> = (0..16).map(|_| space.allocate_log(30)).collect();
        assert!(all[..15].iter().zip(0..).all(|(extent, n)| *extent == (n * 30, 30)));
        assert_eq!(all[15], (450, 30), "32 blocks are left");
        assert_eq!(space.allocate_log(1), (480, 32), "with 31 blocks of padding");
        assert_eq!(space.allocate_log(5), (512, 5));
    }

    #[test]
    fn the_zone_with_the_least_data_is_relocated_first() {
        let mut space = ZoneSpace::new(layout(8, None), 1);
        space.allocate(FIRST_LEVEL, 48);
        assert_eq!(space.victim(), None, "all are full of data");
        space.delete(32, 3);
        space.delete(64, 7);
        assert_eq!(space.victim(), Some((FIRST_LEVEL, 64..96)));
    }

    #[test]
    fn the_two_zones_of_the_manifest_take_turns() {
        let mut space = ZoneSpace::new(layout(8, None), 1);
        let all: Vec<_> = (0..33).map(|_| space.extend_manifest()).collect();
        assert!(all[..16].iter().all(|(zone, _)| *zone == 192) && all[16..32].iter().all(|one| one.0 == 224));
        assert_eq!(all[32].0, 192);
        let resets: Vec<_> = all.iter().filter_map(|(_, work)| *work).collect();
        assert_eq!(resets, [224, 192]);
    }

    #[test]
    fn levels_share_zones_if_few_may_be_active() {
        for (max_active, wanted) in
            [(None, [2, 3, 4, 5]), (Some(14), [2, 3, 4, 5]), (Some(8), [2, 2, 3, 3]), (Some(7), [2; 4])]
        {
            let space = ZoneSpace::new(layout(8, max_active), 4);
            assert_eq!([1, 2, 3, 4].map(|level| space.class_of(level)), wanted, "{max_active:?}");
        }
        let checked = |max_active| {
            let large = Bytes::mib(2);
            ZoneLayout { size: large, capacity: large, count: 8, max_active: Some(max_active) }.check()
        };
        assert!(checked(6).is_err() && checked(7).is_ok() && layout(8, None).check().is_err());
    }
}
