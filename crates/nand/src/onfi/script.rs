//! Scripts: cycles on the pins as text, with expected results.
//!
//! [`Script::parse`] parses a text or collects all complaints about it. [`Script::run`] drives a [`Bus`] and
//! returns a [`Transcript`] with one entry for each statement. `docs/nand-scripts.md` describes the grammar.

mod expect;
mod parse;
mod run;
#[cfg(test)]
mod tests;
mod transcript;
mod words;

use wordline_kernel::{Complaints, Duration, Seed};

pub use self::expect::{STATES, State, StatusWanted, Wanted, rule};
pub use self::transcript::{Entry, Mismatch, Transcript};
use super::{Bus, BusOptions, LunOptions, Pace, Row, RowAddressing, Wiring};
use crate::Part;
use crate::interface::Parameter;

/// A parsed script.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// The setup of the bus before the first cycle.
    pub setup: Setup,
    /// The statements in their order.
    pub statements: Vec<Statement>,
}

/// The bus configuration of a script.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Setup {
    /// The part on the bus; the caller chooses one if the script names none.
    pub part: Option<String>,
    /// Targets, volumes and LUNs.
    pub wiring: Wiring,
    /// The treatment of exceeded reliability limits, and injected program and erase failures.
    pub lun: LunOptions,
    /// Whether command sequences from before ONFI are accepted.
    pub compatible: bool,
    /// Whether early cycles are rejected; otherwise the bus waits until the rules allow them.
    pub exact: bool,
    /// Whether targets begin in SDR mode 0, as after power-on. Otherwise the host has configured the
    /// interface of the part's file.
    pub power_on: bool,
}

/// A statement: one line with an action.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// Line number, from 1.
    pub line: u32,
    /// The line without its comment.
    pub text: String,
    /// Begin time, if specified.
    pub begin: Option<Begin>,
    /// Action of the statement.
    pub action: Action,
}

/// The begin time of a statement. If its first cycle is too early at this time, it is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// Relative to the end of the last cycle or wait.
    After(Duration),
    /// Relative to the beginning of the run.
    At(Duration),
}

/// The action of a statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Selects a chip enable.
    Select(u32),
    /// Latches a command.
    Command(u8),
    /// Latches an address.
    Address(Address),
    /// Transfers data in.
    In(Data),
    /// Transfers this many bytes out, with the expected bytes.
    Out(u32, Option<Wanted>),
    /// Reads the status of the selected LUN (70h), or of the plane of a row (78h).
    Status(Option<Row>, Option<StatusWanted>),
    /// Advances the time.
    Wait(Duration),
    /// Waits until R/B# is high, or until all arrays of the target are idle, with the expected time.
    WaitReady {
        /// Whether to wait for the arrays (ARDY), too.
        array: bool,
        /// Expected time from the end of the last cycle.
        expect: Option<Duration>,
    },
    /// Sets or resets a time of the host within a cycle.
    Host(Parameter, Option<Duration>),
    /// Drives the write-protect pin.
    Protect(bool),
    /// Expects R/B# to be high or low.
    ExpectReady(bool),
    /// Expects the next statement to be rejected with this reason.
    ExpectFailure(String),
    /// 00h, address, a second byte, and the wait for R/B#.
    Read(PageByte, u8),
    /// 80h, address, data, a second byte, and the wait for R/B#.
    Program(PageByte, Data, u8),
    /// 60h, row, a second byte, and the wait for R/B#.
    Erase(Row, u8),
    /// Repeats statements this many times.
    Repeat(u32, Vec<Statement>),
}

/// Address cycles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// These bytes.
    Bytes(Vec<u8>),
    /// C1 C2.
    Column(u32),
    /// R1 R2 R3 (and R4 if three cannot address all rows of the part).
    Row(Row),
    /// C1 C2 and the row.
    Full(PageByte),
}

/// The address of a byte of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageByte {
    /// The page.
    pub row: Row,
    /// The byte.
    pub column: u32,
}

/// Data in a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Data {
    /// Literal bytes.
    Bytes(Vec<u8>),
    /// The same byte this many times.
    Fill(u32, u8),
    /// This many random bytes from the seed.
    Random(u32, u64),
}

impl Data {
    /// The bytes.
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Bytes(bytes) => bytes.clone(),
            Self::Fill(count, byte) => vec![*byte; *count as usize],
            Self::Random(count, seed) => random(*count, *seed),
        }
    }
}

/// `count` random bytes from `seed`. A shorter sequence is a prefix of a longer one.
fn random(count: u32, seed: u64) -> Vec<u8> {
    let mut stream = Seed(seed).stream("data of scripts", 0);
    let words = (0..count.div_ceil(8)).flat_map(|_| stream.bits().to_le_bytes());
    words.take(count as usize).collect()
}

impl Script {
    /// Parses a script; complaints have `name` and the line number as key.
    ///
    /// # Errors
    /// A complaint for every invalid line.
    pub fn parse(name: &str, text: &str) -> Result<Self, Complaints> {
        parse::parse(name, text)
    }

    /// The bus of the script, with LUNs of `part`.
    ///
    /// # Errors
    /// Complaints about the wiring, and about rows that the address cycles cannot express; `name` as
    /// for [`Self::parse`].
    pub fn bus(&self, name: &str, part: &Part) -> Result<Bus, Complaints> {
        let setup = &self.setup;
        let pace = if setup.exact { Pace::Exact } else { Pace::Earliest };
        let Setup { compatible, power_on, .. } = *setup;
        let options = BusOptions { pace, compatible, power_on, lun: setup.lun.clone() };
        let bus = Bus::new(part, setup.wiring, options).map_err(|wrong| {
            let mut all = Complaints::default();
            all.nest(&format!("{name}: wiring"), wrong);
            all
        })?;
        let mut wrong = Complaints::default();
        let addressing = RowAddressing::of(part, setup.wiring.luns);
        check_rows(&self.statements, &addressing, name, &mut wrong);
        wrong.into_result(bus)
    }

    /// Runs the script on `bus`, up to the first unexpected rejection of a cycle, and waits until the arrays
    /// are idle.
    pub fn run(&self, bus: &mut Bus) -> Transcript {
        run::run(self, bus)
    }
}

/// Checks that the components of row addresses fit their bits.
fn check_rows(statements: &[Statement], addressing: &RowAddressing, name: &str, wrong: &mut Complaints) {
    for Statement { line, action, .. } in statements {
        let row = match action {
            Action::Repeat(_, body) => {
                check_rows(body, addressing, name, wrong);
                continue;
            }
            Action::Status(Some(row), _) | Action::Erase(row, _) | Action::Address(Address::Row(row)) => *row,
            Action::Read(place, _) | Action::Program(place, _, _) | Action::Address(Address::Full(place)) => {
                place.row
            }
            _ => continue,
        };
        if let Some((field, found, most)) = addressing.find_overflow(row) {
            wrong.add(
                format!("{name}:{line}: {field}"),
                found,
                format!("at most {most}, as far as its bits of the row address go"),
            );
        }
    }
}
