//! The events of chips.

use serde::{Deserialize, Serialize};

use crate::geometry::{ChannelId, DieId};

/// Events of chips.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// The bus is free and a die waits for it.
    BusFree(ChannelId),
    /// The array has finished the operation that the die waited for.
    ArrayDone(DieId),
    /// A page moved between the registers of a die. The cache register is available to the bus.
    RegisterTransferred(DieId),
    /// A bus grant ended, and no array operation follows (data out, or the status of a command).
    GrantEnded(DieId),
    /// The array has finished a cache program, independent of the current step of the die.
    CacheProgramDone(DieId),
    /// The array begins an operation that must be suspended.
    Suspend(DieId),
    /// The array operation is suspended: the die accepts reads.
    ArraySuspended(DieId),
}

const _: () = assert!(size_of::<Event>() <= 8, "an event is copied on every push and pop");
