//! The interface of a device type: its keys and their validation, and how to make a device from them.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use wordline_designs::Designs;
use wordline_device::BlockDevice;
use wordline_device::block_device::Shape;
use wordline_kernel::{Bytes, Complaints, Metric, Seed};
use wordline_nand::Pool;

use crate::config::embedded::Embedded;
use crate::config::explain::{self, Section, geometry_in_words};
use crate::config::read::Keys;
use crate::memory;

/// A device type. A value of the type is a validated configuration.
pub trait DeviceType: Clone + fmt::Debug + Send + Sync + Sized + 'static {
    /// Name of the type, as in the key `device`.
    const NAME: &'static str;
    /// Description in one sentence.
    const DESCRIPTION: &'static str;
    /// The keys whose tables are SSDs ([`SsdFile`](super::SsdFile)). These tables can name presets and parts,
    /// as the top level of an SSD file can.
    const SSDS: &'static [&'static str] = &[];

    /// The keys of the configuration. Unknown keys are an error.
    type File: Serialize + DeserializeOwned + JsonSchema;
    /// The simulated device.
    type Device: BlockDevice<Event: Send, Mark: Send> + Send + 'static;

    /// Validates the keys of a file. Its SSDs may use these designs.
    ///
    /// # Errors
    /// Every fault, by key.
    fn check(file: Self::File, designs: &Designs) -> std::result::Result<Self, Complaints>;

    /// The keys that this configuration was made from.
    fn file(&self) -> Self::File;

    /// The shape of the device as a host sees it: namespaces, sector size and limits. The device need not
    /// exist yet.
    fn shape(&self) -> Shape;

    /// Makes a new device.
    fn build(&self, seed: Seed) -> Self::Device;

    /// Number of submission queues.
    fn queues(&self) -> u16 {
        1
    }

    /// The chips of each pool.
    fn chips(&self) -> Vec<ChipsInfo> {
        Vec::new()
    }

    /// Memory that the simulator needs for the tables of the device, about.
    fn memory(&self) -> Bytes {
        memory::tables(&self.shape(), &self.chips())
    }

    /// The values that follow from the configuration.
    fn explain(&self) -> Vec<Section> {
        let Shape { capacity, sector_size, logical_page, .. } = self.shape();
        let row = |what: &str, size: Bytes| (what.to_owned(), explain::human(size));
        let rows = [("capacity", capacity), ("sector", sector_size), ("mapping unit", logical_page)];
        vec![("capacity".into(), rows.map(|(what, size)| row(what, size)).into())]
    }

    /// Notes for the result of a run. `_device` is prepared.
    fn notes(&self, _device: &Self::Device) -> Vec<String> {
        Vec::new()
    }

    /// The designs that its SSDs may use, as given to [`check`](Self::check).
    fn designs(&self) -> Designs {
        Designs::default()
    }

    /// Metrics of this type. Lists leave out those that an SSD has too.
    fn metrics() -> Vec<&'static Metric> {
        Vec::new()
    }

    /// Presets of this type, each with name and text.
    fn presets() -> &'static [Embedded] {
        &[]
    }

    /// Sets keys that are left out and follow from other keys. `_is_written` returns whether a key was
    /// written.
    fn fill_in(_file: &mut Self::File, _is_written: &dyn Fn(&str) -> bool) {}

    /// The keys that have no effect on this device, but were set by a lower layer of the configuration.
    ///
    /// # Errors
    /// The keys that have no effect, but were set by the user.
    #[doc(hidden)]
    fn ineffective_keys(&self, _keys: &Keys<'_>) -> std::result::Result<Vec<String>, Complaints> {
        Ok(Vec::new())
    }
}

/// The chips of a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChipsInfo {
    /// Name of the NAND part.
    pub part: String,
    /// Number of dies.
    pub dies: u32,
    /// Physical flash capacity in bytes.
    pub bytes: u64,
    /// The geometry in words.
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
