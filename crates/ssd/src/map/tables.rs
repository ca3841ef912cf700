//! Tables in flash. Translation pages exist if only a part of the map is in memory. A request for an entry
//! that is not in memory waits for the read of a translation page. The other table in flash is the discard
//! table.

use wordline_flash::{Class, RequestId, Ticket};
use wordline_kernel::ensure::ensure;
use wordline_kernel::{Column, Duration, Instant, Schedule};
use wordline_nand::{BlockSetId, CutLosses, DataTag, Location, PlaneGroupId};

use crate::base::{Base, LocationRead, WantedSectors};
use crate::contents::InjectedFault;
use crate::event::Event;
use crate::map::checkpoint::Known;
use crate::map::discards::{DiscardPage, Discards};
use crate::map::translation::{Continuation, Translation, Waiter};
use crate::map::{LogicalPage, Map};
use crate::policy::mapper::TranslationPage;
use crate::policy::placement::PlaneGroupSet;
use crate::pools::FALLBACK_POOL;

/// Tables whose pages are written in program units of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tables {
    /// Translation pages.
    Translation,
    /// Pages of the discard table.
    Discards,
}

impl Map {
    /// Whether the location of `page` is known now. If not, its translation page is read, and `then`
    /// continues after the read.
    #[inline]
    pub(crate) fn locate_or_wait(
        &mut self,
        page: LogicalPage,
        (then, class): (Continuation, Class),
        base: &mut Base,
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        self.translation.is_none() || self.locate(page, (then, class), base, calendar)
    }

    #[inline(never)]
    fn locate(
        &mut self,
        page: LogicalPage,
        (then, class): (Continuation, Class),
        base: &mut Base,
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        match self.table_to_read(page, base) {
            Some(table) => {
                self.wait_for_table(table, (then, class), (page, calendar.now()), base, calendar);
                false
            }
            None => true,
        }
    }

    /// Looks up the map entry of a page. Returns the translation page that must be read, with its location;
    /// `None` if the entry is in memory now.
    #[inline]
    pub(super) fn table_to_read(
        &mut self,
        page: LogicalPage,
        base: &mut Base,
    ) -> Option<(TranslationPage, Location)> {
        let translation = self.translation.as_mut()?;
        if translation.mapper.policy.lookup(page) {
            base.totals.map_hits += 1;
            return None;
        }
        base.totals.map_misses += 1;
        self.table_of_missing(page)
    }

    /// Translation page that must be read for an entry that is not in memory, with its location. If the
    /// translation page is in memory or was never written, loads the entry and returns `None`.
    pub(super) fn table_of_missing(&mut self, page: LogicalPage) -> Option<(TranslationPage, Location)> {
        let translation = self.translation.as_ref()?;
        let table = translation.table_of(page);
        let in_flash = self.pages.get(translation.logical(table));
        let found = in_flash.filter(|_| !translation.is_in_memory(table));
        if found.is_none() {
            self.load_entry(page);
        }
        found.map(|location| (table, location))
    }

    /// Makes a command wait for the entry of a page, and reads its translation page. The wait began at
    /// `since`.
    pub(super) fn wait_for_table(
        &mut self,
        (table, location): (TranslationPage, Location),
        (then, class): (Continuation, Class),
        (page, since): (LogicalPage, Instant),
        base: &mut Base,
        calendar: &mut impl Schedule<Event>,
    ) {
        if let Some(translation) = &mut self.translation {
            translation.wait(then, page, since);
        }
        self.read_table(table, location, class, base, calendar);
    }

    /// Loads the map entry of a page into the cache.
    fn load_entry(&mut self, page: LogicalPage) {
        let Some(translation) = &mut self.translation else { return };
        if let Some(table) = translation.mapper.policy.load(page) {
            translation.write_back(table);
        }
    }

