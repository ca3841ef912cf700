//! Traces in every format that follows from a file name, plain or compressed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wordline_trace::{Options, read_bytes};

/// File names that select the formats, by the first byte.
const NAMES: [&str; 6] = ["t.csv", "t.trace", "t.spc", "t.gz", "t.tar.gz", "t.parquet"];

fuzz_target!(|bytes: &[u8]| {
    if let [name, bytes @ ..] = bytes {
        let name = NAMES[usize::from(*name) % NAMES.len()];
        drop(read_bytes(name, bytes, &Options::default()));
    }
});
