//! Contract of every design, which any crate can test in one line:
//!
//! ```no_run
//! # use wordline_ftl::{Config, Design};
//! # use wordline_ssd::contract;
//! # fn my_design(_: &Config) -> Box<dyn Design> { unimplemented!() }
//! contract::check(&contract::small(), my_design);
//! ```
//!
//! The test sends random writes, discards and flushes to devices with the design. It requires:
//!
//! * Reads return the data written.
//! * Every decision of the design is valid.
//! * The invariants of the device are true.
//! * A power cut loses no flushed data. For this, [lower pages](LowerPages) are backed up.
//! * The device survives failures of programs and erases.
//! * A device that is saved and restored between any two events continues like one that was not.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use wordline_device::content::{Content, ZEROES};
use wordline_device::snapshot::Agenda;
use wordline_device::watchdog::Watchdog;
use wordline_device::{BlockDevice, Command, Operation};
use wordline_ftl::config::{FtlFile, LowerPages};
use wordline_ftl::design::Combination;
use wordline_ftl::{self as ftl, Design, Policies};
use wordline_kernel::{Bytes, Calendar, Duration, Instant, Schedule, Seed, Stream};
use wordline_nand::faults::{Fails, FaultFile};

use crate::config::{BufferFile, FrontFile};
use crate::{BufferPolicies, Config, Device, DeviceFile, Event};

include!("../tests/common/small.rs");
include!("../tests/common/two_modes.rs");

/// Devices for each trial. Chosen: all trials of a small device take about a second in a debug build.
const SEEDS: u64 = 3;
/// Rounds of commands for a device. Chosen: enough for GC to collect each block of [`small`] several times.
const ROUNDS: u32 = 700;
/// Commands of a round. They are outstanding together and do not overlap.
const COMMANDS: u64 = 6;
/// Rounds that a restored device and the saved one both run. Chosen: long enough for the counters in the
/// saved state to cause writes and GC.
const ROUNDS_RESTORED: u32 = 20;
/// Rounds between two reads of the whole device. Chosen.
const READ_EVERY: u32 = 100;
/// Longest time for which a command may make no progress. Chosen: ten times what a small device takes to
/// erase all its blocks.
const STALL_LIMIT: Duration = Duration::from_ms(10_000);

/// Disturbance of a device during the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trial {
    /// None.
    Usual,
    /// Some programs and erases fail.
    Faults,
    /// The power is cut between two events, and switched on again.
    PowerCuts,
    /// The device is saved between two events and restored with another seed. Both then run the same commands
    /// and are compared.
    Snapshots,
}

impl Trial {
    /// All trials.
    pub const ALL: [Self; 4] = [Self::Usual, Self::Faults, Self::PowerCuts, Self::Snapshots];

    /// Name of the trial.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Usual => "usual",
            Self::Faults => "faults",
            Self::PowerCuts => "power-cuts",
            Self::Snapshots => "snapshots",
        }
    }
}

/// A breach of the contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Trial that found it.
    pub trial: Trial,
    /// Seed of the device and of its host.
    pub seed: u64,
    /// Simulated time of the device.
    pub at: Duration,
    /// The rule that the design breaks.
    pub what: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { trial, seed, at, what } = self;
        write!(out, "{what}\n(trial {}, seed {seed}, at {at})", trial.name())
    }
}

/// Tests a design on `device`. Policies that the design does not replace are as configured.
///
/// # Panics
/// With the broken rule, the trial and the seed.
pub fn check(device: &DeviceFile, design: impl Fn(&ftl::Config) -> Box<dyn Design>) {
    check_all(device, |config| Combination::of(vec![design(config)]));
}

/// Tests a combination of designs on `device`.
///
/// # Panics
/// With the broken rule, the trial and the seed.
pub fn check_all(device: &DeviceFile, designs: impl Fn(&ftl::Config) -> Combination) {
    check_policies(device, |config| Policies::of(config).with_designs(designs(config)));
}

