//! Is every recorded operation that no request equals counted and named, and does none become another in silence?

use wordline_trace::{Op, Options, Request, Trace, prepare, read_bytes};

fn read(content: &[u8], pairs: &[&str]) -> Trace {
    let options = Options::from_pairs(pairs.iter().copied()).expect("valid options");
    read_bytes("t", content, &options).unwrap_or_else(|error| panic!("{error}"))
}

/// A request in short: op, offset, size, FUA.
fn shorts(trace: &Trace) -> Vec<(Op, u64, u64, bool)> {
    let short = |request: &Request| (request.op, request.offset.0, request.size.0, request.fua);
    trace.requests.iter().map(short).collect()
}

/// Text of blkparse: each item is an action, its letters, and what follows.
fn blkparse(events: &[&str]) -> String {
    let line = |(n, event): (usize, &&str)| format!("  259,0 1 {n} 0.{n:06} 7 {event} [app]\n");
    events.iter().enumerate().map(line).collect()
}

#[test]
fn every_second_request_of_two_thousand_is_a_zone_append_and_becomes_a_write_with_a_note() {
    let events: Vec<String> = (0..2_000)
        .map(|n| if n % 2 == 0 { format!("Q R {} + 8", n * 8) } else { "Q ZA 524288 + 16".to_string() })
        .collect();
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    let trace = read(blkparse(&events).as_bytes(), &[]);
    let count = |op| trace.requests.iter().filter(|request| request.op == op).count();
    assert_eq!((count(Op::Read), count(Op::Write)), (1_000, 1_000));
    let note = "1,000 zone appends simulated as writes at the recorded address, the start of the zone (option \
                action=complete: at which the device wrote)";
    assert!(trace.notes.iter().any(|found| found == note), "{:?}", trace.notes);
}

#[test]
fn letters_of_every_operation_are_read_or_counted_by_the_event_that_gives_the_time() {
    let text = blkparse(&[
        "Q WS 0 + 8",
        "Q WZS 8 + 8",
        "Q DE 16 + 8",
        "Q FZAF 24 + 8",
        "Q FN",
        "Q ZR",
        "D ZR",
        "Q ZR 1024",
        "Q ZRA",
        "Q ZF",
        "Q ZO",
        "Q ZC",
        "Q NS 32 + 8",
        "Q YS 32 + 8",
        "Q W 40 + 0",
        "D R 36 (12 00 ..)",
        "C N 0",
        "P N",
    ]);
    let trace = read(text.as_bytes(), &[]);
    assert_eq!(
        shorts(&trace),
        [
            (Op::Write, 0, 4096, false),
            (Op::WriteZeroes, 4096, 4096, false),
            (Op::Discard, 8192, 4096, false),
            (Op::Flush, 0, 0, false),
            (Op::Write, 12288, 4096, true),
            (Op::Flush, 0, 0, false),
        ]
    );
    let left_out = "not simulated, left out: 2 zone resets, 1 reset of all zones, 1 zone finish, 1 zone open, 1 zone \
                    close, 1 passthrough command, 1 request of an operation without letters (N), 1 request of an unknown \
                    operation, 1 request without data";
    for note in ["1 secure erase simulated as discards", left_out] {
        assert!(trace.notes.iter().any(|found| found == note), "{:?}", trace.notes);
    }
}

#[test]
fn zone_operations_that_are_kept_are_requests_to_their_zones() {
    let events = [
        "Q ZA 524288 + 16",
        "C ZA 524296 + 16",
        "Q ZR 1048576",
        "C ZR 1048576",
        "Q ZF 8",
        "Q ZO 16",
        "Q ZC 24",
        "Q ZRA",
    ];
    let trace = read(blkparse(&events).as_bytes(), &["zones=keep"]);
    let wanted = [
        (Op::ZoneAppend, 524_288 * 512, 8192, false),
        (Op::ZoneReset, 1_048_576 * 512, 0, false),
        (Op::ZoneFinish, 8 * 512, 0, false),
        (Op::ZoneOpen, 16 * 512, 0, false),
        (Op::ZoneClose, 24 * 512, 0, false),
    ];
    assert_eq!(shorts(&trace), wanted);
    assert!(trace.requests[1].response.is_some(), "the completion of a reset gives its response time");
    assert!(
        trace.notes.iter().any(|note| note == "not simulated, left out: 1 reset of all zones"),
        "{:?}",
        trace.notes
    );
    let record = [
        record(false, 10, 2048, 4096, action(1, &[WRITE, 16]), 0),
        record(false, 20, 4096, 0, action(1, &[WRITE, 17]), 0),
    ]
    .concat();
    let wanted = [(Op::ZoneAppend, 2048 * 512, 4096, false), (Op::ZoneReset, 4096 * 512, 0, false)];
    assert_eq!(shorts(&read(&record, &["zones=keep"])), wanted);
    assert_eq!(shorts(&read(&record, &[])), [(Op::Write, 2048 * 512, 4096, false)]);
    let nvme = "a-1 [000] .... 1.000000: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=1, cmdid=2, nsid=1, flags=0x0, \
                meta=0x0, cmd=(nvme_cmd_zone_mgmt_send slba=4096, zsa=4, all=0)\n";
    let options = ["zones=keep", "address_unit=4KiB", "size_unit=4KiB"];
    assert_eq!(shorts(&read(nvme.as_bytes(), &options)), [(Op::ZoneReset, 4096 * 4096, 0, false)]);
}

