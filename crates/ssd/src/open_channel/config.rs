//! The configuration of an open-channel device, and the check that makes its geometry of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Complaints, Duration};
use wordline_nand::faults::FaultFile;
use wordline_nand::geometry::Layout;
use wordline_nand::part::PartFile;
use wordline_nand::{Fault, Locations, Part, Pool, Pools};

use crate::command::SECTOR;
use crate::config::ReadRetryFile;
use crate::flash::Setup;
use crate::map::checkpoint::ProgramsAtCut;
use crate::physical_device::{Geometry, MOST_BLOCKS, Times};
use crate::policy::tuner::TunerKind;
use crate::scheduling::SchedulingFile;

/// An open-channel device as it is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenChannelFile {
    /// The NAND part.
    pub part: PartFile,
    /// How many dies there are, and on how many channels: a channel is a group, and a die a parallel unit.
    pub layout: Layout,
    /// The least that is read: a page divided by a power of two. Left out: a page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logical_block: Option<Bytes>,
    /// A logical block of an open chunk can be read once more than this many after it were written. `0`: as soon as it is
    /// programmed, which chips allow.
    #[serde(default)]
    pub mw_cunits: u32,
    /// The fate of programs and erases in progress when the power is cut.
    #[serde(default)]
    pub programs_at_cut: ProgramsAtCut,
    /// Pages that could not be read are sensed again.
    #[serde(default)]
    pub read_retry: ReadRetryFile,
    /// Read levels with which pages are sensed; asked only where a rule of `faults` makes pages need a set of
    /// read levels.
    #[serde(default)]
    pub tuner: TunerKind,
    /// Order of the commands of a die, and suspends.
    #[serde(default)]
    pub scheduling: SchedulingFile,
    /// Failures and their times: a table `[[faults]]` for each rule. A command fails if one of them says so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultFile>,
}

/// An open-channel device whose numbers fit each other.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenChannelConfig {
    /// As it was written.
    pub file: OpenChannelFile,
    /// Its chips; a location is a logical block.
    pub pools: Pools,
    /// Its geometry as its host sees it.
    pub geometry: Geometry,
    /// Failures and their times.
    pub faults: Vec<Fault>,
}

impl OpenChannelFile {
    /// A device of this part and layout, with everything else as it is where it is left out.
    pub fn of(part: PartFile, layout: Layout) -> Self {
        Self {
            part,
            layout,
            logical_block: None,
            mw_cunits: 0,
            programs_at_cut: ProgramsAtCut::default(),
            read_retry: ReadRetryFile::default(),
            tuner: TunerKind::default(),
            scheduling: SchedulingFile::default(),
            faults: Vec::new(),
        }
    }

    /// The device, or everything that is wrong with it.
    ///
    /// # Errors
    /// The keys that do not fit.
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
        wrong.require(
            seen.ws_min as usize <= MOST_BLOCKS,
            "logical_block",
            size,
            format!("a larger one: a program writes {}, a command {MOST_BLOCKS} at the most", seen.ws_min),
        );
        let most = seen.blocks_per_chunk - seen.ws_min.min(seen.blocks_per_chunk);
        wrong.require(
            self.mw_cunits <= most,
            "mw_cunits",
            self.mw_cunits,
            format!("at most {most}: a chunk without what one program writes"),
        );
        let check = |(n, rule): (usize, &FaultFile)| {
            rule.check_pools(&pools).map_err(|inner| wrong.nest(&format!("faults[{n}]"), inner)).ok()
        };
        let faults = self.faults.iter().enumerate().filter_map(check).collect();
        wrong.or_ok(()).map(|()| OpenChannelConfig { file: self, pools, geometry: seen, faults })
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

    /// The geometry of these chips as the host sees it.
    fn geometry(&self, Pool { part, geometry, locations }: &Pool) -> Geometry {
        Geometry {
            groups: geometry.channels as u16,
            units_per_group: geometry.dies_per_channel as u16,
            chunks_per_unit: geometry.rows_per_die * geometry.blocks_per_plane,
            blocks_per_chunk: locations.per_block(),
            block_size: locations.size,
            ws_min: locations.per_program,
            // Chosen: a die programs one unit after another, so that no larger write is faster.
            ws_opt: locations.per_program,
            mw_cunits: self.mw_cunits,
            times: times(part),
        }
    }
}

/// The times of the array in the data sheet.
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
    /// The setup of its flash.
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
