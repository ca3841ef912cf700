//! The pins: targets and LUNs on one bus, driven cycle by cycle.
//!
//! A cycle begins at [`Bus::now`], or as soon after as the waits of [`rules`](super::rules) allow; with
//! [`Pace::Exact`] a cycle that comes too early is refused instead. A refused cycle takes no time and leaves contents
//! and registers as they are. Its target then takes nothing but status commands, which show FAIL, and resets.

mod carry;
mod target;
mod trace;

use wordline_kernel::{Bytes, Complaints, Duration, Instant};

use self::target::{Output, Target};
use self::trace::Trace;
use super::command::{self, Operation};
use super::failure::{Failure, FailureKind};
use super::lun::{Lun, LunOptions};
use super::rules::{self, Edge, Edges, Wait, Waits};
use super::sequence::{Decoder, Step};
use crate::interface::BusTiming;
use crate::{DieId, Part, Span, Stage};

/// Targets and LUNs on a bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wiring {
    /// Chip enables.
    pub targets: u32,
    /// Volumes that share a chip enable and are told apart by Volume Select (E1h); 1 without it.
    pub volumes: u32,
    /// LUNs of a target (of a volume).
    pub luns: u32,
}

impl Default for Wiring {
    /// One LUN.
    fn default() -> Self {
        Self { targets: 1, volumes: 1, luns: 1 }
    }
}

/// What happens to a cycle that comes too early.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// The bus waits until the rules allow it.
    #[default]
    Earliest,
    /// It is refused.
    Exact,
}

/// How a bus is set up.
#[derive(Clone, Debug, Default)]
pub struct BusOptions {
    /// What happens to early cycles.
    pub pace: Pace,
    /// Whether spellings from before ONFI are taken.
    pub compatible: bool,
    /// Whether targets begin as they do at power-on, in SDR mode 0, and return there by FFh. Else a host has set up
    /// the interface of the part's file already, and FFh keeps it.
    pub power_on: bool,
    /// How its LUNs are set up.
    pub lun: LunOptions,
}

/// The latest instant that [`Bus::wait`] reaches, 106 days: half the clock is left for what follows.
const LATEST: Instant = Instant::from_ps(u64::MAX / 2);

/// A bus with everything that hangs on it.
#[derive(Clone, Debug)]
pub struct Bus {
    part: Part,
    wiring: Wiring,
    pace: Pace,
    /// The host's own command or address cycle.
    host_cycle: Option<Duration>,
    /// Whether broken limits refuse operations.
    strict: bool,
    /// Whether FFh returns to the slowest mode.
    power_on: bool,
    /// Volume by volume, chip enable by chip enable.
    targets: Vec<Target>,
    /// The chip enable that is low.
    enabled: usize,
    /// The volume selected behind each chip enable.
    volumes: Vec<usize>,
    now: Instant,
    /// When the bus is free of what was on it last.
    held_until: Instant,
    cycles: u64,
    edges: Edges,
    trace: Trace,
}

impl Bus {
    /// A bus with LUNs of `part`, whose first target is selected at time 0.
    ///
    /// # Errors
    /// What is wrong with the wiring.
    pub fn new(part: &Part, wiring: Wiring, options: BusOptions) -> Result<Self, Complaints> {
        let mut wrong = Complaints::default();
        // Bounds: four bits name a volume (feature 58h); chip enables and LUNs as in device layouts.
        for (key, value, most) in
            [("targets", wiring.targets, 64), ("volumes", wiring.volumes, 16), ("luns", wiring.luns, 64)]
        {
            wrong.require((1..=most).contains(&value), key, value, format!("from 1 to {most}"));
        }
        wrong.or_ok(())?;
        let target = |n| Target::new(part, n, n * wiring.luns, wiring.luns, options.compatible, &options.lun);
        let mut edges = Edges::default();
        edges.note(Edge::Select, Instant::ZERO);
        let mut bus = Self {
            part: part.clone(),
            wiring,
            pace: options.pace,
            host_cycle: None,
            strict: options.lun.fatal,
            power_on: options.power_on,
            targets: (0..wiring.targets * wiring.volumes).map(target).collect(),
            enabled: 0,
            volumes: vec![0; wiring.targets as usize],
            now: Instant::ZERO,
            held_until: Instant::ZERO,
            cycles: 0,
            edges,
            trace: Trace::new(),
        };
        for target in &mut bus.targets {
            target.wake(&bus.part, bus.power_on);
        }
        Ok(bus)
    }

