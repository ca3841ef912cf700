//! Does every reader return for a raw trace the requests of its normalised twin? Other programs made the
//! twins. The traces are beside the repository, in `../shared/traces`; without them these tests print a note
//! and pass.

use std::path::PathBuf;

use wordline_trace::{Format, Op, Options, Request, read, read_bytes};

/// A raw file, its twin, the format to be detected, and the options for what the file does not state.
struct Twin {
    raw: &'static str,
    twin: &'static str,
    format: Format,
    options: &'static [&'static str],
}

const fn twin(
    raw: &'static str,
    twin: &'static str,
    format: Format,
    options: &'static [&'static str],
) -> Twin {
    Twin { raw, twin, format, options }
}

/// Options of two traces whose sizes are in pages of 4 KiB (umass/README.md).
const PAGES: &[&str] = &["size_unit=4KiB"];
/// Options of two traces whose addresses and sizes are in bytes (msr/README.md).
const IN_BYTES: &[&str] = &["sector=1B"];

const TWINS: &[Twin] = &[
    twin("android/Nexus5.Booting_log176.txt", "Nexus5.Booting_log176", Format::Biotracer, &[]),
    twin("android/Nexus5.CallOut_log147.txt", "Nexus5.CallOut_log147", Format::Biotracer, &[]),
    twin("android/Nexus5.Movie_log121.txt", "Nexus5.Movie_log121", Format::Biotracer, &[]),
    twin("android/most_chrome.blkparse.po", "most_chrome.blkparse", Format::Most, &[]),
    twin("cloudphysics/cloudPhysicsIO.vscsi", "cloudPhysicsIO", Format::Vscsi, &[]),
    twin("disksim-ssd/pcmark.trace", "pcmark", Format::Disksim, &[]),
    twin("disksim-ssd/ssd-iozone-aligned2-100K.trace", "ssd-iozone-aligned2-100K", Format::Disksim, &[]),
    twin("disksim-ssd/ssd-postmark-aligned2.trace", "ssd-postmark-aligned2", Format::Disksim, &[]),
    twin("fiu/cheetah.mail.window.blkparse.txt", "cheetah.mail.window.blkparse", Format::Fiu, &[]),
    twin("fiu/homes.sample1000.ssdsim-hash.ascii", "homes.sample1000.ssdsim-hash", Format::Ssdsim, &[]),
    twin("fixtures/apress.hadoop.blktrace.txt", "apress.hadoop", Format::Blkparse, &[]),
    twin("fixtures/nvme0n1.dmcrypt.blkparse.txt", "nvme0n1.dmcrypt.blkparse", Format::Blkparse, &[]),
    twin("fixtures/small-tpch.hfplayer.csv", "small-tpch.hfplayer", Format::Hfplayer, &[]),
    twin("fixtures/sqlitewal-reqscale.events.txt", "sqlitewal-reqscale.events", Format::Wiscsee, &[]),
    twin("fixtures/wiscsee.blkparse-output.txt", "wiscsee.blkparse-output", Format::Blkparse, &[]),
    twin("hadoop/eternity8.blktrace.tar", "eternity8", Format::Blktrace, &[]),
    twin("hadoop/eternity9.blktrace.tar", "eternity9", Format::Blktrace, &[]),
    twin("hadoop/eternity10.blktrace.tar", "eternity10", Format::Blktrace, &[]),
    twin("misc-unverified/desktop.trace", "desktop", Format::Disksim, &[]),
    twin("misc-unverified/jpeg_copy.trace", "jpeg_copy", Format::Disksim, &[]),
    twin("misc-unverified/opt7b_512tok.mqsim.txt", "opt7b_512tok.mqsim", Format::Mqsim, &[]),
    twin("mqsim/tpcc-small.trace", "tpcc-small", Format::Mqsim, &[]),
    twin("mqsim/wsrch-small.trace", "wsrch-small", Format::Mqsim, &[]),
    // Time is in microseconds, although no column says so (msps/README.md).
    twin("msps/DTRS.5min.ssdsim.trace", "DTRS.5min.ssdsim", Format::Mqsim, &["time_unit=us"]),
    twin("msr/hm_0.window1000.csv", "hm_0.window1000", Format::Msr, &[]),
    twin("msr/prxy_0.first20000.csv", "prxy_0.first20000", Format::Msr, &[]),
    twin("msr/rsrch_1.csv", "rsrch_1", Format::Msr, &[]),
    twin("msr/wdev_1.csv", "wdev_1", Format::Msr, &[]),
    twin("msr/wdev_3.csv", "wdev_3", Format::Msr, &[]),
    twin(
        "msr/msr.cut.most_thpt_rand_iops.1006.trace",
        "msr.cut.most_thpt_rand_iops.1006",
        Format::Disksim,
        IN_BYTES,
    ),
    twin("msr/msr.cut.rw_40_60.1370.trace", "msr.cut.rw_40_60.1370", Format::Disksim, IN_BYTES),
    twin("umass/Financial1.first10000.ssdsim.ascii", "Financial1.first10000.ssdsim", Format::Mqsim, &[]),
    twin(
        "umass/Financial1.first50000.disksim.trace",
        "Financial1.first50000.disksim",
        Format::Disksim,
        PAGES,
    ),
    twin(
        "umass/WebSearch1.first50000.disksim.trace",
        "WebSearch1.first50000.disksim",
        Format::Disksim,
        PAGES,
    ),
    twin(
        "ycsb/YCSB-RocksDB.ssdtrace.first10000events.blkparse.txt",
        "YCSB-RocksDB.ssdtrace.first10000events.blkparse",
        Format::Blkparse,
        &[],
    ),
    twin("ycsb/ycsb_btrfs.blkparse.txt", "ycsb_btrfs.blkparse", Format::Blkparse, &[]),
    twin("ycsb/ycsb_ext4.blkparse.txt", "ycsb_ext4.blkparse", Format::Blkparse, &[]),
    twin("ycsb/ycsb_f2fs.blkparse.txt", "ycsb_f2fs.blkparse", Format::Blkparse, &[]),
];

