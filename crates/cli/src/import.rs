//! `wordline import`: files of other simulators.

use std::path::{Path, PathBuf};

use clap::Args;
use wordline_lab::devices::Registry;
use wordline_lab::import::{self, FoundTrace, Imported, ImportedRequests, SourceFile, shown};
use wordline_lab::output::Output;
use wordline_lab::trace::{Options, prepare};
use wordline_lab::{Error, input};

use crate::arguments::whole;
use crate::failure::{Failure, print_message};
use crate::output;

const EXAMPLES: &str = "\
Examples:
  wordline import ssdconfig.xml workload.xml              MQSim: writes ssdconfig.toml and workload.fio
  wordline import ssdconfig.xml workload.xml --to study   the same, into the folder study
  wordline import ssdconfig.xml > drive.toml              the device alone
  wordline import workload.xml > jobs.fio                 the flows alone, on any device
  wordline import sim.cfg ssd.cfg                         SimpleSSD: writes ssd.toml and sim.fio
  wordline import run-blackbox.sh > drive.toml            the device of a script of FEMU";

/// Imports a device and a workload of MQSim, SimpleSSD or FEMU.
///
/// With both files, a device file and a job file are written, and the commands that run them are printed. Each flow
/// of MQSim gets the range of addresses and the planes that MQSim gives it, and each scenario a job file. With one
/// file, the result, a device as TOML or a job file of fio, goes to standard output. Values that cannot be had are
/// notes, and the files have comments with the reasons. A device file that is written loads. Files are named after those that they come from. As every
/// output, they replace files with these names; a note says so if the text was another one.
#[derive(Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Arguments {
    /// MQSim's ssdconfig.xml or workload.xml, or both; SimpleSSD's device or run configuration, or both; a script
    /// or command line of FEMU; `-` for standard input.
    #[arg(value_name = "FILE", num_args = 1..=2, required = true)]
    files: Vec<PathBuf>,
    /// Scenario of the workload of MQSim, from 1. Default: all, or the first one if the workload is alone.
    #[arg(long, value_name = "N", value_parser = whole::<u32, 1>)]
    scenario: Option<u32>,
    /// Folder for the files; it is created if it does not exist.
    #[arg(long, value_name = "DIR", default_value = ".")]
    to: PathBuf,
}

/// An input file and its text.
struct Input {
    path: PathBuf,
    name: String,
    text: String,
}

impl Input {
    fn read(path: &Path) -> Result<Self, Failure> {
        let text = input::text(path, "a file of MQSim, SimpleSSD or FEMU")?;
        let input = Self { path: path.to_owned(), name: input::shown(path).display().to_string(), text };
        let found = match input.kind() {
            SourceFile::Unknown => input.unknown(),
            SourceFile::SimplessdXml => SourceFile::SimplessdXml.in_words().into(),
            _ => return Ok(input),
        };
        let wanted = "a file of MQSim (ssdconfig.xml, workload.xml), of SimpleSSD 2.0 (as config/sample.cfg, \
            with sections such as [pal] or [generator]) or of FEMU (a script with -device femu)";
        Err(input.refused(found, wanted))
    }

    /// A file that is not recognized, in words.
    fn unknown(&self) -> String {
        match self.text.lines().map(str::trim).find(|line| !line.is_empty()) {
            Some(line) => format!("a file that is not recognized, which begins with `{}`", shown(line)),
            None => "an empty file".into(),
        }
    }

    fn refused(&self, found: impl Into<String>, wanted: &str) -> Failure {
        let path = input::shown(&self.path).to_owned();
        Error::Content { path, found: found.into(), wanted: wanted.into() }.into()
    }

    fn kind(&self) -> SourceFile {
        SourceFile::of(&self.text)
    }

    /// Name of the file without its ending.
    fn stem(&self) -> String {
        let stem = self.path.file_stem().map_or_else(|| "mqsim".into(), |stem| stem.to_string_lossy());
        if self.path == Path::new("-") { "mqsim".into() } else { stem.into_owned() }
    }
}

