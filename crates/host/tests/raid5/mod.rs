//! A RAID-5 array over devices with a fixed latency, and over SSDs.

mod closed_forms;
mod durability;
mod explained;
mod log;
mod oracle;
mod reference;
mod state;
mod trials;

use wordline_device::ageing::Ages;
use wordline_device::content::Content;
use wordline_device::{BlockDevice, Command, Completion, FixedLatency, Operation};
use wordline_host::raid5::{ArrayFile, Event, Parity, Raid5, Writes};
use wordline_kernel::{Bytes, Calendar, Duration, Instant, Schedule};

/// Latency of a device in these tests.
pub const LATENCY: Duration = Duration::from_us(100);
/// 4 KiB in sectors.
pub const PAGE: u64 = 8;

/// The settings of md: blocks of 4 KiB, and parity written with the data.
pub fn md() -> ArrayFile {
    ArrayFile { parity: Parity::Md, block: Bytes::kib(4), ..ArrayFile::default() }
}

/// The settings of ReSSD: parity is deferred in the stripe cache, and rows wait before they read.
pub fn cached() -> ArrayFile {
    ArrayFile { parity: Parity::Cache, writes: Writes::Background, ..ArrayFile::default() }
}

/// An array and its calendar.
pub struct Bench<D: BlockDevice> {
    pub array: Raid5<D>,
    pub calendar: Calendar<Event<D::Event>>,
    pub tag: u32,
}

/// An array of null devices of this many bytes.
pub fn null(members: u16, spares: u16, bytes: Bytes, file: ArrayFile) -> Bench<FixedLatency> {
    let device = |_| FixedLatency::new(bytes, LATENCY);
    Bench::new((0..members + spares).map(device).collect(), members, file)
}

impl<D: Ages> Bench<D> {
    pub fn new(devices: Vec<D>, members: u16, file: ArrayFile) -> Self {
        let settings = file.check(members, &devices[0].shape()).expect("the settings are sound");
        let mut array = Raid5::new(devices, settings, 7);
        array.follow_contents();
        Self { array, calendar: Calendar::new(), tag: 0 }
    }

    pub fn submit(&mut self, operation: Operation, sector: u64, sectors: u64) -> u32 {
        self.submit_command(Command { operation, sector, sectors, ..Command::default() })
    }

    pub fn submit_command(&mut self, command: Command) -> u32 {
        self.tag += 1;
        self.array.submit(Command { tag: self.tag, ..command }, &mut self.calendar);
        self.tag
    }

    /// Handles one event. Returns false if there is none.
    pub fn step(&mut self) -> bool {
        let Some(event) = self.calendar.advance() else { return false };
        self.array.handle(event, &mut self.calendar);
        true
    }

    /// Runs until no event is left.
    pub fn run(&mut self) {
        while self.step() {}
        self.array.audit(self.calendar.now() - Instant::ZERO);
    }

    /// Runs for a time.
    pub fn run_for(&mut self, time: Duration) {
        let end = self.calendar.now() + time;
        while self.calendar.pending().first().is_some_and(|(next, _)| *next <= end) {
            self.step();
        }
        while self.calendar.now() < end && self.calendar.advance_to(end) {}
        assert_eq!(self.calendar.now(), end);
    }

    pub fn completions(&mut self) -> Vec<Completion> {
        let completions = self.array.completions().to_vec();
        self.array.clear_completions();
        completions
    }

    /// Submits a command and runs. Returns the latency.
    pub fn time(&mut self, operation: Operation, sector: u64, sectors: u64) -> Duration {
        let tag = self.submit(operation, sector, sectors);
        self.run();
        let completions = self.completions();
        let completion =
            completions.iter().find(|completion| completion.command.tag == tag).expect("it is answered");
        assert!(!completion.failed, "{completion:?}");
        completion.latency
    }

    /// Cuts the power. Outstanding commands never complete.
    pub fn cut(&mut self) {
        self.array.power_cut(self.calendar.now());
        self.array.clear_completions();
        self.calendar = Calendar::resumed(self.calendar.now(), []);
    }

    /// Cuts the power and recovers.
    pub fn cut_and_recover(&mut self) {
        self.cut();
        self.array.recover(&mut self.calendar);
    }

    /// Whether sectors can be read and have the content that the command with this tag wrote.
    pub fn reads_as(&mut self, sector: u64, sectors: u64, written: u32) -> bool {
        let tag = self.submit(Operation::Read, sector, sectors);
        self.run();
        let failed =
            self.completions().iter().any(|completion| completion.command.tag == tag && completion.failed);
        let found = self.array.take_contents(tag);
        !failed && found.is_some_and(|found| found.iter().all(|content| *content == Content::of(written)))
    }

    pub fn fail(&mut self, member: u16) {
        self.array.fail(member, &mut self.calendar);
    }
}
