//! L2P map and L2P lookups: the location of each logical page, and the version that was written last.
//!
//! The map is either in memory as a whole, or partly in flash ([`translation`]). With [block-level
//! mapping](block_map) the map has logical blocks, and the location of a page follows from its block. The map
//! also records pages that were [lost] or [discarded](discards).

mod audit;
pub mod block_map;
mod by_block;
pub mod checkpoint;
pub mod config;
pub mod discards;
mod end_of_life;
mod guessed;
pub mod lost;
pub mod mapping;
mod mechanisms;
mod table_page_counts;
mod table_record;
mod tables;
pub mod translation;
pub mod unit_writes;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use wordline_flash::Task;
use wordline_kernel::{Instant, state};
use wordline_nand::{BlockSetId, DataTag, DieId, Location, PageId, PlaneGroupId};

use crate::Sectors;
use crate::base::{Base, Piece};
use crate::blocks::BlockManager;
use crate::config::{Config, Protection};
use crate::map::block_map::BlockMap;
use crate::map::checkpoint::{Checkpoints, DiscardsAtCut};
use crate::map::discards::Discards;
use crate::map::lost::LostSectors;
use crate::map::mapping::Mapping;
use crate::map::table_page_counts::TablePageCounts;
use crate::map::table_record::TableRecord;
use crate::map::translation::Translation;
use crate::map::unit_writes::UnitWrites;
use crate::policy::mapper::Mapper;
use crate::policy::placement::Placement;
use crate::pools::FALLBACK_POOL;

pub use mapping::LogicalPage;
pub(crate) use tables::Tables;

/// L2P map, with page versions, losses and discards.
pub struct Map {
    pages: Mapping,
    /// Sectors that the host wrote and that are unreadable.
    lost: LostSectors,
    /// `None` if a power cut loses discards.
    discards: Option<Discards>,
    /// `None` if the device makes no checkpoints.
    checkpoints: Option<Box<Checkpoints>>,
    /// `None` if the whole map is in memory.
    translation: Option<Translation>,
    /// `None` without block-level mapping.
    by_block: Option<Box<BlockMap>>,
    /// `None` unless a pool has coarse-grained mapping.
    unit_writes: Option<Box<UnitWrites>>,
    /// `None` unless the contents of tables are recorded for audits.
    told: Option<Box<TableRecord>>,
}

state!(Map {
    values { lost, told }
    parts { pages, discards, checkpoints, translation, by_block, unit_writes }
});

impl Map {
    /// A map without written pages.
    pub(crate) fn new(config: &Config, mapper: Box<dyn Mapper>, placement: &dyn Placement) -> Self {
        Self {
            pages: Mapping::new(config.mapped_pages()),
            lost: LostSectors::default(),
            discards: new_discards(config),
            checkpoints: Checkpoints::of(config),
            translation: config.map_cache().map(|size| Translation::of(config, mapper, size)),
            by_block: BlockMap::of(config, |page| placement.home(page, FALLBACK_POOL)).map(Box::new),
            unit_writes: UnitWrites::of(config),
            told: None,
        }
    }

    /// Resets operations in progress after a power cut.
    pub(crate) fn forget(&mut self) {
        if let Some(map) = &mut self.by_block {
            map.forget();
        }
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.forget();
        }
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
    pub(crate) fn prefetch(&self, page: LogicalPage) {
        self.pages.prefetch(page);
    }

    /// Number of pages.
    pub(crate) fn len(&self) -> u32 {
        self.pages.len()
    }

    /// Number of mapped pages.
    pub(crate) fn mapped(&self) -> u32 {
        self.pages.mapped()
    }

    /// Records a write of a page. Returns its new version.
    #[inline]
    pub(crate) fn written(&mut self, page: LogicalPage) -> u32 {
        self.pages.written(page)
    }

    /// Version that was written last; `None` if the page was never written or was discarded since.
    #[inline]
    pub(crate) fn last_written(&self, page: LogicalPage) -> Option<u32> {
        self.pages.last_written(page)
    }

    /// Unmaps a page. Returns its old location.
    pub(crate) fn clear(&mut self, page: LogicalPage) -> Option<Location> {
        self.pages.clear(page)
    }

