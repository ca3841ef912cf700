//! The device type of an open-channel SSD, used by a host without an FTL.

use wordline_host::direct::{self, DirectConfig, DirectFile};
use wordline_kernel::Metric;
use wordline_open_channel::{OpenChannel, device as open_channel};

use super::device_type::DeviceType;
use super::over_open_channel::over_open_channel;
use crate::config::embedded::{Embedded, OPEN_CHANNEL_PRESETS};
use crate::config::explain::{Section, human};

/// The validated configuration of an open-channel SSD and its host, which has no FTL.
#[derive(Clone, Debug)]
pub struct OpenChannelSsd(pub DirectConfig);

impl DeviceType for OpenChannelSsd {
    const NAME: &'static str = "open-channel";
    const DESCRIPTION: &'static str = "An open-channel SSD without an FTL: a write goes to one parallel unit, the next write to the next one.";

    over_open_channel!(DirectFile, direct::Direct<OpenChannel>);

    fn explain(&self) -> Vec<Section> {
        let (shape, geometry) = (self.shape(), &self.0.device.geometry);
        let row = |what: &str, value: String| (what.to_owned(), value);
        let size = |blocks: u32| human(geometry.block_size * u64::from(blocks));
        vec![
            ("capacity".into(), vec![row("capacity", human(shape.capacity)), row("logical block", size(1))]),
            (
                "open-channel device".into(),
                vec![
                    row("parallel units", geometry.units().to_string()),
                    row("chunks of each", geometry.chunks_per_unit.to_string()),
                    row("chunk", size(geometry.blocks_per_chunk)),
                    row("written at once", size(geometry.ws_min)),
                ],
            ),
        ]
    }

    fn metrics() -> Vec<&'static Metric> {
        direct::metrics().chain(open_channel::metrics()).collect()
    }

    fn presets() -> &'static [Embedded] {
        OPEN_CHANNEL_PRESETS
    }
}
