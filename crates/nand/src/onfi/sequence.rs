//! The command decoder of a target: the legal order of cycles, and their decoding into commands.
//!
//! The table `TRANSITIONS` has the interpretation of each cycle in each state;
//! [`COMMANDS`](super::command::COMMANDS) has the bytes of commands. [`History`](super::history::History)
//! tracks the previous commands of a LUN.

use super::command::{self, Address, Command, Data, Operation};
use super::failure::{FailureKind, Fault};
use super::legacy::{LEGACY, LegacyPosition};
use super::rules::Edge;
pub use super::step::{DecodedCommand, Mode, Step};

/// A kind of cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cycle {
    /// A command latch.
    Command,
    /// An address latch.
    Address,
    /// Data in.
    DataIn,
    /// Data out.
    DataOut,
}

/// The state of a target between two cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// No command is open.
    #[default]
    Rest,
    /// The first byte is latched; address cycles follow.
    Opened,
    /// The address is latched; the second byte follows.
    Addressed,
    /// The address of a program is latched; data, another address or the second byte follow.
    Loading,
    /// The address of a feature is latched; four bytes follow.
    Feature,
}

/// The interpretation of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CycleMeaning {
    /// The first byte of a command.
    First,
    /// The second byte of a command.
    Second,
    /// A byte of the address.
    Byte,
    /// Bytes for the register or the feature.
    Data,
    /// Data out of the last read.
    Output,
    /// Rejected, unless the address is complete already or omitted.
    Early,
    /// Rejected.
    Refused,
}

/// Commands, addresses, data in and data out in each state.
#[rustfmt::skip]
const TRANSITIONS: [(State, [CycleMeaning; 4]); 5] = {
    use CycleMeaning as T;
    [
        //                  command    address     data in     data out
        (State::Rest,      [T::First,   T::Refused, T::Refused, T::Output]),
        (State::Opened,    [T::Early,   T::Byte,    T::Early,   T::Early]),
        (State::Addressed, [T::Second,  T::Refused, T::Refused, T::Refused]),
        (State::Loading,   [T::Second,  T::Refused, T::Data,    T::Refused]),
        (State::Feature,   [T::Refused, T::Refused, T::Data,    T::Refused]),
    ]
};

/// Maximum address cycles of a command: two of the column, four of the row.
const MAX_ADDRESS_CYCLES: usize = 6;

/// The address cycles so far, C1 or R1 first.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Latch {
    bytes: [u8; MAX_ADDRESS_CYCLES],
    count: usize,
}

impl Latch {
    fn column(&self) -> u32 {
        u32::from(self.bytes[0]) | u32::from(self.bytes[1]) << 8
    }

    /// The row address, in the last `cycles`.
    fn row(&self, cycles: usize) -> u32 {
        let from = self.count.saturating_sub(cycles);
        self.bytes[from..self.count].iter().rev().fold(0, |row, byte| row << 8 | u32::from(*byte))
    }
}

/// The decoder of a target: the cycles since the last command.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decoder {
    state: State,
    /// The first byte.
    first: u8,
    latch: Latch,
    /// The first byte of the program whose data are loaded (80h or 85h), and its last full address.
    program: Option<(u8, Latch)>,
    /// The first byte of the program for which planes are queued.
    queued: Option<u8>,
    /// The row of the sequence 00h, five addresses, 05h, which is the alternative form of 06h.
    output_row: Option<u32>,
    feature: [u8; 4],
    taken: usize,
    mode: Mode,
    /// Whether command sequences from before ONFI are accepted.
    compatible: bool,
    /// Cycles of a row address.
    row_cycles: usize,
}

type Steps = Result<Vec<Step>, FailureKind>;

impl Decoder {
    /// The decoder of an idle target with row addresses of `row_cycles` cycles (3 or 4). `compatible` accepts
    /// the bytes of [`LEGACY`], too.
    pub fn new(row_cycles: usize, compatible: bool) -> Self {
        Self { row_cycles, compatible, ..Self::default() }
    }

    /// The state.
    pub fn state(&self) -> State {
        self.state
    }

    /// Drops the open command.
    pub fn clear(&mut self) {
        *self = Self::new(self.row_cycles, self.compatible);
    }

    /// Decodes a command latch.
    pub fn command(&mut self, code: u8) -> Steps {
        // Resets are accepted in any state.
        if let Some(reset) =
            command::starting_with(code).find(|c| c.legal.while_busy && c.busy == command::BusyTime::Reset)
        {
            self.clear();
            return self.open(reset.first);
        }
        let mut steps = self.settle(Cycle::Command)?;
        if self.state == State::Opened {
            // A lone 00h takes effect at once, and the next byte opens a new command. A second byte is
            // rejected: it lacks its address.
            if !self.is_return_to_data()
                || (command::is_confirm_byte(code) && command::find(code, Address::Nothing, None).is_none())
            {
                return Err(self.refusal(Cycle::Command));
            }
            self.state = State::Rest;
            steps.push(Step::ReturnToData);
        }
        steps.extend(match self.taken(Cycle::Command) {
            CycleMeaning::First => self.open(code)?,
            CycleMeaning::Second => self.confirm(code)?,
            _ => return Err(self.refusal(Cycle::Command)),
        });
        Ok(steps)
    }

