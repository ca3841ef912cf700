//! Are the statistics equal to counts by hand?

use std::path::PathBuf;

use wordline_kernel::{Bytes, Duration, Instant};
use wordline_trace::{Op, Options, Progress, Request, Statistics, open, prepare, statistic};

fn request(seconds: u64, op: Op, offset: u64, size: u64) -> Request {
    Request {
        arrival: Instant::ZERO + Duration::from_ms(seconds * 1000),
        ..Request::new(op, Bytes(offset), Bytes(size))
    }
}

/// Whether two numbers are equal within the three digits of the histogram.
fn near(found: f64, wanted: f64) -> bool {
    (found - wanted).abs() <= wanted * 2e-3
}

#[test]
fn a_small_trace_has_the_statistics_counted_by_hand() {
    const K: u64 = 1024;
    let stats = Statistics::of([
        request(0, Op::Write, 0, 8 * K),       // granules 0 and 1, new
        request(10, Op::Write, 8 * K, 4 * K),  // granule 2, new, sequential
        request(20, Op::Write, 4 * K, 4 * K),  // granule 1, update after 20 s
        request(30, Op::Write, 4 * K, 12 * K), // granules 1 (10 s), 2 (20 s) and 3 (new)
        request(40, Op::Read, 64 * K, 64 * K), // granules 16 to 31
        request(50, Op::Read, 2 * K, 512),     // granule 0, written before
        request(60, Op::Discard, 0, 100 * K),  // touches no footprint
        request(100, Op::Flush, 0, 0),
    ]);
    assert_eq!((stats.requests, stats.reads, stats.writes, stats.discards, stats.flushes), (8, 2, 4, 1, 1));
    assert!(near(stats.write_share, 4.0 / 6.0) && near(stats.discard_share, 1.0 / 8.0));
    assert_eq!((stats.read_bytes, stats.written_bytes), (64 * K + 512, 28 * K));
    assert_eq!((stats.mean_write_size, stats.mean_read_size), (7.0 * 1024.0, (64.0 * 1024.0 + 512.0) / 2.0));
    assert_eq!((stats.footprint_read, stats.footprint_written), (17 * 4 * K, 4 * 4 * K));
    assert_eq!((stats.footprint, stats.highest_byte), (20 * 4 * K, 128 * K));
    // Two of four writes, three of seven granules written.
    assert_eq!((stats.update_requests, stats.update_share), (2, 0.5));
    assert!(near(stats.update_volume_share, 3.0 / 7.0));
    // Granules 0 to 3 have 0, 2, 1 and 0 updates. A fifth of four written granules is 0.8 granules with 2
    // updates each.
    assert!(near(stats.hottest_fifth, 0.8 * 2.0 / 3.0), "{}", stats.hottest_fifth);
    assert!(near(stats.hottest_fifth_of_updated, 0.4 * 2.0 / 3.0));
    assert!(
        near(stats.update_interval.mean_seconds, 50.0 / 3.0) && near(stats.update_interval.p90_seconds, 20.0)
    );
    assert_eq!(stats.update_interval.within_30_60_120_minutes, [1.0; 3]);
    assert_eq!(stats.write_sizes.classes, [0.5, 0.25, 0.25, 0.0, 0.0]);
    assert_eq!(stats.read_sizes.classes, [0.5, 0.0, 0.0, 0.0, 0.5]);
    assert_eq!(stats.sizes.powers.values().sum::<u64>(), 6);
    assert!(near(stats.sequential_share, 1.0 / 6.0));
    assert_eq!((stats.duration_seconds, stats.requests_per_second), (100.0, Some(0.08)));
}

#[test]
fn update_intervals_are_split_at_the_bounds_of_hotness() {
    let minutes = [0, 20, 65, 265]; // updates after 20, 45 and 200 minutes
    let stats = Statistics::of(minutes.map(|minute| request(minute * 60, Op::Write, 0, 4096)));
    let [half, one, two] = stats.update_interval.within_30_60_120_minutes;
    assert!(near(half, 1.0 / 3.0) && near(one, 2.0 / 3.0) && near(two, 2.0 / 3.0), "{half} {one} {two}");
}

#[test]
fn an_interval_of_a_bound_of_hotness_is_within_it() {
    let within = |minutes: u64| {
        let stats = Statistics::of([0, minutes].map(|minute| request(minute * 60, Op::Write, 0, 4096)));
        stats.update_interval.within_30_60_120_minutes
    };
    assert_eq!([30, 60, 120].map(within), [[1.0; 3], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]]);
}

#[test]
fn an_empty_trace_has_statistics_of_zero() {
    let stats = Statistics::of(Vec::<Request>::new());
    assert_eq!((stats.requests, stats.footprint, stats.write_share), (0, 0, 0.0));
    assert_eq!((stats.requests_per_second, stats.hottest_fifth), (None, 0.0));
    assert!(stats.to_string().contains("no time stamps"));
}

