//! Outputs of fio: the measurements in a folder with the results of the [jobs](crate::jobs).
//!
//! | file | is |
//! |---|---|
//! | `NAME.json` | the output of a job file with `--output-format=json` |
//! | `S1_bw.N.log`, `S2_bw.N.log`, `T1_bw.N.log`, `G1_bw.N.log` | the logs of throughput, one for each job |
//! | `W2_clat.1.log` | the latency of each write |
//! | `C0.NAME.before.bin`, `C0.NAME.after.bin` | the OCP log page C0 before and after a job |
//! | `id-ns.json`, `id-ctrl.json` | what nvme-cli says of the drive |

use std::path::{Path, PathBuf};

use serde_json::Value;
use wordline_lab::{Error, input};

use crate::load::Load;
use crate::logs::{Fall, burst, log, media_bytes};
use crate::measurement::{MIB, Measurement, Quantity, RANKS, Statistic};

/// Part of the capacity that is in use after job T1 has trimmed a quarter.
pub const USED_AFTER_TRIM: f64 = 0.75;

/// Gain of idle time that is none, in GB. A measurement is above 0.
const NO_GAIN: f64 = 1e-6;

/// Share of a rate that writes beside reads must reach. Chosen: fio paces by the millisecond.
const REACHED: f64 = 0.95;