/// Returns the folder of shared traces, if this machine has it.
fn shared() -> Option<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    if !folder.is_dir() {
        eprintln!("SKIPPED: there is no folder {} with real traces", folder.display());
        return None;
    }
    Some(folder)
}

/// The fields compared: nanoseconds, op, offset, size.
type Comparable = (u64, Op, u64, u64);

/// The requests in the form that is compared. Twins have no flushes.
fn comparable(requests: &[Request]) -> Vec<Comparable> {
    requests
        .iter()
        .filter(|request| request.op != Op::Flush)
        .map(|request| ((request.arrival.ps() + 500) / 1_000, request.op, request.offset.0, request.size.0))
        .collect()
}

fn difference(twin: &Twin, folder: &std::path::Path) -> Option<String> {
    let mut options = Options::from_pairs(twin.options.iter().copied()).expect("valid options");
    options.set("devices", "keep").expect("a valid option");
    let raw = match read(folder.join(format!("{}.zst", twin.raw)), &options) {
        Ok(trace) => trace,
        Err(error) => return Some(format!("{}: {error}", twin.raw)),
    };
    let keep = Options::from_pairs(["devices=keep"]).expect("valid options");
    let name = format!("normalized/{}.csv.zst", twin.twin);
    let normal = match read(folder.join(name), &keep) {
        Ok(trace) => trace,
        Err(error) => return Some(format!("{}: {error}", twin.twin)),
    };
    if (raw.format, normal.format) != (twin.format, Format::Csv) {
        return Some(format!("{}: formats {:?} and {:?}", twin.raw, raw.format, normal.format));
    }
    let (ours, theirs) = (comparable(&raw.requests), comparable(&normal.requests));
    if ours.len() != theirs.len() {
        return Some(format!(
            "{}: {} requests, the twin {}; {:?}",
            twin.raw,
            ours.len(),
            theirs.len(),
            raw.notes
        ));
    }
    // The makers of the twin rounded times to nanoseconds before they subtracted the first.
    let off = |our: &Comparable, their: &Comparable| {
        our.0.abs_diff(their.0) > 1 || (our.1, our.2, our.3) != (their.1, their.2, their.3)
    };
    let count = ours.iter().zip(&theirs).filter(|(our, their)| off(our, their)).count();
    let at = ours.iter().zip(&theirs).position(|(our, their)| off(our, their))?;
    Some(format!("{}: {count} differ, the first {at}: {:?}, the twin {:?}", twin.raw, ours[at], theirs[at]))
}

