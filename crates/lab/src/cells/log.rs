//! Parquet file with the states of evaluations along a key: one row for each state at each value of the key.

use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use super::answer::Evaluation;
use crate::error::{Error, Result};
use crate::log::reason;
use crate::output::Output;

/// The columns. `left` is the share of cells that a reprogram left at a lower threshold voltage than the
/// other cells of the state. `reference` and `best_reference` lie above the state; the highest state has
/// none, and both are NaN.
const SCHEMA: &str = "message level {
    required binary value (UTF8);
    required binary state (UTF8);
    required double mean;
    required double deviation;
    required double left;
    required double reference;
    required double best_reference;
}";

/// Writes the states of evaluations to `path`, each evaluation with the value of its key.
///
/// # Errors
/// [`Error::File`] if `path` cannot be written.
pub fn write_log(path: &Path, answers: &[(String, Evaluation)]) -> Result<()> {
    let failed = |error| Error::File { path: path.into(), action: "write", reason: reason(error) };
    let file = Output::open(path)?;
    written(file, answers).map_err(failed)?.finish()
}

fn written(file: Output, answers: &[(String, Evaluation)]) -> parquet::errors::Result<Output> {
    let (mut texts, mut numbers) = ([Vec::new(), Vec::new()], [const { Vec::new() }; 5]);
    for (value, answer) in answers {
        for (n, state) in answer.states.iter().enumerate() {
            let at = |all: &[f64]| all.get(n).copied().unwrap_or(f64::NAN);
            texts[0].push(ByteArray::from(value.as_str()));
            texts[1].push(ByteArray::from(state.name.as_str()));
            let row = [
                state.mean,
                state.deviation,
                state.left,
                at(&answer.references),
                at(&answer.best_references),
            ];
            numbers.iter_mut().zip(row).for_each(|(column, number)| column.push(number));
        }
    }
    let schema = parse_message_type(SCHEMA).expect("the schema is right");
    let level = ZstdLevel::try_new(3).expect("3 is a level");
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(level)).build();
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    let mut at = 0;
    while let Some(mut column) = group.next_column()? {
        if let Some(texts) = texts.get(at) {
            column.typed::<ByteArrayType>().write_batch(texts, None, None)?;
        } else {
            column.typed::<DoubleType>().write_batch(&numbers[at - texts.len()], None, None)?;
        }
        column.close()?;
        at += 1;
    }
    group.close()?;
    writer.into_inner()
}
