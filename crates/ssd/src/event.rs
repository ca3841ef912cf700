//! Events of a device.

use serde::{Deserialize, Serialize};

use crate::command::RequestId;
use crate::flash;

/// Events of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// Something in flash.
    Flash(flash::Event),
    /// The front end has dealt with a command: its work begins.
    Begin(RequestId),
    /// The work on a command is done.
    Answer(RequestId),
    /// A step of a command on the link is over.
    Link(RequestId),
    /// The next part of the buffer is to be written out.
    FlushTimer,
    /// The host may have been idle for long enough for work in the background.
    Idle,
}

const _: () = assert!(size_of::<Event>() <= 8, "an event is copied on every push and pop");
