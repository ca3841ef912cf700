//! Tests of the classes of drives: the record, its page, and the figures themselves.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use wordline_lab::config::presets;
use wordline_lab::drives::{DriveClass, Figure, Quantity, classes, others};
use wordline_lab::{
    Device, Precondition, Registry, RunOptions, Selection, Summary, Unobserved, WarmUp, Workload, run,
};

/// The largest difference that needs no reason.
const BAND: f64 = 0.3;

/// Short settings that keep the latency of a device at rest.
const SMALL: [&str; 2] = ["part.geometry.blocks_per_plane=16", "ftl.over_provisioning=0.4"];

fn device(preset: &str, set: &[&str]) -> Device {
    let set = set.iter().map(|&one| one.to_owned()).collect();
    Device::load(&Selection { preset: Some(preset.into()), file: None, set })
        .unwrap_or_else(|e| panic!("{e}"))
}

/// Runs a job of fio's language and measures its last requests.
fn job_after(warm_up: u64, device: &Device, lines: &str, requests: u64, from: Precondition) -> Summary {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("job.fio");
    let head =
        "[global]\nfilename=x\nioengine=libaio\ndirect=1\nnorandommap\ntime_based\nruntime=100000s\n[a]\n";
    std::fs::write(&path, format!("{head}{lines}")).expect("a job file");
    let requests = Some(requests + warm_up);
    let load = Workload { requests, ..Workload::named(&path.display().to_string()) };
    let warm_up = (warm_up > 0).then_some(WarmUp::Requests(warm_up));
    let options = RunOptions { precondition: Some(from), warm_up, ..RunOptions::default() };
    run(device, &load, &options, &mut Unobserved).expect("a run")
}

fn job(device: &Device, lines: &str, requests: u64, from: Precondition) -> Summary {
    job_after(0, device, lines, requests, from)
}

/// Whether a part of the map is in memory. Reads are then measured over 256 MiB whose map is loaded.
fn has_cached_map(device: &Device) -> bool {
    device.text.contains("\ncache = \"")
}

/// Rates in MB/s of sequential writes into an erased drive before and after the fall, and the data before it
/// in GB.
fn fill(device: &Device) -> [f64; 3] {
    let bytes = device.capacity().0 as f64 * 0.3;
    let run = job(device, "rw=write\nbs=128k\niodepth=32\n", (bytes / 131_072.0) as u64, Precondition::Empty);
    let windows = &run.windows;
    let part = (windows.windows.len() / 60).max(1);
    let seconds = windows.width_seconds * part as f64;
    let bytes = windows.windows.chunks_exact(part);
    let rates: Vec<f64> = bytes
        .map(|part| part.iter().map(|one| one.written_bytes as f64).sum::<f64>() / seconds / 1e6)
        .collect();
    let mut first = rates[..6].to_vec();
    first.sort_by(f64::total_cmp);
    let before = rates.iter().take_while(|rate| **rate >= 0.75 * first[3]).count();
    let cache = rates[..before].iter().sum::<f64>() * seconds / 1e3;
    let last = &rates[rates.len() - 12..rates.len() - 2];
    [first[3], last.iter().sum::<f64>() / last.len() as f64, cache]
}

fn measured(drive: &DriveClass, what: Quantity) -> f64 {
    let device = device(&drive.preset, &[]);
    let depth = if matches!(&*drive.preset, "sata-tlc" | "ufs-256g") { 32 } else { 256 };
    let random = |rw: &str, depth: u32| format!("rw={rw}\nbs=4k\niodepth={depth}\n");
    let (size, loaded) = if has_cached_map(&device) { ("256m", 200_000) } else { ("1g", 0) };
    let read = |depth, requests| {
        let lines = format!("{}size={size}\n", random("randread", depth));
        job_after(loaded, &device, &lines, requests, Precondition::Filled(1.0))
    };
    let steady = || job_after(400_000, &device, &random("randwrite", depth), 200_000, Precondition::Steady);
    match what {
        Quantity::SequentialRead => {
            let run = job(&device, "rw=read\nbs=128k\niodepth=32\n", 20_000, Precondition::Filled(1.0));
            run.host.iops * 0.131_072
        }
        Quantity::SequentialWrite => fill(&device)[0],
        Quantity::AfterCache => fill(&device)[1],
        Quantity::Cache => fill(&device)[2] * f64::from(drive.scale),
        Quantity::RandomRead => read(depth, 200_000).host.iops,
        Quantity::RandomWriteFresh => {
            job(&device, &random("randwrite", depth), 100_000, Precondition::Empty).host.iops
        }
        Quantity::RandomWriteSteady => steady().host.iops,
        Quantity::WriteAmplification => steady().write_amplification.expect("GC collects"),
        Quantity::ReadLatency => read(1, 3_000).host.read_latency_us.mean,
        Quantity::WriteLatency => {
            job(&device, &random("randwrite", 1), 3_000, Precondition::Empty).host.write_latency_us.mean
        }
    }
}

fn drives() -> impl Iterator<Item = (&'static DriveClass, &'static Figure)> {
    classes().iter().flat_map(|drive| drive.figure.iter().map(move |figure| (drive, figure)))
}

