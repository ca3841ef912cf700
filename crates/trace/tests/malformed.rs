//! Does every damaged trace give one error with file, line, what was found and what was expected? Does no
//! input cause a panic?

use proptest::prelude::*;
use wordline_trace::{Format, Options, read, read_bytes};

fn error(content: &[u8], pairs: &[&str]) -> String {
    let options = Options::from_pairs(pairs.iter().copied()).expect("valid options");
    match read_bytes("t", content, &options) {
        Ok(trace) => panic!("{trace:?} was read from {}", String::from_utf8_lossy(content)),
        Err(error) => error.to_string(),
    }
}

const FORMATS: &str = "csv, msr, spc, disksim, ssdsim, mqsim, blkparse, most, fiu, blktrace, fio-iolog, vscsi, \
                       biotracer, hfplayer, wiscsee, ftrace, biosnoop, systor, tencent, alibaba, oracle-general, mooncake, lmcache, meta-kv, meta-storage, parquet, columns";

/// Content, options, and the full message.
type Malformed = (&'static str, &'static [&'static str], &'static str);

const MALFORMED: &[Malformed] = &[
    ("", &[], "t: found an empty file, wanted a trace"),
    ("t_ns,op,offset,size\n", &[], "t: found no requests, wanted at least one request of more than 0 bytes"),
    ("1 0 8 0 1\n", &[], "t: found no requests, wanted at least one request of more than 0 bytes"),
    (
        "0 0 8 8 0\n",
        &["device=7"],
        "t: found no requests of device 7 but 1 of others (option device), wanted the number of a device of the trace",
    ),
    (
        "0 0 8 8 0\n",
        &["jump=1us"],
        "trace option jump: found 1us, wanted a time such as \"10d\", from 1ms to 106d",
    ),
    // SPC.
    (
        "0,8,4096,r,0.5\n0,16,4096,w,-1.0\n",
        &["format=spc"],
        "t:2: found \"-1.0\", wanted a time from 0: those of SPC are counted from the beginning of the trace",
    ),
    // Generic CSV.
    (
        "t_ns,offset,size\n1,2,3\n",
        &[],
        "t:1: found no column op in \"t_ns,offset,size\", wanted a header with a time (t, time or timestamp, \
         alone or with its unit: t_ps, time_ns, timestamp_us, ..._ms, ..._s), op, offset (or offset_bytes, or lba in sectors) and \
         size (or size_bytes, or sectors); also known are dev or device, resp_ns or response_us, fua, cpu and stream",
    ),
    (
        "t_ns,op,offset,size\n0,R,0,512\n1,R,0\n",
        &[],
        "t:3: found 3 fields in \"1,R,0\", wanted 4 fields, as in the header",
    ),
    (
        "t_ns,op,offset,size\n0,X,0,512\n1,R,0,512\n",
        &[],
        "t:2: found op \"X\", wanted R, W, D, F, Z, C, ZA, ZR, ZF, ZO or ZC, or the words: read, write, discard, flush, write_zeroes, compare, zone_append, zone_reset, zone_finish, zone_open, zone_close",
    ),
    (
        "t_ns,op,offset,size\n0,R,0,-512\n1,R,0,512\n",
        &[],
        "t:2: found size \"-512\", wanted a whole number from 0 that fits 64 bits",
    ),
    ("t_ns,op,offset,size,fua\n0,W,0,512,maybe\n", &[], "t:2: found fua \"maybe\", wanted 0 or 1"),
    (
        "t_ns,op,offset,size\n0,R,9223372036854775807,1\n",
        &[],
        "t:2: found a range that ends at byte 9223372036854775808, wanted an end below 8 EiB",
    ),
    (
        "t_ns,op,offset,size\n0,R,0,4096\n1,R,8192,40",
        &[],
        "t:3: found 40 bytes at offset 8192 in the last line, which has no line end (a file cut off?), wanted \
         multiples of 512 bytes, as in all requests before",
    ),
    (
        "t_ns,op,offset,size,size\n0,R,0,512,4096\n",
        &[],
        "t:1: found columns \"size\" and \"size\", wanted one column for each of time, op, offset, size, device, \
         response, fua, cpu and stream",
    ),
    (
        "t_ns,t_us,op,lba,size\n0,0,R,0,512\n",
        &[],
        "t:1: found columns \"t_ns\" and \"t_us\", wanted one column for each of time, op, offset, size, device, \
         response, fua, cpu and stream",
    ),
    (
        "t_s,op,offset,size\n0,R,0,512\n4600000,R,0,512\n9200000,R,0,512\n",
        &["jump=100d"],
        "t:4: found a request 106 days after the first, wanted at most 106 days (see options time_unit and jump)",
    ),
    (
        "t_s,op,offset,size\n0,R,0,2199023255553\n",
        &[],
        "t:2: found a request of 2199023255553 bytes, wanted at most 2 TiB in one read or write",
    ),
    (
        "0 0 8 8 0\n",
        &["window=10"],
        "trace option window: found 10, wanted a whole number from 1000 to 16777216",
    ),
    // MSR.
    (
        "1,a,0,Write,0,512,1\n1,a,0,Flush,0,512,1\n",
        &[],
        "t:2: found op \"Flush\", wanted a read or a write, as R or W or the word",
    ),
    (
        "1,a,0,Write,0,512,1\n1,a,0,Write,0,512\n",
        &[],
        "t:2: found 6 fields in \"1,a,0,Write,0,512\", wanted 7 fields: time,host,disk,Read or Write,offset,size,\
         response",
    ),
    (
        "1,a,0,Write,0,512,1\n1,a,0,Read,99999999999999999999,4096,7\n",
        &[],
        "t:2: found offset \"99999999999999999999\", wanted a whole number from 0 that fits 64 bits",
    ),
    (
        "1,a,0,Write,0,512,1\n1,a,disk,Write,0,512,1\n",
        &[],
        "t:2: found device \"disk\", wanted a whole number from 0 that fits 32 bits",
    ),
    // SPC.
    (
        "0,8,4096,w,0.5\n0,8,4096,w,noon\n",
        &[],
        "t:2: found time \"noon\", wanted a decimal number, such as 12.5",
    ),
    (
        "0,8,4096,w,0.5\n0,8,4096,w\n",
        &[],
        "t:2: found 4 fields in \"0,8,4096,w\", wanted 5 fields: ASU,address,size,R or W,seconds",
    ),
    // DiskSim and similar.
    (
        "0.5 0 8 8 0\n0.6 0 8 8\n",
        &[],
        "t:2: found 4 fields in \"0.6 0 8 8\", wanted 5 fields: time device address size read(1)/write(0)",
    ),
    ("0.5 0 8 8 0\n0.6 0 8 8 2\n", &[], "t:2: found flags \"2\", wanted 1 for a read or 0 for a write"),
    (
        "1 0 8 8 0\n2 0 18446744073709551616 8 0\n",
        &[],
        "t:2: found address \"18446744073709551616\", wanted a whole number from 0 that fits 64 bits",
    ),
    (
        "1 0 8 8 0\n2 0 18446744073709551615 8 0\n",
        &[],
        "t:2: found address 18446744073709551615 in units of 512B, wanted less than 8 EiB",
    ),
    (
        "1 0 8 8 0\n3 0 8",
        &[],
        "t:2: found 3 fields in \"3 0 8\" in the last line, which has no line end (a file cut off?), wanted 5 \
         fields: time device address size read(1)/write(0)",
    ),
    // blkparse.
    (
        "  8,16 1 1 0.0 9 Q R 8 + 8 [a]\n  8,16 1 2 0.000\n",
        &[],
        "t:2: found 4 fields in \"8,16 1 2 0.000\", wanted 6 fields: major,minor cpu sequence seconds pid action \
         RWBS sector + sectors",
    ),
    (
        "  8,16 1 1 0.0 9 Q R 8 + 8 [a]\n  8,16 1 2 0.1 9 Q R 12\n",
        &[],
        "t:2: found \"8,16 1 2 0.1 9 Q R 12\", wanted a line of major,minor cpu sequence seconds pid action RWBS \
         sector + sectors",
    ),
    (
        "  8,16 1 1 0.0 9 Q R 8 + 8 [a]\n  8,16777216 1 2 0.1 9 Q R 12 + 8\n",
        &[],
        "t:2: found device 8,16777216, wanted a major below 4096 and a minor below 1048576",
    ),
    (
        "  8,16 1 1 0.0 9 Q R 8 + 8 [a]\n",
        &["action=issue"],
        "t: found events queue only, wanted the events issue that option action asks for",
    ),
    (
        "  8,16 1 1 0.0 9 P N [a]\n",
        &[],
        "t: found no request in it, wanted at least one queue (Q), issue (D) or complete (C) event",
    ),
    (
        "  8,16 1 1 0.0 9 Q\n",
        &[],
        "t:1: found \"8,16 1 1 0.0 9 Q\", wanted a line of major,minor cpu sequence seconds pid action RWBS sector + \
         sectors",
    ),
    (
        "  8,16 1 1 0.0 9 Q ZR [a]\n  8,16 1 2 0.1 9 D ZR [a]\n  8,16 1 3 0.1 9 D R 36 (12 00) [a]\n",
        &[],
        "t: found no requests but 1 zone reset, 1 passthrough command, wanted at least one request of more than 0 bytes",
    ),
    // FIU, MOST, BIOtracer, hfplayer, wiscsee.
    (
        "1 7 app 8 8 W 8 1 00ff\n2 7 app 8 8 W 8\n",
        &[],
        "t:2: found 7 fields in \"2 7 app 8 8 W 8\", wanted 9 fields: time pid process address sectors R/W major \
         minor hash",
    ),
    (
        "0.0\tQ\tW\t8\t8\t1\ta\tM\n0.1\tQ\tW\t8\tx\t1\ta\tM\n",
        &[],
        "t:2: found size \"x\", wanted a whole number from 0 that fits 64 bits",
    ),
    (
        "8 8 4096 1 1.0 1.1 1.2 1.3\n8 8 512 1 1.0 1.1 1.2 1.3\n",
        &[],
        "t:2: found a size of 8 sectors and of 512 bytes, wanted the same size twice, 4096 bytes",
    ),
    (
        "#DUMP_OFFSET.I,ELAPSED_USECS.D,CMD.S,LBA.I,NBLKS.I\n",
        &[],
        "t:1: found \"#DUMP_OFFSET.I,ELAPSED_USECS.D,CMD.S,LBA.I,NBLKS.I\", wanted a column LATENCY_USECS",
    ),
    ("9 D read 0 512 0.0 0 True\n9 E read 0 512 0.0 0 True\n", &[], "t:2: found event \"E\", wanted D or C"),
    // fio.
    (
        "fio version 4 iolog\n",
        &[],
        "t:1: found \"fio version 4 iolog\", wanted \"fio version 2 iolog\" or \"fio version 3 iolog\"",
    ),
    (
        "fio version 2 iolog\n/a open\n/a frobnicate 0 512\n",
        &[],
        "t:3: found action \"frobnicate\", wanted add, open, close, wait (version 2), read, write, trim, sync or \
         datasync",
    ),
    (
        "fio version 3 iolog\n/a read 0 512\n",
        &[],
        "t:2: found time \"/a\", wanted a decimal number, such as 12.5",
    ),
    // Wrong format names, and options that do not fit.
    (
        "0 0 8 8 0\n",
        &["format=msr"],
        "t:1: found 1 field in \"0 0 8 8 0\", wanted 7 fields: time,host,disk,Read or Write,offset,size,response",
    ),
    (
        "0 0 8 8 0\n",
        &["format=vscsi"],
        "t: found no records of vscsiStats, wanted records of version 1 (32 bytes) or 2 (40 bytes)",
    ),
    (
        "0 0 8 8 0\n",
        &["format=blktrace"],
        "t:1: found magic number 0x20302030, wanted 0x65617407 or 0x65617408 in either byte order",
    ),
    (
        "0 0 8 8 0\n",
        &["action=queue"],
        "trace option action: found it together with format mqsim, which records one event a request, wanted no \
         such option, or another format",
    ),
    ("0 0 8 8 0\n", &["size_unit=0B"], "trace option size_unit: found 0B, wanted a size from 1 B to 1 GiB"),
];

#[test]
fn every_malformed_trace_gives_its_message() {
    let wrong: Vec<String> = MALFORMED
        .iter()
        .map(|(content, pairs, wanted)| (error(content.as_bytes(), pairs), *wanted))
        .filter(|(message, wanted)| message != wanted)
        .map(|(message, wanted)| format!("{message}\n    instead of {wanted}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn content_of_no_known_format_lists_the_formats() {
    let wanted = format!(
        "t: found a first line \"once upon a time\" of no format known, wanted a trace in one of the formats \
         {FORMATS} (name it with --format), or a map of its columns (option columns)"
    );
    assert_eq!(error(b"once upon a time\n", &[]), wanted);
    assert!(
        error(&[0, 159, 146, 150, 7], &[])
            .contains("\"\\0\u{fffd}\u{fffd}\u{fffd}\\u{7}\" of no format known")
    );
    assert_eq!(
        error(b"PAR1\x15\x04rest", &[]),
        "t: found a Parquet file that cannot be read (Parquet error: Invalid Parquet file. Corrupt footer), wanted an intact file"
    );
    assert!(
        error(b"\xfd7zXZ\0rest", &[]).starts_with("t: found an xz file, wanted a trace, plain or compressed")
    );
}

#[test]
fn a_request_too_far_behind_for_the_window_is_an_error_that_names_the_option() {
    let rows: String = (0..2_000).map(|n| format!("{},R,{},512\n", 1_000 + n, n * 512)).collect();
    let late = format!("t_ns,op,offset,size\n{rows}0,R,0,512\n");
    assert_eq!(
        error(late.as_bytes(), &["window=1000"]),
        "t:2002: found a request 0.000002 s earlier than one more than 1000 requests before it in the trace, wanted a \
         trace in order, or a larger option window, which is 1000"
    );
    let read_whole = read_bytes("t", late.as_bytes(), &Options::default()).expect("the window holds it");
    assert_eq!((read_whole.requests.len(), read_whole.requests[1].arrival.ps()), (2_001, 1_000_000));
}

#[test]
fn what_editors_and_tools_add_to_a_trace_is_passed_over() {
    let csv = "\u{feff}t_ns,op,offset,size\n0,R,0,512\n";
    let msr = "\u{feff}1,a,0,Write,0,512,1\n2,a,0,Write,0,512,1\n";
    for content in [csv, msr] {
        let trace = read_bytes("t", content.as_bytes(), &Options::default()).expect("a mark is no content");
        assert!(matches!(trace.format, Format::Csv | Format::Msr), "{:?}", trace.format);
    }
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, long().as_bytes()).expect("memory suffices");
    let member = gzip.finish().expect("memory suffices");
    let read = |behind: &[u8]| {
        read_bytes("t", &[&member, behind].concat(), &Options::default()).expect("the members are whole")
    };
    assert_eq!(read(&member).requests.len(), 20_000);
    for behind in [&[0; 512][..], b"junk"] {
        let trace = read(behind);
        assert_eq!(trace.requests.len(), 10_000);
        assert!(
            trace.notes.iter().any(|note| note.contains("that are no gzip were ignored")),
            "{:?}",
            trace.notes
        );
    }
    // A format of records, and one whose lines have several requests.
    let record: Vec<u8> = [&[0; 12][..], &512_u32.to_le_bytes(), &(-1_i64).to_le_bytes()].concat();
    let blocks = b"{\"timestamp\": 5, \"input_length\": 1, \"output_length\": 9, \"hash_ids\": [1]}\n";
    for content in [&record, &blocks[..]] {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut gzip, content).expect("memory suffices");
        let member = gzip.finish().expect("memory suffices");
        let trace = read_bytes("t", &[&member, &b"junk"[..]].concat(), &Options::default()).expect("valid");
        let is_told = trace.notes.iter().any(|note| note.contains("that are no gzip were ignored"));
        assert!(is_told, "{:?}: {:?}", trace.format, trace.notes);
    }
}

#[test]
fn the_hosts_of_a_trace_are_told_apart_in_little_time() {
    let rows: String = (0..60_000).map(|n| format!("{n},host{n},1,Write,0,512,1\n")).collect();
    let trace = read_bytes("t", rows.as_bytes(), &Options::default()).expect("60,000 hosts");
    assert_eq!(trace.requests.last().map(|request| request.device), Some(59_999 << 16 | 1));
    let name = "h".repeat(300);
    let message = error(format!("1,{name},0,Write,0,512,1\n").as_bytes(), &["format=msr"]);
    assert!(message.ends_with("wanted at most 65536 hosts, with names of at most 255 bytes"), "{message}");
}

/// Returns a tar header for a member of a kind and size, without content.
fn tar_header(kind: tar::EntryType, size: u64) -> Vec<u8> {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_path("long").expect("it is short");
    header.set_cksum();
    header.as_bytes().to_vec()
}

#[test]
fn a_name_of_gigabytes_in_an_archive_is_refused_unread() {
    for kind in [tar::EntryType::GNULongName, tar::EntryType::XHeader] {
        let mut archive = tar_header(kind, 3 << 30);
        archive.extend([b'x'; 4096]);
        assert_eq!(
            error(&archive, &[]),
            "t:1: found a name or header of 3221225472 bytes, wanted at most 65536 bytes"
        );
    }
    let mut damaged = tar_header(tar::EntryType::Regular, 0);
    damaged[0] ^= 1;
    assert!(error(&damaged, &[]).contains("the checksum of its header is wrong"));
}

/// Ten thousand rows of MQSim's format. Damage at their end lies beyond the part that detection examines.
fn long() -> String {
    (0..10_000).map(|n| format!("{n}000 0 {} 8 1\n", n * 37 % 4096 * 8)).collect()
}

#[test]
fn a_compression_cut_off_names_the_line_reached() {
    let zstd = zstd::encode_all(long().as_bytes(), 0).expect("memory suffices");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, long().as_bytes()).expect("memory suffices");
    for bytes in [zstd, gzip.finish().expect("memory suffices")] {
        let message = error(&bytes[..bytes.len() * 9 / 10], &[]);
        let line: u64 = message.split(':').nth(1).and_then(|line| line.parse().ok()).expect(&message);
        assert!((1..=10_000).contains(&line), "{message}");
        assert!(message.contains("found an early end of the data"), "{message}");
        assert!(message.ends_with("wanted the rest of them: the file is cut off"), "{message}");
        assert!(
            error(&bytes[..12], &[]).starts_with("t:1: found an early end"),
            "{}",
            error(&bytes[..12], &[])
        );
    }
}

