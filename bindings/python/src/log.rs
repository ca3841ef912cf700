//! The log of every request of a run as an Arrow table, which other libraries import without a copy.

use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::Int8Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Int8Array, Int64Array, RecordBatch, RecordBatchIterator,
    StringArray,
};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use wordline_device::{Operation, SECTOR};
use wordline_lab::CompletedRequest;

/// Rows of a batch. Chosen: a few megabytes, as in a log file.
pub const BATCH: u64 = 1 << 17;

/// Completions of a run as columns, in order of completion. Times are picoseconds from the beginning of the
/// run, sectors have 512 bytes.
#[pyclass(frozen, module = "wordline._native")]
pub struct Log {
    batches: Vec<RecordBatch>,
}

/// A log during the run.
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
        let long = |of: fn(&CompletedRequest) -> u64| -> ArrayRef {
            Arc::new(Int64Array::from_iter_values(completions.iter().map(|completion| of(completion) as i64)))
        };
        let numbers =
            Int8Array::from_iter_values(completions.iter().map(|completion| completion.operation as i8));
        let operations = DictionaryArray::<Int8Type>::new(numbers, Arc::clone(&self.operations));
        let failed = BooleanArray::from_iter(completions.iter().map(|completion| Some(completion.failed)));
        let columns: Vec<ArrayRef> = vec![
            long(|completion| completion.time.ps() - completion.latency.ps()),
            long(|completion| completion.latency.ps()),
            Arc::new(operations),
            long(|completion| completion.offset.0 / SECTOR.0),
            long(|completion| completion.size.0 / SECTOR.0),
            Arc::new(failed),
        ];
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns);
        self.batches.push(batch.expect("the columns are those of the schema"));
    }

    /// Ends the log.
    pub fn end(self) -> Log {
        Log { batches: self.batches }
    }
}

fn failed(error: ArrowError) -> PyErr {
    pyo3::exceptions::PyRuntimeError::new_err(error.to_string())
}

#[pymethods]
impl Log {
    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// Names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// A capsule with an `ArrowSchema`, for the PyCapsule interface of Arrow.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(&schema()).map_err(failed)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// A capsule with an `ArrowArrayStream`, for the PyCapsule interface of Arrow. The requested schema is
    /// ignored, which the interface allows.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, Arc::new(schema()));
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }
}
