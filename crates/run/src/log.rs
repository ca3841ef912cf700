//! The log of every request of a run. A Parquet log is written with the low-level columns of the `parquet`
//! crate, without Arrow. A CSV log is a trace that can be replayed.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{BoolType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use wordline_device::{Completion, SECTOR};
use wordline_kernel::Instant;

use crate::admission::op_of;
use crate::error::{Error, Result};
use crate::output::{Output, is_standard};

/// The columns of docs/report.md. Times are picoseconds from the beginning of the run, sectors have 512
/// bytes, operations are indices into [`Operation::ALL`](wordline_device::Operation::ALL).
const SCHEMA: &str = "message request {
    required int64 submitted_ps;
    required int64 latency_ps;
    required int32 operation;
    required int64 sector;
    required int64 sectors;
    required boolean failed;
}";

/// The columns of a CSV log. They are the columns of a trace: times in picoseconds, offsets and sizes in
/// bytes. The trace reader ignores the column `failed`.
const COLUMNS: &str = "t_ps,op,offset,size,resp_ps,failed";

/// Number of requests in a row group. Chosen: a few megabytes.
const GROUP: usize = 1 << 17;

/// The operating system's error behind a Parquet error, or the Parquet error itself.
pub fn reason(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => inner.downcast().map_or_else(io::Error::other, |told| *told),
        other => io::Error::other(other),
    }
}

/// Creates a compressed Parquet file with the columns of a schema.
///
/// # Errors
/// Errors of the file, and an invalid schema.
pub fn writer(file: Output, schema: &str) -> parquet::errors::Result<SerializedFileWriter<Output>> {
    let schema = parse_message_type(schema)?;
    let level = ZstdLevel::try_new(3).expect("3 is a level");
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(level)).build();
    SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))
}

/// A log during the run. The file gets its name only when it is complete.
pub struct Log {
    path: PathBuf,
    sink: Sink,
    rows: Vec<(Completion, Instant)>,
}

/// The format of a log, and its file.
enum Sink {
    Parquet(SerializedFileWriter<Output>),
    Csv(Output),
}

impl Log {
    /// Creates a log at `path`, or on standard output. The format is CSV if the name ends in `.csv`,
    /// otherwise Parquet.
    ///
    /// # Errors
    /// [`Error::File`] if `path` cannot be written, [`Error::Argument`] for another extension.
    pub fn create(path: &Path) -> Result<Self> {
        let failed = |reason| Error::File { path: path.into(), action: "write", reason };
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
        // The extension is ignored for a device or a pipe, and for a path that cannot be created because a
        // file is in its way.
        let above = path.ancestors().skip(1).find(|above| above.exists());
        let may_be_new = !path.exists() && above.is_none_or(Path::is_dir);
        let is_file = !is_standard(path) && (path.is_file() || may_be_new);
        let sink = match ending.as_deref() {
            Some("csv") if is_file => {
                let mut file = Output::open(path)?;
                writeln!(file, "{COLUMNS}").map_err(failed)?;
                Sink::Csv(file)
            }
            ending if is_file && ending != Some("parquet") => {
                return Err(Error::Argument {
                    what: "log".into(),
                    found: path.display().to_string(),
                    wanted: "a name that ends in .csv or .parquet".into(),
                });
            }
            _ => {
                let writer = writer(Output::open(path)?, SCHEMA).map_err(|error| failed(reason(error)))?;
                Sink::Parquet(writer)
            }
        };
        Ok(Self { path: path.into(), sink, rows: Vec::with_capacity(GROUP) })
    }

    /// Adds a request that completed at `now`.
    pub fn add(&mut self, completion: &Completion, now: Instant) -> Result<()> {
        self.rows.push((*completion, now));
        if self.rows.len() == GROUP { self.write_group() } else { Ok(()) }
    }

    fn write_group(&mut self) -> Result<()> {
        let rows = std::mem::take(&mut self.rows);
        let written = match &mut self.sink {
            Sink::Parquet(writer) => write_columns(writer, &rows).map_err(reason),
            Sink::Csv(file) => write_lines(file, &rows),
        };
        written.map_err(|reason| Error::File { path: self.path.clone(), action: "write", reason })
    }

    /// Writes the remaining rows and gives the log its name. `facts` about the run go into the metadata of a
    /// Parquet file.
    ///
    /// # Errors
    /// [`Error::File`]; no file is left then.
    pub fn finish<const N: usize>(mut self, facts: [(&str, String); N]) -> Result<()> {
        if !self.rows.is_empty() {
            self.write_group()?;
        }
        let file = match self.sink {
            Sink::Csv(file) => file,
            Sink::Parquet(mut writer) => {
                for (key, value) in facts {
                    let key = format!("wordline.{key}");
                    writer.append_key_value_metadata(KeyValue { key, value: Some(value) });
                }
                let path = self.path.clone();
                writer.into_inner().map_err(|error| Error::File {
                    path,
                    action: "write",
                    reason: reason(error),
                })?
            }
        };
        file.finish()
    }
}

/// Writes a row group.
fn write_columns(
    writer: &mut SerializedFileWriter<Output>,
    rows: &[(Completion, Instant)],
) -> parquet::errors::Result<()> {
    let longs = |f: fn(&Completion, Instant) -> u64| -> Vec<i64> {
        rows.iter().map(|(completion, now)| f(completion, *now) as i64).collect()
    };
    let columns = [
        longs(|completion, now| now.ps() - completion.latency.ps()),
        longs(|completion, _| completion.latency.ps()),
        longs(|completion, _| completion.command.sector),
        longs(|completion, _| completion.command.sectors),
    ];
    let operations: Vec<i32> =
        rows.iter().map(|(completion, _)| completion.command.operation as i32).collect();
    let failed: Vec<bool> = rows.iter().map(|(completion, _)| completion.failed).collect();
    let mut group = writer.next_row_group()?;
    let mut longs = columns.iter();
    let mut at = 0;
    while let Some(mut column) = group.next_column()? {
        match at {
            2 => column.typed::<Int32Type>().write_batch(&operations, None, None)?,
            5 => column.typed::<BoolType>().write_batch(&failed, None, None)?,
            _ => {
                let values = longs.next().expect("there are four columns of longs");
                column.typed::<Int64Type>().write_batch(values, None, None)?
            }
        };
        column.close()?;
        at += 1;
    }
    group.close()?;
    Ok(())
}

/// Writes rows as CSV lines.
fn write_lines(file: &mut Output, rows: &[(Completion, Instant)]) -> io::Result<()> {
    let mut text = String::with_capacity(rows.len() * 48);
    for (completion, now) in rows {
        let command = &completion.command;
        let op = op_of(command.operation).letters();
        let (offset, size) = (command.sector * SECTOR.0, command.sectors * SECTOR.0);
        let (begin, latency) = (now.ps() - completion.latency.ps(), completion.latency.ps());
        let failed = u8::from(completion.failed);
        text += &format!("{begin},{op},{offset},{size},{latency},{failed}\n");
    }
    file.write_all(text.as_bytes())
}