#[test]
fn a_compression_of_nothing_is_an_empty_file() {
    let gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let message = error(&gzip.finish().expect("memory suffices"), &[]);
    assert_eq!(message, "t: found an empty file, wanted a trace");
}

#[test]
fn damage_inside_the_compression_is_an_error() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, long().as_bytes()).expect("memory suffices");
    let mut bytes = gzip.finish().expect("memory suffices");
    let end = bytes.len() - 8;
    // The checksum of the content.
    bytes[end] ^= 1;
    assert!(error(&bytes, &[]).starts_with("t:10001: found damaged data"), "{}", error(&bytes, &[]));
}

#[test]
fn a_binary_cut_in_a_record_names_the_record() {
    let mut record = [0_u8; 32];
    record[4..6].copy_from_slice(&[0, 2]);
    record[12..16].copy_from_slice(&[0x28, 0, 0, 1]);
    let content = record.repeat(3);
    assert_eq!(
        error(&content[..70], &[]),
        "t:3: found 6 bytes at the end of the file, wanted a whole record of 32 bytes: the file is cut off"
    );
    let mut damaged = record.repeat(20);
    damaged[17 * 32 + 15] = 9;
    assert_eq!(
        error(&damaged, &[]),
        "t:18: found version 9 in a record, wanted version 1, as in the records before"
    );
}

