//! A device under a host: concurrent commands, power cuts after any event, and snapshots. Every sector of
//! every completion is checked against the host's model.

use std::collections::BTreeMap;

use wordline_device::snapshot::Agenda;
use wordline_device::{BlockDevice, Command, Completion, Operation};
use wordline_flash::{ProgramsAtCut, RequestId};
use wordline_ftl::Sectors;
use wordline_ftl::config::{DiscardsAtCut, LowerPages};
use wordline_ftl::contents::{Contents, InjectedFault};
use wordline_ftl::map::LogicalPage;
use wordline_kernel::{Calendar, Duration, Instant, Schedule, Seed};
use wordline_ssd::config::{BufferMode, Protection};
use wordline_ssd::{Config, Device, Event};

use crate::configure::Configured;
use crate::draw::{Case, Start, Step};
use crate::host::{Durability, Host, Promises};
use crate::lost::is_lost;

/// The power cut as an event. No device has this event.
const CUT: Event = Event::Begin(RequestId(u32::MAX));

/// Events without a completion after which a device counts as hung. Chosen: hundreds of times the events of a
/// command whose pages all wait for GC.
const PATIENCE: u32 = 400_000;

/// A device, its host, and the time of its power cut.
struct Play<'a> {
    configured: &'a Configured,
    device: Device,
    calendar: Calendar<Event>,
    host: Host,
    tag: u32,
    /// Events until the power cut, and the delay after them.
    cut_in: Option<(u32, Duration)>,
    /// Events since the last completion.
    silent: u32,
    /// By outstanding flush: the faults that the device knew at its submission.
    known: BTreeMap<u32, Faults>,
    /// The faults that the device knew at the submission of the last completed flush.
    flushed: Faults,
}

/// Faults that can destroy a table page: unreadable pages and failed dies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Faults {
    unreadable: u64,
    dies: u64,
}

fn promises_of(config: &Config) -> Promises {
    let file = &config.file;
    let parts = std::iter::once(&file.part).chain(file.pools.iter().map(|pool| &pool.part));
    let paired = parts.map(|part| &part.geometry).any(|part| part.bits_per_cell > 1 && !part.one_shot);
    let paired = paired || file.back_end().again() > 0;
    let exposed = file.ftl.recovery.lower_pages == LowerPages::Exposed;
    let torn = file.ftl.recovery.programs_at_cut == ProgramsAtCut::Torn;
    let protected = file.buffer.power_loss_protection != Protection::None;
    match file.ftl.recovery.discards {
        _ if paired && exposed && torn && !protected => Promises::Nothing,
        DiscardsAtCut::Forgotten if !protected => Promises::Writes,
        _ => Promises::All,
    }
}

impl<'a> Play<'a> {
    fn new(configured: &'a Configured, start: Start, mutant: Option<InjectedFault>) -> Self {
        let config = &configured.config;
        let policies = configured.policies();
        let mut device = Device::with(config.clone(), policies, Seed(1));
        device.keep_contents(Contents::new(mutant));
        match start {
            Start::Empty => {}
            Start::Filled => device.fill(1.0),
            Start::Steady => drop(device.fill_steady(Seed(1))),
        }
        let per_page = config.ftl.unit.0 / 512;
        let buffer = &config.file.buffer;
        let protected = buffer.power_loss_protection != Protection::None;
        let writes_through = buffer.mode != BufferMode::WriteBack || protected;
        let durability = Durability { promises: promises_of(config), writes_through };
        let sectors = u64::from(config.ftl.logical_pages) * per_page;
        let host = Host::new(sectors, per_page, durability, start != Start::Empty);
        let calendar = Calendar::new();
        let (known, flushed) = Default::default();
        Self { configured, device, calendar, host, tag: 0, cut_in: None, silent: 0, known, flushed }
    }

    fn config(&self) -> &Config {
        &self.configured.config
    }

    fn submit(&mut self, mut command: Command) {
        self.tag += 1;
        command.tag = self.tag;
        let base = self.config().namespaces[usize::from(command.namespace)].base;
        self.host.on_submit(command, base + command.sector);
        if command.operation == Operation::Flush {
            let totals = self.device.totals();
            let known = Faults { unreadable: totals.unreadable_pages, dies: totals.failed_dies };
            self.known.insert(self.tag, known);
        }
        self.device.submit(command, &mut self.calendar);
        self.take_completions();
    }

    fn take_completions(&mut self) {
        let mut completions = Vec::new();
        self.device.take_completions(&mut completions);
        for completion in completions {
            self.silent = 0;
            self.completed(&completion);
        }
    }

    fn completed(&mut self, completion: &Completion) {
        let found =
            self.device.contents().and_then(|contents| contents.take_completed(completion.command.tag));
        let Self { device, host, .. } = self;
        let refuses = device.is_read_only();
        let is_lost = |sector| is_lost(device, sector);
        host.completed(completion, found.as_deref(), is_lost, refuses);
        if let Some(known) = self.known.remove(&completion.command.tag).filter(|_| !completion.failed) {
            self.flushed = known;
        }
    }

