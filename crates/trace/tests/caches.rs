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

const LOOKUPS: &str = "{\"timestamp\": 1711929600.5, \"request_id\": \"a\", \"model_name\": \"m\", \"chunk_size\": 256, \"seq_len\": 600, \
    \"dtypes\": [\"bfloat16\", \"int8\"], \"shapes\": [[2, 4, 256, 8], [256]], \"chunk_hashes\": [\"0xa1\", \"0xb2\"]}\n\
    {\"timestamp\": 1711929601.0, \"request_id\": \"b\", \"model_name\": \"m\", \"chunk_size\": 256, \"seq_len\": 99, \
    \"dtypes\": [], \"shapes\": [], \"chunk_hashes\": []}\n\
    {\"timestamp\": 1711929602.5, \"request_id\": \"c\", \"model_name\": \"m\", \"chunk_size\": 256, \"seq_len\": 768, \
    \"dtypes\": [\"bfloat16\", \"int8\"], \"shapes\": [[2, 4, 256, 8], [256]], \"chunk_hashes\": [\"0xa1\", \"-0xc3\", \"0xb2\"]}\n";

#[test]
fn a_chunk_of_lmcache_has_the_bytes_of_its_tensors() {
    let chunk = 2 * 4 * 256 * 8 * 2 + 256;
    let trace = read(LOOKUPS.as_bytes(), &[]).expect("valid");
    assert_eq!(trace.format, Format::Lmcache);
    // The next multiple of 4 KiB.
    let place = 36 << 10;
    assert_eq!(
        shorts(&trace),
        [
            (0, Op::Write, 0, chunk),
            (0, Op::Write, place, chunk),
            (2_000, Op::Read, 0, chunk),
            (2_000, Op::Write, 2 * place, chunk),
            (2_000, Op::Read, place, chunk),
        ]
    );
    let notes = trace.notes.join("; ");
    for part in [
        "lookups of LMCache: 3 requests use 3 chunks of 33024B",
        "left out: 187 tokens behind the last whole chunk of their request",
    ] {
        assert!(notes.contains(part), "{part}: {notes}");
    }
    let trace = read(LOOKUPS.as_bytes(), &["token_bytes=1KiB"]).expect("valid");
    assert_eq!(shorts(&trace)[1], (0, Op::Write, 256 << 10, 256 << 10));
}

#[test]
fn a_chunk_that_grows_is_written_at_its_new_place_before_it_is_read_there() {
    let line = |second: u32, size: u32| {
        format!(
            "{{\"timestamp\": {second}.0, \"chunk_size\": 256, \"seq_len\": 256, \"dtypes\": [\"int8\"], \"shapes\": \
             [[{size}]], \"chunk_hashes\": [\"0x1\"]}}\n"
        )
    };
    let content = [line(1, 4096), line(2, 8192), line(3, 8192)].concat();
    let trace = read(content.as_bytes(), &[]).expect("valid");
    let wanted = [(0, Op::Write, 0, 4096), (1_000, Op::Write, 4096, 8192), (2_000, Op::Read, 4096, 8192)];
    assert_eq!(shorts(&trace), wanted);
    let note = "1 object moved to a new place because it grew";
    assert!(trace.notes.iter().any(|found| found == note), "{:?}", trace.notes);
}

#[test]
fn lookups_of_lmcache_that_do_not_fit_name_line_and_reason() {
    for (from, to, found) in [
        ("\"int8\"", "\"int3\"", "found dtype \"int3\", wanted one of bfloat16, float16"),
        (", \"int8\"", "", "found 2 shapes and 1 dtype, wanted a shape and a dtype for each tensor"),
        ("[256]]", "[0]]", ""),
        (
            "8], [256]",
            "0], [0]",
            "found shapes [[2, 4, 256, 0], [0]] of 256 tokens, wanted chunks of 1 B to 1 TiB",
        ),
        ("[256]]", "[99999999999999999]]", "wanted chunks of 1 B to 1 TiB"),
        ("\"0xa1\"", "7", "invalid type: integer `7`, expected a string"),
        ("\"seq_len\"", "\"length\"", "missing field `seq_len`"),
    ] {
        let line = LOOKUPS.lines().next().expect("three lines").replace(from, to);
        let outcome = read(format!("{LOOKUPS}{line}\n").as_bytes(), &[]).map(|trace| shorts(&trace));
        match outcome {
            Ok(_) => assert_eq!(found, "", "{line}"),
            Err(error) => assert!(error.starts_with("t:4: found ") && error.contains(found), "{error}"),
        }
    }
    let error = read(LOOKUPS.as_bytes(), &["block_tokens=16"]).expect_err("the lines have it");
    assert!(
        error.contains("together with format lmcache, whose lines have the tokens of a chunk"),
        "{error}"
    );
    let frame = [&[0, 0, 0, 90, 0x88][..], b"\xa4type\xa6header\xa5magic\xc4\x04LMCT", &[0; 80]].concat();
    let error = read(&frame, &[]).expect_err("not the log");
    assert!(error.contains("found a storage-level trace of LMCache, wanted its lookups"), "{error}");
}

