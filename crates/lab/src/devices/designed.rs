//! SSDs of a design from a crate of its own, as a type of device that a configuration can name.

use std::fmt;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Complaints, Metric, Seed};
use wordline_ssd::block_device::Shape;
use wordline_ssd::design::Combination;
use wordline_ssd::{Config, Design, Device, Parts};

use super::{ChipsInfo, DeviceType, Embedded, Section, Ssd, SsdFile};

/// A design from a crate of its own: what a configuration says of it, and what is made of that.
pub trait DesignType: Clone + fmt::Debug + Send + Sync + 'static {
    /// Its name, as the key `device` has it.
    const NAME: &'static str;
    /// What it is, in a sentence.
    const DESCRIPTION: &'static str;

    /// Its settings, the table `design`. They deny keys that they do not know.
    type File: Clone
        + fmt::Debug
        + Default
        + PartialEq
        + Serialize
        + DeserializeOwned
        + JsonSchema
        + Send
        + Sync;

    /// Checks settings for an SSD of `config`.
    ///
    /// # Errors
    /// Everything that is wrong, by key.
    fn check(file: &Self::File, config: &Config) -> Result<(), Complaints>;

    /// The design for an SSD of `config`.
    fn build(file: &Self::File, config: &Config) -> Box<dyn Design>;

    /// Its metrics.
    fn metrics() -> Vec<&'static Metric> {
        Vec::new()
    }

    /// Presets of SSDs with it, each with its name and its text.
    fn presets() -> &'static [Embedded] {
        &[]
    }
}

/// An SSD of a design, which was checked.
#[derive(Clone, Debug)]
pub struct Designed<T: DesignType> {
    ssd: Ssd,
    design: T::File,
}

/// Its keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DesignedFile<F> {
    /// The settings of the design; left out, those that it has by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub design: Option<F>,
    /// The SSD.
    pub ssd: SsdFile,
}

impl<T: DesignType> Designed<T> {
    /// Its policies, and the design.
    fn parts(&self) -> Parts {
        let designs = Combination::of(vec![T::build(&self.design, &self.ssd.config)]);
        Parts { designs, ..self.ssd.parts() }
    }
}

impl<T: DesignType> DeviceType for Designed<T> {
    const NAME: &'static str = T::NAME;
    const DESCRIPTION: &'static str = T::DESCRIPTION;
    const SSDS: &'static [&'static str] = &["ssd"];

    type File = DesignedFile<T::File>;
    type Device = Device;

    fn check(file: Self::File) -> Result<Self, Complaints> {
        let DesignedFile { design, ssd } = file;
        let design = design.unwrap_or_default();
        let mut wrong = Complaints::default();
        let ssd = ssd.check().map_err(|inner| wrong.nest("ssd", inner)).ok();
        let Some(mut ssd) = ssd else { return Err(wrong) };
        if let Err(inner) = T::check(&design, &ssd.config) {
            wrong.nest("design", inner);
            return Err(wrong);
        }
        let parts = Self { ssd: ssd.clone(), design: design.clone() }.parts();
        match parts.check(&ssd.config) {
            Ok(config) => ssd.config = config,
            Err(inner) => wrong.nest("ssd", inner),
        }
        wrong.or_ok(Self { ssd, design })
    }

    fn file(&self) -> Self::File {
        DesignedFile { design: Some(self.design.clone()), ssd: self.ssd.file() }
    }

    fn shape(&self) -> Shape {
        DeviceType::shape(&self.ssd)
    }

    fn build(&self, seed: Seed) -> Device {
        Device::with(self.ssd.config.clone(), self.parts(), seed)
    }

    fn queues(&self) -> u16 {
        DeviceType::queues(&self.ssd)
    }

    fn chips(&self) -> Vec<ChipsInfo> {
        DeviceType::chips(&self.ssd)
    }

    fn explain(&self) -> Vec<Section> {
        let table = toml::Table::try_from(&self.design).expect("settings are TOML");
        let rows = table.into_iter().map(|(key, value)| (key, value.to_string())).collect();
        let own = std::iter::once((format!("design {}", T::NAME), rows));
        let ssd = DeviceType::explain(&self.ssd).into_iter();
        own.chain(ssd.map(|(title, rows)| (format!("ssd: {title}"), rows))).collect()
    }

    fn notes(&self, device: &Device) -> Vec<String> {
        DeviceType::notes(&self.ssd, device)
    }

    fn metrics() -> Vec<&'static Metric> {
        T::metrics()
    }

    fn presets() -> &'static [Embedded] {
        T::presets()
    }

    fn fill_in(file: &mut Self::File, is_written: &dyn Fn(&str) -> bool) {
        file.ssd.fill_in(&|key| is_written(&format!("ssd.{key}")));
    }
}
