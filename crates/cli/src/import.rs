//! `wordline import`: files of MQSim.

use std::path::{Path, PathBuf};

use clap::Args;
use wordline_lab::devices::Registry;
use wordline_lab::import::{self, FoundTrace, Imported};
use wordline_lab::output::Output;
use wordline_lab::trace::{Options, prepare};
use wordline_lab::{Error, input};

use crate::arguments::whole;
use crate::failure::{Failure, print_message};
use crate::output;

const EXAMPLES: &str = "\
Examples:
  wordline import ssdconfig.xml workload.xml              writes ssdconfig.toml and workload.fio
  wordline import ssdconfig.xml workload.xml --to study   the same, into the folder study
  wordline import ssdconfig.xml > drive.toml              the device alone
  wordline import workload.xml > jobs.fio                 the flows alone, on any device";

/// Imports a device and a workload of MQSim (ssdconfig.xml, workload.xml).
///
/// With both files, each flow gets the range of addresses and the planes that MQSim gives it. A device file and
/// a job file for each scenario are written, and the commands that run them are printed. With one file, the
/// result goes to standard output. Values that cannot be had are notes, and the files have comments with the
/// reasons. A device file that is written loads.
#[derive(Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Arguments {
    /// MQSim's ssdconfig.xml or workload.xml, or both.
    #[arg(value_name = "FILE", num_args = 1..=2, required = true)]
    files: Vec<PathBuf>,
    /// Scenario of the workload, from 1. Default: all, or the first one if the workload is alone.
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
        let text = input::text(path, "a file of MQSim in XML")?;
        Ok(Self { path: path.to_owned(), name: input::shown(path).display().to_string(), text })
    }

    fn is_workload(&self) -> bool {
        import::is_workload(&self.text)
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
    match &inputs[..] {
        [one] if one.is_workload() => flows(one, arguments.scenario.unwrap_or(1)),
        [one] => alone(one, registry),
        [first, second] => {
            let (device, flows) = if first.is_workload() { (second, first) } else { (first, second) };
            pair(device, flows, &arguments, registry)
        }
        _ => unreachable!("there are one or two files"),
    }
}

/// Prints the device of an MQSim configuration as TOML, and its notes.
pub fn device(path: &Path, registry: &Registry) -> Result<(), Failure> {
    alone(&Input::read(path)?, registry)
}

/// Prints the flows of a scenario of an MQSim workload as a job file, and its notes.
pub fn workload(path: &Path, scenario: u32) -> Result<(), Failure> {
    flows(&Input::read(path)?, scenario)
}

fn alone(Input { name, text, .. }: &Input, registry: &Registry) -> Result<(), Failure> {
    give(import::device(registry, name, text)?)
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

/// The trace that a flow names: as it is written, else beside the workload.
fn find_trace(named: &str, workload: &Path) -> Option<FoundTrace> {
    let beside = workload.parent().map(|folder| folder.join(named));
    let path = [Some(PathBuf::from(named)), beside].into_iter().flatten().find(|path| path.is_file())?;
    let requests = prepare(&path, &Options::default(), None, &mut |_| {}).ok()?.survey.requests;
    Some(FoundTrace { path, requests })
}

fn pair(device: &Input, flows: &Input, arguments: &Arguments, registry: &Registry) -> Result<(), Failure> {
    let pair = import::pair(
        registry,
        (&device.name, &device.text),
        (&flows.name, &flows.text),
        arguments.scenario.map(|number| number as usize),
        &|named| find_trace(named, &flows.path),
    )?;
    std::fs::create_dir_all(&arguments.to).map_err(|reason| Error::File {
        path: arguments.to.clone(),
        action: "create",
        reason,
    })?;
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
        commands.push(format!(
            "wordline run --config {} --workload {}",
            shell_word(&of_device),
            shell_word(&of_jobs)
        ));
        files.push((of_device, &scenario.device));
        files.push((of_jobs, &scenario.jobs));
    }
    files.dedup_by(|a, b| a.0 == b.0);
    let outputs: Vec<(&str, Option<&Path>)> =
        files.iter().map(|(path, _)| ("--to", Some(path.as_path()))).collect();
    output::check_distinct(&outputs, &[&device.path, &flows.path])?;
    let opened: Vec<Output> = files.iter().map(|(path, _)| Output::open(path)).collect::<Result<_, _>>()?;
    for (output, (_, text)) in opened.into_iter().zip(&files) {
        output.give(text.as_bytes())?;
    }
    print_notes(&pair.notes);
    output::text(&commands.join("\n"))
}

/// A path as a word of a shell.
fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-/+,@".contains(letter);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}
