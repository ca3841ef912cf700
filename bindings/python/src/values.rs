//! Values of TOML as values of Python, and back.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};
use toml::Value;

use crate::errors::refused_key;

/// The value of `key` as TOML has it.
pub fn to_toml(key: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if let Ok(truth) = value.cast::<PyBool>() {
        return Ok(truth.is_true().into());
    }
    if value.is_instance_of::<PyInt>() {
        return match value.extract::<i64>() {
            Ok(number) => Ok(number.into()),
            Err(_) => Err(refused_key(key, &shown(value), "a whole number of 64 bits")),
        };
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        return Ok(number.extract::<f64>()?.into());
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(text.to_str()?.into());
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items = value.try_iter()?.enumerate();
        let items = items.map(|(n, item)| to_toml(&format!("{key}[{n}]"), &item?));
        return Ok(Value::Array(items.collect::<PyResult<_>>()?));
    }
    if let Ok(mapping) = value.cast::<PyMapping>() {
        return Ok(Value::Table(to_table(key, mapping)?));
    }
    if let Ok(path) = value.extract::<PathBuf>() {
        return Ok(path.to_string_lossy().into_owned().into());
    }
    // A number of NumPy.
    match value.call_method0("item") {
        Ok(plain) if plain.get_type().as_ptr() != value.get_type().as_ptr() => to_toml(key, &plain),
        _ => Err(refused_key(key, &shown(value), "text, a number, True or False, a list or a dict")),
    }
}

/// A mapping as a table of TOML; its keys lie below `path`.
pub fn to_table(path: &str, mapping: &Bound<'_, PyMapping>) -> PyResult<toml::Table> {
    let mut table = toml::Table::new();
    for item in mapping.items()?.iter() {
        let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        let Ok(key) = key.extract::<String>() else {
            return Err(refused_key(path, &shown(&key), "keys that are text"));
        };
        let at = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        table.insert(key, to_toml(&at, &value)?);
    }
    Ok(table)
}

/// A value of TOML as Python has it.
pub fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::String(text) => text.into_pyobject(py)?.into_any(),
        Value::Integer(number) => number.into_pyobject(py)?.into_any(),
        Value::Float(number) => number.into_pyobject(py)?.into_any(),
        Value::Boolean(truth) => truth.into_pyobject(py)?.to_owned().into_any(),
        Value::Datetime(time) => time.to_string().into_pyobject(py)?.into_any(),
        Value::Array(items) => {
            let items = items.iter().map(|item| to_python(py, item));
            PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)?.into_any()
        }
        Value::Table(table) => {
            let dict = PyDict::new(py);
            for (key, value) in table {
                dict.set_item(key, to_python(py, value)?)?;
            }
            dict.into_any()
        }
    })
}

/// A value as messages show it.
pub fn shown(value: &Bound<'_, PyAny>) -> String {
    value.repr().map_or_else(|_| "a value without text".to_owned(), |text| text.to_string())
}
