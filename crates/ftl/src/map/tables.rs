//! Tables in flash: the discard table and checkpoints, and the program units of all table pages. The other
//! table in flash is the translation pages of the [cached map](super::map_cache).

mod end_of_life;
mod table_record;

use std::collections::{BTreeMap, BTreeSet};

use wordline_flash::{Flash, RequestId};
use wordline_kernel::ensure::ensure;
use wordline_kernel::{Column, state};
use wordline_nand::{BlockSetId, Chips, CutLosses, DataTag, Location, PlaneGroupId};

use crate::blocks::BlockManager;
use crate::config::Config;
use crate::config::DiscardsAtCut;
use crate::contents::{Contents, InjectedFault};
use crate::health::DeviceHealth;
use crate::map::checkpoint::{Checkpoints, Known};
use crate::map::discards::{DiscardPage, Discards};
use crate::map::map_cache::MapCache;
use crate::map::{LogicalPage, Map};
use crate::policy::mapper::TranslationPage;
use crate::policy::placement::{Placement, PlaneGroupSet};
use crate::pools::{FALLBACK_POOL, Shares};
use table_record::TableRecord;

/// Tables whose pages are written in program units of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tables {
    /// Translation pages.
    Translation,
    /// Pages of the discard table.
    Discards,
}

/// Discard table and checkpoints.
pub struct MapTables {
    /// `None` if a power cut loses discards.
    discards: Option<Discards>,
    /// `None` if the device makes no checkpoints.
    checkpoints: Option<Box<Checkpoints>>,
    /// `None` unless the contents of tables are recorded for audits.
    told: Option<Box<TableRecord>>,
}

state!(MapTables { values { told } parts { discards, checkpoints } });

impl MapTables {
    /// Empty tables.
    pub fn new(config: &Config) -> Self {
        Self { discards: new_discards(config), checkpoints: Checkpoints::of(config), told: None }
    }

    /// Resets operations in progress after a power cut.
    pub fn forget(&mut self) {
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.forget();
        }
    }

    /// Discard table; `None` if a power cut loses discards.
    #[inline]
    pub fn discards(&self) -> Option<&Discards> {
        self.discards.as_ref()
    }

    /// Checkpoints of the map; `None` if none are made.
    #[inline]
    pub fn checkpoints(&self) -> Option<&Checkpoints> {
        self.checkpoints.as_deref()
    }

    /// State of the discard table and its waiters, as text.
    pub fn describe(&self) -> String {
        let Some(discards) = &self.discards else { return String::new() };
        let (due, waited) = (discards.is_due(), discards.has_waiters());
        format!("discards: due {due}, waiters {waited}, idle {}\n", discards.is_at_rest())
    }

    /// Maps a translation page, or a page of the discard table, to `location`.
    pub fn install_table(
        &mut self,
        logical: LogicalPage,
        location: Location,
        map: &mut Map,
        cache: &mut MapCache,
        blocks: &mut BlockManager,
    ) {
        let group_of = |location| blocks.table().group_of(blocks.pools().block_of(location));
        let from = map.get(logical).map(group_of);
        let to = group_of(location);
        map.install(logical, location, blocks);
        match &mut self.discards {
            Some(discards) if discards.table(logical.0).is_some() => discards.note_place(from, to),
            _ => cache.note_place(from, to),
        }
    }

    /// Checks that table pages are counted in the right plane groups, and that a block has readers only if
    /// reads are outstanding or the discard table holds blocks.
    pub(crate) fn check_loaded(
        &self,
        host_pages: u32,
        map: &Map,
        cache: &MapCache,
        blocks: &BlockManager,
        flash: &Flash,
    ) -> Result<(), String> {
        let pools = blocks.pools();
        let is_read = |block| blocks.table().readers(block) > 0;
        let reads = flash.outstanding() > 0 || self.discards.as_ref().is_some_and(Discards::holds);
        ensure(reads || !pools.all_blocks().any(is_read), || {
            "blocks have readers, but no read is outstanding".into()
        })?;
        let nowhere = Column::filled(pools.rows() as usize, 0);
        let [mut translation, mut discards] = [nowhere.clone(), nowhere];
        for page in host_pages..map.pages() {
            let Some(location) = map.get(LogicalPage(page)) else { continue };
            let is_of_discards = self.discards().is_some_and(|discards| discards.table(page).is_some());
            let counts = if is_of_discards { &mut discards } else { &mut translation };
            counts[pools.group_of(location)] += 1;
        }
        let holds = cache.counts(&translation)
            && self.discards().is_none_or(|tables| tables.placed().counts(&discards));
        ensure(holds, || "table pages are counted in other plane groups than they are in".into())
    }
}

