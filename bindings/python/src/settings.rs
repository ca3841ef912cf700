//! Settings by name, without those that were left out. Each is checked, with the messages of the command
//! line.

use std::path::PathBuf;
use std::str::FromStr;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};
use wordline_lab::words::found_and_wanted;

use crate::errors::refused;
use crate::values::shown;

/// Checks the argument `name`: an integer of at least `least`.
pub fn whole<T: TryFrom<u64>>(name: &str, value: &Bound<'_, PyAny>, least: u64) -> PyResult<T> {
    // A bool is an integer in Python, but a mistake here.
    let is_truth = value.is_instance_of::<PyBool>();
    let number = value.extract::<u64>().ok().filter(|number| *number >= least && !is_truth);
    let most = u64::MAX >> (u64::BITS as usize - 8 * size_of::<T>());
    let wanted = || refused(name, shown(value), &format!("a whole number from {least} to {most}"));
    number.and_then(|number| T::try_from(number).ok()).ok_or_else(wanted)
}

/// Settings by name.
pub struct Settings<'a, 'py>(pub &'a Bound<'py, PyDict>);

impl<'py> Settings<'_, 'py> {
    /// The setting `name`, if it is given.
    pub fn get(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(self.0.get_item(name)?.filter(|value| !value.is_none()))
    }

    /// The setting `name` as an integer of at least `least`.
    pub fn whole<T: TryFrom<u64>>(&self, name: &str, least: u64) -> PyResult<Option<T>> {
        self.get(name)?.map(|value| whole(name, &value, least)).transpose()
    }

    /// The setting `name` as a number.
    pub fn number(&self, name: &str) -> PyResult<Option<f64>> {
        let Some(value) = self.get(name)? else { return Ok(None) };
        let number = value.extract::<f64>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| refused(name, shown(&value), "a number, such as 0.5")).map(Some)
    }

    /// The setting `name` as text.
    pub fn text(&self, name: &str) -> PyResult<Option<String>> {
        let Some(value) = self.get(name)? else { return Ok(None) };
        value.extract().map(Some).map_err(|_| refused(name, shown(&value), "text in quotes"))
    }

    /// The setting `name`, parsed from text. A number is accepted if its text is valid.
    pub fn read<T: FromStr<Err = String>>(&self, name: &str) -> PyResult<Option<T>> {
        self.read_by(name, str::parse)
    }

    /// The setting `name`, parsed from text by `read`. A number is accepted if its text is valid.
    pub fn read_by<T>(&self, name: &str, read: impl Fn(&str) -> Result<T, String>) -> PyResult<Option<T>> {
        let Some(value) = self.get(name)? else { return Ok(None) };
        let is_truth = value.is_instance_of::<PyBool>();
        let is_written = value.is_instance_of::<PyString>()
            || value.is_instance_of::<PyInt>() && !is_truth
            || value.is_instance_of::<PyFloat>();
        // Objects of other types have no text of their own. The parser gets the text of messages and rejects
        // it.
        let text = if is_written { value.str()?.to_string() } else { shown(&value) };
        read(&text).map(Some).map_err(|message| {
            let (_, wanted) = found_and_wanted(&message, &message);
            refused(name, shown(&value), &wanted)
        })
    }

    /// The setting `name` as a path.
    pub fn path(&self, name: &str) -> PyResult<Option<PathBuf>> {
        let Some(value) = self.get(name)? else { return Ok(None) };
        value.extract().map(Some).map_err(|_| refused(name, shown(&value), "a path"))
    }
}
