//! A run of a load on a device: its preparation, the event loop, and the measurements up to the result.
//!
//! | part | modules |
//! |---|---|
//! | the load: requests, pace, and what to do with them | [`load`], [`arrivals`], [`change`] |
//! | the state of the device before the first request | [`prepare`], [`snapshot`] |
//! | the event loop, in steps or to the end | [`running`], [`steps`], [`observer`], [`calendar`] |
//! | the measurements and the result | [`summary`], [`tail`], [`timeline`], [`precision`], [`transient`] |
//! | files | [`input`], [`output`], [`log`] |
//!
//! This crate knows nothing of configuration files, workload names, reports and terminals.

mod admission;
pub mod arrivals;
mod buffered;
mod by_job;
pub mod calendar;
pub mod change;
#[cfg(all(debug_assertions, not(test)))]
pub mod compiled;
pub mod course;
mod drift;
mod effects;
pub mod error;
pub mod input;
mod latency;
pub mod load;
pub mod log;
mod measure;
pub mod measured;
mod members;
mod metrics;
pub mod observer;
pub mod output;
pub mod panics;
pub mod percentiles;
mod pools;
mod power;
pub mod precision;
pub mod prepare;
pub mod provenance;
pub mod quantity;
pub mod record;
pub mod running;
pub mod sample;
pub mod settling;
pub mod snapshot;
pub mod stage;
pub mod steps;
pub mod student;
pub mod summary;
pub mod tail;
pub mod timeline;
pub mod trace_event;
pub mod transient;
mod unknown;
pub mod until;
mod verdict;
pub mod warm_up;
mod wear;
mod zones;

pub use error::{Error, Finding, Result};
pub use load::{Load, PowerCutPoint, Precondition, Start};
pub use observer::{Observer, Unobserved};
pub use precision::Precision;
pub use record::CompletedRequest;
pub use settling::Settling;
pub use steps::{Standing, StepTarget, SteppedRun, StopReason};
pub use summary::Summary;
pub use timeline::{Timeline, Window};
pub use transient::WarmUp;
pub use until::Until;
