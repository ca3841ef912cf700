//! Tables of measurements: the form of this program, and the forms of published measurements.
//!
//! A table is CSV. Lines that begin with `#` are comments. The columns determine the form. Rows of other drives are
//! left out and counted, and rows that the fit cannot use are listed with the reason.

use std::path::Path;

use csv::{ReaderBuilder, StringRecord, Trim};
use wordline_lab::{Error, input};

use crate::load::Load;
use crate::measurement::{MIB, Measurement, Quantity, RANKS, Statistic};

/// The measurements of a table.
#[derive(Debug, Default)]
pub struct Table {
    /// The measurements that the fit can use.
    pub measured: Vec<Measurement>,
    /// Whether its rows name their drives.
    pub names_drives: bool,
    /// Rows of other drives.
    pub other_drives: usize,
    /// Rows that the fit cannot use.
    pub unused: Vec<Unused>,
}

/// A row that the fit cannot use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unused {
    /// Its line in the table.
    pub line: u64,
    /// The kind of row, and why it is left out.
    pub reason: String,
}

/// A value of a row, before its source is known.
type Value = (Load, Quantity, f64, Option<f64>);

/// The values of a row, or why the fit cannot use it.
type Reading = Result<Vec<Value>, String>;

/// The form of a table. The first columns are those by which it is recognised.
struct Form {
    columns: &'static [&'static str],
    read: fn(&Row<'_>) -> Result<Reading, Fault>,
}

const FORMS: [Form; 9] = [
    Form { columns: &["quantity", "load", "value"], read: own },
    Form { columns: &["before_fall_gb", "full_speed_mb_s", "space_gb", "pattern"], read: spare_space },
    Form { columns: &["offered_iops", "read_mean_us", "write_mean_us"], read: beside },
    Form { columns: &["pattern", "host_mb_s", "implied_waf"], read: saturated },
    Form { columns: &["pattern", "used_gib", "waf"], read: counters },
    Form { columns: &["op", "bs_bytes", "depth", "iops", "lat_mean_us"], read: by_depth },
    Form { columns: &["cache_gb", "stage1_gb_s", "stage2_gb_s"], read: slc_cache },
    Form { columns: &["measurement", "parameter", "n", "mean_us"], read: zone_commands },
    Form { columns: &["round", "p10_us", "p50_us", "p90_us", "peaks"], read: rounds },
];

/// Share of an offered rate that must be reached. Chosen: next to saturation repetitions of a latency differ by
/// half.
const REACHED: f64 = 0.95;

/// The engine of fio whose latencies have no time of the kernel in them, and whose rates no limit of a core.
const BYPASS: &str = "spdk";

/// A fault of a row: what was found, and what was wanted.
struct Fault(String, String);

/// A row of a table, by the names of its columns.
struct Row<'a> {
    heads: &'a StringRecord,
    cells: &'a StringRecord,
}

