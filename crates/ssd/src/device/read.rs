//! Reads: from the buffer where it has the sectors, else from flash; comparisons; and what makes pages read as zeroes.

use std::ops::Range;

use wordline_kernel::{Duration, Schedule};
use wordline_nand::{DieId, PageId, SlotId, Stamp};

use super::cached::Cached;
use super::front::Piece;
use super::{Device, Event};
use crate::buffer::{EntryId, EntryState};
use crate::command::{Command, RequestId, SECTOR};
use crate::flash::{Class, Ticket};
use crate::ftl::mapping::LogicalPage;
use crate::ftl::translation::Then;
use crate::sectors::Sectors;

/// Which sectors of a slot are read. A run of them, which most reads are of, is no set before one is needed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wanted {
    /// Those of a piece of a command.
    Piece(Piece),
    /// Any.
    Set(Sectors),
}

impl Wanted {
    #[inline]
    fn sectors(&self) -> Sectors {
        match self {
            Self::Piece(piece) => piece.sectors(),
            Self::Set(sectors) => *sectors,
        }
    }

    /// How many.
    #[inline]
    fn count(&self) -> u32 {
        match self {
            Self::Piece(piece) => piece.len(),
            Self::Set(sectors) => sectors.count(),
        }
    }
}

/// Where a piece of a page was found.
#[derive(Clone, Copy, Debug)]
pub(super) enum Found {
    /// In the buffer, or nowhere; in the read cache the request waits for it while it is coming.
    WithoutFlash,
    /// Its place is being looked up: the request waits for that.
    Later,
    /// In this die, where so many reads were queued.
    InFlash(DieId, u32),
}

/// A read of sectors of a slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlotRead {
    pub ticket: Ticket,
    pub class: Class,
    pub slot: SlotId,
    pub sectors: Wanted,
    /// The logical page and the version that it must find.
    pub logical: LogicalPage,
    pub version: u32,
    /// How long it waited for the place of the page.
    pub waited: Duration,
}

impl Device {
    #[inline(always)]
    pub(super) fn begin_read(&mut self, id: RequestId, calendar: &mut impl Schedule<Event>) {
        let command = self.front.get(id).command;
        let (first, end) = self.pages_of(&command);
        if end - first == 1 {
            self.read_page(id, &command, first, calendar);
        } else {
            self.read_pages(id, &command, first..end, calendar);
        }
        if self.ahead.is_on() {
            self.read_ahead(&command, calendar);
        }
    }

    /// Carries out a read of one page, as most are.
    #[inline(always)]
    fn read_page(
        &mut self,
        id: RequestId,
        command: &Command,
        page: u32,
        calendar: &mut impl Schedule<Event>,
    ) {
        let piece = self.piece(command, page);
        if let Found::InFlash(die, reads) = self.read_piece(id, piece, calendar) {
            self.front.get(id).parts += reads;
            self.kick(die, calendar);
        } else {
            self.all_looked_up(id, page..page + 1, calendar);
        }
    }

    /// Carries out a read of several pages: all are queued before the first is read.
    #[inline(never)]
    fn read_pages(
        &mut self,
        id: RequestId,
        command: &Command,
        pages: Range<u32>,
        calendar: &mut impl Schedule<Event>,
    ) {
        for page in pages.clone() {
            let piece = self.piece(command, page);
            if let Found::InFlash(_, reads) = self.read_piece(id, piece, calendar) {
                self.front.get(id).parts += reads;
            }
        }
        self.all_looked_up(id, pages, calendar);
    }

    /// All pages of a read are looked up, which takes no time, so that no part of it is done before.
    #[inline(never)]
    fn all_looked_up(&mut self, id: RequestId, pages: Range<u32>, calendar: &mut impl Schedule<Event>) {
        if self.front.get(id).parts == 0 {
            return self.answer_soon(id, calendar);
        }
        for page in pages {
            if let Some(at) = self.mapping.get(LogicalPage(page)) {
                self.kick(self.config.pools.die_of(at), calendar);
            }
        }
    }