#[test]
fn zone_operations_of_a_csv_are_kept_or_mapped() {
    let text = "t_us,op,offset,size\n0,ZA,0,4096\n1,ZR,0,0\n2,W,4096,4096\n3,ZF,0,0\n";
    let all = [Op::ZoneAppend, Op::ZoneReset, Op::Write, Op::ZoneFinish];
    let ops = |trace: &Trace| trace.requests.iter().map(|request| request.op).collect::<Vec<_>>();
    assert_eq!(ops(&read(text.as_bytes(), &[])), all);
    assert_eq!(ops(&read(text.as_bytes(), &["zones=keep"])), all);
    let mapped = read(text.as_bytes(), &["zones=map"]);
    assert_eq!(ops(&mapped), [Op::Write, Op::Write]);
    let notes = mapped.notes.join("; ");
    assert!(notes.contains("1 zone append simulated as writes at the recorded address; "), "{notes}");
    assert!(notes.contains("left out: 1 zone reset, 1 zone finish"), "{notes}");
}

#[test]
fn what_is_left_out_of_another_device_is_not_counted() {
    let text = "8,0 1 1 0.1 7 Q ZR [a]\n8,16 1 2 0.2 7 Q ZR [a]\n8,16 1 3 0.3 7 Q R 8 + 8 [a]\n";
    let notes = read(text.as_bytes(), &["device=8388624"]).notes.join("; ");
    assert!(notes.contains("left out: 1 zone reset"), "{notes}");
}

/// A record of version 8, with a payload of `payload` bytes.
fn record(big: bool, ns: u64, sector: u64, bytes: u32, action: u64, payload: u16) -> Vec<u8> {
    let word = |value: u32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let long = |value: u64| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let half = |value: u16| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let mut record = [word(0x6561_7408), word(1)].concat();
    record.extend([long(ns), long(sector)].concat());
    record.extend([word(bytes), word(99)].concat());
    record.extend(long(action));
    record.extend([word(8 << 20 | 16), word(3)].concat());
    record.extend([half(0), half(payload)].concat());
    record.extend([0; 12]);
    assert_eq!(record.len(), 64);
    record.extend(vec![0xaa; usize::from(payload)]);
    record
}

/// An action word: an event (1 queue, 7 issue, 8 complete) and bits of categories.
fn action(event: u64, categories: &[u32]) -> u64 {
    categories.iter().fold(event, |word, bit| word | 1 << (16 + bit))
}

const WRITE: u32 = 1;
const FLUSH: u32 = 2;
const COMPLETED: u32 = 7;
const COMMAND: u32 = 9;
const FUA: u32 = 15;
const APPEND: u32 = 16;
const RESET: u32 = 17;
const ZEROES: u32 = 22;

/// A reset, an append that is completed elsewhere, write zeroes and a read.
fn zoned(big: bool) -> Vec<u8> {
    [
        record(big, 1_000, 1 << 20, 0, action(1, &[WRITE, RESET]), 8),
        record(big, 2_000, 1 << 20, 8192, action(1, &[WRITE, APPEND, FUA]), 0),
        record(big, 3_000, 1 << 20, 8192, action(7, &[WRITE, APPEND, FUA]), 0),
        record(big, 4_000, (1 << 20) + 64, 8192, action(8, &[WRITE, APPEND]), 0),
        record(big, 4_000, (1 << 20) + 64, 8192, action(8, &[WRITE, APPEND, COMPLETED]), 0),
        record(big, 5_000, 16, 4096, action(1, &[WRITE, ZEROES]), 0),
        record(big, 6_000, 8, 4096, action(1 << 8 | 1, &[0]), 8),
        record(big, 6_500, 0, 36, action(7, &[0, COMMAND]), 0),
        record(big, 7_000, 0, 0, action(1, &[WRITE, FLUSH]), 0),
        record(big, 9_000, 8, 4096, action(8, &[0, COMPLETED]), 0),
    ]
    .concat()
}