impl Row<'_> {
    /// The text of a column; empty if there is no such column.
    fn text(&self, column: &str) -> &str {
        self.heads
            .iter()
            .position(|head| head == column)
            .and_then(|place| self.cells.get(place))
            .unwrap_or("")
    }

    /// The number in a column; `None` if it is empty.
    fn number(&self, column: &str) -> Result<Option<f64>, Fault> {
        match self.text(column) {
            "" => Ok(None),
            text => match text.parse() {
                Ok(number) if f64::is_finite(number) && number >= 0.0 => Ok(Some(number)),
                _ => Err(Fault(format!("{column} = {text}"), "a number".into())),
            },
        }
    }

    /// The whole number in a column, from 1.
    fn whole(&self, column: &str) -> Result<u32, Fault> {
        let text = self.text(column);
        let number = text.parse().ok().filter(|number| *number > 0);
        number.ok_or_else(|| Fault(format!("{column} = {text}"), "a whole number from 1".into()))
    }

    /// The values in columns that have one, each a quantity under `load`.
    fn values(&self, load: Load, columns: &[(&str, Quantity)]) -> Result<Vec<Value>, Fault> {
        let mut values = Vec::new();
        for (column, quantity) in columns {
            values.extend(self.number(column)?.map(|number| (load, *quantity, number, None)));
        }
        Ok(values)
    }

    /// The percentiles in the columns that `name` gives for their ranks.
    fn percentiles(
        &self,
        load: Load,
        name: impl Fn(Statistic) -> String,
        of: fn(Statistic) -> Quantity,
    ) -> Result<Vec<Value>, Fault> {
        let mut values = Vec::new();
        for statistic in RANKS.map(Statistic::Percentile) {
            let number = self.number(&name(statistic))?;
            values.extend(number.map(|number| (load, of(statistic), number, None)));
        }
        Ok(values)
    }

    /// Whether the row is about this drive, by id or by model, or about a sample of it (`id-b`). Rows that name
    /// no drive are.
    fn is_of(&self, drive: &[&str]) -> bool {
        let named = self.text("drive");
        let is_sample =
            |id: &&str| named.strip_prefix(*id).is_some_and(|rest| rest.len() == 2 && rest.starts_with('-'));
        named.is_empty() || drive.is_empty() || drive.contains(&named) || drive.iter().any(is_sample)
    }
}

/// A reading of a row that the fit cannot use.
fn unused(reason: impl Into<String>) -> Result<Reading, Fault> {
    Ok(Err(reason.into()))
}

/// `quantity,load,value,spread`.
fn own(row: &Row<'_>) -> Result<Reading, Fault> {
    let quantity: Quantity = row
        .text("quantity")
        .parse()
        .map_err(|wanted| Fault(format!("quantity = {}", row.text("quantity")), wanted))?;
    let load: Load =
        row.text("load").parse().map_err(|wanted| Fault(format!("load = {}", row.text("load")), wanted))?;
    if quantity.is_of_drive() != (load == Load::Drive) {
        let wanted = if quantity.is_of_drive() { "the load drive" } else { "a load other than drive" };
        return Err(Fault(format!("{quantity} of the load {load}"), wanted.into()));
    }
    let value = row.number("value")?.filter(|value| *value > 0.0);
    let value =
        value.ok_or_else(|| Fault(format!("value = {}", row.text("value")), "a number above 0".into()))?;
    Ok(Ok(vec![(load, quantity, value, row.number("spread")?)]))
}

/// The space behind a drive, from the first fall of saturating random writes. The deviation of the space is that
/// of the interval in which the fall was: evenly anywhere in it.
fn spare_space(row: &Row<'_>) -> Result<Reading, Fault> {
    match row.text("pattern") {
        "uniform" => (),
        other => return unused(format!("writes of the pattern {other}")),
    }
    let space = row.number("space_gb")?;
    let deviation = match (row.number("resolution_gb")?, space) {
        (Some(interval), Some(space)) if space > 0.0 => Some(interval / space / libm::sqrt(12.0)),
        _ => None,
    };
    let mut values = row.values(Load::Drive, &[("used_gb", Quantity::Capacity)])?;
    values.extend(space.map(|space| (Load::Drive, Quantity::Space, space, deviation)));
    values.extend(row.values(Load::FreshWrites, &[("full_speed_mb_s", Quantity::Throughput)])?);
    if let Some(used) = row.number("used_gb")? {
        values.extend(row.values(steady(used), &[("steady_host_mb_s", Quantity::Throughput)])?);
    }
    Ok(Ok(values))
}

/// Saturating writes of a drive of which so many GB are in use.
fn steady(used: f64) -> Load {
    Load::SteadyPart { used: (used + 0.5) as u32 }
}

/// The part in use in a column with GiB; all of the drive if the column is empty.
fn steady_part(row: &Row<'_>, column: &str) -> Result<Load, Fault> {
    Ok(row.number(column)?.map_or(Load::SteadyWrites, |used| steady(used * 1024.0 * MIB / 1e9)))
}

