//! A device with its own calendar, and a small configuration to start from.

#![allow(dead_code, missing_docs)]

pub mod devices;
pub mod failing;
pub mod homes;
pub mod lost;
pub mod sets_aside;
pub mod steps;

use wordline_device::watchdog::Watchdog;
use wordline_device::{BlockDevice, Command, Completion, Operation, PowerCut};
use wordline_ftl::Design;
use wordline_ftl::Policies;
use wordline_ftl::config::FtlFile;
use wordline_ftl::design::Combination;
use wordline_ftl::policy::router::RouterKind;
use wordline_ftl::pools::PoolFile;
use wordline_kernel::{Bytes, Calendar, Duration, Instant, Schedule, Seed};
use wordline_nand::cell::AgedCellsFile;
use wordline_nand::part::ArrayTiming;
use wordline_ssd::config::{BufferFile, DeviceFile, FrontFile};
use wordline_ssd::{Device, Event};

include!("small.rs");

/// How often tests of long lives overwrite a device: 20 times with `WORDLINE_LONG`. Else five, after which each
/// block was erased several times.
pub fn drive_writes() -> u64 {
    if std::env::var_os("WORDLINE_LONG").is_some() { 20 } else { 5 }
}

/// The small device with TLC cells after 2,000 P/E cycles and a retention time of `hours`.
pub fn with_cells(hours: f64) -> DeviceFile {
    let mut file = small();
    let geometry = &mut file.part.geometry;
    (geometry.bits_per_cell, geometry.one_shot) = (3, true);
    (geometry.layers, geometry.pages_per_block) = (48, 144);
    let us = Duration::from_us;
    file.part.timing = ArrayTiming::new(us(80), us(700), us(10_000), Duration::from_ns(500));
    file.part.endurance = 2_000;
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/cells/cubeftl-tlc.toml");
    let set = toml::from_str(&std::fs::read_to_string(path).expect("the set is there")).expect("it is sound");
    let cycles = if hours > 0.0 { 2_000.0 } else { 0.0 };
    file.part.cells = Some(Box::new(AgedCellsFile {
        set: Box::new(set),
        cycles,
        hours,
        retention_passes: false,
        celsius: 30.0,
        mixture: Vec::new(),
        surges: Vec::new(),
    }));
    file
}

/// The small device with one-shot TLC chips, and a second pool of faster SLC chips. Host writes of at least
/// `least` bytes go to the first pool.
pub fn two_pools(least: u64) -> DeviceFile {
    let mut file = small();
    let us = Duration::from_us;
    let mut second = file.part.clone();
    second.timing = ArrayTiming::new(us(15), us(90), us(700), Duration::from_ns(500));
    let geometry = &mut file.part.geometry;
    (geometry.bits_per_cell, geometry.one_shot, geometry.pages_per_block) = (3, true, 24);
    file.ftl.router = RouterKind::BySize { least: Bytes(least) };
    file.ftl.over_provisioning = 0.55;
    file.buffer.size = Bytes::kib(128);
    file.pools = vec![PoolFile::new(second, file.layout)];
    file
}

/// Maximum time without progress of a command. Chosen: a small device erases all its blocks in less than a
/// second.
const PATIENCE: Duration = Duration::from_ms(10_000);

/// Device and its calendar.
pub struct Rig {
    pub device: Device,
    pub calendar: Calendar<Event>,
    pub completions: Vec<(Instant, Completion)>,
    pub under_way: lost::UnderWay,
}

impl Rig {
    pub fn new(file: DeviceFile, seed: u64) -> Self {
        let config = file.check().unwrap_or_else(|wrong| panic!("{wrong}"));
        Self::of(Device::new(config, Seed(seed)), Calendar::new())
    }

    /// Rig whose pages are all written.
    pub fn filled(file: DeviceFile) -> Self {
        let mut rig = Self::new(file, 1);
        rig.device.fill(1.0);
        rig
    }

    /// Rig with a design, or the reason why the device rejects it.
    pub fn with(file: &DeviceFile, design: Box<dyn Design>, seed: u64) -> Result<Self, String> {
        let config = file.clone().check().map_err(|wrong| wrong.to_string())?;
        let policies = Policies::of(&config.ftl).with_designs(Combination::of(vec![design]));
        let config = config.check_policies(&policies).map_err(|wrong| wrong.to_string())?;
        Ok(Self::of(Device::with(config, policies, Seed(seed)), Calendar::new()))
    }

    pub fn of(device: Device, calendar: Calendar<Event>) -> Self {
        Self { device, calendar, completions: Vec::new(), under_way: lost::UnderWay::default() }
    }

    pub fn submit(&mut self, operation: Operation, fua: bool, sector: u64, sectors: u64) {
        let tag = self.completions.len() as u32;
        self.submit_command(Command { operation, fua, sector, sectors, tag, ..Command::default() });
    }

