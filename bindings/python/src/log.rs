//! The log of every request of a run, as an Arrow table.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int64Type};
use arrow_array::{ArrayRef, BooleanArray, DictionaryArray, Int8Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use wordline_device::{Operation, SECTOR};
use wordline_lab::CompletedRequest;

use crate::arrow::ArrowTable;
use crate::errors::refused;

/// Rows of a batch. Chosen: a few megabytes, as in a log file.
pub const BATCH: u64 = 1 << 17;

/// Collects the log during a run: completions as columns, in order of completion. Times are picoseconds from
/// the beginning of the run, sectors have 512 bytes.
pub struct LogBuilder {
    schema: SchemaRef,
    operations: ArrayRef,
    batches: Vec<RecordBatch>,
}

fn schema() -> Schema {
    let operation = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
    let long = |name: &str| Field::new(name, DataType::Int64, false);
    Schema::new(vec![
        long("submitted_ps"),
        long("latency_ps"),
        Field::new("operation", operation, false),
        long("sector"),
        long("sectors"),
        Field::new("failed", DataType::Boolean, false),
    ])
}

/// The columns of some rows: times of submission, latencies, numbers of operations, first sectors, numbers of
/// sectors, and failures.
type Columns = ([Vec<i64>; 2], Vec<i8>, [Vec<i64>; 2], Vec<bool>);

impl LogBuilder {
    /// Begins an empty log.
    pub fn begin() -> Self {
        let names = Operation::ALL.map(Operation::name);
        let operations = Arc::new(StringArray::from_iter_values(names));
        Self { schema: Arc::new(schema()), operations, batches: Vec::new() }
    }

    /// Adds completions.
    pub fn add(&mut self, completions: &[CompletedRequest]) {
        // A log that begins with the measurement leaves out requests that were submitted before.
        let begun = |completion: &&CompletedRequest| completion.latency.ps() <= completion.time.ps();
        let completions: Vec<CompletedRequest> = completions.iter().filter(begun).copied().collect();
        if completions.is_empty() {
            return;
        }
        let long = |of: fn(&CompletedRequest) -> u64| {
            completions.iter().map(|completion| of(completion) as i64).collect()
        };
        let times = [
            long(|completion| completion.time.ps() - completion.latency.ps()),
            long(|completion| completion.latency.ps()),
        ];
        let sectors = [
            long(|completion| completion.offset.0 / SECTOR.0),
            long(|completion| completion.size.0 / SECTOR.0),
        ];
        let operations = completions.iter().map(|completion| completion.operation as i8).collect();
        let failed = completions.iter().map(|completion| completion.failed).collect();
        self.add_columns((times, operations, sectors, failed));
    }

    fn add_columns(&mut self, (times, numbers, sectors, failed): Columns) {
        let long = |values: Vec<i64>| -> ArrayRef { Arc::new(Int64Array::from(values)) };
        let operations =
            DictionaryArray::<Int8Type>::new(Int8Array::from(numbers), Arc::clone(&self.operations));
        let ([submitted, latency], [sector, count]) = (times.map(long), sectors.map(long));
        let columns: Vec<ArrayRef> = vec![
            submitted,
            latency,
            Arc::new(operations),
            sector,
            count,
            Arc::new(BooleanArray::from(failed)),
        ];
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns);
        self.batches.push(batch.expect("the columns are those of the schema"));
    }

    /// Ends the log.
    pub fn end(self) -> ArrowTable {
        ArrowTable::new(self.schema, self.batches)
    }
}

/// The columns of a batch as bytes: four of 64-bit numbers, then operations and failures of one byte each.
type Packed<'py> = [Bound<'py, PyBytes>; 6];

/// The batches of a log as bytes, for a pickle.
#[pyfunction]
pub fn pack_log<'py>(py: Python<'py>, log: &ArrowTable) -> Vec<Packed<'py>> {
    let one = |batch: &RecordBatch| {
        let long = |at: usize| {
            let values = batch.column(at).as_primitive::<Int64Type>().values();
            PyBytes::new(py, values.inner().as_slice())
        };
        let operations = batch.column(2).as_dictionary::<Int8Type>().keys().values();
        let failed: Vec<u8> = batch.column(5).as_boolean().values().iter().map(u8::from).collect();
        [
            long(0),
            long(1),
            long(3),
            long(4),
            PyBytes::new(py, operations.inner().as_slice()),
            PyBytes::new(py, &failed),
        ]
    };
    log.batches().iter().map(one).collect()
}

/// The log of these bytes.
#[pyfunction]
pub fn unpack_log(batches: Vec<[Vec<u8>; 6]>) -> PyResult<ArrowTable> {
    let mut log = LogBuilder::begin();
    for [submitted, latency, sector, count, operations, failed] in batches {
        let rows = failed.len();
        let long = |bytes: Vec<u8>| -> Vec<i64> {
            let words = bytes.chunks_exact(8);
            words.map(|word| i64::from_ne_bytes(word.try_into().expect("eight bytes"))).collect()
        };
        let [submitted, latency, sector, count] = [submitted, latency, sector, count].map(long);
        let is_known = |number: &u8| usize::from(*number) < Operation::ALL.len();
        let lengths = [&submitted, &latency, &sector, &count].map(Vec::len);
        if lengths != [rows; 4] || operations.len() != rows || !operations.iter().all(is_known) {
            return Err(refused("log", "columns that do not fit together", "a log as it was pickled"));
        }
        let operations = operations.into_iter().map(|number| number as i8).collect();
        let failed = failed.into_iter().map(|byte| byte != 0).collect();
        log.add_columns(([submitted, latency], operations, [sector, count], failed));
    }
    Ok(log.end())
}
