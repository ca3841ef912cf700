//! The log of every request of a run, as a Parquet file: low-level columns of the `parquet` crate, without Arrow.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{BoolType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use wordline_kernel::Instant;
use wordline_ssd::Answer;

use crate::error::{Error, Result};
use crate::output::Output;

/// The columns, as docs/report.md has them: times in picoseconds since the run began, sectors of 512 bytes, operations by
/// their place in [`Operation::ALL`](wordline_ssd::Operation::ALL).
const SCHEMA: &str = "message request {
    required int64 submitted_ps;
    required int64 latency_ps;
    required int32 operation;
    required int64 sector;
    required int64 sectors;
    required boolean failed;
}";

/// Requests of a row group. Chosen: a few megabytes.
const GROUP: usize = 1 << 17;

/// The error of the operating system, where it was that.
pub fn reason(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => inner.downcast().map_or_else(io::Error::other, |told| *told),
        other => io::Error::other(other),
    }
}

/// Begins a compressed Parquet file with the columns of a schema.
///
/// # Errors
/// Those of the file, and a schema that is none.
pub fn writer(file: Output, schema: &str) -> parquet::errors::Result<SerializedFileWriter<Output>> {
    let schema = parse_message_type(schema)?;
    let level = ZstdLevel::try_new(3).expect("3 is a level");
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(level)).build();
    SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))
}

/// A log under way: it gets its name only when it is whole.
pub struct Log {
    path: PathBuf,
    writer: SerializedFileWriter<Output>,
    rows: Vec<(Answer, Instant)>,
}

impl Log {
    /// Begins a log that will be at `path`, or goes to standard output.
    ///
    /// # Errors
    /// [`Error::File`] if `path` cannot be written.
    pub fn create(path: &Path) -> Result<Self> {
        let failed = |error| Error::File { path: path.into(), action: "write", reason: reason(error) };
        let writer = writer(Output::open(path)?, SCHEMA).map_err(failed)?;
        Ok(Self { path: path.into(), writer, rows: Vec::with_capacity(GROUP) })
    }

    /// Adds an answer that was given at `now`.
    pub fn add(&mut self, answer: &Answer, now: Instant) -> Result<()> {
        self.rows.push((*answer, now));
        if self.rows.len() == GROUP { self.write_group() } else { Ok(()) }
    }

    fn write_group(&mut self) -> Result<()> {
        let rows = std::mem::take(&mut self.rows);
        self.try_write_group(&rows).map_err(|e| Error::File {
            path: self.path.clone(),
            action: "write",
            reason: reason(e),
        })
    }

    fn try_write_group(&mut self, rows: &[(Answer, Instant)]) -> parquet::errors::Result<()> {
        let longs = |f: fn(&Answer, Instant) -> u64| -> Vec<i64> {
            rows.iter().map(|(answer, now)| f(answer, *now) as i64).collect()
        };
        let columns = [
            longs(|answer, now| now.ps() - answer.latency.ps()),
            longs(|answer, _| answer.latency.ps()),
            longs(|answer, _| answer.command.sector),
            longs(|answer, _| answer.command.sectors),
        ];
        let operations: Vec<i32> = rows.iter().map(|(answer, _)| answer.command.operation as i32).collect();
        let failed: Vec<bool> = rows.iter().map(|(answer, _)| answer.failed).collect();
        let mut group = self.writer.next_row_group()?;
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

    /// Writes what is left, with `facts` about the run beside the rows, and gives the log its name.
    ///
    /// # Errors
    /// [`Error::File`]; then nothing is left behind.
    pub fn finish<const N: usize>(mut self, facts: [(&str, String); N]) -> Result<()> {
        if !self.rows.is_empty() {
            self.write_group()?;
        }
        let failed = |reason| Error::File { path: self.path.clone(), action: "write", reason };
        for (key, value) in facts {
            let key = format!("wordline.{key}");
            self.writer.append_key_value_metadata(KeyValue { key, value: Some(value) });
        }
        let file = self.writer.into_inner().map_err(|error| failed(reason(error)))?;
        file.finish()
    }
}
