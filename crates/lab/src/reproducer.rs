//! The reproducer: the data needed to repeat a run in which a check failed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use crate::error::{Error, Result};
use crate::load::Load;

/// The data needed to repeat a run.
pub(crate) struct Reproducer {
    trace: String,
    seed: u64,
    configuration: String,
}

impl Reproducer {
    /// The reproducer of a run of this load.
    pub(crate) fn of(load: &Load) -> Self {
        Self {
            trace: format!("{} ({:?})", load.source.name, load.source.kind),
            seed: load.seed,
            configuration: load.config_text.clone(),
        }
    }

    /// The text of a reproducer for a bug in Wordline.
    fn of_fault(&self, position: u64) -> String {
        format!("This is a fault of Wordline, not of the input. {}", self.text(position))
    }

    fn text(&self, position: u64) -> String {
        let Self { trace, seed, configuration } = self;
        format!(
            "To reproduce it:\n  \
             trace position: request {position} of {trace}\n  seed: {seed}\n  configuration:\n{configuration}"
        )
    }

    /// Calls `prepare`, before the first request. A bug that it reveals becomes an error with the reproducer.
    pub(crate) fn guard<T>(&self, prepare: impl FnOnce() -> Result<T>) -> Result<T> {
        self.with_reproducer(0, catch_unwind(AssertUnwindSafe(prepare)))
    }

    /// The result `caught`, after `position` submitted requests. A bug, or an invalid decision of a design,
    /// becomes an error with the reproducer.
    pub(crate) fn with_reproducer<T>(&self, position: u64, caught: thread::Result<Result<T>>) -> Result<T> {
        match caught {
            Ok(Err(Error::Stuck(what))) => Err(Error::Stuck(format!("{what}{}", self.of_fault(position)))),
            Ok(Err(Error::InvalidDecision(what))) => {
                Err(Error::InvalidDecision(format!("{what}\n{}", self.text(position))))
            }
            Ok(other) => other,
            Err(panic) => {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let what = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no text");
                let reproducer = self.of_fault(position);
                Err(Error::Invariant(format!("a check of the simulation failed: {what}\n{reproducer}")))
            }
        }
    }
}
