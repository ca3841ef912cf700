//! Values of a column of a row group, as text.
//!
//! Pages are read without the rows of the library (`SerializedFileReader`), whose code for types that no trace has would
//! be a part of the program.

use std::fmt::Write;
use std::fs::File;
use std::sync::Arc;

use parquet::basic::{ConvertedType, LogicalType, TimeUnit as Unit, Type};
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArrayType, FloatType, Int32Type,
    Int64Type,
};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::schema::types::{ColumnDescPtr, ColumnDescriptor};

use super::super::super::formats::TimeUnit;

/// A file and its description.
pub(super) struct Table {
    file: Arc<File>,
    metadata: ParquetMetaData,
}

impl Table {
    /// Reads the description of a file.
    pub(super) fn open(file: File) -> Result<Self> {
        let metadata = ParquetMetaDataReader::new().parse_and_finish(&file)?;
        Ok(Self { file: Arc::new(file), metadata })
    }

    /// The description.
    pub(super) const fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }

    /// Number of rows of a row group; 0 if there is no such group.
    pub(super) fn rows(&self, group: usize) -> usize {
        let rows = self.metadata.row_groups().get(group).map_or(0, |group| group.num_rows());
        usize::try_from(rows).unwrap_or(0)
    }
}

/// A column of a row group.
pub(super) trait Column: Send {
    /// Decodes the next `rows` values. All values before must have been written.
    fn load(&mut self, rows: usize) -> Result<()>;

    /// Appends the next value to a text; nothing if there is none.
    fn write(&mut self, text: &mut String);
}

/// Returns column `at` of a row group. Times that have a unit by its type are written in the unit `time`, if there is one.
pub(super) fn column(
    table: &Table,
    group: usize,
    at: usize,
    time: Option<TimeUnit>,
) -> Result<Box<dyn Column>> {
    let Some(of_group) = table.metadata.row_groups().get(group) else {
        return Err(ParquetError::General(format!("there is no row group {group}")));
    };
    let chunk = of_group.column(at);
    let schema = chunk.column_descr_ptr();
    let pages = SerializedPageReader::new(Arc::clone(&table.file), chunk, table.rows(group), None)?;
    let reader = (schema.clone(), pages);
    let is_unsigned = is_unsigned(&schema);
    let scale = match (time, time_unit(&schema)) {
        (Some(time), Some(unit)) => time.digits() - unit.digits(),
        _ => scale(&schema)?,
    };
    let is_decimal = is_decimal(&schema);
    let name = || schema.name().to_string();
    Ok(match schema.physical_type() {
        Type::BOOLEAN => Values::<BoolType>::boxed(reader, |value, text| put(text, value)),
        Type::INT32 => Values::<Int32Type>::boxed(reader, move |value, text| match scale {
            0 if is_unsigned => put(text, &(*value as u32)),
            scale => put_decimal(text, i128::from(*value), scale),
        }),
        Type::INT64 => Values::<Int64Type>::boxed(reader, move |value, text| match scale {
            0 if is_unsigned => put(text, &(*value as u64)),
            scale => put_decimal(text, i128::from(*value), scale),
        }),
        Type::FLOAT => Values::<FloatType>::boxed(reader, |value, text| put(text, value)),
        Type::DOUBLE => Values::<DoubleType>::boxed(reader, |value, text| put(text, value)),
        Type::BYTE_ARRAY if is_decimal => Values::<ByteArrayType>::boxed(reader, move |value, text| {
            put_decimal(text, big_endian(value.data()), scale);
        }),
        Type::FIXED_LEN_BYTE_ARRAY if is_decimal => {
            Values::<FixedLenByteArrayType>::boxed(reader, move |value, text| {
                put_decimal(text, big_endian(value.data()), scale);
            })
        }
        Type::BYTE_ARRAY => Values::<ByteArrayType>::boxed(reader, |value: &ByteArray, text| {
            text.push_str(&String::from_utf8_lossy(value.data()));
        }),
        kind @ (Type::INT96 | Type::FIXED_LEN_BYTE_ARRAY) => {
            return Err(ParquetError::General(format!(
                "column {} has values of type {kind}; integers, decimals, floats, texts and truth values are read",
                name()
            )));
        }
    })
}

/// Whether the integers of a column have no sign.
fn is_unsigned(schema: &ColumnDescriptor) -> bool {
    let converted = schema.converted_type();
    let of_converted = matches!(
        converted,
        ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64
    );
    of_converted || matches!(schema.logical_type_ref(), Some(LogicalType::Integer(kind)) if !kind.is_signed)
}

