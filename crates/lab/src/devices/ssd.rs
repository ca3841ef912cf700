//! An SSD: the default type of device.

use std::fmt;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use wordline_designs::{Designs, DesignsFile, SelectedDesigns};
use wordline_device::block_device::Shape;
use wordline_ftl::Policies;
use wordline_kernel::{Bytes, Complaints, Metric, Seed};
use wordline_nand::CellMode;
use wordline_ssd::config::Interface;
use wordline_ssd::{BufferPolicies, Config, Device, DeviceFile};

use super::device_type::{ChipsInfo, DeviceType};
use crate::config::embedded::{Embedded, PRESETS};
use crate::config::explain::{self, Section};
use crate::config::ineffective_keys_of_ssd;
use crate::config::read::Keys;
use crate::config::schema::SSD_FILE;
use crate::memory::Memory;

/// The note of a run whose SLC cache stays empty.
pub(crate) const NOTHING_CACHED: &str = "ftl.slc_cache only takes space: the router of the design selects it for no page, as the policy slc-cache would";

/// A change of the policies of a device by an outside crate: those of its FTL, and those of its buffer.
pub type Change = dyn Fn(Policies, BufferPolicies, &Config) -> (Policies, BufferPolicies) + Send + Sync;

/// The validated configuration of an SSD.
#[derive(Clone)]
pub struct Ssd {
    /// The configuration of the device.
    pub config: Config,
    /// The designs that it uses.
    pub designs: SelectedDesigns,
    /// The change of the policies by an outside crate, in place of named designs.
    own: Option<Arc<Change>>,
}

impl fmt::Debug for Ssd {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { config, designs, own } = self;
        let own = own.is_some();
        out.debug_struct("Ssd")
            .field("config", config)
            .field("designs", designs)
            .field("has_own", &own)
            .finish()
    }
}

impl Ssd {
    /// Adds a change of the policies by an outside crate, in place of named designs.
    #[must_use]
    pub fn with(
        self,
        change: impl Fn(Policies, BufferPolicies, &Config) -> (Policies, BufferPolicies) + Send + Sync + 'static,
    ) -> Self {
        Self { own: Some(Arc::new(change)), ..self }
    }

    /// The policies of the device: those of its FTL, and those of its buffer.
    pub fn policies(&self) -> (Policies, BufferPolicies) {
        let Self { config, designs, own } = self;
        let buffer = BufferPolicies::of(config);
        match own {
            Some(change) => change(Policies::of(&config.ftl), buffer, config),
            None => (designs.policies(&config.ftl), buffer),
        }
    }
}

impl DeviceType for Ssd {
    const NAME: &'static str = "ssd";
    const DESCRIPTION: &'static str = "A solid-state drive: a controller with an FTL around NAND chips.";

    type File = SsdFile;
    type Device = Device;

    fn check(file: SsdFile, designs: &Designs) -> Result<Self, Complaints> {
        file.check(designs)
    }

    fn file(&self) -> SsdFile {
        SsdFile { device: self.config.file.clone(), designs: self.designs.file().clone() }
    }

    fn shape(&self) -> Shape {
        self.config.shape()
    }

    fn build(&self, seed: Seed) -> Device {
        let (policies, buffer) = self.policies();
        Device::with_buffer(self.config.clone(), policies, buffer, seed)
    }

    fn queues(&self) -> u16 {
        let front = &self.config.file.front;
        match front.interface {
            Interface::Nvme => front.nvme.queues as u16,
            Interface::Direct | Interface::Sata => 1,
        }
    }

    fn chips(&self) -> Vec<ChipsInfo> {
        self.config.ftl.pools.iter().map(ChipsInfo::of).collect()
    }

    fn memory(&self) -> Bytes {
        Memory::of_ssd(&self.config).sum()
    }

    fn explain(&self) -> Vec<Section> {
        explain::sections(&self.config, &self.designs)
    }

    fn notes(&self, device: &Device) -> Vec<String> {
        let is_empty = self.config.file.ftl.slc_cache.is_some()
            && !device.ftl().blocks.by_pool().uses_mode(CellMode::Slc);
        is_empty.then(|| NOTHING_CACHED.into()).into_iter().collect()
    }

    fn designs(&self) -> Designs {
        self.designs.known().clone()
    }

    fn metrics() -> Vec<&'static Metric> {
        wordline_ssd::metrics::all().collect()
    }

    fn presets() -> &'static [Embedded] {
        PRESETS
    }

    fn fill_in(file: &mut SsdFile, is_written: &dyn Fn(&str) -> bool) {
        file.fill_in(is_written);
    }

    fn ineffective_keys(&self, keys: &Keys<'_>) -> Result<Vec<String>, Complaints> {
        ineffective_keys_of_ssd(keys.0, &self.config, &self.designs)
    }
}

/// The keys of an SSD.
#[derive(Clone, Debug, PartialEq)]
pub struct SsdFile {
    /// The keys of the device.
    pub device: DeviceFile,
    /// The keys of its designs.
    pub designs: DesignsFile,
}

impl SsdFile {
    /// Validates the SSD, which may name these designs.
    ///
    /// # Errors
    /// The keys that do not fit.
    pub fn check(self, designs: &Designs) -> Result<Ssd, Complaints> {
        let (config, designs) = self.designs.check(designs, self.device)?;
        Ok(Ssd { config, designs, own: None })
    }

    /// Sets keys that are left out and follow from other keys. `is_written` returns whether a key was
    /// written.
    pub fn fill_in(&mut self, is_written: &dyn Fn(&str) -> bool) {
        let marks = ["start_below", "stop_at"].map(|mark| is_written(&format!("ftl.gc.{mark}_free_blocks")));
        self.device.raise_watermarks(marks);
        self.designs.note_watermarks(marks);
    }
}

impl Serialize for SsdFile {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut table = toml::Table::try_from(&self.device).expect("a device file is TOML");
        self.designs.put_into(&mut table);
        table.serialize(out)
    }
}

impl<'de> Deserialize<'de> for SsdFile {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut table = toml::Table::deserialize(from)?;
        let designs = DesignsFile::take_from(&mut table).map_err(D::Error::custom)?;
        let device = DeviceFile::deserialize(table).map_err(|error| D::Error::custom(error.message()))?;
        Ok(Self { device, designs })
    }
}

impl JsonSchema for SsdFile {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        SSD_FILE.into()
    }

    /// An empty schema, because its definitions must come from the whole file. `config::schema` completes it.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object" })
    }
}
