//! The device type of a zoned namespace that the host drives itself.

use wordline_designs::Designs;
use wordline_device::block_device::Shape;
use wordline_host::zone_host::{self, ZoneHost, ZoneHostConfig, ZoneHostFile};
use wordline_kernel::{Complaints, Metric, Seed};
use wordline_open_channel::{OpenChannel, device as open_channel, zoned};

use super::device_type::{ChipsInfo, DeviceType};
use super::zoned::zone_rows;
use crate::config::embedded::{Embedded, ZONED_NAMESPACE_PRESETS};
use crate::config::explain::{Section, human};

/// The validated configuration of a zoned namespace without an FTL.
#[derive(Clone, Debug)]
pub struct ZonedNamespace(pub ZoneHostConfig);

impl DeviceType for ZonedNamespace {
    const NAME: &'static str = "zoned-namespace";
    const DESCRIPTION: &'static str =
        "A zoned namespace (ZNS) without an FTL: the workload appends, resets and finishes zones itself.";
    /// The table with the keys of the open-channel SSD.
    const SSDS: &'static [&'static str] = &["open_channel"];

    type File = ZoneHostFile;
    type Device = ZoneHost<OpenChannel>;

    fn check(file: ZoneHostFile, _: &Designs) -> Result<Self, Complaints> {
        file.check().map(Self)
    }

    fn file(&self) -> ZoneHostFile {
        self.0.file.clone()
    }

    fn shape(&self) -> Shape {
        self.0.shape()
    }

    fn build(&self, seed: Seed) -> Self::Device {
        self.0.build(seed)
    }

    fn chips(&self) -> Vec<ChipsInfo> {
        vec![ChipsInfo::of(self.0.device.pools.first())]
    }

    fn explain(&self) -> Vec<Section> {
        let shape = self.shape();
        let row = |what: &str, value: String| (what.to_owned(), value);
        let capacity = vec![
            row("capacity", human(shape.capacity)),
            row("logical block", human(shape.sector_size)),
            row("write plugging", if self.0.file.write_plugging { "yes" } else { "no" }.into()),
        ];
        vec![("capacity".into(), capacity), ("zones".into(), zone_rows(&self.0.zones, shape.sector_size))]
    }

    fn notes(&self, _: &Self::Device) -> Vec<String> {
        vec!["a write begins at the write pointer of its zone, or fails; `zone_host` in the results names the reasons".into()]
    }

    fn metrics() -> Vec<&'static Metric> {
        zone_host::metrics().chain(zoned::own_metrics()).chain(open_channel::metrics()).collect()
    }

    fn presets() -> &'static [Embedded] {
        ZONED_NAMESPACE_PRESETS
    }
}
