//! The command chain of each transaction: its cycles on the pins, in order (NANDFlashSim, section 7.1).
//!
//! A transaction is granted the bus a few times, once for each bus phase ([`BusPhase`]), and the array works
//! in between. A phase consists of a list of [`Cycle`]s. [`Chips`](crate::Chips) counts their times by stage.
//! The same list drives the pins of [`onfi::Bus`](crate::onfi). So a transaction takes exactly as long as its
//! sequence of cycles, to the picosecond.
//!
//! A wait counts in the stage of the cycle that it delays:
//!
//! * chip enable (tCS) and turnaround (tRHW) in the stage of the next command;
//! * tADL and tCCS in the stage of the next data;
//! * tWB in the stage of the command that makes the die busy.

use wordline_kernel::{Bytes, Duration};

use crate::onfi::command::accepts_mode_prefix;
use crate::part::BusTiming;
use crate::{CellMode, Part, Stage};

/// One bus cycle or wait, with the delay that belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cycle {
    /// Chip enable (CE#) falls.
    Select,
    /// A command byte that is followed by more cycles.
    Command(u8),
    /// A command byte that makes the die busy.
    Confirm(u8),
    /// Address bytes of the page in the n-th plane of the command.
    Address {
        /// Counted from 0.
        plane: u32,
        /// 5 for column and row, 3 for the row alone.
        bytes: u8,
        /// Whether this is the destination page, if the phase also has a source page.
        destination: bool,
    },
    /// Data into the register of the plane addressed last.
    DataIn(Bytes),
    /// Data out of a register.
    DataOut {
        /// Number of bytes.
        size: Bytes,
        /// The step before the data.
        after: PrecedingStep,
    },
    /// Bus turnaround after data out.
    Turnaround,
    /// Short busy time between two planes, during which the bus waits.
    PlaneBusy,
}

/// The step before data out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrecedingStep {
    /// The die became ready, and chip enable must fall.
    Ready,
    /// A register was selected.
    Column,
    /// The status was requested.
    Status,
}

/// A bus phase: a part of a transaction that needs one bus grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BusPhase {
    /// Command, addresses and, for a program, data; then the array works.
    Read,
    /// See [`BusPhase::Read`].
    Program,
    /// As [`BusPhase::Program`], but the die accepts the next program while its array works (80-15).
    ProgramCache,
    /// See [`BusPhase::Read`].
    Erase,
    /// Copyback read: a page is read to be programmed elsewhere in its plane (00-35).
    CopybackRead,
    /// Copyback program (85-10).
    CopybackProgram,
    /// Sequential cache read: the sensed page moves to the cache register and the next page is sensed (31).
    CacheReadSequential,
    /// Random cache read: the sensed page moves to the cache register and any other page is sensed (00-31).
    CacheReadRandom,
    /// End of a cache read: the sensed page moves to the cache register (3F).
    CacheReadEnd,
    /// Data out of the registers.
    DataOut,
    /// Status register read.
    Status,
    /// Suspend of a program. Suspend and resume take a command with the row: 84 and 13 for a program, 61 and
    /// D2 for an erase (from memory of Micron's data sheets).
    SuspendProgram,
    /// See [`BusPhase::SuspendProgram`].
    ResumeProgram,
    /// See [`BusPhase::SuspendProgram`].
    SuspendErase,
    /// See [`BusPhase::SuspendProgram`].
    ResumeErase,
}

/// The properties of a part and a command that determine its command chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Planes of the command.
    pub planes: u32,
    /// Pages that a program loads into each plane: for a one-shot part, the pages of a word line.
    pub pages: u32,
    /// Bytes of a page that are transferred, in each plane.
    pub page: Bytes,
    /// Whether dies share a chip enable. If so, data out begin with a command that selects the die (06-E0),
    /// and the status command addresses the die (78).
    pub shared_enable: bool,
    /// The cell mode of the commands: its prefix precedes each command that begins an array operation.
    pub mode: CellMode,
}

