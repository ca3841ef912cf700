//! The host side of a device: the queues through which commands reach it, an FTL for a device that has none or that has zones, a host that does without one, and a RAID-5 made of devices.

pub mod direct;
mod numbered;
pub mod pblk;
pub mod queue;
pub mod raid5;
mod recorded;
pub mod zones;

pub use queue::{Arrival, HostQueue, Pace, Source, Spread, Submission};
