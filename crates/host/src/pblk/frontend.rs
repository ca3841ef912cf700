//! Host commands: the conditions that they wait for, and their completion.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wordline_device::physical_device::{ChunkState, Completion as DeviceAnswer, MOST_BLOCKS};
use wordline_device::{Command, Completion, Operation, PhysicalDevice};
use wordline_kernel::{Instant, Schedule, state};

use super::l2p::PageLocation;
use super::layout::{Page, Ppa};
use super::port::{Purpose, Sent};
use super::ring::{LOST, Origin};
use super::{Event, Pblk, Power};
use crate::slab::Slab;
use wordline_nand::DataTag;

/// An outstanding host command.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Request {
    pub(super) command: Command,
    pub(super) submitted: Instant,
    /// Outstanding device reads.
    reads: u32,
    /// The next page to write.
    next: u32,
    pub(super) failed: bool,
    /// Whether the rate limiter has delayed this write.
    is_limited: bool,
}

/// All host commands.
pub(super) struct HostFrontend {
    all: Slab<Request>,
    /// Writes that wait for space in the ring.
    writes: VecDeque<u32>,
    /// Commands that wait until all entries before a position are in flash, in order of position.
    flushes: VecDeque<(u64, u32)>,
    completions: Vec<Completion>,
    /// Whether the device is being preconditioned. No host command waits then.
    pub(super) is_filling: bool,
}

state!(HostFrontend { values { all, writes, flushes, completions } fixed { is_filling } });

impl HostFrontend {
    pub(super) fn new() -> Self {
        Self {
            all: Slab::default(),
            writes: VecDeque::new(),
            flushes: VecDeque::new(),
            completions: Vec::new(),
            is_filling: false,
        }
    }

    /// Notes that a device read of a host command was split in two.
    pub(super) fn add_split_read(&mut self, number: u32) {
        self.all.get_mut(number).reads += 1;
    }

    /// Whether the first command that waits for flash waits for entries that are only in the volatile cache
    /// of the device: entries from position `covered` to `synced`.
    pub(super) fn needs_flush(&self, covered: u64, synced: u64) -> bool {
        self.flushes.front().is_some_and(|(position, _)| (covered + 1..=synced).contains(position))
    }

    /// Whether a command with this number is outstanding.
    pub(super) fn has(&self, number: u32) -> bool {
        self.all.has(number)
    }

    /// All outstanding commands.
    pub(super) fn requests(&self) -> impl Iterator<Item = &Request> {
        self.all.values()
    }

    pub(super) fn outstanding(&self) -> usize {
        self.all.count()
    }

    pub(super) fn completions(&self) -> &[Completion] {
        &self.completions
    }

    pub(super) fn clear_completions(&mut self) {
        self.completions.clear();
    }

    /// Whether a command waits for ring entries to be written.
    pub(super) fn has_waiting(&self) -> bool {
        self.is_filling || !self.writes.is_empty() || !self.flushes.is_empty()
    }

    /// How many writes wait for space, and how many commands for flash.
    pub(super) fn waiting(&self) -> [usize; 2] {
        [self.writes.len(), self.flushes.len()]
    }

    /// The position before which entries have to be written at once.
    #[inline]
    pub(super) fn flush_point(&self) -> u64 {
        self.flushes.back().map_or(0, |(position, _)| *position)
    }

    /// Notes that an entry was dropped in favour of a newer entry. Commands that waited for it wait for the
    /// newer one.
    pub(super) fn retarget_flushes(&mut self, dropped: u64, newer: u64) {
        for (position, _) in self.flushes.iter_mut().filter(|(position, _)| *position > dropped) {
            *position = (*position).max(newer + 1);
        }
    }

    /// Removes and returns a command whose entries are all in flash.
    fn pop_flushed(&mut self, covered: u64) -> Option<u32> {
        let (position, number) = *self.flushes.front()?;
        if position > covered {
            return None;
        }
        self.flushes.pop_front();
        Some(number)
    }

    /// Fails and returns all waiting commands, after their condition has become impossible.
    pub(super) fn drain_waiting(&mut self) -> Vec<u32> {
        let numbers: Vec<u32> =
            self.writes.drain(..).chain(self.flushes.drain(..).map(|(_, number)| number)).collect();
        for number in &numbers {
            self.all.get_mut(*number).failed = true;
        }
        numbers
    }

    /// Drops and returns the outstanding commands after a power cut.
    pub(super) fn forget(&mut self) -> Vec<Command> {
        self.writes.clear();
        self.flushes.clear();
        self.all.take_all().map(|request| request.command).collect()
    }

