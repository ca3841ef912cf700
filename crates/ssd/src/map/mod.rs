//! The map: where each logical page is, and which version of it was written last.
//!
//! The table is in memory as a whole, or a part of it is in flash ([`translation`]); where [blocks](block_map) are mapped, it follows
//! from theirs. Beside it are the pages that were [lost] or [discarded](discards).

mod audit;
pub mod block_map;
mod by_block;
pub mod checkpoint;
pub mod config;
pub mod discards;
mod life;
pub mod lost;
pub mod mapping;
mod mechanisms;
mod placed;
mod tables;
mod told;
pub mod translation;
pub mod unit_writes;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use wordline_kernel::{Instant, state};
use wordline_nand::{BlockSetId, DieId, Location, PageId, RowId, Stamp};

use crate::base::{Base, Piece};
use crate::config::{Config, Protection};
use crate::flash::Task;
use crate::map::block_map::BlockMap;
use crate::map::checkpoint::{Checkpoints, DiscardsAtCut};
use crate::map::discards::Discards;
use crate::map::lost::Lost;
use crate::map::mapping::Mapping;
use crate::map::placed::Placed;
use crate::map::told::Told;
use crate::map::translation::Translation;
use crate::map::unit_writes::UnitWrites;
use crate::policy::mapper::Mapper;
use crate::policy::placement::Placement;
use crate::pools::EVERYTHING_IN;
use crate::sectors::Sectors;
use crate::space::Space;

pub use mapping::LogicalPage;
pub(crate) use tables::Tables;

/// Where each logical page is, which versions there were, and what was lost or discarded.
pub struct Map {
    pages: Mapping,
    /// Sectors that the host wrote and that cannot be read any more.
    lost: Lost,
    /// None if discards are forgotten at a power cut.
    discards: Option<Discards>,
    /// None if the device makes no checkpoints.
    checkpoints: Option<Box<Checkpoints>>,
    /// None if the whole map is in memory.
    translation: Option<Translation>,
    /// None unless blocks are mapped instead of pages.
    by_block: Option<Box<BlockMap>>,
    /// None unless a pool is mapped by whole units.
    unit_writes: Option<Box<UnitWrites>>,
    /// None unless the contents of tables are watched.
    told: Option<Box<Told>>,
}

state!(Map {
    values { lost, told }
    parts { pages, discards, checkpoints, translation, by_block, unit_writes }
});

impl Map {
    /// Nothing is written.
    pub(crate) fn new(config: &Config, mapper: Box<dyn Mapper>, placement: &dyn Placement) -> Self {
        Self {
            pages: Mapping::new(config.mapped_pages()),
            lost: Lost::default(),
            discards: new_discards(config),
            checkpoints: Checkpoints::of(config),
            translation: config.map_cache().map(|size| Translation::of(config, mapper, size)),
            by_block: BlockMap::of(config, |page| placement.home(page, EVERYTHING_IN)).map(Box::new),
            unit_writes: UnitWrites::of(config),
            told: None,
        }
    }

    /// Forgets what is under way, as when the power is cut.
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

    /// Where a page is.
    #[inline]
    pub fn get(&self, page: LogicalPage) -> Option<Location> {
        self.pages.get(page)
    }

    /// Asks for the entry of a page.
    #[inline]
    pub(crate) fn prefetch(&self, page: LogicalPage) {
        self.pages.prefetch(page);
    }

    /// How many pages there are.
    pub(crate) fn len(&self) -> u32 {
        self.pages.len()
    }

    /// How many of them are somewhere in flash.
    pub(crate) fn mapped(&self) -> u32 {
        self.pages.mapped()
    }

    /// A page is written: its new version.
    #[inline]
    pub(crate) fn written(&mut self, page: LogicalPage) -> u32 {
        self.pages.written(page)
    }

    /// The version that was written last, unless the page was discarded since or never written.
    #[inline]
    pub(crate) fn last_written(&self, page: LogicalPage) -> Option<u32> {
        self.pages.last_written(page)
    }