    /// The part that its LUNs are.
    pub fn part(&self) -> &Part {
        &self.part
    }

    /// The end of the last cycle, or later after a wait.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Cycles so far, refused ones too.
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

    /// Replaces a wait of every target, until one of them changes its interface.
    pub fn set_wait(&mut self, wait: Wait, time: Duration) {
        for target in &mut self.targets {
            target.waits.set(wait, time);
        }
    }

    /// Sets what happens to cycles that come too early.
    pub fn set_pace(&mut self, pace: Pace) {
        self.pace = pace;
    }

    /// Sets the host's own command and address cycle, tWC unless set: a shorter one breaks tWC.
    pub fn set_host_cycle(&mut self, time: Duration) {
        self.host_cycle = Some(time);
    }

    /// Lets time pass, up to half of the clock's 213 days.
    pub fn wait(&mut self, time: Duration) {
        self.wait_until(Instant::from_ps(self.now.ps().saturating_add(time.ps())));
    }

    /// Lets time pass until `at`.
    pub fn wait_until(&mut self, at: Instant) {
        self.now = self.now.max(at.min(LATEST));
        for port in self.targets.iter_mut().flat_map(|target| &mut target.ports) {
            port.lun.settle(self.now);
        }
    }

    /// Lets chip enable fall at a target (and rise before, when it is low already).
    ///
    /// # Errors
    /// The bus has no such target.
    pub fn select(&mut self, target: u32) -> Result<(), Failure> {
        if target >= self.wiring.targets {
            let kind = FailureKind::Address { what: "target", found: target, below: self.wiring.targets };
            return Err(self.failure(kind));
        }
        self.enabled = target as usize;
        self.edges.note(Edge::Select, self.now);
        Ok(())
    }