/// Unit of the times of a column, if its type gives it.
pub(super) fn time_unit(schema: &ColumnDescriptor) -> Option<TimeUnit> {
    let unit = match schema.logical_type_ref() {
        Some(LogicalType::Timestamp(kind)) => kind.unit,
        Some(LogicalType::Time(kind)) => kind.unit,
        Some(_) => return None,
        None => match schema.converted_type() {
            ConvertedType::TIMESTAMP_MILLIS | ConvertedType::TIME_MILLIS => Unit::MILLIS,
            ConvertedType::TIMESTAMP_MICROS | ConvertedType::TIME_MICROS => Unit::MICROS,
            _ => return None,
        },
    };
    Some(match unit {
        Unit::MILLIS => TimeUnit::Ms,
        Unit::MICROS => TimeUnit::Us,
        Unit::NANOS => TimeUnit::Ns,
    })
}

/// Whether the values of a column are decimals.
fn is_decimal(schema: &ColumnDescriptor) -> bool {
    matches!(schema.logical_type_ref(), Some(LogicalType::Decimal(_)))
        || schema.converted_type() == ConvertedType::DECIMAL
}

/// The number whose two's complement these bytes are, the highest first. Of more than sixteen bytes, which no column of a
/// trace needs, it is the largest number.
fn big_endian(bytes: &[u8]) -> i128 {
    let sign = if bytes.first().is_some_and(|first| *first > 127) { -1 } else { 0 };
    if bytes.len() > 16 {
        return i128::MAX;
    }
    bytes.iter().fold(sign, |value, byte| value << 8 | i128::from(*byte))
}

/// Digits behind the point of the decimals in a column; 0 for all other values.
fn scale(schema: &ColumnDescriptor) -> Result<i32> {
    let scale = match schema.logical_type_ref() {
        Some(LogicalType::Decimal(kind)) => kind.scale,
        None if schema.converted_type() == ConvertedType::DECIMAL => schema.type_scale(),
        _ => 0,
    };
    if (0..=18).contains(&scale) {
        return Ok(scale);
    }
    Err(ParquetError::General(format!("column {} has a decimal scale of {scale}", schema.name())))
}

fn put(text: &mut String, value: &impl std::fmt::Display) {
    write!(text, "{value}").expect("text can be written");
}

/// Appends a number with `scale` digits behind the point, or so many zeros behind it if that is below zero.
fn put_decimal(text: &mut String, value: i128, scale: i32) {
    let tens = 10_u128.pow(scale.unsigned_abs());
    if scale <= 0 {
        return put(text, &value.saturating_mul(tens as i128));
    }
    let (sign, value) = (if value < 0 { "-" } else { "" }, value.unsigned_abs());
    let width = scale as usize;
    write!(text, "{sign}{}.{:0width$}", value / tens, value % tens).expect("text can be written");
}

/// Appends a value to a text.
type Put<T> = Box<dyn Fn(&T, &mut String) + Send>;

/// Decoded values of a type.
struct Values<T: DataType> {
    reader: ColumnReaderImpl<T>,
    /// Whether rows may have no value. `levels` then says which have one.
    optional: bool,
    values: Vec<T::T>,
    levels: Vec<i16>,
    row: usize,
    value: usize,
    put: Put<T::T>,
}

impl<T: DataType> Values<T> {
    fn boxed(
        (schema, pages): (ColumnDescPtr, SerializedPageReader<File>),
        put: impl Fn(&T::T, &mut String) + Send + 'static,
    ) -> Box<dyn Column>
    where
        Self: Send,
    {
        let optional = schema.max_def_level() > 0;
        let reader = ColumnReaderImpl::<T>::new(schema, Box::new(pages));
        let (values, levels) = (Vec::new(), Vec::new());
        Box::new(Self { reader, optional, values, levels, row: 0, value: 0, put: Box::new(put) })
    }
}

impl<T: DataType> Column for Values<T>
where
    Self: Send,
{
    fn load(&mut self, rows: usize) -> Result<()> {
        self.values.clear();
        self.levels.clear();
        (self.row, self.value) = (0, 0);
        let levels = self.optional.then_some(&mut self.levels);
        let (read, values, _) = self.reader.read_records(rows, levels, None, &mut self.values)?;
        if read == rows && values == self.values.len() && (self.optional || values == rows) {
            return Ok(());
        }
        Err(ParquetError::General(format!("{read} of {rows} rows have values")))
    }

    fn write(&mut self, text: &mut String) {
        let has_value = !self.optional || self.levels.get(self.row).is_some_and(|level| *level > 0);
        self.row += 1;
        if !has_value {
            return;
        }
        if let Some(value) = self.values.get(self.value) {
            (self.put)(value, text);
        }
        self.value += 1;
    }
}
