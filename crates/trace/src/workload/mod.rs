//! Generated workloads: patterns, named workloads, fio job files, and profiles fitted to published
//! statistics.

pub mod address;
pub mod application;
pub mod arrival;
mod config;
pub mod fio;
mod generator;
mod named;
pub mod profile;
mod times;
pub mod zipf;

pub use application::Application;
pub use config::{Precondition, SizeShare, Workload};
pub use generator::Generator;
pub use named::{list_all_names, names};
pub use profile::{Bursts, Profile, RealOrProfile, resolve};
pub use times::Times;

#[cfg(test)]
mod tests;