/// Latencies beside writes at an offered rate.
fn beside(row: &Row<'_>) -> Result<Reading, Fault> {
    let rate = row.whole("offered_iops")?;
    if let Some(reached) = row.number("achieved_write_iops")?
        && reached < REACHED * f64::from(rate)
    {
        return unused(format!("{reached:.0} writes a second, where {rate} were offered"));
    }
    let load = Load::Beside { rate };
    let means = [
        ("read_mean_us", Quantity::Read(Statistic::Mean)),
        ("write_mean_us", Quantity::Write(Statistic::Mean)),
    ];
    let mut values = row.values(load, &means)?;
    values.extend(row.percentiles(load, |rank| Quantity::Read(rank).to_string(), Quantity::Read)?);
    values.extend(row.percentiles(load, |rank| Quantity::Write(rank).to_string(), Quantity::Write)?);
    Ok(Ok(values))
}

/// Throughput of saturating writes in steady state.
fn saturated(row: &Row<'_>) -> Result<Reading, Fault> {
    match row.text("pattern") {
        "uniform" => {
            let load = steady_part(row, "file_gib")?;
            row.values(load, &[("host_mb_s", Quantity::Throughput)]).map(Ok)
        }
        other => unused(format!("writes of the pattern {other} {}", row.text("parameters"))),
    }
}

/// Write amplification by the counters of the drive.
fn counters(row: &Row<'_>) -> Result<Reading, Fault> {
    let load = match row.text("pattern") {
        "uniform" => steady_part(row, "used_gib")?,
        "sequential" => Load::NativeWrites,
        other => return unused(format!("writes of the pattern {other} {}", row.text("parameters"))),
    };
    row.values(load, &[("waf", Quantity::WriteAmplification)]).map(Ok)
}

/// Random reads by depth, jobs and size, and sequential writes by depth and size.
fn by_depth(row: &Row<'_>) -> Result<Reading, Fault> {
    if row.text("op") == "write" {
        return sequential_writes(row);
    }
    let is_random = row.text("op") == "randread" || row.text("order") == "random";
    if !is_random || !row.text("op").contains("read") {
        return unused(format!("the operation {} {}", row.text("op"), row.text("order")));
    }
    // Zones are read by a job each.
    let column = ["jobs", "zones"].into_iter().find(|column| !row.text(column).is_empty());
    let jobs = column.map_or(Ok(1), |column| row.whole(column))?;
    let load = Load::RandomReads { size: row.whole("bs_bytes")?.into(), depth: row.whole("depth")?, jobs };
    let mut values = row.values(load, &[("iops", Quantity::Iops)])?;
    values.extend(row.percentiles(load, |rank| format!("{rank}_us"), Quantity::Read)?);
    Ok(Ok(values))
}

/// Sequential writes of one zone, or of a drive without zones. Of their latencies the median is read: others show
/// how the times of the firmware vary, which the twin's do not.
fn sequential_writes(row: &Row<'_>) -> Result<Reading, Fault> {
    let is_one = |column: &str| matches!(row.text(column), "" | "1");
    if !is_one("zones") || !is_one("jobs") {
        return unused("writes of several zones or jobs");
    }
    if row.text("order") == "random" {
        return unused("random writes in a closed loop");
    }
    let load = Load::Writes { size: row.whole("bs_bytes")?.into(), depth: row.whole("depth")? };
    let median = Quantity::Write(Statistic::Percentile(50.0));
    row.values(load, &[("iops", Quantity::Iops), ("p50_us", median)]).map(Ok)
}

/// Speeds of sequential writes with and without the SLC cache, as reviews give them. The time to fill the whole
/// drive is not read: it follows from the others.
fn slc_cache(row: &Row<'_>) -> Result<Reading, Fault> {
    let mut values = row.values(
        Load::Drive,
        &[
            ("capacity_gb", Quantity::Capacity),
            ("bits_per_cell", Quantity::BitsPerCell),
            ("cache_gb", Quantity::SlcCache),
        ],
    )?;
    for (column, load) in [("stage1_gb_s", Load::CacheWrites), ("stage2_gb_s", Load::NativeWrites)] {
        values.extend(row.number(column)?.map(|rate| (load, Quantity::Throughput, rate * 1000.0, None)));
    }
    Ok(Ok(values))
}

