//! The events of a run: events of its device, and events of its host and power supply.

/// The events of a run of a device with events `E`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event<E> {
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
