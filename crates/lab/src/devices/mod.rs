//! Device types, which a configuration selects with its key `device`. A type has its keys and their
//! validation, makes devices, and can run, compare, save and describe them. An outside crate adds its own
//! types and designs to a [`Registry`].
//!
//! Runs are compiled separately for each type. The rest of this crate uses [`Configured`], which hides the
//! type and begins a run with one call.

mod configured;
mod device_type;
mod fixed_latency;
mod open_channel;
mod over_open_channel;
mod pblk;
mod raid5;
mod registry;
mod resolve;
mod ssd;
#[cfg(test)]
mod tests;
mod zoned;
mod zoned_namespace;

pub use crate::config::embedded::Embedded;
pub use crate::config::explain::Section;
pub use crate::config::schema::DEVICE;
pub(crate) use crate::config::schema::SSD_FILE;
pub use configured::{Configured, as_ssd};
pub use device_type::{ChipsInfo, DeviceType};
pub use fixed_latency::{FixedLatency, FixedLatencyFile};
pub use open_channel::OpenChannelSsd;
pub use pblk::Pblk;
pub use raid5::{Raid5, Raid5File};
pub use registry::{Registry, TypeInfo};
pub(crate) use resolve::{of_document, type_of};
#[cfg(test)]
pub(crate) use ssd::NOTHING_CACHED;
pub use ssd::{Change, Ssd, SsdFile};
pub use wordline_designs::{DesignType, Designs};
