//! The face of a type of device: what is read and checked, what is made of it, and what the program needs beside that.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use wordline_designs::Designs;
use wordline_kernel::{Bytes, Complaints, Metric, Seed};
use wordline_nand::Pool;
use wordline_ssd::BlockDevice;
use wordline_ssd::block_device::Shape;

use crate::config::embedded::Embedded;
use crate::config::explain::{self, Section, geometry_in_words};
use crate::config::read::Keys;

/// A type of device: a configuration of it that was checked.
pub trait DeviceType: Clone + fmt::Debug + Send + Sync + Sized + 'static {
    /// Its name, as the key `device` has it.
    const NAME: &'static str;
    /// Its description, in a sentence.
    const DESCRIPTION: &'static str;
    /// Keys of it whose tables are SSDs ([`SsdFile`](super::SsdFile)). Presets and parts are named in them as they are at the top.
    const SSDS: &'static [&'static str] = &[];

    /// Its keys. It denies those that it does not know.
    type File: Serialize + DeserializeOwned + JsonSchema;
    /// The device that it configures.
    type Device: BlockDevice<Event: Send, Mark: Send> + Send + 'static;

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
        let row = |what: &str, size: Bytes| (what.to_owned(), explain::human(size));
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
    /// Their geometry in words.
    #[serde(skip)]
    pub geometry: String,
}

impl ChipsInfo {
    /// Those of a pool.
    pub fn of(pool: &Pool) -> Self {
        let Pool { part, geometry, .. } = pool;
        Self {
            part: part.name.clone(),
            dies: geometry.dies(),
            bytes: geometry.capacity().0,
            geometry: geometry_in_words(geometry),
        }
    }
}
