//! Recorded operations that no request equals: those that are left out, and those that become another operation.
//! Each is counted and named in a note, so that no event is dropped or changed in silence.

use wordline_kernel::grouped;

use super::Op;
use super::input::ParseError;
use super::options::Action;

/// A recorded operation without an equal among [`Op`], or one of zones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordedOp {
    /// `ZA`: a write to the write pointer of a zone; becomes a write.
    ZoneAppend,
    /// `DE`: becomes a discard.
    SecureErase,
    /// `ZR`.
    ZoneReset,
    /// `ZRA`: a reset of all zones of a device.
    ZoneResetAll,
    /// `ZF`.
    ZoneFinish,
    /// `ZO`.
    ZoneOpen,
    /// `ZC`.
    ZoneClose,
    /// A command that bypasses the block layer's operations, such as a SCSI probe.
    Passthrough,
    /// `N`: the kernel had no letters for the operation. In ftrace, kernels before 6.17 write it for zone commands, and
    /// kernels before 6.19 for write zeroes (`blk_fill_rwbs` in kernel/trace/blktrace.c).
    NoLetters,
    /// Letters that no kernel up to 6.19 writes, or a field for the operation that is empty.
    Unknown,
    /// Deallocations of NVMe, whose ranges are not in the event.
    Deallocate,
    /// An event without a range, and without a flush.
    NoData,
    /// A request of an operation that the option `columns` leaves out.
    Unwanted,
}

impl RecordedOp {
    /// Every one, in the order of their numbers.
    pub(super) const ALL: [Self; 13] = [
        Self::ZoneAppend,
        Self::SecureErase,
        Self::ZoneReset,
        Self::ZoneResetAll,
        Self::ZoneFinish,
        Self::ZoneOpen,
        Self::ZoneClose,
        Self::Passthrough,
        Self::NoLetters,
        Self::Unknown,
        Self::Deallocate,
        Self::NoData,
        Self::Unwanted,
    ];

    /// The operation of zones, in a trace whose [zone operations](super::Zones) are kept.
    pub(super) const fn of_zones(self) -> Option<Op> {
        match self {
            Self::ZoneAppend => Some(Op::ZoneAppend),
            Self::ZoneReset => Some(Op::ZoneReset),
            Self::ZoneFinish => Some(Op::ZoneFinish),
            Self::ZoneOpen => Some(Op::ZoneOpen),
            Self::ZoneClose => Some(Op::ZoneClose),
            _ => None,
        }
    }

    /// First byte of an event that is left out: of its zone for an operation of zones, else 0.
    pub(super) fn offset(self, of_zone: impl FnOnce() -> Result<u64, ParseError>) -> Result<u64, ParseError> {
        if self.of_zones().is_some() { of_zone() } else { Ok(0) }
    }

    /// Whether a request takes its place.
    pub(super) const fn is_simulated(self) -> bool {
        matches!(self, Self::ZoneAppend | Self::SecureErase)
    }

    /// Name of one and of several.
    const fn names(self) -> [&'static str; 2] {
        match self {
            Self::ZoneAppend => ["zone append", "zone appends"],
            Self::SecureErase => ["secure erase", "secure erases"],
            Self::ZoneReset => ["zone reset", "zone resets"],
            Self::ZoneResetAll => ["reset of all zones", "resets of all zones"],
            Self::ZoneFinish => ["zone finish", "zone finishes"],
            Self::ZoneOpen => ["zone open", "zone opens"],
            Self::ZoneClose => ["zone close", "zone closes"],
            Self::Passthrough => ["passthrough command", "passthrough commands"],
            Self::NoLetters => [
                "request of an operation without letters (N)",
                "requests of an operation without letters (N)",
            ],
            Self::Unknown => ["request of an unknown operation", "requests of an unknown operation"],
            Self::Deallocate => ["deallocation without its ranges", "deallocations without their ranges"],
            Self::NoData => ["request without data", "requests without data"],
            Self::Unwanted => {
                ["request that the option columns leaves out", "requests that the option columns leaves out"]
            }
        }
    }
}

/// Kinds of events, and events of formats that have no kinds.
const KINDS: usize = Action::ALL.len() + 1;

/// Counts of recorded operations, by the kind of their event.
#[derive(Default)]
pub(super) struct RecordedCounts([[u64; KINDS]; RecordedOp::ALL.len()]);

impl RecordedCounts {
    /// Counts an event.
    pub(super) fn add(&mut self, op: RecordedOp, event: Option<Action>) {
        self.0[op as usize][event.map_or(KINDS - 1, |kind| kind as usize)] += 1;
    }

    /// Number of requests of an operation. A request has an event of each kind at most, so events of the kind that
    /// gives the times of the trace are counted. Some operations have no event of this kind.
    fn requests(&self, op: RecordedOp, taken: Option<Action>) -> u64 {
        let kinds = self.0[op as usize];
        let of_taken = taken.map_or(0, |kind| kinds[kind as usize]);
        if of_taken > 0 { of_taken } else { kinds.into_iter().max().unwrap_or(0) }
    }

    fn count(&self, op: RecordedOp, taken: Option<Action>) -> Option<String> {
        let number = self.requests(op, taken);
        let [one, several] = op.names();
        (number > 0)
            .then(|| format!("{} {}", grouped(&number.to_string()), if number == 1 { one } else { several }))
    }

    /// Names what was left out, such as `412 zone resets, 3 passthrough commands`; `None` if nothing was.
    pub(super) fn left_out(&self, taken: Option<Action>) -> Option<String> {
        let ops = RecordedOp::ALL.into_iter().filter(|op| !op.is_simulated());
        let counts: Vec<String> = ops.filter_map(|op| self.count(op, taken)).collect();
        (!counts.is_empty()).then(|| counts.join(", "))
    }

    /// Notes for the user on what was left out and on what became another operation.
    pub(super) fn notes(&self, taken: Option<Action>) -> Vec<String> {
        let appends = self.count(RecordedOp::ZoneAppend, taken).map(|count| {
            let address = match taken {
                Some(Action::Complete) => "the address at which the device wrote the data",
                None => "the recorded address",
                _ => "the recorded address, the start of the zone (option action=complete: at which the device wrote)",
            };
            format!("{count} simulated as writes at {address}")
        });
        let erases =
            self.count(RecordedOp::SecureErase, taken).map(|count| format!("{count} simulated as discards"));
        let left_out = self.left_out(taken).map(|counts| format!("not simulated, left out: {counts}"));
        appends.into_iter().chain(erases).chain(left_out).collect()
    }
}