const KEY_VALUES: &str = "op_time,key,key_size,op,op_count,size,cache_hits,ttl,usecase,sub_usecase\n\
    604038471,82131353f9ddc8c6,48,GET,2,87,1,0,3,4\n\
    604038471,a54f88ab02ece24d,24,GET_LEASE,3,0,0,0,3,4\n\
    604038472,a54f88ab02ece24d,24,SET,1,5000,0,60,3,4\n\
    604038473,82131353f9ddc8c6,48,DELETE,4,87,0,0,3,4\n\
    604038473,4ccc6e0fdd163416,87,GET,1,8,1,0,3,4\n";

#[test]
fn a_get_of_a_key_value_cache_reads_and_a_set_writes() {
    let trace = read(KEY_VALUES.as_bytes(), &[]).expect("valid");
    assert_eq!(trace.format, Format::MetaKv);
    let wanted = [
        (0, Op::Read, 0, 87),
        (0, Op::Read, 0, 87),
        (1_000, Op::Write, 4_096, 5_000),
        (2_000, Op::Read, 12_288, 8),
    ];
    assert_eq!(shorts(&trace), wanted);
    let notes = trace.notes.join("; ");
    for part in [
        "3 objects at the next free multiple of 4 KiB",
        "left out: 3 requests of size 0, which are misses",
        "left out: 4 DELETEs which the cache does in memory",
        "times are whole seconds",
    ] {
        assert!(notes.contains(part), "{part}: {notes}");
    }
    // Columns in the order of 2022, without times, with and without their header.
    let rows = "82131353f9ddc8c6,GET,87,2,48\na54f88ab02ece24d,SET,5000,1,24\n4ccc6e0fdd163416,GET,8,1,87\n";
    let header = "key,op,size,op_count,key_size\n";
    for (content, pairs) in [(format!("{header}{rows}"), &[][..]), (rows.into(), &["format=meta-kv"][..])] {
        let trace = read(content.as_bytes(), pairs).expect("valid");
        let without_times = wanted.map(|(_, op, offset, size)| (0, op, offset, size));
        assert_eq!(shorts(&trace), without_times, "{content}");
        assert!(trace.notes.join("; ").contains("the file has no times"), "{:?}", trace.notes);
    }
}

const STORAGE: &str = "op_time,block_id,block_id_size,io_size,io_offset,user_name,user_namespace,op_name,op_count,host_name,rs_shard_id\n\
    1702511878,12ce23ea-9e05,40,8388608,0,1,2,putChunk.NotInitialized,1,5,4\n\
    1702511879,12ce23ea-9e05,40,4096,8192,1,2,getChunkData.Permanent,2,5,4\n\
    1702511879,12ce23ea-9e05,40,4096,8192,1,2,getChunkData.Permanent,1,5,3\n";

#[test]
fn a_block_of_storage_is_an_id_and_a_shard() {
    let trace = read(STORAGE.as_bytes(), &[]).expect("valid");
    assert_eq!(trace.format, Format::MetaStorage);
    let block = 16 << 20;
    assert_eq!(
        shorts(&trace),
        [
            (0, Op::Write, 0, 8 << 20),
            (1_000, Op::Read, 8_192, 4_096),
            (1_000, Op::Read, 8_192, 4_096),
            (1_000, Op::Read, block + 8_192, 4_096),
        ]
    );
    let notes = trace.notes.join("; ");
    assert!(notes.contains("2 blocks of 16MiB one after another in the order of appearance"), "{notes}");
}

#[test]
fn lines_of_metas_caches_that_do_not_fit_name_line_and_column() {
    for (content, from, to, found) in [
        (
            KEY_VALUES,
            "DELETE",
            "TOUCH",
            "t:5: found op \"TOUCH\", wanted GET, GET_LEASE, SET, SET_LEASE or DELETE",
        ),
        (KEY_VALUES, "SET,1", "SET,0", "t:4: found op_count \"0\", wanted a whole number from 1"),
        (KEY_VALUES, "SET,1,5000", "SET,1,big", "t:4: found size \"big\", wanted a whole number from 0"),
        (KEY_VALUES, "604038472", "noon", "t:4: found op_time \"noon\", wanted a decimal number"),
        (KEY_VALUES, ",5000,0,60,3,4", "", "t:4: found 5 fields in "),
        (
            STORAGE,
            "putChunk.N",
            "deleteChunk.N",
            "t:2: found op_name \"deleteChunk.NotInitialized\", wanted a name that",
        ),
        (
            STORAGE,
            ",4096,8192,",
            ",4096,18446744073709551615,",
            "t:3: found io_offset 18446744073709551615 in units of 1B",
        ),
        (STORAGE, ",3\n", ",x\n", "t:4: found rs_shard_id \"x\""),
    ] {
        let error = read(content.replacen(from, to, 1).as_bytes(), &[]).expect_err(to);
        assert!(error.starts_with(found), "{error}");
    }
    let error = read(STORAGE.replace("io_size", "length").as_bytes(), &["format=meta-storage"])
        .expect_err("a column is missing");
    assert!(error.starts_with("t:1: found no column io_size in "), "{error}");
    let error = read(KEY_VALUES.as_bytes(), &["sector=4KiB"]).expect_err("sizes are bytes");
    assert!(error.contains("together with format meta-kv, which fixes its units"), "{error}");
}
