//! Events of a device.

use serde::{Deserialize, Serialize};
use wordline_flash as flash;
use wordline_flash::RequestId;

/// Events of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// Flash event.
    Flash(flash::Event),
    /// The controller has processed a command, and its work begins.
    Begin(RequestId),
    /// The work on a command is done.
    Completion(RequestId),
    /// A step of a command on the host link is done.
    Link(RequestId),
    /// The flush timer has expired: the next part of the buffer is destaged.
    FlushTimer,
    /// The idle timer has expired: the host may have been idle for long enough for background work.
    Idle,
}

impl Event {
    /// The event of the flash, if it is one.
    pub(crate) fn of_flash(self) -> Option<flash::Event> {
        match self {
            Self::Flash(event) => Some(event),
            _ => None,
        }
    }
}

const _: () = assert!(size_of::<Event>() <= 8, "an event is copied on every push and pop");