    /// Unmaps all pages after a power cut.
    pub(crate) fn unmap_all(&mut self) {
        self.pages.unmap_all();
    }

    /// Sets the version of a page that counts as written last.
    pub(crate) fn set_last_written(&mut self, page: LogicalPage, last: u32, present: bool) {
        self.pages.set_last_written(page, last, present);
    }

    /// Executes a host discard of a page: unmaps it, and forgets its losses.
    pub(crate) fn discard(&mut self, page: LogicalPage, base: &mut Base) {
        self.pages.discarded(page);
        if !self.lost.is_empty() {
            self.lost.discard(page, self.pages.versions(page));
        }
        if let Some(discards) = &mut self.discards {
            discards.discard(page, self.pages.versions(page));
        }
        if let Some(old) = self.pages.clear(page) {
            base.blocks.invalidate(old);
            self.note_change(page, old, base);
        }
    }

    /// Whether some of these sectors of a page are lost.
    #[inline]
    pub(crate) fn loses(&self, page: LogicalPage, sectors: Sectors) -> bool {
        !self.lost.is_empty() && !self.lost.of(page).common(sectors).is_empty()
    }

    /// Records that a version of a page is in flash. Losses in earlier versions do not matter any more.
    #[inline]
    pub(crate) fn in_flash(&mut self, page: LogicalPage, version: u32) {
        if !self.lost.is_empty() {
            self.lost.in_flash(page, version);
        }
    }

    /// Records that a version of a page is lost, except for sectors that a newer version has.
    pub(crate) fn lose(
        &mut self,
        page: LogicalPage,
        version: u32,
        full: Sectors,
        newest: Option<(u32, Sectors)>,
    ) {
        self.lost.add(page, version, full, newest);
    }

    /// Maps a relocated page to `to` and invalidates its old location. This changes its translation page, if
    /// it has one.
    #[inline]
    pub(crate) fn relocate(&mut self, moved: Relocation, to: Location, blocks: &mut BlockManager) {
        let old = self.pages.set(LogicalPage(moved.stamp.logical), to);
        assert_eq!(old, Some(moved.from), "a valid page is where its logical page is mapped to");
        blocks.invalidate(moved.from);
        blocks.validate(to);
        if let Some(translation) = &mut self.translation
            && blocks.is_mapped_by_page(to)
        {
            translation.moved(moved.stamp.logical, to);
        }
    }

    /// Selects one of several copies of a page found in flash after a power cut, with block-level mapping.
    pub(crate) fn settle(&mut self, base: &mut Base) {
        if let Some(map) = &self.by_block {
            map.settle(&mut self.pages, &mut base.blocks, base.flash.chips());
            base.blocks.clear_active_blocks();
        }
    }

    /// Number of versions of a logical page so far. The next write adds one.
    pub fn versions(&self, page: LogicalPage) -> u32 {
        self.pages.versions(page)
    }

    /// Version of a logical page in flash.
    pub(crate) fn version_in_flash(&self, page: LogicalPage, base: &Base) -> Option<u32> {
        self.pages.get(page).map(|at| base.flash.stamp(at).version)
    }

