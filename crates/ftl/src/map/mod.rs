//! L2P map and L2P lookups: the location of each logical page, and the version that was written last.
//!
//! Four engines divide the work. Each is handed those to its left.
//!
//! | engine | has |
//! |---|---|
//! | [`Map`] | where each page is, its newest version, and which sectors are [lost] |
//! | `MapCache` | which entries are in memory; the [translation pages](translation) of the others |
//! | `MapTables` | the [table of discards](discards) and [checkpoints](checkpoint) in flash |
//! | [`BlockMap`](block_map::BlockMap) | the blocks of logical blocks, with block-level mapping |

pub mod block_map;
pub mod checkpoint;
pub mod config;
pub mod discards;
pub mod lost;
mod map_cache;
pub mod mapping;
mod table_page_counts;
mod tables;
pub mod translation;
pub mod unit_writes;

use serde::{Deserialize, Serialize};
use wordline_flash::{Flash, Task};
use wordline_kernel::ensure::ensure;
use wordline_kernel::{Instant, state};
use wordline_nand::{CommandCompletion, DataTag, DieId, Location, PageId, PlaneGroupId};

use crate::blocks::BlockManager;
use crate::config::Config;
use crate::map::lost::LostSectors;
use crate::map::mapping::Mapping;
use crate::map::unit_writes::UnitWrites;
use crate::{Piece, Sectors};

pub use map_cache::MapCache;
pub(crate) use map_cache::{AfterGuess, HostGuess};
pub use mapping::LogicalPage;
pub use tables::{MapTables, Tables};

/// L2P map, with page versions and losses.
pub struct Map {
    pages: Mapping,
    /// Sectors that the host wrote and that are unreadable.
    lost: LostSectors,
    /// `None` unless a pool has coarse-grained mapping.
    unit_writes: Option<Box<UnitWrites>>,
}

state!(Map { values { lost } parts { pages, unit_writes } });