/// The contents of a folder of job outputs.
#[derive(Debug, Default)]
pub struct Outputs {
    /// The model, if `id-ctrl.json` is there.
    pub model: Option<String>,
    /// The measurements.
    pub measured: Vec<Measurement>,
    /// Jobs whose outputs are missing.
    pub missing: Vec<&'static str>,
    /// Results that the fit cannot use, with the reason.
    pub unused: Vec<String>,
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
    for name in ["R0", "R1", "R2", "R3", "W1", "W3", "RW", "P1", "MX"] {
        let Some(file) = Output::open(folder, &format!("{name}.json"))? else {
            outputs.missing.push(name);
            continue;
        };
        let jobs = file.jobs()?;
        for job in &jobs {
            match job.unreached(&jobs)? {
                Some(reason) => outputs.unused.push(format!("{name}.json: {reason}")),
                None => outputs.add_job(name, job)?,
            }
        }
    }
    for (name, is_overwrite) in [("S1", false), ("S2", true)] {
        match log(folder, name)? {
            Some(bins) => outputs.add_log(name, is_overwrite, &bins, capacity),
            None => outputs.missing.push(name),
        }
    }
    outputs.add_other_logs(folder, capacity)?;
    outputs.add_counters(folder)?;
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
        if matches!(load, Load::RandomReads { .. } | Load::TrimmedReads { .. } | Load::Mixed { .. }) {
            let writes = job.value["write"]["iops"].as_f64().unwrap_or(0.0);
            self.add(Quantity::Iops, load, job.number("read", &["iops"])? + writes, &source);
        }
        for (side, of) in [("read", Quantity::Read as fn(Statistic) -> Quantity), ("write", Quantity::Write)]
        {
            if job.value[side]["total_ios"].as_u64().unwrap_or(0) == 0 {
                continue;
            }
            let mean = job.number(side, &["clat_ns", "mean"])? / 1000.0;
            if matches!(load, Load::Beside { .. } | Load::BesideSequential { .. } | Load::Mixed { .. }) {
                self.add(of(Statistic::Mean), load, mean, &source);
            }
            for rank in RANKS {
                let value = job.number(side, &["clat_ns", "percentile", &format!("{rank:.6}")])? / 1000.0;
                self.add(of(Statistic::Percentile(rank)), load, value, &source);
            }
        }
        Ok(())
    }

    /// Adds what the logs of the jobs W2, T1 and G1 show.
    fn add_other_logs(&mut self, folder: &Path, capacity: Option<f64>) -> Result<(), Error> {
        match burst(folder, "W2")? {
            Some(bytes) => self.add(Quantity::Buffer, Load::Drive, bytes / 1e6, "W2_clat.1.log"),
            None => self.missing.push("W2"),
        }
        match (log(folder, "T1")?, capacity) {
            (Some(bins), Some(capacity)) => {
                let fall = Fall::of(&bins);
                let load = Load::SteadyPart { used: (capacity * USED_AFTER_TRIM / 1e9 + 0.5) as u32 };
                let rate = fall.after.unwrap_or(fall.first);
                self.add(Quantity::Throughput, load, rate / 1e6, "T1_bw.*.log");
            }
            _ => self.missing.push("T1"),
        }
        match log(folder, "G1")? {
            Some(bins) => {
                let fall = Fall::of(&bins);
                let gain = if fall.after.is_some() { fall.bytes / 1e9 } else { NO_GAIN };
                self.add(Quantity::IdleGain, Load::Drive, gain, "G1_bw.*.log");
            }
            None => self.missing.push("G1"),
        }
        Ok(())
    }

    /// Adds the write amplification that the counters of the drive show.
    fn add_counters(&mut self, folder: &Path) -> Result<(), Error> {
        for (name, load) in [("S1", Load::NativeWrites), ("G1", Load::SteadyWrites)] {
            let Some(media) = media_bytes(folder, name)? else { continue };
            let Some(file) = Output::open(folder, &format!("{name}.json"))? else { continue };
            let mut host = 0.0;
            for job in file.jobs()? {
                host += job.number("write", &["io_bytes"])?;
            }
            if host > 0.0 {
                self.add(Quantity::WriteAmplification, load, media / host, &format!("C0.{name}.*.bin"));
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
            "MX" => Some(Load::Mixed { reads: self.whole("rwmixread")?.unwrap_or(50), depth, jobs }),
            "W3" | "RW" => match self.beside()? {
                None => None,
                Some(("reads", 0)) => Some(Load::RandomReads { size: 4096, depth, jobs: 1 }),
                Some(("reads", rate)) => {
                    let size = if name == "W3" { crate::jobs::FLUSHED } else { crate::jobs::STREAMED };
                    Some(Load::BesideSequential { depth, size, rate })
                }
                Some(_) => None,
            },
            _ => None,
        })
    }

    /// Side and rate in MiB/s of a job with a name such as `reads-200`.
    fn beside(&self) -> Result<Option<(&str, u32)>, Error> {
        let Some((side, rate)) = self.name().split_once('-') else { return Ok(None) };
        if side != "reads" && side != "writes" {
            return Ok(None);
        }
        let rate = rate.parse().map_err(|_| self.wrong("jobname", self.name(), "reads-200 or writes-200"))?;
        Ok(Some((side, rate)))
    }

    /// Why the writes beside this job of reads, among `jobs`, are not what they are to be; `None` if they are.
    fn unreached(&self, jobs: &[Job<'_>]) -> Result<Option<String>, Error> {
        let Some(("reads", rate)) = self.beside()? else { return Ok(None) };
        let Some(writes) = jobs.iter().find(|job| job.name() == format!("writes-{rate}")) else {
            return Ok((rate > 0).then(|| format!("job reads-{rate} without a job writes-{rate}")));
        };
        let reached = writes.number("write", &["bw_bytes"])? / MIB;
        let wanted = f64::from(rate);
        Ok((reached < REACHED * wanted)
            .then(|| format!("writes of {reached:.0} MiB/s beside job reads-{rate}")))
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
        let near =
            |value: f64, wanted: f64| assert!((value / wanted - 1.0).abs() < 0.01, "{value} for {wanted}");
        near(value(&outputs, Quantity::Space, Load::Drive), 512.0 + 100_000.0 * MIB / 1e9);
        near(value(&outputs, Quantity::Throughput, Load::FreshWrites), 1000.0 * MIB / 1e6);
        near(value(&outputs, Quantity::Throughput, Load::SteadyWrites), 200.0 * MIB / 1e6);
    }

    #[test]
    fn reads_beside_writes_count_if_the_writes_reached_their_rate() {
        let latency = |us: u32| {
            let ns = u64::from(us) * 1000;
            format!(
                "\"clat_ns\": {{\"mean\": {ns}, \"percentile\": {{\"10.000000\": {ns}, \"50.000000\": {ns}, \
                 \"90.000000\": {ns}, \"95.000000\": {ns}, \"99.000000\": {ns}, \"99.900000\": {ns}}}}}"
            )
        };
        let reads = |rate: u32, us: u32| {
            format!(
                "{{\"jobname\": \"reads-{rate}\", \"job options\": {{\"iodepth\": \"1\"}}, \
                 \"read\": {{\"iops\": 9, \"total_ios\": 9, {}}}, \"write\": {{\"total_ios\": 0}}}}",
                latency(us)
            )
        };
        let writes = |rate: u32, reached: u32| {
            let bytes = u64::from(reached) << 20;
            format!(
                "{{\"jobname\": \"writes-{rate}\", \"job options\": {{}}, \"read\": {{\"total_ios\": 0}}, \
                 \"write\": {{\"total_ios\": 9, \"bw_bytes\": {bytes}}}}}"
            )
        };
        let jobs = [reads(0, 60), reads(50, 80), writes(50, 50), reads(800, 400), writes(800, 500)].join(",");
        let text = format!("{{\"global options\": {{}}, \"jobs\": [{jobs}]}}");
        let folder = folder(&[("RW.json", &text)]);
        let outputs = read(folder.path()).expect("outputs");
        let alone = Load::RandomReads { size: 4096, depth: 1, jobs: 1 };
        let beside = Load::BesideSequential { depth: 1, size: 131_072, rate: 50 };
        assert!((value(&outputs, Quantity::Read(Statistic::Percentile(50.0)), alone) - 60.0).abs() < 1e-9);
        assert!((value(&outputs, Quantity::Read(Statistic::Mean), beside) - 80.0).abs() < 1e-9);
        assert!(!outputs.measured.iter().any(|one| one.value > 100.0));
        assert_eq!(outputs.unused, ["RW.json: writes of 500 MiB/s beside job reads-800"]);
    }

    #[test]
    fn idle_gain_and_trimmed_space_are_read_off_logs() {
        let log = |rates: &[(u32, u32)]| {
            let seconds = rates.iter().flat_map(|(seconds, rate)| (0..*seconds).map(move |_| rate));
            let mut text = String::new();
            for (second, rate) in (1..).zip(seconds) {
                let _ = writeln!(text, "{}, {rate}, 1, 4096, 0, 0", second * 1000);
            }
            text
        };
        let id = r#"{"nsze": 1000000000, "flbas": 0, "lbafs": [{"ds": 9}]}"#;
        let folder = folder(&[
            ("G1_bw.1.log", &log(&[(10, 1_000_000), (50, 200_000)])),
            ("T1_bw.1.log", &log(&[(100, 1_000_000), (100, 400_000)])),
            ("id-ns.json", id),
        ]);
        let outputs = read(folder.path()).expect("outputs");
        let near =
            |value: f64, wanted: f64| assert!((value / wanted - 1.0).abs() < 0.01, "{value} for {wanted}");
        near(value(&outputs, Quantity::IdleGain, Load::Drive), 10.24);
        near(value(&outputs, Quantity::Throughput, Load::SteadyPart { used: 384 }), 409.6);
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
