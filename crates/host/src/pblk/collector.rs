//! Garbage collection: reads the valid pages of a victim line and inserts them into the ring, until the line
//! has no valid pages.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_device::PhysicalDevice;
use wordline_device::physical_device::{Completion, MOST_BLOCKS};
use wordline_kernel::{Complaints, Instant, Schedule, state};
use wordline_nand::DataTag;

use super::buffer::Buffer;
use super::counts::Counts;
use super::flash::Flash;
use super::flush::FlushTracker;
use super::layout::{LineId, Ppa};
use super::limiter::Pressure;
use super::lines::{LineState, Lines, List};
use super::port::{Event, Purpose, Sent};
use super::ring::{LOST, Origin, page_of};

/// Concurrency of garbage collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CollectorFile {
    /// Lines collected concurrently.
    pub lines: u32,
    /// GC reads in flight.
    pub readers: u32,
    /// GC reads in flight, plus completed GC reads whose pages wait for space in the ring.
    pub requests: u32,
}

impl Default for CollectorFile {
    /// Linux 5.10: PBLK_GC_L_QD, PBLK_GC_MAX_READERS, PBLK_GC_RQ_QD.
    fn default() -> Self {
        Self { lines: 4, readers: 8, requests: 128 }
    }
}

impl CollectorFile {
    pub(super) fn check(&self, key: &str, wrong: &mut Complaints) {
        for (name, found) in [("lines", self.lines), ("readers", self.readers), ("requests", self.requests)] {
            wrong.require(found > 0, &format!("{key}.{name}"), found, "1 or more");
        }
    }
}

/// A line that is being collected.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Victim {
    line: LineId,
    /// Emeta locations still to be read.
    list: Vec<Ppa>,
    /// The next location of the victim to examine.
    next: u32,
    /// GC reads in flight.
    reads: u32,
    /// GC reads in flight that read emeta.
    lists: u32,
}

/// The pages of one GC read that wait for space in the ring.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct RelocationBatch {
    line: LineId,
    pages: Vec<(Ppa, DataTag)>,
}

/// The victims, and the pages read from them.
pub(super) struct Collector {
    file: CollectorFile,
    victims: VecDeque<Victim>,
    readers: u32,
    moved: VecDeque<RelocationBatch>,
    /// Logical blocks for data in lines that were collected, or freed without collection.
    victim_pages: u64,
}

state!(Collector { values { victims, readers, moved, victim_pages } fixed { file } });

impl Collector {
    pub(super) fn new(file: CollectorFile) -> Self {
        Self { file, victims: VecDeque::new(), readers: 0, moved: VecDeque::new(), victim_pages: 0 }
    }

    pub(super) fn forget(&mut self) {
        self.victims.clear();
        self.moved.clear();
        self.readers = 0;
    }

    /// Whether no line is being collected.
    pub(super) fn is_idle(&self) -> bool {
        self.victims.is_empty() && self.moved.is_empty()
    }

    /// Whether pages were read and wait for the ring.
    pub(super) fn has_batches(&self) -> bool {
        !self.moved.is_empty()
    }

    /// Logical blocks for data in lines that were collected, or freed without collection.
    pub(super) fn victim_pages(&self) -> u64 {
        self.victim_pages
    }

    /// Number of references of GC to a line.
    pub(super) fn references(&self, line: LineId) -> u32 {
        let of_victims = self.victims.iter().filter(|victim| victim.line == line).count();
        (of_victims + self.moved.iter().filter(|moved| moved.line == line).count()) as u32
    }

    /// Checks that the victims, locations and pages exist.
    pub(super) fn check(&self, lines: u32, places: u32, pages: u32) -> Result<(), String> {
        let is_there = |place: &Ppa| place.0 < places;
        let victims =
            self.victims.iter().all(|victim| victim.line.0 < lines && victim.list.iter().all(is_there));
        let moved = self.moved.iter().all(|moved| {
            let of_it = |(place, stamp): &(Ppa, DataTag)| is_there(place) && page_of(*stamp).0 < pages;
            moved.line.0 < lines && moved.pages.iter().all(of_it)
        });
        if victims && moved { Ok(()) } else { Err("garbage collection of lines that do not exist".into()) }
    }

