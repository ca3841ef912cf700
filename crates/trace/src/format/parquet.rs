//! Columns of a Parquet file. Each row becomes a line of the text format whose columns have the same names, or of the
//! option `columns`, so that a table means the same as text and as Parquet. Only the columns that are used are read.

mod columns;

use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::schema::types::ColumnDescriptor;
use wordline_kernel::grouped;

use super::super::columns::Columns;
use super::super::formats::{Format, TimeUnit};
use super::super::input::{Input, ParseError, Position, quoted};
use super::super::options::Options;
use super::super::row::{LineReader, Reader, Row};
use super::super::units::AssumedUnits;
use super::columns::{LOG_NOTE, Mapped, is_log, log_map};
use super::{csv, detect, proposal, text};
use crate::{Error, error::Result};
use columns::{Column, Table, column, time_unit};

/// The first bytes of a file.
const MAGIC: &[u8] = b"PAR1";

/// Rows that are decoded at a time. Chosen: some hundred kilobytes of a few columns.
const BATCH: usize = 4096;

/// Separator of fields that the option `columns` reads: the unit separator of ASCII, which is in no name.
const UNIT_SEPARATOR: char = '\u{1f}';

/// Whether the content is a Parquet file.
pub(crate) fn is_parquet(prefix: &[u8]) -> bool {
    prefix.starts_with(MAGIC)
}

/// Columns at the top of the schema: the name, and the number among those with values, if it is one of them.
type Roots = Vec<(String, Option<usize>)>;

/// Reads the rows.
pub(super) struct Rows {
    path: PathBuf,
    position: Position,
    file: Table,
    format: Box<dyn LineReader>,
    /// How the rows are read, for a note.
    note: String,
    separator: char,
    /// Columns of a line, in order; `None` for one that is not read.
    fields: Vec<Option<usize>>,
    names: Vec<String>,
    /// The next row group.
    group: usize,
    columns: Vec<Option<Box<dyn Column>>>,
    /// Rows of the group that are not decoded yet.
    left: usize,
    /// Decoded rows that are not delivered yet.
    decoded: usize,
    row: u64,
    line: String,
    /// Unit in which times are written that have a unit by the type of their column; `None` for this unit.
    time: Option<TimeUnit>,
}

/// Opens a file. The footer is at its end, so content that cannot be read at any position goes to a temporary file.
pub(super) fn reader(mut input: Input<'_>, options: &Options) -> Result<(Rows, AssumedUnits)> {
    let path = input.path.clone();
    let failed = |reason| Error::File { path: path.clone(), action: "read", reason };
    let direct = input.file.as_ref().and_then(|file| File::open(file).ok()).filter(begins_with_magic);
    let file = match direct {
        Some(file) => file,
        None => {
            let mut spooled = tempfile::tempfile().map_err(failed)?;
            io::copy(&mut input.stream, &mut spooled).map_err(failed)?;
            spooled
        }
    };
    let file = caught(|| Table::open(file)).map_err(|reason| damaged(&path, &reason))?;
    let roots = roots(&file);
    let names: Vec<String> = roots.iter().map(|(name, _)| name.clone()).collect();
    let Shape { format, note, separator, used, assumed, time } = shape(&path, &file, &names, options)?;
    let fields = fields(&path, &file, &roots, &used)?;
    let columns = Vec::new();
    let (group, left, decoded, row, line) = (0, 0, 0, 0, String::new());
    let position = input.position;
    let rows = Rows {
        path,
        position,
        file,
        format,
        note,
        separator,
        fields,
        names,
        group,
        columns,
        left,
        decoded,
        row,
        line,
        time,
    };
    Ok((rows, assumed))
}

fn begins_with_magic(file: &File) -> bool {
    use io::{Read, Seek};
    let (mut file, mut magic) = (file, [0; 4]);
    file.read_exact(&mut magic).is_ok() && magic == MAGIC && file.rewind().is_ok()
}

