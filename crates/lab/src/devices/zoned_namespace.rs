//! The device type of a zoned namespace that the host drives itself.

use wordline_host::zone_host::{self, ZoneHost, ZoneHostConfig, ZoneHostFile};
use wordline_kernel::Metric;
use wordline_open_channel::{OpenChannel, device as open_channel, zoned};

use super::device_type::DeviceType;
use super::over_open_channel::over_open_channel;
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

    over_open_channel!(ZoneHostFile, ZoneHost<OpenChannel>);

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
