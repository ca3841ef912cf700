//! Studies: runs of a device and a workload over varied keys. Each combination runs with several seeds.
//!
//! A [`Study`] comes from a file (`docs/studies.md`) or from arguments. A [`Store`] is a folder with its
//! runs, and the only record of what was run. A study that was stopped or extended executes only the missing
//! runs. A [`Table`] collects the results.

mod arguments;
mod charts;
mod file;
mod flat;
mod memory;
mod name;
mod own;
mod place;
mod run;
mod shard;
mod show;
mod size;
mod store;
mod table;
mod task;
#[cfg(test)]
mod tests;
mod values;

pub use arguments::{LoadArguments, StudyArguments};
pub use charts::charts;
pub use file::{Designs, KeyOrigin, PrecisionTarget, Repeat, Study};
pub use name::{InputFile, RunNames};
pub use own::{CallerDesigns, DesignMonitor, DeviceWithDesign};
pub use run::{CombinationResult, Plan, Progress, RunExecutor, RunOutcome, missing, plan, run, run_at};
pub use shard::Shard;
pub use show::{sheet, text, write_report};
pub use store::{
    CheckReport, Damage, Files, MergeReport, MovedFile, Record, State, Store, check, has_store, repair,
};
pub use table::{Cell, ColumnValues, Row, RunsForm, Statement, Table, TableColumn};
pub use task::{Task, TaskTrace, carry_out};
pub use values::{DeviceArguments, axis_of, baseline_of, device_of};