/// The lines that rows become.
struct Shape {
    format: Box<dyn LineReader>,
    note: String,
    separator: char,
    /// Whether each column is used.
    used: Vec<bool>,
    assumed: AssumedUnits,
    /// Unit of times, if it is that of a format whose names of columns do not give it.
    time: Option<TimeUnit>,
}

/// Finds the text format of the columns: by the option `columns`, or by their names.
fn shape(path: &Path, file: &Table, names: &[String], options: &Options) -> Result<Shape> {
    let header = names.join(",");
    if let Some(map) = &options.columns {
        return mapped(path, file, names, map, options, "columns are those of the option columns".into());
    }
    if is_log(&header) {
        return mapped(path, file, names, &log_map(), options, LOG_NOTE.into());
    }
    let format = detect::header_format(&header).filter(|format| is_of_columns(*format));
    let format = format.or_else(|| csv::is_header(&header).then_some(Format::Csv));
    let Some(format) = format else { return Err(unknown(path, file, &header)) };
    let mut options = options.clone();
    let times: Vec<Option<TimeUnit>> = names.iter().map(|name| typed(file, name)).collect();
    if format == Format::Csv {
        // The type of a column gives its unit if neither its name nor an option does.
        options.time_unit = options.time_unit.or(csv::time_column(&header).and_then(|at| times[at]));
    }
    let units = options.units(format)?;
    let mut assumed = AssumedUnits::of(format, units, &options);
    let (reader, known, time) = match format {
        Format::Csv => {
            let csv =
                csv::Csv::parse(&header, &options, units, &mut assumed).map_err(|bad| content(path, bad))?;
            check_units(path, names, &times, csv.times())?;
            let known = csv.known();
            (Box::new(csv) as Box<dyn LineReader>, known, None)
        }
        format => {
            let mut reader = text::reader(format, units);
            reader.row(&header).map_err(|bad| content(path, bad))?;
            (reader, vec![true; names.len()], Some(units.time))
        }
    };
    let note = format!("columns are those of the format {}", format.name());
    Ok(Shape { format: reader, note, separator: ',', used: known, assumed, time })
}

/// Whether the lines of a format with a header are its columns, separated by commas.
const fn is_of_columns(format: Format) -> bool {
    matches!(
        format,
        Format::Systor | Format::Tencent | Format::Alibaba | Format::MetaKv | Format::MetaStorage
    )
}

/// Returns the lines of a column map.
fn mapped(
    path: &Path,
    file: &Table,
    names: &[String],
    map: &Columns,
    options: &Options,
    note: String,
) -> Result<Shape> {
    let header: Vec<&str> = names.iter().map(String::as_str).collect();
    let columns = || names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
    let unfit = |found| Error::Content {
        path: path.into(),
        found,
        wanted: format!("columns of the file: {}", columns()),
    };
    let within = map
        .within(&header)
        .map_err(|name| unfit(format!("column {} in the option columns", quoted(name))))?;
    if within.count > names.len() {
        return Err(unfit(format!("column {} in the option columns", within.count)));
    }
    let options = Options { columns: Some(Box::new(within.clone())), ..options.clone() };
    options.units(Format::Columns)?;
    let times: Vec<Option<TimeUnit>> = names.iter().map(|name| typed(file, name)).collect();
    let units = [Some(within.time), within.response].into_iter().flatten();
    check_units(path, names, &times, units)?;
    let used = (0..names.len()).map(|at| within.used().contains(&at)).collect();
    let format = Box::new(Mapped::separated_by(within, UNIT_SEPARATOR));
    let assumed = AssumedUnits::none();
    Ok(Shape { format, note, separator: UNIT_SEPARATOR, used, assumed, time: None })
}

