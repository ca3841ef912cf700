//! Conversion between TOML values and Python values.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyRange, PyString, PyTuple};
use toml::Value;

use crate::errors::refused_key;

/// Greatest nesting of tables and lists. It is the limit of the TOML parser (`LIMIT` of the crate toml 1.2),
/// so files have the same limit. Presets have at most eight levels.
const MAX_DEPTH: usize = 80;

/// Greatest number of values in an argument. Chosen: ten times the combinations that a study may have. A
/// table that contains one list many times could otherwise have more values than fit into memory.
const MAX_VALUES: usize = 1_000_000;

/// Number of parts of a path that messages show. Chosen: enough to locate the value.
const PARTS_SHOWN: usize = 4;

/// Number of characters of a value that messages show. Chosen: a line.
const SHOWN: usize = 120;

/// Converts the argument `name`, a mapping, to a TOML table. Its keys are sorted.
pub fn to_table(name: &'static str, mapping: &Bound<'_, PyMapping>) -> PyResult<toml::Table> {
    Ok(to_pairs(name, mapping)?.into_iter().collect())
}

/// Converts the argument `name`, a mapping, to TOML values in the order of the mapping.
pub fn to_pairs(name: &'static str, mapping: &Bound<'_, PyMapping>) -> PyResult<Vec<(String, Value)>> {
    let mut walk = Walk { name, path: Vec::new(), around: Vec::new(), values: 0 };
    walk.within(mapping, |walk, _| walk.pairs(mapping))
}

/// Traversal of nested values.
struct Walk {
    /// Name of the argument.
    name: &'static str,
    /// Keys and list indices that lead to the current value.
    path: Vec<String>,
    /// Addresses of the values that enclose the current one.
    around: Vec<usize>,
    values: usize,
}

impl Walk {
    /// Converts the value at the end of the path to TOML.
    fn value(&mut self, value: &Bound<'_, PyAny>) -> PyResult<Value> {
        self.values += 1;
        if self.values > MAX_VALUES {
            return Err(self.refused("more values", &format!("at most {MAX_VALUES}")));
        }
        if let Ok(truth) = value.cast::<PyBool>() {
            return Ok(truth.is_true().into());
        }
        if value.is_instance_of::<PyInt>() {
            let number = value.extract::<i64>();
            return number
                .map(Into::into)
                .map_err(|_| self.refused(&shown(value), "a whole number of 64 bits"));
        }
        if let Ok(number) = value.cast::<PyFloat>() {
            return Ok(number.extract::<f64>()?.into());
        }
        if let Ok(text) = value.cast::<PyString>() {
            let text = text.to_str().map_err(|_| self.refused(&shown(value), "text that UTF-8 has"))?;
            return Ok(text.into());
        }
        if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
            return self.within(value, Self::list).map(Value::Array);
        }
        if let Ok(mapping) = value.cast::<PyMapping>() {
            let pairs = self.within(value, |walk, _| walk.pairs(mapping))?;
            return Ok(Value::Table(pairs.into_iter().collect()));
        }
        // Tables of keys of a device.
        if let Ok(bare) = value.call_method0("_bare") {
            return self.value(&bare);
        }
        if let Ok(path) = value.extract::<PathBuf>() {
            return Ok(path.to_string_lossy().into_owned().into());
        }
        // A range has whole numbers. An array of NumPy or a column of Polars is converted to a list.
        if value.is_instance_of::<PyRange>() {
            return self.within(value, Self::list).map(Value::Array);
        }
        if value.getattr("shape").is_ok_and(|shape| shape.is_truthy().unwrap_or(false))
            && let Ok(list) = value.call_method0("tolist").or_else(|_| value.call_method0("to_list"))
        {
            return self.within(&list, Self::list).map(Value::Array);
        }
        // A NumPy number is converted to a Python number.
        match value.call_method0("item") {
            Ok(plain) if plain.get_type().as_ptr() != value.get_type().as_ptr() => self.value(&plain),
            _ => Err(self.refused(&shown(value), "text, a number, True or False, a list or a dict")),
        }
    }

    fn list(&mut self, list: &Bound<'_, PyAny>) -> PyResult<Vec<Value>> {
        let items = list.try_iter()?.enumerate();
        items.map(|(n, item)| self.at(format!("[{n}]"), &item?)).collect()
    }

    fn pairs(&mut self, mapping: &Bound<'_, PyMapping>) -> PyResult<Vec<(String, Value)>> {
        let mut pairs = Vec::new();
        for item in mapping.items()?.iter() {
            let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
            let Ok(key) = key.extract::<String>() else {
                return Err(self.refused(&shown(&key), "keys that are text"));
            };
            let value = self.at(key.clone(), &value)?;
            pairs.push((key, value));
        }
        Ok(pairs)
    }

    fn at(&mut self, part: String, value: &Bound<'_, PyAny>) -> PyResult<Value> {
        self.path.push(part);
        let read = self.value(value)?;
        self.path.pop();
        Ok(read)
    }

    /// Converts the content of a nested value with a function. It is an error if the value contains itself,
    /// or is nested too deeply.
    fn within<'py, T>(
        &mut self,
        value: &Bound<'py, PyAny>,
        read: impl FnOnce(&mut Self, &Bound<'py, PyAny>) -> PyResult<T>,
    ) -> PyResult<T> {
        let address = value.as_ptr() as usize;
        if self.around.contains(&address) {
            let kind = value.get_type().name()?.to_string();
            return Err(self.refused(&format!("a {kind} that holds itself"), "values that end"));
        }
        if self.around.len() == MAX_DEPTH {
            let wanted = format!("at most {MAX_DEPTH} tables and lists within each other");
            return Err(self.refused("one more table or list", &wanted));
        }
        self.around.push(address);
        let read = read(self, value)?;
        self.around.pop();
        Ok(read)
    }

    fn refused(&self, found: &str, wanted: &str) -> PyErr {
        let mut key = String::new();
        for part in self.path.iter().take(PARTS_SHOWN) {
            if !key.is_empty() && !part.starts_with('[') {
                key.push('.');
            }
            key.push_str(part);
        }
        if self.path.len() > PARTS_SHOWN {
            key.push_str(" ...");
        }
        refused_key(if key.is_empty() { self.name } else { &key }, found, wanted)
    }
}

/// Converts a TOML value to Python.
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

/// Formats a value for messages, on one line of limited length.
pub fn shown(value: &Bound<'_, PyAny>) -> String {
    let whole = value.repr().map_or_else(|_| "a value without text".to_owned(), |text| text.to_string());
    match whole.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{} ... ({} characters)", &whole[..end], whole.chars().count()),
        None => whole,
    }
}