    /// Checks that the location of each written translation page is valid and has its last version.
    pub(crate) fn audit_tables(&self, base: &Base) {
        let Some(translation) = &self.translation else { return };
        for table in translation.tables() {
            let (logical, version) = (translation.logical(table), translation.version(table));
            let home = self.pages.get(logical);
            assert_eq!(home.is_some(), version > 0, "translation page {table:?} is where its version says");
            if let Some(location) = home {
                let found = base.flash.stamp(location);
                assert_eq!(found, DataTag { logical: logical.0, version }, "translation page {table:?}");
                assert!(base.blocks.table().is_valid(location), "translation page {table:?} is valid");
            }
        }
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
    pub(crate) fn install(
        &mut self,
        logical: LogicalPage,
        location: Location,
        base: &mut Base,
    ) -> Option<Location> {
        let old = self.pages.set(logical, location);
        if let Some(old) = old {
            base.blocks.invalidate(old);
        }
        base.blocks.validate(location);
        old
    }

    /// Prefetches what a read of a page will access, if the page exists and its entry was prefetched.
    #[inline]
    pub(crate) fn prefetch_read(&self, page: LogicalPage, base: &Base) {
        if page.0 < self.pages.len()
            && let Some(at) = self.pages.get(page)
        {
            base.blocks.table().prefetch_block(at);
            base.flash.prefetch(at);
        }
    }

    /// Version of a page that was lost to a fault before the power cut, if nothing newer is in flash. In this
    /// case an older copy found in flash is unmapped, because it is no substitute.
    pub(crate) fn lost_before_cut(
        &mut self,
        page: LogicalPage,
        found: Option<u32>,
        void: u32,
        base: &mut Base,
    ) -> Option<u32> {
        if self.lost.is_empty() {
            return None;
        }
        let known = match base.is_protected() {
            true => self.lost.whole(page, found),
            false => self.lost.recover(page, found, void),
        };
        if known.is_some() {
            self.unmap(page, base);
        }
        known
    }

    /// Last discarded version of a page. Unmaps the page if the version found is not newer.
    pub(crate) fn last_discarded(&mut self, page: LogicalPage, found: Option<u32>, base: &mut Base) -> u32 {
        let void = self.discards.as_ref().map_or(0, |discards| discards.last_discarded(page));
        if found.is_some_and(|found| found <= void) {
            self.unmap(page, base);
        }
        void
    }

    /// Keeps discards that were found after a power cut. `pages` has each such page with its last version.
    /// Only the newest program unit of the page's mapping unit shows the discard, because that program unit
    /// does not contain the page. If the device keeps discards, they are written to flash before any of the
    /// `blocks` that show them is erased.
    pub(crate) fn keep_discarded(
        &mut self,
        pages: &BTreeMap<LogicalPage, u32>,
        blocks: &BTreeSet<BlockSetId>,
        base: &mut Base,
    ) {
        let Self { discards, lost, .. } = self;
        let Some(discards) = discards.as_mut().filter(|discards| discards.is_written()) else { return };
        let discarded = pages.iter().filter(|(page, _)| lost.of(**page).is_empty());
        discarded.for_each(|(page, version)| discards.discard(*page, *version));
        if discards.hold(blocks) {
            blocks.iter().for_each(|block| base.blocks.read_queued(*block));
        }
    }

    /// Unmaps a page.
    pub(crate) fn unmap(&mut self, page: LogicalPage, base: &mut Base) {
        if let Some(location) = self.pages.clear(page) {
            base.blocks.invalidate(location);
        }
    }

    /// Restores the discard table and the translation pages from the pages that recovery found.
    pub(crate) fn recover_tables(&mut self, base: &mut Base) {
        let Self { discards, checkpoints, translation, pages: mapping, .. } = self;
        let Base { flash, blocks, config, .. } = base;
        let found = |logical| {
            let location = mapping.get(logical)?;
            Some((flash.stamp(location).version, blocks.table().group_of(config.pools.block_of(location))))
        };
        if let Some(discards) = discards {
            discards.recover(found);
        }
        if let Some(translation) = translation {
            translation.forget(found);
            // With a checkpoint, recovery reads only a part of the pages. It does not rebuild the clean cache
            // entries.
            if checkpoints.as_ref().is_some_and(|checkpoints| checkpoints.is_valid()) {
                translation.mapper.policy.keep_changed();
            }
        }
    }

    /// Repeats a read of a page that could not be read, if the page was relocated or written again meanwhile.
    /// The new read is at the new location. Returns the die of that location.
    pub(crate) fn read_elsewhere(&self, task: &Task, base: &mut Base, now: Instant) -> Option<DieId> {
        let Task { wanted, location, page, .. } = *task;
        let at = self.get(LogicalPage(wanted.logical)).filter(|at| *at != location)?;
        let pools = &base.config.pools;
        // A location with several pages has the same number of pages in each pool.
        let moved = PageId(pools.page_of(at).0 + (page.0 - pools.page_of(location).0));
        base.blocks.read_queued(pools.block_of(at));
        Some(base.flash.read_elsewhere(task, at, moved, now))
    }

    /// Whether this is the logical page number of a translation page or of a page of the discard table.
    #[inline]
    pub(crate) fn is_table(logical: u32, base: &Base) -> bool {
        logical >= base.config.logical_pages
    }

    /// Valid host pages in a pool.
    pub(crate) fn held(&self, pool: usize, base: &Base) -> u64 {
        let holds_tables = pool == base.config.shares().pool_of_tables();
        let tables = match holds_tables {
            true => {
                let tables = self.translation.as_ref().map(Translation::placed);
                let all = tables.into_iter().chain(self.discards.as_ref().map(Discards::placed));
                all.map(TablePageCounts::all).sum::<u32>()
            }
            false => 0,
        };
        base.blocks.by_pool()[pool].valid() - u64::from(tables)
    }

    /// Records that the mapping unit that begins with this page is being programmed as a whole to `first`.
    /// From now on, other copies of it in flash count as older.
    pub(crate) fn note_unit_write(&mut self, page: LogicalPage, first: Location) {
        if let Some(writes) = &mut self.unit_writes {
            writes.write(first);
            writes.set_programming(page, true);
        }
    }

    /// Records that preconditioning placed a unit of a pool with coarse-grained mapping at `first`.
    pub(crate) fn note_unit_placed(&mut self, first: Location) {
        if let Some(writes) = &mut self.unit_writes {
            writes.write(first);
        }
    }

    /// Records that the program of a mapping unit is done.
    pub(crate) fn note_unit_written(&mut self, page: LogicalPage) {
        if let Some(writes) = &mut self.unit_writes {
            writes.set_programming(page, false);
        }
    }

    /// Maps a page that was read to complete a program of its mapping unit. Its location is `location` now.
    /// Does nothing if the host has overwritten or discarded the page meanwhile.
    pub(crate) fn install_carried(&mut self, stamp: DataTag, location: Location, base: &mut Base) {
        if self.holds(stamp, base) {
            let page = LogicalPage(stamp.logical);
            let old = self.install(page, location, base);
            self.note_update(page, old, location, base);
        }
    }

    /// Maps a page that migrated to another pool. Its location is `location` now. Does nothing if the host
    /// has overwritten or discarded the page meanwhile.
    pub(crate) fn install_migrated(&mut self, stamp: DataTag, location: Location, base: &mut Base) {
        if let Some(from) = self.get(LogicalPage(stamp.logical)).filter(|_| self.holds(stamp, base)) {
            self.relocate(Relocation { stamp, from }, location, &mut base.blocks);
        }
    }

    /// Whether this version of a page is still in flash.
    pub(crate) fn holds(&self, stamp: DataTag, base: &Base) -> bool {
        self.pages.get(LogicalPage(stamp.logical)).is_some_and(|location| base.flash.stamp(location) == stamp)
    }

    /// Records that GC copies the program unit that contains `from` to `to`.
    #[inline]
    pub(crate) fn note_copy(&mut self, row: PlaneGroupId, from: Location, to: Location, base: &Base) {
        if let Some(writes) = &mut self.unit_writes
            && base.blocks.pool_of(row).is_coarsely_mapped()
        {
            writes.copy(LogicalPage(base.flash.stamp(from).logical), from, to);
        }
    }

    /// Pages of a unit with coarse-grained mapping; `None` if no pool has it.
    pub(crate) fn whole_unit(&self) -> Option<u32> {
        self.unit_writes.as_ref().map(|writes| writes.per_unit())
    }

    /// Records that the host writes lost sectors of a page again, in this version.
    #[inline]
    pub(crate) fn write_lost(&mut self, piece: &Piece, version: u32) {
        if !self.lost.is_empty() {
            self.lost.write(piece.page, version, piece.sectors());
        }
    }
}

/// Discard table; `None` if the configuration needs none.
fn new_discards(config: &Config) -> Option<Discards> {
    let kept = config.file.buffer.power_loss_protection != Protection::None;
    let in_flash = config.file.ftl.recovery.discards == DiscardsAtCut::Kept;
    (in_flash || kept).then(|| Discards::new(config, kept))
}

/// A page that GC is relocating, with its location in the victim.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Relocation {
    /// Data tag of the page.
    pub stamp: DataTag,
    /// Location of the page in the victim.
    pub from: Location,
}
