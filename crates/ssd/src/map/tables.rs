//! Tables in flash: translation pages, where only a part of the map is in memory, so that a request that needs a place that is
//! not there waits for a read; and pages that tell of discards.

use wordline_kernel::{Column, Duration, Schedule};
use wordline_nand::{BlockSetId, Location, RowId, Stamp, TornBy};

use crate::base::{Base, LocationRead, Wanted};
use crate::command::RequestId;
use crate::contents::Mutant;
use crate::ensure::ensure;
use crate::event::Event;
use crate::flash::{Class, Ticket};
use crate::map::checkpoint::Known;
use crate::map::discards::{DiscardPage, Discards};
use crate::map::translation::{Then, Translation, Waiter};
use crate::map::{LogicalPage, Map};
use crate::policy::mapper::TranslationPage;
use crate::policy::placement::RowSet;
use crate::pools::EVERYTHING_IN;

/// Tables of which pages are written in units of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tables {
    /// Translation pages.
    Translation,
    /// Pages that tell of discards.
    Discards,
}

impl Map {
    /// Whether the place of `page` is known now; otherwise it will be, and `then` goes on.
    #[inline]
    pub(crate) fn locate_or_wait(
        &mut self,
        page: LogicalPage,
        (then, class): (Then, Class),
        base: &mut Base,
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        self.translation.is_none() || self.locate(page, (then, class), base, calendar)
    }

    #[inline(never)]
    fn locate(
        &mut self,
        page: LogicalPage,
        (then, class): (Then, Class),
        base: &mut Base,
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        let Some(translation) = &mut self.translation else { return true };
        if translation.mapper.lookup(page) {
            base.totals.map_hits += 1;
            return true;
        }
        base.totals.map_misses += 1;
        let table = translation.table_of(page);
        let in_flash = self.pages.get(translation.logical(table));
        let Some(location) = in_flash.filter(|_| !translation.is_in_memory(table)) else {
            self.take_in(page);
            return true;
        };
        translation.wait(then, page, calendar.now());
        self.read_table(table, location, class, base, calendar);
        false
    }

    /// The place of a page comes into the cache.
    fn take_in(&mut self, page: LogicalPage) {
        let Some(translation) = &mut self.translation else { return };
        if let Some(table) = translation.mapper.load(page) {
            translation.write_back(table);
        }
    }

