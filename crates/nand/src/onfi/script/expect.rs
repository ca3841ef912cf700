//! Expectations of a script: data, a status, or the reason of a rejection, by name.

use super::data::Data;
use super::transcript::{Mismatch, hex};
use crate::onfi::crc;
use crate::onfi::status::Status;
use crate::onfi::{Failure, FailureKind, Fault};

/// The expected data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Exactly these data.
    Data(Data),
    /// Any data except these.
    Not(Data),
    /// Copies of one parameter page, each with a correct CRC.
    Crc,
}

impl Wanted {
    /// The difference between `data` and the expectation, if there is one.
    pub fn check(&self, data: &[u8]) -> Option<Mismatch> {
        match self {
            Self::Data(wanted) => differ(&wanted.bytes(), data),
            Self::Not(other) if other.bytes() != data => None,
            Self::Not(_) => Some(Mismatch::new("other data than these", "exactly these")),
            Self::Crc => damaged(data),
        }
    }
}

/// Maximum bytes shown: as many as fit a line of a terminal.
const SHOWN: usize = 8;

fn differ(wanted: &[u8], found: &[u8]) -> Option<Mismatch> {
    if wanted.len() != found.len() {
        return Some(Mismatch::new(format!("{} bytes", wanted.len()), format!("{} bytes", found.len())));
    }
    let first = wanted.iter().zip(found).position(|(wanted, found)| wanted != found)?;
    let end = wanted.len().min(first + SHOWN);
    let more = if end < wanted.len() { " .." } else { "" };
    let show = |bytes: &[u8]| format!("{}{more} at byte {first}", hex(&bytes[first..end]));
    Some(Mismatch::new(show(wanted), show(found)))
}

/// Bytes of a parameter page, and bytes covered by its CRC (ONFI, byte 254).
const PAGE: usize = 256;
const COVERED: usize = 254;

fn damaged(data: &[u8]) -> Option<Mismatch> {
    if data.is_empty() || !data.len().is_multiple_of(PAGE) {
        return Some(Mismatch::new("copies of 256 bytes", format!("{} bytes", data.len())));
    }
    let copies = || data.chunks_exact(PAGE).enumerate();
    for (n, copy) in copies() {
        let (wanted, found) = (crc::crc16(&copy[..COVERED]).to_le_bytes(), &copy[COVERED..]);
        if wanted != found {
            let place = format!("in copy {}", n + 1);
            return Some(Mismatch::new(
                format!("CRC {} {place}", hex(&wanted)),
                format!("{} {place}", hex(found)),
            ));
        }
    }
    let other = copies().find(|(_, copy)| *copy != &data[..PAGE])?.0;
    Some(Mismatch::new("equal copies", format!("copy {} unlike the first", other + 1)))
}

/// The expected status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatusWanted {
    /// This byte.
    Byte(u8),
    /// These states, by their words in [`STATES`].
    States(Vec<&'static State>),
}

/// A status bit, and the word for one of its values in scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// The word.
    pub word: &'static str,
    /// The bit.
    pub bit: Status,
    /// Whether the bit is set.
    pub set: bool,
}

const fn state(word: &'static str, bit: Status, set: bool) -> State {
    State { word, bit, set }
}

/// All words for states.
pub static STATES: [State; 10] = [
    state("ready", Status::READY, true),
    state("busy", Status::READY, false),
    state("array-ready", Status::ARRAY_READY, true),
    state("array-busy", Status::ARRAY_READY, false),
    state("pass", Status::FAIL, false),
    state("fail", Status::FAIL, true),
    state("pass-before", Status::FAIL_BEFORE, false),
    state("fail-before", Status::FAIL_BEFORE, true),
    state("unprotected", Status::UNPROTECTED, true),
    state("protected", Status::UNPROTECTED, false),
];

impl StatusWanted {
    /// The difference between `found` and the expectation, if there is one.
    pub fn check(&self, found: Status) -> Option<Mismatch> {
        match self {
            Self::Byte(byte) if *byte == found.0 => None,
            Self::Byte(byte) => Some(Mismatch::new(Status(*byte), found)),
            Self::States(states) => {
                let wrong = states.iter().find(|state| found.has(state.bit) != state.set)?;
                Some(Mismatch::new(wrong.word, found))
            }
        }
    }
}

/// The name of a rejection in scripts: the symbol of a wait (`tADL`), the name of a limit, or the name of the
/// error.
pub fn rule(failure: &Failure) -> &str {
    match &failure.kind {
        FailureKind::Timing { rule, .. } => rule.name(),
        FailureKind::Within { parameter, .. } => parameter.symbol(),
        FailureKind::Limit(limit) => limit.name(),
        FailureKind::UnknownCommand { .. } => "unknown-command",
        FailureKind::Busy { .. } => "busy",
        FailureKind::Address { .. } => "address",
        FailureKind::Unsupported { .. } => "unsupported",
        FailureKind::AwaitingReset => "awaiting-reset",
        FailureKind::Sequence(fault) => match fault {
            Fault::AddressWithoutCommand => "address-without-command",
            Fault::AddressMissing { .. } => "address-missing",
            Fault::AddressSurplus { .. } => "address-surplus",
            Fault::DataWithoutProgram => "data-without-program",
            Fault::DataMissing { .. } => "data-missing",
            Fault::DataSurplus => "data-surplus",
            Fault::OutputInSequence { .. } => "output-in-sequence",
            Fault::OutputOfNothing => "output-of-nothing",
            Fault::ConfirmWithoutSetUp { .. } => "confirm-without-set-up",
            Fault::WrongConfirm { .. } => "wrong-confirm",
            Fault::PrefixAlone { .. } => "prefix-alone",
            Fault::CacheReadWithoutRead => "cache-read-without-read",
            Fault::CacheReadNotBegun => "cache-read-not-begun",
            Fault::CopybackWithoutRead { .. } => "copyback-without-read",
            Fault::QueueBroken { .. } => "queue-broken",
            Fault::OtherLun { .. } => "other-lun",
            Fault::OtherSuspended { .. } => "other-suspended",
            Fault::LunNotSelected => "lun-not-selected",
            Fault::PlaneNotSelected => "plane-not-selected",
            Fault::BeforeReset => "before-reset",
            Fault::Odd { .. } => "odd",
        },
    }
}