    /// Handles one event, after which the power may be cut. Returns false if no event is left.
    fn advance(&mut self) -> bool {
        let Some(event) = self.calendar.advance() else { return false };
        if event == CUT {
            self.cut();
            return true;
        }
        self.device.handle(event, &mut self.calendar);
        self.take_completions();
        self.silent += 1;
        let now = self.calendar.now();
        let gets_on = self.silent < PATIENCE || self.device.outstanding() == 0;
        assert!(
            gets_on,
            "nothing was answered in {PATIENCE} events\n{}",
            self.device.describe_outstanding(now)
        );
        if let Some((events, delay)) = &mut self.cut_in {
            *events -= 1;
            if *events == 0 {
                let delay = *delay;
                self.cut_in = None;
                self.calendar.after(delay, CUT);
            }
        }
        true
    }

    /// Runs until at most this many commands are outstanding.
    fn run_down_to(&mut self, outstanding: usize) {
        while self.device.outstanding() > outstanding || !self.device.is_ready() {
            if !self.advance() {
                let gave_up = self.device.give_up(&mut self.calendar);
                assert!(
                    gave_up,
                    "no event is pending\n{}",
                    self.device.describe_outstanding(self.calendar.now())
                );
            }
        }
    }

    fn rest(&mut self, time: Duration) {
        let end = self.calendar.now() + time;
        while self.calendar.now() < end && self.advance() {}
    }

    /// Whether the device is at its end of life. Here only faults can cause that.
    fn is_worn(&self) -> bool {
        let totals = self.device.totals();
        let worn = totals.grown_bad_blocks > 0 || totals.program_failures > 0;
        assert!(worn || !self.device.is_read_only(), "the device has room");
        self.device.is_read_only()
    }

    /// Whether faults destroyed pages. A failed reprogram destroys the page on its word line, unless there is
    /// a copy.
    fn loses(&self) -> bool {
        let (totals, file) = (self.device.totals(), &self.config().file);
        let keeps_none = file.back_end().again() > 0 && file.ftl.recovery.lower_pages == LowerPages::Exposed;
        totals.unreadable_pages > 0 || totals.failed_dies > 0 || keeps_none && totals.program_failures > 0
    }

    /// Whether a fault since the start of the last flush may have destroyed a page of the discard table. A
    /// flush rewrites pages that are known to be lost.
    fn loses_tables(&self) -> bool {
        let (unreadable, dies) = (self.device.totals().unreadable_pages, self.device.chips().failed_dies());
        Faults { unreadable, dies: dies.into() } != self.flushed
    }

    /// Cuts the power, and checks every sector.
    fn cut(&mut self) {
        self.cut_in = None;
        let cut = self.device.power_cut(self.calendar.now());
        assert_eq!(cut.incomplete.len(), self.host.loses_power(), "what was not answered never will be");
        self.calendar.clear();
        self.device.recover(&mut self.calendar);
        let (loses, loses_tables, per_page) =
            (self.loses(), self.loses_tables(), self.config().ftl.unit.0 / 512);
        self.known.clear();
        for page in 0..self.config().ftl.logical_pages {
            let lost = self.device.map().lost_sectors(LogicalPage(page));
            assert!(lost.is_empty() || loses, "page {page} is lost, and nothing failed");
            let held = self.device.contents_of(LogicalPage(page));
            for (at, content) in (0..).zip(held) {
                let content = (!lost.covers(Sectors::range(at, at + 1))).then_some(content);
                self.host.check_cut(u64::from(page) * per_page + u64::from(at), content, loses_tables);
            }
        }
        self.silent = 0;
        self.device.audit(self.calendar.now() - Instant::ZERO);
    }

    /// Saves the device, and continues with another device restored from the bytes.
    fn exchange(&mut self) {
        let mut bytes = Vec::new();
        let mut agenda = Agenda::of(&self.calendar);
        // The power cut is not an event of the device.
        let cut: Vec<Instant> =
            agenda.events.extract_if(.., |(_, event)| *event == CUT).map(|(time, _)| time).collect();
        self.device.save(&agenda, &mut bytes).expect("a list takes everything");
        let config = self.config();
        let policies = self.configured.policies();
        let mut other = Device::with(config.clone(), policies, Seed(999));
        let agenda = other.load(&mut bytes.as_slice()).expect("a device takes over what it wrote");
        let contents = self.device.contents().map(std::mem::take).expect("the device keeps contents");
        other.keep_contents(contents);
        (self.device, self.calendar) = (other, agenda.calendar(|event| event));
        cut.into_iter().for_each(|time| self.calendar.at(time, CUT));
    }

