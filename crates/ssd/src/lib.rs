//! The conventional SSD. A front end, a write buffer and a writer form a [`Device`] around an
//! [FTL](wordline_ftl) and its [flash](wordline_flash). Policies of the buffer are in [`policy`]. Research
//! designs are in other crates.
//!
//! A value that a comment marks as *chosen* has no published source. The comment gives the reason for it.

pub mod cache;
pub mod config;
pub mod contract;
pub mod device;
mod engines;
mod event;
pub mod front;
pub mod metrics;
pub mod policies;
pub mod policy;
mod power;
pub mod precondition;
mod sizes;
mod watchdog;
mod writer;

pub use config::{Config, DeviceFile};
pub use device::{Device, Event};
pub use policies::BufferPolicies;
