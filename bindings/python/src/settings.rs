//! Settings given by name, without those left out; each is checked with the messages of the command line.

use std::path::PathBuf;
use std::str::FromStr;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};
use wordline_lab::words::found_and_wanted;

use crate::errors::refused;
use crate::values::shown;

/// An integer from `least` on: the value of the argument `name`.
pub fn whole<T: TryFrom<u64>>(name: &str, value: &Bound<'_, PyAny>, least: u64) -> PyResult<T> {
    // A bool is a number to Python, and a mistake here.
    let is_truth = value.is_instance_of::<PyBool>();
    let number = value.extract::<u64>().ok().filter(|number| *number >= least && !is_truth);
    let most = u64::MAX >> (u64::BITS as usize - 8 * size_of::<T>());
    let wanted = || refused(name, shown(value), &format!("a whole number from {least} to {most}"));
    number.and_then(|number| T::try_from(number).ok()).ok_or_else(wanted)
}

/// Settings by name.
pub struct Settings<'a, 'py>(pub &'a Bound<'py, PyDict>);

impl<'py> Settings<'_, 'py> {
    /// Value of `name`, if given.
    pub fn get(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(self.0.get_item(name)?.filter(|value| !value.is_none()))
    }

    /// An integer from `least` on.
    pub fn whole<T: TryFrom<u64>>(&self, name: &str, least: u64) -> PyResult<Option<T>> {
        self.get(name)?.map(|value| whole(name, &value, least)).transpose()
    }

    /// A number.
    pub fn number(&self, name: &str) -> PyResult<Option<f64>> {
        let Some(value) = self.get(name)? else { return Ok(None) };
        let number = value.extract::<f64>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| refused(name, shown(&value), "a number, such as 0.5")).map(Some)
    }

    /// A text.
    pub fn text(&self, name: &str) -> PyResult<Option<String>> {
        let Some(value) = self.get(name)? else { return Ok(None) };
        value.extract().map(Some).map_err(|_| refused(name, shown(&value), "text in quotes"))
    }

    /// A value parsed from text; also accepts a number if its text is valid.
    pub fn read<T: FromStr<Err = String>>(&self, name: &str) -> PyResult<Option<T>> {
        self.read_by(name, str::parse)
    }

    /// The same with a given parser.
    pub fn read_by<T>(&self, name: &str, read: impl Fn(&str) -> Result<T, String>) -> PyResult<Option<T>> {
        let Some(value) = self.get(name)? else { return Ok(None) };
        let is_truth = value.is_instance_of::<PyBool>();
        let is_written = value.is_instance_of::<PyString>()
            || value.is_instance_of::<PyInt>() && !is_truth
            || value.is_instance_of::<PyFloat>();
        // Other objects have no meaningful text: the parser rejects the text shown in messages.
        let text = if is_written { value.str()?.to_string() } else { shown(&value) };
        read(&text).map(Some).map_err(|message| {
            let (_, wanted) = found_and_wanted(&message, &message);
            refused(name, shown(&value), &wanted)
        })
    }

    /// A path.
    pub fn path(&self, name: &str) -> PyResult<Option<PathBuf>> {
        let Some(value) = self.get(name)? else { return Ok(None) };
        value.extract().map(Some).map_err(|_| refused(name, shown(&value), "a path"))
    }
}
