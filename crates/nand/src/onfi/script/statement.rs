//! A parsed script: its setup and its statements.

use wordline_kernel::Duration;

use super::data::Data;
use super::expect::{StatusWanted, Wanted};
use crate::interface::Parameter;
use crate::onfi::{LunOptions, Row, Wiring};

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
