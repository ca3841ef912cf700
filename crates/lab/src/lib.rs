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

mod admission;
pub mod arrivals;
mod buffered;
mod by_job;
pub mod cells;
pub mod change;
pub mod config;
mod course;
mod device;
pub mod devices;
mod drift;
pub mod error;
mod event;
pub mod import;
pub mod input;
pub mod job;
pub mod load;
pub mod log;
mod measure;
mod measured;
mod members;
mod metrics;
pub mod nand;
pub mod observer;
pub mod output;
pub mod panics;
pub mod percentiles;
mod pools;
mod power;
pub mod precision;
mod prepare;
pub mod provenance;
mod record;
pub mod report;
mod reproducer;
pub mod run;
mod running;
mod session;
mod settling;
pub mod snapshot;
mod steps;
pub mod student;
pub mod summary;
pub mod sweep;
pub mod tail;
pub mod timeline;
mod trace_event;
pub mod transient;
mod unknown;
mod verdict;
mod warm_up;
mod wear;
pub mod why;
pub mod words;
pub mod workload;

pub use device::{DEFAULT_PRESET, Device, Selection};
pub use devices::Registry;
pub use error::{Error, Finding};
pub use job::RunOptions;
pub use load::{PowerCutPoint, Precondition};
pub use observer::{Observer, Unobserved};
pub use precision::Precision;
pub use record::CompletedRequest;
pub use run::run;
pub use session::Session;
pub use settling::Settling;
pub use steps::{Standing, StepTarget, SteppedRun, StopReason};
pub use summary::Summary;
pub use tail::SLOWEST;
pub use timeline::{Timeline, Window};
pub use transient::WarmUp;
pub use wordline_trace as trace;
pub use workload::{Origin, Workload};
