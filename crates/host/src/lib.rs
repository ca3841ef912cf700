//! The host side of a device: the queues through which commands reach it.

pub mod queue;

pub use queue::{Arrival, HostQueue, Pace, Source, Spread, Submission};