    /// Decodes an address latch.
    pub fn address(&mut self, byte: u8) -> Steps {
        if self.taken(Cycle::Address) != CycleMeaning::Byte {
            return Err(self.refusal(Cycle::Address));
        }
        self.latch.bytes[self.latch.count] = byte;
        self.latch.count += 1;
        if self.latch.count == self.most_addresses() { self.addressed() } else { Ok(Vec::new()) }
    }

    /// Decodes data in.
    pub fn data_in(&mut self, data: &[u8]) -> Steps {
        let mut steps = self.settle(Cycle::DataIn)?;
        if self.taken(Cycle::DataIn) != CycleMeaning::Data {
            return Err(self.refusal(Cycle::DataIn));
        }
        if self.state == State::Loading {
            steps.push(Step::Store(data.len() as u32));
            return Ok(steps);
        }
        for byte in data {
            *self.feature.get_mut(self.taken).ok_or(FailureKind::Sequence(Fault::DataSurplus))? = *byte;
            self.taken += 1;
        }
        if self.taken == self.feature.len() {
            let mut rows = command::starting_with(self.first);
            let command = rows.find(|c| c.data == Data::Four).expect("a command with four bytes was opened");
            steps.push(self.finish(command, false));
        }
        Ok(steps)
    }

    /// Decodes data out.
    pub fn data_out(&mut self) -> Steps {
        if self.is_return_to_data() {
            self.state = State::Rest;
            return Ok(vec![Step::ReturnToData]);
        }
        if self.taken(Cycle::DataOut) == CycleMeaning::Output {
            Ok(Vec::new())
        } else {
            Err(self.refusal(Cycle::DataOut))
        }
    }

    fn taken(&self, cycle: Cycle) -> CycleMeaning {
        let row = TRANSITIONS.iter().find(|(state, _)| *state == self.state).expect("every state has a row");
        row.1[cycle as usize]
    }

    /// Whether no command is open.
    pub fn has_no_command(&self) -> bool {
        self.state == State::Rest
    }

    /// Whether a prefix for the cell mode is latched without a command after it.
    pub fn is_prefixed(&self) -> bool {
        self.mode != Mode::Usual
    }

    /// Whether data in go to a register.
    pub fn is_loading(&self) -> bool {
        self.state == State::Loading || (self.state == State::Opened && self.program.is_some())
    }

    /// The edge from which data in would wait.
    pub fn data_edge(&self) -> Option<Edge> {
        match (self.first, self.state) {
            (0x85, State::Opened) if self.address_kind() == Some(Address::Column) => Some(Edge::WriteColumn),
            (0x85, State::Loading) => Some(Edge::WriteColumn),
            (_, State::Loading | State::Feature) => Some(Edge::LoadAddress),
            _ => None,
        }
    }

    /// Whether 00h was latched without an address: return to data out after a status.
    pub fn is_return_to_data(&self) -> bool {
        self.state == State::Opened && self.first == 0x00 && self.latch.count == 0
    }

    fn most_addresses(&self) -> usize {
        command::starting_with(self.first).map(|c| c.address.cycles(self.row_cycles)).max().unwrap_or(0)
    }

    /// The kind of address, if the cycles so far are complete for a command with this first byte.
    fn address_kind(&self) -> Option<Address> {
        let mut kinds = command::starting_with(self.first).map(|c| c.address);
        kinds.find(|address| address.cycles(self.row_cycles) == self.latch.count)
    }

    /// Completes the address of 85h, which has two cycles or five: only the next cycle shows that two are
    /// complete. A copyback program always has five.
    fn settle(&mut self, cycle: Cycle) -> Steps {
        if self.taken(cycle) != CycleMeaning::Early || self.is_return_to_data() {
            return Ok(Vec::new());
        }
        let shorter = self.first == 0x85 && self.address_kind() == Some(Address::Column);
        if !shorter || self.program.is_none() {
            return Err(self.refusal(cycle));
        }
        self.state = State::Loading;
        Ok(vec![Step::Column(self.latch.column())])
    }

    fn open(&mut self, found: u8) -> Steps {
        let code = self.modern(found);
        let Some(first) = command::starting_with(code).next() else {
            let known = command::is_confirm_byte(code);
            return Err(if known {
                FailureKind::Sequence(Fault::ConfirmWithoutSetUp { found: code })
            } else {
                FailureKind::UnknownCommand { code }
            });
        };
        if self.mode != Mode::Usual && !command::accepts_mode_prefix(code) {
            return Err(FailureKind::Sequence(Fault::PrefixAlone { found }));
        }
        (self.first, self.latch) = (code, Latch::default());
        (self.feature, self.taken) = ([0; 4], 0);
        match first.operation {
            Operation::SlcMode => self.mode = Mode::Slc,
            Operation::MlcMode => self.mode = Mode::Mlc,
            Operation::Reprogram => self.mode = Mode::Reprogram,
            _ if first.address == Address::Nothing => return Ok(vec![self.finish(first, false)]),
            _ => self.state = State::Opened,
        }
        Ok(Vec::new())
    }

