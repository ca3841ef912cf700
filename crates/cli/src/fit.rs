//! `wordline fit`: a device fitted to measurements of a drive.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use wordline_fit::drive::Drive;
use wordline_fit::load::Load;
use wordline_fit::measurement::{Measurement, Quantity};
use wordline_fit::outcome::Fit;
use wordline_fit::twin::Twin;
use wordline_fit::{fio, jobs, show, table};
use wordline_kernel::Bytes;
use wordline_lab as lab;
use wordline_lab::Error;
use wordline_lab::output::{Output, ReportFolder};
use wordline_lab::sweep::SweepOptions;

use crate::failure::{Failure, print_message};
use crate::interrupt;
use crate::output::{self, JsonArgument, with_provenance};
use crate::progress::ExperimentProgress;
use crate::provenance::provenance;

const EXAMPLES: &str = "\
Examples:
  wordline fit --jobs jobs                            then run jobs/run.sh on the drive
  wordline fit jobs --out mine.toml --report out      from the outputs of the jobs
  wordline fit drive.toml measured.csv                from a description and a table
  wordline run --preset mine.toml --workload mixed-70-30";

/// Fits a device to measurements of a drive, and says what the measurements do not identify.
///
/// Measurements are outputs of fio in a folder, tables in CSV (quantity, load, value, spread, or the columns
/// of a published form), and a description of the drive (a TOML file with a table [drive]). The search
/// simulates the loads of the measurements and takes minutes.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Folders with outputs of fio, tables (.csv) and the description of the drive (.toml).
    #[arg(value_name = "FILE|DIR", required_unless_present = "jobs")]
    files: Vec<PathBuf>,
    /// Writes the job files of fio and a script that runs them into a new folder, and does nothing else.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["files", "out", "zones", "report", "json", "drive"])]
    jobs: Option<PathBuf>,
    /// The drive whose rows of tables are used, by the name in their column `drive`; can be repeated. Default:
    /// id and model of the description, else all rows.
    #[arg(long, value_name = "NAME")]
    drive: Vec<String>,
    /// Capacity of the drive, such as 960GB, if neither the description nor id-ns.json has it.
    #[arg(long, value_name = "BYTES")]
    capacity: Option<Bytes>,
    /// Divisor of the pages of a block: a twin of 1 TB at scale 16 is as large as a drive of 64 GB, and as
    /// fast as the drive. A power of two up to 128.
    #[arg(long, value_name = "N", default_value_t = 16)]
    scale: u32,
    /// Writes the device to FILE, to run with --preset FILE; `-` for standard output in place of the table.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Writes the device with zones to FILE, if the drive is zoned. That of --out has the same flash under an FTL.
    #[arg(long, value_name = "FILE")]
    zones: Option<PathBuf>,
    #[command(flatten)]
    json: JsonArgument,
    /// Writes report.html, its charts, fit.json and the device into DIR; replaces a report there.
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    /// Number of parallel runs; the number of cores if not given.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    threads: u32,
    /// Shows no progress bar, even if standard error is a terminal.
    #[arg(long)]
    no_progress: bool,
}

/// Runs the command.
pub fn handle(arguments: Arguments) -> Result<(), Failure> {
    if let Some(folder) = &arguments.jobs {
        return write_jobs(folder);
    }
    if !Twin::scales().any(|scale| scale == arguments.scale) {
        return Err(Failure::Error(Error::Argument {
            what: "--scale".into(),
            found: arguments.scale.to_string(),
            wanted: "a power of two from 1 to 128".into(),
        }));
    }
    let outputs = [
        ("--json", arguments.json.file.as_deref()),
        ("--out", arguments.out.as_deref()),
        ("--zones", arguments.zones.as_deref()),
        ("--report", arguments.report.as_deref()),
    ];
    output::check_distinct(&outputs, &arguments.files.iter().map(PathBuf::as_path).collect::<Vec<_>>())?;
    let drive = read(&arguments)?;
    if arguments.zones.is_some() && !wordline_fit::is_zoned(&drive) {
        return Err(Failure::Error(Error::Argument {
            what: "--zones".into(),
            found: format!("{}, of which no zones are known", drive.name),
            wanted: "a description with zone_capacity_mib, or a table with times of zone commands".into(),
        }));
    }
    let outputs = Outputs::open(&arguments)?;
    interrupt::set_polling(true);
    let steps = ExperimentProgress::new(&drive.name, arguments.no_progress);
    let conduct = SweepOptions {
        threads: arguments.threads as usize,
        stop: interrupt::flag(),
        progress: &|done, total| steps.show(done, total),
    };
    let files: Vec<String> = arguments.files.iter().map(|file| name_of(file)).collect();
    let source = format!("wordline fit, from {}", files.join(", "));
    let fit = wordline_fit::fit(&drive, arguments.scale, &source, &conduct)?;
    drop(steps);
    interrupt::take();
    if fit.zoned.is_some() && outputs.zones.is_none() {
        print_message("note: the drive is zoned: --zones FILE writes the device with its zones");
    }
    for one in &fit.left_out {
        print_message(&format!("note: left out: {one}"));
    }
    outputs.write(&fit)
}

/// The outputs of the command. All are opened before the search, which takes minutes.
struct Outputs {
    device: Option<Output>,
    zones: Option<Output>,
    report: Option<ReportFolder>,
    json: output::Json,
}

impl Outputs {
    fn open(arguments: &Arguments) -> Result<Self, Failure> {
        Ok(Self {
            device: arguments.out.as_deref().map(Output::open).transpose()?,
            zones: arguments.zones.as_deref().map(Output::open).transpose()?,
            report: arguments.report.as_deref().map(ReportFolder::claim).transpose()?,
            json: arguments.json.open()?,
        })
    }

