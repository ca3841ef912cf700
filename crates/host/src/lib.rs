//! Host-side software above a device:
//!
//! * [`queue`]: submission queues;
//! * [`pblk`]: the host FTL for open-channel devices;
//! * [`zones`]: the same FTL over zones;
//! * [`zone_host`]: a zoned namespace that the host drives itself;
//! * [`direct`]: a host without an FTL;
//! * [`raid5`]: an array of devices.

pub mod direct;
pub mod pblk;
mod programs;
pub mod queue;
pub mod raid5;
mod recorder;
mod slab;
pub mod zone_host;
pub mod zones;

pub use queue::{Arrival, HostQueue, Pace, QueueMapping, Source, Submission};
