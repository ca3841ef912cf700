//! A host FTL: turns an open-channel device into a block device.
//!
//! - [`ftl`] is the FTL over any [`PhysicalDevice`]: a page-level L2P map, a write buffer and greedy GC.
//! - [`HostFtl`] makes the FTL a block device, so that any workload runs on it.
//! - [`HostFtlType`] makes the block device a device type that configurations can name. The program of this
//!   crate is the complete program `wordline` with this device type.
//!
//! A write completes when it is in the buffer. A power cut empties the buffer. A flush or a FUA write
//! completes when the buffer is empty. The host addresses whole pages: the logical blocks of the device.

mod block_device;
mod configured;
pub mod ftl;

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use wordline_device::block_device::Programmed;
use wordline_device::content::{FoundBlock, TrackedContents};
use wordline_device::preconditioning::{FillProgress, ProgressFn, Steady};
use wordline_device::{Command, Completion, Operation, PhysicalDevice, Recovered, SECTOR};
use wordline_kernel::snapshot::State;
use wordline_kernel::{Digest, Duration, Instant, Schedule, Seed, state};

pub use configured::{HostFtlFile, HostFtlType};
use ftl::{Ftl, NONE};

/// Events of a host FTL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event<E> {
    /// An event of its device.
    Device(E),
    /// The command with this number completes.
    Completion(u32),
}

/// A host command.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Request {
    command: Command,
    submitted: Instant,
    /// Outstanding device reads.
    reads: u32,
    /// The next page to write.
    next: u32,
    failed: bool,
}

/// State of the power and of a recovery.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Power {
    On,
    Off,
    /// The device recovers. Then its pages are scanned.
    Back(Instant),
}

/// A block device over a physical device.
pub struct HostFtl<D> {
    ftl: Ftl<D>,
    /// Host time per command, in addition to the device time.
    command_time: Duration,
    requests: BTreeMap<u32, Request>,
    next: u32,
    /// Writes that wait for space.
    writes: VecDeque<u32>,
    /// Commands that wait until the buffer is empty.
    flushes: Vec<u32>,
    power: Power,
    recovery: Option<Recovered>,
    completions: Vec<Completion>,
    digest: Digest,
    followed: Option<Box<TrackedContents>>,
}

state!(HostFtl<D: State> {
    values { requests, next, writes, flushes, power, recovery, completions, digest }
    parts { ftl }
    fixed { command_time, followed }
});

impl<D: PhysicalDevice> HostFtl<D> {
    /// A device with `pages` pages and a write buffer of `buffer` pages.
    pub fn new(device: D, pages: u32, buffer: u32, command_time: Duration) -> Self {
        Self {
            ftl: Ftl::new(device, pages, buffer as usize),
            command_time,
            requests: BTreeMap::new(),
            next: 0,
            writes: VecDeque::new(),
            flushes: Vec::new(),
            power: Power::On,
            recovery: None,
            completions: Vec::new(),
            digest: Digest::default(),
            followed: None,
        }
    }

    /// The open-channel device below.
    pub fn device(&self) -> &D {
        &self.ftl.device
    }

    fn sectors_of_a_page(&self) -> u64 {
        self.ftl.device.geometry().block_size.0 / SECTOR.0
    }

    /// The pages of a command.
    fn pages(&self, command: &Command) -> std::ops::Range<u32> {
        let per_page = self.sectors_of_a_page();
        (command.sector / per_page) as u32..((command.sector + command.sectors) / per_page) as u32
    }

    fn take(&mut self, command: Command, calendar: &mut impl Schedule<Event<D::Event>>) {
        assert!(self.power == Power::On, "it takes no command before it has recovered");
        let number = self.next;
        self.next = number.wrapping_add(1);
        let pages = self.pages(&command);
        let request =
            Request { command, submitted: calendar.now(), reads: 0, next: pages.start, failed: false };
        self.requests.insert(number, request);
        match command.operation {
            Operation::Read | Operation::Compare => self.read(number, calendar),
            Operation::Write => self.writes.push_back(number),
            Operation::Flush => self.flushes.push(number),
            Operation::Discard | Operation::WriteZeroes => {
                pages.for_each(|page| self.ftl.discard(page));
                self.schedule_completion(number, calendar);
            }
            of_zones => of_zones.is_not_executed(),
        }
        self.make_progress(calendar);
    }

    fn request(&mut self, number: u32) -> &mut Request {
        self.requests.get_mut(&number).expect("it is not answered yet")
    }

    fn read(&mut self, number: u32, calendar: &mut impl Schedule<Event<D::Event>>) {
        let command = self.request(number).command;
        let pages = self.pages(&command);
        if self.followed.is_some() {
            self.track_read(&command);
        }
        let in_flash =
            |page: &u32| self.ftl.buffered(*page).is_none() && self.ftl.map[*page as usize] != NONE;
        let places: Vec<u32> =
            pages.clone().filter(in_flash).map(|page| self.ftl.map[page as usize]).collect();
        let differs =
            |page: u32| command.expected != 0 && command.expected != self.ftl.versions[page as usize];
        let failed = pages.clone().any(|page| self.ftl.is_lost(page) || differs(page));
        let reads = self.ftl.read(number, &places, &mut calendar.within(Event::Device));
        let request = self.request(number);
        (request.reads, request.failed) = (reads, failed);
        if reads == 0 {
            self.schedule_completion(number, calendar);
        }
    }

    /// Completes a command after the host time.
    fn schedule_completion(&mut self, number: u32, calendar: &mut impl Schedule<Event<D::Event>>) {
        calendar.after(self.command_time, Event::Completion(number));
    }

