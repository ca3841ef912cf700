//! The pin-level model: targets and LUNs on one bus, driven cycle by cycle.
//!
//! A cycle begins at [`Bus::now`], or as soon afterwards as the waits of [`rules`](super::rules) allow. With
//! [`Pace::Exact`] an early cycle is rejected instead. A rejected cycle takes no time and changes neither
//! contents nor registers. Its target then accepts only status commands, which show FAIL, and resets.
//!
//! ```
//! use wordline_nand::Part;
//! use wordline_nand::onfi::{Bus, BusOptions, Status, Wiring};
//!
//! /// Programs a page of the second LUN of a package and reads it back.
//! fn write_and_read(part: &Part) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
//!     let mut bus = Bus::new(part, Wiring { luns: 2, ..Wiring::default() }, BusOptions::default())?;
//!     let row = bus.row(1, 4, 0)?;
//!     bus.command(0x80)?;
//!     bus.address(&[&[0, 0], &row[..]].concat())?;
//!     bus.data_in(b"hello!")?;
//!     bus.command(0x10)?;
//!     bus.wait_ready();
//!     bus.command(0x70)?;
//!     assert_eq!(bus.data_out(1)?, [Status::IDLE.0]);
//!     bus.command(0x00)?;
//!     bus.address(&[&[0, 0], &row[..]].concat())?;
//!     bus.command(0x30)?;
//!     bus.wait_ready();
//!     Ok(bus.data_out(6)?)
//! }
//! # let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/parts/mqsim-mlc.toml");
//! # let file: wordline_nand::part::PartFile =
//! #     toml::from_str(&std::fs::read_to_string(file).expect("the part is there")).expect("it is TOML");
//! # let part = file.check().expect("the part is sound");
//! # assert_eq!(write_and_read(&part).expect("the cycles are legal"), b"hello!");
//! ```

mod array;
mod execute;
mod meter;
mod register_commands;
mod target;
mod targets;
mod time;
mod trace;

use wordline_kernel::{Complaints, Duration, Instant};

use self::meter::Meter;
use self::target::{Port, Target};
use self::targets::Targets;
use self::time::within;
pub use self::trace::BusyPeriod;
use self::trace::Trace;
use super::failure::{Failure, FailureKind};
use super::features::address;
use super::host_times::HostTimes;
use super::limits::Limit;
use super::lun::{Lun, LunOptions};
use super::row::Row;
use super::rules::{Edge, Edges, Wait, Waits};
use super::sequence::{Decoder, Step};
use crate::interface::{BusTiming, Parameter};
use crate::{DieId, EnergyReport, Parameters, Part, Physics, Span, Stage};

/// The topology of a bus: targets, volumes and LUNs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wiring {
    /// Chip enables.
    pub targets: u32,
    /// Volumes that share a chip enable and are selected by Volume Select (E1h); 1 for a part without
    /// volumes.
    pub volumes: u32,
    /// LUNs of a target, or of a volume.
    pub luns: u32,
}

impl Default for Wiring {
    /// One LUN.
    fn default() -> Self {
        Self { targets: 1, volumes: 1, luns: 1 }
    }
}

/// The treatment of early cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// The bus waits until the rules allow the cycle.
    #[default]
    Earliest,
    /// The cycle is rejected.
    Exact,
}

/// Options of a bus.
#[derive(Clone, Debug, Default)]
pub struct BusOptions {
    /// The treatment of early cycles.
    pub pace: Pace,
    /// Whether command sequences from before ONFI are accepted.
    pub compatible: bool,
    /// Whether targets begin in the power-on state: they are in SDR mode 0 and accept only FFh, which returns
    /// to this mode. Otherwise the host has already configured the interface of the part's file, and FFh
    /// keeps it.
    pub power_on: bool,
    /// Options of its LUNs.
    pub lun: LunOptions,
}

/// Maximum wait or cycle time that a host can set, as in part files.
const LONGEST_WAIT: Duration = Duration::from_ms(1_000);

/// A bus with its targets.
#[derive(Clone, Debug)]
pub struct Bus {
    part: Part,
    pace: Pace,
    /// The host's command or address cycle time.
    host_cycle: Option<Duration>,
    /// The host's times within a cycle.
    host: HostTimes,
    /// Whether operations that exceed a limit are rejected.
    strict: bool,
    /// Whether FFh returns to the slowest mode.
    power_on: bool,
    targets: Targets,
    now: Instant,
    /// End of the last cycle on the bus.
    held_until: Instant,
    cycles: u64,
    edges: Edges,
    trace: Trace,
    /// Finished spans that were not returned yet, and the totals of all spans.
    collected: Vec<Span>,
    meter: Meter,
}