    /// Reads a translation page, unless it is already being read.
    pub(crate) fn read_table(
        &mut self,
        table: TranslationPage,
        location: Location,
        class: Class,
        base: &mut Base,
        calendar: &mut impl Schedule<Event>,
    ) {
        let Some(translation) = &self.translation else { return };
        if translation.is_being_read(table) {
            if class == Class::Read {
                base.promote(&[Ticket::Table(table.0)], calendar);
            }
            return;
        }
        let read = LocationRead {
            ticket: Ticket::Table(table.0),
            class,
            location,
            sectors: WantedSectors::Set(base.full_page()),
            logical: translation.logical(table),
            version: translation.version(table),
            waited: Duration::ZERO,
        };
        let (die, reads) = base.queue_read(read, calendar);
        if let Some(translation) = &mut self.translation {
            translation.reading(table, reads);
        }
        base.start_die(die, calendar);
    }

    /// Handles the read of a flash page of a translation page. After the last one, its entries are available.
    pub(crate) fn table_read(&mut self, table: u32, base: &mut Base) {
        base.totals.translation_reads += 1;
        let table = TranslationPage(table);
        let Some(translation) = &mut self.translation else { return };
        if translation.read_done(table) && translation.is_reading(table) {
            self.stage_table(table);
        }
    }

    /// Takes the list of waiters for the entries of a translation page, if it is in memory now.
    /// [`next_located`](Self::next_located) takes them one by one.
    pub(crate) fn take_waiters(&mut self, table: u32) -> Option<u32> {
        let translation = self.translation.as_mut()?;
        let table = TranslationPage(table);
        (!translation.is_being_read(table)).then(|| translation.take_waiters(table))
    }

    /// Takes the next waiter, whose location is now known.
    pub(crate) fn next_located(&mut self, waiting: &mut u32) -> Option<Waiter> {
        let waiter = self.translation.as_mut()?.next_waiter(waiting)?;
        self.load_entry(waiter.page);
        Some(waiter)
    }

    /// Records that a host page moved from `from` to `to`. Its entry was looked up before.
    #[inline]
    pub(crate) fn note_update(
        &mut self,
        page: LogicalPage,
        from: Option<Location>,
        to: Location,
        base: &Base,
    ) {
        if self.translation.is_some() {
            self.update_tables(page, from, to, base);
        }
    }

