//! Are all events of ftrace and biosnoop read, with their operations, responses and devices? Are lines that do not fit
//! refused?

use wordline_trace::{Format, Op, Options, Request, Trace, read_bytes};

fn read(content: &str, pairs: &[&str]) -> Result<Trace, String> {
    let options = Options::from_pairs(pairs.iter().copied()).expect("valid options");
    read_bytes("t", content.as_bytes(), &options).map_err(|error| error.to_string())
}

/// A request in short: op, offset, size, FUA, response in microseconds.
fn shorts(trace: &Trace) -> Vec<(Op, u64, u64, bool, Option<u64>)> {
    let response = |request: &Request| request.response.map(|time| time.ns() / 1_000);
    let short =
        |request: &Request| (request.op, request.offset.0, request.size.0, request.fua, response(request));
    trace.requests.iter().map(short).collect()
}

/// Lines of the kernel's trace file, one event a microsecond.
fn ftrace(events: &[&str]) -> String {
    let line = |(n, event): (usize, &&str)| format!("  kworker/3:1H-31  [003] .....  7.{n:06}: {event}\n");
    events.iter().enumerate().map(line).collect()
}

#[test]
fn events_of_the_block_layer_give_requests_with_all_operations() {
    let text = ftrace(&[
        "block_bio_queue: 259,0 WFS 8 + 8 [db]",
        "nvme_setup_cmd: nvme0: disk=nvme0n1, qid=1, cmdid=7, nsid=1, flags=0x0, meta=0x0, cmd=(nvme_cmd_write slba=8, len=7, ctrl=0x4000, dsmgmt=0, reftag=0)",
        "block_rq_issue: 259,0 WFS 4096 () 8 + 8 be,0,4 [db]",
        "block_bio_queue: 259,0 FWS 0 + 0 [db]",
        "block_bio_queue: 259,0 WZS 32 + 8 [blkdiscard]",
        "block_bio_queue: 259,0 DS 64 + 128 [fstrim]",
        "block_rq_issue: 259,0 N 36 (12 00 00 00) 0 + 0 [udev]",
        "block_bio_queue: 259,0 NS 64 + 8 [old]",
        "block_rq_complete: 259,0 WFS () 8 + 8 be,0,4 [0]",
        "block_getrq: 259,0 R 8 + 8 [db]",
        "block_bio_queue: 259,0 R 2048 + 8 [(udev-worker)]",
    ]);
    let text = text.replacen("  kworker/3:1H-31 ", "  (udev-worker)-77 ", 1);
    let trace = read(&(text + "CPU:2 [LOST 12 EVENTS]\n"), &[]).expect("valid");
    assert_eq!(
        shorts(&trace),
        [
            (Op::Write, 4096, 4096, true, Some(8)),
            (Op::Flush, 0, 0, false, None),
            (Op::WriteZeroes, 16384, 4096, false, None),
            (Op::Discard, 32768, 65536, false, None),
            (Op::Read, 1 << 20, 4096, false, None),
        ]
    );
    assert!(trace.requests.iter().all(|request| request.cpu == Some(3) && request.device == 259 << 20));
    for note in [
        "times are those of queue events",
        "not simulated, left out: 1 passthrough command, 1 request of an operation without letters (N)",
        "1 line of the NVMe driver left out: they are of the same requests as those of the block layer",
        "1 line without a request left out",
        "the recorder lost 12 events: requests are missing",
    ] {
        assert!(trace.notes.iter().any(|found| found == note), "{note}: {:?}", trace.notes);
    }
}

#[test]
fn lines_of_trace_cmd_are_read_as_those_of_the_kernel() {
    let text = "version = 7\ncpus=4\n             fio-1234  [002]  5678.123456: block_rq_issue:       8,16 R 0 () 1000 + 16 [fio]\n\
                \x20         <idle>-0     [002]  5678.123556: block_rq_complete:    8,16 R () 1000 + 16 [0]\n";
    let trace = read(text, &[]).expect("valid");
    assert_eq!(trace.format, Format::Ftrace);
    assert_eq!(shorts(&trace), [(Op::Read, 512_000, 8192, false, Some(100))]);
    assert_eq!(trace.requests[0].cpu, Some(2));
}

