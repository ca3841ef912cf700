//! Does each reader parse a few lines of its format, does detection find the format, and do options set what
//! the format leaves open? All lines here are made up.

use wordline_trace::{Format, Op, Options, Request, Trace, open_with_progress, prepare, read, read_bytes};

fn options(pairs: &[&str]) -> Options {
    Options::from_pairs(pairs.iter().copied()).expect("valid options")
}

fn parse(content: &str, pairs: &[&str]) -> Trace {
    read_bytes("t", content.as_bytes(), &options(pairs)).unwrap_or_else(|error| panic!("{error}\n{content}"))
}

/// A request in short: nanoseconds, op, device, offset, size.
fn short(request: &Request) -> (u64, Op, u32, u64, u64) {
    let Request { arrival, op, device, offset, size, .. } = *request;
    (arrival.ps() / 1_000, op, device, offset.0, size.0)
}

fn shorts(trace: &Trace) -> Vec<(u64, Op, u32, u64, u64)> {
    trace.requests.iter().map(short).collect()
}

fn responses_ns(trace: &Trace) -> Vec<Option<u64>> {
    trace.requests.iter().map(|request| request.response.map(|time| time.ns())).collect()
}

const KEEP: &[&str] = &["devices=keep"];

const BLKPARSE: &str = "\
  8,16   3        1     0.500000000   100  Q   R 1000 + 8 [app]
  8,16   3        2     0.500001000   100  G   R 1000 + 8 [app]
  8,16   3        3     0.500002000   100  I   R 1000 + 8 [app]
  8,16   3        4     0.500003000   100  D   R 1000 + 16 [app]
  8,16   1        1     0.500000500   101  Q   R 1008 + 8 [app]
  8,16   1        2     0.500010000   101  Q FWFS 2000 + 8 [log]
  8,16   1        3     0.500020000   101  Q FWFS [log]
  8,16   1        4     0.500030000   101  Q  DS 4096 + 64 [trim]
  8,16   1        5     0.500040000   101  m   N a message
  8,16   1        6     0.500050000   101  D   N 36 (12 00 ..) [probe]
  8,16   3        5     0.500103000     0  C   R 1000 + 16 [0]
CPU1 (8,16):
 Reads Queued:           2,        8KiB\t Writes Queued:           1,        4KiB
Throughput (R/W): 1KiB/s / 1KiB/s
Events (8,16): 11 entries
Skips: 0 forward (0 -   0.0%)
";

