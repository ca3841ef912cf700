//! Are traces of caches laid out on addresses as documented, and is damage in them found?

use wordline_trace::{Format, Op, Options, Request, Trace, read_bytes};

fn read(content: &[u8], pairs: &[&str]) -> Result<Trace, String> {
    let options = Options::from_pairs(pairs.iter().copied()).expect("valid options");
    read_bytes("t", content, &options).map_err(|error| error.to_string())
}

/// A request in short: milliseconds, op, offset, size.
fn shorts(trace: &Trace) -> Vec<(u64, Op, u64, u64)> {
    let short = |request: &Request| {
        (request.arrival.ps() / 1_000_000_000, request.op, request.offset.0, request.size.0)
    };
    trace.requests.iter().map(short).collect()
}

/// A record of libCacheSim.
fn record(seconds: u32, object: u64, size: u32, next: i64) -> Vec<u8> {
    [&seconds.to_le_bytes()[..], &object.to_le_bytes(), &size.to_le_bytes(), &next.to_le_bytes()].concat()
}

fn gets() -> Vec<u8> {
    [
        record(100, u64::MAX, 5_000, 3),
        record(100, 7, 100, 5),
        record(101, 8, 4096, -1),
        record(102, u64::MAX, 8_192, 5),
        record(103, 7, 4_097, i64::MAX),
        record(103, u64::MAX, 10, -1),
    ]
    .concat()
}

#[test]
fn objects_are_laid_out_in_the_order_of_their_first_get() {
    let packed = zstd::encode_all(gets().as_slice(), 0).expect("memory suffices");
    for content in [gets(), packed] {
        let trace = read(&content, &[]).expect("valid");
        assert_eq!(trace.format, Format::OracleGeneral);
        assert_eq!(
            shorts(&trace),
            [
                (0, Op::Read, 0, 5_000),
                (0, Op::Read, 8_192, 100),
                (1_000, Op::Read, 12_288, 4_096),
                (2_000, Op::Read, 0, 8_192),
                (3_000, Op::Read, 16_384, 4_097),
                (3_000, Op::Read, 0, 10),
            ]
        );
        let notes = trace.notes.join("; ");
        for part in [
            "3 objects at the next free multiple of 4 KiB",
            "each request is a GET",
            "1 object moved",
            "whole seconds",
        ] {
            assert!(notes.contains(part), "{part}: {notes}");
        }
    }
}

#[test]
fn records_that_are_cut_or_are_none_are_refused() {
    let gets = gets();
    assert_eq!(
        read(&gets[..60], &[]).map(|trace| shorts(&trace)),
        Err("t:3: found 12 bytes at the end of the file, wanted a whole record of 24 bytes: the file is cut off".into())
    );
    let refused =
        |content: Vec<u8>| read(&content, &[]).is_err_and(|error| error.contains("of no format known"));
    assert!(refused([gets.clone(), record(99, 9, 1, -1)].concat()), "the clock goes back");
    assert!(refused([gets.clone(), record(104, 9, 0, -1)].concat()), "an object without bytes");
    assert!(refused([gets, record(104, 9, 1, 6)].concat()), "the next request is this one");
    assert!(refused(vec![0; 240]));
    let garbage = record(1, 9, 1, 1 << 50);
    assert_eq!(
        read(&garbage, &["format=oracle-general"]).map(|trace| shorts(&trace)),
        Err(
            "t:1: found next request 1125899906842624 of object 9, wanted its number, or -1 if there is none"
                .into()
        )
    );
    let error = read(&record(1, 9, 1, 1), &["time_unit=ms"]).expect_err("the format counts seconds");
    assert!(error.contains("together with format oracle-general, which fixes its units"), "{error}");
}

const INFERENCE: &str = "{\"timestamp\": 5, \"input_length\": 1000, \"output_length\": 9, \"hash_ids\": [40, 7]}\n\
    {\"timestamp\": 30, \"input_length\": 1400, \"output_length\": 9, \"hash_ids\": [40, 7, 9], \"type\": \"chat\"}\n";

#[test]
fn a_block_of_a_kv_cache_is_written_once_and_read_later() {
    let block = 512 * 327_680;
    for (pairs, block, name) in [
        (&[][..], block, "512 tokens with 320KiB each, 160MiB in all"),
        (&["token_bytes=1KiB", "block_tokens=16"][..], 16 << 10, "16 tokens with 1KiB each, 16KiB in all"),
    ] {
        let trace = read(INFERENCE.as_bytes(), pairs).expect("valid");
        assert_eq!(trace.format, Format::Mooncake);
        assert_eq!(
            shorts(&trace),
            [
                (0, Op::Write, 0, block),
                (0, Op::Write, block, block),
                (25, Op::Read, 0, block),
                (25, Op::Read, block, block),
                (25, Op::Write, 2 * block, block),
            ]
        );
        let notes = trace.notes.join("; ");
        assert!(notes.contains(&format!("2 requests of inference use 3 blocks of {name}")), "{notes}");
    }
    let seconds = read(INFERENCE.replace("30,", "5.25,").as_bytes(), &["time_unit=s"]).expect("valid");
    assert_eq!(shorts(&seconds)[2].0, 250);
}

#[test]
fn lines_of_a_kv_cache_that_do_not_fit_name_line_and_reason() {
    for (line, found) in [
        ("{\"timestamp\": 31, \"hash_ids\": [40, 7", "EOF while parsing a list"),
        ("{\"timestamp\": 31, \"hash_ids\": [-1]}", "invalid value: integer `-1`"),
        ("{\"timestamp\": 31, \"input_length\": 9}", "missing field `hash_ids`"),
        ("{\"timestamp\": \"noon\", \"hash_ids\": []}", "invalid type: string"),
        ("\u{0}\u{7}", "expected value at line 1"),
    ] {
        let error = read(format!("{INFERENCE}{line}\n").as_bytes(), &[]).expect_err(line);
        assert!(error.starts_with("t:3: found \"") && error.contains(found), "{error}");
        assert!(error.contains("wanted a line such as {\"timestamp\": 0"), "{error}");
    }
    for (pair, message) in [
        ("token_bytes=0B", "trace option token_bytes: found 0B, wanted a size from 1 B to 1 GiB"),
        ("block_tokens=0", "trace option block_tokens: found 0, wanted a whole number from 1 to 65536"),
        ("sector=4KiB", "it together with format mooncake, which fixes its units"),
    ] {
        let error = read(INFERENCE.as_bytes(), &[pair]).expect_err(pair);
        assert!(error.contains(message), "{error}");
    }
    let error = read(b"0 0 8 8 0\n", &["token_bytes=1KiB"]).expect_err("no tokens");
    assert!(error.contains("together with format mqsim, which has no tokens"), "{error}");
}
