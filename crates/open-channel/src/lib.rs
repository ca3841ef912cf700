//! Physical devices over NAND flash. An [`OpenChannel`] device shows its host chunks of the flash, with a write
//! buffer and a program failure manager. [`Zoned`] makes zones of the chunks of any physical device.
//!
//! Nothing here maps logical pages or collects garbage: the host does.
//!
//! A value that a comment marks as *chosen* has no published source. The comment gives the reason for it.

mod breakdowns;
pub mod device;
mod in_flight_table;
pub mod zoned;

pub use device::{OpenChannel, OpenChannelConfig, OpenChannelFile};
pub use zoned::Zoned;
