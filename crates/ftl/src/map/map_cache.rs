//! Cached map: which map entries are in memory. Translation pages exist if only a part of the map is in memory.
//! A request for an entry that is not in memory waits for the read of a translation page.
//!
//! If the whole map is in memory, every entry is there at once, and nothing here does anything.

mod guessed;

use wordline_device::SECTOR;
use wordline_flash::{Class, Event, Flash, RequestId, Ticket};
use wordline_kernel::ensure::ensure;
use wordline_kernel::{Column, Duration, Instant, Schedule, state};
use wordline_nand::{DataTag, Location, PlaneGroupId};

use crate::blocks::BlockManager;
use crate::config::Config;
use crate::map::translation::{Continuation, GuessCounts, Translation, Waiter};
use crate::map::{LogicalPage, Map, Relocation};
use crate::policies::ActivePolicies;
use crate::policy::mapper::{Mapper, TranslationPage};
use crate::policy::placement::PlaneGroupSet;
use crate::totals::Totals;
use crate::{LocationRead, Sectors, WantedSectors};

pub(crate) use guessed::{AfterGuess, HostGuess};

/// Map entries in memory, and the translation pages of the others.
pub struct MapCache {
    /// `None` if the whole map is in memory.
    translation: Option<Translation>,
}

state!(MapCache { parts { translation } });

/// Lookups of entries, and the reads of translation pages for them.
impl MapCache {
    /// Cache of a map without written pages.
    pub fn new(config: &Config, mapper: Box<dyn Mapper>) -> Self {
        Self { translation: config.map_cache().map(|size| Translation::of(config, mapper, size)) }
    }

    /// Translation pages; `None` if the whole map is in memory.
    #[inline]
    pub fn translation(&self) -> Option<&Translation> {
        self.translation.as_ref()
    }

    /// Whether the whole map is in memory.
    #[inline]
    pub fn is_whole_map(&self) -> bool {
        self.translation.is_none()
    }

    /// Looks up the map entry of a page. Returns the translation page that must be read, with its location;
    /// `None` if the entry is in memory now.
    #[inline]
    pub(crate) fn table_to_read(
        &mut self,
        page: LogicalPage,
        map: &Map,
        totals: &mut Totals,
    ) -> Option<(TranslationPage, Location)> {
        let translation = self.translation.as_mut()?;
        if translation.mapper.policy.lookup(page) {
            totals.map_hits += 1;
            return None;
        }
        totals.map_misses += 1;
        self.table_of_missing(page, map)
    }

    /// Translation page that must be read for an entry that is not in memory, with its location. If the
    /// translation page is in memory or was never written, loads the entry and returns `None`.
    fn table_of_missing(&mut self, page: LogicalPage, map: &Map) -> Option<(TranslationPage, Location)> {
        let translation = self.translation.as_ref()?;
        let table = translation.table_of(page);
        let in_flash = map.get(translation.logical(table));
        let found = in_flash.filter(|_| !translation.is_in_memory(table));
        if found.is_none() {
            self.load_entry(page);
        }
        found.map(|location| (table, location))
    }

    /// Makes a command wait for the entry of a page, whose translation page must be read. The wait began at
    /// `since`.
    pub(crate) fn wait(&mut self, then: Continuation, page: LogicalPage, since: Instant) {
        if let Some(translation) = &mut self.translation {
            translation.wait(then, page, since);
        }
    }

    /// Loads the map entry of a page into the cache.
    fn load_entry(&mut self, page: LogicalPage) {
        let Some(translation) = &mut self.translation else { return };
        if let Some(table) = translation.mapper.policy.load(page) {
            translation.write_back(table);
        }
    }

    /// Reads a translation page, unless it is already being read. A read that a host command waits for is
    /// promoted.
    pub(crate) fn read_table(
        &mut self,
        (table, location): (TranslationPage, Location),
        class: Class,
        blocks: &mut BlockManager,
        flash: &mut Flash,
        policies: &ActivePolicies,
        calendar: &mut impl Schedule<Event>,
    ) {
        let Some(translation) = &mut self.translation else { return };
        if translation.is_being_read(table) {
            if class == Class::Read {
                flash.promote(&[Ticket::Table(table.0)], policies, calendar);
            }
            return;
        }
        let sectors = blocks.pools().of_location(location).locations.size.0 / SECTOR.0;
        let read = LocationRead {
            ticket: Ticket::Table(table.0),
            class,
            location,
            sectors: WantedSectors::Set(Sectors::range(0, sectors as u32)),
            logical: translation.logical(table),
            version: translation.version(table),
            waited: Duration::ZERO,
        };
        let (die, reads) = read.queue(blocks, flash, calendar.now());
        translation.reading(table, reads);
        flash.start_at_end_of_event(die);
    }

