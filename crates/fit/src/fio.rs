//! Outputs of fio: the measurements in a folder with the results of the [jobs](crate::jobs).
//!
//! | file | is |
//! |---|---|
//! | `NAME.json` | the output of a job file with `--output-format=json` |
//! | `S1_bw.N.log`, `S2_bw.N.log` | the logs of throughput, one for each job |
//! | `id-ns.json`, `id-ctrl.json` | what nvme-cli says of the drive |

use std::path::{Path, PathBuf};

use serde_json::Value;
use wordline_lab::{Error, input};

use crate::measurement::{Load, Measurement, Quantity, RANKS, Statistic};

/// Share of the first rate below which throughput has fallen. Chosen: above the dips of a buffer, and below
/// the fall of any drive with less than three times its capacity.
const FALL: f64 = 0.7;

/// Seconds of a bin of the logs.
const BIN: f64 = 1.0;

/// The contents of a folder of job outputs.
#[derive(Debug, Default)]
pub struct Outputs {
    /// The model, if `id-ctrl.json` is there.
    pub model: Option<String>,
    /// The measurements.
    pub measured: Vec<Measurement>,
    /// Jobs whose outputs are missing.
    pub missing: Vec<&'static str>,
}

/// Reads the outputs in a folder.
///
/// # Errors
/// [`Error::Content`] for a file that is no output of fio or nvme-cli, with the job and the field;
/// [`Error::Argument`] if the folder has none.
pub fn read(folder: &Path) -> Result<Outputs, Error> {
    let mut outputs = Outputs::default();
    if let Some(file) = Output::open(folder, "id-ctrl.json")? {
        outputs.model = file.value["mn"].as_str().map(|model| model.trim().to_owned());
    }
    let mut capacity = None;
    if let Some(file) = Output::open(folder, "id-ns.json")? {
        let bytes = file.capacity()?;
        capacity = Some(bytes);
        outputs.add(Quantity::Capacity, Load::Drive, bytes / 1e9, "id-ns.json");
    }
    for name in ["R0", "R1", "R2", "R3", "W1", "P1"] {
        let Some(file) = Output::open(folder, &format!("{name}.json"))? else {
            outputs.missing.push(name);
            continue;
        };
        for job in file.jobs()? {
            outputs.add_job(name, &job)?;
        }
    }
    for (name, is_overwrite) in [("S1", false), ("S2", true)] {
        match log(folder, name)? {
            Some(bins) => outputs.add_log(name, is_overwrite, &bins, capacity),
            None => outputs.missing.push(name),
        }
    }
    if outputs.measured.is_empty() {
        return Err(Error::Argument {
            what: folder.display().to_string(),
            found: "no output of a job".into(),
            wanted: "R1.json, S2_bw.1.log and others, which the jobs of `wordline fit --jobs` write".into(),
        });
    }
    Ok(outputs)
}

impl Outputs {
    fn add(&mut self, quantity: Quantity, load: Load, value: f64, source: &str) {
        if value > 0.0 {
            let source = source.to_owned();
            self.measured.push(Measurement { quantity, load, value, spread: None, source });
        }
    }

    /// Adds the results of a job of the file `name`.
    fn add_job(&mut self, name: &str, job: &Job<'_>) -> Result<(), Error> {
        let source = format!("{name}.json, job {}", job.name());
        let Some(load) = job.load(name)? else { return Ok(()) };
        if matches!(load, Load::RandomReads { .. } | Load::TrimmedReads { .. }) {
            self.add(Quantity::Iops, load, job.number("read", &["iops"])?, &source);
        }
        for (side, of) in [("read", Quantity::Read as fn(Statistic) -> Quantity), ("write", Quantity::Write)]
        {
            if job.value[side]["total_ios"].as_u64().unwrap_or(0) == 0 {
                continue;
            }
            let mean = job.number(side, &["clat_ns", "mean"])? / 1000.0;
            if matches!(load, Load::Beside { .. }) {
                self.add(of(Statistic::Mean), load, mean, &source);
            }
            for rank in RANKS {
                let value = job.number(side, &["clat_ns", "percentile", &format!("{rank:.6}")])? / 1000.0;
                self.add(of(Statistic::Percentile(rank)), load, value, &source);
            }
        }
        Ok(())
    }

