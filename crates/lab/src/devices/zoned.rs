//! The device type of zoned namespaces with an FTL in the host.

use wordline_host::pblk::{self, Pblk};
use wordline_host::zones::{ZonedConfig, ZonedFile};
use wordline_kernel::{Bytes, Metric};
use wordline_open_channel::zoned::ZonesConfig;
use wordline_open_channel::{OpenChannel, device as open_channel, zoned};

use super::device_type::DeviceType;
use super::over_open_channel::over_open_channel;
use crate::config::embedded::{Embedded, ZONED_PRESETS};
use crate::config::explain::{Section, human};

/// The validated configuration of zoned namespaces with an FTL in the host.
#[derive(Clone, Debug)]
pub struct Zoned(pub ZonedConfig);

impl DeviceType for Zoned {
    const NAME: &'static str = "zoned";
    const DESCRIPTION: &'static str =
        "Zoned namespaces (ZNS) under a log-structured FTL in the host, whose lines are zones.";

    over_open_channel!(ZonedFile, Pblk<zoned::Zoned<OpenChannel>>);

    fn explain(&self) -> Vec<Section> {
        let (shape, layout) = (self.shape(), &self.0.layout);
        let row = |what: &str, value: String| (what.to_owned(), value);
        let mut zones = zone_rows(&self.0.zones, shape.logical_page);
        zones.push(row("written at once", human(shape.logical_page * u64::from(layout.strip))));
        vec![
            (
                "capacity".into(),
                vec![
                    row("capacity", human(shape.capacity)),
                    row("mapping unit", human(shape.logical_page)),
                    row("over-provisioning", format!("{} zones", layout.over_provisioned)),
                ],
            ),
            ("zones".into(), zones),
        ]
    }

    fn metrics() -> Vec<&'static Metric> {
        pblk::metrics().chain(zoned::own_metrics()).chain(open_channel::metrics()).collect()
    }

    fn presets() -> &'static [Embedded] {
        ZONED_PRESETS
    }
}

/// The sizes and limits of zones with logical blocks of this size, as rows of a table.
pub(super) fn zone_rows(zones: &ZonesConfig, block: Bytes) -> Vec<(String, String)> {
    let (layout, limits) = (&zones.layout, zones.limits);
    let size = |blocks: u64| human(block * blocks);
    let limit = |limit: Option<u32>| limit.map_or("no limit".to_owned(), |limit| limit.to_string());
    let rows = [
        ("zones", layout.zones.to_string()),
        ("size", size(layout.size)),
        ("capacity of one", size(u64::from(layout.capacity))),
        ("room for padding", size(u64::from(layout.positions() - layout.capacity))),
        ("chunks of one", layout.width.to_string()),
        ("stripe", size(u64::from(layout.stripe))),
        ("active at most", limit(limits.active)),
        ("open at most", limit(limits.open)),
    ];
    rows.map(|(what, value)| (what.to_owned(), value)).into()
}
