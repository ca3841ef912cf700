//! Types of devices that a configuration can name with its key `device`: what is read and checked, what is made of it, and what the
//! program needs beside that to run, compare, save and describe it. A crate outside adds a type, or a design, of its own to a [`Registry`].
//!
//! A run is compiled for each type. The rest of this crate passes on a [`Configured`] device of any type, which starts its
//! run by one call.

mod fixed_latency;
mod pblk;
mod registry;
mod ssd;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use wordline_kernel::{Bytes, Complaints, Metric, Seed};
use wordline_ssd::BlockDevice;
use wordline_ssd::block_device::Shape;

use crate::config::Keys;
pub use crate::config::embedded::Embedded;
use crate::error::Result;
use crate::prepare::{self, Making};
use crate::run::{self, Job, Observer};
use crate::summary::Summary;
pub use fixed_latency::{FixedLatency, FixedLatencyFile};
pub use pblk::Pblk;
pub(crate) use registry::name_in;
pub use registry::{DEVICE, Registry, TypeInfo};
#[cfg(test)]
pub(crate) use ssd::NOTHING_CACHED;
pub(crate) use ssd::SSD_FILE;
pub use ssd::{Change, Ssd, SsdFile};
pub use wordline_designs::{DesignType, Designs};

/// A heading, and the names and values below it.
pub type Section = (String, Vec<(String, String)>);

/// A type of device: a configuration of it that was checked.
pub trait DeviceType: Clone + fmt::Debug + Send + Sync + Sized + 'static {
    /// Its name, as the key `device` has it.
    const NAME: &'static str;
    /// Its description, in a sentence.
    const DESCRIPTION: &'static str;
    /// Keys of it whose tables are SSDs ([`SsdFile`]). Presets and parts are named in them as they are at the top.
    const SSDS: &'static [&'static str] = &[];

    /// Its keys. It denies those that it does not know.
    type File: Serialize + DeserializeOwned + JsonSchema;
    /// The device that it configures.
    type Device: BlockDevice;

    /// Checks the keys of a file, in which SSDs may name these designs.
    ///
    /// # Errors
    /// Everything that is wrong, by key.
    fn check(file: Self::File, designs: &Designs) -> std::result::Result<Self, Complaints>;

    /// The keys that it was made of.
    fn file(&self) -> Self::File;

    /// The shape of the device as a host sees it, before it is made.
    fn shape(&self) -> Shape;

    /// A new device.
    fn build(&self, seed: Seed) -> Self::Device;

    /// Its submission queues.
    fn queues(&self) -> u16 {
        1
    }

    /// Its chips, those of each pool.
    fn chips(&self) -> Vec<ChipsInfo> {
        Vec::new()
    }

    /// The values derived from its configuration.
    fn explain(&self) -> Vec<Section> {
        let Shape { capacity, sector_size, logical_page, .. } = self.shape();
        let row = |what: &str, size: Bytes| (what.to_owned(), size.to_string());
        let rows = [("capacity", capacity), ("sector", sector_size), ("mapped as one", logical_page)];
        vec![("capacity".into(), rows.map(|(what, size)| row(what, size)).into())]
    }

    /// Notes for the result of a run, about a device that is ready.
    fn notes(&self, _device: &Self::Device) -> Vec<String> {
        Vec::new()
    }

    /// The designs that its SSDs may name: those with which it was checked.
    fn designs(&self) -> Designs {
        Designs::default()
    }

    /// The metrics that it has, beside those of an SSD.
    fn metrics() -> Vec<&'static Metric> {
        Vec::new()
    }

    /// Presets of it, each with its name and its text.
    fn presets() -> &'static [Embedded] {
        &[]
    }

    /// Gives keys that are left out the values that follow from others; `is_written` tells which keys are written.
    fn fill_in(_file: &mut Self::File, _is_written: &dyn Fn(&str) -> bool) {}

    /// The keys that do nothing on this device, where a layer below set them; others that are set in vain are an error.
    ///
    /// # Errors
    /// Those that were set in vain.
    #[doc(hidden)]
    fn idle_keys(&self, _keys: &Keys<'_>) -> std::result::Result<Vec<String>, Complaints> {
        Ok(Vec::new())
    }
}

/// The chips of a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChipsInfo {
    /// Name of their NAND part.
    pub part: String,
    /// How many dies there are.
    pub dies: u32,
    /// Bytes of their flash.
    pub bytes: u64,
}

/// A configured device of any type.
pub trait Configured: fmt::Debug + Send + Sync {
    /// The name of its type.
    fn device_type(&self) -> &'static str;
    /// All its keys, that of its type among them.
    fn table(&self) -> toml::Table;
    /// The shape of the device as a host sees it.
    fn shape(&self) -> Shape;
    /// Its submission queues.
    fn queues(&self) -> u16;
    /// Its chips, those of each pool.
    fn chips(&self) -> Vec<ChipsInfo>;
    /// The values derived from its configuration.
    fn explain(&self) -> Vec<Section>;
    /// The keys that do nothing on it, where a layer below set them.
    ///
    /// # Errors
    /// Those that were set in vain.
    fn idle_keys(&self, keys: &Keys<'_>) -> std::result::Result<Vec<String>, Complaints>;
    /// Runs a job of it to its end, or until the observer stops it.
    ///
    /// # Errors
    /// Those of [`run::run`].
    fn run(&self, job: Job, observer: &mut dyn Observer) -> Result<Summary>;
    /// Makes it, preconditions it and saves it.
    ///
    /// # Errors
    /// Those of [`prepare::make_snapshot`].
    fn make_snapshot(&self, making: Making<'_>, observer: &mut dyn Observer) -> Result<()>;
    /// Itself, for callers that know its type.
    fn as_any(&self) -> &dyn Any;
}

impl<T: DeviceType> Configured for T {
    fn device_type(&self) -> &'static str {
        T::NAME
    }

    fn table(&self) -> toml::Table {
        let mut table = toml::Table::try_from(self.file()).expect("keys of a device are TOML");
        table.insert(DEVICE.into(), T::NAME.into());
        table
    }

    fn shape(&self) -> Shape {
        DeviceType::shape(self)
    }

    fn queues(&self) -> u16 {
        DeviceType::queues(self)
    }

    fn chips(&self) -> Vec<ChipsInfo> {
        DeviceType::chips(self)
    }

    fn explain(&self) -> Vec<Section> {
        DeviceType::explain(self)
    }

    fn idle_keys(&self, keys: &Keys<'_>) -> std::result::Result<Vec<String>, Complaints> {
        DeviceType::idle_keys(self, keys)
    }

    fn run(&self, job: Job, observer: &mut dyn Observer) -> Result<Summary> {
        run::run_of(self, job, observer)
    }

    fn make_snapshot(&self, making: Making<'_>, observer: &mut dyn Observer) -> Result<()> {
        prepare::make_of(self, making, observer)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The SSD that a device is, if it is one.
pub fn as_ssd(device: &Arc<dyn Configured>) -> Option<&Ssd> {
    device.as_any().downcast_ref()
}