    /// Writes all, and returns the first failure.
    fn write(self, fit: &Fit) -> Result<(), Failure> {
        let provenance = provenance();
        let page = self.report.map_or(Ok(()), |folder| {
            show::write(folder, fit, with_provenance(fit), &provenance.command_line(), &provenance)
        });
        let is_standard = [&self.device, &self.zones].into_iter().flatten().any(Output::is_standard);
        let device = self.device.map_or(Ok(()), |out| out.give(fit.configuration.as_bytes()));
        let zoned = self.zones.zip(fit.zoned.as_ref());
        let zoned = zoned.map_or(Ok(()), |(out, zoned)| out.give(zoned.as_bytes()));
        let printed = match is_standard {
            true => self.json.give(fit),
            false => self.json.or_table(fit, || show::table(fit)),
        };
        page?;
        device?;
        zoned?;
        printed
    }
}

/// The drive, from all files.
fn read(arguments: &Arguments) -> Result<Drive, Failure> {
    let is =
        |end: &'static str| move |file: &&PathBuf| file.extension().is_some_and(|extension| extension == end);
    let mut drive = match arguments.files.iter().filter(is("toml")).collect::<Vec<_>>()[..] {
        [] => {
            let stem = arguments.files[0].file_stem().map(|stem| stem.to_string_lossy().into_owned());
            let name = stem.unwrap_or_else(|| "drive".into());
            Drive { model: name.clone(), name, ..Drive::default() }
        }
        [file] => Drive::of_file(file)?,
        [_, second, ..] => {
            return Err(Failure::Error(Error::Argument {
                what: second.display().to_string(),
                found: "a second description of a drive".into(),
                wanted: "one, and tables or folders".into(),
            }));
        }
    };
    if let Some(Bytes(capacity)) = arguments.capacity {
        drive.measured.retain(|one| one.quantity != Quantity::Capacity);
        drive.add_all(vec![Measurement {
            quantity: Quantity::Capacity,
            load: Load::Drive,
            value: capacity as f64 / 1e9,
            spread: None,
            source: "--capacity".into(),
        }]);
    }
    let described = [drive.name.clone(), drive.model.clone()];
    let named: Vec<&str> = match (&arguments.drive[..], arguments.files.iter().any(|file| is("toml")(&file)))
    {
        ([], true) => described.iter().map(String::as_str).collect(),
        (names, _) => names.iter().map(String::as_str).collect(),
    };
    let (mut measured, mut names_drives) = (Vec::new(), false);
    for file in arguments.files.iter().filter(|file| !is("toml")(file)) {
        if file.is_dir() {
            measured.extend(outputs(file, &mut drive)?);
        } else {
            let table = rows(file, &named)?;
            names_drives |= table.names_drives;
            measured.extend(table.measured);
        }
    }
    if !arguments.drive.is_empty() && !names_drives {
        return Err(Failure::Error(Error::Argument {
            what: "--drive".into(),
            found: format!("{}, but no table with a column drive", arguments.drive.join(", ")),
            wanted: "no --drive, or a table whose rows name their drives".into(),
        }));
    }
    if measured.is_empty() {
        return Err(Failure::Error(Error::Argument {
            what: arguments.files.iter().map(|file| name_of(file)).collect::<Vec<_>>().join(", "),
            found: "no measurement of the drive".into(),
            wanted: "a table with rows of it, whose name --drive gives, or a folder of outputs of fio".into(),
        }));
    }
    drive.add_all(measured);
    Ok(drive)
}

/// The measurements in a folder of outputs of fio.
fn outputs(folder: &Path, drive: &mut Drive) -> Result<Vec<Measurement>, Error> {
    let outputs = fio::read(folder)?;
    if let Some(model) = outputs.model {
        drive.model = model;
    }
    if !outputs.missing.is_empty() {
        print_message(&format!(
            "note: {}: no outputs of the jobs {}",
            folder.display(),
            outputs.missing.join(", ")
        ));
    }
    if !outputs.unused.is_empty() {
        print_message(&format!("note: {}: not used: {}", folder.display(), outputs.unused.join("; ")));
    }
    Ok(outputs.measured)
}

/// Most rows of a table that a note lists. Chosen.
const SHOWN: usize = 8;

/// The measurements in a table. A note lists the rows that are not used.
fn rows(file: &Path, drive: &[&str]) -> Result<table::Table, Error> {
    let table = table::read(file, drive)?;
    if !table.unused.is_empty() {
        let rows: Vec<String> =
            table.unused.iter().map(|row| format!("line {}: {}", row.line, row.reason)).collect();
        let (shown, more) = rows.split_at(rows.len().min(SHOWN));
        let more = if more.is_empty() { String::new() } else { format!("; {} more", more.len()) };
        print_message(&format!("note: {}: not used: {}{more}", file.display(), shown.join("; ")));
    }
    Ok(table)
}

/// Writes the job files, and the script that runs them.
fn write_jobs(folder: &Path) -> Result<(), Failure> {
    fs::create_dir(folder)
        .map_err(|reason| Failure::Error(Error::File { path: folder.to_owned(), action: "write", reason }))?;
    let files = jobs::files();
    for file in &files {
        lab::output::write(&folder.join(format!("{}.fio", file.name)), file.text.as_bytes())?;
    }
    lab::output::write(&folder.join("run.sh"), jobs::script(&files).as_bytes())?;
    output::text(&format!(
        "{} job files and run.sh are in {}. `sh run.sh DEVICE` there runs them; the drive loses its contents.",
        files.len(),
        folder.display()
    ))
}

/// The name of a file without its folders.
fn name_of(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}
