//! Configuration of an open-channel device, and its check, which derives the geometry.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_device::SECTOR;
use wordline_device::link::PcieFile;
use wordline_device::physical_device::{Capabilities, Geometry, MOST_BLOCKS, Times};
use wordline_flash::policy::failure::FailureKind;
use wordline_flash::policy::tuner::TunerKind;
use wordline_flash::read_retry::ReadRetryFile;
use wordline_flash::scheduling::SchedulingFile;
use wordline_flash::{ProgramsAtCut, Setup};
use wordline_kernel::{Bytes, Complaints, Duration};
use wordline_nand::faults::FaultFile;
use wordline_nand::geometry::Layout;
use wordline_nand::part::PartFile;
use wordline_nand::{Fault, Locations, Part, Pool, Pools};

use super::buffer::BufferFile;
use super::failures::{EarlyClose, Shape};

/// Configuration of an open-channel device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenChannelFile {
    /// NAND part.
    pub part: PartFile,
    /// Number of channels and dies. A channel is a group, and a die a parallel unit.
    pub layout: Layout,
    /// Size of a logical block, the smallest unit of a read: the size of a page, or of a page divided by a
    /// power of two. Default: the size of a page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logical_block: Option<Bytes>,
    /// Cache minimum write size units (`mw_cunits`): a logical block of an open chunk is readable when more
    /// than this many later blocks are written. With `0` it is readable as soon as it is programmed.
    #[serde(default)]
    pub mw_cunits: u32,
    /// Optimal write size reported to the host, in logical blocks: a multiple of a program. Default: one
    /// program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ws_opt: Option<u32>,
    /// Maximum number of open chunks. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_open: Option<u32>,
    /// Maximum number of open chunks of a parallel unit. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_open_per_unit: Option<u32>,
    /// Whether free chunks may be reset.
    #[serde(default)]
    pub multiple_resets: bool,
    /// Whether open chunks may be reset.
    #[serde(default = "yes")]
    pub early_resets: bool,
    /// Link between host and device. Default: none; commands and data arrive at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<PcieFile>,
    /// Write buffer. Default: unlimited, and writes complete when they are in flash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<BufferFile>,
    /// Program failure manager. Default: none; failures are reported to the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failures: Option<FailuresFile>,
    /// Failure policy: what happens to a chunk or block after a program or erase failure. It is retired, or
    /// used again after its erase.
    #[serde(default)]
    pub failure: FailureKind,
    /// Effect of a power loss on programs and erases in progress.
    #[serde(default)]
    pub programs_at_cut: ProgramsAtCut,
    /// Read retry of unreadable pages.
    #[serde(default)]
    pub read_retry: ReadRetryFile,
    /// Read reference voltages of page reads. Used only if a rule of `faults` makes pages need a set of read
    /// reference voltages.
    #[serde(default)]
    pub tuner: TunerKind,
    /// Scheduling of the commands of a die, with suspend and resume.
    #[serde(default)]
    pub scheduling: SchedulingFile,
    /// Failures and their times: a table `[[faults]]` for each rule. A command fails if any rule makes it
    /// fail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultFile>,
}

/// Configuration of the program failure manager.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FailuresFile {
    /// Maps chunks to blocks, so that another block can replace a block in which a program failed.
    #[serde(default)]
    pub block_map: bool,
    /// After a failed program, the writes of the chunk continue at once in another block. The chunk's earlier
    /// pages are copied to that block later, and a shift in the table gives their offsets. Without this key,
    /// the earlier pages are copied before the failed write is retried.
    #[serde(default)]
    pub shift: bool,
    /// Fraction of the blocks of each parallel unit that is kept in reserve. The number of blocks is rounded
    /// down.
    #[serde(default = "reserve")]
    #[schemars(range(min = 0.0, max = 0.5))]
    pub reserve: f64,
    /// Treatment of a chunk that the host closes early while its pages are in several blocks.
    #[serde(default)]
    pub early_close: EarlyClose,
    /// Keeps no journal of the tables. After a power loss a page of each block is read instead.
    #[serde(default)]
    pub volatile_tables: bool,
}

/// Chosen: 1 %, which is about 80 of FT-PASSD's 8,192 blocks.
fn reserve() -> f64 {
    0.01
}

fn yes() -> bool {
    true
}

/// Checked configuration of an open-channel device.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenChannelConfig {
    /// Configuration as given.
    pub file: OpenChannelFile,
    /// Chips. A location is a logical block.
    pub pools: Pools,
    /// Geometry reported to the host.
    pub geometry: Geometry,
    /// Failure rules.
    pub faults: Vec<Fault>,
}