#[test]
fn every_raw_trace_reads_as_its_normalised_twin() {
    let Some(folder) = shared() else { return };
    let differences: Vec<String> = TWINS.iter().filter_map(|twin| difference(twin, &folder)).collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn every_normalised_trace_has_a_raw_twin_here() {
    let Some(folder) = shared() else { return };
    let names = std::fs::read_dir(folder.join("normalized")).expect("the folder is there");
    for name in names.map(|entry| entry.expect("readable").file_name().into_string().expect("plain names")) {
        let name = name.trim_end_matches(".csv.zst");
        assert!(TWINS.iter().any(|twin| twin.twin == name), "no raw trace for {name}");
    }
}

/// A twin has a response only if a completion repeats the request's range; our reader also assigns one to
/// merged requests. If a range was written twice, and the first write was merged, twins assign the second
/// completion to the first request. This occurs six times in the trace of dm-crypt.
#[test]
fn recorded_responses_agree_with_the_twins() {
    let Some(folder) = shared() else { return };
    for twin in TWINS {
        let mut options = Options::from_pairs(twin.options.iter().copied()).expect("valid options");
        options.set("devices", "keep").expect("a valid option");
        let raw = read(folder.join(format!("{}.zst", twin.raw)), &options).expect("read by the test above");
        let keep = Options::from_pairs(["devices=keep"]).expect("valid options");
        let normal = read(folder.join(format!("normalized/{}.csv.zst", twin.twin)), &keep)
            .expect("read by the test above");
        let ours = raw.requests.iter().filter(|request| request.op != Op::Flush);
        let (mut lost, mut other) = (0, 0);
        for (our, their) in ours.zip(&normal.requests) {
            match (our.response, their.response) {
                (Some(our), Some(their)) => other += u32::from(our.ns().abs_diff(their.ns()) > 1),
                (None, Some(_)) => lost += 1,
                _ => {}
            }
        }
        let known = if twin.raw.contains("dmcrypt") { 6 } else { 0 };
        assert_eq!((lost, other), (0, known), "{}", twin.raw);
    }
}

#[test]
fn both_damaged_clocks_are_reported() {
    let Some(folder) = shared() else { return };
    let notes = |name: &str| read(folder.join(name), &Options::default()).expect("a trace").notes.join("; ");
    let boot = notes("android/Nexus5.Booting_log176.txt.zst");
    assert!(boot.contains("the clock jumps by 10363864 s at request 6 of the file"), "{boot}");
    assert!(boot.contains("the clock jumps by 1388032880 s"), "{boot}");
    let ext4 = notes("ycsb/ycsb_ext4.blkparse.txt.zst");
    assert!(ext4.contains("1 single requests across a jump of the clock were dropped"), "{ext4}");
}

#[test]
fn raw_block_traces_without_a_twin_are_read() {
    let Some(folder) = shared() else { return };
    // Another program counted these in the files.
    for (name, wanted) in [
        ("fixtures/sample.blktrace.0.zst", [963, 0, 0, 0]),
        ("fixtures/keks.blktrace.tar.zst", [0, 1158, 10, 24]),
    ] {
        let trace = read(folder.join(name), &Options::default()).expect("a trace");
        let count = |op| trace.requests.iter().filter(|request| request.op == op).count();
        let counts = [Op::Read, Op::Write, Op::Discard, Op::Flush].map(count);
        assert_eq!((trace.format, counts), (Format::Blktrace, wanted), "{name}");
    }
}

#[test]
fn a_list_of_addresses_is_no_trace() {
    let Some(folder) = shared() else { return };
    let error =
        read(folder.join("cloudphysics/w106.pages.u32be.zst"), &Options::default()).expect_err("no trace");
    assert!(error.to_string().contains("of no format known"), "{error}");
}

#[test]
fn the_embedded_trace_is_the_beginning_of_the_recording() {
    let Some(folder) = shared() else { return };
    let whole = read(folder.join("recorded/rocksdb-ext4.csv.zst"), &Options::default()).expect("a trace");
    let embedded = wordline_trace::embedded().requests;
    assert_eq!(whole.requests.len(), 617_394);
    assert!(whole.requests.starts_with(&embedded));
    assert!(whole.requests[embedded.len()].arrival.seconds() >= 140.0);
}

#[test]
fn every_real_trace_that_is_cut_off_is_reported() {
    let Some(folder) = shared() else { return };
    for twin in TWINS {
        let options = Options::from_pairs(twin.options.iter().copied()).expect("valid options");
        let packed = std::fs::read(folder.join(format!("{}.zst", twin.raw))).expect("readable");
        let plain = zstd::decode_all(packed.as_slice()).expect("whole");
        let message =
            read_bytes("t.zst", &packed[..packed.len() * 3 / 5], &options).expect_err(twin.raw).to_string();
        assert!(message.contains("early end of the data"), "{}: {message}", twin.raw);
        // A cut inside the last number of a line leaves a line that looks complete. It gives a note, not an
        // error.
        match read_bytes("t", &plain[..plain.len() * 3 / 5 + 3], &options) {
            Err(error) => assert!(error.to_string().contains("cut off"), "{}: {error}", twin.raw),
            Ok(trace) => {
                let noted = trace.notes.iter().any(|note| note.ends_with("the file may be cut off there"));
                assert!(noted, "{}: {:?}", twin.raw, trace.notes);
            }
        }
    }
}
