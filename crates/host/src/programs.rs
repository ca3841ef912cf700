//! Programs below a host, by reason, as an SSD reports its own.

use wordline_device::block_device::Programmed;
use wordline_kernel::Bytes;
use wordline_kernel::Metrics;
use wordline_kernel::metrics::Value;

/// Logical blocks that a host had programmed, by reason. A reason that a host does not know is `None`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Programs {
    pub(crate) host: u64,
    pub(crate) relocated: Option<u64>,
    pub(crate) padding: u64,
    pub(crate) metadata: Option<u64>,
}

impl Programs {
    /// With the `own` blocks of the device.
    pub(crate) fn with_device(&self, own: u64) -> Programmed {
        let Self { host, relocated, padding, metadata } = *self;
        Programmed { host, other: relocated.unwrap_or(0) + padding + metadata.unwrap_or(0) + own }
    }

    /// Adds the metrics of these blocks, each of size `block`, to those of the device.
    pub(crate) fn add_to(&self, block: Bytes, metrics: &mut Metrics) {
        let Programmed { host, other } = self.with_device(0);
        let all = (block * (host + other)).0 + metrics.count("flash.device_bytes");
        let mut add =
            |name, value: u64| metrics.add(wordline_ssd::metrics::of_name(name), Value::Count(value));
        add("flash.programmed_bytes", all);
        add("flash.host_bytes", (block * host).0);
        add("flash.padding", self.padding);
        add("flash.padding_bytes", (block * self.padding).0);
        if let Some(relocated) = self.relocated {
            add("flash.gc_programs", relocated);
            add("flash.gc_bytes", (block * relocated).0);
        }
        if let Some(metadata) = self.metadata {
            add("flash.translation_bytes", (block * metadata).0);
        }
    }
}
