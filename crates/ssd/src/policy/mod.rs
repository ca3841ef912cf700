//! Policies of the write buffer and the read cache. Each extension point has a folder, each policy a file. The
//! policies of the FTL are in [`wordline_ftl::policy`].

pub mod destage;
pub mod eviction;
