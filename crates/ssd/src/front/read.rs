//! Reads: from the buffer if it has the sectors, otherwise from flash. Also compares.

use std::ops::Range;

use wordline_device::Command;
use wordline_device::content::Content;
use wordline_flash::{Class, RequestId, Task, Ticket};
use wordline_ftl::design::{DesignContext, DeviceEvent, EventMask};
use wordline_ftl::map::LogicalPage;
use wordline_ftl::{Ftl, LocationRead, Piece, WantedSectors};
use wordline_kernel::{Duration, Instant, Schedule};
use wordline_nand::DieId;

use super::completion::complete_soon;
use crate::cache::Cached;
use crate::engines::Core;
use crate::event::Event;
use crate::front::Requests;

/// Source of a piece of a page.
#[derive(Clone, Copy, Debug)]
enum PieceSource {
    /// The buffer, the read cache, or nothing (unwritten). If the page is still being read into the cache,
    /// the request waits for it.
    NoFlash,
    /// Unknown: the request waits for the L2P lookup.
    AwaitingLookup,
    /// Flash: this die, on which this many reads were queued.
    InFlash(DieId, u32),
}

impl Requests {
    /// Fails a request if a sector that it needs is lost. A sector lost in flash may be in the buffer by now.
    pub(super) fn note_lost(&mut self, id: RequestId, read: &Task, core: &Core) {
        let page = LogicalPage(read.wanted.logical);
        let command = self.get(id).command;
        let wanted = core.ftl.page_size.piece(&command, page.0).sectors();
        self.get(id).failed |= core.ftl.map.loses(page, wanted);
    }

    #[inline(always)]
    pub(super) fn begin_read(&mut self, id: RequestId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        let command = self.get(id).command;
        let (first, end) = core.ftl.page_size.pages_of(&command);
        if end - first == 1 {
            self.read_page(id, &command, first, core, calendar);
        } else {
            self.read_pages(id, &command, first..end, core, calendar);
        }
        if core.cache.ahead().is_on() {
            core.cache.read_ahead(&command, &mut core.ftl, calendar);
        }
    }

    /// Executes a read of one page, the common case.
    #[inline(always)]
    fn read_page(
        &mut self,
        id: RequestId,
        command: &Command,
        page: u32,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        let piece = core.ftl.page_size.piece(command, page);
        if let PieceSource::InFlash(die, reads) = self.read_piece(id, piece, core, calendar) {
            self.get(id).parts += reads;
            core.start_die(die, calendar);
        } else {
            self.start_reads(id, page..page + 1, core, calendar);
        }
    }

    /// Executes a read of several pages.
    #[inline(never)]
    fn read_pages(
        &mut self,
        id: RequestId,
        command: &Command,
        pages: Range<u32>,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        for page in pages.clone() {
            let piece = core.ftl.page_size.piece(command, page);
            if let PieceSource::InFlash(_, reads) = self.read_piece(id, piece, core, calendar) {
                self.get(id).parts += reads;
            }
        }
        self.start_reads(id, pages, core, calendar);
    }

    /// Starts a read by looking up all of its pages. The lookups take no time, so no part of the read ends
    /// before the last lookup.
    #[inline(never)]
    fn start_reads(
        &mut self,
        id: RequestId,
        pages: Range<u32>,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        if self.get(id).parts == 0 {
            return complete_soon(id, &core.config, calendar);
        }
        for page in pages {
            if let Some(at) = core.ftl.map.get(LogicalPage(page)) {
                core.start_die(core.ftl.config.pools.die_of(at), calendar);
            }
        }
    }

    /// Looks up a piece of a page. Queues flash reads if they are needed, as soon as the page's location is
    /// known.
    #[inline(always)]
    fn read_piece(
        &mut self,
        id: RequestId,
        piece: Piece,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) -> PieceSource {
        let buffered = core.ftl.map_cache.translation().is_some() && core.cache.is_buffered(piece);
        if buffered || core.ftl.locate_for_host(id, piece, &mut calendar.within(Event::Flash)) {
            let found = self.read_located(id, piece, Duration::ZERO, core, calendar);
            core.ftl.totals.reads_without_flash += u64::from(matches!(found, PieceSource::NoFlash));
            return found;
        }
        self.get(id).parts += 1;
        PieceSource::AwaitingLookup
    }

