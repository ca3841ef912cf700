//! The RWBS letters of the Linux block layer: operation and flags of a request (`blk_fill_rwbs` in
//! kernel/trace/blktrace.c of Linux 6.19, and `fill_rwbs` in blkparse_fmt.c of blktrace).

use super::super::Op;
use super::super::field::parse_bytes;
use super::super::formats::Units;
use super::super::input::ParseError;
use super::super::options::Action;
use super::super::recorded::RecordedOp;
use super::super::row::Row;

/// Letters of each operation, the request that it becomes, and the recorded operation if they differ. Letters that
/// begin with other letters of the table come first.
const OPERATIONS: [(&str, Option<Op>, Option<RecordedOp>); 13] = [
    ("ZRA", None, Some(RecordedOp::ZoneResetAll)),
    ("ZR", None, Some(RecordedOp::ZoneReset)),
    ("ZA", Some(Op::Write), Some(RecordedOp::ZoneAppend)),
    ("ZF", None, Some(RecordedOp::ZoneFinish)),
    ("ZO", None, Some(RecordedOp::ZoneOpen)),
    ("ZC", None, Some(RecordedOp::ZoneClose)),
    ("WZ", Some(Op::WriteZeroes), None),
    ("DE", Some(Op::Discard), Some(RecordedOp::SecureErase)),
    ("R", Some(Op::Read), None),
    ("W", Some(Op::Write), None),
    ("D", Some(Op::Discard), None),
    // Kernels before 4.8 (`REQ_SECURE`) may have a secure erase alone.
    ("E", Some(Op::Discard), Some(RecordedOp::SecureErase)),
    ("N", None, Some(RecordedOp::NoLetters)),
];

/// Letters of flags after those of the operation: FUA, read-ahead, synchronous, metadata, atomic, and the barrier of
/// kernels before 2.6.37.
const FLAGS: &str = "FASMUB";

/// The letters of a request, parsed.
#[derive(Clone, Copy)]
pub(super) struct Rwbs {
    /// The request; `None` if it is not simulated.
    op: Option<Op>,
    /// The operation as recorded, if no request equals it.
    recorded: Option<RecordedOp>,
    /// An F before the operation, or a B after it.
    pub(super) preflush: bool,
    fua: bool,
}

impl Rwbs {
    /// Parses letters such as `WS`, `FWFS` or `RA`. F before the operation is a flush before it, or the flush itself
    /// if no operation follows (`F`, `FF`, `FS`, and blkparse's `FN`). F after the operation is forced unit access.
    pub(super) fn parse(text: &str) -> Self {
        let before = text.strip_prefix('F');
        let rest = before.unwrap_or(text);
        let found = OPERATIONS.iter().find_map(|(letters, op, recorded)| {
            rest.strip_prefix(letters).map(|flags| (*op, *recorded, flags))
        });
        let flush = (Some(Op::Flush), None, "");
        let (op, recorded, flags) = match (before, found) {
            (Some(_), None | Some((None, Some(RecordedOp::NoLetters), _))) if has_only_flags(rest) => flush,
            (_, Some(found)) if has_only_flags(found.2) => found,
            _ => (None, Some(RecordedOp::Unknown), ""),
        };
        let barrier = flags.contains('B');
        Self { op, recorded, preflush: before.is_some() || barrier, fua: flags.contains('F') || barrier }
    }

    /// Returns the recorded operation if it is not simulated.
    pub(super) fn left_out(&self) -> Option<RecordedOp> {
        self.recorded.filter(|_| self.op.is_none())
    }

    /// Builds the event of a request with these letters, from (sector, count) as text.
    pub(super) fn event(
        &self,
        time: i128,
        kind: Action,
        device: u32,
        (sector, count): (&str, &str),
        units: Units,
    ) -> Result<Row, ParseError> {
        let Some(op) = self.op else {
            let recorded = self.recorded.unwrap_or(RecordedOp::Unknown);
            let offset = recorded.offset(|| parse_bytes(sector, units.address, "sector"))?;
            return Ok(Row { offset, ..Row::left_out(time, recorded, device, Some(kind)) });
        };
        let (sector, size) = match op {
            Op::Flush => ("0", 0),
            _ => (sector, parse_bytes(count, units.size, "size")?),
        };
        // The address of an event without data has no meaning, and sometimes has all bits set.
        let offset = if size == 0 { 0 } else { parse_bytes(sector, units.address, "sector")? };
        let row = Row::new(time, op, device, offset, size)?;
        let fua = self.fua && matches!(op, Op::Write | Op::WriteZeroes);
        Ok(Row { event: Some(kind), preflush: self.preflush, fua, recorded: self.recorded, ..row })
    }
}

/// Whether these are letters of flags, after the N that blkparse writes for a request without data.
fn has_only_flags(letters: &str) -> bool {
    letters.strip_prefix('N').unwrap_or(letters).chars().all(|letter| FLAGS.contains(letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_name_the_operation_and_its_flags() {
        use RecordedOp::{NoLetters, SecureErase, Unknown, ZoneAppend, ZoneReset, ZoneResetAll};
        for (letters, op, recorded, preflush, fua) in [
            ("R", Some(Op::Read), None, false, false),
            ("RAM", Some(Op::Read), None, false, false),
            ("WSM", Some(Op::Write), None, false, false),
            ("WFSU", Some(Op::Write), None, false, true),
            ("FWFS", Some(Op::Write), None, true, true),
            ("WB", Some(Op::Write), None, true, true),
            ("F", Some(Op::Flush), None, true, false),
            ("FF", Some(Op::Flush), None, true, false),
            ("FS", Some(Op::Flush), None, true, false),
            ("FN", Some(Op::Flush), None, true, false),
            ("DS", Some(Op::Discard), None, false, false),
            ("DE", Some(Op::Discard), Some(SecureErase), false, false),
            ("WZS", Some(Op::WriteZeroes), None, false, false),
            ("WZFS", Some(Op::WriteZeroes), None, false, true),
            ("ZA", Some(Op::Write), Some(ZoneAppend), false, false),
            ("FZAFS", Some(Op::Write), Some(ZoneAppend), true, true),
            ("ZR", None, Some(ZoneReset), false, false),
            ("ZRAS", None, Some(ZoneResetAll), false, false),
            ("ZF", None, Some(RecordedOp::ZoneFinish), false, false),
            ("ZO", None, Some(RecordedOp::ZoneOpen), false, false),
            ("ZC", None, Some(RecordedOp::ZoneClose), false, false),
            ("N", None, Some(NoLetters), false, false),
            ("NS", None, Some(NoLetters), false, false),
            ("X", None, Some(Unknown), false, false),
            ("WX", None, Some(Unknown), false, false),
            ("FX", None, Some(Unknown), true, false),
        ] {
            let Rwbs { op: of_request, recorded: as_recorded, preflush: flush, fua: forced } =
                Rwbs::parse(letters);
            assert_eq!((of_request, as_recorded, flush, forced), (op, recorded, preflush, fua), "{letters}");
        }
    }
}