    /// Looks for a piece of a page, and queues reads of flash if that must be, as soon as its place is known.
    #[inline(always)]
    fn read_piece(&mut self, id: RequestId, piece: Piece, calendar: &mut impl Schedule<Event>) -> Found {
        let buffered = self.translation.is_some() && self.buffer_answers(piece);
        if buffered || self.is_located(piece.page, (Then::Read(id), Class::Read), calendar) {
            let found = self.read_located(id, piece, Duration::ZERO, calendar);
            self.totals.reads_without_flash += u64::from(matches!(found, Found::WithoutFlash));
            return found;
        }
        self.front.get(id).parts += 1;
        Found::Later
    }

    /// Whether a read of the piece needs no place: the buffer or the read cache has all of it.
    fn buffer_answers(&self, piece: Piece) -> bool {
        let Some(id) = self.buffer.find(piece.page) else {
            return self.cache.covers(piece.page, piece.sectors());
        };
        let entry = self.buffer.get(id);
        entry.discarded || entry.sectors.covers(piece.sectors())
    }

    /// Looks for a piece of a page of which the place is known, after having `waited` for that.
    #[inline(always)]
    pub(super) fn read_located(
        &mut self,
        id: RequestId,
        piece: Piece,
        waited: Duration,
        calendar: &mut impl Schedule<Event>,
    ) -> Found {
        if !self.lost.is_empty() && !self.lost.of(piece.page).common(piece.sectors()).is_empty() {
            self.front.get(id).failed = true;
            return Found::WithoutFlash;
        }
        if self.contents.is_some() {
            self.note_found(id, &piece);
        }
        let last_written = self.mapping.last_written(piece.page);
        let version = match self.buffer.find(piece.page) {
            Some(at) => {
                let entry = self.buffer.get(at);
                if entry.discarded || entry.sectors.covers(piece.sectors()) {
                    assert!(
                        entry.discarded || last_written == Some(entry.version),
                        "the buffer holds version {} of page {}, the host wrote {last_written:?}",
                        entry.version,
                        piece.page.0
                    );
                    self.buffer.touch(at);
                    return Found::WithoutFlash;
                }
                entry.flash_version
            }
            None => {
                if let Some(cached) = self.cache_has(id, piece) {
                    self.front.get(id).parts += u32::from(matches!(cached, Cached::Coming));
                    return Found::WithoutFlash;
                }
                last_written.unwrap_or(0)
            }
        };
        let Some(at) = self.mapping.get(piece.page) else {
            assert!(
                self.buffer.find(piece.page).is_some() || last_written.is_none(),
                "page {} was written and is nowhere",
                piece.page.0
            );
            return Found::WithoutFlash;
        };
        let read = SlotRead {
            ticket: Ticket::Request(id),
            class: Class::Read,
            slot: at,
            sectors: Wanted::Piece(piece),
            logical: piece.page,
            version,
            waited,
        };
        let (die, reads) = self.queue_read(read, calendar);
        Found::InFlash(die, reads)
    }

    /// A comparison reads, and fails if a page is not of the version that the host expects.
    #[inline(never)]
    pub(super) fn begin_compare(&mut self, id: RequestId, calendar: &mut impl Schedule<Event>) {
        let command = self.front.get(id).command;
        let (first, end) = self.pages_of(&command);
        // What the host wrote last is what a read finds: every read is held against it.
        let expected = Some(command.expected).filter(|version| *version > 0);
        let differs =
            expected.is_some() && (first..end).any(|page| self.version(LogicalPage(page)) != expected);
        self.front.get(id).failed = differs;
        self.begin_read(id, calendar);
    }

    /// Forgets a page of zeroes if the command covers it as a whole; false if it must be written.
    pub(super) fn zero_page(&mut self, command: &Command, page: u32) -> bool {
        let piece = self.piece(command, page);
        let whole = piece.sectors() == self.full_page();
        if whole {
            self.discard_page(piece.page);
        }
        whole
    }