/// One sample of every text format, with the requests it holds.
type Sample = (Format, &'static str, &'static [&'static str], Vec<(u64, Op, u32, u64, u64)>);

fn samples() -> Vec<Sample> {
    [simulators(), linux_tools(), other_tools(), recorders(), clouds()].concat()
}

/// The two requests that most samples hold.
fn two() -> Vec<(u64, Op, u32, u64, u64)> {
    vec![(0, Op::Write, 0, 4096, 4096), (1_500_000, Op::Read, 0, 8192, 512)]
}

/// CSV and the columns that simulators read.
fn simulators() -> Vec<Sample> {
    use Op::{Flush, Read, Write};
    vec![
        (Format::Csv, "t_us,op,offset,size\n10,W,4096,4096\n1510,r,8192,512\n", KEEP, two()),
        (
            Format::Csv,
            "# a comment\nsize,fua,op,lba,t_ns,dev,resp_us,colour\n512,1,write,8,5,3,7.5,red\n0,,flush,0,9,3,,\n",
            KEEP,
            vec![(0, Write, 3, 4096, 512), (4, Flush, 3, 0, 0)],
        ),
        (
            Format::Msr,
            "128166372000000000,web,0,Write,4096,4096,99\n128166372000015000,web,0,Read,8192,512,10\n",
            KEEP,
            two(),
        ),
        (
            Format::Msr,
            "128166372000000000,a,1,Write,0,512,1\n128166372000000001,b,2,Read,0,512,1\n",
            KEEP,
            vec![(0, Write, 1, 0, 512), (100, Read, 65536 + 2, 0, 512)],
        ),
        (Format::Spc, "0,8,4096,W,0.000000\n0,16,512,r,0.001500\n", KEEP, two()),
        (Format::Disksim, "3 0 8 8 0\n4.5\t0\t16\t1\t1\n", KEEP, two()),
        (Format::Mqsim, "100 0 8 8 0\n1500100 0 16 1 1\n", KEEP, two()),
        (Format::Ssdsim, "100 0 8 8 0 abcdef\n1500100 0 16 1 1 abcdef\n", KEEP, two()),
    ]
}

/// Samples in the formats of tools around the Linux block layer.
fn linux_tools() -> Vec<Sample> {
    use Op::{Discard, Flush, Read, Write};
    let block = (8 << 20) + 16;
    vec![
        (
            Format::Blkparse,
            BLKPARSE,
            KEEP,
            vec![
                (0, Read, block, 512_000, 4096),
                (500, Read, block, 516_096, 4096),
                (10_000, Flush, block, 0, 0),
                (10_000, Write, block, 1_024_000, 4096),
                (20_000, Flush, block, 0, 0),
                (30_000, Discard, block, 2_097_152, 32_768),
            ],
        ),
        (
            Format::Blkparse,
            BLKPARSE,
            &["devices=keep", "action=issue"],
            vec![(0, Read, block, 512_000, 8192)],
        ),
        (
            Format::Most,
            "  0.000000000\tQ\tW\t8\t  8\t1\tapp\tM\n  0.001500000\tQ\tRA\t16\t 1\t1\tapp\tD\t/a/file\n",
            KEEP,
            two(),
        ),
        (
            Format::Fiu,
            "./PaxHeaders.1/x 0000644 ustar\n28 ctime=1410563671.7201132\n\0\0\0\n\
             1000 7 app 8 8 W 8 1 0123456789abcdef0123456789abcdef\n\
             1501000 7 app 16 1 R 8 1 0123456789abcdef0123456789abcdef\n",
            KEEP,
            vec![(0, Write, (8 << 20) + 1, 4096, 4096), (1_500_000, Read, (8 << 20) + 1, 8192, 512)],
        ),
    ]
}

/// Samples in the formats of other tools.
fn other_tools() -> Vec<Sample> {
    use Op::{Discard, Flush};
    vec![
        (
            Format::FioIolog,
            "fio version 2 iolog\n/dev/x add\n/dev/x open\n/dev/x write 4096 4096\n/dev/x wait 1000 0\n\
             /dev/x wait 500 0\n/dev/x read 8192 512\n/dev/x close\n",
            KEEP,
            two(),
        ),
        (
            Format::FioIolog,
            "fio version 3 iolog\n1 /a add\n2 /a open\n100 /a trim 4096 4096\n200 /b sync 0 0\n300 /a close\n",
            KEEP,
            vec![(0, Discard, 0, 4096, 4096), (100_000, Flush, 1, 0, 0)],
        ),
        (
            Format::Biotracer,
            "16\t\t1\t\t512\t\t4\t\t7.0015\t\t7.0016\t\t7.0017\t\t7.002\n8 8 4096 5 7.0 7.1 7.2 7.3\n",
            KEEP,
            two(),
        ),
        (
            Format::Hfplayer,
            "#DUMP_OFFSET.I,ELAPSED_USECS.D,CMD.S,LBA.I,NBLKS.I,LATENCY_USECS.D\n\
             1,100.0,WR_IN,8,8,56.9\n2,1600.0,RD_IN,16,1,10\n",
            KEEP,
            two(),
        ),
        (
            Format::Wiscsee,
            "9 D write 4096 4096 0.1 0.0 True\n9 D read -4096 4096 0.1001 0.0 False\n\
             9 D read 8192 512 0.1015 0.0 False\n",
            KEEP,
            two(),
        ),
    ]
}

/// Samples of recorders of the Linux kernel.
fn recorders() -> Vec<Sample> {
    use Op::{Read, Write};
    let disk = (259 << 20) + 1;
    vec![
        (
            Format::Ftrace,
            "# tracer: nop\n#\n  a b-7  [003] d..1.  10.000001: sched_switch: prev_comm=a\n\
             \u{20}   a b-7  [003] .....  10.000002: block_rq_issue: 259,1 WS 4096 () 8 + 8 be,0,4 [a b]\n\
             \u{20} <idle>-0  [003] d.h1.  10.000502: block_rq_complete: 259,1 WS () 8 + 8 be,0,4 [0]\n\
             \u{20}   a b-7  [003] .....  10.001502: block_rq_issue: 259,1 RA 512 () 16 + 1 [a b]\n",
            KEEP,
            vec![(0, Write, disk, 4096, 4096), (1_500_000, Read, disk, 8192, 512)],
        ),
        (
            Format::Biosnoop,
            "TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  LAT(ms)\n\
             0.000010    jbd2/md 2-8    394    nvme1n1 W 8          4096   0.01\n\
             0.001600    app            394    nvme1n1 R 16         512    0.10\n",
            KEEP,
            two(),
        ),
    ]
}

/// Samples of published traces of virtual disks.
fn clouds() -> Vec<Sample> {
    use Op::{Read, Write};
    vec![
        (
            Format::Systor,
            "Timestamp,Response,IOType,LUN,Offset,Size\n1455592200.000000000,0.000345000,W,0,4096,4096\n\
             1455592200.001500000,,R,0,8192,512\n",
            KEEP,
            two(),
        ),
        (
            Format::Systor,
            "1455592200.000000000,0.000345000,W,4,4096,4096\n",
            KEEP,
            vec![(0, Write, 4, 4096, 4096)],
        ),
        (
            Format::Tencent,
            "1538323200,8,8,1,1360\n1538323201,16,1,0,7\n",
            KEEP,
            vec![(0, Write, 1360, 4096, 4096), (1_000_000_000, Read, 7, 8192, 512)],
        ),
        (Format::Alibaba, "0,W,4096,4096,1577808000000046\n0,R,8192,512,1577808000001546\n", KEEP, two()),
    ]
}

#[test]
fn every_text_format_is_found_by_content_and_read() {
    for (format, content, pairs, wanted) in samples() {
        let trace = parse(content, pairs);
        assert_eq!((trace.format, shorts(&trace)), (format, wanted), "{content}");
    }
}

#[test]
fn a_named_format_reads_the_same() {
    for (format, content, pairs, wanted) in samples() {
        let mut options = options(pairs);
        options.format = Some(format);
        let trace = read_bytes("t", content.as_bytes(), &options).expect(content);
        assert_eq!(shorts(&trace), wanted, "{content}");
    }
}

#[test]
fn every_format_survives_windows_line_ends_and_compression() {
    for (format, content, pairs, wanted) in samples() {
        let content = content.replace('\n', "\r\n");
        let zstd = zstd::encode_all(content.as_bytes(), 0).expect("memory suffices");
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut gzip, content.as_bytes()).expect("memory suffices");
        let gzip = gzip.finish().expect("memory suffices");
        for bytes in [content.as_bytes(), &zstd, &gzip] {
            let trace = read_bytes("t", bytes, &options(pairs)).expect(&content);
            assert_eq!((trace.format, shorts(&trace)), (format, wanted.clone()), "{content}");
        }
    }
}

#[test]
fn blank_lines_and_comments_above_a_file_are_ignored_in_every_format() {
    for (format, content, pairs, wanted) in samples() {
        let content = format!("\n# a comment\n  \n{content}");
        let trace = parse(&content, pairs);
        assert_eq!((trace.format, shorts(&trace)), (format, wanted), "{content}");
    }
}

#[test]
fn the_address_of_a_flush_is_none_of_the_trace() {
    let content = "t_us,op,offset,size\n0,W,0,4096\n1,F,1000000000000,4096\n2,R,8192,4096\n";
    assert_eq!(shorts(&parse(content, &[]))[1], (1_000, Op::Flush, 0, 0, 0));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("t.csv");
    std::fs::write(&path, content).expect("it can be written");
    let prepared = prepare(&path, &Options::default(), None, &mut |_| {}).expect("valid");
    assert_eq!(prepared.survey.extent.0, 12_288);
}

#[test]
fn recorded_responses_are_kept() {
    assert_eq!(
        responses_ns(&parse("t_us,op,offset,size,resp_ns\n1,R,0,512,\n2,R,0,512,77\n", &[])),
        [None, Some(77)]
    );
    assert_eq!(responses_ns(&parse("1,a,0,Read,0,512,30\n", &[])), [Some(3_000)]);
    assert_eq!(responses_ns(&parse("0 1 512 0 1.0 1.1 1.2 1.25\n", &[])), [Some(250_000_000)]);
    // The two reads were merged into one command. Its completion completes both.
    assert_eq!(responses_ns(&parse(BLKPARSE, &[]))[..2], [Some(103_000), Some(102_500)]);
    assert_eq!(responses_ns(&parse(BLKPARSE, &["action=issue"])), [Some(100_000)]);
}

#[test]
fn forced_unit_access_is_kept() {
    let trace = parse(BLKPARSE, &[]);
    let fua: Vec<bool> = trace.requests.iter().map(|request| request.fua).collect();
    assert_eq!(fua, [false, false, false, true, false, false]);
    assert!(parse("t_s,op,offset,size,fua\n0,W,0,512,true\n", &[]).requests[0].fua);
}

#[test]
fn options_set_the_units_that_a_format_leaves_open() {
    use Op::{Read, Write};
    for (content, pairs, wanted) in [
        (
            "0 0 8 2 0\n5 0 16 1 1\n",
            &["time_unit=us", "size_unit=4KiB"][..],
            [(0, 4096, 8192), (5_000, 8192, 4096)],
        ),
        ("0 0 8 2 0\n5 0 16 1 1\n", &["sector=4KiB"], [(0, 32768, 8192), (5, 65536, 4096)]),
        ("0.0 0 8 2 0\n5 0 16 1 1\n", &["sector=1B"], [(0, 8, 2), (5_000_000, 16, 1)]),
        (
            "t,op,lba,sectors\n0,W,1,2\n5,R,3,1\n",
            &["time_unit=s", "sector=4KiB"],
            [(0, 4096, 8192), (5_000_000_000, 12288, 4096)],
        ),
        ("0 0 8 2 0\n5 0 16 1 1\n", &["format=disksim"], [(0, 4096, 1024), (5_000_000, 8192, 512)]),
    ] {
        let trace = parse(content, pairs);
        let [(t0, o0, s0), (t1, o1, s1)] = wanted;
        assert_eq!(shorts(&trace), [(t0, Write, 0, o0, s0), (t1, Read, 0, o1, s1)], "{pairs:?}");
    }
}

#[test]
fn several_devices_are_stacked_unless_kept_or_filtered() {
    let content = "0 5 8 8 0\n1 2 16 8 1\n";
    assert_eq!(shorts(&parse(content, &[]))[0].3, (1 << 20) + 4096);
    assert_eq!(shorts(&parse(content, &[]))[1].3, 8192);
    assert_eq!(shorts(&parse(content, &["device=5"])), [(0, Op::Write, 5, 4096, 4096)]);
}

/// A VSCSI record of version 1 or 2.
fn vscsi(version: u8, command: u16, block: u64, bytes: u32, us: u64) -> Vec<u8> {
    let mut record = Vec::new();
    let head = [7_u32.to_le_bytes(), bytes.to_le_bytes(), 1_u32.to_le_bytes()].concat();
    let kind = [command.to_le_bytes(), [0, version]].concat();
    record.extend(if version == 1 { [head, kind].concat() } else { [kind, head].concat() });
    record.extend([block.to_le_bytes(), us.to_le_bytes()].concat());
    if version == 2 {
        record.extend(250_u64.to_le_bytes());
    }
    record
}

#[test]
fn vscsi_records_of_both_versions_are_read() {
    for version in [1, 2] {
        let records = [
            vscsi(version, 0x2a, 8, 4096, 9_000_000),
            vscsi(version, 0x28, 16, 512, 9_001_500),
            vscsi(version, 0x12, 0, 96, 9_001_500),
            vscsi(version, 0x35, 0, 0, 9_001_501),
        ];
        let trace = read_bytes("t", &records.concat(), &Options::default()).expect("whole records");
        assert_eq!(trace.format, Format::Vscsi);
        assert_eq!(
            shorts(&trace),
            [
                (0, Op::Write, 0, 4096, 4096),
                (1_500_000, Op::Read, 0, 8192, 512),
                (1_501_000, Op::Flush, 0, 0, 0)
            ]
        );
        assert_eq!(trace.notes, ["not simulated, left out: 1 INQUIRY (0x12)"]);
        assert_eq!(responses_ns(&trace)[0], (version == 2).then_some(250_000));
    }
}

/// A blktrace record with a payload of `payload` bytes.
fn blk_record(big: bool, ns: u64, sector: u64, bytes: u32, action: u32, payload: u16) -> Vec<u8> {
    let word = |value: u32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let long = |value: u64| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let half = |value: u16| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let mut record = [word(0x6561_7407), word(1)].concat();
    record.extend([long(ns), long(sector)].concat());
    record.extend([word(bytes), word(action), word(99), word(8 << 20 | 16), word(0)].concat());
    record.extend([half(0), half(payload)].concat());
    record.extend(vec![0xaa; usize::from(payload)]);
    record
}

const QUEUE_READ: u32 = 1 << 16 | 1;
const QUEUE_WRITE_FUA: u32 = (1 << 1 | 1 << 15) << 16 | 1;
const ISSUE_READ: u32 = 1 << 16 | 7;
const COMPLETE_READ: u32 = 1 << 16 | 8;
const MESSAGE: u32 = (1 << 10) << 16 | 2;

/// Files of two processors: a read from queue to completion on one, a write on the other.
fn processors(big: bool) -> [Vec<u8>; 2] {
    [
        [
            blk_record(big, 0, 0, 0, MESSAGE, 5),
            blk_record(big, 1_000, 8, 4096, QUEUE_READ, 3),
            blk_record(big, 3_000, 8, 4096, ISSUE_READ, 0),
            blk_record(big, 9_000, 8, 4096, COMPLETE_READ, 0),
        ]
        .concat(),
        blk_record(big, 2_000, 64, 512, QUEUE_WRITE_FUA, 0),
    ]
}

fn check_processors(trace: &Trace) {
    let device = 8 << 20 | 16;
    assert_eq!(trace.format, Format::Blktrace);
    assert_eq!(shorts(trace), [(0, Op::Read, device, 4096, 4096), (1_000, Op::Write, device, 32768, 512)]);
    assert_eq!(responses_ns(trace), [Some(8_000), None]);
    assert!(trace.requests[1].fua && !trace.requests[0].fua);
}

#[test]
fn block_tracer_files_of_either_byte_order_are_merged_by_time() {
    for big in [false, true] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let [first, second] = processors(big);
        std::fs::write(folder.path().join("sda.blktrace.0"), first).expect("writable");
        let packed = zstd::encode_all(second.as_slice(), 0).expect("memory suffices");
        std::fs::write(folder.path().join("sda.blktrace.1.zst"), packed).expect("writable");
        std::fs::write(folder.path().join("sda.blktrace.2"), "").expect("writable");
        std::fs::write(folder.path().join("notes.txt"), "not a trace").expect("writable");
        check_processors(&read(folder.path(), &Options::default()).expect("a trace"));
    }
}

fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, content) in members {
        let mut header = tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, *content).expect("memory suffices");
    }
    builder.into_inner().expect("memory suffices")
}

#[test]
fn an_archive_of_block_tracer_files_is_read_plain_and_compressed() {
    let [first, second] = processors(false);
    let tar = archive(&[("x/README", b"words"), ("x/sda.blktrace.0", &first), ("x/sda.blktrace.1", &second)]);
    check_processors(&read_bytes("t.tar", &tar, &Options::default()).expect("a trace"));
    let packed = zstd::encode_all(tar.as_slice(), 0).expect("memory suffices");
    check_processors(&read_bytes("t.tar.zst", &packed, &options(&["format=blktrace"])).expect("a trace"));
    let error =
        read_bytes("t.tar", &archive(&[("README", b"words")]), &Options::default()).expect_err("no parts");
    assert_eq!(
        error.to_string(),
        "t.tar: found an archive without files of the block tracer, wanted members named like sda.blktrace.0"
    );
    let cut = &tar[..tar.len() - 1024 - 512 + 20];
    let error = read_bytes("t.tar", cut, &Options::default()).expect_err("cut off").to_string();
    assert!(error.starts_with("t.tar/x/sda.blktrace.1:1: found an early end of the data"), "{error}");
}

#[test]
fn how_far_an_archive_is_read_is_told_before_its_first_request() {
    let [first, second] = processors(false).map(|events| events.repeat(4_000));
    let tar = archive(&[("sda.blktrace.0", &first), ("sda.blktrace.1", &second)]);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("t.tar");
    std::fs::write(&path, &tar).expect("writable");
    let length = Some(tar.len() as u64);
    let mut told = Vec::new();
    let stream =
        open_with_progress(&path, &Options::default(), &mut |progress| told.push(progress)).expect("a trace");
    assert!(told.len() > 2 && told.is_sorted_by_key(|progress| progress.bytes), "{told:?}");
    assert!(told[0].bytes < tar.len() as u64 && told.iter().all(|progress| progress.of == length));
    assert_eq!(stream.progress().of, length, "and it stays there");
    let count = told.len();
    prepare(&path, &Options::default(), Some(1), &mut |progress| told.push(progress)).expect("a trace");
    assert!(told.len() >= 2 * count);
}

