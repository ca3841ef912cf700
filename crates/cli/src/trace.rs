//! `wordline trace`: statistics, conversion and generation of traces.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use schemars::JsonSchema;
use serde_json::{Value, json};
use wordline_kernel::{Seed, counted};
use wordline_lab::arrivals::RequestSource;
use wordline_lab::observer::{Observer, READING, Unobserved};
use wordline_lab::output::{TraceFile, is_standard};
use wordline_lab::report;
use wordline_lab::trace::workload::Profile;
use wordline_lab::trace::workload::profile::Claim;
use wordline_lab::trace::{
    self, Devices, Generated, Op, Options, Progress, Request, Requests, Statistics, Stream, TargetFormat,
    WriteReport,
};
use wordline_lab::{DEFAULT_PRESET, Origin, Registry, RunOptions, Workload};

use crate::arguments::{DeviceArguments, FormatArguments, SeedArgument, whole};
use crate::failure::{Failure, print_message};
use crate::output::{self, Json, JsonArgument};
use crate::progress::{RunProgress, WRITING};
use crate::screen;

const EXAMPLES: &str = "\
Examples:
  wordline trace gen randwrite-4k writes.csv --requests 100000 --seed 7
  wordline trace info writes.csv
  wordline trace convert writes.csv writes.trace --to-format mqsim
  wordline trace info writes.trace --format ssdsim --trace-option time_unit=ns
  wordline trace gen centaur/usr_1 usr_1.csv.zst     takes a minute, 700 MB
  wordline trace info usr_1.csv.zst --profile centaur/usr_1";

/// Examines block traces, converts them and generates new ones.
#[derive(Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Info(Info),
    Convert(Convert),
    Gen(Generate),
    Formats(Formats),
}

/// Prints the statistics of the trace tables of papers: counts, shares, sizes, volumes, footprint, updates.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
struct Info {
    /// The trace, plain or compressed with gzip or zstd, for blktrace its directory or archive; `-` for
    /// standard input.
    file: PathBuf,
    #[command(flatten)]
    format: FormatArguments,
    /// Compares the statistics with those that a paper publishes of this trace; see `wordline workloads
    /// list`.
    #[arg(long, value_name = "PROFILE")]
    profile: Option<String>,
    #[command(flatten)]
    json: JsonArgument,
}

/// Writes a trace in another format, compressed if the name of the new file ends in .gz or .zst.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
struct Convert {
    /// The trace to read; `-` for standard input.
    from: PathBuf,
    /// The file to write, which appears when it is complete; `-` for standard output.
    to: PathBuf,
    /// The format to write; see `wordline trace formats`.
    #[arg(long, value_name = "NAME", default_value = "csv")]
    to_format: TargetFormat,
    #[command(flatten)]
    format: FormatArguments,
    #[command(flatten)]
    json: JsonArgument,
}

/// Writes the requests of a workload or a profile as a trace.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
struct Generate {
    /// A workload or profile; see `wordline workloads list`.
    name: String,
    /// The file to write, compressed if its name ends in .gz or .zst; it appears when it is complete. `-` for
    /// standard output.
    to: PathBuf,
    /// The format to write; see `wordline trace formats`.
    #[arg(long, value_name = "NAME", default_value = "csv")]
    to_format: TargetFormat,
    /// The device for the requests: workloads spread over its capacity.
    #[command(flatten)]
    device: DeviceArguments,
    /// Number of requests.
    #[arg(long, value_name = "N", value_parser = whole::<u64, 1>, allow_negative_numbers = true)]
    requests: Option<u64>,
    #[command(flatten)]
    seed: SeedArgument,
    #[command(flatten)]
    json: JsonArgument,
}

/// Lists the formats that can be read and written, and the options for properties that a format leaves open.
#[derive(Args)]
struct Formats {
    #[command(flatten)]
    json: JsonArgument,
}

/// Runs the command.
pub fn handle(arguments: Arguments, registry: &Registry) -> Result<(), Failure> {
    match arguments.command {
        Command::Info(arguments) => info(&arguments),
        Command::Convert(arguments) => convert(&arguments),
        Command::Gen(arguments) => generate(&arguments, registry),
        Command::Formats(arguments) => formats(&arguments),
    }
}

/// Prints the notes on a trace to standard error.
fn print_notes(name: &str, notes: &[String]) {
    for note in notes {
        print_message(&format!("note: {name}: {note}"));
    }
}

/// Returns a callback that shows how much of a trace was read, from its first call on.
fn read_progress(watch: &mut RunProgress<'_>) -> impl FnMut(Progress) {
    let mut begun = false;
    move |progress| {
        if !std::mem::replace(&mut begun, true) {
            watch.phase(READING, progress.of);
        }
        watch.phase_progress(progress.bytes);
    }
}