    /// The state of GC, for a stall report.
    pub(super) fn describe(&self) -> String {
        let lines: Vec<u32> = self.victims.iter().map(|victim| victim.line.0).collect();
        let (readers, moved) = (self.readers, self.moved.len());
        format!("gc: lines {lines:?}, {readers} reads in flight, {moved} wait for the ring\n")
    }
}

/// GC of lines, in the order of its steps.
impl Collector {
    /// Runs GC as far as the rate limiter and the free space require. Returns whether anything was done.
    pub(super) fn collect<D: PhysicalDevice>(
        &mut self,
        flash: &mut Flash<D>,
        buffer: &mut Buffer,
        durable: &FlushTracker,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) -> bool {
        let mut any = self.free_emptied(flash, durable);
        if flash.limiter.needs_gc() {
            while self.select_victim(flash) {
                any = true;
            }
        }
        if self.is_idle() {
            return any;
        }
        while self.read_victim(flash, buffer, calendar) {
            any = true;
        }
        while self.insert_relocated(flash, buffer, calendar.now()) {
            any = true;
        }
        any
    }

    /// Frees the lines without valid pages. Returns whether there were any.
    fn free_emptied<D: PhysicalDevice>(&mut self, flash: &mut Flash<D>, durable: &FlushTracker) -> bool {
        let mut any = false;
        while let Some(line) = flash.lines.pop_emptied() {
            // The victim was counted when it was selected.
            let of_line = flash.lines.get(line);
            self.victim_pages += u64::from(of_line.blocks) * u64::from(of_line.state != LineState::Collected);
            flash.lines.free(line, durable.point());
            flash.counts.lines_freed += 1;
            flash.update_limiter();
            any = true;
        }
        any
    }

    fn select_victim<D: PhysicalDevice>(&mut self, flash: &mut Flash<D>) -> bool {
        let pressure = flash.limiter.pressure();
        let is_full =
            self.victims.len() >= self.file.lines as usize || self.moved.len() >= self.file.requests as usize;
        if is_full && pressure < Pressure::Stranded {
            return false;
        }
        let Some(line) = flash.lines.victim(pressure) else { return false };
        flash.counts.lines_collected += 1;
        flash.counts.victim_valid_pages += u64::from(flash.lines.get(line).valid);
        self.victim_pages += u64::from(flash.lines.get(line).blocks);
        flash.lines.add_reference(line);
        // The page list of a line with a write error is in memory.
        let list = match flash.lines.list_of(line) {
            List::Failed => Vec::new(),
            _ => flash
                .lines
                .emeta_of(line)
                .into_iter()
                .flat_map(|strip| flash.layout.locations_in(line, strip))
                .collect(),
        };
        let next = flash.layout.locations_of(line).start;
        self.victims.push_back(Victim { line, list, next, reads: 0, lists: 0 });
        true
    }

    /// Sends the next GC read of the first victim that has one to send, or finishes a victim whose pages were
    /// all read. Returns whether it did one of these.
    fn read_victim<D: PhysicalDevice>(
        &mut self,
        flash: &mut Flash<D>,
        buffer: &Buffer,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) -> bool {
        let CollectorFile { readers, requests, .. } = self.file;
        let has_stranded = flash.lines.has_stranded();
        let most = match has_stranded {
            true => readers,
            false => requests.saturating_sub(self.moved.len() as u32).min(readers),
        };
        let can_read = self.readers < most;
        for at in 0..self.victims.len() {
            let victim = &self.victims[at];
            let (line, is_over) = (victim.line, victim.next == flash.layout.locations_of(victim.line).end);
            if is_over && victim.reads == 0 {
                self.victims.remove(at);
                flash.lines.drop_reference(line);
                return true;
            }
            // The emeta is read before the pages that it lists.
            let is_listing = !victim.list.is_empty();
            let is_due = flash.lines.is_stranded(line) || !has_stranded;
            if is_due && !is_over && (is_listing || victim.lists == 0) {
                return can_read && self.send_gc_read((at, is_listing), flash, buffer, calendar);
            }
        }
        false
    }