    /// Submits a command, and records it for the check of failed reads.
    pub fn submit_command(&mut self, command: Command) {
        let namespace = &self.device.config().namespaces[usize::from(command.namespace)];
        self.under_way.on_submit(command, namespace.base + command.sector);
        self.device.submit(command, &mut self.calendar);
    }

    /// Takes the completions. Checks that failed reads were allowed to fail.
    pub fn take_completions(&mut self) -> Vec<Completion> {
        let mut completions = Vec::new();
        self.device.take_completions(&mut completions);
        let Self { device, under_way, .. } = self;
        for completion in &completions {
            under_way.completed(completion, |sector| lost::is_lost(device, sector), device.is_read_only());
        }
        completions
    }

    fn record_completions(&mut self) {
        let now = self.calendar.now();
        let completions = self.take_completions();
        self.completions.extend(completions.into_iter().map(|completion| (now, completion)));
    }

    /// Submits a compare with version `expected`; 0 means the latest version.
    pub fn compare(&mut self, sector: u64, sectors: u64, expected: u32) {
        let operation = Operation::Compare;
        self.submit_command(Command { operation, sector, sectors, expected, ..Command::default() });
    }

    /// Runs until at most `outstanding` commands are outstanding.
    pub fn run_down_to(&mut self, outstanding: usize) {
        let mut watchdog = Watchdog::with_limit(PATIENCE, self.calendar.now());
        while self.device.outstanding() > outstanding {
            match self.calendar.advance() {
                Some(event) => self.device.handle(event, &mut self.calendar),
                None => {
                    let gave_up = self.device.give_up(&mut self.calendar);
                    let waits = || self.device.describe_outstanding(self.calendar.now());
                    assert!(gave_up, "commands are outstanding and no event is pending\n{}", waits());
                }
            }
            watchdog.look(&self.device, self.calendar.now()).unwrap_or_else(|waits| panic!("{waits}"));
            self.record_completions();
        }
    }

    /// Lets the device idle for `time`.
    pub fn rest(&mut self, time: Duration) {
        let end = self.calendar.now() + time;
        while self.calendar.now() < end
            && let Some(event) = self.calendar.advance()
        {
            self.device.handle(event, &mut self.calendar);
            self.record_completions();
        }
    }

    /// Executes a command with no other outstanding. Returns its latency.
    pub fn alone(&mut self, operation: Operation, fua: bool, sector: u64, sectors: u64) -> Duration {
        self.run_down_to(0);
        self.submit(operation, fua, sector, sectors);
        self.run_down_to(0);
        self.completions.last().expect("it was answered").1.latency
    }

    /// Runs until no event is pending. For devices without a flush interval.
    pub fn settle(&mut self) {
        self.run_down_to(0);
        while let Some(event) = self.calendar.advance() {
            self.device.handle(event, &mut self.calendar);
        }
    }

    /// Writes pages in an order that covers all of them, and flushes.
    pub fn overwrite(&mut self, writes: u64) {
        let page = self.device.config().ftl.unit.0 / 512;
        let pages = u64::from(self.device.config().ftl.logical_pages);
        for n in 0..writes {
            self.run_down_to(7);
            self.submit(Operation::Write, false, n * 7919 % pages * page, page);
        }
        self.alone(Operation::Flush, false, 0, 0);
        self.audit();
    }

    /// Writes 1 to `most` pages at a time at random places, every 50th write with FUA, and flushes.
    pub fn overwrite_pieces(&mut self, writes: u64, stream: &str, most: u64) {
        let pages = u64::from(self.device.config().ftl.logical_pages);
        let mut random = Seed(7).stream(stream, 0);
        for n in 0..writes {
            self.run_down_to(7);
            let count = 1 + random.below(most);
            self.submit(Operation::Write, n % 50 == 0, random.below(pages - count) * 8, count * 8);
            if n % 100 == 0 {
                self.audit();
            }
        }
        self.alone(Operation::Flush, false, 0, 0);
        self.audit();
    }

    /// Cuts the power and begins the recovery.
    pub fn cut_power(&mut self) -> PowerCut {
        let cut = self.device.power_cut(self.calendar.now());
        self.under_way.loses_power();
        self.calendar.clear();
        self.device.recover(&mut self.calendar);
        cut
    }

    /// Runs until the device has recovered.
    pub fn wait_until_ready(&mut self) {
        while !self.device.is_ready() {
            let event = self.calendar.advance().expect("a recovery is under way");
            self.device.handle(event, &mut self.calendar);
        }
    }

    pub fn calendar_now(&self) -> Instant {
        self.calendar.now()
    }

    pub fn audit(&self) {
        self.device.audit(self.calendar.now() - Instant::ZERO);
    }
}