#[test]
fn a_single_processors_file_is_read_with_a_note() {
    let trace = read_bytes("sda.blktrace.0", &processors(false)[0], &Options::default()).expect("a trace");
    assert_eq!(trace.requests.len(), 1);
    assert!(
        trace.notes.iter().any(|note| note.starts_with("one processor's file alone")),
        "{:?}",
        trace.notes
    );
}

#[test]
fn what_was_passed_over_is_noted() {
    let notes = |content: &str| parse(content, &[]).notes.join("; ");
    assert!(notes(samples()[1].1).contains("ignored columns: \"colour\""));
    let fiu = "\0\0\n28 ctime=1.5\n1 7 app 8 8 W 8 1 0123456789abcdef\n";
    assert!(notes(fiu).contains("2 lines of tar headers"));
    assert!(notes("0 0 8 8 0\n1 0 8 0 1\n").contains("1 request of 0 bytes left out"));
    assert!(notes("0 0 8 8 0\n1 0 8 8 1").contains("line 2, the last, has no line end"));
    assert!(
        notes("9 D read -1 1 0 0 True\n9 D read 1 1 0 0 True\n")
            .contains("1 requests with a negative offset")
    );
    assert!(notes("fio version 2 iolog\n/a read 0 512\n").contains("the log has no times"));
}