    /// Checks that the waiting commands exist.
    pub(super) fn check(&self) -> Result<(), String> {
        let flushes = self.flushes.iter().map(|(_, number)| number);
        let is_there = self.writes.iter().chain(flushes).all(|number| self.has(*number));
        if is_there && self.all.is_sound() { Ok(()) } else { Err("commands that do not exist".into()) }
    }
}

impl<D: PhysicalDevice> Pblk<D> {
    /// The logical pages that a command addresses.
    pub(super) fn pages_of(&self, command: &Command) -> std::ops::Range<u32> {
        let sectors = self.sectors_of_a_page;
        (command.sector / sectors) as u32..((command.sector + command.sectors) / sectors) as u32
    }

    pub(super) fn take(&mut self, command: Command, calendar: &mut impl Schedule<Event<D::Event>>) {
        assert!(self.recovery.power == Power::On, "it takes no command before it has recovered");
        let pages = self.pages_of(&command);
        let (submitted, next) = (calendar.now(), pages.start);
        let request = Request { command, submitted, reads: 0, next, failed: false, is_limited: false };
        let number = self.front.all.add(request);
        self.note_time(submitted);
        self.note_submission(number, command.operation == Operation::Flush);
        match command.operation {
            Operation::Read | Operation::Compare => self.read(number, &command, calendar),
            Operation::Write | Operation::WriteZeroes if !pages.is_empty() => {
                self.front.writes.push_back(number);
            }
            Operation::Write | Operation::WriteZeroes => self.schedule_completion(number, calendar),
            Operation::Flush => self.front.flushes.push_back((self.ring.head(), number)),
            Operation::Discard => {
                pages.for_each(|page| self.trim(Page(page)));
                self.schedule_completion(number, calendar);
            }
        }
        self.make_progress(calendar);
    }

    /// Unmaps a page. As in pblk, a power cut may bring its data back.
    fn trim(&mut self, page: Page) {
        let durable = match self.map.get(page) {
            PageLocation::Unmapped => return,
            PageLocation::Flash(place) => place,
            PageLocation::Ring(index) => self.ring.at(index).durable,
        };
        if durable != Ppa::NONE {
            self.lines.invalidate(durable);
        }
        self.map.set(page, PageLocation::Unmapped);
        self.counts.trimmed_pages += 1;
    }

    /// Reads the pages that are not in the ring from the device, in the largest commands allowed.
    fn read(&mut self, number: u32, command: &Command, calendar: &mut impl Schedule<Event<D::Event>>) {
        if self.followed.is_some() {
            self.track_read(command);
        }
        let mut failed = false;
        let mut sent = self.port.new_command(Purpose::Read(number));
        for page in self.pages_of(command).map(Page) {
            let version = self.map.version(page);
            failed |= command.expected != 0 && command.expected != version;
            match self.map.get(page) {
                PageLocation::Unmapped => {}
                PageLocation::Ring(index) => {
                    self.counts.read_from_ring += 1;
                    failed |= self.ring.at(index).is_lost();
                }
                PageLocation::Flash(place) => {
                    sent.places.push(place);
                    sent.stamps.push(DataTag { logical: page.0, version });
                }
            }
            if sent.places.len() == MOST_BLOCKS {
                let full = std::mem::replace(&mut sent, self.port.new_command(Purpose::Read(number)));
                self.send_read(number, full, calendar);
            }
        }
        self.front.all.get_mut(number).failed |= failed;
        if sent.places.is_empty() {
            self.port.recycle(sent);
        } else {
            self.send_read(number, sent, calendar);
        }
        if self.front.all.get_mut(number).reads == 0 {
            self.schedule_completion(number, calendar);
        }
    }

    fn send_read(&mut self, number: u32, sent: Sent, calendar: &mut impl Schedule<Event<D::Event>>) {
        self.front.all.get_mut(number).reads += 1;
        self.counts.read_from_flash += sent.places.len() as u64;
        self.send(sent, calendar);
    }

    /// Completes a device read of a host command.
    pub(super) fn complete_host_read(
        &mut self,
        number: u32,
        completion: &DeviceAnswer,
        sent: &Sent,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        let mut failed = completion.failure.is_some();
        for (at, wanted) in sent.stamps.iter().enumerate().filter(|(at, _)| !completion.has_failed(*at)) {
            let found = completion.found[at];
            let is_lost = found.logical == wanted.logical | LOST;
            assert!(is_lost || found == *wanted, "a read found {found:?}, wanted {wanted:?}");
            failed |= is_lost;
        }
        let request = self.front.all.get_mut(number);
        request.reads -= 1;
        request.failed |= failed;
        if request.reads == 0 {
            self.note_read(number);
            self.schedule_completion(number, calendar);
        }
    }