#[test]
fn commands_of_the_nvme_driver_give_requests() {
    let setup = |cmdid: u32, command: &str| {
        format!(
            "nvme_setup_cmd: nvme0: disk=nvme0n1, qid=4, cmdid={cmdid}, nsid=1, flags=0x0, meta=0x0, cmd=({command})"
        )
    };
    let done =
        "nvme_complete_rq: nvme0: disk=nvme0n1, qid=4, cmdid=2, res=0x0, retries=0, flags=0x0, status=0x0";
    let events = [
        setup(1, "nvme_cmd_read slba=2, len=7, ctrl=0x0, dsmgmt=0, reftag=0"),
        setup(2, "nvme_cmd_write slba=16, len=0, ctrl=0x4000, dsmgmt=0, reftag=0"),
        setup(3, "nvme_cmd_flush cdw10=00 00 00 00"),
        setup(4, "nvme_cmd_dsm nr=1, attributes=4"),
        setup(5, "nvme_cmd_zone_append slba=64, len=3, ctrl=0x0, dsmgmt=0, reftag=0"),
        setup(6, "nvme_cmd_zone_mgmt_send slba=64, zsa=4, all=0"),
        "nvme_setup_cmd: nvme0: qid=0, cmdid=9, nsid=0, flags=0x0, meta=0x0, cmd=(nvme_admin_identify cns=1, ctrlid=0)".into(),
        done.into(),
    ];
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    let trace = read(&ftrace(&events), &["sector=4KiB"]).expect("valid");
    assert_eq!(
        shorts(&trace),
        [
            (Op::Read, 8192, 32768, false, None),
            (Op::Write, 65536, 4096, true, Some(6)),
            (Op::Flush, 0, 0, false, None),
            (Op::Write, 262_144, 16384, false, None),
        ]
    );
    let notes = trace.notes.join("; ");
    for part in [
        "blocks of NVMe commands were read as 4KiB (option sector)",
        "order of appearance: 0 \"nvme0n1\";",
        "1 zone append simulated as writes",
        "left out: 1 zone reset, 1 passthrough command, 1 deallocation without its ranges",
    ] {
        assert!(notes.contains(part), "{part}: {notes}");
    }
}

#[test]
fn events_that_are_cut_or_wrong_name_their_line() {
    let good = ftrace(&["block_rq_issue: 8,0 R 512 () 8 + 1 [a]"]);
    for (event, message) in [
        (
            "block_rq_issue: 8,0 R 512 () 8 + ",
            "found \"8,0 R 512 () 8 +\", wanted an event of major,minor RWBS",
        ),
        ("block_rq_issue: 8,0", "found \"8,0\", wanted an event of major,minor RWBS"),
        ("block_rq_issue: 8,0 R 512 () x + 1 [a]", "found sector \"x\", wanted a whole number"),
        ("block_rq_issue: sda R 512 () 8 + 1 [a]", "found \"sda R 512 () 8 + 1 [a]\", wanted an event of"),
    ] {
        let error = read(&(good.clone() + &ftrace(&[event])), &[]).expect_err(event);
        assert!(error.starts_with("t:2: ") && error.contains(message), "{error}");
    }
    let cut = "nvme_setup_cmd: nvme0: disk=nvme0n1, qid=4, cmdid=1, nsid=1, cmd=(nvme_cmd_read slba=2, le";
    let error = read(&ftrace(&[cut]), &["format=ftrace"]).expect_err("cut");
    assert!(error.contains("wanted an event of controller: disk=, qid=, cmdid="), "{error}");
    let error = read(&ftrace(&["nvme_setup_cmd: nvme0: disk=nvme0n1, qid=4"]), &[]).expect_err("cut");
    assert!(error.contains("found no cmdid in"), "{error}");
}

