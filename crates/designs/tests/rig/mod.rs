//! A device with a design, and the calendar of the device.

use toml::Table;
use wordline_designs::{Designs, DesignsFile};
use wordline_device::{BlockDevice, Command, Operation};
use wordline_kernel::metrics::Metrics;
use wordline_kernel::{Calendar, Instant, Schedule, Seed};
use wordline_ssd::{Device, DeviceFile, Event};

pub struct Rig {
    made: <Device as BlockDevice>::Mark,
    pub device: Device,
    calendar: Calendar<Event>,
}

impl Rig {
    /// A device of `file` with the designs named in the TOML text.
    pub fn new(file: DeviceFile, designs: &str) -> Self {
        let (config, designs) =
            named(designs).check(&Designs::default(), file).unwrap_or_else(|wrong| panic!("{wrong}"));
        let policies = designs.policies(&config.ftl);
        let device = Device::with(config, policies, Seed(1));
        Self { made: device.mark(Instant::ZERO), device, calendar: Calendar::new() }
    }

    pub fn submit(&mut self, operation: Operation, sector: u64, sectors: u64) {
        let command = Command { operation, sector, sectors, ..Command::default() };
        self.device.submit(command, &mut self.calendar);
    }

    pub fn run_down_to(&mut self, outstanding: usize) {
        while self.device.outstanding() > outstanding {
            match self.calendar.advance() {
                Some(event) => self.device.handle(event, &mut self.calendar),
                None => assert!(self.device.give_up(&mut self.calendar), "commands are outstanding for ever"),
            }
            self.device.take_completions(&mut Vec::new());
        }
    }

    /// Writes all buffered data to flash.
    pub fn flush(&mut self) {
        self.submit(Operation::Flush, 0, 0);
        self.run_down_to(0);
        self.device.audit(self.calendar.now() - Instant::ZERO);
    }

    /// All metrics since the device was made.
    pub fn metrics(&self) -> Metrics {
        self.device.metrics(&self.made, self.calendar.now())
    }

    /// A metric since the device was made.
    pub fn measured(&self, name: &str) -> f64 {
        let metrics = self.metrics();
        let found = metrics.get(name).and_then(|value| value.number());
        found.unwrap_or_else(|| panic!("{name} is measured"))
    }
}

/// The designs of a configuration.
pub fn named(text: &str) -> DesignsFile {
    let mut table: Table = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    DesignsFile::take_from(&mut table).unwrap_or_else(|wrong| panic!("{wrong}"))
}
