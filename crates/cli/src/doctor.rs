//! `wordline doctor`: the program on this machine, its speed, and missing optional software.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use serde::{Deserialize, Serialize};
use wordline_kernel::Bytes;
use wordline_lab::memory::of_machine;
use wordline_lab::{Device, RunOptions, Unobserved, Workload, run};

use crate::failure::Failure;
use crate::output::JsonArgument;
use crate::provenance::provenance;

const EXAMPLES: &str = "\
Examples:
  wordline doctor
  wordline doctor --python ~/lab/bin/python3";

/// Requests of the run that measures the speed. Chosen: half a second in a release build, which is long
/// compared with the creation of the device.
const REQUESTS: u64 = 500_000;

/// Device and workload of that run, as in `make bench`.
const MEASURED: [&str; 2] = ["bench-tlc", "randread-4k"];

/// Python program that reports, as JSON, the versions of Python, the package and the optional packages.
const PROBE: &str = "
import json, sys
from importlib.metadata import PackageNotFoundError, version
def of(name):
    try:
        return version(name)
    except PackageNotFoundError:
        return None
try:
    from wordline import _native
    program = _native.program()
except ImportError:
    program = None
print(json.dumps({'version': sys.version.split()[0], 'package': program, 'found': {name: of(name) for name in sys.argv[1:]}}))
";

/// Optional Python packages: name, extra of the package that installs it, and purpose.
const COMPANIONS: [(&str, &str, &str); 5] = [
    ("altair", "charts", "charts in Python"),
    ("vl-convert-python", "charts", "charts as PDF, SVG and PNG"),
    ("polars", "logs", "logs as data frames"),
    ("distributed", "cluster", "studies on clusters"),
    ("optuna", "search", "search in studies"),
];

/// Reports the program, the machine, its simulation speed, and missing software for Python, charts and
/// clusters.
///
/// None of it is needed to run: reports of the program contain their charts without any other software.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The Python interpreter to examine.
    #[arg(long, value_name = "FILE", default_value = "python3")]
    python: PathBuf,
    #[command(flatten)]
    json: JsonArgument,
}

/// The report of this command.
#[derive(Debug, Serialize)]
struct DoctorReport {
    program: String,
    system: String,
    /// Whether the program was compiled without optimisation, as in tests.
    is_debug: bool,
    cores: usize,
    /// Total and available memory of the machine in bytes; null if unknown.
    memory: Option<u64>,
    memory_free: Option<u64>,
    requests_per_second: f64,
    python: Option<Python>,
    missing: Vec<MissingPackage>,
}

/// A Python interpreter, as it reports itself.
#[derive(Debug, Serialize, Deserialize)]
struct Python {
    version: String,
    /// Version and commit of its Wordline package.
    package: Option<String>,
    /// Versions of the optional packages.
    found: std::collections::BTreeMap<String, Option<String>>,
}

/// A missing optional package.
#[derive(Debug, PartialEq, Serialize)]
struct MissingPackage {
    name: String,
    purpose: String,
    cure: String,
}

/// Runs the command.
pub fn handle(arguments: &Arguments) -> Result<(), Failure> {
    let json = arguments.json.open()?;
    let python = probe_python(&arguments.python);
    let program = provenance().program();
    let found = DoctorReport {
        system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        is_debug: cfg!(debug_assertions),
        cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        memory: of_machine("MemTotal").map(|size| size.0),
        memory_free: of_machine("MemAvailable").map(|size| size.0),
        requests_per_second: speed()?,
        missing: missing(python.as_ref(), &arguments.python, &program),
        python,
        program,
    };
    json.or_table(&found, || found.text())
}

