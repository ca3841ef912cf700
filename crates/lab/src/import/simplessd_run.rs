//! Converts a configuration of SimpleSSD-Standalone (`sim.cfg`), whose request generator resembles fio, to a
//! job file. Sources: `igl/request` and `sim` of SimpleSSD/SimpleSSD-Standalone, 8255367f.

use wordline_kernel::{Bytes, Seed};

use super::Imported;
use super::ini;
use super::parameters::Parameters;
use super::simplessd::{Interface, device_for};
use crate::devices::Registry;
use crate::error::{Error, Result};
use crate::trace::workload::fio::JobFile;

/// The requests of a run of SimpleSSD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportedRequests {
    /// The request generator as a fio job file.
    Jobs(String),
    /// A recorded trace.
    Trace {
        /// The file, as it is named.
        file: String,
        /// Outstanding requests, if the times of the trace are not used.
        queue_depth: Option<u64>,
    },
}

/// A device and a run of SimpleSSD that were imported together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedRun {
    /// The device as TOML.
    pub device: String,
    /// The requests.
    pub requests: ImportedRequests,
    /// Value of `--precondition` for the state in which SimpleSSD begins.
    pub precondition: String,
    /// Notes for the user, each once.
    pub notes: Vec<String>,
}

/// The device of a configuration behind the interface of a run configuration, and its requests. Both are given
/// with the names of their files.
///
/// # Errors
/// Every fault, with file, line and parameter, the value found and the value wanted.
pub fn simplessd_pair(
    registry: &Registry,
    (device_name, device): (&str, &str),
    (run_name, run): (&str, &str),
) -> Result<ImportedRun> {
    let (mut given, interface) = parameters(run_name, run)?;
    let (requests, own) = if given.word("global.Mode", &["0", "1"]) == "0" {
        let jobs = jobs_of(run_name, given)?;
        (ImportedRequests::Jobs(jobs.text), jobs.notes)
    } else {
        trace_of(given)?
    };
    let found = device_for(registry, device_name, device, interface)?;
    if let ImportedRequests::Jobs(jobs) = &requests {
        check_jobs(run_name, jobs, found.capacity)?;
    }
    let mut notes = found.imported.notes;
    notes.extend(own);
    let (device, precondition) = (found.imported.text, found.precondition);
    Ok(ImportedRun { device, requests, precondition, notes })
}

/// The requests of a run configuration as a fio job file.
///
/// # Errors
/// Every fault, with file, line and parameter, the value found and the value wanted.
pub fn simplessd_jobs(name: &str, text: &str) -> Result<Imported> {
    let (mut given, _) = parameters(name, text)?;
    let wanted = "0, the request generator; with the device, `wordline import` prints the command that replays a trace";
    given.read("global.Mode", (), &wanted, |text| (text == "0").then_some(()));
    let jobs = jobs_of(name, given)?;
    check_jobs(name, &jobs.text, Bytes(1 << 40))?;
    Ok(jobs)
}

/// Checks that the job file runs on a device of this capacity.
fn check_jobs(name: &str, text: &str, capacity: Bytes) -> Result<()> {
    let jobs = JobFile::parse(name, text).and_then(|jobs| jobs.jobs_on(Seed(0), capacity, None, None));
    jobs.map(|_| ()).map_err(Error::Config)
}

/// Values of parameters that are not in a file.
const DEFAULTS: &[(&str, &str)] = &[
    ("global.Mode", "0"),
    ("global.Interface", "0"),
    ("generator.readwrite", "read"),
    ("generator.iomode", "sync"),
    ("generator.rwmixread", "0"),
    ("generator.time_based", "0"),
    ("generator.thinktime", "0"),
    ("generator.randseed", "0"),
];