/// Runs the command.
pub fn handle(arguments: Arguments, registry: &Registry) -> Result<(), Failure> {
    let inputs: Vec<Input> =
        arguments.files.iter().map(|path| Input::read(path)).collect::<Result<_, _>>()?;
    let is_of_mqsim = inputs.iter().any(|input| input.kind() == SourceFile::MqsimWorkload);
    if let Some(scenario) = arguments.scenario.filter(|_| !is_of_mqsim) {
        return Err(Error::Argument {
            what: "--scenario".into(),
            found: scenario.to_string(),
            wanted: "none without a workload of MQSim".into(),
        }
        .into());
    }
    match &inputs[..] {
        [one] => alone(one, registry, arguments.scenario.unwrap_or(1)),
        [first, second] => match (first.kind(), second.kind()) {
            (SourceFile::MqsimWorkload, SourceFile::MqsimDevice) => pair(second, first, &arguments, registry),
            (SourceFile::MqsimDevice, SourceFile::MqsimWorkload | SourceFile::MqsimDevice) => {
                pair(first, second, &arguments, registry)
            }
            (SourceFile::SimplessdRun, SourceFile::SimplessdDevice) => {
                simplessd_pair(second, first, &arguments, registry)
            }
            (SourceFile::SimplessdDevice, SourceFile::SimplessdRun) => {
                simplessd_pair(first, second, &arguments, registry)
            }
            (one, other) => Err(Error::Argument {
                what: format!("{} and {}", first.name, second.name),
                found: format!("{} and {}", one.in_words(), other.in_words()),
                wanted: "a device and a workload of the same simulator".into(),
            }
            .into()),
        },
        _ => unreachable!("there are one or two files"),
    }
}

fn alone(input: &Input, registry: &Registry, scenario: u32) -> Result<(), Failure> {
    let Input { name, text, .. } = input;
    give(match input.kind() {
        SourceFile::MqsimDevice => import::device(registry, name, text)?,
        SourceFile::MqsimWorkload => return flows(input, scenario),
        SourceFile::SimplessdDevice => import::simplessd(registry, name, text)?,
        SourceFile::SimplessdRun => import::simplessd_jobs(name, text)?,
        SourceFile::Femu => import::femu(registry, name, text)?,
        SourceFile::SimplessdXml | SourceFile::Unknown => unreachable!("it is refused when it is read"),
    })
}

fn flows(Input { path, name, text }: &Input, scenario: u32) -> Result<(), Failure> {
    give(import::job_file(name, text, scenario as usize, &|named| find_trace(named, path))?)
}

fn give(imported: Imported) -> Result<(), Failure> {
    print_notes(&imported.notes);
    output::text(&imported.text)
}

fn print_notes(notes: &[String]) {
    notes.iter().for_each(|note| print_message(&format!("note: {note}")));
}

/// The trace that a file names: as it is written, else beside the file, so that the printed command finds it.
fn path_of_trace(named: &str, file: &Path) -> PathBuf {
    let beside = file.parent().map_or_else(|| PathBuf::from(named), |folder| folder.join(named));
    Some(PathBuf::from(named)).filter(|path| path.is_file()).unwrap_or(beside)
}

/// The trace that a flow of a workload names.
fn find_trace(named: &str, workload: &Path) -> FoundTrace {
    let path = path_of_trace(named, workload);
    let requests = match path.is_file() {
        true => prepare(&path, &Options::default(), None, &mut |_| {})
            .map(|prepared| prepared.survey.requests)
            .map_err(|error| format!("it cannot be read ({error})")),
        false => Err("there is no such trace".into()),
    };
    FoundTrace { path, requests }
}