    /// Adds what a log of throughput shows: the bytes before the first fall, and the rates before and after.
    fn add_log(&mut self, name: &str, is_overwrite: bool, bins: &[f64], capacity: Option<f64>) {
        let source = format!("{name}_bw.*.log");
        let fall = Fall::of(bins);
        let (before, after) = match is_overwrite {
            true => (Load::FreshWrites, Load::SteadyWrites),
            false => (Load::CacheWrites, Load::NativeWrites),
        };
        match fall.after {
            None if is_overwrite => self.add(Quantity::Throughput, before, fall.first / 1e6, &source),
            None => self.add(Quantity::Throughput, after, fall.first / 1e6, &source),
            Some(rate) => {
                self.add(Quantity::Throughput, before, fall.first / 1e6, &source);
                self.add(Quantity::Throughput, after, rate / 1e6, &source);
                match (is_overwrite, capacity) {
                    (true, Some(capacity)) => {
                        self.add(Quantity::Space, Load::Drive, (capacity + fall.bytes) / 1e9, &source);
                    }
                    (true, None) => (),
                    (false, _) => self.add(Quantity::SlcCache, Load::Drive, fall.bytes / 1e9, &source),
                }
            }
        }
    }
}

/// The first fall of throughput.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Fall {
    /// Bytes a second before it.
    first: f64,
    /// Bytes before it.
    bytes: f64,
    /// Bytes a second at the end; `None` if there was no fall.
    after: Option<f64>,
}

impl Fall {
    /// The fall in a series of bytes a second, one value for each second.
    fn of(bins: &[f64]) -> Self {
        let head = (bins.len() / 50).clamp(3, 60).min(bins.len());
        let first = median(&bins[..head]);
        let is_low = |window: &[f64]| window.iter().sum::<f64>() < FALL * first * window.len() as f64;
        match bins.windows(3).position(is_low) {
            None => Self { first: median(bins), bytes: bins.iter().sum::<f64>() * BIN, after: None },
            Some(at) => {
                // The window is low from its first bin that is.
                let at = at + bins[at..at + 3].iter().position(|rate| *rate < FALL * first).unwrap_or(0);
                let tail = &bins[bins.len() - (bins.len() - at).div_ceil(3)..];
                Self {
                    first: median(&bins[..at.max(1)]),
                    bytes: bins[..at].iter().sum::<f64>() * BIN,
                    after: Some(tail.iter().sum::<f64>() / tail.len() as f64),
                }
            }
        }
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

/// Bytes a second in each second of all logs of a job; `None` if there are none.
fn log(folder: &Path, name: &str) -> Result<Option<Vec<f64>>, Error> {
    let mut samples: Vec<(f64, f64)> = Vec::new();
    let mut logs = 0;
    for number in 1.. {
        let path = folder.join(format!("{name}_bw.{number}.log"));
        if !path.exists() {
            break;
        }
        logs += 1;
        let mut last = 0.0;
        for (line, text) in input::text(&path, "a log of fio")?.lines().enumerate() {
            let mut cells = text.split(',').map(|cell| cell.trim().parse::<f64>());
            let (Some(Ok(at)), Some(Ok(rate))) = (cells.next(), cells.next()) else {
                return Err(Error::Line {
                    path,
                    line: line as u64 + 1,
                    found: text.to_owned(),
                    wanted: "a time in milliseconds, a rate in KiB a second, and more".into(),
                });
            };
            // A sample is the mean of the time since the last one.
            samples.push((at / 1000.0, rate * 1024.0 * (at / 1000.0 - last).max(0.0)));
            last = at / 1000.0;
        }
    }
    let end = samples.iter().map(|(at, _)| *at).fold(0.0, f64::max);
    let mut bins = vec![0.0; (end / BIN) as usize];
    for (at, bytes) in samples {
        // The time of a sample is its end; the last bin may be partial and is left out.
        if let Some(bin) = bins.get_mut((at / BIN - 0.01).max(0.0) as usize) {
            *bin += bytes / BIN;
        }
    }
    Ok((logs > 0 && !bins.is_empty()).then_some(bins))
}

/// A file in JSON.
struct Output {
    path: PathBuf,
    value: Value,
}

impl Output {
    /// The file `name` in a folder; `None` if there is none.
    fn open(folder: &Path, name: &str) -> Result<Option<Self>, Error> {
        let path = folder.join(name);
        if !path.exists() {
            return Ok(None);
        }
        let text = input::text(&path, "an output in JSON")?;
        // fio prints warnings before the JSON.
        let json = text.find('{').map_or("", |begin| &text[begin..]);
        match serde_json::from_str(json) {
            Ok(value) => Ok(Some(Self { path, value })),
            Err(fault) => {
                Err(Error::Content { path, found: fault.to_string(), wanted: "an output in JSON".into() })
            }
        }
    }

    /// The jobs of an output of fio.
    fn jobs(&self) -> Result<Vec<Job<'_>>, Error> {
        let jobs = self.value["jobs"].as_array().ok_or_else(|| Error::Content {
            path: self.path.clone(),
            found: "no field jobs".into(),
            wanted: "an output of fio with --output-format=json".into(),
        })?;
        let global = &self.value["global options"];
        Ok(jobs.iter().map(|value| Job { path: &self.path, value, global }).collect())
    }

    /// The capacity of a namespace in bytes.
    fn capacity(&self) -> Result<f64, Error> {
        let wrong = || Error::Content {
            path: self.path.clone(),
            found: "no fields nsze, flbas and lbafs".into(),
            wanted: "the output of `nvme id-ns -o json`".into(),
        };
        let blocks = self.value["nsze"].as_f64().ok_or_else(wrong)?;
        let format = self.value["flbas"].as_u64().ok_or_else(wrong)? & 15;
        let shift = self.value["lbafs"][format as usize]["ds"].as_u64().ok_or_else(wrong)?;
        Ok(blocks * (1_u64 << shift.min(20)) as f64)
    }
}

/// A job of an output of fio.
struct Job<'a> {
    path: &'a Path,
    value: &'a Value,
    global: &'a Value,
}

