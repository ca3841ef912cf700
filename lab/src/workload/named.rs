//! The workloads that come with the program, by name.

use std::collections::BTreeMap;

use wordline_kernel::Complaints;

use super::config::Workload;
use crate::Error;

const FILE: &str = include_str!("../../../workloads/named.toml");

fn all() -> BTreeMap<String, Workload> {
    toml::from_str(FILE).expect("a test reads the embedded file")
}

/// The names of the workloads that come with the program, in alphabetical order.
pub fn names() -> Vec<String> {
    all().into_keys().collect()
}

impl Workload {
    /// The workload called `name`.
    ///
    /// # Errors
    /// Lists the names where there is no such workload.
    pub fn named(name: &str) -> Result<Self, Error> {
        let workload = all().remove(name).ok_or_else(|| Error::Argument {
            what: "workload".into(),
            found: format!("`{name}`"),
            wanted: format!("one of {}", names().join(", ")),
        })?;
        workload.check().map_err(|inner| {
            let mut complaints = Complaints::default();
            complaints.nest(name, inner);
            Error::Config(complaints)
        })?;
        Ok(workload)
    }
}