fn info(arguments: &Info) -> Result<(), Failure> {
    let profile = arguments.profile.as_deref().map(Profile::named).transpose()?;
    let name = arguments.file.display().to_string();
    let mut watch = RunProgress::new(&name, false);
    let (stream, statistics) = {
        let mut told = read_progress(&mut watch);
        let mut stream = trace::open_with_progress(&arguments.file, &arguments.format.options()?, &mut told)?;
        told(stream.progress());
        let statistics = Statistics::of_stream(&mut stream, &mut told)?;
        (stream, statistics)
    };
    drop(watch);
    let mut notes = stream.notes();
    if statistics.sampled_one_in > 1 {
        let one_in = statistics.sampled_one_in;
        notes.push(format!(
            "footprints and updates are of one in {one_in} ranges of 2 MiB: footprints are off by less than 1%, updates \
             by more if they are of few ranges"
        ));
    }
    if statistics.histories_one_in > 1 {
        let one_in = statistics.histories_one_in;
        notes.push(format!(
            "update intervals and the hottest 20% are of one in {one_in} ranges of 2 MiB, among which the hottest may be \
             missing"
        ));
    }
    if statistics.zone_appends > 0 {
        let appends = counted(statistics.zone_appends, "zone append");
        notes.push(format!(
            "footprints, updates and sequential requests are without {appends}, whose recorded address is the start of \
             a zone"
        ));
    }
    print_notes(&stream.name(), &notes);
    let published = profile.map(|profile| published(&profile, &statistics));
    let value = json!({
        "name": stream.name(), "source": stream.source(), "format": stream.format(), "notes": notes,
        "statistics": statistics, "published": published
    });
    output::json_or(&arguments.json, &value, || {
        let table = report::statistics(&statistics, screen::width());
        let head = format!("{}\n\n{table}", heading(&stream));
        let keys = ["statistic", "paper", "ours", "unit", "verdict", "contradiction"];
        published.map_or(head.clone(), |rows| format!("{head}\n{}", output::rows(&rows, &keys)))
    })
}

/// Name of a trace, its format, and its kind.
fn heading(stream: &Stream<'_>) -> String {
    let source = stream.source();
    let origin = if stream.generated().is_some() {
        format!("{}: {}", source.kind.words(), source.name)
    } else {
        source.kind.words().to_string()
    };
    format!("{} ({}, {origin})", stream.name(), stream.format().name())
}

/// Each published number with the measured one.
fn published(profile: &Profile, statistics: &Statistics) -> Vec<Value> {
    let row = |claim: &Claim| {
        let ours = claim.ours(statistics);
        json!({
            "statistic": claim.statistic, "paper": claim.paper, "ours": ours, "unit": claim.unit,
            "verdict": if claim.met(ours) { "within" } else { "outside" },
            "contradiction": claim.contradiction, "source": claim.source
        })
    };
    profile.claims().iter().map(row).collect()
}

/// Options for reading a trace that is converted. Its devices are kept unless the user asks otherwise: the new trace has
/// their numbers, so a reader of it would stack them once more.
fn convert_options(format: &FormatArguments) -> Result<Options, Failure> {
    let mut options = format.options()?;
    let is_devices = |pair: &String| pair.split('=').next().is_some_and(|key| key.trim() == "devices");
    if !format.options.iter().any(is_devices) {
        options.devices = Devices::Keep;
    }
    Ok(options)
}

fn convert(arguments: &Convert) -> Result<(), Failure> {
    let target = TraceOutput::open(&arguments.to, arguments.to_format, &arguments.json, &[&arguments.from])?;
    let name = arguments.from.display().to_string();
    let mut watch = RunProgress::new(&name, target.is_quiet());
    let options = convert_options(&arguments.format)?;
    let trace = trace::prepare(&arguments.from, &options, None, &mut read_progress(&mut watch))?;
    drop(watch);
    print_notes(&trace.name, &trace.notes);
    let survey = trace.survey;
    // If a trace was not surveyed to its end, later requests may have fields that the first ones lack.
    let has_more = survey.has_processors || survey.has_streams || !survey.is_whole;
    let total = survey.is_whole.then_some(survey.requests);
    // Stacked devices are one.
    let is_stacked = options.devices == Devices::Stack;
    let one_device = move |request| if is_stacked { Request { device: 0, ..request } } else { request };
    let requests = Box::new(trace.requests.map(move |request| request.map(one_device)));
    target.write((requests, total), trace.generated.as_ref(), has_more)?;
    print_notes(&trace.name, &trace.late_notes.take());
    Ok(())
}

fn generate(arguments: &Generate, registry: &Registry) -> Result<(), Failure> {
    let target = TraceOutput::open(&arguments.to, arguments.to_format, &arguments.json, &[])?;
    let origin = Origin::Named(arguments.name.clone());
    let profile = Profile::named(&arguments.name);
    let generated =
        Generated { profile: profile.is_ok(), name: arguments.name.clone(), seed: arguments.seed.seed };
    let (requests, has_more): ((Requests, _), _) = match profile {
        // A profile has its own addresses. It is fitted to a device only if the user names one.
        Ok(profile) if !arguments.device.is_given() => {
            let limit =
                arguments.requests.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
            let requests = profile.generator(Seed(arguments.seed.seed), 1.0).take(limit);
            let total = requests.size_hint().0 as u64;
            ((Box::new(requests.map(Ok)), Some(total)), false)
        }
        _ => {
            let device = arguments.device.device(registry, DEFAULT_PRESET)?;
            let workload = Workload { requests: arguments.requests, ..origin.into() };
            let options = RunOptions::seed(arguments.seed.seed);
            let load = workload.job(&device, &options, &mut Unobserved)?.load;
            let (total, stream) = (load.total, load.stream);
            // Requests of jobs of fio have the queues of their jobs, and streams of their own.
            let has_more = stream > 0 || matches!(load.requests, RequestSource::Jobs(_));
            let requests = load.in_order().map(move |request| request.map(|it| with_stream(it, stream)));
            ((Box::new(requests), total), has_more)
        }
    };
    target.write(requests, Some(&generated), has_more)
}

