//! What stands above a device in the computer: the queues through which commands reach it.

pub mod queue;

pub use queue::{Arrival, HostQueue, Pace, Spread, Submission};