    fn step(&mut self, step: &Step, depth: usize) {
        self.run_down_to(depth - 1);
        if self.is_worn() {
            return;
        }
        let namespace = u16::from(step.namespace) % self.config().namespaces.len() as u16;
        let all = self.config().namespaces[usize::from(namespace)].sectors;
        let grid = self.config().file.front.sector_size.0 / 512;
        let all = all / grid * grid;
        // Most commands go to a small part of the device, so that they overlap.
        let range = if step.place.is_multiple_of(4) { all } else { 96.min(all) };
        let sector = u64::from(step.place) * 7919 % range / grid * grid;
        let sectors = u64::from(step.sectors).next_multiple_of(grid).min(all - sector);
        let command = Command {
            fua: step.fua,
            namespace,
            queue: step.queue.into(),
            stream: step.stream,
            sector,
            sectors,
            ..Command::default()
        };
        let flush = Command { operation: Operation::Flush, ..Command::default() };
        match step.kind {
            0..=44 => self.submit(Command { operation: Operation::Write, ..command }),
            45..=66 => self.submit(Command { operation: Operation::Read, fua: false, ..command }),
            67..=73 => self.submit(Command { operation: Operation::Discard, ..command }),
            74..=79 => self.submit(Command { operation: Operation::WriteZeroes, ..command }),
            80..=82 => self.submit(Command { operation: Operation::Compare, fua: false, ..command }),
            83..=84 => self.compare(command),
            85..=90 => self.submit(flush),
            91..=92 => self.rest(Duration::from_us(20 * u64::from(step.sectors))),
            93 => self.exchange(),
            94 => self.cut(),
            95 => {
                // This cut happens most likely while the device recovers.
                self.cut();
                self.cut_in = Some((1 + u32::from(step.place) % 40, Duration::ZERO));
            }
            _ => {
                self.cut_in = Some((1 + u32::from(step.place) % 300, Duration::from_us(step.sectors.into())));
            }
        }
    }

    /// Compares the version of pages while no other command is outstanding. The command fails for another
    /// version.
    fn compare(&mut self, command: Command) {
        self.run_down_to(0);
        let per_page = self.config().ftl.unit.0 / 512;
        let base = self.config().namespaces[usize::from(command.namespace)].base;
        let pages =
            (base + command.sector) / per_page..(base + command.sector + command.sectors).div_ceil(per_page);
        let version = |page: u64| self.device.version(LogicalPage(page as u32));
        let first = version(pages.start);
        let (Some(expected), false) = (first, self.is_worn()) else { return };
        let is_same = pages.clone().all(|page| version(page) == first);
        let lost = |page: u64| self.device.map().is_lost(LogicalPage(page as u32));
        if is_same && !pages.clone().any(lost) {
            self.submit(Command { operation: Operation::Compare, fua: false, expected, ..command });
            self.run_down_to(0);
        }
    }

    /// Checks all contents after the last command: first in the buffer, and then in flash, after a flush and
    /// a power cut.
    fn end(&mut self) {
        self.cut_in = None;
        self.run_down_to(0);
        self.device.audit(self.calendar.now() - Instant::ZERO);
        self.check_all();
        self.read_all();
        if self.is_worn() {
            return;
        }
        self.submit(Command { operation: Operation::Flush, ..Command::default() });
        self.run_down_to(0);
        if self.is_worn() {
            return;
        }
        self.cut();
        self.run_down_to(0);
        self.check_all();
    }

    fn check_all(&self) {
        let per_page = self.config().ftl.unit.0 / 512;
        for page in 0..self.config().ftl.logical_pages {
            let lost = self.device.map().lost_sectors(LogicalPage(page));
            for (at, content) in (0..).zip(self.device.contents_of(LogicalPage(page))) {
                if !lost.covers(Sectors::range(at, at + 1)) {
                    self.host.check_now(u64::from(page) * per_page + u64::from(at), content);
                }
            }
        }
    }

    /// Reads everything, in large commands.
    fn read_all(&mut self) {
        let (namespaces, grid) =
            (self.config().namespaces.clone(), self.config().file.front.sector_size.0 / 512);
        for (namespace, place) in (0..).zip(&namespaces) {
            let all = place.sectors / grid * grid;
            for sector in (0..all).step_by(512) {
                self.run_down_to(3);
                let sectors = 512.min(all - sector);
                self.submit(Command { namespace, sector, sectors, ..Command::default() });
            }
        }
        self.run_down_to(0);
    }
}

/// Runs a case on its device. Panics with the reason if it fails.
pub fn play(case: &Case, configured: &Configured, mutant: Option<InjectedFault>) {
    let mut play = Play::new(configured, case.start, mutant);
    for (n, step) in case.steps.iter().enumerate() {
        play.step(step, case.depth);
        if play.is_worn() {
            break;
        }
        if n % 64 == 0 {
            play.device.audit(play.calendar.now() - Instant::ZERO);
        }
    }
    play.end();
}