    /// Reads a translation page, unless that is under way.
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
            sectors: Wanted::Set(base.full_page()),
            logical: translation.logical(table),
            version: translation.version(table),
            waited: Duration::ZERO,
        };
        let (die, reads) = base.queue_read(read, calendar);
        if let Some(translation) = &mut self.translation {
            translation.reading(table, reads);
        }
        base.kick(die, calendar);
    }

    /// A flash page of a translation page was read: with the last one, its entries are there.
    pub(crate) fn table_read(&mut self, table: u32, base: &mut Base) {
        base.totals.translation_reads += 1;
        let table = TranslationPage(table);
        let Some(translation) = &mut self.translation else { return };
        if translation.read_done(table) && translation.is_reading(table) {
            self.stage_table(table);
        }
    }

    /// The waiters for the entries of a translation page that is in memory now, as a list: see
    /// [`next_located`](Self::next_located).
    pub(crate) fn take_waiters(&mut self, table: u32) -> Option<u32> {
        let translation = self.translation.as_mut()?;
        let table = TranslationPage(table);
        (!translation.is_being_read(table)).then(|| translation.take_waiters(table))
    }

    /// The next of them, for whom the place of the page is known now.
    pub(crate) fn next_located(&mut self, waiting: &mut u32) -> Option<Waiter> {
        let waiter = self.translation.as_mut()?.next_waiter(waiting)?;
        self.take_in(waiter.page);
        Some(waiter)
    }

    /// The place of a page of the host, which was looked up, is `to`, and was `from`.
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
        let is_told = |location: Location| base.space.is_mapped_by_page(location);
        if (is_told(to) || from.is_some_and(is_told))
            && let Some(translation) = &mut self.translation
            && let Some(table) = translation.mapper.update(page)
        {
            translation.write_back(table);
        }
    }

    /// A page is not at `from` any more, and was not looked up.
    #[inline]
    pub(crate) fn note_amend(&mut self, page: LogicalPage, from: Location, base: &Base) {
        if let Some(translation) = &mut self.translation
            && base.space.is_mapped_by_page(from)
        {
            translation.amend(page);
        }
    }

    /// Has entries that changed without a lookup written.
    #[inline]
    pub(crate) fn release_tables(&mut self) {
        if let Some(translation) = &mut self.translation {
            translation.release();
        }
    }

    /// A translation page is in memory, and waits for a program unit if it is to be written.
    pub(crate) fn stage_table(&mut self, table: TranslationPage) {
        if let Some(translation) = &mut self.translation {
            translation.stage(table);
        }
    }

    /// From now on the contents of tables in flash are watched, if recovery goes by what they tell.
    pub(crate) fn watch_tables(&mut self) {
        if self.checkpoints.is_some() {
            self.told.get_or_insert_default();
        }
    }

    /// These pages of tables are programmed as they are in memory now.
    fn note_told(&mut self, pages: &[Stamp]) {
        if let Some(mut told) = self.told.take() {
            pages.iter().filter(|page| page.is_data()).for_each(|page| told.note(*page, self));
            self.told = Some(told);
        }
    }

    /// The tables are put together again after a power cut.
    pub(crate) fn note_found(&mut self, base: &Base) {
        if let Some(mut told) = self.told.take() {
            told.note_found(self, base);
            self.told = Some(told);
        }
    }

    /// Maps a translation page, or one that tells of discards, to `location`.
    pub(crate) fn install_table(&mut self, logical: LogicalPage, location: Location, base: &mut Base) {
        let row_of = |location| base.space.row_of(base.config.pools.block_of(location));
        let from = self.pages.get(logical).map(row_of);
        let to = row_of(location);
        self.install(logical, location, base);
        match (&mut self.discards, &mut self.translation) {
            (Some(discards), _) if discards.table(logical.0).is_some() => discards.note_place(from, to),
            (_, Some(translation)) => translation.note_place(from, to),
            _ => {}
        }
    }

    /// Where all pages are, if a part of that is in flash; else nothing.
    pub(crate) fn places(&self) -> Vec<Option<Location>> {
        let pages = if self.translation.is_some() { self.pages.len() } else { 0 };
        (0..pages).map(|page| self.pages.get(LogicalPage(page))).collect()
    }

    /// After a power cut pages are elsewhere than they were known to be: their translation pages change.
    pub(crate) fn note_moves_since(&mut self, before: &[Option<Location>], base: &Base) {
        for (page, before) in (0..base.config.logical_pages).map(LogicalPage).zip(before) {
            let now = self.pages.get(page);
            if now != *before {
                before.iter().chain(&now).for_each(|at| self.note_amend(page, *at, base));
            }
        }
    }

    /// A power cut tore pages. Where it took some with it that were programmed before, an older copy of them is found by reading everything
    /// alone.
    pub(crate) fn note_torn(&mut self, torn: &TornBy) {
        if torn.partners > 0 {
            self.lose_checkpoint();
        }
    }

    /// The ticket of a read of the translation page that tells where a page is, if there is one.
    pub(crate) fn ticket_of_table(&self, page: LogicalPage) -> Option<Ticket> {
        self.translation.as_ref().map(|translation| Ticket::Table(translation.table_of(page).0))
    }

    /// Whether translation pages may have to be written.
    #[inline]
    pub(crate) fn has_tables(&self) -> bool {
        self.translation.is_some()
    }

    /// Brings translation pages that are to be written into memory, by reads of this class.
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

    /// Whether there is a program unit of pages of a table to write.
    pub(crate) fn has_unit(&self, of: Tables) -> bool {
        match of {
            Tables::Translation => self.translation.as_ref().is_some_and(Translation::has_unit),
            Tables::Discards => self.has_discards_to_write(),
        }
    }

    /// The row of those that accept one for a unit of pages of a table, where pages have homes: translation pages go round the rows. Each
    /// row is left what its pages need.
    pub(crate) fn row_for_tables(&self, of: Tables, accepting: &RowSet, base: &Base) -> Option<RowId> {
        let takes = |row: &RowId| self.takes_tables(*row, base);
        match of {
            Tables::Translation => self.translation.as_ref()?.next_row(accepting, |row| takes(&row)),
            Tables::Discards => accepting.iter().find(takes),
        }
    }

    /// Puts up to `pages` pages of a table that are to be written into a row's unit.
    pub(crate) fn fill_unit(&mut self, of: Tables, row: RowId, pages: u32, unit: &mut Vec<Stamp>) {
        match of {
            Tables::Translation => self.fill_unit_with_translation(row, pages, unit),
            Tables::Discards => self.fill_unit_with_discards(pages, unit),
        }
        self.note_told(unit);
    }

    fn fill_unit_with_translation(&mut self, row: RowId, pages: u32, unit: &mut Vec<Stamp>) {
        let Some(translation) = &mut self.translation else { return };
        translation.begin_unit(row);
        while unit.len() < pages as usize {
            let Some(table) = translation.begin_program() else { break };
            let logical = translation.logical(table);
            unit.push(Stamp { logical: logical.0, version: self.pages.written(logical) });
        }
    }

    fn fill_unit_with_discards(&mut self, pages: u32, unit: &mut Vec<Stamp>) {
        let Some(discards) = &mut self.discards else { return };
        while unit.len() < pages as usize {
            let Some(table) = discards.take_queued() else { break };
            let logical = discards.logical(table);
            let version = self.pages.written(logical);
            discards.begin_program(table, version);
            unit.push(Stamp { logical: logical.0, version });
        }
    }

    /// A program of the host takes a row: it is the turn of translation pages there again.
    #[inline]
    pub(crate) fn host_takes(&mut self, row: RowId) {
        if let Some(translation) = &mut self.translation {
            translation.turn_over(row);
        }
    }

    /// A page of a table is in flash as it was written.
    pub(crate) fn table_programmed(&mut self, stamp: Stamp, location: Location, base: &mut Base) {
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

    /// A page of a table was not programmed: it is in memory still.
    pub(crate) fn table_program_failed(&mut self, stamp: Stamp) {
        if let Some((discards, table)) = self.discard_page_of(stamp.logical) {
            discards.program_failed(table);
        } else if let Some(translation) = &mut self.translation {
            let table = translation.table(stamp.logical).expect("the unit holds translation pages");
            translation.program_failed(table);
        }
    }

    /// A page of a table that has its place in a row cannot be read any more.
    pub(crate) fn lose_table(&mut self, page: LogicalPage, row: RowId) {
        if let Some((discards, table)) = self.discard_page_of(page.0) {
            discards.lost(table, row);
        } else if let Some(translation) = &mut self.translation {
            let table = translation.table(page.0).expect("it has the number of a translation page");
            translation.lost(table, row);
        }
        self.lose_checkpoint();
    }

    /// The last checkpoint, and one that is under way, say nothing any more: a page of them is lost.
    pub(crate) fn lose_checkpoint(&mut self) {
        let Some(checkpoints) = &mut self.checkpoints else { return };
        checkpoints.lost();
        if let Some(translation) = &mut self.translation {
            translation.forgive();
        }
    }

    /// A version of a translation page was laid in a row.
    pub(crate) fn lay_table(&mut self, table: TranslationPage, version: u32, row: RowId) {
        if let Some(translation) = &mut self.translation {
            translation.lay(table, version, row);
            let page = Stamp { logical: translation.logical(table).0, version };
            self.note_told(&[page]);
        }
    }

    /// Whether the place of a page is in memory. It counts as used then.
    pub(crate) fn has_in_memory(&mut self, page: LogicalPage) -> bool {
        self.translation.as_mut().is_none_or(|translation| translation.mapper.lookup(page))
    }

    /// Nobody waits for what was discarded any more.
    pub(crate) fn forget_waiters(&mut self) {
        if let Some(discards) = &mut self.discards {
            discards.forget_waiters();
        }
    }

    /// A request waits until everything that was discarded is so after a power cut; false if it is.
    pub(crate) fn wait_for_discards(&mut self, id: RequestId) -> bool {
        self.discards.as_mut().is_some_and(|discards| discards.flush(id))
    }

    /// The page of the table of discards that the map numbers so, if it is one.
    fn discard_page_of(&mut self, logical: u32) -> Option<(&mut Discards, DiscardPage)> {
        let discards = self.discards.as_mut()?;
        let table = discards.table(logical)?;
        Some((discards, table))
    }

    /// Whether a row has room for a unit of pages of tables beside those that have their home there. With a balancer the
    /// pages of a full row find room elsewhere.
    pub(crate) fn takes_tables(&self, row: RowId, base: &Base) -> bool {
        let unit = base.config.pools.per_program(row);
        let fits = |spare| self.tables_in(row) + unit <= spare;
        base.policies.balances() || base.spare_beside_homes(row).is_some_and(fits)
    }

    /// Pages of tables that have their place in a row.
    pub(super) fn tables_in(&self, row: RowId) -> u32 {
        let tables = self.translation.as_ref().map_or(0, |translation| translation.placed().in_row(row));
        tables + self.discards.as_ref().map_or(0, |discards| discards.placed().in_row(row))
    }

    /// Begins a checkpoint of the map if the host has written enough. None is made while the clock of the flash is off: erases are not counted
    /// then, which tell whether a block is as the checkpoint knows it.
    #[inline]
    pub(crate) fn note_checkpoint(&mut self, base: &mut Base) {
        let pages = base.totals.host_programs;
        if self.checkpoints.as_ref().is_some_and(|checkpoints| checkpoints.is_due(pages))
            && base.flash.takes_time()
        {
            self.begin_checkpoint(pages, base);
        }
    }

    #[cold]
    fn begin_checkpoint(&mut self, pages: u64, base: &mut Base) {
        let Self { discards, checkpoints, translation, .. } = self;
        let writes_changes = !base.has(Mutant::ChangesNotWritten);
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

    /// Whether pages that tell of discards are to be written.
    #[inline]
    pub(crate) fn has_discards_to_write(&self) -> bool {
        self.discards.as_ref().is_some_and(Discards::is_due)
    }

    /// The page that tells of discards and is written next, and the row that has a place for it.
    pub(crate) fn next_in_place(&self, base: &Base) -> Option<(RowId, LogicalPage)> {
        let discards = self.discards.as_ref()?;
        let page = discards.logical(discards.next_queued()?);
        base.policies.placement.home(page.0, EVERYTHING_IN).map(|row| (row, page))
    }

    /// The tables are there again after a power cut: what changed of them by it is written. [`take_held`](Self::take_held) gives the blocks
    /// that must not be erased before.
    pub(crate) fn resume_tables(&mut self) {
        self.release_tables();
        if let Some(discards) = &mut self.discards {
            discards.write_for_held();
        }
    }

    /// The blocks that may be erased again, each of which counts as read until then.
    pub(crate) fn take_held(&mut self) -> Vec<BlockSetId> {
        self.discards.as_mut().map_or_else(Vec::new, Discards::take_held)
    }

    /// The flushes that waited for pages that tell of discards, all of which are in flash; none while some pages are on their way or
    /// where no flush waits.
    pub(crate) fn end_discards(&mut self) -> Option<Vec<RequestId>> {
        let discards = self.discards.as_mut().filter(|discards| discards.is_at_rest())?;
        if let Some(checkpoints) = &mut self.checkpoints
            && !self.translation.as_ref().is_some_and(Translation::owes)
        {
            checkpoints.over();
        }
        discards.is_waited_for().then(|| discards.batch_over())
    }

    /// Checks that the pages of tables are counted in the rows where they are.
    pub(in crate::map) fn check_placed(&self, base: &Base) -> Result<(), String> {
        let nowhere = Column::filled(base.config.pools.rows() as usize, 0);
        let [mut translation, mut discards] = [nowhere.clone(), nowhere];
        for page in base.config.logical_pages..self.len() {
            let Some(location) = self.get(LogicalPage(page)) else { continue };
            let is_of_discards = self.discards().is_some_and(|discards| discards.table(page).is_some());
            let counts = if is_of_discards { &mut discards } else { &mut translation };
            counts[base.config.pools.row_of(location)] += 1;
        }
        let holds = self.translation().is_none_or(|tables| tables.placed().counts(&translation))
            && self.discards().is_none_or(|tables| tables.placed().counts(&discards));
        ensure(holds, || "pages of tables are in other rows than they are counted in".into())
    }
}