    /// A command latch.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn command(&mut self, code: u8) -> Result<(), Failure> {
        let begin = self.begin(Edge::Command)?;
        self.check_command(code, begin).map_err(|kind| self.refuse(kind))?;
        let resting = self.target().decoder.state() == super::sequence::State::Rest;
        if resting {
            let port = &self.target().ports[self.target().selected];
            let (die, serial) = (port.lun.die(), port.serial);
            self.trace.open(die, serial);
        }
        let end = begin + self.host_cycle.unwrap_or(self.waits().get(Wait::Wc));
        let first = if code == 0x00 { Some(Edge::Back) } else { None };
        self.finish(Edge::Command, Stage::Cle, (begin, end), |decoder| decoder.command(code))?;
        let target = self.target_mut();
        if let Some(edge) = first {
            target.edges.note(edge, end);
        }
        Ok(())
    }

    /// Address latches, one cycle a byte.
    ///
    /// # Errors
    /// The rule that one of them breaks; those before it were latched.
    pub fn address(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        for byte in bytes {
            let begin = self.begin(Edge::Address)?;
            self.check_locked().map_err(|kind| self.refuse(kind))?;
            let end = begin + self.host_cycle.unwrap_or(self.waits().get(Wait::Wc));
            self.finish(Edge::Address, Stage::Ale, (begin, end), |decoder| decoder.address(*byte))?;
            let target = self.target_mut();
            if let Some(edge) = target.decoder.data_edge() {
                target.edges.note(edge, end);
            }
        }
        Ok(())
    }

    /// Data in, one burst.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn data_in(&mut self, data: &[u8]) -> Result<(), Failure> {
        if data.is_empty() {
            return Ok(());
        }
        let begin = self.begin(Edge::DataIn)?;
        self.check_locked().map_err(|kind| self.refuse(kind))?;
        let (b, size) = (self.timing(), Bytes(data.len() as u64));
        let end = begin + b.burst_in(size) + b.t_wpst + b.t_wpsth;
        self.check_store(data.len() as u32).map_err(|kind| self.refuse(kind))?;
        let steps = self.finish(Edge::DataIn, Stage::Tir, (begin, end), |decoder| decoder.data_in(data))?;
        if steps.contains(&Step::Store) {
            self.store(data);
        }
        Ok(())
    }

    /// Data out, one burst of `len` bytes.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn data_out(&mut self, len: u32) -> Result<Vec<u8>, Failure> {
        if len == 0 {
            return Ok(Vec::new());
        }
        let edge = self.output_edge();
        let begin = self.begin(edge)?;
        self.check_output(len, begin).map_err(|kind| self.refuse(kind))?;
        let b = self.timing();
        let first = begin + b.t_rpre + b.t_dqsre;
        let end = first + b.burst_out(Bytes(u64::from(len)));
        self.finish(edge, Stage::Tor, (begin, end), Decoder::data_out)?;
        Ok(self.put_out(len, first))
    }

    /// R/B# of the selected target: low while any of its LUNs is busy. It falls tWB after the cycle that makes it busy;
    /// here it is low from that cycle on.
    pub fn ready(&self) -> bool {
        self.enabled_targets().all(|target| target.ready_at() <= self.now)
    }

    /// Waits until R/B# of the selected target is high: when that was or is.
    pub fn wait_ready(&mut self) -> Instant {
        let at = self.enabled_targets().map(Target::ready_at).max().unwrap_or(self.now);
        self.wait_until(at);
        self.now
    }

    /// Waits until the arrays of all LUNs of the selected target rest (ARDY): when that was or is.
    pub fn wait_array_ready(&mut self) -> Instant {
        let at = self.enabled_targets().map(Target::array_ready_at).max().unwrap_or(self.now);
        self.wait_until(at);
        self.now
    }

    /// Drives the write-protect pin of every target: programs and erases are refused while it is low (`on`).
    pub fn set_write_protect(&mut self, on: bool) {
        self.edges.note(Edge::Protect, self.now);
        for port in self.targets.iter_mut().flat_map(|target| &mut target.ports) {
            port.lun.settle(self.now);
            port.lun.set_write_protect(on);
        }
    }

    /// A LUN, counted over the bus: target by target, volume by volume.
    ///
    /// # Panics
    /// If the bus has no such LUN.
    pub fn lun(&self, die: DieId) -> &Lun {
        &self.targets[(die.0 / self.wiring.luns) as usize].ports[(die.0 % self.wiring.luns) as usize].lun
    }

    /// LUNs on the bus.
    pub fn dies(&self) -> u32 {
        self.wiring.targets * self.wiring.volumes * self.wiring.luns
    }

    /// The termination that ODT Configure set for a LUN.
    ///
    /// # Panics
    /// If the bus has no such LUN.
    pub fn termination(&self, die: DieId) -> [u8; 4] {
        self.targets[(die.0 / self.wiring.luns) as usize].ports[(die.0 % self.wiring.luns) as usize].odt
    }

    /// The spans of bus and arrays that are over by now, in the order of their beginning, each given once.
    pub fn spans(&mut self) -> Vec<Span> {
        let mut spans = self.trace.take();
        for port in self.targets.iter_mut().flat_map(|target| &mut target.ports) {
            port.lun.settle(self.now);
            spans.extend(port.lun.spans());
        }
        spans.sort();
        spans
    }
}

/// Time: when a cycle may begin, and what it leaves.
impl Bus {
    fn target(&self) -> &Target {
        &self.targets[self.current()]
    }

    fn target_mut(&mut self) -> &mut Target {
        let current = self.current();
        &mut self.targets[current]
    }

    fn current(&self) -> usize {
        self.enabled * self.wiring.volumes as usize + self.volumes[self.enabled]
    }

    /// The targets whose R/B# pins hang together: the volumes of the chip enable.
    fn enabled_targets(&self) -> impl Iterator<Item = &Target> {
        let volumes = self.wiring.volumes as usize;
        self.targets[self.enabled * volumes..][..volumes].iter()
    }

