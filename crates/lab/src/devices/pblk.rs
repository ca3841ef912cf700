//! The device type of a host FTL modelled on pblk.

use wordline_host::pblk::{self, PblkConfig, PblkFile};
use wordline_kernel::Metric;
use wordline_open_channel::{OpenChannel, device as open_channel};

use super::device_type::DeviceType;
use super::over_open_channel::over_open_channel;
use crate::config::embedded::{Embedded, PBLK_PRESETS};
use crate::config::explain::{Section, human};

/// The validated configuration of a host FTL modelled on pblk.
#[derive(Clone, Debug)]
pub struct Pblk(pub PblkConfig);

impl DeviceType for Pblk {
    const NAME: &'static str = "pblk";
    const DESCRIPTION: &'static str = "An FTL in the host, after pblk of Linux, on an open-channel SSD.";

    over_open_channel!(PblkFile, pblk::Pblk<OpenChannel>);

    fn explain(&self) -> Vec<Section> {
        let (shape, layout) = (self.shape(), &self.0.layout);
        let size = |blocks: u32| human(shape.logical_page * u64::from(blocks));
        let lines = |chunks: u32| format!("{:.1} lines", f64::from(chunks) / f64::from(layout.units));
        let row = |what: &str, value: String| (what.to_owned(), value);
        vec![
            (
                "capacity".into(),
                vec![
                    row("capacity", human(shape.capacity)),
                    row("mapping unit", human(shape.logical_page)),
                    row("over-provisioning", lines(layout.over_provisioned)),
                    row("metadata", lines(layout.metadata)),
                ],
            ),
            (
                "lines".into(),
                vec![
                    row("lines", layout.lines.to_string()),
                    row("line", size(layout.per_line())),
                    row("written at once", size(layout.strip)),
                    row("smeta", size(layout.smeta * layout.strip)),
                    row("emeta", size(layout.emeta * layout.strip)),
                    row("collected below", lines(layout.high)),
                    row("kept from the host", lines(layout.reserved)),
                ],
            ),
            (
                "write buffer".into(),
                vec![
                    row("size", size(layout.ring)),
                    row("kept readable", size(layout.threshold)),
                    row("most of a request", size(layout.most_io())),
                ],
            ),
        ]
    }

    fn metrics() -> Vec<&'static Metric> {
        pblk::metrics().chain(open_channel::metrics()).collect()
    }

    fn presets() -> &'static [Embedded] {
        PBLK_PRESETS
    }
}
