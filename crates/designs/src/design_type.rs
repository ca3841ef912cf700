//! A kind of design that configurations can name.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use wordline_ftl::{Config, Design};
use wordline_kernel::{Complaints, Metric};

/// A kind of design that configurations can name.
pub trait DesignType: 'static {
    /// Name of the design, in lower case with hyphens.
    const NAME: &'static str;
    /// One-sentence description.
    const DESCRIPTION: &'static str;
    /// Documentation page in Markdown; may be empty.
    const PAGE: &'static str = "";

    /// Settings of the design. They deny unknown keys, and may be left out.
    type File: fmt::Debug + Default + Serialize + DeserializeOwned + JsonSchema + Send + Sync;

    /// Checks settings for a device of `config`.
    ///
    /// # Errors
    /// Every complaint, by key of the settings. A complaint without a key is about the design in this device.
    fn check(_file: &Self::File, _config: &Config) -> Result<(), Complaints> {
        Ok(())
    }

    /// Builds the design for a device of `config`. Expects checked settings.
    fn build(file: &Self::File, config: &Config) -> Box<dyn Design>;

    /// Metrics of the design.
    fn metrics() -> Vec<&'static Metric> {
        Vec::new()
    }

    /// Presets of devices with this design: name and text.
    fn presets() -> &'static [(&'static str, &'static str)] {
        &[]
    }
}
