//! Writes on their way into the buffer.

use std::ops::Range;

use wordline_kernel::Schedule;

use super::front::Piece;
use super::{Device, Event, Mutant};
use crate::buffer::EntryId;
use crate::command::{Command, Operation, RequestId};
use crate::config::BufferMode;
use crate::front::Request;
use crate::ftl::mapping::LogicalPage;

impl Device {
    pub(super) fn begin_write(&mut self, id: RequestId, calendar: &mut impl Schedule<Event>) {
        if self.read_only {
            self.refuse(id, calendar);
            return;
        }
        let command = self.front.get(id).command;
        if command.operation == Operation::WriteZeroes && self.has(Mutant::ZeroesIgnored) {
            return self.answer_soon(id, calendar);
        }
        let request = self.front.get(id);
        // Until all pages are in the buffer, the admission itself is one part.
        request.parts = 1;
        let (first, _) = self.pages_of(&command);
        self.front.get(id).next_page = first;
        if !self.stalled.is_empty() || !self.admit(id, calendar) {
            self.stalled.push_back(id);
            self.hurry_all(calendar);
        }
        self.pump(calendar);
    }

    /// Puts the pages of a write into the buffer; false if one of them has to wait.
    fn admit(&mut self, id: RequestId, calendar: &mut impl Schedule<Event>) -> bool {
        let Request { command, next_page: begin, .. } = *self.front.get(id);
        let durable = self.is_durable(&command);
        let urges_units = durable && self.subs.is_some();
        let (_, end) = self.pages_of(&command);
        for page in begin..end {
            if command.operation == Operation::WriteZeroes && self.zero_page(&command, page) {
                continue;
            }
            let waits = self.destage.is_some() && self.waits_to_leave(LogicalPage(page), calendar.now());
            let Some(entry) = (if waits { None } else { self.admit_page(&command, page) }) else {
                self.front.get(id).next_page = page;
                if urges_units {
                    self.urge_units(begin..page, calendar);
                }
                return false;
            };
            if durable {
                self.front.get(id).parts += 1;
                self.buffer.wait(entry, id);
                if !urges_units {
                    self.urge(entry, calendar);
                }
            } else if self.destage.is_some() {
                self.leave_if_told(entry, calendar);
            }
        }
        if urges_units {
            self.urge_units(begin..end, calendar);
        }
        if durable && command.operation == Operation::WriteZeroes && self.waits_for_discards(id) {
            self.front.get(id).parts += 1;
        }
        self.set_timer(calendar);
        let request = self.front.get(id);
        request.parts -= 1;
        request.next_page = end;
        if request.parts == 0 {
            self.answer_soon(id, calendar);
        }
        true
    }

    /// Pages that must not stay in the buffer leave it together, as what is of one unit is sent together.
    #[inline(never)]
    fn urge_units(&mut self, pages: Range<u32>, calendar: &mut impl Schedule<Event>) {
        for page in pages {
            if let Some(id) = self.buffer.find(LogicalPage(page)) {
                self.urge(id, calendar);
            }
        }
    }

    /// Puts a page of a write into the buffer; none if it has to wait for room, or with the buffer off for what is on
    /// its way of the same page, or of the unit that leaves together with it.
    #[inline(always)]
    fn admit_page(&mut self, command: &Command, page: u32) -> Option<EntryId> {
        let piece = self.piece(command, page);
        if let Some(id) = self.buffer.find(piece.page) {
            return self.merge_page(command, &piece, id);
        }
        if !self.buffer.has_room() || self.subs.is_some() && self.waits_for_unit(piece.page) {
            return None;
        }
        Some(self.add_page(command, &piece))
    }

    /// Writes a piece of a page into its entry of the buffer; none if it must come to flash before.
    fn merge_page(&mut self, command: &Command, piece: &Piece, id: EntryId) -> Option<EntryId> {
        if self.config.file.buffer.mode == BufferMode::Off {
            return None;
        }
        let version = self.mapping.written(piece.page);
        self.write_lost(piece, version);
        self.buffer.rewrite(id, version, piece.sectors());
        if self.contents.is_some() {
            self.note_written(command, piece, false);
        }
        self.buffer.get_mut(id).tag = command.stream;
        self.totals.merged_writes += 1;
        Some(id)
    }

    /// Adds an entry to the buffer with a piece of a page.
    #[inline(always)]
    fn add_page(&mut self, command: &Command, piece: &Piece) -> EntryId {
        self.cache.forget(piece.page);
        let in_flash = self.mapping.last_written(piece.page).unwrap_or(0);
        let version = self.mapping.written(piece.page);
        self.write_lost(piece, version);
        let id = self.buffer.add(piece.page, version, in_flash, piece.sectors());
        if self.contents.is_some() {
            self.note_written(command, piece, true);
        }
        self.buffer.get_mut(id).tag = command.stream;
        id
    }

    /// Whether the buffer is off and something of the page's unit is on its way.
    #[inline(never)]
    fn waits_for_unit(&mut self, page: LogicalPage) -> bool {
        self.config.file.buffer.mode == BufferMode::Off && self.subs().is_under_way(page)
    }

    /// What was lost of the piece is written again, as this version of its page.
    #[inline]
    fn write_lost(&mut self, piece: &Piece, version: u32) {
        if !self.lost.is_empty() {
            self.lost.write(piece.page, version, piece.sectors());
        }
    }

    /// Lets stalled writes go on as far as there is room.
    pub(super) fn admit_stalled(&mut self, calendar: &mut impl Schedule<Event>) {
        while let Some(id) = self.stalled.front().copied() {
            if self.read_only {
                self.stalled.pop_front();
                self.refuse_stalled(id, calendar);
            } else if self.buffer.has_room() && self.admit(id, calendar) {
                self.stalled.pop_front();
            } else {
                return;
            }
        }
    }

    /// Refuses a write of which some pages may be in the buffer already: the last of those that it waits for ends it.
    fn refuse_stalled(&mut self, id: RequestId, calendar: &mut impl Schedule<Event>) {
        let request = self.front.get(id);
        request.failed = true;
        request.parts -= 1;
        if request.parts == 0 {
            self.answer_soon(id, calendar);
        }
    }
}