impl Shape {
    /// Full pages in `planes` planes of `part`, in the native mode.
    pub fn of(part: &Part, planes: u32, shared_enable: bool) -> Self {
        let (pages, page) = (part.pages_per_program(), part.geometry.page_size);
        Self { planes, pages, page, shared_enable, mode: CellMode::Native }
    }

    /// Whether data out begin with a command that selects their register.
    pub fn needs_select(&self) -> bool {
        self.shared_enable || self.planes > 1
    }
}

impl BusPhase {
    /// All phases in the order of their declaration.
    pub const ALL: [Self; 15] = [
        Self::Read,
        Self::Program,
        Self::ProgramCache,
        Self::Erase,
        Self::CopybackRead,
        Self::CopybackProgram,
        Self::CacheReadSequential,
        Self::CacheReadRandom,
        Self::CacheReadEnd,
        Self::DataOut,
        Self::Status,
        Self::SuspendProgram,
        Self::ResumeProgram,
        Self::SuspendErase,
        Self::ResumeErase,
    ];

    /// The cycles of the phase.
    pub fn cycles(self, shape: &Shape) -> Vec<Cycle> {
        let cycles = self.plain_cycles(shape);
        match shape.mode.prefix(matches!(self, Self::Program | Self::ProgramCache)) {
            Some(prefix) => with_prefix(cycles, prefix),
            None => cycles,
        }
    }

    /// The cycles without a prefix for the cell mode.
    fn plain_cycles(self, shape: &Shape) -> Vec<Cycle> {
        match self {
            Self::Read => for_each_plane(shape.planes, 0x00, 5, [0x32, 0x30], false, None),
            Self::CopybackRead => for_each_plane(shape.planes, 0x00, 5, [0x32, 0x35], false, None),
            Self::Erase => for_each_plane(shape.planes, 0x60, 3, [0xD1, 0xD0], false, None),
            Self::Program => load_cycles(shape, 0x10),
            Self::ProgramCache => load_cycles(shape, 0x15),
            Self::CopybackProgram => for_each_plane(shape.planes, 0x85, 5, [0x11, 0x10], true, None),
            Self::CacheReadRandom => for_each_plane(shape.planes, 0x00, 5, [0x32, 0x31], true, None),
            Self::CacheReadSequential => of_die(shape.shared_enable, Cycle::Confirm(0x31)),
            Self::CacheReadEnd => of_die(shape.shared_enable, Cycle::Confirm(0x3F)),
            Self::DataOut => data_out(shape),
            Self::Status => status(shape.shared_enable),
            Self::SuspendProgram => with_row(0x84),
            Self::ResumeProgram => with_row(0x13),
            Self::SuspendErase => with_row(0x61),
            Self::ResumeErase => with_row(0xD2),
        }
    }

    /// The time of the cycles on `part`, by stage.
    pub fn times(self, part: &Part, shape: &Shape) -> BusTimes {
        let mut times = BusTimes::default();
        for cycle in self.cycles(shape) {
            let (stage, time) = cycle.time(&part.bus, part.timing.plane_busy);
            times.add(stage, time);
        }
        times
    }
}

impl BusPhase {
    /// The total time of the phase with full pages of `planes` planes, where each die has its own chip
    /// enable.
    pub fn total(self, part: &Part, planes: u32) -> Duration {
        self.times(part, &Shape::of(part, planes, false)).total()
    }
}

/// The total time of data out of `size` bytes of a page from one plane.
pub fn data_out_of(part: &Part, size: Bytes) -> Duration {
    BusPhase::DataOut.times(part, &Shape { page: size, ..Shape::of(part, 1, false) }).total()
}

/// The cycles of data out when only `bytes` of the pages are transferred. A command does not say which planes
/// the bytes come from: they are one burst from the plane selected last.
pub fn partial_data_out(shape: &Shape, bytes: Bytes) -> Vec<Cycle> {
    let mut cycles = data_out(&Shape { page: Bytes(0), ..*shape });
    if let Some(Cycle::DataOut { size, .. }) = cycles.last_mut() {
        *size = bytes;
    }
    cycles
}

