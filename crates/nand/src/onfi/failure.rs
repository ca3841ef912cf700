//! Rejected cycles: the violated rule, the cycle, and its time.

use std::fmt;

use wordline_kernel::{Duration, Instant};

use super::Limit;
use super::rules::Rule;
use crate::DieId;
use crate::interface::Parameter;

/// The rejection of a cycle.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// The violated rule.
    pub kind: FailureKind,
    /// The number of the cycle on the bus, from 1.
    pub cycle: u64,
    /// The time at which it would have begun.
    pub at: Instant,
}

/// The rule that a cycle violated.
#[derive(Clone, Debug, PartialEq)]
pub enum FailureKind {
    /// No command begins with this byte.
    UnknownCommand {
        /// The byte.
        code: u8,
    },
    /// The cycle is not allowed after the previous ones.
    Sequence(Fault),
    /// A LUN that the cycle addresses is busy.
    Busy {
        /// Name of the command, or of the requested data.
        what: &'static str,
        /// The LUN.
        die: DieId,
        /// The time from which it accepts the command.
        until: Instant,
    },
    /// An address that the part does not have.
    Address {
        /// The component of the address.
        what: &'static str,
        /// Value of the component.
        found: u32,
        /// Exclusive upper bound.
        below: u32,
    },
    /// The cycle came too early after an earlier one.
    Timing {
        /// The rule.
        rule: &'static Rule,
        /// The earliest time of the cycle.
        earliest: Instant,
    },
    /// A time of the host within the cycle is too short.
    Within {
        /// The parameter.
        parameter: Parameter,
        /// The host's time.
        found: Duration,
        /// The minimum of the interface.
        least: Duration,
    },
    /// A limit of the part.
    Limit(Limit),
    /// The part has no such feature.
    Unsupported {
        /// The request, and the features that the part has.
        what: String,
    },
    /// The target rejected an earlier cycle, and accepts only status commands and resets.
    AwaitingReset,
}