    /// Sends a read of the emeta or of valid pages of a victim. Returns whether it made progress.
    fn send_gc_read<D: PhysicalDevice>(
        &mut self,
        (at, is_listing): (usize, bool),
        flash: &mut Flash<D>,
        buffer: &Buffer,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) -> bool {
        let victim = &mut self.victims[at];
        let line = victim.line;
        let mut sent =
            flash.port.new_command(if is_listing { Purpose::List(line) } else { Purpose::Collect(line) });
        if is_listing {
            sent.places.extend(victim.list.drain(..victim.list.len().min(MOST_BLOCKS)));
            flash.counts.emeta_blocks_read += sent.places.len() as u64;
        } else {
            let end = flash.layout.locations_of(line).end;
            while victim.next < end && sent.places.len() < MOST_BLOCKS {
                let place = Ppa(victim.next);
                // A page with a newer version in the ring stays valid here until that version reaches flash.
                let page = page_of(flash.lines.content(place));
                if flash.lines.is_valid(place) && buffer.is_newest_in_flash(page, place) {
                    sent.places.push(place);
                }
                victim.next += 1;
            }
            flash.counts.pages_collected += sent.places.len() as u64;
        }
        if sent.places.is_empty() {
            flash.port.recycle(sent);
            return true;
        }
        let reads = flash.send(sent, calendar);
        victim.reads += reads;
        victim.lists += if is_listing { reads } else { 0 };
        self.readers += reads;
        true
    }

    fn end_gc_read(&mut self, line: LineId, of_list: bool) {
        self.readers -= 1;
        let victim = self.victims.iter_mut().find(|victim| victim.line == line);
        let victim = victim.expect("it waits for its reads");
        victim.reads -= 1;
        victim.lists -= u32::from(of_list);
    }

    /// Completes a read of a part of the emeta. After a failed read, GC uses the out-of-band data of the
    /// pages instead.
    pub(super) fn complete_emeta_read(&mut self, line: LineId, completion: &Completion, counts: &mut Counts) {
        counts.emeta_read_failures += u64::from(completion.failure.is_some());
        self.end_gc_read(line, true);
    }

    /// Completes a read of valid pages. Unreadable pages are marked as lost.
    pub(super) fn pages_read<D: PhysicalDevice>(
        &mut self,
        line: LineId,
        completion: &Completion,
        sent: &Sent,
        flash: &mut Flash<D>,
    ) {
        let mut pages = Vec::with_capacity(sent.places.len());
        for (at, place) in sent.places.iter().enumerate() {
            let mut stamp = flash.lines.content(*place);
            if completion.has_failed(at) {
                let is_new = flash.lines.is_valid(*place) && stamp.logical & LOST == 0;
                flash.counts.lost_pages += u64::from(is_new);
                stamp.logical |= LOST;
            } else {
                assert_eq!(completion.found[at], stamp, "a page of the line is where its list says");
            }
            pages.push((*place, stamp));
        }
        flash.lines.add_reference(line);
        self.moved.push_back(RelocationBatch { line, pages });
        self.end_gc_read(line, false);
    }

    /// The next batch to insert into the ring: the oldest. While lines are stranded, only their batches are
    /// inserted: the others would take the last lines that can be opened without a flush.
    fn next_batch(&self, lines: &Lines) -> Option<usize> {
        let has_stranded = lines.has_stranded();
        self.moved.iter().position(|moved| lines.is_stranded(moved.line) || !has_stranded)
    }

    /// Whether lines are stranded, and all of their pages were read and are in the ring.
    pub(super) fn has_moved_stranded(&self, lines: &Lines) -> bool {
        let is_read = |victim: &Victim| !lines.is_stranded(victim.line);
        lines.has_stranded() && self.victims.iter().all(is_read) && self.next_batch(lines).is_none()
    }

    /// Inserts the still valid pages of a GC read into the ring, if there is space. Returns whether it did.
    fn insert_relocated<D: PhysicalDevice>(
        &mut self,
        flash: &mut Flash<D>,
        buffer: &mut Buffer,
        now: Instant,
    ) -> bool {
        let Some(at) = self.next_batch(&flash.lines) else { return false };
        let moved = &mut self.moved[at];
        let count = moved.pages.len() as u32;
        if !flash.limiter.gc_can_insert(buffer.ring.of(Origin::Collector), now) {
            return false;
        }
        // A ring smaller than a GC read takes a part of the pages.
        let count = count.min(flash.layout.most_io());
        if !buffer.make_space(count, flash) {
            return false;
        }
        let line = moved.line;
        for (place, stamp) in moved.pages.drain(..count as usize) {
            buffer.relocate(place, stamp);
        }
        if moved.pages.is_empty() {
            self.moved.remove(at);
            flash.lines.drop_reference(line);
        }
        true
    }
}