/// A request of a load with this default stream of writes; 0 for none.
fn with_stream(request: Request, stream: u8) -> Request {
    let writes = matches!(request.op, Op::Write | Op::WriteZeroes | Op::ZoneAppend);
    if writes && request.stream == 0 { Request { stream, ..request } } else { request }
}

/// Requests between two updates of the bar. Chosen: a few milliseconds of work.
const PROGRESS_INTERVAL: u64 = 4_096;

/// Open destinations of a trace and of the report about it.
struct TraceOutput<'a> {
    to: &'a Path,
    target: TraceFile,
    format: TargetFormat,
    json: Json,
}

impl<'a> TraceOutput<'a> {
    /// Opens the destinations. `inputs` are the files that are read.
    fn open(
        to: &'a Path,
        format: TargetFormat,
        json: &JsonArgument,
        inputs: &[&Path],
    ) -> Result<Self, Failure> {
        output::check_distinct(&[("the trace", Some(to)), ("--json", json.file.as_deref())], inputs)?;
        Ok(Self { to, target: TraceFile::open(to)?, format, json: json.open()? })
    }

    /// Whether there is no bar, because it would be interleaved with the requests.
    fn is_quiet(&self) -> bool {
        self.target.is_standard() && std::io::stdout().is_terminal()
    }

    /// Writes the trace and reports it.
    fn write(
        self,
        (requests, total): (Requests, Option<u64>),
        generated: Option<&Generated>,
        has_more: bool,
    ) -> Result<(), Failure> {
        let is_standard = self.target.is_standard();
        let name = self.to.display().to_string();
        let mut watch = RunProgress::new(&name, self.is_quiet());
        watch.phase(WRITING, total);
        let counted = (1_u64..).zip(requests).map(|(number, request)| {
            if number.is_multiple_of(PROGRESS_INTERVAL) {
                watch.phase_progress(number);
            }
            request
        });
        let report = self.target.write(counted, self.format, generated, has_more)?;
        drop(watch);
        if let (true, Some(generated)) = (report.mark_lost, generated) {
            let format = self.format.name();
            print_message(&format!(
                "note: generated from {generated}; format {format} cannot record that, csv can"
            ));
        }
        let text = written(self.to, self.format.name(), &report);
        if is_standard {
            print_message(&text);
            self.json.give(&report)
        } else {
            self.json.or_table(&report, || text)
        }
    }
}

/// A sentence about a trace that was written.
fn written(to: &Path, format: &str, report: &WriteReport) -> String {
    let to = if is_standard(to) { "standard output".into() } else { to.display().to_string() };
    let mut text = format!("{to}: {} written as {format}", counted(report.written, "request"));
    for (count, what) in [
        (report.left_out, "dropped, as the format cannot express them"),
        (report.widened, "widened to whole sectors"),
        (report.fua_lost, "written without their FUA"),
    ] {
        if count > 0 {
            text.push_str(&format!(", {} {what}", counted(count, "request")));
        }
    }
    text
}

fn formats(arguments: &Formats) -> Result<(), Failure> {
    let lists = [
        ("read", variants::<trace::Format>()),
        ("write", variants::<TargetFormat>()),
        ("options", fields::<Options>()),
    ];
    let value: Value = lists.iter().map(|(title, list)| ((*title).to_string(), list.clone())).collect();
    output::json_or(&arguments.json, &value, || {
        let sections = lists.iter().map(|(title, list)| {
            let rows = list.as_array().map(Vec::as_slice).unwrap_or_default();
            format!("{title}\n{}", output::rows(rows, &["name", "meaning"]))
        });
        sections.collect::<Vec<_>>().join("\n\n")
    })
}

/// Variants of an enum, with their documentation.
fn variants<T: JsonSchema>() -> Value {
    let schema = schemars::schema_for!(T);
    let variants = schema.get("oneOf").and_then(Value::as_array).cloned().unwrap_or_default();
    variants
        .iter()
        .map(|variant| json!({ "name": variant["const"], "meaning": variant["description"] }))
        .collect()
}

/// Fields of a struct, with their documentation.
fn fields<T: JsonSchema>() -> Value {
    let schema = schemars::schema_for!(T);
    let fields = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    fields.iter().map(|(name, field)| json!({ "name": name, "meaning": field["description"] })).collect()
}