/// The reason why a cycle is not allowed after the previous ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An address cycle that no command takes.
    AddressWithoutCommand,
    /// The command needs more address cycles.
    AddressMissing {
        /// The command's first byte.
        command: u8,
        /// Cycles so far.
        found: usize,
        /// Cycles that it takes.
        wanted: usize,
    },
    /// The command has all its address cycles.
    AddressSurplus {
        /// The command's first byte.
        command: u8,
        /// Cycles that it takes.
        wanted: usize,
    },
    /// Data in without 80h or 85h and an address.
    DataWithoutProgram,
    /// A command within the four bytes of a feature.
    DataMissing {
        /// Bytes so far.
        found: usize,
    },
    /// More than the four bytes of a feature.
    DataSurplus,
    /// Data out within the cycles of a command.
    OutputInSequence {
        /// The command's first byte.
        command: u8,
    },
    /// Data out, but nothing was read.
    OutputOfNothing,
    /// A second byte without its first byte.
    ConfirmWithoutSetUp {
        /// The byte.
        found: u8,
    },
    /// A byte that may not follow the first byte.
    WrongConfirm {
        /// The command's first byte.
        command: u8,
        /// The byte.
        found: u8,
    },
    /// A prefix must be followed by 00h, 60h, 80h or 85h.
    PrefixAlone {
        /// The byte.
        found: u8,
    },
    /// 31h or 00h-31h without a sensed page.
    CacheReadWithoutRead,
    /// 3Fh without a cache read in progress.
    CacheReadNotBegun,
    /// 85h without a preceding 00h-35h in the plane.
    CopybackWithoutRead {
        /// The plane.
        plane: u32,
    },
    /// 85h within a program changes the row to another LUN.
    OtherLun {
        /// The LUN.
        found: u32,
        /// The LUN of the program.
        wanted: u32,
    },
    /// Planes are queued for one operation, and this is another.
    QueueBroken {
        /// The operation of the queue.
        queued: &'static str,
    },
    /// A program suspend during an erase, or an erase suspend during another operation.
    OtherSuspended {
        /// The operation of the LUN.
        working: &'static str,
    },
    /// Several LUNs have worked concurrently, and no 78h (or 06h-E0h, for data) has selected one of them
    /// since.
    LunNotSelected,
    /// Several planes were read together, and no 06h-E0h has selected one of them since.
    PlaneNotSelected,
    /// A command before the first reset (FFh) after power-on.
    BeforeReset,
    /// An odd number of data bytes, or an odd column, on an interface that transfers two bytes per strobe
    /// cycle.
    Odd {
        /// The kind of number.
        what: &'static str,
        /// Value of the number.
        found: u32,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AddressWithoutCommand => {
                out.write_str("found an address cycle, wanted a command before it")
            }
            Self::AddressMissing { command, found, wanted } => {
                write!(out, "found {found} address cycles after {command:02X}h, wanted {wanted}")
            }
            Self::AddressSurplus { command, wanted } => {
                write!(out, "found one address cycle too many after {command:02X}h, wanted {wanted}")
            }
            Self::DataWithoutProgram => {
                out.write_str("found data in, wanted 80h or 85h and an address before them")
            }
            Self::DataMissing { found } => {
                write!(out, "found a command after {found} bytes of a feature, wanted 4")
            }
            Self::DataSurplus => out.write_str("found more data than the bytes of a feature, wanted 4"),
            Self::OutputInSequence { command } => {
                write!(out, "found data out within the cycles of {command:02X}h, wanted the rest of them")
            }
            Self::OutputOfNothing => {
                out.write_str("found data out, wanted a command before that reads something")
            }
            Self::ConfirmWithoutSetUp { found } => {
                write!(
                    out,
                    "found {found:02X}h, wanted the command and the address that it confirms before it"
                )
            }
            Self::WrongConfirm { command, found } => {
                write!(
                    out,
                    "found {found:02X}h, wanted a byte that may follow {command:02X}h and its address"
                )
            }
            Self::PrefixAlone { found } => {
                write!(out, "found {found:02X}h after a prefix, wanted 00h, 60h, 80h or 85h")
            }
            Self::CacheReadWithoutRead => {
                out.write_str("found 31h, wanted 00h-30h or another 31h to have sensed a page before")
            }
            Self::CacheReadNotBegun => out.write_str("found 3Fh, wanted a cache read (31h) in progress"),
            Self::CopybackWithoutRead { plane } => {
                write!(out, "found 85h to plane {plane}, wanted 00h-35h in that plane before")
            }
            Self::OtherLun { found, wanted } => {
                write!(
                    out,
                    "found a row of LUN {found} after 85h, wanted LUN {wanted}, which is being programmed"
                )
            }
            Self::QueueBroken { queued } => {
                write!(out, "found another operation, wanted the next plane of {queued}")
            }
            Self::OtherSuspended { working } => {
                write!(out, "found a suspend of another operation, wanted that of {working}")
            }
            Self::LunNotSelected => out.write_str(
                "found a read without a LUN after several have worked at once, wanted 78h to select one",
            ),
            Self::PlaneNotSelected => out.write_str(
                "found data out after several planes were read at once, wanted 06h-E0h to select one",
            ),
            Self::BeforeReset => out.write_str("found a cycle before the first reset, wanted FFh"),
            Self::Odd { what, found } => {
                write!(out, "found {what} {found}, wanted an even number on this interface")
            }
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "cycle {} at {}: ", self.cycle, self.at.since(Instant::ZERO))?;
        let time = |t: &Instant| t.since(Instant::ZERO);
        match &self.kind {
            FailureKind::UnknownCommand { code } => {
                write!(out, "command: found {code:02X}h, wanted the first byte of a command")
            }
            FailureKind::Sequence(fault) => write!(out, "sequence: {fault}"),
            FailureKind::Busy { what, die, until } => {
                write!(
                    out,
                    "busy: found {what} while LUN {} is busy, wanted it at {} or later",
                    die.0,
                    time(until)
                )
            }
            FailureKind::Address { what, found, below } => {
                write!(out, "address: found {what} {found}, wanted less than {below}")
            }
            FailureKind::Timing { rule, earliest } => {
                write!(
                    out,
                    "{}: found the cycle at {}, wanted {} or later",
                    rule.name(),
                    time(&self.at),
                    time(earliest)
                )
            }
            FailureKind::Within { parameter, found, least } => {
                write!(out, "{}: found {found}, wanted at least {least}", parameter.symbol())
            }
            FailureKind::Limit(limit) => write!(out, "limit: {limit}"),
            FailureKind::Unsupported { what } => write!(out, "part: {what}"),
            FailureKind::AwaitingReset => {
                out.write_str("sequence: found a cycle after a refused one, wanted FFh, FCh or FAh first")
            }
        }
    }
}

impl std::error::Error for Failure {}
