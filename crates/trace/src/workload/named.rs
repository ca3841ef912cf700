//! Built-in workloads by name.

use std::collections::BTreeMap;

use wordline_kernel::one_of;

use super::config::Workload;
use super::{Profile, application};
use crate::Error;

const FILE: &str = include_str!("../../../../data/workloads/named.toml");

fn all() -> BTreeMap<String, Workload> {
    toml::from_str(FILE).expect("a test reads the embedded file")
}

/// Names of the built-in patterns, in alphabetical order.
pub fn names() -> Vec<String> {
    all().into_keys().collect()
}

/// Lists the names of all patterns, applications and profiles, with the closest match to `found`.
pub fn list_all_names(found: &str) -> String {
    let names = [names(), application::names(), Profile::names()].concat();
    one_of(found, &names.iter().map(String::as_str).collect::<Vec<_>>())
}

impl Workload {
    /// Returns the workload called `name`.
    ///
    /// # Errors
    /// Lists the names if there is no such workload.
    pub fn named(name: &str) -> Result<Self, Error> {
        let workload = all().remove(name).ok_or_else(|| Error::Argument {
            what: "workload".into(),
            found: format!("`{name}`"),
            wanted: list_all_names(name),
        })?;
        workload.check().expect("a test checks the embedded workloads");
        Ok(workload)
    }
}