    /// Handles the read of a flash page of a translation page. After the last one, its entries are available.
    pub fn table_read(&mut self, table: u32) {
        let table = TranslationPage(table);
        let Some(translation) = &mut self.translation else { return };
        if translation.read_done(table) && translation.is_reading(table) {
            translation.stage(table);
        }
    }

    /// Takes the list of waiters for the entries of a translation page, if it is in memory now.
    /// [`next_located`](Self::next_located) takes them one by one.
    pub fn take_waiters(&mut self, table: u32) -> Option<u32> {
        let translation = self.translation.as_mut()?;
        let table = TranslationPage(table);
        (!translation.is_being_read(table)).then(|| translation.take_waiters(table))
    }

    /// Takes the next waiter, whose location is now known.
    pub fn next_located(&mut self, waiting: &mut u32) -> Option<Waiter> {
        let waiter = self.translation.as_mut()?.next_waiter(waiting)?;
        self.load_entry(waiter.page);
        Some(waiter)
    }

    /// Ticket for a read of the translation page of a page; `None` if the map is in memory.
    pub fn ticket_of_table(&self, page: LogicalPage) -> Option<Ticket> {
        self.translation.as_ref().map(|translation| Ticket::Table(translation.table_of(page).0))
    }

    /// Whether the map entry of a page is in memory. The call counts as a use of the entry.
    pub fn is_entry_cached(&mut self, page: LogicalPage) -> bool {
        self.translation.as_mut().is_none_or(|translation| translation.mapper.policy.lookup(page))
    }

    /// Counters of guesses; `None` if the mapper does not guess.
    pub fn guesses(&self) -> Option<&GuessCounts> {
        let guesses = self.translation.as_ref()?.mapper.guesses.as_ref()?;
        Some(&guesses.counts)
    }
}

/// Changes of entries, and of the translation pages that contain them.
impl MapCache {
    /// Records that a host page moved from `from` to `to`. Its entry was looked up before.
    #[inline]
    pub fn note_update(
        &mut self,
        page: LogicalPage,
        from: Option<Location>,
        to: Location,
        blocks: &BlockManager,
    ) {
        if self.translation.is_some() {
            self.update_tables(page, from, to, blocks);
        }
    }

    #[inline(never)]
    fn update_tables(
        &mut self,
        page: LogicalPage,
        from: Option<Location>,
        to: Location,
        blocks: &BlockManager,
    ) {
        let is_told = |location: Location| blocks.is_mapped_by_page(location);
        if (is_told(to) || from.is_some_and(is_told))
            && let Some(translation) = &mut self.translation
        {
            translation.mapper.train(page, to);
            if let Some(table) = translation.mapper.policy.update(page) {
                translation.write_back(table);
            }
        }
    }

    /// Records that a page is not at `from` any more. Its entry was not looked up.
    #[inline]
    pub fn note_change(&mut self, page: LogicalPage, from: Location, blocks: &BlockManager) {
        if let Some(translation) = &mut self.translation
            && blocks.is_mapped_by_page(from)
        {
            translation.amend(page);
        }
    }

    /// Maps a relocated page to `to` and invalidates its old location. This changes its translation page, if
    /// it has one.
    #[inline]
    pub fn relocate(&mut self, moved: Relocation, to: Location, map: &mut Map, blocks: &mut BlockManager) {
        map.relocate(moved, to, blocks);
        if let Some(translation) = &mut self.translation
            && blocks.is_mapped_by_page(to)
        {
            translation.moved(moved.stamp.logical, to);
        }
    }

    /// Maps a page that was read to complete a program of its mapping unit. Its location is `location` now.
    /// Does nothing if the host has overwritten or discarded the page meanwhile.
    pub fn install_carried(
        &mut self,
        stamp: DataTag,
        location: Location,
        map: &mut Map,
        blocks: &mut BlockManager,
        flash: &Flash,
    ) {
        if map.holds(stamp, flash) {
            let page = LogicalPage(stamp.logical);
            let old = map.install(page, location, blocks);
            self.note_update(page, old, location, blocks);
        }
    }

