//! The flash translation layer (FTL): where logical pages are in flash, which blocks they are in, and what
//! empties blocks. [`Ftl`] has its engines. What is above it, such as the write buffer and the commands of the
//! host, belongs to the controller that uses it.
//!
//! Each mechanism comes with the policy trait that controls it. Research designs are in other crates.
//!
//! A value that a comment marks as *chosen* has no published source. The comment gives the reason for it.

pub mod blocks;
pub mod config;
pub mod contents;
pub mod design;
mod engines;
pub mod gc;
pub mod health;
mod host_write;
mod location_read;
pub mod map;
mod page_size;
mod policies;
pub mod policy;
pub mod pools;
pub mod recovery;
pub mod sectors;
pub mod totals;

pub use config::{BackEndFile, Config};
pub use design::Design;
pub use engines::Ftl;
pub use host_write::HostWrite;
pub use location_read::{LocationRead, WantedSectors};
pub use page_size::{PageSize, Piece};
pub use policies::{ActivePolicies, Policies};
pub use sectors::Sectors;
