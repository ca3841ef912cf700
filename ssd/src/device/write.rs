//! Writes: into the buffer, and from there in program units to flash.

use wordline_kernel::{Duration, Schedule};
use wordline_nand::Stamp;

use super::{Device, Event};
use crate::buffer::{EntryId, EntryState};
use crate::command::{Operation, SECTOR};
use crate::ftl::blocks::WriteStream;
use crate::ftl::mapping::LogicalPage;
use crate::policy::placement::Row;
use crate::queue::Purpose;

impl Device {
    pub(super) fn begin_write(&mut self, slot: u32, calendar: &mut impl Schedule<Event>) {
        if self.read_only {
            self.refuse(slot, calendar);
            return;
        }
        let command = self.front.get(slot).command;
        let request = self.front.get(slot);
        // Until all pages are in the buffer, the admission itself is one part.
        request.parts = 1;
        let (first, _) = self.pages_of(&command);
        self.front.get(slot).next_page = first;
        if !self.stalled.is_empty() || !self.admit(slot, calendar) {
            self.stalled.push_back(slot);
        }
        self.pump(calendar);
    }

    /// Puts the pages of a write into the buffer; false if there is no room for all of them.
    fn admit(&mut self, slot: u32, calendar: &mut impl Schedule<Event>) -> bool {
        let request = *self.front.get(slot);
        let command = request.command;
        let durable = command.fua || self.is_write_through();
        let (_, end) = self.pages_of(&command);
        for page in request.next_page..end {
            if command.operation == Operation::WriteZeroes && self.zero_page(&command, page) {
                continue;
            }
            let Some(id) = self.admit_page(&command, page) else {
                self.front.get(slot).next_page = page;
                return false;
            };
            if durable {
                self.front.get(slot).parts += 1;
                self.buffer.wait(id, slot);
                self.urge(id, calendar);
            }
        }
        self.set_timer(calendar);
        let request = self.front.get(slot);
        request.parts -= 1;
        request.next_page = end;
        if request.parts == 0 {
            self.answer_soon(slot, calendar);
        }
        true
    }

    fn admit_page(&mut self, command: &crate::Command, page: u32) -> Option<EntryId> {
        let piece = self.piece(command, page);
        if let Some(id) = self.buffer.find(piece.page) {
            let version = self.mapping.written(piece.page);
            self.buffer.rewrite(id, version, piece.sectors);
            self.totals.merged_writes += 1;
            return Some(id);
        }
        if !self.buffer.has_room() {
            return None;
        }
        let in_flash = self.mapping.last_written(piece.page).unwrap_or(0);
        let version = self.mapping.written(piece.page);
        Some(self.buffer.add(piece.page, version, in_flash, piece.sectors))
    }

    /// Lets stalled writes go on as far as there is room.
    fn admit_stalled(&mut self, calendar: &mut impl Schedule<Event>) {
        while let Some(slot) = self.stalled.front().copied() {
            if self.read_only {
                self.stalled.pop_front();
                self.refuse_stalled(slot, calendar);
            } else if self.buffer.has_room() && self.admit(slot, calendar) {
                self.stalled.pop_front();
            } else {
                return;
            }
        }
    }

    /// Refuses a write of which some pages may be in the buffer already: the last of those that it waits for ends it.
    fn refuse_stalled(&mut self, slot: u32, calendar: &mut impl Schedule<Event>) {
        let request = self.front.get(slot);
        request.failed = true;
        request.parts -= 1;
        if request.parts == 0 {
            self.answer_soon(slot, calendar);
        }
    }

    /// An entry must not stay in the buffer.
    fn urge(&mut self, id: EntryId, calendar: &mut impl Schedule<Event>) {
        let entry = self.buffer.get_mut(id);
        let was_urgent = std::mem::replace(&mut entry.urgent, true);
        match entry.state {
            EntryState::Dirty => {
                self.buffer.unlink(id);
                self.prepare(id, calendar);
            }
            EntryState::Ready if !was_urgent => self.urgent_ready += 1,
            _ => {}
        }
    }