/// Times of resets of a zone and of its finish, by the blocks of 4 KiB that were written to it.
fn zone_commands(row: &Row<'_>) -> Result<Reading, Fault> {
    let measurement = row.text("measurement");
    let blocks = row.number("parameter")?.unwrap_or(0.0) as u32;
    let load = match measurement.rsplit_once(':') {
        Some((series, "reset")) if series.starts_with("partial_reset") => Load::ZoneReset { blocks },
        Some((series, "finish")) if series.starts_with("partial_finish") => Load::ZoneFinish { blocks },
        _ => return unused(format!("the zone command {measurement}")),
    };
    row.values(load, &[("mean_us", Quantity::Mean)]).map(Ok)
}

/// Latencies of random reads of 16 KiB at depth 1, by how often the drive was read before. Later rounds show wear
/// of the data, which no parameter of a twin is.
fn rounds(row: &Row<'_>) -> Result<Reading, Fault> {
    match row.number("round")? {
        Some(0.0) => (),
        _ => return unused(format!("reads of round {}", row.text("round"))),
    }
    let load = Load::RandomReads { size: 16384, depth: 1, jobs: 1 };
    row.percentiles(load, |rank| format!("{rank}_us"), Quantity::Read).map(Ok)
}

/// Reads the table at `path`. `drive` has the names of the drive; if there are none, every row is of it.
///
/// # Errors
/// [`Error::File`] if the file cannot be read, [`Error::Content`] for columns of no known form,
/// [`Error::Line`] for a row that does not follow the form.
pub fn read(path: &Path, drive: &[&str]) -> Result<Table, Error> {
    let text = input::text(path, "a table of measurements")?;
    let mut lines =
        (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    let (first, heads) = lines.next().unwrap_or((1, ""));
    let heads = cells(path, first, heads)?;
    let has = |column: &&str| heads.iter().any(|head| head == *column);
    let form = FORMS.iter().find(|form| form.columns.iter().all(has)).ok_or_else(|| Error::Content {
        path: path.to_owned(),
        found: format!("the columns {}", heads.iter().collect::<Vec<_>>().join(", ")),
        wanted: "the columns quantity, load, value and spread, or those of a published form".into(),
    })?;
    let mut rows = Vec::new();
    for (line, text) in lines {
        rows.push((line, cells(path, line, text)?));
    }
    let all = || rows.iter().map(|(_, cells)| Row { heads: &heads, cells });
    check_one_drive(path, all(), drive)?;
    let is_bypassed = all().any(|row| row.is_of(drive) && row.text("engine") == BYPASS);
    let mut table = Table { names_drives: has(&"drive"), ..Table::default() };
    for (line, cells) in &rows {
        let (line, row) = (*line, Row { heads: &heads, cells });
        if !row.is_of(drive) {
            table.other_drives += 1;
            continue;
        }
        let engine = row.text("engine");
        let reading = match is_bypassed && !engine.is_empty() && engine != BYPASS {
            true => {
                unused(format!("the engine {engine}, beside rows of {BYPASS} without the time of the kernel"))
            }
            false => (form.read)(&row),
        };
        let reading = reading.map_err(|Fault(found, wanted)| at_line(path, line, found, wanted))?;
        table.add(path, line, reading);
    }
    Ok(table)
}

/// Checks that a table of several drives is not read as one of one drive.
fn check_one_drive<'a>(
    path: &Path,
    rows: impl Iterator<Item = Row<'a>>,
    drive: &[&str],
) -> Result<(), Error> {
    let mut names: Vec<String> = rows.map(|row| row.text("drive").to_owned()).collect();
    names.sort_unstable();
    names.dedup();
    if drive.is_empty() && names.len() > 1 {
        return Err(Error::Content {
            path: path.to_owned(),
            found: format!("rows of the drives {}", names.join(", ")),
            wanted: "--drive with one of these names, or a description of the drive with its id".into(),
        });
    }
    Ok(())
}

