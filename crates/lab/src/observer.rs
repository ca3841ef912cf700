//! Observers of a run, which are notified of its progress and can stop it.

/// The phase in which a trace is read, before the device is made.
pub const READING: &str = "reading the trace";
/// The phase before the first request; it ends without a report.
pub const PRECONDITIONING: &str = "preconditioning";
/// The second part of preconditioning, on the way to the steady state.
pub const OVERWRITING: &str = "overwriting";
/// The same with writes of the workload itself.
pub const WARMING_UP: &str = "warming up";
/// The phase in which requests are simulated but not yet measured.
pub const SETTLING: &str = "settling";
/// The phase in which requests are simulated.
pub const RUNNING: &str = "running";

/// The phase in which a device rebuilds its tables after a power cut.
pub const RECOVERING: &str = "recovering";

/// The phase in which a snapshot is saved.
pub const SAVING: &str = "saving a snapshot";

/// An observer of a run, which shows its progress and can stop it.
pub trait Observer {
    /// A phase begins: [`READING`], [`PRECONDITIONING`], [`OVERWRITING`], [`WARMING_UP`], [`SETTLING`],
    /// [`RUNNING`] or [`SAVING`].
    fn phase(&mut self, _name: &'static str, _total: Option<u64>) {}
    /// The total work of the phase, as far as known.
    fn set_total(&mut self, _total: u64) {}
    /// Power was cut: in the phase [`RECOVERING`] the device reads this many pages.
    fn recovery_began(&mut self, _pages: u64) {}
    /// The recovery ended, with this many requests completed; [`RUNNING`] continues.
    fn recovery_ended(&mut self, _completed: u64) {}
    /// This many requests have completed. Returns false to stop the run.
    fn progress(&mut self, _completed: u64) -> bool {
        true
    }
    /// Progress of a phase without completions: bytes in [`READING`] and [`SAVING`], pages written in
    /// [`PRECONDITIONING`] and [`OVERWRITING`], pages read in [`RECOVERING`]. Returns false to stop the phase
    /// and the run; in [`READING`] only the phase.
    fn phase_progress(&mut self, _done: u64) -> bool {
        true
    }
}

/// No observer.
pub struct Unobserved;

impl Observer for Unobserved {}

/// An observer that shows nothing, and calls a function from time to time to decide whether to continue.
pub struct ContinueWhile<F>(pub F);

impl<F: FnMut() -> bool> Observer for ContinueWhile<F> {
    fn progress(&mut self, _completed: u64) -> bool {
        (self.0)()
    }

    fn phase_progress(&mut self, _done: u64) -> bool {
        (self.0)()
    }
}
