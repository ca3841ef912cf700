//! Devices as those above see them: the interfaces [`BlockDevice`] and [`PhysicalDevice`], commands and
//! completions, contents of sectors, metrics, gauges, latency breakdowns, snapshots and ageing. Controllers share
//! the [host link](link) and [flush epochs](epochs). [`FixedLatency`] is the smallest device.
//!
//! Nothing here depends on how a controller maps, buffers or collects pages.
//!
//! A value that a comment marks as *chosen* has no published source. The comment gives the reason for it.

pub mod ageing;
pub mod block_device;
pub mod command;
pub mod content;
pub mod detail;
pub mod epochs;
pub mod factors;
pub mod fixed_latency;
mod gauges;
mod invalid_decision;
pub mod lifetime;
pub mod link;
pub mod physical_device;
pub mod preconditioning;
pub mod snapshot;
pub mod tail;
pub mod timeline;
pub mod times;
pub mod watchdog;
pub mod zone;

pub use block_device::{BlockDevice, PowerCut, Recovered};
pub use command::{Command, Completion, Operation, SECTOR};
pub use factors::{TimeFactors, UnscalableReason};
pub use fixed_latency::FixedLatency;
pub use gauges::Gauges;
pub use invalid_decision::InvalidDecision;
pub use physical_device::PhysicalDevice;
pub use zone::{ZoneDescriptor, ZoneState};
