//! A target: the LUNs of one chip enable, or of one volume of it, with their command decoder and the source
//! of data out.

use wordline_kernel::{Duration, Instant};

use crate::interface::{BusFile, BusTiming};
use crate::onfi::command::{self, Activity, BusyTime, Command, Operation};
use crate::onfi::failure::{FailureKind, Fault};
use crate::onfi::features::{Features, address};
use crate::onfi::history::History;
use crate::onfi::identity::Identity;
use crate::onfi::rules::{Edge, Edges, Waits};
use crate::onfi::sequence::Decoder;
use crate::onfi::status::Status;
use crate::onfi::support::CommandSupport;
use crate::onfi::{Limit, Lun, LunOptions, Row, RowAddressing, TimingMode};
use crate::{DieId, Part};

/// The source of data out.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Output {
    /// No source: nothing was read.
    Nothing,
    /// The cache register of the selected LUN.
    Register,
    /// The status of the selected LUN.
    Status,
    /// The status of a plane.
    StatusOf(Row),
    /// The status of a LUN (vendor command).
    LunStatus(usize),
    /// An identity.
    Identity(u8),
    /// A parameter page, unique ID or feature.
    Bytes(Vec<u8>),
}

impl Output {
    pub fn is_status(&self) -> bool {
        matches!(self, Self::Status | Self::StatusOf(_) | Self::LunStatus(_))
    }

    /// The kind of edge of its data.
    pub fn edge(&self) -> Edge {
        if self.is_status() || matches!(self, Self::Identity(_)) { Edge::RegisterOut } else { Edge::DataOut }
    }
}

/// The destination of data in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Loading {
    pub column: u32,
    pub row: Row,
}

/// A LUN with the state that the pins add to it.
#[derive(Clone, Debug)]
pub(super) struct Port {
    pub lun: Lun,
    pub history: History,
    pub features: Features,
    pub odt: [u8; 4],
    /// The plane of the last sensed page, and whether several planes sensed together. A cache read transfers
    /// this page next.
    pub sensed_plane: u32,
    pub sensed_several: bool,
    /// Whether several planes were read together, and 06h-E0h has not selected one of them since.
    pub plane_unselected: bool,
    /// Blocks queued for an erase in legacy form, which has no busy time between them.
    pub named: Vec<Row>,
    /// End of a busy time for a feature or a calibration.
    pub busy_until: Instant,
    /// Number of the operation of its cycles.
    pub serial: u32,
    /// Column of the next byte of data out.
    pub column: u32,
}

impl Port {
    pub fn activity(&self, at: Instant) -> Activity {
        if at < self.busy_until { Activity::Busy } else { self.history.activity(self.lun.pipeline(), at) }
    }

    pub fn ready_at(&self) -> Instant {
        self.busy_until.max(self.lun.pipeline().ready_at)
    }

    pub fn array_ready_at(&self) -> Instant {
        self.ready_at().max(self.lun.pipeline().array_ready_at)
    }

    /// Selects the plane of data out after a read: the plane addressed last, or for cache reads the plane of
    /// the page sensed before. After a read of `several` planes together none is selected.
    pub fn select_sensed(&mut self, operation: Operation, plane: Option<u32>, several: bool) {
        let before = (self.sensed_plane, self.sensed_several);
        let sensed = (plane.unwrap_or(before.0), several);
        let (out, next) = match operation {
            Operation::Read | Operation::CopybackRead | Operation::IndependentRead => (sensed, sensed),
            Operation::CacheReadRandom => (before, sensed),
            Operation::CacheReadSequential | Operation::CacheReadEnd => (before, before),
            _ => return,
        };
        (self.sensed_plane, self.sensed_several) = next;
        self.plane_unselected = out.1;
        self.lun.select_output(out.0);
    }
}