    /// The ONFI byte for an opening byte.
    fn modern(&self, code: u8) -> u8 {
        let after = match self.queued {
            Some(0x80) => LegacyPosition::AfterQueuedProgram,
            Some(_) => LegacyPosition::AfterQueuedCopyback,
            None => return code,
        };
        self.legacy(code, after).unwrap_or(code)
    }

    fn legacy(&self, code: u8, place: LegacyPosition) -> Option<u8> {
        let row = LEGACY.iter().find(|l| self.compatible && l.found == code && l.place == place);
        row.map(|l| l.stands_for)
    }

    /// Handles a complete address.
    fn addressed(&mut self) -> Steps {
        let (column, row) = (self.latch.column(), self.latch.row(self.row_cycles));
        let kind = self.address_kind();
        let mut rows = command::starting_with(self.first).filter(|c| Some(c.address) == kind);
        let first = rows.next().expect("a command with these cycles was opened");
        let load = |operation| vec![Step::Load { operation, column, row }];
        match (self.first, self.program) {
            (0x80, _) | (0x85, None) => {
                self.program = Some((self.first, self.latch));
                self.state = State::Loading;
                return Ok(load(first.operation));
            }
            (0x85, Some((opener, _))) => {
                self.program = Some((opener, self.latch));
                self.state = State::Loading;
                return Ok(load(Operation::ChangeRowAddress));
            }
            _ => {}
        }
        if first.data == Data::Four {
            self.state = State::Feature;
            return Ok(Vec::new());
        }
        if first.second.is_none() {
            return Ok(vec![self.finish(first, false)]);
        }
        self.state = State::Addressed;
        let named = matches!(first.address, Address::Row | Address::Full);
        Ok(if named { vec![Step::Row { command: first, row }] } else { Vec::new() })
    }

    /// Handles the second byte, or another address within the data of a program.
    fn confirm(&mut self, code: u8) -> Steps {
        if let Some((first, latch)) = self.program {
            if code == 0x85 {
                (self.state, self.first, self.latch) = (State::Opened, code, Latch::default());
                return Ok(Vec::new());
            }
            let command =
                command::find(first, Address::Full, Some(code)).ok_or_else(|| wrong(first, code))?;
            self.latch = latch;
            let more = matches!(
                command.operation,
                Operation::QueueProgram | Operation::QueueCopybackProgram | Operation::NextPage
            );
            self.queued = more.then_some(first);
            return Ok(vec![self.finish(command, false)]);
        }
        if (self.first, code) == (0x00, 0x05) {
            self.output_row = Some(self.latch.row(self.row_cycles));
            (self.state, self.first, self.latch) = (State::Opened, code, Latch::default());
            return Ok(Vec::new());
        }
        if let Some(stands_for) =
            self.legacy(code, LegacyPosition::AfterEraseRow).filter(|_| self.first == 0x60)
        {
            let command = command::find(0x60, Address::Row, Some(stands_for)).expect("D1h confirms 60h");
            let mut steps = vec![self.finish(command, true)];
            steps.extend(self.open(code)?);
            return Ok(steps);
        }
        let first = self.first;
        let kind = self.address_kind();
        let command = kind.and_then(|kind| command::find(first, kind, Some(code)));
        let command = command.ok_or_else(|| wrong(first, code))?;
        Ok(vec![self.finish(command, false)])
    }

    /// Completes the command; no command is open afterwards.
    fn finish(&mut self, command: &'static Command, legacy: bool) -> Step {
        let (column, mut row) = (self.latch.column(), self.latch.row(self.row_cycles));
        let bytes = [self.latch.bytes[0], self.latch.bytes[1]];
        let mut command = command;
        if let Some(output_row) = self.output_row.take() {
            command = command::find(0x06, Address::Full, Some(0xE0)).expect("06h is in the table");
            row = output_row;
        }
        let order =
            DecodedCommand { command, column, row, bytes, feature: self.feature, mode: self.mode, legacy };
        let queued = if command.operation == Operation::Reset { None } else { self.queued };
        *self = Self { queued, ..Self::new(self.row_cycles, self.compatible) };
        Step::Do(order)
    }

    fn refusal(&self, cycle: Cycle) -> FailureKind {
        let (command, found, wanted) = (self.first, self.latch.count, self.most_addresses());
        FailureKind::Sequence(match (self.state, cycle) {
            (State::Opened, _) => Fault::AddressMissing { command, found, wanted },
            (State::Feature, Cycle::Command) => Fault::DataMissing { found: self.taken },
            (State::Rest, Cycle::Address) => Fault::AddressWithoutCommand,
            (_, Cycle::Address) => Fault::AddressSurplus { command, wanted },
            (_, Cycle::DataOut) => Fault::OutputInSequence { command },
            _ => Fault::DataWithoutProgram,
        })
    }
}

fn wrong(command: u8, found: u8) -> FailureKind {
    FailureKind::Sequence(Fault::WrongConfirm { command, found })
}