    /// A page is nowhere in flash any more; where it was.
    pub(crate) fn clear(&mut self, page: LogicalPage) -> Option<Location> {
        self.pages.clear(page)
    }

    /// Forgets where all pages are, as when the power is cut.
    pub(crate) fn forget_places(&mut self) {
        self.pages.forget_places();
    }

    /// From now on this version of a page counts as the one that was written last.
    pub(crate) fn take_as_written(&mut self, page: LogicalPage, last: u32, present: bool) {
        self.pages.take_as_written(page, last, present);
    }

    /// The host discards a page: it is nowhere, and what was lost of it is of interest no more.
    pub(crate) fn discard(&mut self, page: LogicalPage, base: &mut Base) {
        self.pages.discarded(page);
        if !self.lost.is_empty() {
            self.lost.discard(page, self.pages.versions(page));
        }
        if let Some(discards) = &mut self.discards {
            discards.discard(page, self.pages.versions(page));
        }
        if let Some(old) = self.pages.clear(page) {
            base.space.invalidate(old);
            self.note_amend(page, old, base);
        }
    }

    /// Whether some of these sectors of a page are lost.
    #[inline]
    pub(crate) fn loses(&self, page: LogicalPage, sectors: Sectors) -> bool {
        !self.lost.is_empty() && !self.lost.of(page).common(sectors).is_empty()
    }

    /// This version of a page is in flash: what was lost before is not missed any more.
    #[inline]
    pub(crate) fn in_flash(&mut self, page: LogicalPage, version: u32) {
        if !self.lost.is_empty() {
            self.lost.in_flash(page, version);
        }
    }

    /// This version of a page is lost, but for what a newer one has.
    pub(crate) fn lose(
        &mut self,
        page: LogicalPage,
        version: u32,
        full: Sectors,
        newest: Option<(u32, Sectors)>,
    ) {
        self.lost.add(page, version, full, newest);
    }

    /// A valid page was copied to `to`: it is mapped there, and valid where it was no more. Its translation page changes if it
    /// has one.
    #[inline]
    pub(crate) fn relocate(&mut self, moved: Moved, to: Location, space: &mut Space) {
        let old = self.pages.set(LogicalPage(moved.stamp.logical), to);
        assert_eq!(old, Some(moved.from), "a valid page is where its logical page is mapped to");
        space.invalidate(moved.from);
        space.validate(to);
        if let Some(translation) = &mut self.translation
            && space.is_mapped_by_page(to)
        {
            translation.moved(moved.stamp.logical);
        }
    }

    /// Begins the blocks of a block map anew, from what is found in flash after a power cut.
    pub(crate) fn settle(&mut self, base: &mut Base) {
        if let Some(map) = &self.by_block {
            map.settle(&mut self.pages, &mut base.space, base.flash.chips());
            base.space.forget_open();
        }
    }

    /// How many versions of a logical page there were: the next write makes one more.
    pub fn versions(&self, page: LogicalPage) -> u32 {
        self.pages.versions(page)
    }

    /// The version of a logical page that is in flash.
    pub(crate) fn version_in_flash(&self, page: LogicalPage, base: &Base) -> Option<u32> {
        self.pages.get(page).map(|at| base.flash.stamp(at).version)
    }

    /// Each translation page that was written has one home, which holds its last version and nothing else.
    pub(crate) fn audit_tables(&self, base: &Base) {
        let Some(translation) = &self.translation else { return };
        for table in translation.tables() {
            let (logical, version) = (translation.logical(table), translation.version(table));
            let home = self.pages.get(logical);
            assert_eq!(home.is_some(), version > 0, "translation page {table:?} is where its version says");
            if let Some(location) = home {
                let found = base.flash.stamp(location);
                assert_eq!(found, Stamp { logical: logical.0, version }, "translation page {table:?}");
                assert!(base.space.is_valid(location), "translation page {table:?} is valid");
            }
        }
    }

    /// The sectors of a page that are lost: a read of one of them fails until it is written again.
    pub fn lost_sectors(&self, page: LogicalPage) -> Sectors {
        self.lost.of(page)
    }

