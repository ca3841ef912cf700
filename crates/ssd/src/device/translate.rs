//! The map where only a part of it is in memory: who needs a place that is not there waits for a read of its translation
//! page, and translation pages that changed are written, in program units of their own.

use wordline_kernel::{Duration, Instant, Schedule};
use wordline_nand::{SlotId, Stamp};

use super::read::{Found, SlotRead, Wanted};
use super::{Device, Event};
use crate::command::RequestId;
use crate::flash::{Class, Ticket};
use crate::ftl::mapping::LogicalPage;
use crate::ftl::translation::{Then, Waiter};
use crate::ftl::{Discards, Translation};
use crate::policy::mapper::TranslationPage;
use crate::policy::placement::Row;

impl Device {
    /// Whether the place of `page` is known now; otherwise it will be, and `then` goes on.
    #[inline]
    pub(super) fn is_located(
        &mut self,
        page: LogicalPage,
        (then, class): (Then, Class),
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        self.translation.is_none() || self.locate(page, (then, class), calendar)
    }

    #[inline(never)]
    fn locate(
        &mut self,
        page: LogicalPage,
        (then, class): (Then, Class),
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        let Some(translation) = &mut self.translation else { return true };
        if translation.mapper.lookup(page) {
            self.totals.map_hits += 1;
            return true;
        }
        self.totals.map_misses += 1;
        let table = translation.table_of(page);
        let in_flash = self.mapping.get(translation.logical(table));
        let Some(slot) = in_flash.filter(|_| !translation.is_in_memory(table)) else {
            self.take_in(page);
            return true;
        };
        translation.wait(then, page, calendar.now());
        self.read_table(table, slot, class, calendar);
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
    fn read_table(
        &mut self,
        table: TranslationPage,
        slot: SlotId,
        class: Class,
        calendar: &mut impl Schedule<Event>,
    ) {
        let Some(translation) = &self.translation else { return };
        if translation.is_being_read(table) {
            if class == Class::Read {
                self.hurry_table(table.0, calendar);
            }
            return;
        }
        let read = SlotRead {
            ticket: Ticket::Table(table.0),
            class,
            slot,
            sectors: Wanted::Set(self.full_page()),
            logical: translation.logical(table),
            version: translation.version(table),
            waited: Duration::ZERO,
        };
        let (die, reads) = self.queue_read(read, calendar);
        if let Some(translation) = &mut self.translation {
            translation.reading(table, reads);
        }
        self.kick(die, calendar);
    }

    /// A flash page of a translation page was read: with the last one, its entries are there.
    pub(super) fn table_read(&mut self, table: u32) {
        self.totals.translation_reads += 1;
        let table = TranslationPage(table);
        let Some(translation) = &mut self.translation else { return };
        if translation.read_done(table) && translation.is_reading(table) {
            self.stage_table(table);
        }
    }

    /// Those who waited for the entries of a translation page that is in memory now, as a list: see
    /// [`next_located`](Self::next_located).
    fn take_waiters(&mut self, table: u32) -> Option<u32> {
        let translation = self.translation.as_mut()?;
        let table = TranslationPage(table);
        (!translation.is_being_read(table)).then(|| translation.take_waiters(table))
    }

    /// The next of them, for whom the place of the page is known now.
    fn next_located(&mut self, waiting: &mut u32) -> Option<Waiter> {
        let waiter = self.translation.as_mut()?.next_waiter(waiting)?;
        self.take_in(waiter.page);
        Some(waiter)
    }

    /// All who waited for the entries of a translation page go on, if it is in memory.
    pub(super) fn go_on_located(&mut self, table: u32, calendar: &mut impl Schedule<Event>) {
        let Some(mut waiting) = self.take_waiters(table) else { return };
        while let Some(waiter) = self.next_located(&mut waiting) {
            match waiter.then {
                Then::Read(request) => self.go_on_reading(request, waiter.page, waiter.since, calendar),
                Then::Prepare(entry) => self.go_on_preparing(entry, calendar),
                Then::Carry(sub) => self.go_on_carrying(sub, waiter.page, waiter.since, calendar),
            }
        }
    }

    /// Whether a stamp of this number is that of a translation page.
    #[inline]
    pub(super) fn is_table(&self, logical: u32) -> bool {
        logical >= self.config.logical_pages
    }

    /// A read of the host knows where its page is.
    fn go_on_reading(
        &mut self,
        request: RequestId,
        page: LogicalPage,
        since: Instant,
        calendar: &mut impl Schedule<Event>,
    ) {
        let command = self.front.get(request).command;
        let piece = self.piece(&command, page.0);
        let waited = calendar.now() - since;
        match self.read_located(request, piece, waited, calendar) {
            Found::InFlash(die, reads) => {
                self.front.get(request).parts += reads;
                self.kick(die, calendar);
            }
            Found::WithoutFlash | Found::Later => self.totals.reads_without_flash += 1,
        }
        // The waiting was a part.
        self.part_done(request, calendar);
    }

    /// The place of a page of the host, which was looked up, is `to`, and was `from`.
    #[inline]
    pub(super) fn note_update(&mut self, page: LogicalPage, from: Option<SlotId>, to: SlotId) {
        if self.translation.is_some() {
            self.update_tables(page, from, to);
        }
    }

    #[inline(never)]
    fn update_tables(&mut self, page: LogicalPage, from: Option<SlotId>, to: SlotId) {
        let is_told = |slot: SlotId| self.blocks.is_mapped_by_page(slot);
        if (is_told(to) || from.is_some_and(is_told))
            && let Some(translation) = &mut self.translation
            && let Some(table) = translation.mapper.update(page)
        {
            translation.write_back(table);
        }
    }

    /// A page is not at `from` any more, and nobody looked it up.
    #[inline]
    pub(super) fn note_amend(&mut self, page: LogicalPage, from: SlotId) {
        if let Some(translation) = &mut self.translation
            && self.blocks.is_mapped_by_page(from)
        {
            translation.amend(page);
        }
    }

    /// What changed without having been looked up is to be written.
    #[inline]
    pub(super) fn release_tables(&mut self) {
        if let Some(translation) = &mut self.translation {
            translation.release();
        }
    }

    /// Writes translation pages that changed, as far as rows take them.
    #[inline]
    pub(super) fn write_tables(&mut self, calendar: &mut impl Schedule<Event>) {
        if self.translation.is_some() {
            self.write_changed_tables(calendar);
        }
        if self.discards.as_ref().is_some_and(Discards::is_due) {
            self.write_discards(calendar);
        }
    }

    /// Apart, so that the test above is all that devices without translation pages pay.
    #[inline(never)]
    fn write_changed_tables(&mut self, calendar: &mut impl Schedule<Event>) {
        self.read_tables(calendar);
        while self.write_unit(calendar) {
            self.read_tables(calendar);
        }
    }

    /// Brings translation pages that are to be written into memory.
    fn read_tables(&mut self, calendar: &mut impl Schedule<Event>) {
        while let Some(translation) = &mut self.translation {
            let Some(table) = translation.take_queued() else { return };
            match self.mapping.get(translation.logical(table)) {
                Some(slot) => {
                    let class = if self.stalled.is_empty() { Class::Background } else { Class::Read };
                    self.read_table(table, slot, class, calendar);
                }
                None => self.stage_table(table),
            }
        }
    }

    fn stage_table(&mut self, table: TranslationPage) {
        if let Some(translation) = &mut self.translation {
            translation.stage(table);
        }
    }

    /// Queues a program unit of translation pages if there is one and a row takes it.
    fn write_unit(&mut self, calendar: &mut impl Schedule<Event>) -> bool {
        let stream = usize::from(self.streams.host) - 1;
        let has_unit = self.translation.as_ref().is_some_and(Translation::has_unit);
        if !has_unit || !self.some_row_accepts(stream, calendar) {
            return false;
        }
        let row = match self.has_homes {
            true => self.row_for_tables(),
            false => self.policies.placement.next(&self.accepting[stream]),
        };
        match row.filter(|row| self.may_write_tables(*row)) {
            Some(row) => {
                self.form_tables(row, calendar);
                true
            }
            None => false,
        }
    }

    /// Where pages have homes, translation pages go round the rows, and leave each of them what its pages need.
    pub(super) fn row_for_tables(&self) -> Option<Row> {
        let translation = self.translation.as_ref()?;
        translation.next_row(self.accepting.last()?, |row| self.takes_tables(row))
    }

    /// Maps a translation page, or one that tells of discards, to `slot`.
    pub(super) fn install_table(&mut self, logical: LogicalPage, slot: SlotId) {
        let row_of = |device: &Self, slot| device.blocks.row_of(device.config.pools.block_of(slot));
        let from = self.mapping.get(logical).map(|old| row_of(self, old));
        let to = row_of(self, slot);
        self.install(logical, slot);
        match (&mut self.discards, &mut self.translation) {
            (Some(discards), _) if discards.table(logical.0).is_some() => discards.placed(from, to),
            (_, Some(translation)) => translation.placed(from, to),
            _ => {}
        }
    }

    /// Whether it is the turn of translation pages in a row, or the host does not want it.
    fn may_write_tables(&self, row: Row) -> bool {
        let streams = usize::from(self.streams.host);
        let first = if self.has_homes { row as usize * streams } else { 0 };
        let has_turn = self.translation.as_ref().is_some_and(|translation| translation.has_turn(row));
        let mut waiting = (0..streams).filter(|stream| !self.ready[first + stream].pages.is_empty());
        has_turn || !waiting.any(|stream| self.subs.is_none() || self.goes_to_pool_of(row, stream))
    }

    fn form_tables(&mut self, row: Row, calendar: &mut impl Schedule<Event>) {
        let Some(translation) = &mut self.translation else { return };
        let pages = self.config.pools.per_program(row);
        let unit = &mut self.units[row as usize];
        translation.begin_unit(row);
        for _ in 0..pages {
            let table = translation.begin_program();
            let logical = translation.logical(table);
            unit.stamps.push(Stamp { logical: logical.0, version: self.mapping.written(logical) });
        }
        self.queue_tables(row, calendar);
    }

    /// Queues the program of the pages of tables in the unit of `row`, padded to a whole one.
    pub(super) fn queue_tables(&mut self, row: Row, calendar: &mut impl Schedule<Event>) {
        let pages = self.config.pools.per_program(row) as usize;
        let unit = &mut self.units[row as usize];
        self.totals.translation_programs += unit.stamps.len() as u64;
        self.totals.padding += (pages - unit.stamps.len()) as u64;
        unit.stamps.resize(pages, Stamp::PADDING);
        unit.busy = true;
        let stream = self.streams.host(self.streams.host - 1);
        self.queue_unit(row, stream, Ticket::TableUnit(row), calendar);
    }

    /// The program of translation pages of `row`, or of pages that tell of discards, is done.
    pub(super) fn tables_programmed(&mut self, row: Row, first: SlotId) {
        let mut unit = std::mem::take(&mut self.units[row as usize]);
        for (n, stamp) in unit.stamps.iter().enumerate().filter(|(_, stamp)| stamp.is_data()) {
            self.install_table(LogicalPage(stamp.logical), SlotId(first.0 + n as u32));
            if let Some((discards, table)) = self.discard_page_of(stamp.logical) {
                discards.programmed(table);
                continue;
            }
            let Some(translation) = &mut self.translation else { continue };
            let table = translation.table(stamp.logical).expect("the unit holds translation pages");
            translation.programmed(table, stamp.version);
        }
        unit.clear();
        self.units[row as usize] = unit;
        self.blocks.program_done(first);
        self.note_row(row);
    }
}