/// Refuses a unit other than the one that the type of a column gives.
fn check_units(
    path: &Path,
    names: &[String],
    types: &[Option<TimeUnit>],
    units: impl IntoIterator<Item = (usize, TimeUnit)>,
) -> Result<()> {
    for (at, unit) in units {
        if let Some(typed) = types[at].filter(|typed| *typed != unit) {
            return Err(Error::Content {
                path: path.into(),
                found: format!("column {} with times in {} by its type", quoted(&names[at]), typed.name()),
                wanted: format!("{}, by its name or an option", unit.name()),
            });
        }
    }
    Ok(())
}

/// Unit of the times of a column, if its type gives it.
fn typed(file: &Table, name: &str) -> Option<TimeUnit> {
    let schema = file.metadata().file_metadata().schema_descr();
    time_unit(schema.columns().iter().find(|column| column.path().parts() == [name])?)
}

/// Returns the columns at the top of the schema.
fn roots(file: &Table) -> Roots {
    let schema = file.metadata().file_metadata().schema_descr();
    let leaf = |name: &str| {
        let is = |column: &ColumnDescriptor| column.path().parts() == [name] && column.max_rep_level() == 0;
        schema.columns().iter().position(|column| is(column))
    };
    schema.root_schema().get_fields().iter().map(|field| (field.name().into(), leaf(field.name()))).collect()
}

/// Returns the columns to read, and refuses those that cannot be.
fn fields(path: &Path, file: &Table, roots: &Roots, used: &[bool]) -> Result<Vec<Option<usize>>> {
    let mut fields = Vec::new();
    for ((name, leaf), used) in roots.iter().zip(used) {
        let refused = |found: String, wanted: &str| Error::Content {
            path: path.into(),
            found: format!("column {} {found}", quoted(name)),
            wanted: wanted.into(),
        };
        if !used {
            fields.push(None);
            continue;
        }
        let leaf =
            leaf.ok_or_else(|| refused("of lists or groups".into(), "a column of numbers or texts"))?;
        for group in file.metadata().row_groups() {
            let codec = group.column(leaf).compression();
            if !matches!(
                codec,
                Compression::UNCOMPRESSED | Compression::SNAPPY | Compression::GZIP(_) | Compression::ZSTD(_)
            ) {
                let name = format!("{codec:?}").split('(').next().unwrap_or_default().to_lowercase();
                let wanted = "snappy, gzip, zstd or no compression, as pandas writes with to_parquet(..., \
                              compression=\"zstd\")";
                return Err(refused(format!("compressed with {name}"), wanted));
            }
        }
        fields.push(Some(leaf));
    }
    Ok(fields)
}

/// Error for columns of no known format, with a map that may fit them.
fn unknown(path: &Path, file: &Table, header: &str) -> Error {
    let names: Vec<String> = header.split(',').map(quoted).collect();
    let lines = caught(|| first_lines(file)).unwrap_or_default();
    let proposed = proposal::in_words(std::iter::once(header).chain(lines.iter().map(String::as_str)));
    Error::Content {
        path: path.into(),
        found: format!("a Parquet file with columns {}", names.join(", ")),
        wanted: format!("columns with the names of a known format, or a map of its columns{proposed}"),
    }
}

/// Returns the first rows as text, for a proposal.
fn first_lines(file: &Table) -> parquet::errors::Result<Vec<String>> {
    let rows = file.rows(0).min(50);
    let mut columns = Vec::new();
    for (_, leaf) in roots(file) {
        let mut read = leaf.map(|leaf| column(file, 0, leaf, None)).transpose()?;
        if let Some(column) = &mut read {
            column.load(rows)?;
        }
        columns.push(read);
    }
    let mut lines = vec![String::new(); rows];
    for line in &mut lines {
        for (at, column) in columns.iter_mut().enumerate() {
            line.push_str(if at == 0 { "" } else { "," });
            if let Some(column) = column {
                column.write(line);
            }
        }
    }
    Ok(lines)
}

fn content(path: &Path, bad: ParseError) -> Error {
    Error::Content { path: path.into(), found: bad.found, wanted: bad.wanted }
}

