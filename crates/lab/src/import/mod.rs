//! Import of files of other simulators: every parameter is mapped, or named with the reason why it is not.

mod device;
mod flows;
mod parameters;

#[cfg(test)]
mod tests;

pub use device::device;
pub use flows::job_file;
