//! Garbage collection: reads the valid pages of a victim line and inserts them into the ring, until the line
//! has no valid pages.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_device::PhysicalDevice;
use wordline_device::physical_device::{Completion, MOST_BLOCKS};
use wordline_kernel::{Complaints, Instant, Schedule, state};
use wordline_nand::DataTag;

use super::l2p::{L2pMap, PageLocation};
use super::layout::{LineId, Page, Ppa};
use super::limiter::Pressure;
use super::lines::{LineState, List};
use super::port::{Purpose, Sent};
use super::ring::{LOST, Origin, Ring, page_of};
use super::{Event, Pblk};

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
}

state!(Collector { values { victims, readers, moved } fixed { file } });

impl Collector {
    pub(super) fn new(file: CollectorFile) -> Self {
        Self { file, victims: VecDeque::new(), readers: 0, moved: VecDeque::new() }
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

    /// Notes that a GC read of a line was split in two.
    pub(super) fn add_split_read(&mut self, line: LineId, of_list: bool) {
        self.readers += 1;
        let victim = self.victims.iter_mut().find(|victim| victim.line == line);
        let victim = victim.expect("it waits for its reads");
        victim.reads += 1;
        victim.lists += u32::from(of_list);
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

/// Whether a location has the newest version of a page that is in flash. A ring entry may have a newer one.
fn is_newest(map: &L2pMap, ring: &Ring, page: Page, place: Ppa) -> bool {
    match map.get(page) {
        PageLocation::Unmapped => false,
        PageLocation::Flash(newest) => newest == place,
        PageLocation::Ring(index) => ring.at(index).place == place && ring.at(index).durable == place,
    }
}

impl<D: PhysicalDevice> Pblk<D> {
    /// Runs GC as far as the rate limiter and the free space require. Returns whether anything was done.
    pub(super) fn collect(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) -> bool {
        let mut any = false;
        while let Some(line) = self.lines.pop_emptied() {
            // The victim was counted when it was selected.
            let of_line = self.lines.get(line);
            self.victim_pages += u64::from(of_line.blocks) * u64::from(of_line.state != LineState::Collected);
            self.lines.free(line, self.durable.point());
            self.counts.lines_freed += 1;
            self.update_limiter();
            any = true;
        }
        if self.limiter.needs_gc() {
            while self.select_victim() {
                any = true;
            }
        }
        if self.collector.is_idle() {
            return any;
        }
        while self.read_victim(calendar) {
            any = true;
        }
        while self.insert_relocated(calendar.now()) {
            any = true;
        }
        any
    }

    fn select_victim(&mut self) -> bool {
        if self.collector.victims.len() >= self.collector.file.lines as usize
            || self.collector.moved.len() >= self.collector.file.requests as usize
        {
            return false;
        }
        let only_failed = self.limiter.pressure() == Pressure::Failed;
        let Some(line) = self.lines.victim(only_failed) else { return false };
        self.counts.lines_collected += 1;
        self.counts.victim_valid_pages += u64::from(self.lines.get(line).valid);
        self.victim_pages += u64::from(self.lines.get(line).blocks);
        self.lines.add_reference(line);
        // The page list of a line with a write error is in memory.
        let list = match self.lines.list_of(line) {
            List::Failed => Vec::new(),
            _ => self
                .lines
                .emeta_of(line)
                .into_iter()
                .flat_map(|strip| self.layout.locations_in(line, strip))
                .collect(),
        };
        let next = self.layout.locations_of(line).start;
        self.collector.victims.push_back(Victim { line, list, next, reads: 0, lists: 0 });
        true
    }

    /// Sends the next GC read of the first victim that has one to send, or finishes a victim whose pages were
    /// all read. Returns whether it did one of these.
    fn read_victim(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) -> bool {
        let CollectorFile { readers, requests, .. } = self.collector.file;
        let most = requests.saturating_sub(self.collector.moved.len() as u32).min(readers);
        let can_read = self.collector.readers < most;
        for at in 0..self.collector.victims.len() {
            let victim = &self.collector.victims[at];
            let (line, is_over) = (victim.line, victim.next == self.layout.locations_of(victim.line).end);
            if is_over && victim.reads == 0 {
                self.collector.victims.remove(at);
                self.lines.drop_reference(line);
                return true;
            }
            // The emeta is read before the pages that it lists.
            let is_listing = !victim.list.is_empty();
            if !is_over && (is_listing || victim.lists == 0) {
                return can_read && self.send_gc_read(at, is_listing, calendar);
            }
        }
        false
    }

    /// Sends a read of the emeta or of valid pages of a victim. Returns whether it made progress.
    fn send_gc_read(
        &mut self,
        at: usize,
        is_listing: bool,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) -> bool {
        let line = self.collector.victims[at].line;
        let mut sent =
            self.port.new_command(if is_listing { Purpose::List(line) } else { Purpose::Collect(line) });
        let victim = &mut self.collector.victims[at];
        if is_listing {
            sent.places.extend(victim.list.drain(..victim.list.len().min(MOST_BLOCKS)));
            self.counts.emeta_blocks_read += sent.places.len() as u64;
        } else {
            let end = self.layout.locations_of(line).end;
            while victim.next < end && sent.places.len() < MOST_BLOCKS {
                let place = Ppa(victim.next);
                // A page with a newer version in the ring stays valid here until that version reaches flash.
                let page = page_of(self.lines.content(place));
                if self.lines.is_valid(place) && is_newest(&self.map, &self.ring, page, place) {
                    sent.places.push(place);
                }
                victim.next += 1;
            }
            self.counts.pages_collected += sent.places.len() as u64;
        }
        if sent.places.is_empty() {
            self.port.recycle(sent);
            return true;
        }
        victim.reads += 1;
        victim.lists += u32::from(is_listing);
        self.collector.readers += 1;
        self.send(sent, calendar);
        true
    }

    fn end_gc_read(&mut self, line: LineId, of_list: bool) {
        self.collector.readers -= 1;
        let victim = self.collector.victims.iter_mut().find(|victim| victim.line == line);
        let victim = victim.expect("it waits for its reads");
        victim.reads -= 1;
        victim.lists -= u32::from(of_list);
    }

    /// Completes a read of a part of the emeta. After a failed read, GC uses the out-of-band data of the
    /// pages instead.
    pub(super) fn complete_emeta_read(&mut self, line: LineId, completion: &Completion) {
        self.counts.emeta_read_failures += u64::from(completion.failure.is_some());
        self.end_gc_read(line, true);
    }

    /// Completes a read of valid pages. Unreadable pages are marked as lost.
    pub(super) fn pages_read(&mut self, line: LineId, completion: &Completion, sent: &Sent) {
        let mut pages = Vec::with_capacity(sent.places.len());
        for (at, place) in sent.places.iter().enumerate() {
            let mut stamp = self.lines.content(*place);
            if completion.has_failed(at) {
                let is_new = self.lines.is_valid(*place) && stamp.logical & LOST == 0;
                self.counts.lost_pages += u64::from(is_new);
                stamp.logical |= LOST;
            } else {
                assert_eq!(completion.found[at], stamp, "a page of the line is where its list says");
            }
            pages.push((*place, stamp));
        }
        self.lines.add_reference(line);
        self.collector.moved.push_back(RelocationBatch { line, pages });
        self.end_gc_read(line, false);
    }

    /// Inserts the still valid pages of a GC read into the ring, if there is space. Returns whether it did.
    fn insert_relocated(&mut self, now: Instant) -> bool {
        let Some(moved) = self.collector.moved.front() else { return false };
        let count = moved.pages.len() as u32;
        if !self.limiter.gc_can_insert(self.ring.of(Origin::Collector), now) {
            return false;
        }
        // A ring smaller than a GC read takes a part of the pages.
        let count = count.min(self.layout.most_io());
        if !self.make_space(count) {
            return false;
        }
        let moved = &mut self.collector.moved[0];
        let line = moved.line;
        let pages: Vec<(Ppa, DataTag)> = moved.pages.drain(..count as usize).collect();
        for (place, stamp) in pages {
            let page = page_of(stamp);
            if is_newest(&self.map, &self.ring, page, place) {
                let index = self.ring.push(stamp, Origin::Collector, place);
                self.map.set(page, PageLocation::Ring(index));
            }
        }
        if self.collector.moved[0].pages.is_empty() {
            self.collector.moved.pop_front();
            self.lines.drop_reference(line);
        }
        true
    }
}
