//! Import of files of other simulators. Every parameter is either mapped to a key or listed with the reason
//! why not.

mod device;
mod flows;
mod parameters;

#[cfg(test)]
mod tests;

pub use device::device;
pub use flows::job_file;