/// Runs the reader of the library. It may panic on damaged files: they are errors of the file here.
fn caught<T>(read: impl FnOnce() -> parquet::errors::Result<T>) -> std::result::Result<T, String> {
    let outcome = catch_unwind(AssertUnwindSafe(read));
    outcome.map_err(|_| "the reader failed".to_string())?.map_err(|error: ParquetError| error.to_string())
}

fn damaged(path: &Path, reason: &str) -> Error {
    Error::Content {
        path: path.into(),
        found: format!("a Parquet file that cannot be read ({reason})"),
        wanted: "an intact file".into(),
    }
}

impl Rows {
    /// Begins the next row group. Returns whether there is one.
    fn next_group(&mut self) -> Result<bool> {
        if self.group == self.file.metadata().num_row_groups() {
            return Ok(false);
        }
        let (file, at, fields, time) = (&self.file, self.group, &self.fields, self.time);
        let read = caught(|| {
            let columns =
                fields.iter().map(|field| field.map(|leaf| column(file, at, leaf, time)).transpose());
            Ok((file.rows(at), columns.collect::<parquet::errors::Result<Vec<_>>>()?))
        });
        (self.left, self.columns) = read.map_err(|reason| self.broken(&reason))?;
        self.group += 1;
        Ok(true)
    }

    /// Decodes the next rows of the group.
    fn decode(&mut self) -> Result<()> {
        let rows = self.left.min(BATCH);
        for at in 0..self.columns.len() {
            let Some(column) = &mut self.columns[at] else { continue };
            if let Err(reason) = caught(|| column.load(rows)) {
                return Err(self.broken(&format!("column {}: {reason}", quoted(&self.names[at]))));
            }
        }
        (self.decoded, self.left) = (rows, self.left - rows);
        let total = u64::try_from(self.file.metadata().file_metadata().num_rows()).unwrap_or(0);
        self.position.set_share(self.row + rows as u64, total);
        Ok(())
    }

    fn wrong(&self, bad: ParseError) -> Error {
        Error::Line { path: self.path.clone(), line: self.row, found: bad.found, wanted: bad.wanted }
    }

    fn broken(&self, reason: &str) -> Error {
        Error::Line {
            path: self.path.clone(),
            line: self.row + 1,
            found: format!("rows that cannot be read ({reason})"),
            wanted: "an intact file".into(),
        }
    }

    /// Writes the fields of the next row into the line.
    fn write_line(&mut self) -> Result<()> {
        self.line.clear();
        for (at, column) in self.columns.iter_mut().enumerate() {
            if at > 0 {
                self.line.push(self.separator);
            }
            let begin = self.line.len();
            if let Some(column) = column {
                column.write(&mut self.line);
            }
            let text = &self.line[begin..];
            if text.contains(self.separator) {
                let found = format!("column {} with {}", quoted(&self.names[at]), quoted(text));
                return Err(self.wrong(ParseError { found, wanted: "text without commas".into() }));
            }
        }
        Ok(())
    }
}

impl Reader for Rows {
    fn next(&mut self) -> Result<Option<Row>> {
        loop {
            if let Some(row) = self.format.further_row() {
                return Ok(Some(Row { line: self.row, ..row }));
            }
            if self.decoded == 0 {
                if self.left > 0 {
                    self.decode()?;
                } else if !self.next_group()? {
                    return Ok(None);
                }
                continue;
            }
            self.decoded -= 1;
            self.row += 1;
            self.write_line()?;
            match self.format.row(&self.line) {
                Ok(None) => {}
                Ok(Some(row)) => return Ok(Some(Row { line: self.row, ..row })),
                Err(bad) => return Err(self.wrong(bad)),
            }
        }
    }

    fn notes(&self) -> Vec<String> {
        let rows = grouped(&self.row.to_string());
        let read = format!("a Parquet file of which {rows} rows were read; {}", self.note);
        std::iter::once(read).chain(self.format.notes()).collect()
    }
}
