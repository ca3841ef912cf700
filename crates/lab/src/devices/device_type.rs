//! The interface of a type of device: its keys and their validation, the device it makes, and what the
//! program needs to know of it.

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

/// A type of device; a value is a validated configuration.
pub trait DeviceType: Clone + fmt::Debug + Send + Sync + Sized + 'static {
    /// Its name, as in the key `device`.
    const NAME: &'static str;
    /// Its description, in a sentence.
    const DESCRIPTION: &'static str;
    /// The keys whose tables are SSDs ([`SsdFile`](super::SsdFile)); presets and parts can be named in them
    /// as at the top level.
    const SSDS: &'static [&'static str] = &[];

    /// Its keys. Unknown keys are an error.
    type File: Serialize + DeserializeOwned + JsonSchema;
    /// The device that it makes.
    type Device: BlockDevice<Event: Send, Mark: Send> + Send + 'static;

    /// Validates the keys of a file whose SSDs may name these designs.
    ///
    /// # Errors
    /// Everything that is wrong, by key.
    fn check(file: Self::File, designs: &Designs) -> std::result::Result<Self, Complaints>;

    /// The keys that it was made from.
    fn file(&self) -> Self::File;

    /// The shape of the device as a host sees it, before it is made.
    fn shape(&self) -> Shape;

    /// A new device.
    fn build(&self, seed: Seed) -> Self::Device;

    /// The number of its submission queues.
    fn queues(&self) -> u16 {
        1
    }

    /// The chips of each pool.
    fn chips(&self) -> Vec<ChipsInfo> {
        Vec::new()
    }

    /// The values derived from its configuration.
    fn explain(&self) -> Vec<Section> {
        let Shape { capacity, sector_size, logical_page, .. } = self.shape();
        let row = |what: &str, size: Bytes| (what.to_owned(), explain::human(size));
        let rows = [("capacity", capacity), ("sector", sector_size), ("mapping unit", logical_page)];
        vec![("capacity".into(), rows.map(|(what, size)| row(what, size)).into())]
    }

    /// Notes for the result of a run on a prepared device.
    fn notes(&self, _device: &Self::Device) -> Vec<String> {
        Vec::new()
    }

    /// The designs that its SSDs may name, as at validation.
    fn designs(&self) -> Designs {
        Designs::default()
    }

    /// Its metrics, beside those of an SSD.
    fn metrics() -> Vec<&'static Metric> {
        Vec::new()
    }

    /// Its presets, each with name and text.
    fn presets() -> &'static [Embedded] {
        &[]
    }

    /// Fills in keys that are left out and follow from others; `is_written` returns whether a key was
    /// written.
    fn fill_in(_file: &mut Self::File, _is_written: &dyn Fn(&str) -> bool) {}

    /// The keys without effect on this device that a lower layer set; keys that a user set without effect are
    /// an error.
    ///
    /// # Errors
    /// The keys that a user set without effect.
    #[doc(hidden)]
    fn ineffective_keys(&self, _keys: &Keys<'_>) -> std::result::Result<Vec<String>, Complaints> {
        Ok(Vec::new())
    }
}

/// The chips of a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChipsInfo {
    /// Name of their NAND part.
    pub part: String,
    /// Number of dies.
    pub dies: u32,
    /// Bytes of flash.
    pub bytes: u64,
    /// Their geometry in words.
    #[serde(skip)]
    pub geometry: String,
}

impl ChipsInfo {
    /// The chips of a pool.
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