/// Cycles for every plane: setup command, address and confirm command. The last plane has its own confirm
/// command.
fn for_each_plane(
    planes: u32,
    command: u8,
    bytes: u8,
    [more, last]: [u8; 2],
    destination: bool,
    data: Option<Bytes>,
) -> Vec<Cycle> {
    let mut cycles = vec![Cycle::Select];
    for plane in 0..planes {
        cycles.push(Cycle::Command(command));
        cycles.push(Cycle::Address { plane, bytes, destination });
        cycles.extend(data.map(Cycle::DataIn));
        if plane + 1 < planes {
            cycles.extend([Cycle::Confirm(more), Cycle::PlaneBusy]);
        } else {
            cycles.push(Cycle::Confirm(last));
        }
    }
    cycles
}

/// Loads every page of the program unit: the planes of one page number, then the next page of the word line.
fn load_cycles(shape: &Shape, last: u8) -> Vec<Cycle> {
    let mut cycles = Vec::new();
    for page in 0..shape.pages {
        let confirm = if page + 1 < shape.pages { 0x11 } else { last };
        let mut of_page = for_each_plane(shape.planes, 0x80, 5, [0x11, confirm], false, Some(shape.page));
        if page > 0 {
            of_page[0] = Cycle::PlaneBusy;
        }
        cycles.extend(of_page);
    }
    cycles
}

/// The cycles of data out. A single page is transferred at once. After a multi-plane read each plane must be
/// selected (ONFI, from memory of the public specification). Dies that share a chip enable must be selected,
/// too.
fn data_out(shape: &Shape) -> Vec<Cycle> {
    let size = shape.page;
    if !shape.needs_select() {
        return vec![Cycle::DataOut { size, after: PrecedingStep::Ready }];
    }
    let of_plane = |plane| {
        [
            if plane == 0 { Cycle::Select } else { Cycle::Turnaround },
            Cycle::Command(0x06),
            Cycle::Address { plane, bytes: 5, destination: false },
            Cycle::Command(0xE0),
            Cycle::DataOut { size, after: PrecedingStep::Column },
        ]
    };
    (0..shape.planes).flat_map(of_plane).collect()
}

/// The cycles with a prefix before each command that takes a cell mode.
fn with_prefix(cycles: Vec<Cycle>, prefix: u8) -> Vec<Cycle> {
    let spell = |cycle| {
        let begins = matches!(cycle, Cycle::Command(code) if accepts_mode_prefix(code));
        begins.then_some(Cycle::Command(prefix)).into_iter().chain([cycle])
    };
    cycles.into_iter().flat_map(spell).collect()
}

fn status(shared_enable: bool) -> Vec<Cycle> {
    let out = Cycle::DataOut { size: Bytes(1), after: PrecedingStep::Status };
    if shared_enable {
        return of_die(true, out);
    }
    vec![Cycle::Select, Cycle::Command(0x70), out]
}

/// A command followed by its row address.
fn with_row(command: u8) -> Vec<Cycle> {
    vec![Cycle::Select, Cycle::Command(command), Cycle::Address { plane: 0, bytes: 3, destination: false }]
}

/// A cycle that has no address, for one die. Where dies share a chip enable, 78h with a row selects the die
/// first.
fn of_die(shared_enable: bool, cycle: Cycle) -> Vec<Cycle> {
    if shared_enable {
        let row = Cycle::Address { plane: 0, bytes: 3, destination: false };
        vec![Cycle::Select, Cycle::Command(0x78), row, cycle]
    } else {
        vec![Cycle::Select, cycle]
    }
}

impl Cycle {
    /// The stage in which the cycle counts, and its time with its wait.
    pub fn time(self, bus: &BusTiming, plane_busy: Duration) -> (Stage, Duration) {
        match self {
            Self::Select => (Stage::Cle, bus.t_cs),
            Self::Command(_) => (Stage::Cle, bus.t_wc),
            Self::Confirm(_) => (Stage::Cle, bus.t_wc + bus.t_wb),
            Self::Address { bytes, .. } => (Stage::Ale, bus.t_wc * u64::from(bytes)),
            Self::DataIn(size) => (Stage::Tir, bus.t_adl + bus.burst_in(size) + bus.t_wpst + bus.t_wpsth),
            Self::DataOut { size, after } => {
                let wait = match after {
                    PrecedingStep::Ready => bus.t_cs.max(bus.t_rr),
                    PrecedingStep::Column => bus.t_ccs,
                    PrecedingStep::Status => bus.t_whr,
                };
                let size =
                    if after == PrecedingStep::Status { bus.register_transfer_size(size) } else { size };
                (Stage::Tor, wait + bus.t_rpre + bus.t_dqsre + bus.burst_out(size))
            }
            Self::Turnaround => (Stage::Cle, bus.t_rhw),
            Self::PlaneBusy => (Stage::Cle, plane_busy),
        }
    }
}