impl Bus {
    /// A bus with LUNs of `part`, whose first target is selected at time 0.
    ///
    /// # Errors
    /// Complaints about the wiring.
    pub fn new(part: &Part, wiring: Wiring, options: BusOptions) -> Result<Self, Complaints> {
        let mut wrong = Complaints::default();
        // The number of a volume has four bits (feature 58h). The bounds of chip enables and LUNs are the
        // bounds of device layouts.
        for (key, value, most) in
            [("targets", wiring.targets, 64), ("volumes", wiring.volumes, 16), ("luns", wiring.luns, 64)]
        {
            wrong.require((1..=most).contains(&value), key, value, format!("from 1 to {most}"));
        }
        wrong.into_result(())?;
        let target = |n| Target::new(part, n, n * wiring.luns, wiring.luns, options.compatible, &options.lun);
        let mut edges = Edges::default();
        edges.note(Edge::Select, Instant::ZERO);
        let mut bus = Self {
            part: part.clone(),
            pace: options.pace,
            host_cycle: None,
            host: HostTimes::default(),
            strict: options.lun.fatal,
            power_on: options.power_on,
            targets: Targets::new(wiring, target),
            now: Instant::ZERO,
            held_until: Instant::ZERO,
            cycles: 0,
            edges,
            trace: Trace::new(),
            collected: Vec::new(),
            meter: Meter::default(),
        };
        for target in bus.targets.iter_mut() {
            target.power_on_reset(&bus.part, bus.power_on);
            target.awaits_first_reset = bus.power_on;
        }
        Ok(bus)
    }

    /// The part of its LUNs.
    pub fn part(&self) -> &Part {
        &self.part
    }

    /// The current time: the end of the last cycle or wait.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Number of cycles, including rejected ones.
    pub fn cycles(&self) -> u64 {
        self.cycles
    }

    /// The waits of the interface of the selected target.
    pub fn waits(&self) -> &Waits {
        &self.target().waits
    }

    /// The interface of the selected target.
    pub fn timing(&self) -> &BusTiming {
        &self.target().timing
    }

    /// Overrides a wait of every target until the target changes its interface. At most one second.
    pub fn set_wait(&mut self, wait: Wait, time: Duration) {
        for target in self.targets.iter_mut() {
            target.waits.set(wait, time.min(LONGEST_WAIT));
        }
    }

    /// Sets the treatment of early cycles.
    pub fn set_pace(&mut self, pace: Pace) {
        self.pace = pace;
    }

    /// Sets the host's command and address cycle time; the default is tWC. After a shorter cycle the next
    /// latch is early. At most one second.
    pub fn set_host_cycle(&mut self, time: Duration) {
        self.host_cycle = Some(time.min(LONGEST_WAIT));
    }

    /// The time of a latch.
    fn latch(&self) -> Duration {
        self.host_cycle.or(self.host.latch()).unwrap_or(self.waits().get(Wait::Wc))
    }

    /// Sets a time of the host within a cycle (one of
    /// [`HOST_TIME_RULES`](super::host_times::HOST_TIME_RULES)), at most one second. `None` sets the time
    /// that the interface requires. A cycle with a shorter time is rejected.
    ///
    /// # Errors
    /// No cycle has the parameter.
    pub fn set_host_time(&mut self, parameter: Parameter, time: Option<Duration>) -> Result<(), Failure> {
        if self.host.set(parameter, time.map(|time| time.min(LONGEST_WAIT))) {
            return Ok(());
        }
        self.host.set(parameter, None);
        let what = format!("{} within a cycle, which none has", parameter.symbol());
        Err(self.failure(FailureKind::Unsupported { what }))
    }

    /// Advances the time, up to [`Instant::LIMIT`]; scripts with longer waits are rejected when they are
    /// parsed.
    pub fn wait(&mut self, time: Duration) {
        self.wait_until(Instant::from_ps(self.now.ps().saturating_add(time.ps())));
    }

    /// Advances the time to `at`.
    pub fn wait_until(&mut self, at: Instant) {
        self.now = self.now.max(at.min(Instant::LIMIT));
        for port in self.targets.ports_mut() {
            port.lun.settle(self.now);
        }
    }

