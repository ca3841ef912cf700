//! Factors on the times of a device, to measure the effect of a change.

use wordline_kernel::Factor;
use wordline_nand::TimeFactors as ChipFactors;

/// Factors on the times of a device, one for each kind of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeFactors {
    /// Sensing a page (tR).
    pub read: Factor,
    /// Programming (tPROG).
    pub program: Factor,
    /// Erasing (tBERS).
    pub erase: Factor,
    /// Channel buses: commands, addresses, waits and data.
    pub bus: Factor,
    /// GC commands, in the array and on the bus: reads, programs, copybacks and erases without a host
    /// command. They are also multiplied by the other factors.
    pub gc: Factor,
    /// Host link: messages, delays and data.
    pub link: Factor,
    /// Controller time: firmware, buffer access and decoding.
    pub controller: Factor,
}

impl TimeFactors {
    /// The factors that apply to the chips.
    pub fn of_chips(&self) -> ChipFactors {
        let Self { read, program, erase, bus, gc, .. } = *self;
        ChipFactors { read, program, erase, bus, marked: gc }
    }
}

/// Reason why a device cannot change a kind of time: it has no such time.
pub type UnscalableReason = &'static str;

/// Reason given by a device without a host link.
pub const NO_LINK: UnscalableReason = "the device has no host link";
/// Reason given by a device below a host FTL, whose GC uses ordinary commands.
pub const NO_GC: UnscalableReason =
    "garbage collection is in the host, and the device does not tell its commands from others";

/// Returns the reason as an error if the factor is not one.
pub fn none_of(factor: Factor, reason: UnscalableReason) -> Result<(), UnscalableReason> {
    if factor == Factor::ONE { Ok(()) } else { Err(reason) }
}
