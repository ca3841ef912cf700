//! Configuration of a device: raw structs as in the file, and the check that turns them into a [`Config`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_ftl::config::FtlFile;
use wordline_ftl::policy::demands::Demands;
use wordline_ftl::pools::PoolFile;
use wordline_ftl::{self as ftl, BackEndFile};
use wordline_kernel::{Bytes, Complaints};
use wordline_nand::faults::FaultFile;
use wordline_nand::geometry::Layout;
use wordline_nand::part::PartFile;

pub use crate::cache::config::{BufferFile, BufferMode, BufferSpace};
pub use crate::cache::protection::Protection;
pub use crate::front::config::{FrontFile, Interface, NamespaceFile};
use crate::front::namespaces::{self, Namespace};

/// Configuration of a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeviceFile {
    /// Capacity that the host sees, such as `4TB`. The number of blocks of each plane follows from it and
    /// from the over-provisioning, and replaces that of the part. If absent, the capacity follows from the
    /// blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Bytes>,
    /// DRAM of the controller, such as `1GiB`: for the buffer, the read cache and the L2P map. If the whole map
    /// does not fit, what is left is `ftl.mapping.cache`, whose own value does not matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dram: Option<Bytes>,
    /// The NAND part.
    pub part: PartFile,
    /// Number of dies and channels.
    pub layout: Layout,
    /// Further pools of dies with other parts. Each pool has its own blocks, over-provisioning and garbage
    /// collection. Requires a router that distinguishes pools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<PoolFile>,
    /// Front end, between the host and the buffer.
    #[serde(default)]
    pub front: FrontFile,
    /// The DRAM buffer.
    #[serde(default)]
    pub buffer: BufferFile,
    /// The flash translation layer.
    #[serde(default)]
    pub ftl: FtlFile,
    /// Injected failures: a table `[[faults]]` for each rule. A command fails if any rule makes it fail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultFile>,
    /// Namespaces, in order of their numbers: parts of the logical capacity, each with its own addresses.
    /// Without this table one namespace has the whole capacity. Capacity without a namespace is spare.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<NamespaceFile>,
    /// Streams and blocks that the device's designs need; `None` if only the configured policies count.
    #[serde(skip)]
    pub demands: Option<Demands>,
}

/// A checked configuration of a device.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The configuration as given, with what follows from its sizes.
    pub file: DeviceFile,
    /// The chips and their FTL.
    pub ftl: ftl::Config,
    /// The namespaces.
    pub namespaces: Vec<Namespace>,
    /// Most logical pages of the buffer.
    pub buffer_pages: u32,
    /// Logical pages of the read cache.
    pub cache_pages: u32,
}

impl DeviceFile {
    /// The chips and their FTL.
    pub fn back_end(&self) -> BackEndFile {
        BackEndFile {
            capacity: self.capacity,
            memory: self.memory_for_map(),
            keeps_memory: self.buffer.is_protected(),
            pools: self.pools.clone(),
            ftl: self.ftl.clone(),
            faults: self.faults.clone(),
            demands: self.demands,
            ..BackEndFile::new(self.part.clone(), self.layout)
        }
    }

    /// Raises the GC watermarks to the minimum that the streams need, except watermarks that the
    /// configuration sets.
    pub fn raise_watermarks(&mut self, is_chosen: [bool; 2]) {
        let mut ftl = self.back_end();
        ftl.raise_watermarks(is_chosen);
        self.ftl.gc = ftl.ftl.gc;
    }

    /// Checks the configuration.
    ///
    /// # Errors
    /// All complaints, by key.
    pub fn check(mut self) -> Result<Config, Complaints> {
        let mut wrong = Complaints::default();
        self.check_memory(&mut wrong);
        self.front.check(&mut wrong);
        self.buffer.check(&mut wrong);
        let Some(mut ftl) = self.back_end().check_beside(&mut wrong) else { return Err(wrong) };
        let (pools, unit) = (&ftl.pools, ftl.unit);
        let namespaces = namespaces::lay_out(&self.namespaces, ftl.capacity(), &mut wrong);
        let buffer_pages = self.buffer.pages(pools, unit, &mut wrong);
        let cache_pages = self.buffer.cache_pages(unit, &mut wrong);
        ftl.logical_pages = ftl.logical_pages.min(namespaces::end(&namespaces).0.div_ceil(unit.0) as u32);
        (self.part, self.ftl) = (ftl.file.part.clone(), ftl.file.ftl.clone());
        wrong.into_result(Config { file: self, ftl, namespaces, buffer_pages, cache_pages })
    }

    /// DRAM that the buffer and the read cache leave for the map; `None` for as much as it takes.
    fn memory_for_map(&self) -> Option<Bytes> {
        self.dram.map(|dram| Bytes(dram.0.saturating_sub(self.memory_of_buffers().0)))
    }

    fn memory_of_buffers(&self) -> Bytes {
        self.buffer.size + self.buffer.read_cache
    }

    fn check_memory(&self, wrong: &mut Complaints) {
        let Some(dram) = self.dram else { return };
        let wanted = "none with `pools`: ftl.mapping.cache has the size of the map";
        wrong.require(self.pools.is_empty(), "dram", dram, wanted);
        let buffers = self.memory_of_buffers();
        let wanted = format!("more than {buffers}, which the buffer and the read cache take");
        wrong.require(dram > buffers, "dram", dram, wanted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    include!("../tests/common/small.rs");

    #[test]
    fn a_map_that_the_memory_does_not_hold_is_cached() {
        let mut file = small();
        file.ftl.over_provisioning = 0.5;
        (file.ftl.gc.start_below_free_blocks, file.ftl.gc.stop_at_free_blocks) = (4, 4);
        let map = file.clone().check().expect("a device").ftl.map_memory();
        let half = Bytes(map.0 / 2);
        file.dram = Some(file.buffer.size + map);
        let config = file.clone().check().expect("a device whose map fits");
        assert_eq!((config.ftl.map_cache(), config.ftl.map_memory()), (None, map));
        file.dram = Some(file.buffer.size + half);
        let config = file.clone().check().expect("a device whose map does not fit");
        assert_eq!(config.file.ftl.mapping.cache, Some(half));
        assert_eq!(config.file.clone().check(), Ok(config));
        file.dram = Some(file.buffer.size);
        let wrong = file.check().expect_err("nothing is left for the map");
        assert_eq!(wrong.0[0].key, "dram");
    }

    #[test]
    fn every_wrong_key_is_named() {
        let mut file = small();
        file.ftl.gc.start_below_free_blocks = 1;
        file.front.queue_depth = 0;
        file.part.geometry.planes = 99;
        let keys: Vec<String> =
            file.check().expect_err("three are wrong").0.into_iter().map(|c| c.key).collect();
        assert_eq!(keys, ["front.queue_depth", "part.geometry.planes", "ftl.gc.start_below_free_blocks"]);
    }
}
