//! Does a converted trace read back unchanged?

use std::path::Path;

use proptest::prelude::*;
use wordline_kernel::{Bytes, Duration, Instant};
use wordline_trace::{
    Compression, Op, Options, Request, TargetFormat, WriteError, WriteOptions, WriteReport, read_bytes,
};

const PLAIN: Compression = Compression::Plain;

fn request(us: u64, op: Op, device: u32, offset: u64, size: u64) -> Request {
    Request {
        arrival: Instant::from_ps(us * 1_000_000),
        device,
        ..Request::new(op, Bytes(offset), Bytes(size))
    }
}

fn sample() -> Vec<Request> {
    vec![
        request(0, Op::Read, 0, 4096, 4096),
        request(7, Op::Write, 1, 512, 1024),
        request(7, Op::Discard, 0, 8192, 65536),
        request(8, Op::Flush, 0, 0, 0),
        request(1_000_009, Op::Write, 0, 0, 512),
    ]
}

fn write(
    compression: Compression,
    requests: &[Request],
    format: TargetFormat,
) -> Result<(Vec<u8>, WriteReport), WriteError> {
    let has_more = requests.iter().any(|request| request.cpu.is_some() || request.stream > 0);
    let how = WriteOptions { format, compression, generated: None, has_more };
    let mut written = Vec::new();
    let report = how.write(&mut written, requests.iter().copied().map(Ok))?;
    Ok((written, report))
}

fn through(
    compression: Compression,
    format: TargetFormat,
    requests: &[Request],
) -> (Vec<Request>, WriteReport) {
    let (written, report) = write(compression, requests, format).expect("memory suffices");
    let options = Options::from_pairs(["devices=keep"]).expect("valid options");
    (read_bytes("t", &written, &options).unwrap_or_else(|error| panic!("{error}")).requests, report)
}

#[test]
fn devices_of_linux_and_forced_unit_access_are_kept_or_counted() {
    let disk = |minor: u32, fua| {
        let device = (259 << 20) + minor;
        Request { fua, ..request(u64::from(minor), Op::Write, device, 4096, 4096) }
    };
    let requests = [disk(0, false), disk(1, true), disk(70_000, true)];
    for format in TargetFormat::ALL {
        let (back, report) = through(PLAIN, format, &requests);
        let devices: std::collections::BTreeSet<u32> = back.iter().map(|request| request.device).collect();
        assert_eq!((back.len(), devices.len()), (3, 3), "{format:?}");
        let kept = back.iter().filter(|request| request.fua).count() as u64;
        assert_eq!((kept, report.fua_lost), if format == TargetFormat::Csv { (2, 0) } else { (0, 2) });
    }
}

#[test]
fn a_converted_trace_reads_as_it_was() {
    for format in TargetFormat::ALL {
        for compression in [PLAIN, Compression::Gzip, Compression::Zstd] {
            let holds_all = matches!(format, TargetFormat::Csv | TargetFormat::FioIolog);
            let mut wanted = sample();
            wanted.retain(|request| holds_all || matches!(request.op, Op::Read | Op::Write));
            let (mut back, report) = through(compression, format, &sample());
            // MSR always has a response time; 0 stands for none.
            back.iter_mut().for_each(|request| request.response = None);
            assert_eq!(back, wanted, "{} {compression:?}", format.name());
            assert_eq!(report.written, wanted.len() as u64);
            assert_eq!(report.left_out, (sample().len() - wanted.len()) as u64);
        }
    }
}

#[test]
fn our_csv_holds_everything_to_the_picosecond() {
    let exact = Request {
        arrival: Instant::ZERO,
        fua: true,
        response: Some(Duration::from_ps(1_234_567)),
        ..request(0, Op::Write, 5, 3, 7)
    };
    let later = Request { arrival: Instant::from_ps(12_345_678_901_234_567), ..exact };
    assert_eq!(through(PLAIN, TargetFormat::Csv, &[exact, later]).0, [exact, later]);
}