/// A target, or one volume of it.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub ports: Vec<Port>,
    pub addressing: RowAddressing,
    pub decoder: Decoder,
    pub edges: Edges,
    /// The timing of the current interface and mode.
    pub timing: BusTiming,
    pub waits: Waits,
    pub identity: Identity,
    /// The LUN of commands without an address.
    pub selected: usize,
    pub output: Output,
    /// The source of data out before the status command.
    pub before: Output,
    pub loading: Option<Loading>,
    /// Whether a cycle was rejected, without a reset since.
    pub refused: bool,
    /// The LUN of the open sequence: the LUN in its address, or the selected one.
    pub addressed_lun: usize,
    /// The LUN of the rejected cycle; its status shows FAIL.
    pub rejected_lun: usize,
    /// Whether there was no reset since power-on.
    pub awaits_first_reset: bool,
    /// The optional commands that the part has.
    pub offers: CommandSupport,
    /// End of the busy time of a command to the target.
    pub busy_until: Instant,
    /// The short busy time after a plane was queued.
    pub short_busy: Option<(Instant, Instant)>,
    /// Whether several LUNs worked concurrently, and 78h has not selected one of them since.
    pub status_unselected: bool,
    /// Whether several LUNs worked concurrently, and neither 78h nor 06h-E0h has selected one of them for
    /// data out since.
    pub data_unselected: bool,
}

impl Target {
    pub fn new(
        part: &Part,
        number: u32,
        first_die: u32,
        luns: u32,
        compatible: bool,
        options: &LunOptions,
    ) -> Self {
        let port = |lun| Port {
            lun: Lun::new(part, DieId(first_die + lun), options.clone()),
            history: History::default(),
            features: Features::of(part),
            odt: [0; 4],
            sensed_plane: 0,
            sensed_several: false,
            plane_unselected: false,
            named: Vec::new(),
            busy_until: Instant::ZERO,
            serial: 0,
            column: 0,
        };
        let addressing = RowAddressing::of(part, luns);
        Self {
            ports: (0..luns).map(port).collect(),
            addressing,
            decoder: Decoder::new(addressing.cycles(), compatible),
            edges: Edges::default(),
            timing: part.bus,
            waits: Waits::of(&part.bus),
            identity: Identity::of(part, number),
            selected: 0,
            output: Output::Nothing,
            before: Output::Nothing,
            loading: None,
            refused: false,
            addressed_lun: 0,
            rejected_lun: 0,
            awaits_first_reset: false,
            offers: CommandSupport::of(part, luns),
            busy_until: Instant::ZERO,
            short_busy: None,
            status_unselected: false,
            data_unselected: false,
        }
    }

    /// The time at which RDY of all its LUNs is high.
    pub fn ready_at(&self) -> Instant {
        self.ports.iter().map(Port::ready_at).fold(self.busy_until, Instant::max)
    }

    /// The time at which ARDY of all its LUNs is high.
    pub fn array_ready_at(&self) -> Instant {
        self.ports.iter().map(Port::array_ready_at).fold(self.busy_until, Instant::max)
    }

    /// Decodes a row address, or returns the limit that it exceeds. The page is ignored for an erase.
    pub fn row(&self, row: u32, of_block: bool) -> Result<Row, FailureKind> {
        match self.addressing.split(row) {
            Err(Limit::Hole { row, .. }) if of_block => Ok(Row { page: 0, ..row }),
            Ok(row) if of_block => Ok(Row { page: 0, ..row }),
            split => split.map_err(FailureKind::Limit),
        }
    }

    /// Checks that LUN `lun` accepts `command` at `at`, and that the other LUNs are in the required state.
    pub fn require(&self, command: &Command, lun: usize, at: Instant) -> Result<(), FailureKind> {
        if command.legal.while_busy {
            return Ok(());
        }
        let busy =
            |port: &Port, until| Err(FailureKind::Busy { what: command.name, die: port.lun.die(), until });
        if at < self.busy_until {
            return busy(&self.ports[lun], self.busy_until);
        }
        let alone = command.legal.target_level || !command.legal.while_other_busy;
        for (n, port) in self.ports.iter().enumerate().filter(|(n, _)| *n == lun || alone) {
            let activity = port.activity(at);
            let taken = if n == lun { command.legal.allows(activity) } else { activity == Activity::Idle };
            if !taken {
                let until = if at < port.ready_at() { port.ready_at() } else { port.array_ready_at() };
                return busy(port, until);
            }
        }
        Ok(())
    }