#[test]
fn a_block_tracer_file_that_is_cut_or_damaged_names_the_record() {
    let mut record = vec![0_u8; 48];
    record[..4].copy_from_slice(&0x6561_7407_u32.to_le_bytes());
    record[46] = 4;
    record.extend([0; 4]);
    let content = record.repeat(2);
    assert_eq!(
        error(&content[..102], &[]),
        "t:2: found 2 bytes of payload at the end of the file, wanted 4 bytes: the file is cut off"
    );
    for (cut, read, length) in [(52 + 3, "3", "48 or 64"), (52 + 20, "20", "48")] {
        assert_eq!(
            error(&content[..cut], &[]),
            format!(
                "t:2: found {read} bytes at the end of the file, wanted a whole record of {length} bytes: the file is cut off"
            )
        );
    }
    let mut damaged = content;
    damaged[52] = 8;
    assert_eq!(
        error(&damaged, &[]),
        "t:2: found 52 bytes at the end of the file, wanted a whole record of 64 bytes: the file is cut off"
    );
    damaged[52] = 9;
    assert_eq!(
        error(&damaged, &[]),
        "t:2: found magic number 0x65617409, wanted 0x65617407 or 0x65617408 in either byte order"
    );
}

#[test]
fn a_missing_file_and_a_folder_without_traces_are_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let missing = folder.path().join("no.csv");
    let message = read(&missing, &Options::default()).expect_err("missing").to_string();
    assert!(message.starts_with(&format!("{}: cannot open: ", missing.display())), "{message}");
    let message = read(folder.path(), &Options::default()).expect_err("empty").to_string();
    assert!(message.contains("found a directory without files of the block tracer"), "{message}");
}