    fn completion(&mut self, number: u32, now: Instant) {
        let Request { command, submitted, failed, .. } = self.requests.remove(&number).expect("it is done");
        let latency = now - submitted;
        self.digest.add(u64::from(command.tag));
        self.digest.add(latency.ps());
        self.completions.push(Completion { command, latency, failed });
    }

    /// Runs every activity that is possible now, of the FTL and of waiting host commands.
    fn make_progress(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) {
        loop {
            self.ftl.is_flushing = !self.flushes.is_empty();
            self.ftl.make_progress(&mut calendar.within(Event::Device));
            for (number, failed) in std::mem::take(&mut self.ftl.reads) {
                let request = self.request(number);
                request.reads -= 1;
                request.failed |= failed;
                if request.reads == 0 {
                    self.schedule_completion(number, calendar);
                }
            }
            if self.ftl.is_flushed() {
                for number in std::mem::take(&mut self.flushes) {
                    self.schedule_completion(number, calendar);
                }
                self.ftl.is_flushing = false;
            }
            if !self.admit(calendar) {
                return;
            }
        }
    }

    /// Admits pages of the first waiting write to the buffer while there is space. Returns whether it
    /// admitted any.
    fn admit(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) -> bool {
        let Some(number) = self.writes.front().copied() else { return false };
        let (command, first) = (self.requests[&number].command, self.requests[&number].next);
        let (mut page, end) = (first, self.pages(&command).end);
        while page < end && self.ftl.has_room() {
            let version = self.ftl.write(page);
            if self.followed.is_some() {
                self.track_write(&command, page, version);
            }
            page += 1;
        }
        self.request(number).next = page;
        if page == end {
            self.writes.pop_front();
            if let Some(followed) = &mut self.followed {
                followed.forget_carried(command.tag);
            }
            match command.fua {
                true => self.flushes.push(number),
                false => self.schedule_completion(number, calendar),
            }
        }
        page == end || page > first
    }

    /// Advances the recovery: when the device is ready, its pages are read, and then the L2P map is rebuilt.
    fn advance_recovery(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) {
        let Power::Back(since) = self.power else { return };
        if !self.ftl.device.is_ready() {
            return;
        }
        if self.ftl.scanning.is_none() {
            self.ftl.scan(&mut calendar.within(Event::Device));
        }
        self.ftl.take_completions();
        if !self.ftl.is_idle() {
            return;
        }
        let pages_read = self.ftl.scanning.take().unwrap_or_default();
        self.recovery = Some(Recovered { time: calendar.now() - since, pages_read, ..Recovered::default() });
        self.ftl.find_free_lines();
        self.power = Power::On;
    }

    fn track_write(&mut self, command: &Command, page: u32, version: u32) {
        let first = self.pages(command).start;
        let followed = self.followed.as_mut().expect("contents are followed");
        followed.note_write(command, (page - first) as usize, page, version);
    }

    fn track_read(&mut self, command: &Command) {
        let pages = self.pages(command);
        let ftl = &self.ftl;
        let found = |page: u32| {
            let is_nowhere = ftl.buffered(page).is_none() && ftl.map[page as usize] == NONE;
            match ftl.is_lost(page) {
                true => FoundBlock::Lost,
                false if is_nowhere => FoundBlock::Unwritten,
                false => FoundBlock::Version { block: page, version: ftl.versions[page as usize] },
            }
        };
        let followed = self.followed.as_mut().expect("contents are followed");
        followed.note_read(command.tag, 0, pages.map(found));
    }

    /// Writes pages with the clock of the device off, until `look` stops it. Returns whether all pages were
    /// written.
    fn write_untimed(
        &mut self,
        pages: impl Iterator<Item = u32>,
        before: u64,
        total: u64,
        look: ProgressFn<'_>,
    ) -> bool {
        let mut calendar = wordline_kernel::Calendar::new();
        let filled = self.ftl.map.len() as u64;
        self.ftl.device.stop_clock();
        let mut goes_on = true;
        for (n, page) in (before..).zip(pages) {
            self.ftl.write(page);
            self.ftl.make_progress(&mut calendar);
            if n.is_multiple_of(4096) && !look(FillProgress { pages: n, filled, expected: total }) {
                goes_on = false;
                break;
            }
        }
        self.ftl.is_flushing = true;
        self.ftl.make_progress(&mut calendar);
        self.ftl.is_flushing = false;
        self.ftl.device.start_clock();
        goes_on
    }

    /// Overwrites the first `pages` pages at random, in at most ten rounds. Stops when the write
    /// amplification of a round is within a hundredth of that of the previous round. Chosen: each round
    /// writes `pages` pages.
    fn overwrite(&mut self, seed: Seed, pages: u32, look: ProgressFn<'_>) -> Option<Steady> {
        let mut random = seed.stream("host-ftl.steady", 0);
        let (mut before, mut overwritten) = (f64::INFINITY, 0);
        for round in 1..=10 {
            let Programmed { host, other } = self.programmed();
            let draws = (0..pages).map(|_| random.below(u64::from(pages)) as u32).collect::<Vec<_>>();
            let written = u64::from(pages) * round;
            if !self.write_untimed(draws.into_iter(), written, written + u64::from(pages), look) {
                return None;
            }
            overwritten += u64::from(pages);
            let now = self.programmed();
            let programs = (now.host - host + now.other - other) as f64;
            let amplification = programs / (now.host - host).max(1) as f64;
            if (amplification - before).abs() < 0.01 * amplification || round == 10 {
                return Some(Steady { overwritten, amplification: Some(amplification) });
            }
            before = amplification;
        }
        None
    }

    fn programmed(&self) -> Programmed {
        let counts = &self.ftl.counts;
        Programmed { host: counts.host_pages, other: counts.moved_pages + counts.padding }
    }
}