    /// Whether some of a logical page is lost: a read of that fails until it is written again.
    pub fn is_lost(&self, page: LogicalPage) -> bool {
        !self.lost.of(page).is_empty()
    }

    /// Maps `logical` to `location`. Returns where it was.
    #[inline]
    pub(crate) fn install(
        &mut self,
        logical: LogicalPage,
        location: Location,
        base: &mut Base,
    ) -> Option<Location> {
        let old = self.pages.set(logical, location);
        if let Some(old) = old {
            base.space.invalidate(old);
        }
        base.space.validate(location);
        old
    }

    /// A page is going to be read if there is such a page, and where it is was asked for before.
    #[inline]
    pub(crate) fn foresee_read(&self, page: LogicalPage, base: &Base) {
        if page.0 < self.pages.len()
            && let Some(at) = self.pages.get(page)
        {
            base.space.prefetch_block(at);
            base.flash.prefetch(at);
        }
    }

    /// The version of a page that was lost to a fault before the cut, if nothing newer is in flash: what is found of the
    /// page is no substitute for it.
    pub(crate) fn lost_before(
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

    /// The last version of a page that is void because the host discarded it; if that is what was found, it is nowhere.
    pub(crate) fn void(&mut self, page: LogicalPage, found: Option<u32>, base: &mut Base) -> u32 {
        let void = self.discards.as_ref().map_or(0, |discards| discards.void(page));
        if found.is_some_and(|found| found <= void) {
            self.unmap(page, base);
        }
        void
    }

    /// After a power cut these pages are discarded, with these last versions, only because the newest program units of their units have no
    /// page there. That is written, where the device keeps discards, before one of the blocks that tell of it is erased.
    pub(crate) fn keep_discarded(
        &mut self,
        pages: &BTreeMap<LogicalPage, u32>,
        told_by: &BTreeSet<BlockSetId>,
        base: &mut Base,
    ) {
        let Self { discards, lost, .. } = self;
        let Some(discards) = discards.as_mut().filter(|discards| discards.is_written()) else { return };
        let discarded = pages.iter().filter(|(page, _)| lost.of(**page).is_empty());
        discarded.for_each(|(page, version)| discards.discard(*page, *version));
        if discards.hold(told_by) {
            told_by.iter().for_each(|block| base.space.read_queued(*block));
        }
    }

    /// A page is mapped nowhere from now on.
    pub(crate) fn unmap(&mut self, page: LogicalPage, base: &mut Base) {
        if let Some(location) = self.pages.clear(page) {
            base.space.invalidate(location);
        }
    }

    /// The table of discards and translation pages go on from what is found of them.
    pub(crate) fn recover_tables(&mut self, base: &mut Base) {
        let Self { discards, checkpoints, translation, pages: mapping, .. } = self;
        let Base { flash, space, config, .. } = base;
        let found = |logical| {
            let location = mapping.get(logical)?;
            Some((flash.stamp(location).version, space.row_of(config.pools.block_of(location))))
        };
        if let Some(discards) = discards {
            discards.recover(found);
        }
        if let Some(translation) = translation {
            translation.forget(found);
            // Nothing else that was in memory is read again.
            if checkpoints.as_ref().is_some_and(|checkpoints| checkpoints.is_valid()) {
                translation.mapper.keep_changed();
            }
        }
    }

    /// A read found nothing. Where the page is somewhere else by now, moved by the collector or written again, it is read there:
    /// of which die.
    pub(crate) fn read_elsewhere(&self, task: &Task, base: &mut Base, now: Instant) -> Option<DieId> {
        let Task { wanted, location, page, .. } = *task;
        let at = self.get(LogicalPage(wanted.logical)).filter(|at| *at != location)?;
        let pools = &base.config.pools;
        // A location of several pages is as large in each pool.
        let moved = PageId(pools.page_of(at).0 + (page.0 - pools.page_of(location).0));
        base.space.read_queued(pools.block_of(at));
        Some(base.flash.read_elsewhere(task, at, moved, now))
    }

    /// Whether a stamp of this number is that of a translation page, or of a page that tells of discards.
    #[inline]
    pub(crate) fn is_table(logical: u32, base: &Base) -> bool {
        logical >= base.config.logical_pages
    }

    /// Valid pages of the host in a pool.
    pub(crate) fn held(&self, pool: usize, base: &Base) -> u64 {
        let holds_tables = pool == base.config.shares().pool_of_tables();
        let tables = match holds_tables {
            true => {
                let tables = self.translation.as_ref().map(Translation::placed);
                let all = tables.into_iter().chain(self.discards.as_ref().map(Discards::placed));
                all.map(Placed::all).sum::<u32>()
            }
            false => 0,
        };
        base.space.valid_of(pool) - u64::from(tables)
    }

    /// The extent that begins with a page is being programmed as a whole to `first`: a copy of what flash holds of it counts as
    /// older from now on.
    pub(crate) fn write_extent(&mut self, page: LogicalPage, first: Location) {
        if let Some(writes) = &mut self.unit_writes {
            writes.write(first);
            writes.set_programming(page, true);
        }
    }

    /// A whole unit is laid to `first`, where units are mapped so.
    pub(crate) fn lay_extent(&mut self, first: Location) {
        if let Some(writes) = &mut self.unit_writes {
            writes.write(first);
        }
    }

    /// The program of an extent is over.
    pub(crate) fn extent_written(&mut self, page: LogicalPage) {
        if let Some(writes) = &mut self.unit_writes {
            writes.set_programming(page, false);
        }
    }

    /// A page that was read to be programmed with others of its extent is at `location`, too: it counts there, unless the host has
    /// written or discarded it meanwhile.
    pub(crate) fn install_carried(&mut self, stamp: Stamp, location: Location, base: &mut Base) {
        if self.holds(stamp, base) {
            let page = LogicalPage(stamp.logical);
            let old = self.install(page, location, base);
            self.note_update(page, old, location, base);
        }
    }

    /// A page of a victim that went to another pool alone is at `location`, unless the host has written or discarded it meanwhile.
    pub(crate) fn install_moved(&mut self, stamp: Stamp, location: Location, base: &mut Base) {
        if let Some(from) = self.get(LogicalPage(stamp.logical)).filter(|_| self.holds(stamp, base)) {
            self.relocate(Moved { stamp, from }, location, &mut base.space);
        }
    }

    /// Whether flash holds this version of a page still, wherever that is.
    pub(crate) fn holds(&self, stamp: Stamp, base: &Base) -> bool {
        self.pages.get(LogicalPage(stamp.logical)).is_some_and(|location| base.flash.stamp(location) == stamp)
    }

    /// The collector copies the program unit that `from` is in to `to`.
    #[inline]
    pub(crate) fn note_copy(&mut self, row: RowId, from: Location, to: Location, base: &Base) {
        if let Some(writes) = &mut self.unit_writes
            && base.space.has_whole_units(row)
        {
            writes.copy(LogicalPage(base.flash.stamp(from).logical), from, to);
        }
    }

    /// Whether pages are filled in whole units, and how many pages these have.
    pub(crate) fn whole_unit(&self) -> Option<u32> {
        self.unit_writes.as_ref().map(|writes| writes.per_unit())
    }

    /// The lost sectors of the piece are written again, as this version of its page.
    #[inline]
    pub(crate) fn write_lost(&mut self, piece: &Piece, version: u32) {
        if !self.lost.is_empty() {
            self.lost.write(piece.page, version, piece.sectors());
        }
    }
}

/// The table of discards, if the configuration wants one.
fn new_discards(config: &Config) -> Option<Discards> {
    let kept = config.file.buffer.power_loss_protection != Protection::None;
    let in_flash = config.file.ftl.recovery.discards == DiscardsAtCut::Kept;
    (in_flash || kept).then(|| Discards::new(config, kept))
}

/// A page on its way from a victim to the collector's open block.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Moved {
    /// The stamp of its data.
    pub stamp: Stamp,
    /// Where it comes from.
    pub from: Location,
}