/// Tests custom policies and designs on `device`.
///
/// # Panics
/// With the broken rule, the trial and the seed.
pub fn check_policies(device: &DeviceFile, policies: impl Fn(&ftl::Config) -> Policies) {
    check_all_policies(device, |config| (policies(&config.ftl), BufferPolicies::of(config)));
}

/// Tests custom policies and designs of the FTL, and custom policies of the buffer, on `device`.
///
/// # Panics
/// With the broken rule, the trial and the seed.
pub fn check_all_policies(device: &DeviceFile, policies: impl Fn(&Config) -> (Policies, BufferPolicies)) {
    try_policies(device, policies, || false).unwrap_or_else(|failure| panic!("{failure}"));
}

/// Tests like [`check_all_policies`], but catches panics of the device and returns failures. A design that detects
/// its own failure reports it through `has_failed`, which is called after each event.
///
/// # Errors
/// The first [`Failure`].
pub fn try_policies(
    device: &DeviceFile,
    policies: impl Fn(&Config) -> (Policies, BufferPolicies),
    has_failed: impl Fn() -> bool,
) -> Result<(), Failure> {
    for trial in Trial::ALL {
        for seed in 1..=SEEDS {
            try_once(device, &policies, &has_failed, (trial, seed))?;
        }
    }
    Ok(())
}

/// Runs one trial with one seed.
///
/// # Errors
/// The [`Failure`], if there is one.
pub fn try_once(
    device: &DeviceFile,
    policies: impl Fn(&Config) -> (Policies, BufferPolicies),
    has_failed: impl Fn() -> bool,
    (trial, seed): (Trial, u64),
) -> Result<(), Failure> {
    let mut file = device.clone();
    if trial == Trial::Faults {
        file.faults.extend(failing());
    }
    if trial == Trial::PowerCuts {
        // Otherwise the device may lose flushed data that share a word line with an interrupted program.
        file.ftl.recovery.lower_pages = LowerPages::BackedUp;
    }
    let mut host = None;
    let tried = catch_unwind(AssertUnwindSafe(|| {
        let config = file.check().unwrap_or_else(|wrong| panic!("the device: {wrong}"));
        let made = |seed| {
            let (policies, buffer) = policies(&config);
            let checked = config.check_policies(&policies);
            let config = checked.unwrap_or_else(|wrong| {
                panic!("the design: {wrong}{}", policies.designs.contract_hint(&config.ftl))
            });
            Device::with_buffer(config, policies, buffer, Seed(seed))
        };
        host.insert(Host::new(made(seed), &has_failed, (trial, seed))).work(&made);
    }));
    tried.map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without text");
        let at = host.map_or(Duration::ZERO, |host| host.calendar.now() - Instant::ZERO);
        Failure { trial, seed, at, what: text.to_owned() }
    })
}

/// Failure rules that a device with little over-provisioning survives.
fn failing() -> Vec<FaultFile> {
    let rule = |fails, nth| FaultFile { nth: Some(nth), ..FaultFile::new(fails) };
    vec![rule(Fails::Program, 40), rule(Fails::Program, 900), rule(Fails::Erase, 7), rule(Fails::Erase, 60)]
}

/// A host that knows the allowed contents of each page.
struct Host<'a> {
    device: Device,
    has_failed: &'a dyn Fn() -> bool,
    calendar: Calendar<Event>,
    trial: Trial,
    seed: u64,
    random: Stream,
    tag: u32,
    /// Sectors of a page.
    page: u64,
    /// Allowed contents of each page after a power cut: what the last flush made durable, and everything
    /// written since. A read must find the last one.
    may_hold: Vec<Vec<Content>>,
    /// All contents ever written to each page. If discards do not survive a power cut, any of them may come
    /// back in a discarded page.
    written: Vec<Vec<Content>>,
}

