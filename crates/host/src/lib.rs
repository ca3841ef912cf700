//! The host side of a device: the queues through which commands reach it, and devices that are made of others.

pub mod queue;
pub mod raid5;

pub use queue::{Arrival, HostQueue, Pace, Source, Spread, Submission};