/// Program units of table pages.
impl MapTables {
    /// Whether a program unit of a table can be written.
    pub fn has_unit(&self, of: Tables, cache: &MapCache) -> bool {
        match of {
            Tables::Translation => cache.has_unit(),
            Tables::Discards => self.has_discards_to_write(),
        }
    }

    /// Whether a program unit of table pages may go to a plane group. Translation pages wait for their turn in
    /// a plane group if the host waits for it.
    pub fn may_write_to(
        &self,
        row: PlaneGroupId,
        of: Tables,
        cache: &MapCache,
        host_waits: impl FnOnce() -> bool,
    ) -> bool {
        of == Tables::Discards || cache.has_turn(row) || !host_waits()
    }

    /// Plane group for a unit of table pages under static allocation, among the `accepting` plane groups.
    /// Translation pages use the plane groups in turn. A plane group is left out if it would not keep enough
    /// space for its own pages. If a balancer `balances` it always does, because pages of a full plane group go to
    /// another plane group.
    pub fn row_for_tables(
        &self,
        of: Tables,
        accepting: &PlaneGroupSet,
        cache: &MapCache,
        health: &DeviceHealth,
        blocks: &BlockManager,
        balances: bool,
    ) -> Option<PlaneGroupId> {
        let takes = |row: &PlaneGroupId| balances || self.has_room_for_tables(*row, cache, health, blocks);
        match of {
            Tables::Translation => cache.next_row(accepting, takes),
            Tables::Discards => accepting.iter().find(takes),
        }
    }

    /// Adds up to `pages` queued pages of a table to the program unit of a plane group.
    pub fn fill_unit(
        &mut self,
        of: Tables,
        (row, pages): (PlaneGroupId, u32),
        unit: &mut Vec<DataTag>,
        map: &mut Map,
        cache: &mut MapCache,
    ) {
        match of {
            Tables::Translation => cache.fill_unit(row, pages, unit, map),
            Tables::Discards => self.fill_unit_with_discards(pages, unit, map),
        }
        self.record_contents(unit, map, cache);
    }

    fn fill_unit_with_discards(&mut self, pages: u32, unit: &mut Vec<DataTag>, map: &mut Map) {
        let Some(discards) = &mut self.discards else { return };
        while unit.len() < pages as usize {
            let Some(table) = discards.take_queued() else { break };
            let logical = discards.logical(table);
            let version = map.written(logical);
            discards.begin_program(table, version);
            unit.push(DataTag { logical: logical.0, version });
        }
    }

    /// Records that a page of a table was programmed.
    pub fn table_programmed(
        &mut self,
        stamp: DataTag,
        location: Location,
        map: &mut Map,
        cache: &mut MapCache,
        blocks: &mut BlockManager,
    ) {
        self.install_table(LogicalPage(stamp.logical), location, map, cache, blocks);
        if let Some(told) = &mut self.told {
            told.programmed(stamp);
        }
        match self.discard_page_of(stamp.logical) {
            Some((discards, table)) => discards.programmed(table),
            None => cache.programmed(stamp),
        }
    }

    /// Records that the program of a table page failed. The page is still in memory.
    pub fn table_program_failed(&mut self, stamp: DataTag, cache: &mut MapCache) {
        match self.discard_page_of(stamp.logical) {
            Some((discards, table)) => discards.program_failed(table),
            None => cache.program_failed(stamp),
        }
    }

    /// Records that a table page in a plane group became unreadable.
    pub fn lose_table(&mut self, page: LogicalPage, row: PlaneGroupId, cache: &mut MapCache) {
        match self.discard_page_of(page.0) {
            Some((discards, table)) => discards.lost(table, row),
            None => cache.lose(page, row),
        }
        self.lose_checkpoint(cache);
    }

    /// Records that preconditioning placed a version of a translation page in a plane group.
    pub fn lay_table(
        &mut self,
        table: TranslationPage,
        version: u32,
        row: PlaneGroupId,
        map: &Map,
        cache: &mut MapCache,
    ) {
        if let Some(page) = cache.lay(table, version, row) {
            self.record_contents(&[page], map, cache);
        }
    }

    /// Page of the discard table with this logical page number; `None` if the number is of another page.
    fn discard_page_of(&mut self, logical: u32) -> Option<(&mut Discards, DiscardPage)> {
        let discards = self.discards.as_mut()?;
        let table = discards.table(logical)?;
        Some((discards, table))
    }