/// The parameters of a run configuration, and its interface.
fn parameters(name: &str, text: &str) -> Result<(Parameters, Interface)> {
    let list = ini::parse(name, text)?.into_iter().filter(|(_, _, value)| !value.is_empty());
    let mut given = Parameters::of_list((name, "SimpleSSD-Standalone"), list, DEFAULTS);
    let interface = match given.word("global.Interface", &["0", "1", "2", "3"]) {
        "0" => Interface::Direct,
        "1" => Interface::Nvme,
        "2" => Interface::Sata,
        _ => Interface::Ufs,
    };
    Ok((given, interface))
}

/// The trace of a run configuration, with notes.
fn trace_of(mut given: Parameters) -> Result<(ImportedRequests, Vec<String>)> {
    let file = given.text("trace.File");
    let queue_depth = match given.word("trace.TimingMode", &["0", "1", "2"]) {
        "0" => Some(1),
        "1" => Some(given.whole("trace.QueueDepth", 1..=65_535)),
        _ => None,
    };
    let limit = given.number_or("trace.IOLimit", 0, u64::MAX);
    if limit > 0 {
        given.note("trace.IOLimit", format!("{limit}: add --requests {limit}"));
    }
    given.note(
        "trace.Regex",
        "the format is detected here; if it is none that is known, --trace-option columns=... names the columns",
    );
    not_simulated(&mut given, &mut Vec::new());
    given.skip_all("generator.");
    let (_, wrong, notes) = given.end();
    wrong.into_result((ImportedRequests::Trace { file, queue_depth }, notes)).map_err(Error::Config)
}

fn jobs_of(name: &str, mut given: Parameters) -> Result<Imported> {
    let mut lines = vec![
        format!("# Imported from {name}, the request generator of SimpleSSD-Standalone."),
        "[global]".into(),
        "filename=drive".into(),
        String::new(),
        "[generator]".into(),
    ];
    requests(&mut given, &mut lines);
    lines.push(String::new());
    not_simulated(&mut given, &mut lines);
    let (unknown, wrong, notes) = given.end();
    let unknown = unknown.iter().map(|(key, value)| format!("# {key} = {value}: not a parameter."));
    lines.extend(unknown);
    wrong.into_result(()).map_err(Error::Config)?;
    Ok(Imported { text: lines.join("\n"), notes })
}

/// Writes the keys of the job.
fn requests(given: &mut Parameters, lines: &mut Vec<String>) {
    let kinds = ["READ", "WRITE", "RANDREAD", "RANDWRITE", "READWRITE", "RANDRW"];
    let kind = given.word("generator.readwrite", &kinds);
    lines.push(format!("rw={}", kind.to_ascii_lowercase()));
    let reads = given.fraction_to_one("generator.rwmixread");
    if ["READWRITE", "RANDRW"].contains(&kind) {
        let percent = (100.0 * reads).round();
        if (100.0 * reads - percent).abs() > 1e-6 {
            given.note("generator.rwmixread", format!("{reads}: fio has whole percents: {percent} is used"));
        }
        lines.push(format!("rwmixread={percent}"));
    }
    let block = size(given, "generator.blocksize", true);
    lines.extend(block.map(|bytes| format!("bs={bytes}")));
    let is_async = given.word("generator.iomode", &["SYNC", "ASYNC"]) == "ASYNC";
    let depth = if is_async { given.whole("generator.iodepth", 1..=65_535) } else { 1 };
    if !is_async && let Some(depth) = given.skip("generator.iodepth") {
        lines.push(format!("# iodepth = {depth}: 1 with iomode = sync, as in SimpleSSD."));
    }
    lines.push(if is_async { format!("ioengine=libaio\niodepth={depth}") } else { "ioengine=psync".into() });
    for (key, from) in
        [("blockalign", "generator.blockalign"), ("offset", "generator.offset"), ("size", "generator.size")]
    {
        lines.extend(size(given, from, false).map(|bytes| format!("{key}={bytes}")));
    }
    let think = given.read("generator.thinktime", 0.0, &TIME, picoseconds) / 1e6;
    if think > 0.0 {
        if think.fract() > 0.0 {
            given.note("generator.thinktime", format!("{think} us: fio has whole microseconds"));
        }
        lines.push(format!("thinktime={}", think.round()));
    }
    lines.push(format!("randseed={}", given.whole("generator.randseed", 0..=u64::from(u32::MAX))));
    let is_timed = given.read("generator.time_based", false, &"a boolean, such as 0 or true", boolean);
    if is_timed {
        let time = given.read("generator.runtime", 0.0, &TIME, picoseconds) / 1e6;
        lines.push(format!("time_based\nruntime={}us", time.round()));
        lines.extend(
            given.skip("generator.io_size").map(|size| format!("# io_size = {size}: the run is timed.")),
        );
    } else {
        lines.extend(size(given, "generator.io_size", true).map(|bytes| format!("io_size={bytes}")));
        lines.extend(given.skip("generator.runtime").map(|time| format!("# runtime = {time}: not timed.")));
    }
}

