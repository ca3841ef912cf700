//! Observers of a run, which are told how far it is and may stop it.

/// The phase in which a trace is looked at, before the device is made.
pub const READING: &str = "reading the trace";
/// The phase before the first request, which ends with nothing to report.
pub const PRECONDITIONING: &str = "preconditioning";
/// Its second part, on the way to a steady state.
pub const OVERWRITING: &str = "overwriting";
/// The same where the workload itself is written.
pub const WARMING_UP: &str = "warming up";
/// The phase in which requests are simulated and not measured yet.
pub const SETTLING: &str = "settling";
/// The phase in which requests are simulated.
pub const RUNNING: &str = "running";

/// The phase in which a device puts its tables together after a power cut.
pub const RECOVERING: &str = "recovering";

/// The phase in which a snapshot is saved.
pub const SAVING: &str = "saving a snapshot";

/// An observer of a run, to show how far it is and to stop it.
pub trait Observer {
    /// A phase begins: [`READING`], [`PRECONDITIONING`], [`OVERWRITING`], [`WARMING_UP`], [`SETTLING`], [`RUNNING`] or [`SAVING`].
    fn phase(&mut self, _name: &'static str, _total: Option<u64>) {}
    /// The work of the phase, as far as is known by now.
    fn expects(&mut self, _total: u64) {}
    /// The power was cut: in the phase [`RECOVERING`] the device reads this many pages.
    fn recovers(&mut self, _pages: u64) {}
    /// That is over, with this many requests answered; [`RUNNING`] goes on.
    fn recovered(&mut self, _answered: u64) {}
    /// This many requests are answered; false stops the run.
    fn progress(&mut self, _answered: u64) -> bool {
        true
    }
    /// So much is done of a phase that answers none: bytes in [`READING`] and [`SAVING`], pages written in [`PRECONDITIONING`] and
    /// [`OVERWRITING`], pages read in [`RECOVERING`]. False stops it, and the run, but for [`READING`].
    fn goes_on(&mut self, _done: u64) -> bool {
        true
    }
}

/// No observer.
pub struct Unobserved;

impl Observer for Unobserved {}

/// A function that is asked from time to time whether to go on, as an observer that shows nothing.
pub struct While<F>(pub F);

impl<F: FnMut() -> bool> Observer for While<F> {
    fn progress(&mut self, _answered: u64) -> bool {
        (self.0)()
    }

    fn goes_on(&mut self, _done: u64) -> bool {
        (self.0)()
    }
}