impl Job<'_> {
    fn name(&self) -> &str {
        self.value["jobname"].as_str().unwrap_or("without a name")
    }

    /// The text of an option of the job.
    fn option(&self, key: &str) -> Option<&str> {
        self.value["job options"][key].as_str().or_else(|| self.global[key].as_str())
    }

    /// The load of a job of the file `name`; `None` if the fit cannot use it.
    fn load(&self, name: &str) -> Result<Option<Load>, Error> {
        let depth = self.whole("iodepth")?.unwrap_or(1);
        let jobs = self.whole("numjobs")?.unwrap_or(1);
        Ok(match name {
            "R0" => Some(Load::TrimmedReads { depth }),
            "R1" | "R2" | "R3" => {
                let size = self.option("bs").map(|text| self.size(text)).transpose()?.unwrap_or(4096);
                Some(Load::RandomReads { size, depth, jobs })
            }
            "W1" => Some(Load::IdleWrites),
            "P1" if self.name() == "probe" => Some(Load::Beside { rate: 10_000 }),
            _ => None,
        })
    }

    fn whole(&self, key: &str) -> Result<Option<u32>, Error> {
        let read = |text: &str| text.parse().map_err(|_| self.wrong(key, text, "a whole number"));
        self.option(key).map(read).transpose()
    }

    /// A size as fio writes it: `4k`, `512`, `1m`.
    fn size(&self, text: &str) -> Result<u64, Error> {
        let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
        let factor = match text[digits.len()..].to_ascii_lowercase().as_str() {
            "" => 1,
            "k" | "kib" | "kb" => 1024,
            "m" | "mib" | "mb" => 1 << 20,
            _ => return Err(self.wrong("bs", text, "a size such as 4k")),
        };
        digits
            .parse::<u64>()
            .map(|number| number * factor)
            .map_err(|_| self.wrong("bs", text, "a size such as 4k"))
    }

    /// The number at a path of fields.
    fn number(&self, side: &str, fields: &[&str]) -> Result<f64, Error> {
        let value = fields.iter().fold(&self.value[side], |value, field| &value[*field]);
        value
            .as_f64()
            .ok_or_else(|| self.wrong(&format!("{side}.{}", fields.join(".")), "nothing", "a number"))
    }

    fn wrong(&self, field: &str, found: &str, wanted: &str) -> Error {
        Error::Content {
            path: self.path.to_owned(),
            found: format!("{found} in the field {field} of job {}", self.name()),
            wanted: wanted.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write;
    use std::fs;

    const R1: &str = r#"fio: a warning
{"fio version": "fio-3.42", "global options": {"bs": "4k"}, "jobs": [
 {"jobname": "depth-1", "job options": {"rw": "randread", "iodepth": "1"},
  "read": {"iops": 16000.5, "total_ios": 100, "clat_ns": {"mean": 60000.0, "percentile": {
   "10.000000": 50000, "50.000000": 56000, "90.000000": 68000, "95.000000": 69000, "99.000000": 70000, "99.900000": 73000}}},
  "write": {"iops": 0, "total_ios": 0}}]}"#;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            fs::write(folder.path().join(name), text).expect("a file");
        }
        folder
    }

    fn value(outputs: &Outputs, quantity: Quantity, load: Load) -> f64 {
        let found = outputs.measured.iter().find(|one| one.quantity == quantity && one.load == load);
        found.expect("it was measured").value
    }

    #[test]
    fn an_output_of_reads_and_the_identity_of_a_drive_are_read() {
        let id = r#"{"nsze": 1875385008, "flbas": 0, "lbafs": [{"ms": 0, "ds": 9, "rp": 0}]}"#;
        let folder =
            folder(&[("R1.json", R1), ("id-ns.json", id), ("id-ctrl.json", r#"{"mn": "A DRIVE   "}"#)]);
        let outputs = read(folder.path()).expect("outputs");
        let load = Load::RandomReads { size: 4096, depth: 1, jobs: 1 };
        assert_eq!(outputs.model.as_deref(), Some("A DRIVE"));
        assert!((value(&outputs, Quantity::Capacity, Load::Drive) - 960.197).abs() < 0.001);
        assert!((value(&outputs, Quantity::Iops, load) - 16000.5).abs() < 1e-9);
        assert!((value(&outputs, Quantity::Read(Statistic::Percentile(99.9)), load) - 73.0).abs() < 1e-9);
        assert!(outputs.missing.contains(&"S2") && !outputs.missing.contains(&"R1"));
    }

    #[test]
    fn the_first_fall_of_writes_identifies_space_and_rates() {
        // Two jobs of 500 MiB/s each for 100 s, then 100 MiB/s each, in samples of half a second.
        let mut log = String::new();
        for n in 1..=600 {
            let rate = if n <= 200 { 512_000 } else { 102_400 };
            let _ = writeln!(log, "{}, {rate}, 1, 4096, 0, 0", n * 500);
        }
        let id = r#"{"nsze": 1000000000, "flbas": 0, "lbafs": [{"ds": 9}]}"#;
        let folder = folder(&[("S2_bw.1.log", &log), ("S2_bw.2.log", &log), ("id-ns.json", id)]);
        let outputs = read(folder.path()).expect("outputs");
        let mib = 1_048_576.0;
        let near =
            |value: f64, wanted: f64| assert!((value / wanted - 1.0).abs() < 0.01, "{value} for {wanted}");
        near(value(&outputs, Quantity::Space, Load::Drive), 512.0 + 100_000.0 * mib / 1e9);
        near(value(&outputs, Quantity::Throughput, Load::FreshWrites), 1000.0 * mib / 1e6);
        near(value(&outputs, Quantity::Throughput, Load::SteadyWrites), 200.0 * mib / 1e6);
    }

    #[test]
    fn writes_that_never_fall_have_one_rate() {
        let fall = Fall::of(&[100.0; 50]);
        assert_eq!((fall.first, fall.after), (100.0, None));
    }

    #[test]
    fn a_malformed_output_is_an_error_with_its_job_and_field() {
        for (name, text, wanted) in [
            ("R1.json", "{\"a\": 1}", "R1.json: found no field jobs, wanted an output of fio"),
            ("R1.json", "nothing", "R1.json: found EOF"),
            (
                "R1.json",
                &R1.replace("16000.5", "\"fast\""),
                "found nothing in the field read.iops of job depth-1",
            ),
            (
                "R1.json",
                &R1.replace("\"iodepth\": \"1\"", "\"iodepth\": \"x\""),
                "found x in the field iodepth of job depth-1",
            ),
            ("R1.json", &R1.replace("\"4k\"", "\"4q\""), "found 4q in the field bs of job depth-1"),
            ("S2_bw.1.log", "100, 5\nabc\n", "S2_bw.1.log:2: found abc, wanted a time"),
            ("id-ns.json", "{\"nsze\": 1}", "id-ns.json: found no fields nsze, flbas and lbafs"),
            ("other.txt", "", "found no output of a job"),
        ] {
            let folder = folder(&[(name, text)]);
            let error = read(folder.path()).expect_err(name).to_string();
            assert!(error.contains(wanted), "{error}");
        }
    }
}
