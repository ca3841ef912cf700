//! `wordline compare`: the same workload through several devices.

use clap::Args;
use wordline_lab::config::{Device, Selection};
use wordline_lab::summary::Outcome;

use crate::arguments::WorkloadArguments;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::progress::Watch;
use crate::run::ResultArguments;

const EXAMPLES: &str = "\
Examples:
  wordline compare nvme-tlc nvme-qlc z-nand --trace hm_0.csv.gz
  wordline compare bench-512g drive.toml --workload mixed-70-30 --report out
  wordline compare nvme-tlc nvme-qlc --set ftl.over_provisioning=0.2 --json";

/// Runs the same requests on several devices and shows them side by side.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The devices: embedded ones by name, and configuration files. The first is what the others are compared with.
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

/// Does what the user asked.
pub fn handle(arguments: Arguments) -> Result<(), Failure> {
    let plan = arguments.workload.plan()?;
    let named = |name: &String| {
        Device::load(&Selection { preset: Some(name.clone()), file: None, set: arguments.settings.clone() })
    };
    let devices = arguments.devices.iter().map(named).collect::<Result<Vec<_>, _>>()?;
    let interrupt = Interrupt::watch_idle();
    let mut runs = Vec::new();
    for device in &devices {
        let mut watch = Watch::new(&device.name, arguments.results.no_progress, &interrupt);
        let run = wordline_lab::run::run(plan.job(device)?, &mut watch)?;
        let stopped = run.outcome == Outcome::Interrupted;
        runs.push(run);
        if stopped {
            break;
        }
    }
    let texts: Vec<String> =
        devices.iter().map(|device| format!("# {}\n{}", device.name, device.text)).collect();
    arguments.results.give(&runs, &texts.join("\n"))
}
