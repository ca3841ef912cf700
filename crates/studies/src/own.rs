//! Designs of the caller, which no configuration names. Designs in Python are such designs.

use std::sync::Arc;

use wordline_lab::devices::Configured;
use wordline_lab::error::Result;

/// The designs of a study.
pub trait CallerDesigns: Send + Sync {
    /// Returns a text of everything on which the result depends, source and settings, for the design at these
    /// values of the varied keys. The text is part of the run's name. `None` without a design.
    fn source(&self, at: &toml::Table) -> Option<String>;

    /// The metrics of the designs, which columns may name.
    fn metrics(&self) -> Vec<&'static str>;

    /// Attaches the design at these values of the varied keys to a device. Returns `None` without a design.
    ///
    /// # Errors
    /// [`Error::Argument`](wordline_lab::error::Error::Argument) if device and design are incompatible.
    fn placed(&self, at: &toml::Table, device: &Arc<dyn Configured>) -> Result<Option<DeviceWithDesign>>;
}

/// A device with a design.
pub struct DeviceWithDesign {
    /// The device.
    pub device: Arc<dyn Configured>,
    /// The design, which may fail during the run.
    pub design: Box<dyn DesignMonitor>,
}

/// A design that may fail during a run.
pub trait DesignMonitor: Send + Sync {
    /// Whether the design has failed, which ends the run.
    fn has_failed(&self) -> bool;

    /// The error of the design, if it failed.
    fn error(&self) -> Option<String>;

    /// A note about the design, for a run that took this many seconds of wall time.
    fn note(&self, seconds: f64) -> String;
}