fn pair(device: &Input, flows: &Input, arguments: &Arguments, registry: &Registry) -> Result<(), Failure> {
    let pair = import::pair(
        registry,
        (&device.name, &device.text),
        (&flows.name, &flows.text),
        arguments.scenario.map(|number| number as usize),
        &|named| find_trace(named, &flows.path),
    )?;
    create_folder(&arguments.to)?;
    let many = pair.scenarios.len() > 1;
    let named = |stem: &str, number: Option<usize>, end: &str| {
        let number = number.map_or(String::new(), |number| format!("-{number}"));
        arguments.to.join(format!("{stem}{number}.{end}"))
    };
    let (stems, is_common) = ((device.stem(), flows.stem()), pair.common_device().is_some());
    let mut files: Vec<(PathBuf, &str)> = Vec::new();
    let mut commands = Vec::new();
    for scenario in &pair.scenarios {
        let number = Some(scenario.number).filter(|_| many);
        let of_device = named(&stems.0, number.filter(|_| !is_common), "toml");
        let of_jobs = named(&stems.1, number, "fio");
        let seed = scenario.seed.map_or(String::new(), |seed| format!(" --seed {seed}"));
        commands.push(format!(
            "wordline run --config {} --workload {} --precondition {}{seed}",
            shell_word(&of_device),
            shell_word(&of_jobs),
            scenario.precondition
        ));
        // A device that the scenarios have in common is written once.
        if files.iter().all(|(path, _)| *path != of_device) {
            files.push((of_device, &scenario.device));
        }
        files.push((of_jobs, &scenario.jobs));
    }
    write_all(&files, &[&device.path, &flows.path])?;
    print_notes(&pair.notes);
    output::text(&commands.join("\n"))
}

/// Writes the files, all or none, and none over an input. A note names each file that is replaced by another text.
fn write_all(files: &[(PathBuf, &str)], inputs: &[&Path]) -> Result<(), Failure> {
    let inputs: Vec<PathBuf> = inputs.iter().filter_map(|input| input.canonicalize().ok()).collect();
    for (path, _) in files {
        if path.canonicalize().is_ok_and(|path| inputs.contains(&path)) {
            return Err(Error::Argument {
                what: path.display().to_string(),
                found: "an input, which would be replaced".into(),
                wanted: "another folder for the files that are written: --to DIR".into(),
            }
            .into());
        }
    }
    let is_other =
        |path: &Path, text: &str| std::fs::read(path).is_ok_and(|before| before != text.as_bytes());
    let replaced: Vec<String> = files
        .iter()
        .filter(|(path, text)| is_other(path, text))
        .map(|(path, _)| format!("{}: a file with another text was replaced", path.display()))
        .collect();
    let opened: Vec<Output> = files.iter().map(|(path, _)| Output::open(path)).collect::<Result<_, _>>()?;
    for (output, (_, text)) in opened.into_iter().zip(files) {
        output.give(text.as_bytes())?;
    }
    print_notes(&replaced);
    Ok(())
}

fn create_folder(path: &Path) -> Result<(), Failure> {
    let failed = |reason| Error::File { path: path.to_owned(), action: "create", reason };
    Ok(std::fs::create_dir_all(path).map_err(failed)?)
}

/// Writes the device and the jobs of SimpleSSD, and prints the command that runs them.
fn simplessd_pair(
    device: &Input,
    run: &Input,
    arguments: &Arguments,
    registry: &Registry,
) -> Result<(), Failure> {
    let found = import::simplessd_pair(registry, (&device.name, &device.text), (&run.name, &run.text))?;
    create_folder(&arguments.to)?;
    let of_device = arguments.to.join(format!("{}.toml", device.stem()));
    let of_jobs = arguments.to.join(format!("{}.fio", run.stem()));
    let mut files = vec![(of_device.clone(), found.device.as_str())];
    let requests = match &found.requests {
        ImportedRequests::Jobs(jobs) => {
            files.push((of_jobs.clone(), jobs.as_str()));
            format!("--workload {}", shell_word(&of_jobs))
        }
        ImportedRequests::Trace { file, queue_depth } => {
            let depth = queue_depth.map_or(String::new(), |depth| format!(" --queue-depth {depth}"));
            let path = path_of_trace(file, &run.path);
            if !path.is_file() {
                print_notes(&[format!(
                    "{}: trace.File: {}: there is no such trace",
                    run.name,
                    path.display()
                )]);
            }
            format!("--trace {}{depth}", shell_word(&path))
        }
    };
    let (config, precondition) = (shell_word(&of_device), &found.precondition);
    write_all(&files, &[&device.path, &run.path])?;
    print_notes(&found.notes);
    output::text(&format!("wordline run --config {config} {requests} --precondition {precondition}"))
}

/// A path as a word of a shell.
fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-/+,@".contains(letter);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}
