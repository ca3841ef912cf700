//! Events of the device.

use serde::{Deserialize, Serialize};
use wordline_flash as flash;

/// Event of an open-channel device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// Event of the flash.
    Flash(flash::Event),
    /// Next step of a command on the link.
    Link(u32),
    /// Arrival of the data of a unit over the link.
    Unit(u32),
}