impl Table {
    /// Adds what was read in a row.
    fn add(&mut self, path: &Path, line: u64, reading: Reading) {
        let values = match reading {
            Err(reason) => return self.unused.push(Unused { line, reason }),
            Ok(values) => values.into_iter().filter(|(_, _, value, _)| *value > 0.0),
        };
        let source = format!("{}:{line}", path.display());
        let before = self.measured.len();
        self.measured.extend(values.map(|(load, quantity, value, spread)| Measurement {
            quantity,
            load,
            value,
            spread,
            source: source.clone(),
        }));
        if self.measured.len() == before {
            self.unused.push(Unused { line, reason: "no value in a column that the fit reads".into() });
        }
    }
}

/// The cells of a line.
fn cells(path: &Path, line: u64, text: &str) -> Result<StringRecord, Error> {
    let mut reader = ReaderBuilder::new().has_headers(false).trim(Trim::All).from_reader(text.as_bytes());
    let mut cells = StringRecord::new();
    match reader.read_record(&mut cells) {
        Ok(_) => Ok(cells),
        Err(fault) => Err(at_line(path, line, fault.to_string(), "a row of CSV".into())),
    }
}

fn at_line(path: &Path, line: u64, found: String, wanted: String) -> Error {
    Error::Line { path: path.to_owned(), line, found, wanted }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn table(text: &str, drive: &[&str]) -> Result<Table, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("t.csv");
        fs::write(&path, text).expect("a file");
        read(&path, drive).map_err(|error| error.to_string().replace(&*folder.path().to_string_lossy(), ""))
    }

    #[test]
    fn the_form_of_this_program_is_read() {
        let text = "# a drive\nquantity,load,value,spread\ncapacity_gb,drive,960,\n\
                    read_p99_us,randread bs=4096 iodepth=8,111.1,0.02\n";
        let read = table(text, &["mine"]).expect("a table");
        assert_eq!(read.measured.len(), 2);
        let last = &read.measured[1];
        assert_eq!(last.load, Load::RandomReads { size: 4096, depth: 8, jobs: 1 });
        assert_eq!((last.value, last.spread), (111.1, Some(0.02)));
        assert!(last.source.ends_with("t.csv:4"), "{}", last.source);
    }

    #[test]
    fn rows_of_other_drives_and_loads_are_counted() {
        let text = "drive,experiment,pattern,host_mb_s,implied_waf\na-b,x,uniform,342,5\nb,x,uniform,1,1\na,x,zipf,9,9\n";
        let read = table(text, &["a"]).expect("a table");
        assert_eq!((read.measured.len(), read.other_drives), (1, 1));
        assert_eq!(read.unused, [Unused { line: 4, reason: "writes of the pattern zipf ".into() }]);
        assert_eq!(read.measured[0].load, Load::SteadyWrites);
    }

    #[test]
    fn published_forms_are_read_with_what_they_say_of_the_drive() {
        let steady = |used| Load::SteadyPart { used };
        let head =
            "drive,pattern,used_gb,full_speed_mb_s,before_fall_gb,resolution_gb,space_gb,steady_host_mb_s\n";
        let read = table(&format!("{head}a,uniform,400,1000,500,60,900,800\n"), &["a"]).expect("a table");
        let value = |load, quantity| {
            read.measured.iter().find(|one| one.load == load && one.quantity == quantity).expect("read").value
        };
        assert_eq!(value(Load::Drive, Quantity::Capacity), 400.0);
        assert_eq!(value(steady(400), Quantity::Throughput), 800.0);
        let spread = read.measured[1].spread.expect("of the interval");
        assert!((spread - 60.0 / 900.0 / 12_f64.sqrt()).abs() < 1e-9, "{spread}");

        let head = "drive,capacity_gb,bits_per_cell,cache_gb,stage1_gb_s,stage2_gb_s,whole_fill_gb_s\n";
        let read = table(&format!("{head}a,2000,4,100,3.0,,1.0\n"), &["a"]).expect("a table");
        let named: Vec<String> =
            read.measured.iter().map(|one| format!("{} {} {}", one.quantity, one.load, one.value)).collect();
        let wanted = [
            "capacity_gb drive 2000",
            "bits_per_cell drive 4",
            "slc_cache_gb drive 100",
            "mb_s write cache 3000",
        ];
        assert_eq!(named, wanted);

        let text = "measurement,parameter,n,mean_us\npartial_reset/run4:reset,17,9,2\nx:open,1,9,2\n";
        let read = table(text, &[]).expect("a table");
        assert_eq!(read.measured[0].load, Load::ZoneReset { blocks: 17 });
        assert_eq!(read.unused, [Unused { line: 3, reason: "the zone command x:open".into() }]);

        let text = "drive,round,p10_us,p50_us,p90_us,peaks\na,0,180,210,270,60:2.0\na,9,180,230,300,\n";
        let read = table(text, &["a"]).expect("a table");
        assert_eq!(read.measured[1].load, Load::RandomReads { size: 16384, depth: 1, jobs: 1 });
        assert_eq!((read.measured.len(), read.unused[0].line), (3, 3));

        let text = "drive,offered_iops,achieved_write_iops,read_mean_us,write_mean_us\na,10000,9950,70,9\na,90000,80000,900,9\n";
        let read = table(text, &["a"]).expect("a table");
        assert_eq!((read.measured.len(), read.unused[0].line), (2, 3));
    }

    #[test]
    fn zones_are_read_by_a_job_each_and_engines_of_the_kernel_give_way() {
        let text = "drive,op,bs_bytes,zones,depth,engine,iops,lat_mean_us\na,randread,4096,2,8,spdk,100,1\n\
                    a,randread,4096,2,8,io_uring,90,1\na,append,4096,1,1,spdk,5,1\n";
        let read = table(text, &["a"]).expect("a table");
        assert_eq!(read.measured.len(), 1);
        assert_eq!(read.measured[0].load, Load::RandomReads { size: 4096, depth: 8, jobs: 2 });
        let lines: Vec<u64> = read.unused.iter().map(|row| row.line).collect();
        assert_eq!(lines, [3, 4], "{:?}", read.unused);
    }

    #[test]
    fn a_table_of_several_drives_needs_a_name() {
        let text = "drive,pattern,host_mb_s,implied_waf\na,uniform,342,5\nb,uniform,1,1\n";
        let error = table(text, &[]).expect_err("two drives");
        assert!(error.contains("found rows of the drives a, b, wanted --drive"), "{error}");
        assert_eq!(table(text, &["b"]).expect("one drive").measured.len(), 1);
    }

    #[test]
    fn a_malformed_table_is_an_error_with_its_line() {
        for (text, wanted) in [
            ("a,b\n1,2\n", "found the columns a, b, wanted the columns quantity, load"),
            (
                "quantity,load,value\niosp,randwrite steady,1\n",
                ":2: found quantity = iosp, wanted capacity_gb",
            ),
            (
                "quantity,load,value\niops,randwrit steady,1\n",
                ":2: found load = randwrit steady, wanted drive",
            ),
            ("quantity,load,value\niops,drive,1\n", ":2: found iops of the load drive"),
            (
                "quantity,load,value\n\niops,randwrite steady,fast\n",
                ":3: found value = fast, wanted a number",
            ),
            (
                "quantity,load,value\niops,randwrite steady,0\n",
                ":2: found value = 0, wanted a number above 0",
            ),
            ("drive,offered_iops,read_mean_us,write_mean_us\na,-1,2,3\n", ":2: found offered_iops = -1"),
        ] {
            let error = table(text, &[]).expect_err(text);
            assert!(error.contains(wanted), "{text}: {error}");
        }
    }
}