    fn is_complete(&self, id: EntryId) -> bool {
        let entry = self.buffer.get(id);
        entry.sectors == self.full_page() || self.mapping.get(entry.logical).is_none()
    }

    pub(super) fn full_page(&self) -> u64 {
        u64::MAX >> (64 - self.sectors_per_page())
    }

    /// Makes an entry that left the list ready for a program unit; a partly written page is read first.
    fn prepare(&mut self, id: EntryId, calendar: &mut impl Schedule<Event>) {
        if self.is_complete(id) {
            self.make_ready(id);
            return;
        }
        let full = self.full_page();
        let entry = self.buffer.get_mut(id);
        entry.state = EntryState::Filling;
        let (logical, version, missing) = (entry.logical, entry.flash_version, full & !entry.sectors);
        let page = self.mapping.get(logical).expect("an incomplete page is in flash");
        self.filling += 1;
        let geometry = self.config.geometry;
        let die = geometry.die_of(geometry.block_of(page));
        self.blocks.read_queued(page);
        let fill = self.queues.push(die, calendar.now(), Purpose::Fill, id, page);
        fill.bytes = missing.count_ones() * SECTOR.0 as u32;
        fill.version = version;
        fill.logical = logical.0;
        self.kick(die, calendar);
    }

    /// A complete page waits for its program unit.
    pub(super) fn make_ready(&mut self, id: EntryId) {
        let full = self.full_page();
        let drained = self.is_drained(id);
        let entry = self.buffer.get_mut(id);
        entry.urgent |= drained;
        entry.state = EntryState::Ready;
        entry.sectors = if entry.discarded { 0 } else { full };
        self.urgent_ready += u32::from(entry.urgent);
        let list = self.placement.home(entry.logical.0).unwrap_or(0);
        self.ready[list as usize].push_back(id);
    }

    /// Moves pages on towards flash as far as they can and must go.
    pub(super) fn pump(&mut self, calendar: &mut impl Schedule<Event>) {
        loop {
            self.draw_from_list(calendar);
            let formed =
                if self.has_homes { self.form_at_home(calendar) } else { self.form_anywhere(calendar) };
            // A write that goes on may make room nowhere and still leave a page that must go at once.
            let before = (self.buffer.in_use(), self.stalled.len());
            self.admit_stalled(calendar);
            if !self.wake.is_empty() {
                self.wake_waiters(calendar);
            }
            if !formed && before == (self.buffer.in_use(), self.stalled.len()) {
                return;
            }
        }
    }

    /// Takes the oldest pages out of the list while the buffer is too full, or a flush wants them.
    fn draw_from_list(&mut self, calendar: &mut impl Schedule<Event>) {
        let keep = (f64::from(self.config.buffer_pages) * self.config.file.buffer.flush_above) as u32;
        // Two program units a row keep every die busy while the next pages are read and gathered.
        let most = 2 * self.config.geometry.rows() * self.config.geometry.pages_per_program;
        while let Some(id) = self.buffer.oldest() {
            let drained = self.is_drained(id);
            let on_the_way = self.buffer.in_use() - self.buffer.dirty() - self.programming;
            if !drained && (self.buffer.in_use() - self.programming <= keep || on_the_way >= most) {
                return;
            }
            self.buffer.unlink(id);
            self.prepare(id, calendar);
        }
    }

    /// Whether a flush wants the entry in flash.
    fn is_drained(&self, id: EntryId) -> bool {
        self.drain.is_some_and(|epoch| self.buffer.epoch(id) <= epoch)
    }

    /// Whether an unfilled program unit must be written: somebody waits for a page of it and no other page is coming,
    /// or nothing else would ever make room.
    fn must_pad(&self) -> bool {
        self.filling == 0 && (self.urgent_ready > 0 || (self.programming == 0 && !self.stalled.is_empty()))
    }