#[test]
fn a_statistic_is_found_by_name_in_a_unit_that_it_has() {
    let stats = Statistics::of([request(0, Op::Write, 0, 8192), request(0, Op::Read, 0, 4096)]);
    assert_eq!(statistic(&stats, "mean_write_size", "KiB"), Some(8.0));
    assert_eq!(statistic(&stats, "write_share", "%"), Some(50.0));
    assert_eq!(statistic(&stats, "write_requests", "requests"), Some(1.0));
    assert_eq!(statistic(&stats, "write_requests", "KiB"), None);
    assert_eq!(statistic(&stats, "no_such_number", "%"), None);
}

/// Returns the requests of a normalised trace, or `None` (with a message) if the traces are not available.
pub(super) fn normalized(name: &str) -> Option<Vec<Request>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces/normalized");
    let path = folder.join(format!("{name}.csv.zst"));
    let Ok(file) = std::fs::File::open(&path) else {
        eprintln!("SKIPPED: {} is not there", path.display());
        return None;
    };
    let text =
        std::io::read_to_string(zstd::Decoder::new(file).expect("the file is zstd")).expect("it is text");
    let number =
        |field: Option<&str>| field.and_then(|f| f.parse::<u64>().ok()).expect("the field is a number");
    let read = |line: &str| {
        let mut fields = line.split(',');
        let arrival = Instant::from_ps(number(fields.next()) * 1000);
        let op = match fields.next() {
            Some("R") => Op::Read,
            Some("W") => Op::Write,
            _ => Op::Discard,
        };
        let (offset, size) = (Bytes(number(fields.next())), Bytes(number(fields.next())));
        let device = number(fields.next()) as u32;
        Request { arrival, device, ..Request::new(op, offset, size) }
    };
    Some(text.lines().skip(1).map(read).collect())
}

/// Figures of the folders' README files: requests, write share in %, mean sizes in KiB, duration in seconds,
/// footprint and written footprint in MiB, sequential share in %.
#[test]
fn real_traces_have_the_statistics_that_their_readme_states() {
    for (name, requests, writes, sizes, seconds, footprints, sequential) in [
        ("hm_0.window1000", 1_000, 49.2, (11.7, 7.1), 127.233, (7.4, 1.8), 4.0),
        ("prxy_0.first20000", 20_000, 98.3, (17.7, 2.3), 938.832, (11.3, 6.3), 70.0),
        ("msr.cut.rw_40_60.1370", 10_000, 59.5, (4.7, 4.8), 85.915, (34.1, 16.6), 8.0),
        ("msr.cut.most_thpt_rand_iops.1006", 10_000, 16.8, (4.2, 54.9), 1.017, (113.4, 90.2), 2.0),
        ("wdev_3", 682, 98.4, (63.3, 4.4), 6.91 * 86_400.0, (1.2, 0.5), 2.0),
    ] {
        let Some(trace) = normalized(name) else { continue };
        let stats = Statistics::of(&trace);
        // Each figure is stated to one digit after the point.
        let stated = |found: f64, wanted: f64| (found - wanted).abs() <= 0.051;
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        assert_eq!(stats.requests, requests, "{name}");
        assert!(stated(stats.write_share * 100.0, writes), "{name}: {}", stats.write_share);
        assert!(stated(stats.mean_read_size / 1024.0, sizes.0), "{name}: {}", stats.mean_read_size);
        assert!(stated(stats.mean_write_size / 1024.0, sizes.1), "{name}: {}", stats.mean_write_size);
        assert!((stats.duration_seconds / seconds - 1.0).abs() < 1e-3, "{name}: {}", stats.duration_seconds);
        // The README counts sectors of 512 bytes. The granules that contain them are at most 7% more here.
        let holds = |found: u64, wanted: f64| (wanted - 0.051..wanted * 1.07 + 0.051).contains(&mib(found));
        assert!(holds(stats.footprint, footprints.0), "{name}: {}", mib(stats.footprint));
        assert!(holds(stats.footprint_written, footprints.1), "{name}: {}", mib(stats.footprint_written));
        assert!(
            (stats.sequential_share * 100.0 - sequential).abs() <= 0.6,
            "{name}: {}",
            stats.sequential_share
        );
    }
}

#[test]
fn what_is_read_of_a_file_is_told_up_to_its_end() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("t.csv");
    let rows: String = (0..200_000).map(|n| format!("{n},R,{},4096\n", n * 4096)).collect();
    std::fs::write(&path, format!("t_us,op,offset,size\n{rows}")).expect("writable");
    let length = std::fs::metadata(&path).expect("it was written").len();
    let mut told: Vec<Progress> = Vec::new();
    let mut stream = open(&path, &Options::default()).expect("a trace");
    Statistics::of_stream(&mut stream, &mut |progress| told.push(progress)).expect("a whole trace");
    assert_eq!(stream.progress(), Progress { bytes: length, of: Some(length) });
    assert!(told.len() > 40 && told.is_sorted_by_key(|progress| progress.bytes), "{told:?}");
    assert!(told[0].bytes < length / 2 && told.iter().all(|progress| progress.of == Some(length)));

    let count = told.len();
    prepare(&path, &Options::default(), None, &mut |progress| told.push(progress)).expect("a trace");
    assert_eq!(told.len(), 2 * count);
}