impl DoctorReport {
    fn text(&self) -> String {
        let size = |bytes: Option<u64>| bytes.map_or("not known".into(), rounded);
        let build =
            if self.is_debug { ", a debug build, several times slower than a release build" } else { "" };
        let python = self.python.as_ref();
        let mut lines = vec![
            ("program", format!("{}{build}", self.program)),
            ("system", self.system.clone()),
            ("cores", format!("{}, for sweeps: a run has one", self.cores)),
            ("memory", format!("{}, of which {} are free", size(self.memory), size(self.memory_free))),
            (
                "speed",
                format!(
                    "{:.2} million requests a second ({})",
                    self.requests_per_second / 1e6,
                    MEASURED.join(", ")
                ),
            ),
            ("Python", python.map_or("none".into(), |python| python.version.clone())),
            (
                "its package",
                python.and_then(|python| python.package.clone()).unwrap_or_else(|| "none".into()),
            ),
        ];
        let companions = python.into_iter().flat_map(|python| &python.found);
        lines.extend(companions.filter_map(|(name, version)| Some((name.as_str(), version.clone()?))));
        let mut text: String = lines.iter().map(|(name, value)| format!("{name:<20}{value}\n")).collect();
        if self.missing.is_empty() {
            text += "\nnothing is missing\n";
        } else {
            text += "\nmissing optional software, with its use:\n";
        }
        for MissingPackage { name, purpose, cure } in &self.missing {
            text += &format!("  {name}: {purpose}. {cure}\n");
        }
        text
    }
}

/// Formats a size with three digits.
fn rounded(bytes: u64) -> String {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB")];
    let unit = units.into_iter().find(|(size, _)| bytes >= *size);
    unit.map_or_else(
        || Bytes(bytes).to_string(),
        |(size, name)| format!("{:.1} {name}", bytes as f64 / size as f64),
    )
}

/// Measures the simulated requests per second.
fn speed() -> Result<f64, Failure> {
    let [device, workload] = MEASURED;
    let requests = if cfg!(debug_assertions) { REQUESTS / 20 } else { REQUESTS };
    let (device, load) =
        (Device::preset(device)?, Workload { requests: Some(requests), ..Workload::named(workload) });
    let result = run(&device, &load, &RunOptions::seed(0), &mut Unobserved)?;
    Ok(requests as f64 / result.simulator.wall_seconds.max(1e-9))
}

/// Returns what the interpreter reports; `None` if `python` is not a Python interpreter.
fn probe_python(python: &Path) -> Option<Python> {
    let mut command = Command::new(python);
    command.args(["-c", PROBE]).args(COMPANIONS.map(|(name, _, _)| name));
    let output = command.stdin(Stdio::null()).output().ok()?;
    serde_json::from_slice(&output.stdout).ok()
}

fn missing(python: Option<&Python>, path: &Path, program: &str) -> Vec<MissingPackage> {
    let one = |name: &str, purpose: &str, cure: String| MissingPackage {
        name: name.into(),
        purpose: purpose.into(),
        cure,
    };
    let Some(python) = python else {
        let purpose = "runs, studies and designs in Python";
        return vec![one(
            "Python",
            purpose,
            format!("No Python 3.11 or later is at {}: --python", path.display()),
        )];
    };
    let mut missing = Vec::new();
    match &python.package {
        None => {
            let purpose = "runs, studies and designs in Python";
            missing.push(one("the package wordline", purpose, "pip install ./bindings/python".into()));
        }
        Some(package) if package != program => {
            let purpose = "stores and clusters that both use";
            missing.push(one("the package of this version", purpose, format!("It is of {package}")));
        }
        Some(_) => {}
    }
    for (name, extra, purpose) in COMPANIONS {
        if python.found.get(name).is_none_or(Option::is_none) {
            missing.push(one(name, purpose, format!("pip install './bindings/python[{extra}]'")));
        }
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_missing() {
        let of = |package: Option<&str>, polars: Option<&str>| {
            let found = COMPANIONS.map(|(name, ..)| (name.to_owned(), Some("1".to_owned())));
            let mut python =
                Python { version: "3.11.7".into(), package: package.map(Into::into), found: found.into() };
            python.found.insert("polars".into(), polars.map(Into::into));
            let missing = missing(Some(&python), Path::new("python3"), "wordline 1");
            missing.into_iter().map(|missing| missing.name).collect::<Vec<_>>()
        };
        assert!(of(Some("wordline 1"), Some("1")).is_empty());
        assert_eq!(of(Some("wordline 1"), None), ["polars"]);
        assert_eq!(of(Some("wordline 2"), Some("1")), ["the package of this version"]);
        assert_eq!(of(None, None), ["the package wordline", "polars"]);
        assert_eq!(missing(None, Path::new("no-python"), "wordline 1")[0].name, "Python");
    }
}