    /// Checks that one of the commands with this first byte is accepted, as [`require`](Self::require) does
    /// for a known command.
    pub fn require_any(&self, first: u8, lun: usize, at: Instant) -> Result<(), FailureKind> {
        let mut refused = Ok(());
        for command in command::starting_with(first).filter(|c| !c.continues_program()) {
            refused = self.require(command, lun, at);
            if refused.is_ok() {
                break;
            }
        }
        refused
    }

    /// Checks, before the address, that a command with this byte is accepted by the selected LUN, or by any
    /// LUN if the address will select one. A prefix is accepted if one of the commands that it may precede is
    /// accepted.
    pub fn require_any_lun(&self, first: u8, at: Instant) -> Result<(), FailureKind> {
        let mut refused = Ok(());
        if command::starting_with(first).any(Command::is_prefix) {
            let followed = command::MODE_PREFIX_TARGETS.map(|first| self.require_any_lun(first, at));
            return followed.into_iter().reduce(Result::or).expect("a prefix stands before something");
        }
        for command in command::starting_with(first).filter(|c| !c.continues_program()) {
            let luns =
                if command.selects_lun() { 0..self.ports.len() } else { self.selected..self.selected + 1 };
            for lun in luns {
                refused = self.require(command, lun, at);
                if refused.is_ok() {
                    return refused;
                }
            }
        }
        refused
    }

    /// The status byte of the current output at `at`.
    pub fn status(&mut self, at: Instant) -> Status {
        let (lun, plane) = match self.output {
            Output::StatusOf(row) => (row.lun as usize, Some(row)),
            Output::LunStatus(lun) => (lun, None),
            _ => (self.selected, None),
        };
        let busy = at < self.busy_until || at < self.ports[lun].busy_until;
        let port = &mut self.ports[lun];
        let condition = match plane {
            Some(row) => port.lun.status_of(Row { lun: 0, ..row }, at),
            None => port.lun.status(at),
        };
        let status = Status(condition.byte());
        if busy {
            return status & Status::UNPROTECTED;
        }
        // FAIL is valid only while ready.
        let fails = self.refused && self.rejected_lun == lun;
        if fails && status.has(Status::READY) { status | Status::FAIL } else { status }
    }

    /// Records the LUN of an address, if it exists.
    pub fn note_lun(&mut self, lun: u32) {
        if (lun as usize) < self.ports.len() {
            self.addressed_lun = lun as usize;
        }
    }

    /// Checks that data and columns of pages are even if two bytes are transferred per strobe cycle. From
    /// memory of the public ONFI specification; the NV-DDR controller of cjhonlyone requires it, too.
    pub fn require_even(&self, what: &'static str, found: u32) -> Result<(), FailureKind> {
        let odd = self.timing.interface.is_double_rate() && !found.is_multiple_of(2);
        if odd { Err(FailureKind::Sequence(Fault::Odd { what, found })) } else { Ok(()) }
    }

    /// The byte offset of a column. With sixteen data lines columns count pairs of bytes (ONFI, from memory
    /// of the public specification).
    pub fn byte_at(&self, column: u32) -> u32 {
        column * self.timing.bytes_per_transfer() as u32
    }

    /// The source of data out after 00h alone.
    pub fn data_source(&self) -> &Output {
        if self.output.is_status() { &self.before } else { &self.output }
    }