/// Writes comments about the parameters that are not mapped.
fn not_simulated(given: &mut Parameters, lines: &mut Vec<String>) {
    let latencies = ["global.SubmissionLatency", "global.CompletionLatency"];
    for key in latencies {
        let Some(value) = given.skip(key) else { continue };
        lines.push(format!("# {key} = {value}: the time of the host's I/O stack is not simulated."));
        if picoseconds(&value) != Some(0.0) {
            given.note(key, format!("{value}: not simulated: add it to latencies, once for each request"));
        }
    }
    for key in ["LogPeriod", "LogFile", "DebugLogFile", "LatencyLogFile", "ProgressPeriod", "Scheduler"] {
        let found = given.skip_all(&format!("global.{key}"));
        lines.extend(found.iter().map(|(key, value)| format!("# {key} = {value}: no effect on results.")));
    }
    let of_trace = given.skip_all("trace.");
    lines.extend(of_trace.iter().map(|(key, value)| format!("# {key} = {value}: no effect with Mode = 0.")));
}

/// A number of bytes, with the suffixes of SimpleSSD: k, m, g, t are powers of 1000, K, M, G, T of 1024.
fn size(given: &mut Parameters, key: &'static str, is_required: bool) -> Option<u64> {
    if !is_required && !given.has(key) {
        return None;
    }
    let wanted = "a number of bytes, such as 4096, 4K or 16M";
    given.read(key, None, &wanted, |text| bytes(text).filter(|bytes| *bytes < 1 << 44).map(Some))
}

fn bytes(text: &str) -> Option<u64> {
    let (digits, factor) = match text.char_indices().last()? {
        (at, 'k') => (&text[..at], 1000),
        (at, 'm') => (&text[..at], 1000_u64.pow(2)),
        (at, 'g') => (&text[..at], 1000_u64.pow(3)),
        (at, 't') => (&text[..at], 1000_u64.pow(4)),
        (at, 'K') => (&text[..at], 1 << 10),
        (at, 'M') => (&text[..at], 1 << 20),
        (at, 'G') => (&text[..at], 1 << 30),
        (at, 'T') => (&text[..at], 1 << 40),
        _ => (text, 1),
    };
    digits.trim().parse::<u64>().ok()?.checked_mul(factor)
}

const TIME: &str = "a time, such as 10s or 5us; picoseconds without a unit";

fn picoseconds(text: &str) -> Option<f64> {
    let units = [("ms", 1e9), ("us", 1e6), ("ns", 1e3), ("ps", 1.0), ("s", 1e12), ("", 1.0)];
    let (unit, factor) = units.iter().find(|(unit, _)| text.ends_with(unit))?;
    let number: f64 = text.strip_suffix(unit)?.trim().parse().ok()?;
    (0.0..=1e19).contains(&number).then_some(number * factor)
}

fn boolean(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "t" | "true" | "y" | "yes" => Some(true),
        "0" | "f" | "false" | "n" | "no" => Some(false),
        _ => None,
    }
}