impl OpenChannelFile {
    /// Configuration with this part and layout, and defaults for everything else.
    pub fn of(part: PartFile, layout: Layout) -> Self {
        Self {
            part,
            layout,
            logical_block: None,
            mw_cunits: 0,
            ws_opt: None,
            max_open: None,
            max_open_per_unit: None,
            multiple_resets: false,
            early_resets: true,
            link: None,
            buffer: None,
            failures: None,
            failure: FailureKind::default(),
            programs_at_cut: ProgramsAtCut::default(),
            read_retry: ReadRetryFile::default(),
            tuner: TunerKind::default(),
            scheduling: SchedulingFile::default(),
            faults: Vec::new(),
        }
    }

    /// Checks the configuration.
    ///
    /// # Errors
    /// All invalid keys.
    pub fn check(self) -> Result<OpenChannelConfig, Complaints> {
        let mut wrong = Complaints::default();
        let part = self.part.clone().check().map_err(|inner| wrong.nest("part", inner)).ok();
        let geometry = part
            .as_ref()
            .and_then(|part| self.layout.check(part).map_err(|inner| wrong.nest("layout", inner)).ok());
        self.check_chips(&mut wrong);
        self.scheduling.check("scheduling", &mut wrong);
        let time = self.read_retry.time;
        wrong.require(time <= Duration::from_ms(1_000), "read_retry.time", time, "at most 1s");
        let (Some(part), Some(geometry)) = (part, geometry) else { return Err(wrong) };
        let page = geometry.page_size;
        let size = self.logical_block.unwrap_or(page);
        let locations =
            if (SECTOR..=page).contains(&size) { Locations::of_size(&geometry, size) } else { None };
        let Some(locations) = locations else {
            let wanted = format!("from 512B to a page ({page}), divided by a power of two");
            wrong.add("logical_block", size, wanted);
            return Err(wrong);
        };
        let pools = Pools::one(Pool { part, geometry, locations });
        let seen = self.geometry(pools.first());
        self.check_units(&seen, &mut wrong);
        self.check_failures(&pools, &mut wrong);
        let is_managed = self.failures.is_some();
        if let Some(buffer) = &self.buffer {
            buffer.check(&seen, is_managed, &mut wrong);
        }
        if let Some(link) = &self.link {
            wrong.nest("link", link.complaints());
        }
        let check = |(n, rule): (usize, &FaultFile)| {
            rule.check_pools(&pools).map_err(|inner| wrong.nest(&format!("faults[{n}]"), inner)).ok()
        };
        let faults = self.faults.iter().enumerate().filter_map(check).collect();
        wrong.into_result(()).map(|()| OpenChannelConfig { file: self, pools, geometry: seen, faults })
    }

    /// Checks the size of a program and the limits reported to the host.
    fn check_units(&self, seen: &Geometry, wrong: &mut Complaints) {
        wrong.require(
            seen.ws_min as usize <= MOST_BLOCKS,
            "logical_block",
            seen.block_size,
            format!("a larger one: a program writes {}, a command at most {MOST_BLOCKS}", seen.ws_min),
        );
        let most = seen.blocks_per_chunk - seen.ws_min.min(seen.blocks_per_chunk);
        wrong.require(
            self.mw_cunits <= most,
            "mw_cunits",
            self.mw_cunits,
            format!("at most {most}: a chunk without one program"),
        );
        let holds = seen.ws_opt > 0 && seen.ws_opt.is_multiple_of(seen.ws_min);
        wrong.require(holds, "ws_opt", seen.ws_opt, format!("a multiple of {} (ws_min)", seen.ws_min));
        let open = self.max_open.unwrap_or(u32::MAX);
        wrong.require(open > 0, "max_open", open, "at least 1; leave it out for no limit");
        let of_unit = self.max_open_per_unit.unwrap_or(1);
        wrong.require(
            (1..=open.max(1)).contains(&of_unit),
            "max_open_per_unit",
            of_unit,
            "from 1 to `max_open`; leave it out for no limit",
        );
        if let Some((key, found, wanted)) = self.failure.complaint() {
            wrong.add(format!("failure.{key}"), found, wanted);
        }
    }

