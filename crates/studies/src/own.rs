//! Designs of the caller's own, which no configuration names: those that are written in Python.

use std::sync::Arc;

use wordline_lab::devices::Configured;
use wordline_lab::error::Result;

/// Designs for the devices of a study.
pub trait Own: Send + Sync {
    /// All that the result depends on of the design at these values of the varied keys: its source and its settings, for the name of the
    /// run. None where no design is.
    fn source(&self, at: &toml::Table) -> Option<String>;

    /// A device with the design at these values of the varied keys; none where no design is.
    ///
    /// # Errors
    /// [`Error::Argument`](wordline_lab::error::Error::Argument) if they do not go together.
    fn placed(&self, at: &toml::Table, device: &Arc<dyn Configured>) -> Result<Option<Placed>>;
}

/// A device with a design.
pub struct Placed {
    /// The device.
    pub device: Arc<dyn Configured>,
    /// How the design is doing.
    pub design: Box<dyn Watched>,
}

/// A design that may fail by itself.
pub trait Watched: Send + Sync {
    /// Whether it has failed: the run ends then.
    fn has_failed(&self) -> bool;

    /// The error, if it has one.
    fn error(&self) -> Option<String>;

    /// A note about it for a run that took so many seconds.
    fn note(&self, seconds: f64) -> String;
}
