//! Everything around a run: configuration and presets, traces and workloads, the run itself, sweeps over cores
//! and reports. It knows files, but no terminal.

mod admission;
pub mod arrivals;
pub mod caught;
pub mod cells;
pub mod config;
pub mod devices;
mod drift;
pub mod error;
pub mod input;
mod log;
mod measure;
pub mod metrics;
pub mod nand;
pub mod output;
pub mod plan;
mod pools;
pub mod power;
pub mod prepare;
pub mod provenance;
pub mod report;
pub mod run;
pub mod snapshot;
pub mod summary;
pub mod sweep;
mod warm_up;
mod wear;
pub mod words;
pub mod workload;

pub use error::Error;
pub use wordline_trace as trace;
