//! `wordline compare`: the same workload on several devices.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clap::Args;
use wordline_lab::summary::Outcome;
use wordline_lab::{Device, Error, Registry, Selection, Summary};

use crate::arguments::{WorkloadArguments, file_of_name};
use crate::failure::Failure;
use crate::interrupt;
use crate::progress::RunProgress;
use crate::run::{Form, ResultArguments, Results};

const EXAMPLES: &str = "\
Examples:
  wordline compare nvme-tlc nvme-qlc z-nand --trace writes.csv
  wordline compare bench-512g drive.toml --workload mixed-70-30 --report out
  wordline compare nvme-tlc nvme-qlc --set ftl.over_provisioning=0.2 --json";

/// Runs the same requests on several devices and shows them side by side.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Devices: embedded ones by name, and configuration files. The first is the baseline.
    #[arg(required = true, num_args = 2.., value_name = "PRESET|FILE")]
    devices: Vec<String>,
    /// Changes one setting of every device, such as `ftl.over_provisioning=0.28`; can be repeated, the last wins.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    #[command(flatten)]
    workload: WorkloadArguments,
    #[command(flatten)]
    results: ResultArguments,
}

/// Runs the command.
pub fn handle(arguments: Arguments, registry: &Registry) -> Result<(), Failure> {
    let (workload, options) = (arguments.workload.workload()?, arguments.workload.options());
    if arguments.workload.is_standard() {
        return Err(Failure::Error(Error::Argument {
            what: "workload".into(),
            found: "standard input, which is read once".into(),
            wanted: "a file: each device reads it".into(),
        }));
    }
    let named = |name: &String| {
        let (preset, set) = (Some(name.clone()), arguments.settings.clone());
        Device::load_of(registry, &Selection { preset, file: None, set }).map_err(without_option)
    };
    let devices = arguments.devices.iter().map(named).collect::<Result<Vec<_>, _>>()?;
    let devices_files = arguments.devices.iter().filter_map(|name| file_of_name(name));
    let inputs: Vec<&Path> = arguments.workload.files().chain(devices_files).collect();
    let results = arguments.results.open(&[], &inputs)?;
    let texts: Vec<String> =
        devices.iter().map(|device| format!("# {}\n{}", device.name, device.text)).collect();
    let reached = Arc::new(Mutex::new(PartialResults { runs: Vec::new(), results: Some(results), texts }));
    for (n, device) in devices.iter().enumerate() {
        let mut watch = RunProgress::new(&device.name, arguments.results.no_progress);
        let run = wordline_lab::run(device, &workload, &options, &mut watch)?;
        drop(watch);
        let stopped = run.outcome == Outcome::Interrupted;
        lock(&reached).runs.push(run);
        if stopped || n + 1 == devices.len() {
            break;
        }
        let so_far = Arc::clone(&reached);
        interrupt::hold_results(move || {
            if let Err(failure) = lock(&so_far).give() {
                failure.report();
            }
        });
        interrupt::set_polling(false);
    }
    interrupt::take();
    lock(&reached).give()
}

/// The error without the option `--preset`, which this command does not have.
fn without_option(error: Error) -> Error {
    let Error::Config(mut complaints) = error else { return error };
    for complaint in &mut complaints.0 {
        if let Some(name) = complaint.key.strip_prefix("--preset ") {
            complaint.key = name.to_owned();
        }
    }
    Error::Config(complaints)
}

/// The results so far.
struct PartialResults {
    runs: Vec<Summary>,
    /// Destination of the output. It is taken when the output is written.
    results: Option<Results>,
    texts: Vec<String>,
}

impl PartialResults {
    fn give(&mut self) -> Result<(), Failure> {
        let config = self.texts.join("\n");
        self.results.take().map_or(Ok(()), |results| results.give(&self.runs, Form::List, &config))
    }
}

fn lock(reached: &Mutex<PartialResults>) -> MutexGuard<'_, PartialResults> {
    reached.lock().unwrap_or_else(PoisonError::into_inner)
}
