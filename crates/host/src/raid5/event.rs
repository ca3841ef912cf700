//! The events of an array.

use serde::{Deserialize, Serialize};

/// An event of an array whose devices have events `E`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event<E> {
    /// An event of one of its devices.
    Device {
        /// Number of the device.
        device: u16,
        /// The event of the device.
        event: E,
    },
    /// End of a plug: all commands of this instant have arrived, and their writes are handled.
    Unplug,
    /// Writes deferred parity whose delay has expired.
    Settle,
    /// Continues the rebuild, resync or scrub with this number.
    Sync(u32),
    /// Fails a member. The value is the index of the configured failure.
    Fails(u16),
    /// Begins a scrub.
    Scrub,
}
