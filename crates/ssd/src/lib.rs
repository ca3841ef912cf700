//! SSDs around NAND chips: the engines of a conventional controller, from [`flash`] to [`front`], put together as a [`Device`], an
//! [open-channel](open_channel) device over the same flash, and [zones](zoned) over that. Mechanisms are here, each with the policy trait that steers it; no research
//! design is known.

pub mod ageing;
mod base;
pub mod block_device;
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
pub mod faults;
pub mod fixed_latency;
pub mod flash;
pub mod front;
mod gauges;
pub mod lifetime;
pub mod map;
pub mod metrics;
pub mod open_channel;
pub mod parts;
pub mod physical_device;
pub mod policy;
pub mod pools;
pub mod precondition;
pub mod reclaim;
mod recovery;
pub mod scheduling;
pub mod sectors;
mod sizes;
pub mod snapshot;
pub mod space;
pub mod timeline;
pub mod times;
mod totals;
mod watchdog;
mod writer;
pub mod zoned;

pub use block_device::BlockDevice;
pub use command::{Answer, Command, Operation, SECTOR};
pub use config::{Config, DeviceFile};
pub use design::Design;
pub use device::{Device, Event, PowerCut, Recovered};
pub use fixed_latency::FixedLatency;
pub use gauges::Gauges;
pub use open_channel::{OpenChannel, OpenChannelConfig, OpenChannelFile};
pub use parts::Parts;
pub use physical_device::PhysicalDevice;
pub use sectors::Sectors;
pub use zoned::Zoned;
