//! The library behind the program `wordline`. It describes devices and workloads, runs them or steps through
//! them, and reads the results.
//!
//! ```
//! use wordline_lab::{Device, RunOptions, Unobserved, Workload, run};
//!
//! let old = Device::preset("tiny")?;
//! let new = old.with("ftl.over_provisioning", 0.5)?;
//! let load = Workload { requests: Some(20_000), ..Workload::named("randwrite-4k-steady") };
//! for device in [old, new] {
//!     let result = run(&device, &load, &RunOptions::seed(1), &mut Unobserved)?;
//!     let (tail, programs) = (result.host.write_latency_us.p99, result.write_amplification);
//!     println!("{}: p99 {tail:.0?} us, write amplification {programs:.2?}", device.name);
//! }
//! # Ok::<(), wordline_lab::Error>(())
//! ```
//!
//! | to | use |
//! |---|---|
//! | describe a device: a preset, a file or a table of keys, with settings on top | [`Device`] |
//! | choose its requests and their pace: generated, recorded or given | [`Workload`] |
//! | run a workload to its end | [`run()`], with [`RunOptions`] and an [`Observer`] |
//! | advance a run step by step, and choose the next request by the results so far | [`Session`] |
//! | list the faults of an input, by file, line and key | [`Error::findings`] |
//! | read the result, with the names of the JSON | [`Summary`]; [`report`] |
//! | add a device type or a design from another crate | [`Registry`]; [`devices`] |
//! | run many in parallel | [`sweep`] |
//! | find the bottleneck of a run by experiments | [`why`](why::why) |
//!
//! A run has one thread. Its result is a function of device, workload and seed. This crate uses files, but no
//! terminal.

pub mod cells;
pub mod columns;
pub mod config;
mod device;
pub mod devices;
pub mod drives;
pub mod import;
pub mod job;
pub mod memory;
pub mod nand;
mod prepare;
pub mod report;
mod reproducer;
pub mod run;
mod session;
pub mod snapshot;
pub mod sweep;
pub mod why;
pub mod words;
pub mod workload;

pub use device::{DEFAULT_PRESET, Device, Selection};
pub use devices::Registry;
pub use job::RunOptions;
pub use run::run;
pub use session::Session;
pub use wordline_run::tail::SLOWEST;
pub use wordline_run::{
    CompletedRequest, Error, Finding, Observer, PowerCutPoint, Precision, Precondition, Settling, Standing,
    StepTarget, SteppedRun, StopReason, Summary, Timeline, Unobserved, Until, WarmUp, Window,
};
pub use wordline_run::{
    arrivals, change, error, input, load, log, observer, output, panics, percentiles, precision, provenance,
    student, summary, tail, timeline, transient, until,
};
pub use wordline_trace as trace;
pub use workload::{Origin, Workload};