#[test]
fn every_preset_is_a_drive_or_says_what_it_is_for() {
    let named: Vec<&str> = classes().iter().map(|drive| &*drive.preset).chain(others()).collect();
    let all = presets(&Registry::default()).expect("presets are sound");
    let all: BTreeSet<&str> = all.iter().map(|info| &*info.name).collect();
    assert_eq!(named.iter().copied().collect::<BTreeSet<_>>(), all);
    assert_eq!(named.len(), all.len(), "each once");
    for name in others() {
        let description = Device::preset(name).expect("a preset").description;
        assert!(!description.contains("drive"), "{name} is no drive: {description}");
    }
}

#[test]
fn a_figure_far_from_the_public_ones_has_its_reason() {
    for (drive, figure) in drives() {
        let what = format!("{}, {:?}", drive.preset, figure.what);
        assert!(figure.ours > 0.0 && figure.public.is_sorted() && !figure.source.is_empty(), "{what}");
        let (Some(least), Some(most)) = (figure.public.first(), figure.public.last()) else {
            continue;
        };
        let is_near = (least * (1.0 - BAND)..=most * (1.0 + BAND)).contains(&figure.ours);
        assert_eq!(is_near, figure.reason.is_none(), "{what}: {} beside {:?}", figure.ours, figure.public);
    }
}

#[test]
fn a_preset_still_has_the_read_latency_of_the_record() {
    for (drive, figure) in drives().filter(|(_, figure)| figure.what == Quantity::ReadLatency) {
        // The zoned drive has other keys, and a cached map is cold on a small device.
        if drive.preset == "zns-tlc" || has_cached_map(&device(&drive.preset, &[])) {
            continue;
        }
        let small = device(&drive.preset, &SMALL);
        let lines = "rw=randread\nbs=4k\niodepth=1\n";
        let mean = job(&small, lines, 500, Precondition::Filled(1.0)).host.read_latency_us.mean;
        assert!((mean / figure.ours - 1.0).abs() < 0.03, "{}: {mean} and {}", drive.preset, figure.ours);
    }
}

/// Measures every figure of the record anew, with `WORDLINE_LONG`.
#[test]
fn the_record_is_what_the_presets_do() {
    if std::env::var_os("WORDLINE_LONG").is_none() {
        return;
    }
    let mut wrong = String::new();
    for (drive, figure) in drives() {
        let now = measured(drive, figure.what);
        if (now / figure.ours - 1.0).abs() > 0.03 {
            let _ = writeln!(wrong, "{}, {:?}: {now}, record {}", drive.preset, figure.what, figure.ours);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

fn name(what: Quantity) -> &'static str {
    match what {
        Quantity::SequentialRead => "sequential read, MB/s",
        Quantity::SequentialWrite => "sequential write, erased, MB/s",
        Quantity::Cache => "written before the fall, GB",
        Quantity::AfterCache => "sequential write after it, MB/s",
        Quantity::RandomRead => "random read 4 KiB, IOPS",
        Quantity::RandomWriteFresh => "random write 4 KiB, erased, IOPS",
        Quantity::RandomWriteSteady => "random write 4 KiB, steady, IOPS",
        Quantity::WriteAmplification => "write amplification of these",
        Quantity::ReadLatency => "random read, depth 1, mean, us",
        Quantity::WriteLatency => "random write, depth 1, mean, us",
    }
}

fn number(value: f64) -> String {
    let digits = if value < 20.0 { 1 } else { 0 };
    let plain = format!("{value:.digits$}");
    let (whole, rest) = plain.split_once('.').map_or((&*plain, None), |(whole, rest)| (whole, Some(rest)));
    let mut out = String::new();
    for (n, digit) in whole.chars().enumerate() {
        if n > 0 && (whole.len() - n).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    rest.map_or(out.clone(), |rest| format!("{out}.{rest}"))
}

fn table() -> String {
    let mut out = String::new();
    for drive in classes().iter().filter(|drive| !drive.figure.is_empty()) {
        let _ = writeln!(out, "### `{}`: {}\n", drive.preset, drive.class);
        out += "| figure | public | here | sources of the public figures; reason for a difference above 30 % |\n";
        out += "|---|---:|---:|---|\n";
        for Figure { what, ours, public, source, reason } in &drive.figure {
            let public: Vec<String> = public.iter().map(|one| number(*one)).collect();
            let public = if public.is_empty() { "–".into() } else { public.join(" to ") };
            let reason = reason.as_ref().map_or_else(String::new, |reason| format!(". **Reason:** {reason}"));
            let _ = writeln!(out, "| {} | {public} | {} | {source}{reason} |", name(*what), number(*ours));
        }
        out.push('\n');
    }
    out
}

#[test]
fn the_page_of_drives_is_the_record() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/drives.md");
    let text = std::fs::read_to_string(&path).expect("a page is text");
    let (begin, end) = ("<!-- figures -->\n\n", "<!-- /figures -->");
    let (before, rest) = text.split_once(begin).expect("the page has the tables");
    let (old, after) = rest.split_once(end).expect("the tables end");
    let new = table();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{before}{begin}{new}{end}{after}")).expect("a page can be written");
    } else {
        assert_eq!(old, new, "UPDATE_DOCS=1 writes it anew");
    }
}