    /// Whether any row takes a program unit. Pages of a row that is full of valid ones may become invalid without
    /// anything happening to the row itself, so that such rows are looked at again when nothing else goes on.
    fn some_row_accepts(&mut self, calendar: &mut impl Schedule<Event>) -> bool {
        // Where pages have homes, a row that accepts is of no use to the pages of another.
        let nothing_comes = self.programming == 0 && (self.accepting.is_empty() || self.has_homes);
        if nothing_comes && (std::mem::take(&mut self.some_row_full) || self.collector.is_idle()) {
            for row in 0..self.config.geometry.rows() {
                self.collect(row, calendar);
                self.note_row(row);
            }
        }
        !self.accepting.is_empty()
    }

    /// Forms program units of pages that may go anywhere.
    fn form_anywhere(&mut self, calendar: &mut impl Schedule<Event>) -> bool {
        let pages = self.config.geometry.pages_per_program;
        let mut formed = false;
        while !self.ready[0].is_empty() {
            if !self.some_row_accepts(calendar) {
                break;
            }
            if (self.ready[0].len() as u32) < pages {
                if !self.must_pad() {
                    break;
                }
                self.top_up(pages);
            }
            let row = self.placement.next(&self.accepting).expect("a row accepts");
            assert!(self.accepting.contains(row), "the placement chose row {row}, which is busy or full");
            self.form(row, 0, calendar);
            formed = true;
        }
        formed
    }

    /// Fills a program unit that must go with dirty pages that are complete, instead of padding.
    fn top_up(&mut self, pages: u32) {
        while (self.ready[0].len() as u32) < pages {
            match self.buffer.oldest() {
                Some(id) if self.is_complete(id) => {
                    self.buffer.unlink(id);
                    self.make_ready(id);
                }
                _ => return,
            }
        }
    }

    /// Forms program units of pages that have homes.
    fn form_at_home(&mut self, calendar: &mut impl Schedule<Event>) -> bool {
        let pages = self.config.geometry.pages_per_program;
        let mut formed = false;
        if !self.some_row_accepts(calendar) {
            return false;
        }
        for row in 0..self.ready.len() {
            let waiting = self.ready[row].len() as u32;
            if (waiting >= pages || (waiting > 0 && self.must_pad())) && self.accepting.contains(row as Row) {
                self.form(row as Row, row, calendar);
                formed = true;
            }
        }
        formed
    }

    /// Takes up to a program unit of pages from a list and queues their program in `row`.
    fn form(&mut self, row: Row, list: usize, calendar: &mut impl Schedule<Event>) {
        let geometry = self.config.geometry;
        let pages = geometry.pages_per_program as usize;
        let mut unit = std::mem::take(&mut self.units[row as usize]);
        while unit.entries.len() < pages {
            let Some(id) = self.ready[list].pop_front() else { break };
            let entry = self.buffer.get_mut(id);
            self.urgent_ready -= u32::from(std::mem::take(&mut entry.urgent));
            if entry.discarded {
                self.buffer.drop_entry(id, &mut self.wake);
                continue;
            }
            entry.state = EntryState::Programming;
            entry.void = false;
            unit.stamps.push(Stamp { logical: entry.logical.0, version: entry.version });
            unit.entries.push(id);
        }
        if unit.entries.is_empty() {
            self.units[row as usize] = unit;
            self.wake_waiters(calendar);
            return;
        }
        self.programming += unit.entries.len() as u32;
        self.totals.host_programs += unit.entries.len() as u64;
        self.totals.padding += (pages - unit.entries.len()) as u64;
        unit.stamps.resize(pages, Stamp::PADDING);
        unit.busy = true;
        self.units[row as usize] = unit;
        let first = self.blocks.take(row, WriteStream::Host, pages as u32);
        self.collector.spend(row, pages as u32);
        self.note_row(row);
        let die = geometry.die_of(geometry.block_of(first));
        self.queues.push(die, calendar.now(), Purpose::HostProgram, row, first);
        self.kick(die, calendar);
        self.collect(row, calendar);
        self.wake_waiters(calendar);
    }