    /// When a cycle of this kind begins.
    fn begin(&mut self, to: Edge) -> Result<Instant, Failure> {
        self.cycles += 1;
        self.note_ready();
        let windows = rules::windows(to, &self.target().waits, &self.edges, &self.target().edges);
        let Some(window) = rules::latest(windows).filter(|window| window.until > self.now) else {
            return Ok(self.now);
        };
        if self.pace == Pace::Exact {
            return Err(self.refuse(FailureKind::Timing { rule: window.rule, earliest: window.until }));
        }
        Ok(window.until)
    }

    /// Data out wait for the LUN that they come from, or for the target.
    fn note_ready(&mut self) {
        let target = self.target_mut();
        let ready = match target.output {
            Output::Bytes(_) => target.busy_until.max(target.ports[target.selected].busy_until),
            _ => target.ports[target.selected].ready_at(),
        };
        if ready > Instant::ZERO {
            target.edges.note(Edge::Ready, ready);
        }
    }

    /// Decodes a cycle, carries out what it completes, and notes it.
    fn finish(
        &mut self,
        edge: Edge,
        stage: Stage,
        (begin, end): (Instant, Instant),
        decode: impl FnOnce(&mut Decoder) -> Result<Vec<Step>, FailureKind>,
    ) -> Result<Vec<Step>, Failure> {
        let steps = decode(&mut self.target_mut().decoder).map_err(|kind| self.refuse(kind))?;
        let from = self.held_from(edge, begin);
        let mut busy = false;
        for step in &steps {
            busy |= self.carry(step, begin, end).map_err(|kind| self.refuse(kind))?;
        }
        let until = if busy { end + self.target().waits.get(Wait::Wb) } else { end };
        self.trace.hold(stage, from, until);
        (self.now, self.held_until) = (end, until);
        if edge == Edge::Command || edge == Edge::Address {
            self.edges.note(Edge::LatchBegin, begin);
        }
        self.edges.note(edge, end);
        if busy {
            self.edges.note(Edge::Confirm, end);
        }
        Ok(steps)
    }

    /// From when on the bus is held for a cycle that begins at `begin`: the waits that end with its beginning belong to
    /// it, as far as nothing else was on the bus.
    fn held_from(&self, edge: Edge, begin: Instant) -> Instant {
        let target = self.target();
        let windows =
            rules::windows(edge, &self.target().waits, &self.edges, &target.edges).map(|w| (w.from, w.until));
        let short = target.short_busy.filter(|_| edge == Edge::Command);
        let waits: Vec<(Instant, Instant)> = windows.chain(short).collect();
        let mut from = begin;
        while let Some(wait) = waits.iter().find(|(begin, end)| *begin < from && from <= *end) {
            let earlier = wait.0.max(self.held_until);
            if earlier >= from {
                break;
            }
            from = earlier;
        }
        from
    }

    fn failure(&self, kind: FailureKind) -> Failure {
        Failure { kind, cycle: self.cycles, at: self.now }
    }

    /// The selected target refuses a cycle.
    fn refuse(&mut self, kind: FailureKind) -> Failure {
        if kind != FailureKind::AwaitingReset {
            let target = self.target_mut();
            target.decoder.clear();
            target.refused = true;
        }
        self.failure(kind)
    }

    /// That a target which refused a cycle is sent nothing but a status command or a reset.
    fn check_command(&self, code: u8, at: Instant) -> Result<(), FailureKind> {
        let target = self.target();
        let harmless = command::opened_by(code).any(|c| {
            use Operation as O;
            let resets =
                matches!(c.operation, O::Reset | O::SynchronousReset | O::ResetLun | O::VolumeSelect);
            resets || matches!(c.operation, O::Status | O::StatusEnhanced | O::ExtendedStatus)
        });
        if target.refused && !harmless {
            return Err(FailureKind::AwaitingReset);
        }
        if target.decoder.state() == super::sequence::State::Rest {
            target.require_somewhere(code, at)
        } else {
            Ok(())
        }
    }

    /// The same for other cycles.
    fn check_locked(&self) -> Result<(), FailureKind> {
        let target = self.target();
        let open = target.decoder.state() != super::sequence::State::Rest;
        if target.refused && !open { Err(FailureKind::AwaitingReset) } else { Ok(()) }
    }
}
