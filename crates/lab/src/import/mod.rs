//! Import of files of other simulators. Every parameter is either mapped to a key or listed with the reason
//! why not.

mod defaults;
mod device;
mod femu;
mod flows;
mod ini;
mod not_mapped;
mod pair;
mod parameters;
mod ranges;
mod settle;
mod shell;
mod simplessd;
mod simplessd_run;
mod source;
mod start;
mod text;
mod xml;

#[cfg(test)]
mod other_tests;
#[cfg(test)]
mod tests;

pub use device::device;
pub use femu::femu;
pub use flows::{FindTrace, FoundTrace, job_file};
pub use pair::{ImportedPair, Scenario, pair};
pub use simplessd::device as simplessd;
pub use simplessd_run::{ImportedRequests, ImportedRun, simplessd_jobs, simplessd_pair};
pub use source::SourceFile;
pub use text::shown;

/// An imported file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The text of the file here.
    pub text: String,
    /// Notes for the user: values that were replaced or left out, and what cannot be had.
    pub notes: Vec<String>,
}
