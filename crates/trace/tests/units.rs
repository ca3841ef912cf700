//! Is there a note for a trace whose units were guessed, and a warning for a trace whose numbers fit another
//! unit far better? The traces are beside the repository, in `../shared/traces`; without them that test
//! prints a note and passes.

use std::path::PathBuf;

use wordline_trace::{Options, open, read_bytes};

fn notes(content: &str, pairs: &[&str]) -> Vec<String> {
    let options = Options::from_pairs(pairs.iter().copied()).expect("valid options");
    read_bytes("t", content.as_bytes(), &options).unwrap_or_else(|error| panic!("{error}")).notes
}

fn warnings(content: &str, pairs: &[&str]) -> String {
    notes(content, pairs).into_iter().filter(|note| !note.starts_with(ASSUMED)).collect::<Vec<_>>().join("; ")
}

const ASSUMED: &str = "the file does not state its units";

/// Requests in MQSim's columns, one every `gap`. `request` gives address and size of the n-th one.
fn mqsim(gap: u64, request: impl Fn(u64) -> (u64, u64)) -> String {
    let line = |n: u64| {
        let (at, size) = request(n);
        format!("{} 0 {at} {size} {}\n", n * gap, n % 2)
    };
    (0..3_000).map(line).collect()
}

/// An address that is not a multiple of 512 and hardly ever next to another one.
fn scattered(n: u64) -> u64 {
    n * 7_919 % 100_003 * 8
}

#[test]
fn units_that_were_assumed_are_said_and_those_that_are_named_are_not() {
    let content = mqsim(100_000, |n| (scattered(n), 8));
    assert_eq!(
        notes(&content, &[]),
        [
            "the file does not state its units: times as ns, addresses and sizes as units of 512B were read (options \
          time_unit, address_unit, size_unit)"
        ]
    );
    assert_eq!(notes(&content, &["time_unit=ns", "sector=512B"]), Vec::<String>::new());
    let csv = "time,op,lba,size\n0,R,8,4096\n";
    assert!(notes(csv, &[])[0].ends_with("(options time_unit, address_unit)"), "{:?}", notes(csv, &[]));
    assert_eq!(notes("t_ns,op,offset,size\n0,R,8,4096\n", &[]), Vec::<String>::new());
}

#[test]
fn an_option_goes_before_the_unit_in_the_name_of_a_column() {
    let csv = "t_ns,op,offset,size\n0,R,0,4096\n1,R,0,4096\n";
    let options = Options::from_pairs(["time_unit=us"]).expect("valid");
    let trace = read_bytes("t", csv.as_bytes(), &options).expect("a trace");
    assert_eq!(trace.requests[1].arrival.ps(), 1_000_000);
}

#[test]
fn microseconds_read_as_nanoseconds_are_warned_of() {
    // 64 KiB every 2 ms. If the times are counted in microseconds but read as nanoseconds, this is 32 GB/s.
    let content = mqsim(2_000, |n| (scattered(n), 128));
    let warned = warnings(&content, &[]);
    assert!(
        warned.contains("times were read as ns; if they count us, set the option time_unit=us"),
        "{warned}"
    );
    assert_eq!(warnings(&content, &["time_unit=us"]), "");
    let date = |n: u64| format!("{} 0 {} 8 1\n", 1_398_396_860_000_000 + n * 1_000, scattered(n));
    let warned = warnings(&(0..10).map(date).collect::<String>(), &[]);
    assert!(warned.contains("is a date in the years 1995 to 2035 if it counts us"), "{warned}");
}

#[test]
fn sizes_and_addresses_in_another_unit_are_warned_of() {
    for (content, option) in [
        // Bytes: 64 KiB at multiples of 64 KiB.
        (mqsim(100_000_000, |n| (scattered(n) * 8_192, 65_536)), "address_unit=1B and size_unit=1B"),
        // Sizes in pages of 4 KiB, one request behind another.
        (mqsim(1_000_000, |n| (n * 24, 3)), "size_unit=4KiB"),
        // Everything in pages of 4 KiB.
        (mqsim(1_000_000, |n| (scattered(n) / 8, 1 + n % 3)), "address_unit=4KiB and size_unit=4KiB"),
        // Addresses in bytes, sizes in sectors.
        (mqsim(1_000_000, |n| (scattered(n) * 512, 8)), "address_unit=1B"),
    ] {
        let warned = warnings(&content, &[]);
        assert!(warned.contains(option), "{option}: {warned}");
    }
    let sectors: String = (0..300).map(|n| format!("{n}000000,R,{},8\n", scattered(n))).collect();
    let warned = warnings(&format!("t_ns,op,offset,size\n{sectors}"), &[]);
    assert!(warned.contains("size_unit=512B and address_unit=512B"), "{warned}");
}

#[test]
fn plausible_requests_are_not_warned_of() {
    for content in [
        mqsim(100_000, |n| (scattered(n), 8)),
        mqsim(100_000, |n| (n * 256, 256)),
        mqsim(1_000_000, |n| (n * 512, 512)),
        mqsim(10_000, |n| (n % 100 * 8, 8 + n % 4 * 8)),
        mqsim(0, |n| (scattered(n), 8)),
    ] {
        assert_eq!(warnings(&content, &[]), "");
    }
}

/// Shared traces that give a warning when read without options, each with the option in the warning. All
/// others use the units of their formats.
const WARNED: &[(&str, &str)] = &[
    ("misc-unverified/desktop.trace.zst", "size_unit=4KiB"),
    ("misc-unverified/jpeg_copy.trace.zst", "size_unit=4KiB"),
    ("msps/DTRS.5min.ssdsim.trace.zst", "time_unit=us"),
    ("msr/msr.cut.most_thpt_rand_iops.1006.trace.zst", "address_unit=1B and size_unit=1B"),
    ("msr/msr.cut.rw_40_60.1370.trace.zst", "address_unit=1B and size_unit=1B"),
    ("umass/Financial1.first50000.disksim.trace.zst", "size_unit=4KiB"),
    ("umass/WebSearch1.first50000.disksim.trace.zst", "size_unit=4KiB"),
];

#[test]
fn of_the_shared_traces_those_in_other_units_are_warned_of_and_no_others() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    if !folder.is_dir() {
        eprintln!("SKIPPED: there is no folder {} with real traces", folder.display());
        return;
    }
    let mut seen = 0;
    for family in std::fs::read_dir(&folder).expect("readable").map(|entry| entry.expect("an entry").path()) {
        let files = if family.is_dir() {
            std::fs::read_dir(&family).expect("readable").collect()
        } else {
            Vec::new()
        };
        for path in files.into_iter().map(|entry| entry.expect("an entry").path()) {
            let name = path.strip_prefix(&folder).expect("it is in it").display().to_string();
            let Ok(mut stream) = open(&path, &Options::default()) else { continue };
            if stream.by_ref().any(|request| request.is_err()) {
                continue;
            }
            seen += 1;
            let wanted = WARNED.iter().find(|(warned, _)| *warned == name).map(|(_, option)| *option);
            let told = stream.notes();
            let found = told.iter().find(|note| note.contains("set the option"));
            match (wanted, found) {
                (None, None) => {}
                (Some(option), Some(note)) => assert!(note.contains(option), "{name}: {note}"),
                _ => panic!("{name}: {found:?}, wanted {wanted:?}"),
            }
        }
    }
    assert!(seen > 70, "{seen} traces");
}