#[test]
fn sectors_that_look_like_bytes_are_noted() {
    let bytes = "0 0 1048576 65536 0\n1 0 4096 512 1\n";
    let said = |content: &str, pairs: &[&str]| {
        parse(content, pairs).notes.iter().any(|note| note.contains("address_unit=1B and size_unit=1B"))
    };
    for format in ["format=disksim", "format=mqsim", "format=ssdsim"] {
        assert!(said(bytes, &[format]), "{format}");
        assert!(!said(bytes, &[format, "address_unit=1B", "size_unit=1B"]), "{format}: the user knows");
    }
    assert!(!said(&bytes.replace("4096", "4095"), &[]), "an address is no multiple of 512");
    assert!(!said(&bytes.replace("65536", "32768"), &[]), "16 MiB are believed");
}

#[test]
fn a_request_of_blkparse_has_its_processor() {
    let processors: Vec<_> = parse(BLKPARSE, KEEP).requests.iter().map(|request| request.cpu).collect();
    assert_eq!(processors[..2], [Some(3), Some(1)]);
    let csv = "t_ns,op,offset,size,cpu,stream\n0,W,0,512,7,3\n1,Z,0,512,,\n";
    let requests = parse(csv, &[]).requests;
    assert_eq!((requests[0].cpu, requests[0].stream, requests[1].cpu), (Some(7), 3, None));
    assert_eq!(requests[1].op, Op::WriteZeroes);
}