    /// Checks that data may be transferred out of `output` at `at`.
    pub fn check_output_source(&self, output: &Output, at: Instant) -> Result<(), FailureKind> {
        let busy = |until| {
            let die = self.ports[self.selected].lun.die();
            Err(FailureKind::Busy { what: "data out", die, until })
        };
        let own = self.ports[self.selected].ready_at();
        match output {
            Output::Nothing => Err(FailureKind::Sequence(Fault::OutputOfNothing)),
            Output::Register if self.data_unselected => Err(FailureKind::Sequence(Fault::LunNotSelected)),
            Output::Register | Output::Bytes(_) if at < own => busy(own),
            Output::Register | Output::Bytes(_) | Output::Identity(_) if at < self.busy_until => {
                busy(self.busy_until)
            }
            Output::Register if self.ports[self.selected].plane_unselected => {
                Err(FailureKind::Sequence(Fault::PlaneNotSelected))
            }
            _ => Ok(()),
        }
    }

    /// Switches data out to a status; 00h restores the previous source.
    pub fn output_status(&mut self, status: Output) {
        let before = std::mem::replace(&mut self.output, status);
        if !before.is_status() {
            self.before = before;
        }
    }

    /// Restores the source of data out that was set before a status.
    pub fn leave_status(&mut self) {
        if self.output.is_status() {
            self.output = std::mem::replace(&mut self.before, Output::Nothing);
        }
    }

    /// Records the begin of an array operation in `lun`. If another LUN works at the same time, a LUN must be
    /// selected before status and data out.
    pub fn note_interleaving(&mut self, lun: usize, at: Instant) {
        let others = self.ports.iter().enumerate().filter(|(n, _)| *n != lun);
        if others.into_iter().any(|(_, port)| port.activity(at) != Activity::Idle) {
            (self.status_unselected, self.data_unselected) = (true, true);
        }
    }

    /// Column of the next byte of data out of the selected LUN. Each LUN has its own column, so that data of
    /// several LUNs can alternate.
    pub fn column(&self) -> u32 {
        self.ports[self.selected].column
    }

    /// Sets the column of the next byte of data out of the selected LUN.
    pub fn set_column(&mut self, column: u32) {
        self.ports[self.selected].column = column;
    }

    /// Clears sequences and outputs, as every reset does. If one of several LUNs that worked concurrently was
    /// reset, a LUN must still be selected.
    pub fn forget(&mut self, whole: bool) {
        self.decoder.clear();
        (self.output, self.before) = (Output::Nothing, Output::Nothing);
        if whole {
            (self.status_unselected, self.data_unselected) = (false, false);
        }
        (self.refused, self.loading, self.short_busy) = (false, None, None);
        self.selected = 0;
    }

    /// Resets features and interface to their power-on values. Without `power_on`, the mode of the part's
    /// file is set at once.
    pub fn power_on_reset(&mut self, part: &Part, power_on: bool) {
        let mode = TimingMode { interface: part.bus.interface, mode: part.bus.mode };
        for port in &mut self.ports {
            port.features.reset();
            if !power_on {
                let set = port.features.set(address::TIMING_MODE, mode.encode());
                debug_assert!(set.is_ok(), "a part has the mode that it is operated in: {set:?}");
            }
        }
        self.apply_timing_mode(part);
    }

    /// Switches the interface to the mode in the features.
    pub fn apply_timing_mode(&mut self, part: &Part) {
        let mode = self.ports[0].features.timing_mode();
        self.timing = if (mode.interface, mode.mode) == (part.bus.interface, part.bus.mode) {
            part.bus
        } else {
            let file = BusFile { width: Some(part.bus.width), ..BusFile::new(mode.interface, mode.mode) };
            file.check().expect("the features know only modes that exist, and wide parts have SDR alone")
        };
        self.waits = Waits::of(&self.timing);
    }

    /// Makes the whole target busy.
    pub fn hold(&mut self, from: Instant, time: Duration) -> Instant {
        self.busy_until = self.busy_until.max(from + time);
        self.busy_until
    }
}

/// Whether a busy time is the short one between planes.
pub(super) fn is_short(busy: BusyTime) -> bool {
    matches!(busy, BusyTime::PlaneRead | BusyTime::PlaneProgram | BusyTime::PlaneErase)
}