    /// Selects a target: its chip enable falls. If chip enable is low already, it rises first.
    ///
    /// # Errors
    /// The bus has no such target.
    pub fn select(&mut self, target: u32) -> Result<(), Failure> {
        let targets = self.targets.wiring().targets;
        if target >= targets {
            let kind = FailureKind::Address { what: "target", found: target, below: targets };
            return Err(self.failure(kind));
        }
        if let Some(short) = self.host.too_short(Edge::Select, self.timing()) {
            return Err(self.failure(within(short)));
        }
        self.targets.enable(target);
        self.edges.note(Edge::Select, self.now);
        Ok(())
    }

    /// Latches a command.
    ///
    /// # Errors
    /// The violated rule.
    pub fn command(&mut self, code: u8) -> Result<(), Failure> {
        let begin = self.begin(Edge::Command)?;
        self.check_command(code, begin).map_err(|kind| self.refuse(kind))?;
        self.open_if_idle();
        let end = begin + self.latch();
        let first = if code == 0x00 { Some(Edge::ReturnToData) } else { None };
        self.finish(Edge::Command, Stage::Cle, (begin, end), |decoder| decoder.command(code))?;
        let target = self.target_mut();
        if let Some(edge) = first {
            target.edges.note(edge, end);
        }
        Ok(())
    }

    /// Latches address bytes, one cycle per byte.
    ///
    /// # Errors
    /// The rule that a byte violates; the bytes before it were latched.
    pub fn address(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        for byte in bytes {
            let begin = self.begin(Edge::Address)?;
            self.check_locked().map_err(|kind| self.refuse(kind))?;
            let end = begin + self.latch();
            let current = self.targets.current();
            self.finish(Edge::Address, Stage::Ale, (begin, end), |decoder| decoder.address(*byte))?;
            // The address of a volume may have selected another target.
            let target = self.targets.get_mut(current);
            if let Some(edge) = target.decoder.data_edge() {
                target.edges.note(edge, end);
            }
        }
        Ok(())
    }

    /// Transfers data in, in one burst.
    ///
    /// # Errors
    /// The violated rule.
    pub fn data_in(&mut self, data: &[u8]) -> Result<(), Failure> {
        if data.is_empty() {
            return Ok(());
        }
        let begin = self.begin(Edge::DataIn)?;
        self.check_locked().map_err(|kind| self.refuse(kind))?;
        let (b, size) =
            (self.timing(), self.bytes_on_bus(data.len() as u32, self.target().decoder.is_loading()));
        let end = begin + self.host.burst(size, Parameter::Wc, b) + b.t_wpst + b.t_wpsth;
        let steps = self.finish(Edge::DataIn, Stage::Tir, (begin, end), |decoder| decoder.data_in(data))?;
        if steps.iter().any(|step| matches!(step, Step::Store(_))) {
            self.store(data);
        }
        Ok(())
    }

    /// Transfers data out, in one burst of `len` bytes.
    ///
    /// # Errors
    /// The violated rule.
    pub fn data_out(&mut self, len: u32) -> Result<Vec<u8>, Failure> {
        if len == 0 {
            return Ok(Vec::new());
        }
        let edge = self.output_edge();
        let begin = self.begin(edge)?;
        self.check_output(len, begin).map_err(|kind| self.refuse(kind))?;
        self.open_if_idle();
        let (b, size) = (self.timing(), self.bytes_on_bus(len, self.outputs_page()));
        let first = begin + b.t_rpre + b.t_dqsre;
        let end = first + self.host.burst(size, Parameter::Rc, b);
        self.finish(edge, Stage::Tor, (begin, end), Decoder::data_out)?;
        Ok(self.read_output(len, first))
    }

    /// Opens an operation of the selected LUN. The next cycles belong to it until an address selects another
    /// LUN. A prefix belongs to the operation that follows it.
    fn open_if_idle(&mut self) {
        let target = self.target();
        if target.decoder.has_no_command() && !target.decoder.is_prefixed() {
            let port = &target.ports[target.selected];
            let (die, serial) = (port.lun.die(), port.serial);
            self.trace.open(die, serial);
        }
    }

    /// R/B# of the selected target: low while any of its LUNs is busy. In the standard it falls tWB after the
    /// cycle that makes a LUN busy; here it is low from that cycle on.
    pub fn ready(&self) -> bool {
        self.targets.enabled().iter().all(|target| target.ready_at() <= self.now)
    }