impl Map {
    /// A map without written pages.
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            pages: Mapping::new(config.mapped_pages()),
            lost: LostSectors::default(),
            unit_writes: UnitWrites::of(config),
        }
    }

    /// Resets operations in progress after a power cut.
    pub(crate) fn forget(&mut self) {
        if let Some(writes) = &mut self.unit_writes {
            writes.forget();
        }
    }

    /// Location of a page; `None` if it is not mapped.
    #[inline]
    pub fn get(&self, page: LogicalPage) -> Option<Location> {
        self.pages.get(page)
    }

    /// Prefetches the entry of a page.
    #[inline]
    pub fn prefetch(&self, page: LogicalPage) {
        self.pages.prefetch(page);
    }

    /// Number of pages.
    pub fn pages(&self) -> u32 {
        self.pages.len()
    }

    /// Number of mapped pages.
    pub(crate) fn mapped(&self) -> u32 {
        self.pages.mapped()
    }

    /// Records a write of a page. Returns its new version.
    #[inline]
    pub fn written(&mut self, page: LogicalPage) -> u32 {
        self.pages.written(page)
    }

    /// Version that was written last; `None` if the page was never written or was discarded since.
    #[inline]
    pub fn last_written(&self, page: LogicalPage) -> Option<u32> {
        self.pages.last_written(page)
    }

    /// Unmaps a page. Returns its old location.
    pub fn clear(&mut self, page: LogicalPage) -> Option<Location> {
        self.pages.clear(page)
    }

    /// Unmaps all pages after a power cut.
    pub(crate) fn unmap_all(&mut self) {
        self.pages.unmap_all();
    }

    /// Sets the version of a page that counts as written last.
    pub fn set_last_written(&mut self, page: LogicalPage, last: u32, present: bool) {
        self.pages.set_last_written(page, last, present);
    }

    /// Records a host discard of a page: unmaps it, and forgets its losses. Returns its old location, which
    /// is still valid.
    pub(crate) fn discard(&mut self, page: LogicalPage) -> Option<Location> {
        self.pages.discarded(page);
        if !self.lost.is_empty() {
            self.lost.discard(page, self.pages.versions(page));
        }
        self.pages.clear(page)
    }

    /// Whether some of these sectors of a page are lost.
    #[inline]
    pub fn loses(&self, page: LogicalPage, sectors: Sectors) -> bool {
        !self.lost.is_empty() && !self.lost.of(page).common(sectors).is_empty()
    }

    /// Records that a version of a page is in flash. Losses in earlier versions do not matter any more.
    #[inline]
    pub fn in_flash(&mut self, page: LogicalPage, version: u32) {
        if !self.lost.is_empty() {
            self.lost.in_flash(page, version);
        }
    }

    /// Records that a version of a page is lost, except for sectors that a newer version has.
    pub fn lose(&mut self, page: LogicalPage, version: u32, full: Sectors, newest: Option<(u32, Sectors)>) {
        self.lost.add(page, version, full, newest);
    }

    /// Maps a relocated page to `to` and invalidates its old location.
    #[inline]
    pub(crate) fn relocate(&mut self, moved: Relocation, to: Location, blocks: &mut BlockManager) {
        let old = self.pages.set(LogicalPage(moved.stamp.logical), to);
        assert_eq!(old, Some(moved.from), "a valid page is where its logical page is mapped to");
        blocks.invalidate(moved.from);
        blocks.validate(to);
    }

    /// Number of versions of a logical page so far. The next write adds one.
    pub fn versions(&self, page: LogicalPage) -> u32 {
        self.pages.versions(page)
    }

    /// Version of a logical page in flash.
    pub fn version_in_flash(&self, page: LogicalPage, flash: &Flash) -> Option<u32> {
        self.pages.get(page).map(|at| flash.stamp(at).version)
    }

    /// Lost sectors of a page. Reads of them fail until they are written again.
    pub fn lost_sectors(&self, page: LogicalPage) -> Sectors {
        self.lost.of(page)
    }

    /// Whether a logical page has lost sectors. Reads of them fail until they are written again.
    pub fn is_lost(&self, page: LogicalPage) -> bool {
        !self.lost.of(page).is_empty()
    }

    /// Maps `logical` to `location`. Returns the old location.
    #[inline]
    pub fn install(
        &mut self,
        logical: LogicalPage,
        location: Location,
        blocks: &mut BlockManager,
    ) -> Option<Location> {
        let old = self.pages.set(logical, location);
        if let Some(old) = old {
            blocks.invalidate(old);
        }
        blocks.validate(location);
        old
    }

    /// Prefetches what a read of a page will access, if the page exists and its entry was prefetched.
    #[inline]
    pub fn prefetch_read(&self, page: LogicalPage, blocks: &BlockManager, flash: &Flash) {
        if page.0 < self.pages.len()
            && let Some(at) = self.pages.get(page)
        {
            blocks.table().prefetch_block(at);
            flash.prefetch(at);
        }
    }

    /// Version of a page that was lost to a fault before the power cut, if nothing newer is in flash. In this
    /// case an older copy found in flash is unmapped, because it is no substitute. `is_protected` says whether
    /// the buffer survived.
    pub(crate) fn lost_before_cut(
        &mut self,
        page: LogicalPage,
        found: Option<u32>,
        void: u32,
        is_protected: bool,
        blocks: &mut BlockManager,
    ) -> Option<u32> {
        if self.lost.is_empty() {
            return None;
        }
        let known = match is_protected {
            true => self.lost.whole(page, found),
            false => self.lost.recover(page, found, void),
        };
        if known.is_some() {
            self.unmap(page, blocks);
        }
        known
    }

    /// Unmaps a page.
    pub(crate) fn unmap(&mut self, page: LogicalPage, blocks: &mut BlockManager) {
        if let Some(location) = self.pages.clear(page) {
            blocks.invalidate(location);
        }
    }

    /// Repeats a read of a page that could not be read, if the page was relocated or written again meanwhile.
    /// The new read is at the new location. Returns the die of that location.
    pub fn read_elsewhere(
        &self,
        (task, done): (&Task, &CommandCompletion),
        blocks: &mut BlockManager,
        flash: &mut Flash,
        now: Instant,
    ) -> Option<DieId> {
        let Task { wanted, location, page, .. } = *task;
        let at = self.get(LogicalPage(wanted.logical)).filter(|at| *at != location)?;
        let pools = blocks.pools();
        // A location with several pages has the same number of pages in each pool.
        let moved = PageId(pools.page_of(at).0 + (page.0 - pools.page_of(location).0));
        let block = pools.block_of(at);
        blocks.read_queued(block);
        Some(flash.read_elsewhere((task, done), (at, moved), now))
    }

    /// Records that the mapping unit that begins with this page is being programmed as a whole to `first`.
    /// From now on, other copies of it in flash count as older.
    pub fn note_unit_write(&mut self, page: LogicalPage, first: Location) {
        if let Some(writes) = &mut self.unit_writes {
            writes.write(first);
            writes.set_programming(page, true);
        }
    }

    /// Records that preconditioning placed a unit of a pool with coarse-grained mapping at `first`.
    pub fn note_unit_placed(&mut self, first: Location) {
        if let Some(writes) = &mut self.unit_writes {
            writes.write(first);
        }
    }

    /// Records that the program of a mapping unit is done.
    pub fn note_unit_written(&mut self, page: LogicalPage) {
        if let Some(writes) = &mut self.unit_writes {
            writes.set_programming(page, false);
        }
    }

    /// Whether this version of a page is still in flash.
    pub fn holds(&self, stamp: DataTag, flash: &Flash) -> bool {
        self.pages.get(LogicalPage(stamp.logical)).is_some_and(|location| flash.stamp(location) == stamp)
    }

    /// Records that GC copies the program unit that contains `from` to `to`.
    #[inline]
    pub(crate) fn note_copy(
        &mut self,
        row: PlaneGroupId,
        from: Location,
        to: Location,
        (blocks, flash): (&BlockManager, &Flash),
    ) {
        if let Some(writes) = &mut self.unit_writes
            && blocks.pool_of(row).is_coarsely_mapped()
        {
            writes.copy(LogicalPage(flash.stamp(from).logical), from, to);
        }
    }

    /// Pages of a unit with coarse-grained mapping; `None` if no pool has it.
    pub fn whole_unit(&self) -> Option<u32> {
        self.unit_writes.as_ref().map(|writes| writes.per_unit())
    }

    /// Records that the host writes lost sectors of a page again, in this version.
    #[inline]
    pub fn write_lost(&mut self, piece: &Piece, version: u32) {
        if !self.lost.is_empty() {
            self.lost.write(piece.page, version, piece.sectors());
        }
    }

    /// Write numbers of a pool with coarse-grained mapping; `None` without such a pool.
    #[inline]
    pub(crate) fn unit_writes(&self) -> Option<&UnitWrites> {
        self.unit_writes.as_deref()
    }

    /// Checks the map against the block table; panics if they are inconsistent.
    pub(crate) fn audit(&self, blocks: &BlockManager) {
        let (valid, mapped) = (blocks.by_pool().total_valid(), u64::from(self.mapped()));
        assert_eq!(valid, mapped, "valid pages are mapped pages");
    }

    /// Checks the loaded state. Each mapped page must be valid at its location and have the right data tag,
    /// and no other location may be valid.
    pub(crate) fn check_loaded(&self, blocks: &BlockManager, flash: &Flash) -> Result<(), String> {
        let pools = blocks.pools();
        flash.chips().check_data_tags(self.pages())?;
        let (mut mapped, all) = (0u64, pools.locations());
        for page in (0..self.pages()).map(LogicalPage) {
            let Some(location) = self.get(page) else { continue };
            mapped += 1;
            let is_there = location.0 < all && blocks.table().is_valid(location);
            ensure(is_there, || format!("page {} is nowhere", page.0))?;
            let stamp = flash.stamp(location);
            ensure(stamp.logical == page.0 && stamp.version <= self.versions(page), || {
                format!("page {} is in location {}, which holds {stamp:?}", page.0, location.0)
            })?;
        }
        let valid: u64 = pools.all_blocks().map(|block| blocks.table().count_valid(block)).sum();
        ensure(valid == mapped && mapped == u64::from(self.mapped()), || {
            format!("{mapped} pages are mapped and {valid} valid, not {}", self.mapped())
        })
    }
}

/// A page that GC is relocating, with its location in the victim.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Relocation {
    /// Data tag of the page.
    pub stamp: DataTag,
    /// Location of the page in the victim.
    pub from: Location,
}
