//! SSDs around NAND chips. The engines of a conventional controller, from [`flash`] to [`front`], form a
//! [`Device`]. The crate also has an [open-channel](open_channel) device on the same flash, and
//! [zones](zoned) on top of it. Each mechanism comes with the policy trait that controls it. Research designs
//! are in other crates.
//!
//! A value that a comment marks as *chosen* has no published source. The comment gives the reason for it.

pub mod ageing;
mod base;
pub mod block_device;
pub mod blocks;
pub mod cache;
pub mod command;
pub mod config;
mod content;
mod contents;
pub mod contract;
pub mod design;
pub mod device;
mod engines;
mod ensure;
mod event;
mod factors;
pub mod faults;
pub mod fixed_latency;
pub mod flash;
pub mod front;
mod gauges;
pub mod gc;
pub mod lifetime;
pub mod map;
pub mod metrics;
pub mod open_channel;
pub mod parts;
pub mod physical_device;
pub mod policy;
pub mod pools;
pub mod precondition;
mod recovery;
pub mod scheduling;
pub mod sectors;
mod sizes;
pub mod snapshot;
pub mod timeline;
pub mod times;
mod totals;
mod watchdog;
mod writer;
pub mod zoned;

pub use block_device::BlockDevice;
pub use command::{Command, Completion, HostWrite, Operation, SECTOR};
pub use config::{Config, DeviceFile};
pub use design::Design;
pub use device::{Device, Event, PowerCut, Recovered};
pub use factors::{TimeFactors, UnscalableReason};
pub use fixed_latency::FixedLatency;
pub use gauges::Gauges;
pub use open_channel::{OpenChannel, OpenChannelConfig, OpenChannelFile};
pub use parts::Parts;
pub use physical_device::PhysicalDevice;
pub use sectors::Sectors;
pub use zoned::Zoned;