/// Texts that look like a trace at first, so that the readers after detection are reached.
fn nearly_a_line() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("8,16".to_string()),
        Just("Q".to_string()),
        Just("D".to_string()),
        Just("C".to_string()),
        Just("R".to_string()),
        Just("FWFS".to_string()),
        Just("Write".to_string()),
        Just("+".to_string()),
        Just("read".to_string()),
        "[0-9]{1,20}",
        "-?[0-9]{0,20}[.][0-9]{0,20}",
        "\\PC{0,4}",
    ];
    (prop::collection::vec(word, 1..12), prop_oneof![Just(" "), Just(","), Just("\t")])
        .prop_map(|(words, separator)| words.join(separator))
}

proptest! {
    #[test]
    fn no_reader_panics_on_arbitrary_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read_bytes("t", &bytes, &Options::default());
        for format in Format::ALL {
            let _ = read_bytes("t", &bytes, &Options { format: Some(format), ..Options::default() });
        }
    }

    #[test]
    fn no_reader_panics_on_what_is_nearly_a_trace(
        header in prop_oneof![
            Just(""), Just("fio version 2 iolog\n"), Just("fio version 3 iolog\n"), Just("t,op,lba,size,resp_us\n"),
            Just("#DUMP_OFFSET,ELAPSED_USECS,CMD,LBA,NBLKS,LATENCY_USECS\n"),
        ],
        lines in prop::collection::vec(nearly_a_line(), 0..8),
    ) {
        let content = format!("{header}{}", lines.join("\n"));
        let _ = read_bytes("t", content.as_bytes(), &Options::default());
        for format in Format::ALL {
            let _ = read_bytes("t", content.as_bytes(), &Options { format: Some(format), ..Options::default() });
        }
    }

    #[test]
    fn no_reader_panics_on_records_with_arbitrary_fields(
        mut records in prop::collection::vec(prop::array::uniform32(any::<u8>()), 1..20),
        commands in prop::collection::vec(any::<u8>(), 20),
    ) {
        for (record, command) in records.iter_mut().zip(&commands) {
            record[12..16].copy_from_slice(&[[0x28, 0x2a, 0x35, *command][usize::from(*command) % 4], 0, 0, 1]);
        }
        let _ = read_bytes("t", &records.concat(), &Options::default());
        let blktrace: Vec<u8> = records
            .iter()
            .flat_map(|record| {
                let payload = [record[4] % 8, 0];
                [&[0x07, 0x74, 0x61, 0x65, 0, 0, 0, 0][..], record, &record[..6], &payload].concat()
            })
            .collect();
        let _ = read_bytes("t", &blktrace, &Options::default());
    }
}
