//! Scripts: cycles on the pins as a text that people read and write, with what they should give.
//!
//! [`Script::parse`] reads a text or collects every complaint about it, [`Script::run`] drives a [`Bus`] and writes a
//! [`Transcript`], with one entry a statement. The grammar is described in `docs/nand-scripts.md`.

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

/// A script that was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// The setup of the bus before the first cycle.
    pub setup: Setup,
    /// The statements in their order.
    pub statements: Vec<Statement>,
}

/// The bus that a script asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Setup {
    /// The part on the bus; the caller decides when the script names none.
    pub part: Option<String>,
    /// Targets, volumes and LUNs.
    pub wiring: Wiring,
    /// The treatment of broken limits of reliability, and the programs and erases that fail.
    pub lun: LunOptions,
    /// Whether spellings from before ONFI are taken.
    pub compatible: bool,
    /// Whether cycles that come too early are refused; else the bus waits until the rules allow them.
    pub exact: bool,
    /// Whether targets begin in SDR mode 0, as after power-on; else a host has set up the interface of the part's file.
    pub power_on: bool,
}

/// One line that does something.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// Its line, the first being 1.
    pub line: u32,
    /// The line without its comment.
    pub text: String,
    /// When it begins, where the script says so.
    pub begin: Option<Begin>,
    /// Its action.
    pub action: Action,
}

/// An instant at which a statement begins: its first cycle is then refused if that is too early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// So long after the end of the last cycle or wait.
    After(Duration),
    /// So long after the beginning of the run.
    At(Duration),
}

/// The action of a statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Lets a chip enable fall.
    Select(u32),
    /// Latches a command.
    Command(u8),
    /// Latches an address.
    Address(Address),
    /// Puts data in.
    In(Data),
    /// Takes this many bytes out, which should be these.
    Out(u32, Option<Wanted>),
    /// Reads the status of the selected LUN (70h), or of the plane of a row (78h).
    Status(Option<Row>, Option<StatusWanted>),
    /// Lets time pass.
    Wait(Duration),
    /// Waits until R/B# is high, or until all arrays of the target rest, and that should take so long.
    WaitReady {
        /// Whether for the arrays (ARDY) too.
        array: bool,
        /// From the end of the last cycle.
        expect: Option<Duration>,
    },
    /// Sets a time of the host within a cycle, or takes it back.
    Host(Parameter, Option<Duration>),
    /// Drives the write-protect pin.
    Protect(bool),
    /// R/B# should be high, or low.
    ExpectReady(bool),
    /// The next statement should be refused, for this reason.
    ExpectFailure(String),
    /// 00h, address, a second byte, and the wait for R/B#.
    Read(Place, u8),
    /// 80h, address, data, a second byte, and the wait for R/B#.
    Program(Place, Data, u8),
    /// 60h, row, a second byte, and the wait for R/B#.
    Erase(Row, u8),
    /// The same statements this many times.
    Repeat(u32, Vec<Statement>),
}

/// Address cycles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// These bytes.
    Bytes(Vec<u8>),
    /// C1 C2.
    Column(u32),
    /// R1 R2 R3 (R4 where a part has more rows than three can name).
    Row(Row),
    /// C1 C2 and those of the row.
    Full(Place),
}

/// A byte of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The page.
    pub row: Row,
    /// The byte.
    pub column: u32,
}

/// Bytes that a script names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Data {
    /// Each of them.
    Bytes(Vec<u8>),
    /// The same byte this many times.
    Fill(u32, u8),
    /// This many random bytes, which follow from the seed.
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

/// `count` bytes that follow from `seed`; fewer of them are the first of more.
fn random(count: u32, seed: u64) -> Vec<u8> {
    let mut stream = Seed(seed).stream("data of scripts", 0);
    let words = (0..count.div_ceil(8)).flat_map(|_| stream.bits().to_le_bytes());
    words.take(count as usize).collect()
}

impl Script {
    /// Reads a script; `name` is what complaints call it, before the number of a line.
    ///
    /// # Errors
    /// Every line that cannot be read: what was found there and what was wanted.
    pub fn parse(name: &str, text: &str) -> Result<Self, Complaints> {
        parse::parse(name, text)
    }

    /// The bus that the script asks for, with LUNs of `part`.
    ///
    /// # Errors
    /// The errors of the wiring, and rows and columns that address cycles cannot name; `name` as for
    /// [`Self::parse`].
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
        wrong.or_ok(bus)
    }

    /// Does what the script says on `bus`, up to the first cycle that is refused against its expectation, and lets the
    /// arrays come to rest.
    pub fn run(&self, bus: &mut Bus) -> Transcript {
        run::run(self, bus)
    }
}

/// Complains about rows whose numbers reach into each other's bits.
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
        if let Some((field, found, most)) = addressing.too_wide(row) {
            wrong.add(
                format!("{name}:{line}: {field}"),
                found,
                format!("at most {most}, as far as its bits of the row address go"),
            );
        }
    }
}
