//! Tables of measurements: the form of this program, and the forms of published measurements.
//!
//! A table is CSV. Lines that begin with `#` are comments. The columns determine the form. Rows of other drives, and
//! of loads that the fit cannot use, are left out and counted.

use std::path::Path;

use csv::{ReaderBuilder, StringRecord, Trim};
use wordline_lab::{Error, input};

use crate::measurement::{Load, Measurement, Quantity, RANKS, Statistic};

/// The measurements of a table.
#[derive(Debug, Default)]
pub struct Table {
    /// The measurements that the fit can use.
    pub measured: Vec<Measurement>,
    /// Rows of other drives.
    pub other_drives: usize,
    /// Rows of loads that the fit cannot use.
    pub unused: usize,
}

/// A value of a row, before its source is known.
type Value = (Load, Quantity, f64, Option<f64>);

/// The form of a table. The first columns are those by which it is recognised.
struct Form {
    columns: &'static [&'static str],
    /// The values of a row; none if the fit cannot use it.
    read: fn(&Row<'_>) -> Result<Vec<Value>, Fault>,
}

const FORMS: [Form; 7] = [
    Form { columns: &["quantity", "load", "value"], read: own },
    Form { columns: &["before_fall_gb", "full_speed_mb_s", "space_gb", "pattern"], read: spare_space },
    Form { columns: &["offered_iops", "read_mean_us", "write_mean_us"], read: beside },
    Form { columns: &["pattern", "host_mb_s", "implied_waf"], read: saturated },
    Form { columns: &["op", "bs_bytes", "depth", "iops", "lat_mean_us"], read: by_depth },
    Form { columns: &["cache_gb", "stage1_gb_s", "stage2_gb_s"], read: slc_cache },
    // Times of zone commands: the twin of a zoned drive has no zones.
    Form { columns: &["measurement", "parameter", "n", "mean_us"], read: |_| Ok(Vec::new()) },
];

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

/// `quantity,load,value,spread`.
fn own(row: &Row<'_>) -> Result<Vec<Value>, Fault> {
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
    Ok(vec![(load, quantity, value, row.number("spread")?)])
}

/// The space behind a drive, from the first fall of saturating random writes.
fn spare_space(row: &Row<'_>) -> Result<Vec<Value>, Fault> {
    if row.text("pattern") != "uniform" {
        return Ok(Vec::new());
    }
    let mut values =
        row.values(Load::Drive, &[("used_gb", Quantity::Capacity), ("space_gb", Quantity::Space)])?;
    values.extend(row.values(Load::FreshWrites, &[("full_speed_mb_s", Quantity::Throughput)])?);
    Ok(values)
}

/// Latencies beside writes at an offered rate.
fn beside(row: &Row<'_>) -> Result<Vec<Value>, Fault> {
    let load = Load::Beside { rate: row.whole("offered_iops")? };
    let means = [
        ("read_mean_us", Quantity::Read(Statistic::Mean)),
        ("write_mean_us", Quantity::Write(Statistic::Mean)),
    ];
    let mut values = row.values(load, &means)?;
    values.extend(row.percentiles(load, |rank| Quantity::Read(rank).to_string(), Quantity::Read)?);
    values.extend(row.percentiles(load, |rank| Quantity::Write(rank).to_string(), Quantity::Write)?);
    Ok(values)
}

/// Throughput of saturating writes in steady state.
fn saturated(row: &Row<'_>) -> Result<Vec<Value>, Fault> {
    match row.text("pattern") {
        "uniform" => row.values(Load::SteadyWrites, &[("host_mb_s", Quantity::Throughput)]),
        _ => Ok(Vec::new()),
    }
}

/// Random reads by depth, jobs and size, and sequential writes by depth and size.
fn by_depth(row: &Row<'_>) -> Result<Vec<Value>, Fault> {
    if row.text("op") == "write" {
        return sequential_writes(row);
    }
    let is_random = row.text("op") == "randread" || row.text("order") == "random";
    if !is_random || !row.text("op").contains("read") {
        return Ok(Vec::new());
    }
    let jobs = if row.text("jobs").is_empty() { 1 } else { row.whole("jobs")? };
    let load = Load::RandomReads { size: row.whole("bs_bytes")?.into(), depth: row.whole("depth")?, jobs };
    let mut values = row.values(load, &[("iops", Quantity::Iops)])?;
    values.extend(row.percentiles(load, |rank| format!("{rank}_us"), Quantity::Read)?);
    Ok(values)
}

/// Sequential writes of one zone, or of a drive without zones. Of their latencies the median is read: others show
/// how the times of the firmware vary, which the twin's do not.
fn sequential_writes(row: &Row<'_>) -> Result<Vec<Value>, Fault> {
    let is_one = |column: &str| matches!(row.text(column), "" | "1");
    if !is_one("zones") || !is_one("jobs") || row.text("order") == "random" {
        return Ok(Vec::new());
    }
    let load = Load::Writes { size: row.whole("bs_bytes")?.into(), depth: row.whole("depth")? };
    let median = Quantity::Write(Statistic::Percentile(50.0));
    row.values(load, &[("iops", Quantity::Iops), ("p50_us", median)])
}

/// Speeds of sequential writes with and without the SLC cache.
fn slc_cache(row: &Row<'_>) -> Result<Vec<Value>, Fault> {
    let mut values = row.values(Load::Drive, &[("cache_gb", Quantity::SlcCache)])?;
    for (column, load) in [("stage1_gb_s", Load::CacheWrites), ("stage2_gb_s", Load::NativeWrites)] {
        values.extend(row.number(column)?.map(|rate| (load, Quantity::Throughput, rate * 1000.0, None)));
    }
    Ok(values)
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
    let mut table = Table::default();
    for (line, text) in lines {
        let cells = cells(path, line, text)?;
        let row = Row { heads: &heads, cells: &cells };
        if !row.is_of(drive) {
            table.other_drives += 1;
            continue;
        }
        let values = (form.read)(&row).map_err(|Fault(found, wanted)| at_line(path, line, found, wanted))?;
        table.unused += usize::from(values.is_empty());
        let source = format!("{}:{line}", path.display());
        let values = values.into_iter().filter(|(_, _, value, _)| *value > 0.0);
        table.measured.extend(values.map(|(load, quantity, value, spread)| Measurement {
            quantity,
            load,
            value,
            spread,
            source: source.clone(),
        }));
    }
    Ok(table)
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
        assert_eq!((read.measured.len(), read.other_drives, read.unused), (1, 1, 1));
        assert_eq!(read.measured[0].load, Load::SteadyWrites);
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