impl<'a> Host<'a> {
    fn new(mut device: Device, has_failed: &'a dyn Fn() -> bool, (trial, seed): (Trial, u64)) -> Self {
        if trial != Trial::Snapshots {
            device.follow_contents();
        }
        let page = device.config().ftl.unit.0 / wordline_device::SECTOR.0;
        let pages = device.config().ftl.logical_pages as usize;
        Self {
            device,
            has_failed,
            calendar: Calendar::new(),
            trial,
            seed,
            random: Seed(seed).stream("ssd.contract", trial as u64),
            tag: 0,
            page,
            may_hold: vec![vec![ZEROES]; pages],
            written: vec![Vec::new(); pages],
        }
    }

    fn work(&mut self, made: &impl Fn(u64) -> Device) {
        for round in 1..=ROUNDS {
            self.submit_round();
            if self.trial == Trial::PowerCuts && self.random.below(40) == 0 {
                self.cut_power();
            }
            if self.trial == Trial::Snapshots && self.random.below(60) == 0 {
                self.save_and_restore(made);
            }
            self.run_to_completion();
            if round % 10 == 0 {
                self.flush();
            }
            if round % READ_EVERY == 0 {
                self.read_all();
            }
        }
        self.device.audit(self.calendar.now() - Instant::ZERO);
    }

    fn submit_round(&mut self) {
        for (operation, first, pages) in self.draw_round() {
            self.submit(operation, first, pages);
        }
    }

    /// Draws commands on disjoint pages, each with its first page and number of pages. A few pages are read
    /// and written repeatedly.
    fn draw_round(&mut self) -> [(Operation, u64, u64); COMMANDS as usize] {
        let of_each = self.may_hold.len() as u64 / COMMANDS;
        std::array::from_fn(|place| {
            let range = if self.random.below(4) == 0 { of_each } else { of_each.min(12) };
            let from = self.random.below(range);
            let count = (1 + self.random.below(4)).min(of_each - from);
            let operation = match self.random.below(12) {
                0 => Operation::Discard,
                1..=3 => Operation::Read,
                _ => Operation::Write,
            };
            (operation, place as u64 * of_each + from, count)
        })
    }

    fn submit(&mut self, operation: Operation, first: u64, pages: u64) -> Command {
        self.tag += 1;
        let (sector, sectors) = (first * self.page, pages * self.page);
        let command = Command { operation, sector, sectors, tag: self.tag, ..Command::default() };
        let holds = match operation {
            Operation::Write => Some(Content::of(self.tag)),
            Operation::Discard => Some(ZEROES),
            _ => None,
        };
        for page in first..first + pages {
            self.may_hold[page as usize].extend(holds);
            self.written[page as usize].extend(holds);
        }
        self.device.submit(command, &mut self.calendar);
        self.check_decisions();
        command
    }

    /// Fails on an invalid decision of a design.
    fn check_decisions(&self) {
        if let Some(wrong) = self.device.invalid_decision() {
            fail(&wrong.to_string());
        }
        if (self.has_failed)() {
            fail("the design failed");
        }
    }

    /// Runs until all commands have completed.
    fn run_to_completion(&mut self) {
        let mut watchdog = Watchdog::with_limit(STALL_LIMIT, self.calendar.now());
        while self.device.outstanding() > 0 {
            self.step();
            let waits = watchdog.look(&self.device, self.calendar.now());
            waits.unwrap_or_else(|waits| fail(&waits));
        }
        assert!(!self.device.is_read_only(), "the device reached its end of life");
        assert!(self.device.completions().iter().all(|completion| !completion.failed), "a command failed");
        self.device.clear_completions();
    }

    fn step(&mut self) {
        let Some(event) = self.calendar.advance() else {
            self.device.give_up(&mut self.calendar);
            self.check_decisions();
            fail("commands are outstanding and no event is pending")
        };
        self.device.handle(event, &mut self.calendar);
        self.check_decisions();
    }

