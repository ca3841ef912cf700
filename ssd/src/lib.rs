//! SSD controllers around NAND chips: command queue, write buffer, mapping, block management, garbage collection.
//! Mechanisms are here, each with the policy trait that steers it; no research design is known.

pub mod config;
pub mod policy;

pub use config::{Config, DeviceFile};