    /// Ends parts of the requests whose pages are in flash, or need not be any more.
    pub(super) fn wake_waiters(&mut self, calendar: &mut impl Schedule<Event>) {
        while let Some(slot) = self.wake.pop() {
            self.part_done(slot, calendar);
        }
        while let Some((epoch, slot)) = self.flushes.front().copied() {
            if !self.buffer.is_flushed(epoch) {
                return;
            }
            self.flushes.pop_front();
            self.answer(slot, calendar);
        }
    }

    /// A flush command.
    pub(super) fn flush(&mut self, slot: u32, calendar: &mut impl Schedule<Event>) {
        match self.buffer.end_epoch() {
            None => self.answer_soon(slot, calendar),
            Some(epoch) => {
                self.drain = Some(epoch);
                self.flushes.push_back((epoch, slot));
                self.urge_covered(epoch);
                self.pump(calendar);
            }
        }
    }

    /// Pages on their way to flash belong to the flush too.
    fn urge_covered(&mut self, epoch: u64) {
        for list in &self.ready {
            for id in list {
                if self.buffer.epoch(*id) <= epoch && !self.buffer.get(*id).urgent {
                    self.buffer.get_mut(*id).urgent = true;
                    self.urgent_ready += 1;
                }
            }
        }
    }

    fn set_timer(&mut self, calendar: &mut impl Schedule<Event>) {
        let interval = self.config.file.buffer.flush_interval;
        if !self.timer_set && interval > Duration::ZERO && self.buffer.in_use() > 0 {
            self.timer_set = true;
            calendar.after(interval, Event::FlushTimer);
        }
    }

    /// The buffer is written out from time to time.
    pub(super) fn flush_on_time(&mut self, calendar: &mut impl Schedule<Event>) {
        self.timer_set = false;
        if let Some(epoch) = self.buffer.end_epoch() {
            self.drain = Some(epoch);
            self.urge_covered(epoch);
            self.pump(calendar);
        }
        // With no die at work nothing moves by itself any more; the next write sets the timer again.
        if self.queues.outstanding() > 0 {
            self.set_timer(calendar);
        }
    }

    /// The program of the host's unit of `row` is done: its pages are where they were written.
    pub(super) fn host_programmed(
        &mut self,
        row: Row,
        first: wordline_nand::PageId,
        calendar: &mut impl Schedule<Event>,
    ) {
        let mut unit = std::mem::take(&mut self.units[row as usize]);
        for (n, id) in unit.entries.iter().copied().enumerate() {
            let Stamp { logical, version } = unit.stamps[n];
            let entry = self.buffer.get_mut(id);
            if !entry.void {
                entry.flash_version = version;
                self.install(LogicalPage(logical), wordline_nand::PageId(first.0 + n as u32));
            }
            let again = self.buffer.programmed(id, version, &mut self.wake);
            if again {
                self.dirty_again(id, calendar);
            }
        }
        self.programming -= unit.entries.len() as u32;
        unit.entries.clear();
        unit.stamps.clear();
        unit.busy = false;
        self.units[row as usize] = unit;
        self.blocks.program_done(first);
        self.note_row(row);
        self.wake_waiters(calendar);
    }

    /// A page that was written again while it was programmed goes round once more.
    fn dirty_again(&mut self, id: EntryId, calendar: &mut impl Schedule<Event>) {
        let entry = self.buffer.get(id);
        if entry.discarded {
            self.buffer.unlink(id);
            self.buffer.drop_entry(id, &mut self.wake);
        } else if entry.urgent || self.is_drained(id) {
            self.urge(id, calendar);
        }
    }

    /// Maps `logical` to `page`.
    pub(super) fn install(&mut self, logical: LogicalPage, page: wordline_nand::PageId) {
        if let Some(old) = self.mapping.set(logical, page) {
            self.blocks.invalidate(old);
        }
        self.blocks.validate(page);
    }
}
