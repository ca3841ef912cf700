//! The calendar of a run: events of its device, and events of its host and power supply.

use wordline_device::BlockDevice;
use wordline_kernel::Calendar;

/// The events of a run of a device with events `E`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<E> {
    /// An event of the device.
    Device(E),
    /// The host has a request to submit.
    Host,
    /// The power is cut.
    PowerCut,
    /// The time line begins or ends.
    Timeline,
    /// A step of a session ends.
    Pause,
}

const _: () =
    assert!(size_of::<Event<wordline_ssd::Event>>() <= 12, "an event is copied on every push and pop");

/// The calendar of a run of a device `D`.
pub type RunCalendar<D> = Calendar<Event<<D as BlockDevice>::Event>>;