#[test]
fn a_stream_beyond_255_is_refused() {
    let csv = "t_ns,op,offset,size,stream\n0,W,0,512,256\n";
    let error = read_bytes("t", csv.as_bytes(), &options(&[])).expect_err("one byte").to_string();
    assert!(error.contains("t:2: found stream \"256\", wanted a whole number from 0 to 255"), "{error}");
}

/// A line of blkparse for the `n`th microsecond.
fn event(n: u64, action: &str, sector: u64) -> String {
    format!("8,16 0 {n} {}.{:09} 1 {action} R {sector} + 8 [app]\n", n / 1_000_000, n % 1_000_000 * 1_000)
}

#[test]
fn events_of_an_earlier_kind_that_come_after_the_first_window_are_counted() {
    let window = 1_024;
    let late = |count: u64| {
        let issued: String = (0..window + 8).map(|n| event(n, "D", n * 8)).collect();
        let queued: String = (0..count).map(|n| event(window + 8 + n, "Q", n * 8)).collect();
        let trace = parse(&(issued + &queued), &["window=1024"]);
        assert_eq!(trace.requests.len() as u64, window + 8);
        trace.notes.join("; ")
    };
    assert!(!late(0).contains("of an earlier kind"), "{}", late(0));
    assert!(late(3).contains("3 events of an earlier kind"), "{}", late(3));
}