    /// Waits until R/B# of the selected target is high, and returns the current time.
    pub fn wait_ready(&mut self) -> Instant {
        let at = self.targets.enabled().iter().map(Target::ready_at).max().unwrap_or(self.now);
        self.wait_until(at);
        self.now
    }

    /// Waits until the arrays of all LUNs of the selected target are idle (ARDY), and returns the current
    /// time.
    pub fn wait_array_ready(&mut self) -> Instant {
        let at = self.targets.enabled().iter().map(Target::array_ready_at).max().unwrap_or(self.now);
        self.wait_until(at);
        self.now
    }

    /// Drives the write-protect pin of every target: programs and erases are rejected while it is low (`on`).
    pub fn set_write_protect(&mut self, on: bool) {
        self.edges.note(Edge::Protect, self.now);
        for port in self.targets.ports_mut() {
            port.lun.settle(self.now);
            port.lun.set_write_protect(on);
        }
    }

    /// A LUN, counted over the bus: target by target, volume by volume.
    ///
    /// # Panics
    /// If the bus has no such LUN.
    pub fn lun(&self, die: DieId) -> &Lun {
        &self.targets.port(die).lun
    }

    /// The address cycles of a row address: LUN of the target, block over all planes (the plane in its lowest
    /// bits) and page.
    ///
    /// # Errors
    /// The component that the part does not have.
    pub fn row(&self, lun: u32, block: u32, page: u32) -> Result<Vec<u8>, Limit> {
        let target = self.target();
        let luns = target.ports.len() as u32;
        if lun >= luns {
            return Err(Limit::NoSuchLun { lun, luns });
        }
        let row = target.addressing.check(Row { lun, block, page })?;
        Ok(target.addressing.encode(row))
    }

    /// Uses a copy of `physics` in each LUN as the cell model for array times and outcomes from now on.
    pub fn set_physics(&mut self, physics: &dyn Physics) {
        self.targets.ports_mut().for_each(|port| port.lun.set_physics(physics.copied()));
    }

    /// Stores `parameters` as set `number` of every LUN, for selection by feature 92h.
    pub fn set_parameters(&mut self, number: u16, parameters: &Parameters) {
        for port in self.targets.ports_mut() {
            port.lun.set_parameters(number, *parameters);
            port.features.enable_parameter_sets();
        }
    }

    /// Selects a parameter set in every LUN, as by feature 92h, in no time. Panics if no parameter set was
    /// stored.
    pub fn select_parameters(&mut self, number: u16) {
        let [low, high] = number.to_le_bytes();
        for port in self.targets.ports_mut() {
            let set = port.features.set(address::PARAMETER_SET, [low, high, 0, 0]);
            set.expect("there are sets of parameters");
        }
    }

    /// LUNs on the bus.
    pub fn dies(&self) -> u32 {
        let Wiring { targets, volumes, luns } = self.targets.wiring();
        targets * volumes * luns
    }

    /// The on-die termination that ODT Configure has set for a LUN.
    ///
    /// # Panics
    /// If the bus has no such LUN.
    pub fn termination(&self, die: DieId) -> [u8; 4] {
        self.targets.port(die).odt
    }

    /// The spans of bus and arrays that are over by now, ordered by their begin; each is returned once.
    pub fn spans(&mut self) -> Vec<Span> {
        self.collect();
        let mut spans = std::mem::take(&mut self.collected);
        spans.sort();
        spans
    }

    /// The times in which dies are busy, in the order of their commands; each is returned once.
    pub fn busy_periods(&mut self) -> Vec<BusyPeriod> {
        self.trace.take_busy()
    }

    /// The energy of all LUNs from time 0 until now. It is calculated as for transactions, from the time in
    /// each stage and the idle time.
    pub fn energy(&mut self) -> EnergyReport {
        self.collect();
        let working = self.targets.ports().filter_map(|port| port.lun.current_span(self.now)).collect();
        self.meter.stages(self.now, self.dies(), working).price(&self.part.power)
    }

    /// Adds finished spans to the spans to be returned, and to the meter.
    fn collect(&mut self) {
        let mut spans = self.trace.take();
        for port in self.targets.ports_mut() {
            port.lun.settle(self.now);
            spans.extend(port.lun.spans());
        }
        self.meter.add(&spans);
        let resting = |port: &Port| port.lun.pipeline().array_ready_at <= self.now;
        let resting: Vec<DieId> =
            self.targets.ports().filter(|port| resting(port)).map(|port| port.lun.die()).collect();
        self.meter.fold(self.now, &resting);
        self.collected.extend(spans);
    }
}