    /// Maps a page that migrated to another pool. Its location is `location` now. Does nothing if the host
    /// has overwritten or discarded the page meanwhile.
    pub fn install_migrated(
        &mut self,
        stamp: DataTag,
        location: Location,
        map: &mut Map,
        blocks: &mut BlockManager,
        flash: &Flash,
    ) {
        if let Some(from) = map.get(LogicalPage(stamp.logical)).filter(|_| map.holds(stamp, flash)) {
            self.relocate(Relocation { stamp, from }, location, map, blocks);
        }
    }

    /// Reports to a mapper that guesses that preconditioning placed a page.
    pub fn note_placed(&mut self, page: LogicalPage, at: Location, blocks: &BlockManager) {
        if let Some(translation) = &mut self.translation
            && blocks.is_mapped_by_page(at)
        {
            translation.mapper.train(page, at);
        }
    }

    /// Queues for writing the translation pages that changed without a lookup and were held back.
    #[inline]
    pub fn release_tables(&mut self) {
        if let Some(translation) = &mut self.translation {
            translation.release();
        }
    }

    /// Locations of all pages if part of the map is in flash; empty otherwise.
    pub fn places(&self, map: &Map) -> Vec<Option<Location>> {
        let pages = if self.translation.is_some() { map.pages() } else { 0 };
        (0..pages).map(|page| map.get(LogicalPage(page))).collect()
    }

    /// Marks translation pages as changed if one of their pages was at another location `before` the power
    /// cut.
    pub fn note_moves_since(&mut self, before: &[Option<Location>], map: &Map, blocks: &BlockManager) {
        let Some(translation) = &self.translation else { return };
        for (page, before) in translation.mapped_pages().zip(before) {
            let now = map.get(page);
            if now != *before {
                before.iter().chain(&now).for_each(|at| self.note_change(page, *at, blocks));
            }
        }
    }

    /// Restores the translation pages after a power cut. `found` returns the version of a translation page in
    /// flash, and its plane group. With a valid checkpoint, recovery reads only a part of the pages and does
    /// not rebuild the clean cache entries.
    pub fn recover(
        &mut self,
        has_checkpoint: bool,
        found: impl Fn(LogicalPage) -> Option<(u32, PlaneGroupId)>,
    ) {
        if let Some(translation) = &mut self.translation {
            translation.forget(found);
            if has_checkpoint {
                translation.mapper.policy.keep_changed();
            }
        }
    }
}

/// Writes of translation pages, for [`MapTables`](super::tables::MapTables).
impl MapCache {
    /// Next translation page to read, with its location, of those that are queued for writing. Those that were
    /// never written need no read, and are staged. `None` if no page is queued.
    pub(crate) fn next_queued_table(&mut self, map: &Map) -> Option<(TranslationPage, Location)> {
        let translation = self.translation.as_mut()?;
        loop {
            let table = translation.take_queued()?;
            match map.get(translation.logical(table)) {
                Some(location) => return Some((table, location)),
                None => translation.stage(table),
            }
        }
    }

    /// Adds up to `pages` queued translation pages to the program unit of a plane group.
    pub(super) fn fill_unit(
        &mut self,
        row: PlaneGroupId,
        pages: u32,
        unit: &mut Vec<DataTag>,
        map: &mut Map,
    ) {
        let Some(translation) = &mut self.translation else { return };
        translation.begin_unit(row);
        while unit.len() < pages as usize {
            let Some(table) = translation.begin_program() else { break };
            let logical = translation.logical(table);
            unit.push(DataTag { logical: logical.0, version: map.written(logical) });
        }
    }

    /// Whether a program unit of translation pages can be written.
    pub(super) fn has_unit(&self) -> bool {
        self.translation.as_ref().is_some_and(Translation::has_unit)
    }

    /// Next plane group in turn for a program unit of translation pages for which `takes` returns true, among
    /// the `accepting` plane groups.
    pub(super) fn next_row(
        &self,
        accepting: &PlaneGroupSet,
        takes: impl Fn(&PlaneGroupId) -> bool,
    ) -> Option<PlaneGroupId> {
        self.translation.as_ref()?.next_row(accepting, |row| takes(&row))
    }

    /// Whether it is the turn of translation pages in a plane group for which the host waits.
    pub(super) fn has_turn(&self, row: PlaneGroupId) -> bool {
        self.translation.as_ref().is_some_and(|translation| translation.has_turn(row))
    }

    /// Records that the host programs a plane group, which gives translation pages a new turn there.
    #[inline]
    pub fn note_host_program(&mut self, row: PlaneGroupId) {
        if let Some(translation) = &mut self.translation {
            translation.turn_over(row);
        }
    }