#[test]
fn our_csv_holds_processors_streams_and_every_kind_of_request() {
    let plain = request(0, Op::WriteZeroes, 0, 4096, 8192);
    let requests =
        [plain, Request { op: Op::Compare, stream: 2, ..plain }, Request { cpu: Some(63), ..plain }];
    let (back, report) = through(PLAIN, TargetFormat::Csv, &requests);
    assert_eq!((back.as_slice(), report.left_out), (requests.as_slice(), 0));
    let (back, report) = through(PLAIN, TargetFormat::FioIolog, &[plain, request(0, Op::Read, 0, 0, 512)]);
    assert_eq!((back[0].op, report.left_out), (Op::Read, 1));
}

#[test]
fn parts_of_sectors_are_widened_and_counted() {
    let (back, report) = through(PLAIN, TargetFormat::Mqsim, &[request(0, Op::Write, 0, 1000, 100)]);
    assert_eq!((back[0].offset, back[0].size, report.widened), (Bytes(512), Bytes(1024), 1));
    let within = [request(0, Op::Write, 0, 256, 512), request(0, Op::Write, 0, 512, 100)];
    let (back, report) = through(PLAIN, TargetFormat::Spc, &within);
    let ranges: Vec<_> = back.iter().map(|request| (request.offset.0, request.size.0)).collect();
    assert_eq!((ranges, report.widened), (vec![(0, 768), (512, 100)], 1));
}

#[test]
fn a_name_says_the_compression_and_one_that_is_not_written_is_refused() {
    for (name, compression) in
        [("t", Compression::Plain), ("t.csv.GZ", Compression::Gzip), ("a/t.zst", Compression::Zstd)]
    {
        assert_eq!(Compression::of(Path::new(name)).expect("it is written"), compression);
    }
    for name in ["t.csv.xz", "t.bz2", "t.csv.ZIP"] {
        let message = Compression::of(Path::new(name)).expect_err(name).to_string();
        assert!(message.contains("found a name that ends in .") && message.contains(".zst"), "{message}");
    }
}

#[test]
fn a_request_beyond_the_limit_of_time_is_not_written() {
    let late = Request { arrival: Instant::LIMIT + Duration::from_ps(1), ..request(0, Op::Read, 0, 0, 512) };
    let message = write(PLAIN, &[late], TargetFormat::Csv).expect_err("too late").to_string();
    assert_eq!(message, "request 1: found an arrival 106.0 days after the first, wanted at most 106 days");
}

#[test]
fn an_unknown_target_lists_the_known_ones() {
    let error = "vscsi".parse::<TargetFormat>().expect_err("not a target").to_string();
    assert_eq!(
        error,
        "format to write: found \"vscsi\", wanted one of csv, msr, spc, disksim, mqsim, fio-iolog"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_sector_requests_survive_any_format(
        rows in prop::collection::vec((0_u64..1 << 30, any::<bool>(), 0_u32..3, 0_u64..1 << 30, 1_u64..4096), 1..50),
    ) {
        let mut requests: Vec<Request> = rows
            .iter()
            .map(|(us, reads, device, sector, count)| {
                let op = if *reads { Op::Read } else { Op::Write };
                request(*us, op, *device, sector * 512, count * 512)
            })
            .collect();
        requests.sort_by_key(|request| request.arrival);
        let first = requests[0].arrival;
        for request in &mut requests {
            request.arrival = Instant::from_ps(request.arrival.since(first).ps());
        }
        for format in TargetFormat::ALL {
            let (back, _) = through(Compression::Zstd, format, &requests);
            let plain = |request: &Request| (request.arrival, request.op, request.offset, request.size);
            prop_assert_eq!(
                back.iter().map(plain).collect::<Vec<_>>(),
                requests.iter().map(plain).collect::<Vec<_>>()
            );
        }
    }
}