#[test]
fn records_of_version_8_name_zone_commands_and_write_zeroes() {
    for big in [false, true] {
        let trace = read(&zoned(big), &[]);
        assert_eq!(
            shorts(&trace),
            [
                (Op::Write, 512 << 20, 8192, true),
                (Op::WriteZeroes, 8192, 4096, false),
                (Op::Read, 4096, 4096, false),
                (Op::Flush, 0, 0, false),
            ]
        );
        let responses: Vec<_> =
            trace.requests.iter().map(|request| request.response.map(|time| time.ns())).collect();
        assert_eq!(responses, [None, None, Some(3_000), None], "an append completes at another address");
        assert!(trace.requests.iter().all(|request| request.cpu == Some(3)));
        let notes = trace.notes.join("; ");
        assert!(notes.contains("1 zone append simulated as writes at the recorded address"), "{notes}");
        assert!(notes.contains("left out: 1 zone reset, 1 passthrough command"), "{notes}");
        let trace = read(&zoned(big), &["action=complete"]);
        let end = (512 << 20) + 64 * 512;
        assert_eq!(shorts(&trace), [(Op::Write, end, 8192, false), (Op::Read, 4096, 4096, false)]);
        let note = "1 zone append simulated as writes at the address at which the device wrote the data";
        assert!(trace.notes.iter().any(|found| found == note), "{:?}", trace.notes);
    }
}

#[test]
fn an_archive_of_both_versions_reads_as_its_files() {
    let mut old = vec![0_u8; 48];
    old[..4].copy_from_slice(&0x6561_7407_u32.to_le_bytes());
    old[8..16].copy_from_slice(&500_u64.to_le_bytes());
    old[24..28].copy_from_slice(&512_u32.to_le_bytes());
    old[28..32].copy_from_slice(&(1_u32 << 17 | 1).to_le_bytes());
    old[36..40].copy_from_slice(&(8_u32 << 20 | 16).to_le_bytes());
    let events = [old, zoned(false)].concat();
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_ustar();
    header.set_size(events.len() as u64);
    header.set_mode(0o644);
    builder.append_data(&mut header, "sda.blktrace.0", events.as_slice()).expect("memory suffices");
    let archive = builder.into_inner().expect("memory suffices");
    let (alone, packed) = (read(&events, &[]), read(&archive, &[]));
    assert_eq!(alone.requests, packed.requests);
    assert_eq!(alone.requests.len(), 5);
    let of_events = |trace: &Trace| {
        trace.notes.iter().filter(|note| note.contains("simulated")).cloned().collect::<Vec<_>>()
    };
    assert_eq!(of_events(&alone), of_events(&packed));
    assert_eq!(of_events(&alone).len(), 2);
}

#[test]
fn an_error_about_a_request_of_merged_files_names_the_file_and_the_record() {
    let folder = tempfile::tempdir().expect("a folder");
    let reads = |times: &[u64]| -> Vec<u8> {
        let read = |ns: &u64| record(false, *ns, *ns / 8, 4096, action(1, &[0]), 0);
        times.iter().flat_map(read).collect()
    };
    // A file whose first record is no request, and another whose second request is the third of all.
    let first = [record(false, 0, 0, 0, action(2, &[0]), 0), reads(&[1_000, 8_000])].concat();
    let parts = [("sda.blktrace.0", first), ("sda.blktrace.1", reads(&[2_000, 4_000, 9_000]))];
    let mut builder = tar::Builder::new(Vec::new());
    for (name, events) in &parts {
        std::fs::write(folder.path().join(name), events).expect("it is written");
        let mut header = tar::Header::new_ustar();
        header.set_size(events.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, events.as_slice()).expect("memory suffices");
    }
    let other = tempfile::tempdir().expect("a folder");
    let archive = other.path().join("t.tar");
    std::fs::write(&archive, builder.into_inner().expect("memory suffices")).expect("it is written");
    for trace in [folder.path(), &archive] {
        let locator = prepare(trace, &Options::default(), None, &mut |_| {}).expect("a trace").locator;
        let error = |number| locator.as_ref().and_then(|it| it.error(number, "a read", "another"));
        for (number, place) in [(3, "sda.blktrace.1:2"), (4, "sda.blktrace.0:3")] {
            let record = &place[place.len() - 1..];
            let wanted = format!(
                "{}/{place}: found a read (request {number}, record {record}), wanted another",
                trace.display()
            );
            assert_eq!(error(number).expect("it is there").to_string(), wanted);
        }
        assert!(error(6).is_none(), "there are five");
    }
}

#[test]
fn writes_of_zeroes_are_left_out_on_request_with_a_note() {
    let text = blkparse(&["Q WZS 8 + 8", "Q R 0 + 8", "Q WZ 16 + 8"]);
    let trace = read(text.as_bytes(), &["write_zeroes=skip"]);
    assert_eq!(shorts(&trace), [(Op::Read, 0, 4096, false)]);
    let note = "2 writes of zeroes left out (write_zeroes=skip)";
    assert!(trace.notes.iter().any(|found| found == note), "{:?}", trace.notes);
    assert_eq!(read(text.as_bytes(), &[]).requests.len(), 3);
}