    /// Completes a command after the host time.
    fn schedule_completion(&mut self, number: u32, calendar: &mut impl Schedule<Event<D::Event>>) {
        calendar.after(self.command_time, Event::Completion(number));
    }

    /// Fails the commands that wait for space that never becomes free. Returns whether there were any.
    pub(super) fn fail_waiting(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) -> bool {
        let numbers = self.front.drain_waiting();
        numbers.iter().for_each(|number| self.schedule_completion(*number, calendar));
        !numbers.is_empty()
    }

    pub(super) fn complete_request(&mut self, number: u32, now: Instant) {
        let Request { command, submitted, failed, .. } = self.front.all.remove(number);
        let latency = now - submitted;
        self.digest.add(u64::from(command.tag));
        self.digest.add(latency.ps());
        let completion = Completion { command, latency, failed };
        self.front.completions.push(completion);
        self.note_completion(number, completion, submitted);
        let (ring, lines) = (&self.ring, &self.lines);
        self.recorder
            .note(number, (completion, submitted), || (ring.of(Origin::Host), lines.free_chunks().into()));
    }

    /// Admits pages of waiting writes to the ring while there is space. Returns whether it admitted any.
    pub(super) fn admit(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) -> bool {
        let mut any = false;
        while let Some(number) = self.front.writes.front().copied() {
            let Request { command, next, .. } = *self.front.all.get_mut(number);
            let end = self.pages_of(&command).end;
            let count = (end - next).min(self.layout.most_io());
            if !self.limiter.host_can_insert(self.ring.of(Origin::Host)) {
                let request = self.front.all.get_mut(number);
                self.counts.rate_limited += u64::from(!request.is_limited);
                request.is_limited = true;
                return any;
            }
            if !self.make_space(count) {
                return any;
            }
            any = true;
            for page in (next..next + count).map(Page) {
                let version = self.write(page);
                if self.followed.is_some() {
                    self.track_write(&command, page, version);
                }
            }
            self.limiter.note_host_write(calendar.now());
            self.front.all.get_mut(number).next = next + count;
            if next + count == end {
                self.front.writes.pop_front();
                self.note_admitted(number);
                self.forget_carried(command.tag);
                match command.fua {
                    true => self.front.flushes.push_back((self.ring.head(), number)),
                    false => self.schedule_completion(number, calendar),
                }
            }
        }
        any
    }

    /// Writes a new version of a page to the ring, which must have space. Returns the version.
    #[inline]
    pub(super) fn write(&mut self, page: Page) -> u32 {
        let version = self.map.next_version(page);
        let durable = match self.map.get(page) {
            PageLocation::Unmapped => Ppa::NONE,
            PageLocation::Flash(place) => place,
            PageLocation::Ring(index) => self.ring.at(index).durable,
        };
        let index = self.ring.push(DataTag { logical: page.0, version }, Origin::Host, durable);
        self.map.set(page, PageLocation::Ring(index));
        version
    }

    /// Makes space in the ring for this many entries. Returns false if too few old entries are in flash and
    /// readable there.
    pub(super) fn make_space(&mut self, entries: u32) -> bool {
        if !self.ring.can_accept(entries) {
            return false;
        }
        while !self.ring.has_space(entries) {
            if !self.evict_oldest() {
                return false;
            }
        }
        true
    }

    /// Evicts the oldest entry from the ring if it is in flash and readable there. Returns whether it did.
    pub(super) fn evict_oldest(&mut self) -> bool {
        let Some((index, entry)) = self.ring.oldest_synced() else { return false };
        let (page, place) = (super::ring::page_of(entry.stamp), entry.place);
        // Otherwise the page has a newer version, or is unmapped.
        if self.map.get(page) == PageLocation::Ring(index) {
            if !self.can_read(place) {
                return false;
            }
            self.map.set(page, PageLocation::Flash(place));
        }
        self.ring.pop();
        true
    }

    /// Whether the device can read a written location, or will never be able to.
    fn can_read(&self, place: Ppa) -> bool {
        if self.layout.mw_cunits == 0 {
            return true;
        }
        let block = self.layout.block(place);
        let report = self.port.device.report(block.chunk);
        // Unreadable blocks of a chunk that closed early stay unreadable.
        report.state != ChunkState::Open || block.block < report.readable
    }

    /// Completes the commands whose entries are all in flash. Returns whether there were any.
    pub(super) fn complete_flushes(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) -> bool {
        let mut any = false;
        let covered = self.durable.covered(self.ring.synced());
        while let Some(number) = self.front.pop_flushed(covered) {
            self.note_flushed(number);
            self.schedule_completion(number, calendar);
            any = true;
        }
        any
    }
}