#[test]
fn an_answer_finds_its_request_behind_those_that_the_window_let_go() {
    // None of the first requests completes; the last ones do, after 5 us.
    let lost: String = (0..1_100).map(|n| event(n, "D", n * 8)).collect();
    let pair =
        |n: u64| event(2_000 + 10 * n, "D", 80_000 + n * 8) + &event(2_005 + 10 * n, "C", 80_000 + n * 8);
    let trace = parse(&(lost + &(0..1_200).map(pair).collect::<String>()), &["window=1024"]);
    let responses = responses_ns(&trace);
    assert!(responses[..1_100].iter().all(Option::is_none));
    assert_eq!(responses[1_100..], vec![Some(5_000); 1_200]);
}

#[test]
fn a_trace_of_one_host_says_nothing_of_hosts() {
    let notes = |hosts: [&str; 2]| {
        let lines = [0, 15_000].into_iter().zip(hosts).map(|(after, host)| {
            format!("{},{host},0,Write,4096,4096,99\n", 128_166_372_000_000_000u64 + after)
        });
        parse(&lines.collect::<String>(), &[]).notes.join("; ")
    };
    assert!(!notes(["web", "web"]).contains("hosts"), "{}", notes(["web", "web"]));
    assert!(notes(["web", "mail"]).contains("the trace holds 2 hosts"), "{}", notes(["web", "mail"]));
}

#[test]
fn one_device_more_than_are_told_apart_is_refused() {
    let trace = |devices: u64| -> String {
        let line = |n: u64| {
            let (host, disk) = (n >> 15, n & 0x7fff);
            format!("{},h{host},{disk},Write,0,4096,99\n", 128_166_372_000_000_000 + n * 10)
        };
        (0..devices).map(line).collect()
    };
    assert_eq!(parse(&trace(65_536), &[]).requests.len(), 65_536);
    let error = read_bytes("t", trace(65_537).as_bytes(), &options(&[])).expect_err("one too many");
    assert!(error.to_string().contains("more than 65536 devices"), "{error}");
}