    /// Records that a translation page is in plane group `to` now, and no longer in `from`.
    pub(super) fn note_place(&mut self, from: Option<PlaneGroupId>, to: PlaneGroupId) {
        if let Some(translation) = &mut self.translation {
            translation.note_place(from, to);
        }
    }

    /// Records that a translation page was programmed.
    pub(super) fn programmed(&mut self, stamp: DataTag) {
        if let Some((translation, table)) = self.table(stamp.logical) {
            translation.programmed(table, stamp.version);
        }
    }

    /// Records that the program of a translation page failed. The page is still in memory.
    pub(super) fn program_failed(&mut self, stamp: DataTag) {
        if let Some((translation, table)) = self.table(stamp.logical) {
            translation.program_failed(table);
        }
    }

    /// Records that a translation page in a plane group became unreadable.
    pub(super) fn lose(&mut self, page: LogicalPage, row: PlaneGroupId) {
        if let Some((translation, table)) = self.table(page.0) {
            translation.lost(table, row);
        }
    }

    /// Translation page with this logical page number; `None` if the map is in memory.
    fn table(&mut self, logical: u32) -> Option<(&mut Translation, TranslationPage)> {
        let translation = self.translation.as_mut()?;
        let table = translation.table(logical).expect("it has the number of a translation page");
        Some((translation, table))
    }

    /// Records that preconditioning placed a version of a translation page in a plane group. Returns its data
    /// tag.
    pub(super) fn lay(&mut self, table: TranslationPage, version: u32, row: PlaneGroupId) -> Option<DataTag> {
        let translation = self.translation.as_mut()?;
        translation.lay(table, version, row);
        Some(DataTag { logical: translation.logical(table).0, version })
    }

    /// Begins a checkpoint, which waits until all changed translation pages are written.
    pub(super) fn begin_checkpoint(&mut self) {
        if let Some(translation) = &mut self.translation {
            translation.begin_checkpoint();
        }
    }

    /// Stops waiting for translation pages, because the checkpoint was abandoned.
    pub(super) fn cancel_checkpoint_wait(&mut self) {
        if let Some(translation) = &mut self.translation {
            translation.cancel_checkpoint_wait();
        }
    }

    /// Whether a checkpoint waits for translation pages.
    pub(super) fn has_checkpoint_pages(&self) -> bool {
        self.translation.as_ref().is_some_and(Translation::has_checkpoint_pages)
    }

    /// Translation pages that are in flash.
    pub(super) fn placed(&self) -> u32 {
        self.translation.as_ref().map_or(0, |translation| translation.placed().all())
    }

    /// Translation pages in a plane group.
    pub(super) fn tables_in(&self, row: PlaneGroupId) -> u32 {
        self.translation.as_ref().map_or(0, |translation| translation.placed().in_row(row))
    }

    /// Whether the translation pages in flash are counted in the plane groups that have this number of them.
    pub(super) fn counts(&self, placed: &Column<PlaneGroupId, u32>) -> bool {
        self.translation.as_ref().is_none_or(|translation| translation.placed().counts(placed))
    }
}

/// Checks.
impl MapCache {
    /// Checks that the location of each written translation page is valid and has its last version.
    pub fn audit(&self, map: &Map, blocks: &BlockManager, flash: &Flash) {
        let Some(translation) = &self.translation else { return };
        for table in translation.tables() {
            let (logical, version) = (translation.logical(table), translation.version(table));
            let home = map.get(logical);
            assert_eq!(home.is_some(), version > 0, "translation page {table:?} is where its version says");
            if let Some(location) = home {
                let found = flash.stamp(location);
                assert_eq!(found, DataTag { logical: logical.0, version }, "translation page {table:?}");
                assert!(blocks.table().is_valid(location), "translation page {table:?} is valid");
            }
        }
    }

    /// Checks the loaded state. Requests that wait for a map entry must be `known`.
    pub(crate) fn check_loaded(&self, known: impl Fn(RequestId) -> bool) -> Result<(), String> {
        self.translation.as_ref().map_or(Ok(()), |translation| translation.check_loaded(known))
    }

    /// Checks that a read of each translation page will find the recorded version.
    pub fn check_versions(&self, map: &Map, flash: &Flash) -> Result<(), String> {
        let Some(translation) = &self.translation else { return Ok(()) };
        for table in translation.tables() {
            let found = map.version_in_flash(translation.logical(table), flash).unwrap_or(0);
            ensure(found == translation.version(table), || {
                format!("version {found} of translation page {} is in flash", table.0)
            })?;
        }
        Ok(())
    }
}
