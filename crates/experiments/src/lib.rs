//! Experiments: published figures and tables as data, compared with results of the simulator.
//!
//! An experiment is a folder `PAPER/NAME` with a file `experiment.toml`. The file has the runs, the expected
//! values with source and band, and the charts. `docs/VALIDATION.md` describes the format.

mod bench;
mod cells;
mod chart;
mod embedded;
mod experiment;
mod file;
mod judge;
mod kind;
mod known;
mod library;
mod map;
pub mod models;
pub mod nand;
pub mod only;
mod options;
pub mod printed;
mod run;
mod seed_run;
mod show;
mod statistics;
mod sweep;
#[cfg(test)]
mod tests;
mod write_sizes;

pub use bench::{Bench, Lab, simulate};
pub use chart::{ChartFile, Shape};
pub use experiment::Experiment;
pub use judge::class::Class;
pub use judge::column::follow;
pub use judge::counts::{Counts, VerdictCounts};
pub use judge::expect::{Band, Direction, Expect, ExpectedValue, Reason};
pub use judge::map::Map;
pub use judge::outcome::{Measured, Outcome, Row, Trace, Value, Verdict};
pub use judge::settings;
pub use kind::Kind;
pub use known::{KnownOutside, RowLists};
pub use library::{Entry, Library};
pub use map::MapFile;
pub use options::Options;
pub use run::{run, run_changed};
pub use show::chart::{Chart, KeyAxis, charts, label};
pub use show::page::write_report;
pub use show::record::SEEDS;
pub use show::table::{grid, markdown, markdown_summary, summary, table};
pub use statistics::Finding;
pub use sweep::axes::{Axis, Points};
pub use sweep::{
    DeviceCache, FileLoad, INITIAL_STATES, InitialState, Point, Sweep, Volume, Workload, initial_state_of,
    workload_of_name,
};
pub use wordline_lab::student::Mean;
pub use write_sizes::{Volumes, WriteSizes};
