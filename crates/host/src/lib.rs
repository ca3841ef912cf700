//! The host side of a device: the queues through which commands reach it, and an FTL for a device that has none.

pub mod pblk;
pub mod queue;

pub use queue::{Arrival, HostQueue, Pace, Source, Spread, Submission};