    fn check_failures(&self, pools: &Pools, wrong: &mut Complaints) {
        let Some(file) = &self.failures else { return };
        let geometry = &pools.first().geometry;
        let blocks = geometry.groups_per_die * geometry.blocks_per_plane;
        wrong.require(
            file.block_map,
            if file.shift { "failures.shift" } else { "failures.block_map" },
            file.shift,
            "block_map = true: without a map no block can replace another, and the table has no effect",
        );
        wrong.require(
            file.shift || file.early_close == EarlyClose::Pad,
            "failures.early_close",
            "keep-list",
            "shift = true: without it no list lasts",
        );
        let reserve = file.blocks(blocks);
        // The journal uses two blocks.
        let least = if file.volatile_tables { 1 } else { 3 };
        let wanted = format!(
            "a fraction that keeps from {least} to {} of the {blocks} blocks of a parallel unit; {reserve} are too few or too many",
            blocks / 2
        );
        wrong.require((least..=blocks / 2).contains(&reserve), "failures.reserve", file.reserve, wanted);
        let locations = &pools.first().locations;
        let pages = locations.per_block() / locations.per_program;
        wrong.require(
            pages < u32::from(u16::MAX),
            "part.geometry.pages_per_block",
            pages,
            "fewer than 65535 programs in a block: the entries of the shift table have 16 bits",
        );
    }

    fn check_chips(&self, wrong: &mut Complaints) {
        wrong.require(
            !self.part.geometry.independent_reads,
            "part.geometry.independent_reads",
            true,
            "false: the controller reads planes together or one after another, and never each by itself",
        );
        let short = self.layout.short_channels;
        wrong.require(
            short == 0,
            "layout.short_channels",
            short,
            "0: all groups have as many parallel units",
        );
    }

    /// Geometry of these chips as reported to the host.
    fn geometry(&self, Pool { part, geometry, locations }: &Pool) -> Geometry {
        let blocks = geometry.groups_per_die * geometry.blocks_per_plane;
        let reserve = self.failures.as_ref().map_or(0, |failures| failures.blocks(blocks));
        Geometry {
            groups: geometry.channels as u16,
            units_per_group: geometry.dies_per_channel as u16,
            chunks_per_unit: blocks - reserve.min(blocks - 1),
            blocks_per_chunk: locations.per_block(),
            block_size: locations.size,
            ws_min: locations.per_program,
            // Chosen: a die programs one unit after another, so larger writes are not faster.
            ws_opt: self.ws_opt.unwrap_or(locations.per_program),
            mw_cunits: self.mw_cunits,
            max_open: self.max_open.unwrap_or(0),
            max_open_per_unit: self.max_open_per_unit.unwrap_or(0),
            capabilities: Capabilities {
                copy: true,
                multiple_resets: self.multiple_resets,
                early_resets: self.early_resets,
                volatile_writes: self.buffer.as_ref().is_some_and(BufferFile::is_volatile),
            },
            times: times(part),
        }
    }
}

impl FailuresFile {
    /// Number of reserve blocks of a parallel unit with `of` blocks.
    fn blocks(&self, of: u32) -> u32 {
        (f64::from(of) * self.reserve.clamp(0.0, 1.0)) as u32
    }
}

/// Array times of the data sheet.
fn times(part: &Part) -> Times {
    let reads = part.read_times();
    let mean = reads.iter().map(|time| time.ps()).sum::<u64>() / reads.len().max(1) as u64;
    let longest = reads.iter().copied().max().unwrap_or(Duration::ZERO);
    Times {
        read: [Duration::from_ps(mean), longest],
        write: [part.typical_program_time(), part.worst_program_time()],
        reset: [part.timing.erase; 2],
    }
}

impl OpenChannelConfig {
    /// Dimensions of the program failure manager, if there is one.
    pub fn shape(&self) -> Option<Shape> {
        let failures = self.file.failures.as_ref()?;
        let geometry = &self.pools.first().geometry;
        let blocks_per_unit = geometry.groups_per_die * geometry.blocks_per_plane;
        Some(Shape {
            units: self.geometry.units(),
            blocks_per_unit,
            chunks_per_unit: blocks_per_unit - failures.blocks(blocks_per_unit),
            pages: self.geometry.blocks_per_chunk / self.geometry.ws_min,
        })
    }

    /// Setup of the flash.
    pub fn setup(&self) -> Setup<'_> {
        Setup {
            pools: &self.pools,
            faults: &self.faults,
            read_retry: &self.file.read_retry,
            scheduling: &self.file.scheduling,
            backs_up_lower_pages: false,
        }
    }
}
