//! Tables in the columns of Arrow, which other libraries import without a copy.

use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use wordline_studies::{ColumnValues, TableColumn};

/// Rows with columns of one type each.
#[pyclass(frozen, module = "wordline._native")]
pub struct ArrowTable {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

fn failed(error: ArrowError) -> PyErr {
    pyo3::exceptions::PyRuntimeError::new_err(error.to_string())
}

#[pymethods]
impl ArrowTable {
    /// Creates a table from names and columns. A column has whole numbers only, or numbers. All have the same
    /// length.
    #[staticmethod]
    fn of_columns(columns: Vec<(String, Bound<'_, PyAny>)>) -> PyResult<Self> {
        let read = |(name, values): (String, Bound<'_, PyAny>)| {
            let values = match values.extract() {
                Ok(whole) => ColumnValues::Integers(whole),
                Err(_) => ColumnValues::Amounts(values.extract()?),
            };
            Ok(TableColumn { name, values })
        };
        Self::of(columns.into_iter().map(read).collect::<PyResult<Vec<_>>>()?)
    }

    fn __len__(&self) -> usize {
        self.rows()
    }

    /// Names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// A capsule with an `ArrowSchema`, for the PyCapsule interface of Arrow.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(&*self.schema).map_err(failed)?;
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
        let reader = RecordBatchIterator::new(batches, Arc::clone(&self.schema));
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }
}

impl ArrowTable {
    /// A table of these rows.
    pub fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        Self { schema, batches }
    }

    /// A table of these columns, which have the same length.
    pub fn of(columns: Vec<TableColumn>) -> PyResult<Self> {
        let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns.into_iter().map(column).unzip();
        let schema = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new(Arc::clone(&schema), arrays).map_err(failed)?;
        Ok(Self::new(schema, vec![batch]))
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// The rows, in batches.
    pub fn batches(&self) -> &[RecordBatch] {
        &self.batches
    }
}

fn column(TableColumn { name, values }: TableColumn) -> (Field, ArrayRef) {
    let (kind, array): (DataType, ArrayRef) = match values {
        ColumnValues::Integers(values) => (DataType::Int64, Arc::new(Int64Array::from(values))),
        ColumnValues::Texts(values) => (DataType::Utf8, Arc::new(StringArray::from(values))),
        ColumnValues::Amounts(values) => (DataType::Float64, Arc::new(Float64Array::from(values))),
        ColumnValues::Numbers(values) => {
            return (Field::new(name, DataType::Float64, true), Arc::new(Float64Array::from(values)));
        }
    };
    (Field::new(name, kind, false), array)
}