    /// Looks up a piece of a page whose location is known, after the request has `waited` for the location.
    #[inline(always)]
    fn read_located(
        &mut self,
        id: RequestId,
        piece: Piece,
        waited: Duration,
        core: &mut Core,
        calendar: &impl Schedule<Event>,
    ) -> PieceSource {
        if core.ftl.map.loses(piece.page, piece.sectors()) {
            self.get(id).failed = true;
            return PieceSource::NoFlash;
        }
        if core.ftl.contents.is_some() {
            self.note_found(id, &piece, core);
        }
        if core.ftl.policies.designs.observes(EventMask::READ) {
            let from = core.ftl.map.get(piece.page);
            let Ftl { policies, flash, blocks, .. } = &mut core.ftl;
            let seen = DeviceEvent::Read { page: piece.page, from };
            policies.designs.notify_after_pending(&seen, DesignContext { flash, blocks });
        }
        let last_written = core.ftl.map.last_written(piece.page);
        let version = match core.cache.buffer().find(piece.page) {
            Some(at) => {
                let entry = core.cache.buffer().get(at);
                if entry.discarded || entry.sectors.covers(piece.sectors()) {
                    assert!(
                        entry.discarded || last_written == Some(entry.version),
                        "the buffer holds version {} of page {}, the host wrote {last_written:?}",
                        entry.version,
                        piece.page.0
                    );
                    core.cache.touch(at);
                    return PieceSource::NoFlash;
                }
                entry.flash_version
            }
            None => {
                if let Some(cached) = core.cache.find_cached(id, piece, &core.ftl.map, &mut core.ftl.totals) {
                    self.get(id).parts += u32::from(matches!(cached, Cached::Pending));
                    return PieceSource::NoFlash;
                }
                last_written.unwrap_or(0)
            }
        };
        let Some(at) = core.ftl.map.get(piece.page) else {
            assert!(
                core.cache.buffer().find(piece.page).is_some() || last_written.is_none(),
                "page {} was written and is nowhere",
                piece.page.0
            );
            return PieceSource::NoFlash;
        };
        let read = LocationRead {
            ticket: Ticket::Request(id),
            class: Class::Read,
            location: at,
            sectors: WantedSectors::Piece(piece),
            logical: piece.page,
            version,
            waited,
        };
        let (die, reads) = read.queue(&mut core.ftl.blocks, &mut core.ftl.flash, calendar.now());
        PieceSource::InFlash(die, reads)
    }

    /// Keeps the contents of a piece of a page for a host read.
    #[cold]
    fn note_found(&mut self, id: RequestId, piece: &Piece, core: &mut Core) {
        let Command { sector, sectors, .. } = self.get(id).command;
        let start = u64::from(piece.page.0) * core.ftl.page_size.sectors();
        let Core { ftl: Ftl { contents, map, flash, .. }, cache, .. } = core;
        let content_at = |at| cache.content_at(piece.page, at, contents.as_deref(), map, flash);
        let found: Vec<(usize, Content)> =
            piece.range().map(|at| ((start + u64::from(at) - sector) as usize, content_at(at))).collect();
        if let Some(contents) = contents {
            contents.found(id, sectors, found.into_iter());
        }
    }

    /// Executes a compare: a read that fails if a page does not have the version that the host expects.
    #[inline(never)]
    pub(super) fn begin_compare(
        &mut self,
        id: RequestId,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        let command = self.get(id).command;
        let (first, end) = core.ftl.page_size.pages_of(&command);
        // Every read is checked against the last host write.
        let expected = Some(command.expected).filter(|version| *version > 0);
        let differs = expected.is_some()
            && (first..end).any(|page| {
                core.cache.version(LogicalPage(page), &core.ftl.map, &core.ftl.flash) != expected
            });
        self.get(id).failed = differs;
        self.begin_read(id, core, calendar);
    }

    /// Continues a read that waited since `since` for the location of a page. Looks up the piece, and queues
    /// flash reads if they are needed.
    pub(super) fn resume_read(
        &mut self,
        id: RequestId,
        page: LogicalPage,
        since: Instant,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        let command = self.get(id).command;
        let piece = core.ftl.page_size.piece(&command, page.0);
        match self.read_located(id, piece, calendar.now() - since, core, calendar) {
            PieceSource::InFlash(die, reads) => {
                self.get(id).parts += reads;
                core.ftl.flash.start_at_end_of_event(die);
            }
            PieceSource::NoFlash | PieceSource::AwaitingLookup => {
                core.ftl.totals.reads_without_flash += 1;
            }
        }
    }
}
