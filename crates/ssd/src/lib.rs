//! The conventional SSD. The engines of its controller, from [`blocks`] to [`front`], form a [`Device`] around
//! the [flash](wordline_flash). Each mechanism comes with the policy trait that controls it. Research designs are
//! in other crates.
//!
//! A value that a comment marks as *chosen* has no published source. The comment gives the reason for it.

mod base;
pub mod blocks;
pub mod cache;
pub mod config;
mod contents;
pub mod contract;
pub mod design;
pub mod device;
mod engines;
mod event;
pub mod front;
pub mod gc;
mod host_write;
pub mod map;
pub mod metrics;
pub mod parts;
pub mod policy;
pub mod pools;
pub mod precondition;
mod recovery;
pub mod sectors;
mod sizes;
mod totals;
mod watchdog;
mod writer;

pub use config::{Config, DeviceFile};
pub use design::Design;
pub use device::{Device, Event};
pub use host_write::HostWrite;
pub use parts::Parts;
pub use sectors::Sectors;