#[test]
fn biosnoop_is_read_with_and_without_queueing_times() {
    let text = "TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  QUE(ms) LAT(ms)\n\
                0.000500    dmcrypt_write/ 763    sda     W 8          4096     5.00    0.50\n\
                0.000700    a b c          763    sdb     FWFS 16      4096     5.00    0.10\n\
                0.000800    kworker/4:2    7497           R 18446744073709551615 8 0.01 0.53\n\
                0.000900    a              763    sda     WZ 24        4096     5.00    0.10\n";
    let trace = read(text, &["devices=keep"]).expect("valid");
    assert_eq!(
        shorts(&trace),
        [
            (Op::Write, 4096, 4096, false, Some(500)),
            (Op::Flush, 0, 0, false, None),
            (Op::Write, 8192, 4096, true, Some(100)),
            (Op::WriteZeroes, 12288, 4096, false, Some(100)),
        ]
    );
    let times: Vec<u64> = trace.requests.iter().map(|request| request.arrival.ps() / 1_000_000).collect();
    assert_eq!(times, [0, 600, 600, 800], "completion less latency");
    let notes = trace.notes.join("; ");
    assert!(
        notes.contains("0 \"sda\", 1 \"sdb\"") && notes.contains("left out: 1 passthrough command"),
        "{notes}"
    );
}

#[test]
fn output_of_biosnoop_without_sectors_or_with_damage_is_refused() {
    let header = "TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  LAT(ms)\n";
    for (content, message) in [
        (
            "TIME(s) COMM PID DISK T LAT(ms)\n1 a 7 sda R 0.1\n".into(),
            "t:1: found \"TIME(s) COMM PID DISK T LAT(ms)\", wanted a column SECTOR",
        ),
        (
            format!("{header}0.1 app 7 sda R 8\n"),
            "t:2: found 6 fields in \"0.1 app 7 sda R 8\", wanted 8 fields, as in the header",
        ),
        (
            format!("{header}0.1 app 7 sda R 8 4096 slow\n"),
            "t:2: found LAT(ms) \"slow\", wanted a decimal number, such as 12.5",
        ),
        (
            format!("{header}0.1 app 7 sda R 8 -1 0.1\n"),
            "t:2: found size \"-1\", wanted a whole number from 0 that fits 64 bits",
        ),
    ] {
        assert_eq!(read(&content, &[]).map(|trace| shorts(&trace)), Err(message.to_string()));
    }
}

#[test]
fn requests_of_virtual_disks_keep_their_responses_and_gaps() {
    let header = "Timestamp,Response,IOType,LUN,Offset,Size\n";
    let trace =
        read(&format!("{header}1455592200.5,0.000345000,W,4,4096,4096\n1455592200.6,,,4,0,512\n"), &[])
            .expect("valid");
    assert_eq!(shorts(&trace), [(Op::Write, 4096, 4096, false, Some(345))]);
    let notes = trace.notes.join("; ");
    assert!(notes.contains("left out: 1 request of an unknown operation"), "{notes}");
    let trace = read("1538323200,8,8,1,1360\n", &[]).expect("valid");
    assert!(trace.notes[0].starts_with("times are whole seconds"), "{:?}", trace.notes);
    let undated = "12,8,8,1,1360\n";
    assert!(read(undated, &[]).is_err_and(|error| error.contains("of no format known")));
    assert!(read(undated, &["format=tencent"]).is_ok());
    for (content, message) in [
        ("1538323200,8,8,2,1360\n", "t:1: found IOType \"2\", wanted 0 for a read or 1 for a write"),
        (
            "1538323200,8,8,1\n",
            "t:1: found 4 fields in \"1538323200,8,8,1\", wanted 5 fields: Timestamp,Offset,Size,IOType,VolumeID",
        ),
    ] {
        assert_eq!(read(content, &["format=tencent"]).map(|trace| shorts(&trace)), Err(message.to_string()));
    }
    let error = read("0,X,0,512,1577808000000046\n", &["format=alibaba"]).expect_err("no operation");
    assert_eq!(error, "t:1: found op \"X\", wanted a read or a write, as R or W or the word");
    let error = read(&format!("{header}1455592200.5,soon,W,4,4096,4096\n"), &[]).expect_err("no number");
    assert_eq!(error, "t:2: found response \"soon\", wanted a decimal number, such as 12.5");
}