    /// Flushes the device: the last written data become durable, and so do discards if the device keeps them.
    fn flush(&mut self) {
        self.submit(Operation::Flush, 0, 0);
        self.run_to_completion();
        let brings_back = self.device.config().file.ftl.recovery.discards_can_return();
        for may_hold in &mut self.may_hold {
            if !brings_back || may_hold.last() != Some(&ZEROES) {
                may_hold.drain(..may_hold.len() - 1);
            }
        }
    }

    /// Whether a page may have this content after a power cut.
    fn may_be_found(&self, page: usize, content: Content) -> bool {
        let may_hold = &self.may_hold[page];
        let comes_back =
            || may_hold.contains(&ZEROES) && self.device.config().file.ftl.recovery.discards_can_return();
        may_hold.contains(&content) || comes_back() && self.written[page].contains(&content)
    }

    fn read_all(&mut self) {
        if self.trial == Trial::Snapshots {
            return;
        }
        for page in 0..self.may_hold.len() as u64 {
            let found = self.read(page);
            let wanted = *self.may_hold[page as usize].last().expect("zeroes at the least");
            if found.iter().any(|content| *content != wanted) {
                fail(&format!("page {page} holds {found:?} where {wanted:?} was written"));
            }
        }
    }

    fn read(&mut self, page: u64) -> Vec<Content> {
        self.submit(Operation::Read, page, 1);
        self.run_to_completion();
        self.device.take_contents(self.tag).expect("contents are followed")
    }

    /// Cuts the power after some events. Each page must then have its flushed content or a later one.
    fn cut_power(&mut self) {
        for _ in 0..self.random.below(60) {
            if self.device.outstanding() > 0 {
                self.step();
            }
        }
        self.device.power_cut(self.calendar.now());
        self.device.clear_completions();
        self.calendar.clear();
        self.device.recover(&mut self.calendar);
        while !self.device.is_ready() {
            self.step();
        }
        for page in 0..self.may_hold.len() {
            let found = self.read(page as u64);
            if found.iter().any(|content| *content != found[0] || !self.may_be_found(page, *content)) {
                let may_hold = &self.may_hold[page];
                fail(&format!("after a power cut page {page} holds {found:?}, wanted one of {may_hold:?}"));
            }
            self.may_hold[page] = vec![found[0]];
        }
        // Data now in flash must stay there.
        self.flush();
    }

    /// Saves the device after some events and restores it with another seed. From then on both must behave
    /// identically, given the same commands.
    fn save_and_restore(&mut self, made: &impl Fn(u64) -> Device) {
        for _ in 0..self.random.below(60) {
            if self.device.outstanding() > 0 {
                self.step();
            }
        }
        self.device.clear_completions();
        let saved = |device: &Device, agenda: &Agenda<Event>| {
            let mut bytes = Vec::new();
            device.save(agenda, &mut bytes).expect("a list takes everything");
            bytes
        };
        let bytes = saved(&self.device, &Agenda::of(&self.calendar));
        let mut again = made(self.seed + 100);
        let agenda = again.load(&mut bytes.as_slice()).unwrap_or_else(|wrong| fail(&wrong.to_string()));
        if saved(&again, &agenda) != bytes {
            fail("a restored device saves another state than it was restored from");
        }
        let mut calendar = agenda.calendar(|event| event);
        for _ in 0..ROUNDS_RESTORED {
            while self.device.outstanding() > 0 {
                self.step();
                let Some(event) = calendar.advance() else { fail("a restored device has no pending event") };
                again.handle(event, &mut calendar);
                if again.digest() != self.device.digest() {
                    fail("a restored device does something else than the one that was saved");
                }
            }
            self.device.clear_completions();
            again.clear_completions();
            for (operation, first, pages) in self.draw_round() {
                again.submit(self.submit(operation, first, pages), &mut calendar);
            }
        }
    }
}

/// Fails the trial with this text; [`try_once`] adds the trial's name.
fn fail(what: &str) -> ! {
    panic!("{what}")
}
