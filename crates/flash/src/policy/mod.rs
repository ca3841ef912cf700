//! Policies of the flash. Each extension point has a folder, each policy a file. The flash
//! queries the tuner. Whoever owns the blocks of the flash queries the failure policy.

pub mod failure;
pub mod tuner;