    /// Queues the reads of all pages of a slot that hold one of the sectors; of which die they are, and how many.
    #[inline(always)]
    pub(super) fn queue_read(&mut self, read: SlotRead, calendar: &mut impl Schedule<Event>) -> (DieId, u32) {
        let slots = &self.config.pools.of_slot(read.slot).slots;
        let (first, pages) = (slots.page_of(read.slot), slots.pages());
        if pages == 1 {
            return (self.queue_page_read(&read, first, read.sectors.count(), calendar), 1);
        }
        let reads = self.queue_page_reads(read, first, pages, calendar);
        (self.config.pools.die_of(read.slot), reads)
    }

    /// The same for a slot of several pages.
    #[inline(never)]
    fn queue_page_reads(
        &mut self,
        read: SlotRead,
        first: PageId,
        pages: u32,
        calendar: &mut impl Schedule<Event>,
    ) -> u32 {
        let per_page = (self.config.pools.of_page(first).geometry.page_size.0 / SECTOR.0) as u32;
        let (mut reads, sectors) = (0, read.sectors.sectors());
        for n in 0..pages {
            let here = sectors.common(Sectors::range(n * per_page, (n + 1) * per_page));
            if !here.is_empty() {
                self.queue_page_read(&read, PageId(first.0 + n), here.count(), calendar);
                reads += 1;
            }
        }
        reads
    }

    #[inline(always)]
    fn queue_page_read(
        &mut self,
        read: &SlotRead,
        page: PageId,
        sectors: u32,
        calendar: &mut impl Schedule<Event>,
    ) -> DieId {
        let geometry = &self.config.pools.of_page(page).geometry;
        let block = geometry.block_of(page);
        let die = geometry.die_of(block);
        self.blocks.read_queued(block);
        self.flash.prefetch(read.slot);
        let task = self.flash.read(die, calendar.now(), (read.ticket, read.class), page);
        task.slot = read.slot;
        task.bytes = sectors * SECTOR.0 as u32;
        task.wanted = Stamp { logical: read.logical.0, version: read.version };
        task.looked_up = read.waited;
        die
    }

    /// Forgets the pages that a discard covers as a whole.
    pub(super) fn discard(&mut self, id: RequestId, calendar: &mut impl Schedule<Event>) {
        let command = self.front.get(id).command;
        let per_page = self.sectors_per_page();
        let first = command.sector.div_ceil(per_page) as u32;
        let end = ((command.sector + command.sectors) / per_page) as u32;
        for page in first..end {
            self.discard_page(LogicalPage(page));
        }
        self.release_tables();
        self.wake_waiters(calendar);
        self.front.get(id).parts = 1;
        if !(self.is_durable(&command) && self.waits_for_discards(id)) {
            self.answer_soon(id, calendar);
        }
        self.pump(calendar);
    }

    pub(super) fn discard_page(&mut self, page: LogicalPage) {
        if self.contents.is_some() {
            self.note_discarded(page);
        }
        self.mapping.discarded(page);
        if !self.lost.is_empty() {
            self.lost.discard(page, self.mapping.versions(page));
        }
        if let Some(discards) = &mut self.discards {
            discards.discard(page, self.mapping.versions(page));
        }
        if let Some(old) = self.mapping.clear(page) {
            self.blocks.invalidate(old);
            self.note_amend(page, old);
        }
        self.cache.forget(page);
        if let Some(id) = self.buffer.find(page) {
            self.discard_entry(id);
        }
    }

    fn discard_entry(&mut self, id: EntryId) {
        let entry = self.buffer.get_mut(id);
        entry.flash_version = 0;
        match entry.state {
            EntryState::Dirty => {
                self.buffer.unlink(id);
                self.buffer.drop_entry(id, &mut self.wake);
            }
            _ => {
                entry.discarded = true;
                entry.void = true;
                entry.sectors = Sectors::NONE;
            }
        }
    }
}
