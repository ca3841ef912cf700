//! Factors on the times of a device: the effect of changing one of them.

use wordline_kernel::Factor;
use wordline_nand::TimeFactors as ChipFactors;

/// Factors on the times of a device, one for each kind of work.
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
    /// GC commands, in the array and on the bus: reads, programs, copies and erases that belong to no host
    /// command. The other factors apply to them as well.
    pub gc: Factor,
    /// Host link: messages, delays and data.
    pub link: Factor,
    /// Controller time: firmware, buffer access and decoding.
    pub controller: Factor,
}

impl TimeFactors {
    /// Factors for the chips.
    pub(crate) fn of_chips(&self) -> ChipFactors {
        let Self { read, program, erase, bus, gc, .. } = *self;
        ChipFactors { read, program, erase, bus, marked: gc }
    }
}

/// Reason why times cannot be changed: the device has none of that kind.
pub type UnscalableReason = &'static str;

/// Reason of a device without a host link.
pub(crate) const NO_LINK: UnscalableReason = "the device has no host link";
/// Reason of a device below a host FTL, whose GC uses ordinary commands.
pub(crate) const NO_GC: UnscalableReason =
    "garbage collection is in the host, and the device does not tell its commands from others";

/// Returns the reason if a factor changes times that do not exist.
pub(crate) fn none_of(factor: Factor, reason: UnscalableReason) -> Result<(), UnscalableReason> {
    if factor == Factor::ONE { Ok(()) } else { Err(reason) }
}
