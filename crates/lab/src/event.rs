//! The events of a run: those of its device, and those around it.

/// The events of a run of a device with events `E`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event<E> {
    Device(E),
    /// The host has something to submit.
    Host,
    /// The power is cut.
    PowerCut,
    /// The time line begins or ends.
    Timeline,
    /// A session wanted to go on to this time.
    Pause,
}

const _: () =
    assert!(size_of::<Event<wordline_ssd::Event>>() <= 12, "an event is copied on every push and pop");
