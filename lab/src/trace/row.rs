//! What the readers of all formats deliver: rows as they stand in the file, before they are put in order.

use super::field;
use super::input::Bad;
use super::{Generated, Op};

/// One request as a file has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// The recorded time in picoseconds, from whatever the trace counts it from.
    pub(super) time: i128,
    pub(super) op: Op,
    pub(super) fua: bool,
    pub(super) device: u32,
    pub(super) offset: u64,
    pub(super) size: u64,
    /// The recorded response time in picoseconds. Whole traces of rows lie in memory, so half the width of `time`.
    pub(super) response: Option<i64>,
    pub(super) cpu: Option<u16>,
    pub(super) stream: u8,
}

const _: () = assert!(size_of::<Row>() <= 64, "traces of ten million rows are read");

impl Row {
    /// A row without response time or forced unit access. The end of its range is checked.
    pub(super) fn new(time: i128, op: Op, device: u32, offset: u64, size: u64) -> Result<Self, Bad> {
        if offset.checked_add(size).is_none_or(|end| end > i64::MAX as u64) {
            return Err(Bad {
                found: format!("a range that ends at byte {}", u128::from(offset) + u128::from(size)),
                wanted: "an end below 8 EiB".into(),
            });
        }
        Ok(Self { time, op, fua: false, device, offset, size, response: None, cpu: None, stream: 0 })
    }

    /// Sets the recorded response time, in picoseconds; one that has no place is none that a request can have had.
    pub(super) fn answered_after(&mut self, ps: i128) {
        self.response = i64::try_from(ps).ok();
    }
}

/// Everything that a reader found in a file.
#[derive(Default)]
pub(super) struct Found {
    pub(super) rows: Vec<Row>,
    pub(super) notes: Vec<String>,
    /// What the file says that its requests were generated from.
    pub(super) generated: Option<Generated>,
}

/// `text` as what a request does: R, W, D, F, Z, C or the words for them, in any case.
pub(super) fn op(text: &str) -> Result<Op, Bad> {
    let is = |names: &[&str]| names.iter().any(|name| name.eq_ignore_ascii_case(text));
    if is(&["r", "read"]) {
        Ok(Op::Read)
    } else if is(&["w", "write"]) {
        Ok(Op::Write)
    } else if is(&["d", "discard", "trim", "unmap"]) {
        Ok(Op::Discard)
    } else if is(&["f", "flush", "sync"]) {
        Ok(Op::Flush)
    } else if is(&["z", "write_zeroes", "writezeroes"]) {
        Ok(Op::WriteZeroes)
    } else if is(&["c", "compare"]) {
        Ok(Op::Compare)
    } else {
        Err(Bad {
            found: format!("op {}", super::input::quoted(text)),
            wanted: "R, W, D, F, Z or C, or read, write, discard, flush, write_zeroes or compare".into(),
        })
    }
}

/// The two ops that most formats have.
pub(super) fn read_or_write(text: &str) -> Result<Op, Bad> {
    op(text).ok().filter(|op| matches!(op, Op::Read | Op::Write)).ok_or_else(|| Bad {
        found: format!("op {}", super::input::quoted(text)),
        wanted: "a read or a write, as R or W or the word".into(),
    })
}

/// Device numbers as Linux counts them: `major,minor`, the major in the upper 12 bits.
pub(super) fn linux_device(major: &str, minor: &str) -> Result<u32, Bad> {
    let (high, low) = (field::device(major)?, field::device(minor)?);
    if high >= 1 << 12 || low >= 1 << 20 {
        return Err(Bad {
            found: format!("device {high},{low}"),
            wanted: "a major below 4096 and a minor below 1048576".into(),
        });
    }
    Ok(high << 20 | low)
}