    /// Whether a plane group has space for a unit of table pages in addition to its statically assigned
    /// pages.
    fn has_room_for_tables(
        &self,
        row: PlaneGroupId,
        cache: &MapCache,
        health: &DeviceHealth,
        blocks: &BlockManager,
    ) -> bool {
        let unit = blocks.pools().per_program(row);
        let fits = |spare| self.tables_in(row, cache) + unit <= spare;
        health.spare_beyond_static(row, blocks).is_some_and(fits)
    }

    /// Valid host pages in a pool. `shares` says which pool has the tables.
    pub fn held_by_host(&self, pool: usize, cache: &MapCache, shares: &Shares, blocks: &BlockManager) -> u64 {
        let tables = match pool == shares.pool_of_tables() {
            true => cache.placed() + self.discards.as_ref().map_or(0, |discards| discards.placed().all()),
            false => 0,
        };
        blocks.by_pool()[pool].valid() - u64::from(tables)
    }

    /// Table pages in a plane group.
    fn tables_in(&self, row: PlaneGroupId, cache: &MapCache) -> u32 {
        cache.tables_in(row) + self.discards.as_ref().map_or(0, |discards| discards.placed().in_row(row))
    }
}

/// Discards, and the flushes that wait for them.
impl MapTables {
    /// Executes a host discard of a page: unmaps it, and forgets its losses.
    pub fn discard(
        &mut self,
        page: LogicalPage,
        map: &mut Map,
        cache: &mut MapCache,
        blocks: &mut BlockManager,
    ) {
        let old = map.discard(page);
        if let Some(discards) = &mut self.discards {
            discards.discard(page, map.versions(page));
        }
        if let Some(old) = old {
            blocks.invalidate(old);
            cache.note_change(page, old, blocks);
        }
    }

    /// Drops all flushes that wait for discards.
    pub fn forget_waiters(&mut self) {
        if let Some(discards) = &mut self.discards {
            discards.forget_waiters();
        }
    }

    /// Makes a request wait until all discards so far survive a power cut. Returns false if they already do.
    pub fn wait_for_discards(&mut self, id: RequestId) -> bool {
        self.discards.as_mut().is_some_and(|discards| discards.flush(id))
    }

    /// Whether pages of the discard table must be written.
    #[inline]
    pub fn has_discards_to_write(&self) -> bool {
        self.discards.as_ref().is_some_and(Discards::is_due)
    }

    /// Next page of the discard table to be written, and its statically assigned plane group.
    pub fn next_discard_page(&self, placement: &dyn Placement) -> Option<(PlaneGroupId, LogicalPage)> {
        let discards = self.discards.as_ref()?;
        let page = discards.logical(discards.next_queued()?);
        placement.home(page.0, FALLBACK_POOL).map(|row| (row, page))
    }

    /// Takes the flushes that waited for pages of the discard table, if all of these pages are in flash.
    /// `None` while pages are in progress, or if no flush waits.
    pub fn take_completed_flushes(&mut self, cache: &MapCache) -> Option<Vec<RequestId>> {
        let discards = self.discards.as_mut().filter(|discards| discards.is_at_rest())?;
        if let Some(checkpoints) = &mut self.checkpoints
            && !cache.has_checkpoint_pages()
        {
            checkpoints.over();
        }
        discards.has_waiters().then(|| discards.finish_batch())
    }

    /// Takes the blocks that may be erased again. Until now each of them counted as being read.
    pub fn take_held(&mut self) -> Vec<BlockSetId> {
        self.discards.as_mut().map_or_else(Vec::new, Discards::take_held)
    }
}

/// Checkpoints.
impl MapTables {
    /// Begins a checkpoint of the map if the host has written enough. Does nothing while the clock of the
    /// flash is stopped. Erases are not counted then, so recovery could not detect that a block was erased
    /// after the checkpoint.
    #[inline]
    pub fn note_checkpoint(
        &mut self,
        host_programs: u64,
        cache: &mut MapCache,
        flash: &Flash,
        contents: Option<&Contents>,
    ) {
        if self.checkpoints.as_ref().is_some_and(|checkpoints| checkpoints.is_due(host_programs))
            && flash.is_clock_running()
        {
            self.begin_checkpoint(host_programs, cache, flash.chips(), contents);
        }
    }

    #[cold]
    fn begin_checkpoint(
        &mut self,
        host_programs: u64,
        cache: &mut MapCache,
        chips: &Chips,
        contents: Option<&Contents>,
    ) {
        if let (Some(discards), Some(checkpoints)) = (&mut self.discards, &mut self.checkpoints)
            && discards.begin_checkpoint()
        {
            let known =
                |(block, erases): (_, &u32)| Known { programmed: chips.programmed(block), erases: *erases };
            checkpoints.begin(host_programs, chips.erases().entries().map(known));
            if !InjectedFault::ChangesNotWritten.is_enabled(contents) {
                cache.begin_checkpoint();
            }
        }
    }

