//! Host-side software above a device: submission queues, the host FTL pblk for open-channel devices, the same
//! FTL over zones, a direct host without an FTL, and a RAID-5 array of devices.

pub mod direct;
pub mod pblk;
pub mod queue;
pub mod raid5;
mod recorder;
mod slab;
pub mod zones;

pub use queue::{Arrival, HostQueue, Pace, QueueMapping, Source, Submission};
