//! Observers of a run, which receive its progress and can stop it.

/// The phase in which a trace is read, before the device is made.
pub const READING: &str = "reading the trace";
/// The phase before the first request, in which the device is filled, or restored from a snapshot. Its end is
/// not reported.
pub const PRECONDITIONING: &str = "preconditioning";
/// The second part of preconditioning, in which random overwrites bring the device to its steady state.
pub const OVERWRITING: &str = "overwriting";
/// The second part of preconditioning by workload, in which writes of the workload bring the device to its
/// steady state.
pub const WARMING_UP: &str = "warming up";
/// The phase in which requests are simulated, but not measured.
pub const SETTLING: &str = "settling";
/// The phase in which requests are simulated and measured.
pub const RUNNING: &str = "running";

/// The phase in which requests are simulated and measured while an array rebuilds a member. Its progress is the
/// number of rebuilt rows.
pub const REBUILDING: &str = "rebuilding";

/// The phase in which a device rebuilds its tables after a power cut.
pub const RECOVERING: &str = "recovering";

/// The phase in which a snapshot is saved.
pub const SAVING: &str = "saving a snapshot";

/// An observer of a run, which shows its progress and can stop it.
pub trait Observer {
    /// Begins a phase: [`READING`], [`PRECONDITIONING`], [`OVERWRITING`], [`WARMING_UP`], [`SETTLING`],
    /// [`RUNNING`], [`REBUILDING`] or [`SAVING`]. `_total` is its amount of work, if known.
    fn phase(&mut self, _name: &'static str, _total: Option<u64>) {}
    /// Sets the amount of work of the phase, once it is known.
    fn set_total(&mut self, _total: u64) {}
    /// Begins the phase [`RECOVERING`] after a power cut, in which the device will read this many pages.
    fn recovery_began(&mut self, _pages: u64) {}
    /// Ends the recovery; [`RUNNING`] continues. So far, this many requests have completed.
    fn recovery_ended(&mut self, _completed: u64) {}
    /// Reports how many requests have completed. Returns false to stop the run.
    fn progress(&mut self, _completed: u64) -> bool {
        true
    }
    /// Reports progress of a phase without completions. The unit is bytes in [`READING`] and [`SAVING`],
    /// pages written in [`PRECONDITIONING`] and [`OVERWRITING`], pages read in [`RECOVERING`], and rows in
    /// [`REBUILDING`]. Returns
    /// false to stop the phase. This also stops the run, except in [`READING`].
    fn phase_progress(&mut self, _done: u64) -> bool {
        true
    }
}

/// An observer that ignores everything.
pub struct Unobserved;

impl Observer for Unobserved {}

/// An observer that shows nothing. It calls a function from time to time, and stops the run when the function
/// returns false.
pub struct ContinueWhile<F>(pub F);

impl<F: FnMut() -> bool> Observer for ContinueWhile<F> {
    fn progress(&mut self, _completed: u64) -> bool {
        (self.0)()
    }

    fn phase_progress(&mut self, _done: u64) -> bool {
        (self.0)()
    }
}
