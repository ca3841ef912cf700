//! Designs of the caller, which no configuration names: those written in Python.

use std::sync::Arc;

use wordline_lab::devices::Configured;
use wordline_lab::error::Result;

/// Designs for the devices of a study.
pub trait CallerDesigns: Send + Sync {
    /// Returns everything of the design at these values of the varied keys that affects the result, source
    /// and settings, for the name of the run; `None` without a design.
    fn source(&self, at: &toml::Table) -> Option<String>;

    /// Attaches the design at these values of the varied keys to a device; `None` without a design.
    ///
    /// # Errors
    /// [`Error::Argument`](wordline_lab::error::Error::Argument) if they are incompatible.
    fn placed(&self, at: &toml::Table, device: &Arc<dyn Configured>) -> Result<Option<DeviceWithDesign>>;
}

/// A device with a design.
pub struct DeviceWithDesign {
    /// The device.
    pub device: Arc<dyn Configured>,
    /// State of the design.
    pub design: Box<dyn DesignMonitor>,
}

/// A design that may fail by itself.
pub trait DesignMonitor: Send + Sync {
    /// Whether it has failed, which ends the run.
    fn has_failed(&self) -> bool;

    /// Its error, if any.
    fn error(&self) -> Option<String>;

    /// Note about it for a run that took this many seconds.
    fn note(&self, seconds: f64) -> String;
}