    /// Invalidates the last checkpoint and the one in progress, because a page of a checkpoint is lost.
    fn lose_checkpoint(&mut self, cache: &mut MapCache) {
        let Some(checkpoints) = &mut self.checkpoints else { return };
        checkpoints.lost();
        cache.cancel_checkpoint_wait();
    }

    /// Drops checkpoints after a power cut that destroyed pages programmed earlier, because only a full scan
    /// finds older copies of them.
    pub fn note_interrupted(&mut self, torn: &CutLosses, cache: &mut MapCache) {
        if torn.partners > 0 {
            self.lose_checkpoint(cache);
        }
    }
}

/// Recovery after a power cut.
impl MapTables {
    /// Restores the discard table and the translation pages from the pages that recovery found.
    pub fn recover(&mut self, map: &Map, cache: &mut MapCache, blocks: &BlockManager, flash: &Flash) {
        let found = |logical| {
            let location = map.get(logical)?;
            Some((flash.stamp(location).version, blocks.table().group_of(blocks.pools().block_of(location))))
        };
        if let Some(discards) = &mut self.discards {
            discards.recover(found);
        }
        cache.recover(self.checkpoints().is_some_and(Checkpoints::is_valid), found);
    }

    /// Last discarded version of a page. Unmaps the page if the version found is not newer.
    pub fn last_discarded(
        &self,
        page: LogicalPage,
        found: Option<u32>,
        map: &mut Map,
        blocks: &mut BlockManager,
    ) -> u32 {
        let void = self.discards.as_ref().map_or(0, |discards| discards.last_discarded(page));
        if found.is_some_and(|found| found <= void) {
            map.unmap(page, blocks);
        }
        void
    }

    /// Keeps discards that were found after a power cut. `pages` has each such page with its last version.
    /// Only the newest program unit of the page's mapping unit shows the discard, because that program unit
    /// does not contain the page. If the device keeps discards, they are written to flash before any of the
    /// blocks that show them is erased.
    pub fn keep_discarded(
        &mut self,
        pages: &BTreeMap<LogicalPage, u32>,
        shown_by: &BTreeSet<BlockSetId>,
        map: &Map,
        blocks: &mut BlockManager,
    ) {
        let Some(discards) = self.discards.as_mut().filter(|discards| discards.is_written()) else { return };
        let discarded = pages.iter().filter(|(page, _)| !map.is_lost(**page));
        discarded.for_each(|(page, version)| discards.discard(*page, *version));
        if discards.hold(shown_by) {
            shown_by.iter().for_each(|block| blocks.read_queued(*block));
        }
    }

    /// Resumes the tables after a power cut and writes their changes. Until then the blocks of
    /// [`take_held`](Self::take_held) must not be erased.
    pub fn resume(&mut self, cache: &mut MapCache) {
        cache.release_tables();
        if let Some(discards) = &mut self.discards {
            discards.begin_held_batch();
        }
    }

    /// Records the contents of tables in flash from now on, if recovery depends on them.
    pub fn begin_record(&mut self) {
        if self.checkpoints.is_some() {
            self.told.get_or_insert_default();
        }
    }

    /// Records the current contents of table pages that are being programmed.
    fn record_contents(&mut self, pages: &[DataTag], map: &Map, cache: &MapCache) {
        if let Some(mut told) = self.told.take() {
            let tables = self.lookup(map, cache);
            pages.iter().filter(|page| page.is_data()).for_each(|page| told.note(*page, &tables));
            self.told = Some(told);
        }
    }

    /// Compares the state found by recovery with the recorded contents after a power cut.
    pub fn note_found(&mut self, map: &Map, cache: &MapCache, blocks: &BlockManager, flash: &Flash) {
        if let Some(mut told) = self.told.take() {
            told.note_found(&self.lookup(map, cache), blocks, flash);
            self.told = Some(told);
        }
    }

    /// Checks after a power cut, before anything is read, that recovery will find every location that the map
    /// knew.
    pub fn audit_record(&self, map: &Map, cache: &MapCache, blocks: &BlockManager, flash: &Flash) {
        if let Some(told) = &self.told {
            told.audit(&self.lookup(map, cache), blocks, flash);
        }
    }
}

/// Discard table; `None` if the configuration needs none.
fn new_discards(config: &Config) -> Option<Discards> {
    let kept = config.file.keeps_memory;
    let in_flash = config.file.ftl.recovery.discards == DiscardsAtCut::Kept;
    (in_flash || kept).then(|| Discards::new(config, kept))
}