    #[inline(never)]
    fn update_tables(&mut self, page: LogicalPage, from: Option<Location>, to: Location, base: &Base) {
        let is_told = |location: Location| base.blocks.is_mapped_by_page(location);
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
    pub(crate) fn note_change(&mut self, page: LogicalPage, from: Location, base: &Base) {
        if let Some(translation) = &mut self.translation
            && base.blocks.is_mapped_by_page(from)
        {
            translation.amend(page);
        }
    }

    /// Queues for writing the translation pages that changed without a lookup and were held back.
    #[inline]
    pub(crate) fn release_tables(&mut self) {
        if let Some(translation) = &mut self.translation {
            translation.release();
        }
    }

    /// Records that a translation page is in memory. If it must be written, it waits for a program unit.
    pub(crate) fn stage_table(&mut self, table: TranslationPage) {
        if let Some(translation) = &mut self.translation {
            translation.stage(table);
        }
    }

    /// Records the contents of tables in flash from now on, if recovery depends on them.
    pub(crate) fn record_tables(&mut self) {
        if self.checkpoints.is_some() {
            self.told.get_or_insert_default();
        }
    }

    /// Records the current contents of table pages that are being programmed.
    fn record_contents(&mut self, pages: &[DataTag]) {
        if let Some(mut told) = self.told.take() {
            pages.iter().filter(|page| page.is_data()).for_each(|page| told.note(*page, self));
            self.told = Some(told);
        }
    }

    /// Compares the state found by recovery with the recorded contents after a power cut.
    pub(crate) fn note_found(&mut self, base: &Base) {
        if let Some(mut told) = self.told.take() {
            told.note_found(self, base);
            self.told = Some(told);
        }
    }

    /// Maps a translation page, or a page of the discard table, to `location`.
    pub(crate) fn install_table(&mut self, logical: LogicalPage, location: Location, base: &mut Base) {
        let group_of = |location| base.blocks.table().group_of(base.config.pools.block_of(location));
        let from = self.pages.get(logical).map(group_of);
        let to = group_of(location);
        self.install(logical, location, base);
        match (&mut self.discards, &mut self.translation) {
            (Some(discards), _) if discards.table(logical.0).is_some() => discards.note_place(from, to),
            (_, Some(translation)) => translation.note_place(from, to),
            _ => {}
        }
    }

    /// Locations of all pages if part of the map is in flash; empty otherwise.
    pub(crate) fn places(&self) -> Vec<Option<Location>> {
        let pages = if self.translation.is_some() { self.pages.len() } else { 0 };
        (0..pages).map(|page| self.pages.get(LogicalPage(page))).collect()
    }

    /// Marks translation pages as changed if one of their pages was at another location `before` the power
    /// cut.
    pub(crate) fn note_moves_since(&mut self, before: &[Option<Location>], base: &Base) {
        for (page, before) in (0..base.config.logical_pages).map(LogicalPage).zip(before) {
            let now = self.pages.get(page);
            if now != *before {
                before.iter().chain(&now).for_each(|at| self.note_change(page, *at, base));
            }
        }
    }

    /// Drops checkpoints after a power cut that destroyed pages programmed earlier, because only a full scan
    /// finds older copies of them.
    pub(crate) fn note_interrupted(&mut self, torn: &CutLosses) {
        if torn.partners > 0 {
            self.lose_checkpoint();
        }
    }

    /// Ticket for a read of the translation page of a page; `None` if the map is in memory.
    pub(crate) fn ticket_of_table(&self, page: LogicalPage) -> Option<Ticket> {
        self.translation.as_ref().map(|translation| Ticket::Table(translation.table_of(page).0))
    }

    /// Whether there are translation pages, which may have to be written.
    #[inline]
    pub(crate) fn has_tables(&self) -> bool {
        self.translation.is_some()
    }

    /// Reads translation pages that are queued for writing, with this scheduling class.
    pub(crate) fn read_queued_tables(
        &mut self,
        class: Class,
        base: &mut Base,
        calendar: &mut impl Schedule<Event>,
    ) {
        while let Some(translation) = &mut self.translation {
            let Some(table) = translation.take_queued() else { return };
            match self.pages.get(translation.logical(table)) {
                Some(location) => self.read_table(table, location, class, base, calendar),
                None => self.stage_table(table),
            }
        }
    }

    /// Whether a program unit of a table can be written.
    pub(crate) fn has_unit(&self, of: Tables) -> bool {
        match of {
            Tables::Translation => self.translation.as_ref().is_some_and(Translation::has_unit),
            Tables::Discards => self.has_discards_to_write(),
        }
    }

    /// Plane group for a unit of table pages under static allocation, among the `accepting` plane groups.
    /// Translation pages use the plane groups in turn. A plane group is left out if it would not keep enough
    /// space for its own pages.
    pub(crate) fn row_for_tables(
        &self,
        of: Tables,
        accepting: &PlaneGroupSet,
        base: &Base,
    ) -> Option<PlaneGroupId> {
        let takes = |row: &PlaneGroupId| self.has_room_for_tables(*row, base);
        match of {
            Tables::Translation => self.translation.as_ref()?.next_row(accepting, |row| takes(&row)),
            Tables::Discards => accepting.iter().find(takes),
        }
    }

    /// Adds up to `pages` queued pages of a table to the program unit of a plane group.
    pub(crate) fn fill_unit(&mut self, of: Tables, row: PlaneGroupId, pages: u32, unit: &mut Vec<DataTag>) {
        match of {
            Tables::Translation => self.fill_unit_with_translation(row, pages, unit),
            Tables::Discards => self.fill_unit_with_discards(pages, unit),
        }
        self.record_contents(unit);
    }

    fn fill_unit_with_translation(&mut self, row: PlaneGroupId, pages: u32, unit: &mut Vec<DataTag>) {
        let Some(translation) = &mut self.translation else { return };
        translation.begin_unit(row);
        while unit.len() < pages as usize {
            let Some(table) = translation.begin_program() else { break };
            let logical = translation.logical(table);
            unit.push(DataTag { logical: logical.0, version: self.pages.written(logical) });
        }
    }

    fn fill_unit_with_discards(&mut self, pages: u32, unit: &mut Vec<DataTag>) {
        let Some(discards) = &mut self.discards else { return };
        while unit.len() < pages as usize {
            let Some(table) = discards.take_queued() else { break };
            let logical = discards.logical(table);
            let version = self.pages.written(logical);
            discards.begin_program(table, version);
            unit.push(DataTag { logical: logical.0, version });
        }
    }

    /// Records that the host programs a plane group, which gives translation pages a new turn there.
    #[inline]
    pub(crate) fn note_host_program(&mut self, row: PlaneGroupId) {
        if let Some(translation) = &mut self.translation {
            translation.turn_over(row);
        }
    }

    /// Records that a page of a table was programmed.
    pub(crate) fn table_programmed(&mut self, stamp: DataTag, location: Location, base: &mut Base) {
        self.install_table(LogicalPage(stamp.logical), location, base);
        if let Some(told) = &mut self.told {
            told.programmed(stamp);
        }
        if let Some((discards, table)) = self.discard_page_of(stamp.logical) {
            discards.programmed(table);
        } else if let Some(translation) = &mut self.translation {
            let table = translation.table(stamp.logical).expect("the unit holds translation pages");
            translation.programmed(table, stamp.version);
        }
    }

    /// Records that the program of a table page failed. The page is still in memory.
    pub(crate) fn table_program_failed(&mut self, stamp: DataTag) {
        if let Some((discards, table)) = self.discard_page_of(stamp.logical) {
            discards.program_failed(table);
        } else if let Some(translation) = &mut self.translation {
            let table = translation.table(stamp.logical).expect("the unit holds translation pages");
            translation.program_failed(table);
        }
    }

    /// Records that a table page in a plane group became unreadable.
    pub(crate) fn lose_table(&mut self, page: LogicalPage, row: PlaneGroupId) {
        if let Some((discards, table)) = self.discard_page_of(page.0) {
            discards.lost(table, row);
        } else if let Some(translation) = &mut self.translation {
            let table = translation.table(page.0).expect("it has the number of a translation page");
            translation.lost(table, row);
        }
        self.lose_checkpoint();
    }

    /// Invalidates the last checkpoint and the one in progress, because a page of a checkpoint is lost.
    pub(crate) fn lose_checkpoint(&mut self) {
        let Some(checkpoints) = &mut self.checkpoints else { return };
        checkpoints.lost();
        if let Some(translation) = &mut self.translation {
            translation.cancel_checkpoint_wait();
        }
    }

    /// Records that preconditioning placed a version of a translation page in a plane group.
    pub(crate) fn lay_table(&mut self, table: TranslationPage, version: u32, row: PlaneGroupId) {
        if let Some(translation) = &mut self.translation {
            translation.lay(table, version, row);
            let page = DataTag { logical: translation.logical(table).0, version };
            self.record_contents(&[page]);
        }
    }

    /// Whether the map entry of a page is in memory. The call counts as a use of the entry.
    pub(crate) fn is_entry_cached(&mut self, page: LogicalPage) -> bool {
        self.translation.as_mut().is_none_or(|translation| translation.mapper.policy.lookup(page))
    }

    /// Drops all flushes that wait for discards.
    pub(crate) fn forget_waiters(&mut self) {
        if let Some(discards) = &mut self.discards {
            discards.forget_waiters();
        }
    }

    /// Makes a request wait until all discards so far survive a power cut. Returns false if they already do.
    pub(crate) fn wait_for_discards(&mut self, id: RequestId) -> bool {
        self.discards.as_mut().is_some_and(|discards| discards.flush(id))
    }

    /// Page of the discard table with this logical page number; `None` if the number is of another page.
    fn discard_page_of(&mut self, logical: u32) -> Option<(&mut Discards, DiscardPage)> {
        let discards = self.discards.as_mut()?;
        let table = discards.table(logical)?;
        Some((discards, table))
    }

    /// Whether a plane group has space for a unit of table pages in addition to its statically assigned
    /// pages. With a balancer this is always true, because pages of a full plane group go to another plane
    /// group.
    pub(crate) fn has_room_for_tables(&self, row: PlaneGroupId, base: &Base) -> bool {
        let unit = base.config.pools.per_program(row);
        let fits = |spare| self.tables_in(row) + unit <= spare;
        base.policies.balances() || base.spare_beyond_static(row).is_some_and(fits)
    }

    /// Table pages in a plane group.
    pub(super) fn tables_in(&self, row: PlaneGroupId) -> u32 {
        let tables = self.translation.as_ref().map_or(0, |translation| translation.placed().in_row(row));
        tables + self.discards.as_ref().map_or(0, |discards| discards.placed().in_row(row))
    }

    /// Begins a checkpoint of the map if the host has written enough. Does nothing while the clock of the
    /// flash is stopped. Erases are not counted then, so recovery could not detect that a block was erased
    /// after the checkpoint.
    #[inline]
    pub(crate) fn note_checkpoint(&mut self, base: &mut Base) {
        let pages = base.totals.host_programs;
        if self.checkpoints.as_ref().is_some_and(|checkpoints| checkpoints.is_due(pages))
            && base.flash.is_clock_running()
        {
            self.begin_checkpoint(pages, base);
        }
    }

    #[cold]
    fn begin_checkpoint(&mut self, pages: u64, base: &mut Base) {
        let Self { discards, checkpoints, translation, .. } = self;
        let writes_changes = !base.has(InjectedFault::ChangesNotWritten);
        if let (Some(discards), Some(checkpoints)) = (discards, checkpoints)
            && discards.begin_checkpoint()
        {
            let chips = base.flash.chips();
            let known =
                |(block, erases): (_, &u32)| Known { programmed: chips.programmed(block), erases: *erases };
            checkpoints.begin(pages, chips.erases().entries().map(known));
            if let Some(translation) = translation.as_mut().filter(|_| writes_changes) {
                translation.begin_checkpoint();
            }
        }
    }

    /// Whether pages of the discard table must be written.
    #[inline]
    pub(crate) fn has_discards_to_write(&self) -> bool {
        self.discards.as_ref().is_some_and(Discards::is_due)
    }

    /// Next page of the discard table to be written, and its statically assigned plane group.
    pub(crate) fn next_discard_page(&self, base: &Base) -> Option<(PlaneGroupId, LogicalPage)> {
        let discards = self.discards.as_ref()?;
        let page = discards.logical(discards.next_queued()?);
        base.policies.placement.home(page.0, FALLBACK_POOL).map(|row| (row, page))
    }

    /// Resumes the tables after a power cut and writes their changes. Until then the blocks of
    /// [`take_held`](Self::take_held) must not be erased.
    pub(crate) fn resume_tables(&mut self) {
        self.release_tables();
        if let Some(discards) = &mut self.discards {
            discards.begin_held_batch();
        }
    }

    /// Takes the blocks that may be erased again. Until now each of them counted as being read.
    pub(crate) fn take_held(&mut self) -> Vec<BlockSetId> {
        self.discards.as_mut().map_or_else(Vec::new, Discards::take_held)
    }

    /// Takes the flushes that waited for pages of the discard table, if all of these pages are in flash.
    /// `None` while pages are in progress, or if no flush waits.
    pub(crate) fn take_completed_flushes(&mut self) -> Option<Vec<RequestId>> {
        let discards = self.discards.as_mut().filter(|discards| discards.is_at_rest())?;
        if let Some(checkpoints) = &mut self.checkpoints
            && !self.translation.as_ref().is_some_and(Translation::has_checkpoint_pages)
        {
            checkpoints.over();
        }
        discards.has_waiters().then(|| discards.finish_batch())
    }

    /// Checks that table pages are counted in the right plane groups.
    pub(in crate::map) fn check_placed(&self, base: &Base) -> Result<(), String> {
        let nowhere = Column::filled(base.config.pools.rows() as usize, 0);
        let [mut translation, mut discards] = [nowhere.clone(), nowhere];
        for page in base.config.logical_pages..self.len() {
            let Some(location) = self.get(LogicalPage(page)) else { continue };
            let is_of_discards = self.discards().is_some_and(|discards| discards.table(page).is_some());
            let counts = if is_of_discards { &mut discards } else { &mut translation };
            counts[base.config.pools.group_of(location)] += 1;
        }
        let holds = self.translation().is_none_or(|tables| tables.placed().counts(&translation))
            && self.discards().is_none_or(|tables| tables.placed().counts(&discards));
        ensure(holds, || "table pages are counted in other plane groups than they are in".into())
    }
}
