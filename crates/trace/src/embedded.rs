//! The trace that is embedded in the program: an excerpt of a recording of RocksDB on ext4.
//! `data/traces/README.md` describes its source.

use super::Trace;
use super::options::Options;
use super::read::{TraceInput, read_bytes};

const NAME: &str = "rocksdb-ext4.csv.zst";
const CONTENT: &[u8] = include_bytes!("../../../data/traces/rocksdb-ext4.csv.zst");

/// Returns the embedded file as an input.
pub(super) const fn input() -> TraceInput<'static> {
    TraceInput::Bytes(NAME, CONTENT)
}

/// Reads the embedded trace.
pub fn embedded() -> Trace {
    read_bytes(NAME, CONTENT, &Options::default()).expect("the embedded trace is read by a test")
}

#[cfg(test)]
mod tests {
    use super::super::Op;
    use super::*;

    #[test]
    fn the_embedded_trace_holds_reads_writes_and_discards() {
        let trace = embedded();
        let count = |op| trace.requests.iter().filter(|request| request.op == op).count();
        assert_eq!((count(Op::Read), count(Op::Write), count(Op::Discard)), (161_880, 5_404, 22_074));
        assert_eq!(trace.notes, Vec::<String>::new());
        assert!(CONTENT.len() < 1_500_000);
    }
}
