//! Factors on the times of a device in use: what a change of one of them would bring.

use wordline_kernel::Factor;
use wordline_nand::TimeFactors as ChipFactors;

/// Factors on the times of a device, each on one kind of work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeFactors {
    /// On sensing a page (tR).
    pub read: Factor,
    /// On programming (tPROG).
    pub program: Factor,
    /// On erasing (tBERS).
    pub erase: Factor,
    /// On the buses of the channels: commands, addresses, waits and data.
    pub bus: Factor,
    /// On the commands of garbage collection, in the array and on the bus: reads, programs, copies and erases that are no command's of the
    /// host. Other factors on them count as well.
    pub gc: Factor,
    /// On the link to the host: messages, delays and data.
    pub link: Factor,
    /// On the time of the controller: firmware, access to the buffer and decoding.
    pub controller: Factor,
}

impl TimeFactors {
    /// Those on the chips.
    pub(crate) fn of_chips(&self) -> ChipFactors {
        let Self { read, program, erase, bus, gc, .. } = *self;
        ChipFactors { read, program, erase, bus, marked: gc }
    }
}

/// A reason for which times cannot be changed: the device has none of that kind, in words for people.
pub type Unchanged = &'static str;

/// Of a device without a link.
pub(crate) const NO_LINK: Unchanged = "the device has no link to the host";
/// Of a device below a host that collects garbage by commands like all others.
pub(crate) const NO_GC: Unchanged =
    "garbage collection is in the host, and the device does not tell its commands from others";

/// The reason if a factor is not one of times that are not there.
pub(crate) fn none_of(factor: Factor, reason: Unchanged) -> Result<(), Unchanged> {
    if factor == Factor::ONE { Ok(()) } else { Err(reason) }
}
