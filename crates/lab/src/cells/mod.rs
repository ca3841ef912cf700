//! The cell model without a device: threshold voltages, reads and programs at one place and condition, or
//! over a population of places. A *place* is a layer of a block of a chip.

mod answer;
mod lines;
mod log;
mod question;
mod report;
mod rewrite;
mod series;
mod table;
#[cfg(test)]
mod tests;

pub use answer::{Evaluation, PageResult, ProgramResult, RetryResult, Spread, StateResult};
pub use lines::LineResult;
pub use log::write_log;
pub use question::Question;
pub use report::write_report;
pub use rewrite::RewriteResult;
pub use series::evaluate_series;
pub use table::{curve, table};

use serde::Deserialize;
use wordline_nand::cell::{CellSet, CellsFile};

use crate::config::{self, embedded};
use crate::error::{Error, Result};

/// Loads the parameter set `name`: an embedded set, or the file at that path. The error lists every fault.
pub fn set(name: &str) -> Result<CellSet> {
    let tree = config::cells(name)?;
    config::schema::complaints_of::<CellsFile>(&tree).into_result(()).map_err(Error::Config)?;
    let file = CellsFile::deserialize(tree.value.to_toml())
        .map_err(|error| config::fallback_error(error.message()))?;
    file.check().map_err(|wrong| Error::Config(config::with_origins(wrong, &tree)))
}

/// The names of the embedded parameter sets.
pub fn names() -> Vec<&'static str> {
    embedded::names(embedded::CELLS)
}
