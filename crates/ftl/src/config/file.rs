//! Configuration of a back end, as in the device's file and checked.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_flash::policy::failure::FailureKind;
use wordline_flash::policy::tuner::TunerKind;
use wordline_flash::read_retry::ReadRetryFile;
use wordline_flash::scheduling::SchedulingFile;
use wordline_kernel::Bytes;
use wordline_nand::faults::FaultFile;
use wordline_nand::geometry::Layout;
use wordline_nand::part::PartFile;
use wordline_nand::{Fault, Pools};

use super::recovery::RecoveryFile;
use crate::blocks::mlc::TwoBitFile;
use crate::blocks::slc_cache::SlcCacheFile;
use crate::blocks::wear::WearFile;
use crate::gc::config::GcFile;
use crate::map::config::MappingFile;
use crate::policy::balancer::BalancerKind;
use crate::policy::demands::Demands;
use crate::policy::frontier::FrontierKind;
use crate::policy::placement::PlacementKind;
use crate::policy::router::RouterKind;
use crate::pools::PoolFile;

/// Configuration of the back end of a device: its chips and their FTL. The keys of complaints are those of the
/// device's file.
#[derive(Clone, Debug, PartialEq)]
pub struct BackEndFile {
    /// Capacity that the host sees. The number of blocks of each plane follows from it and from the
    /// over-provisioning, and replaces the number of the part. `None`: the blocks determine the capacity.
    pub capacity: Option<Bytes>,
    /// DRAM for the L2P map; `None` for as much as it takes. If the whole map does not fit, this is the
    /// [size of the cached map](MappingFile::cache), whose own value does not matter.
    pub memory: Option<Bytes>,
    /// Whether the memory of the controller survives a power cut.
    pub keeps_memory: bool,
    /// The NAND part.
    pub part: PartFile,
    /// Number of dies and channels.
    pub layout: Layout,
    /// Further pools of dies with other parts.
    pub pools: Vec<PoolFile>,
    /// The flash translation layer.
    pub ftl: FtlFile,
    /// Injected failures. A command fails if any rule makes it fail.
    pub faults: Vec<FaultFile>,
    /// Streams and blocks that the device's designs need; `None` if only the configured policies count.
    pub demands: Option<Demands>,
}

/// The flash translation layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FtlFile {
    /// Fraction of the physical capacity, without `reserved_blocks`, that is hidden from the host.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1.0))]
    pub over_provisioning: f64,
    /// Further hidden blocks in each plane group. GC needs as many free and open blocks in a small plane
    /// group as in a large one. With reserved blocks, a scaled-down device has the same write amplification.
    pub reserved_blocks: u32,
    /// Fraction of blocks that are bad from the factory. The seed determines which ones.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 0.5))]
    pub factory_bad_blocks: f64,
    /// The L2P map: its unit, and where it is stored.
    pub mapping: MappingFile,
    /// Selects the stream of a host page.
    pub router: RouterKind,
    /// Selects the channel, package, die and plane group of a write.
    pub placement: PlacementKind,
    /// Selects the word line of an open block that is programmed next.
    pub frontier: FrontierKind,
    /// Work stealing: idle plane groups take program units of other groups. Requires static allocation.
    pub balancer: BalancerKind,
    /// SLC-mode blocks for host writes. Requires the router `slc-cache`, or a design that replaces it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slc_cache: Option<SlcCacheFile>,
    /// Blocks in MLC mode (two bits a cell), for streams that a design opens in this mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub two_bit: Option<TwoBitFile>,
    /// Garbage collection.
    pub gc: GcFile,
    /// Protection against power cuts, and power-loss recovery.
    pub recovery: RecoveryFile,
    /// Treatment of a block in which an operation failed.
    pub failure: FailureKind,
    /// Read retry of pages that could not be read.
    pub read_retry: ReadRetryFile,
    /// Selects the read reference voltages of a read. Used only if `faults` have rules with read levels.
    pub tuner: TunerKind,
    /// Wear levelling.
    pub wear: WearFile,
    /// Scheduling of the commands of a die, and suspends.
    pub scheduling: SchedulingFile,
}

impl Default for FtlFile {
    fn default() -> Self {
        Self {
            over_provisioning: 0.07,
            reserved_blocks: 0,
            factory_bad_blocks: 0.0,
            mapping: MappingFile::default(),
            router: RouterKind::default(),
            placement: PlacementKind::default(),
            frontier: FrontierKind::default(),
            balancer: BalancerKind::default(),
            slc_cache: None,
            two_bit: None,
            gc: GcFile::default(),
            recovery: RecoveryFile::default(),
            failure: FailureKind::default(),
            read_retry: ReadRetryFile::default(),
            tuner: TunerKind::default(),
            wear: WearFile::default(),
            scheduling: SchedulingFile::default(),
        }
    }
}

/// A checked configuration of a back end.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The configuration as given, with what follows from its sizes.
    pub file: BackEndFile,
    /// The chips, and the division of their pages into mapping units.
    pub pools: Pools,
    /// Size of a mapping unit, which is a logical page.
    pub unit: Bytes,
    /// Logical pages (mapping units) visible to the host.
    pub logical_pages: u32,
    /// Failures and their times.
    pub faults: Vec<Fault>,
}