/// Time on the bus by stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BusTimes {
    /// Command latch cycles with their waits.
    pub cle: Duration,
    /// Address latch cycles.
    pub ale: Duration,
    /// Data into the register.
    pub tir: Duration,
    /// Data out of the register.
    pub tor: Duration,
}

impl BusTimes {
    /// Adds time to a bus stage.
    pub fn add(&mut self, stage: Stage, time: Duration) {
        match stage {
            Stage::Cle => self.cle += time,
            Stage::Ale => self.ale += time,
            Stage::Tir => self.tir += time,
            Stage::Tor => self.tor += time,
            Stage::Tin | Stage::Ton | Stage::Ber | Stage::Idle => unreachable!("{stage:?} is not on the bus"),
        }
    }

    /// Total time on the bus.
    pub fn total(&self) -> Duration {
        self.cle + self.ale + self.tir + self.tor
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::tests::mqsim;

    /// MQSim's composite times (`ONFI_Channel_NVDDR2`) are equal, with three exceptions. They leave out the
    /// second command cycle, and chip enable before data out. They count tWB only after a plane of a program
    /// or an erase. They do not select the first of several planes.
    #[test]
    fn the_composites_are_those_of_mqsim_and_what_it_leaves_out() {
        let part = mqsim();
        let ns = |hold: BusPhase, planes, page| {
            hold.times(&part, &Shape { page, ..Shape::of(&part, planes, false) }).total().ns()
        };
        let empty = |hold, planes| ns(hold, planes, Bytes(0));
        let (t_wc, t_wb, t_rr, t_cs) = (25, 100, 20, 20);
        // MQSim: 290 and 30, with tRR in the command. In this model tRR is before the data, hidden behind
        // tCS.
        assert_eq!(empty(BusPhase::Read, 1), 290 + t_wc - t_rr);
        assert_eq!(empty(BusPhase::DataOut, 1), 30 + t_cs);
        assert_eq!(empty(BusPhase::Read, 2), 940 + 2 * t_wc + t_wb - t_rr);
        let select = 7 * t_wc + 300; // 06h, five addresses, E0h and tCCS
        assert_eq!(empty(BusPhase::DataOut, 2), 610 + t_cs + t_wc + select);
        assert_eq!([1, 2].map(|n| empty(BusPhase::Program, n)), [361 + t_wc, 1177 + 3 * t_wc]);
        assert_eq!([1, 2].map(|n| empty(BusPhase::Erase, n)), [220 + t_wc, 920 + 2 * t_wc]);
    }

    #[test]
    fn holds_are_listed_in_the_order_of_their_declaration() {
        assert!(BusPhase::ALL.iter().enumerate().all(|(n, hold)| *hold as usize == n));
    }

    #[test]
    fn a_one_shot_program_loads_every_page_of_the_word_line() {
        let mut file = crate::part::tests::mqsim_file();
        file.geometry.one_shot = true;
        let part = file.check().expect("the part is sound");
        let cycles = BusPhase::Program.cycles(&Shape::of(&part, 2, false));
        let confirms: Vec<u8> = cycles
            .iter()
            .filter_map(|cycle| if let Cycle::Confirm(code) = cycle { Some(*code) } else { None })
            .collect();
        assert_eq!(confirms, [0x11, 0x11, 0x11, 0x10], "two planes, two pages each");
        assert_eq!(cycles.iter().filter(|cycle| **cycle == Cycle::Select).count(), 1);
    }
}
