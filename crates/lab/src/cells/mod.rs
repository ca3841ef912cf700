//! Cells on their own: levels, reads and programs for a place and a condition, or over a population of
//! places.

mod along;
mod answer;
mod lines;
mod log;
mod question;
mod report;
mod rewrite;
mod table;
#[cfg(test)]
mod tests;

pub use along::along;
pub use answer::{Answer, PageAnswer, ProgramAnswer, RetryAnswer, Spread, StateAnswer};
pub use lines::LineAnswer;
pub use log::write_log;
pub use question::Question;
pub use report::write_report;
pub use rewrite::RewriteAnswer;
pub use table::{curve, table};

use serde::Deserialize;
use serde::de::IntoDeserializer;
use wordline_nand::cell::{CellSet, CellsFile};

use crate::config::{self, embedded};
use crate::error::{Error, Result};

/// Loads the parameter set `name`, embedded or from the file at that path. The error lists everything that is
/// wrong.
pub fn set(name: &str) -> Result<CellSet> {
    let tree = config::cells(name)?;
    config::schema::complaints_of::<CellsFile>(&tree).or_ok(()).map_err(Error::Config)?;
    let file = CellsFile::deserialize(tree.value.clone().into_deserializer())
        .map_err(|error| config::backstop(error.message()))?;
    file.check().map_err(|wrong| Error::Config(config::with_origins(wrong, &tree)))
}

/// The names of the parameter sets that the program carries.
pub fn names() -> Vec<&'static str> {
    embedded::names(embedded::CELLS)
}
