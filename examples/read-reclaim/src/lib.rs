//! A design in its own crate: read reclaim by word lines. Reads disturb the other word lines of their block, and
//! the adjacent ones most. Only word lines that were disturbed too much are relocated, not the whole block.
//!
//! The idea is that of Chun et al., *STRAW*, IEEE Computer Architecture Letters, 2025. Its parameters of groups of
//! word lines, its compact counters and the effect on bit errors are left out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_ftl::blocks::State;
use wordline_ftl::design::{BlockInfo, DeviceEvent, EventMask, ExtensionPoint, Maintenance, Needs, View};
use wordline_ftl::{Config, Design};
use wordline_kernel::metrics::{Unit, Value};
use wordline_kernel::{Complaints, Metric, state};
use wordline_lab::devices::{DesignType, Registry};
use wordline_nand::{BlockSetId, Location, Pool};

/// Reads of a block between two checks of its word lines. Chosen: few beside any limit.
const CHECK_EVERY: u64 = 16;

/// Reads until the next check and during the relocation, for which the limit leaves space. Chosen.
const MARGIN: u64 = 4 * CHECK_EVERY;

/// The design, and its settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct File {
    /// Reads of a far word line of the block that the data of a word line withstand.
    pub limit: u64,
    /// Reads of a far word line that disturb as much as one read of an adjacent word line.
    pub adjacent: u64,
    /// Whether only the reads of whole blocks are counted, each as a read of an adjacent word line.
    pub whole_blocks: bool,
}

impl Default for File {
    /// Chosen: a small limit, which short runs reach.
    fn default() -> Self {
        Self { limit: 4_000, adjacent: 8, whole_blocks: false }
    }
}

/// Counts the reads of a block, and of each of its word lines, since its erase.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Reads {
    all: u64,
    lines: Vec<u64>,
    /// Disturbance of each word line when it was programmed.
    before: Vec<u64>,
}

/// The state of the design.
pub struct ReadReclaim {
    file: File,
    /// Word line of each location of a block.
    lines: Vec<u32>,
    /// Distance of adjacent word lines of a string.
    stride: u32,
    reads: Vec<Reads>,
    due: Vec<BlockSetId>,
    /// Highest disturbance of a page that the host read.
    most: u64,
}

state!(ReadReclaim { values { reads, due, most } fixed { file, lines, stride } });

static MOST: Metric =
    Metric::new("read_reclaim.most", Unit::Count, "Highest disturbance of a page that the host read.");

impl ReadReclaim {
    /// Disturbance of a word line since the erase of its block: one for each read of the block, more for
    /// reads of the adjacent word lines.
    fn since_erase(&self, block: BlockSetId, line: u32) -> u64 {
        let (File { adjacent, whole_blocks, .. }, Reads { all, lines, .. }) =
            (&self.file, &self.reads[block.0 as usize]);
        let of = |line: u32| lines.get(line as usize).copied().unwrap_or(0);
        let beside = of(line.wrapping_sub(self.stride)) + of(line + self.stride);
        if *whole_blocks { all * adjacent } else { all + beside * (adjacent - 1) }
    }

    /// Disturbance of the data of a word line.
    fn disturbance(&self, block: BlockSetId, line: u32) -> u64 {
        self.since_erase(block, line) - self.reads[block.0 as usize].before[line as usize]
    }

    /// Request for the pages of a block that must be relocated before its next check.
    fn request(&self, block: BlockSetId, view: &View<'_>) -> Option<Maintenance> {
        let most = self.file.limit - MARGIN * self.file.adjacent;
        let lines = (0..).zip(&self.lines);
        let due = lines.filter(|(_, line)| self.disturbance(block, **line) >= most);
        let pages: Vec<_> = due.filter_map(|(n, _)| view.page_at(view.pools().at(block, n))).collect();
        let BlockInfo { state, valid, .. } = view.block(block);
        if state == State::Closed && valid > 0 && pages.len() as u32 == valid {
            return Some(Maintenance::Block(block));
        }
        (!pages.is_empty()).then_some(Maintenance::Pages(pages))
    }
}

impl Design for ReadReclaim {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn needs(&self) -> Needs {
        let observes = EventMask::READ | EventMask::PROGRAMMED | EventMask::ERASED;
        Needs { observes, ..Needs::of(&[ExtensionPoint::Maintain]) }
    }

    fn observe(&mut self, seen: &DeviceEvent<'_>, view: &mut View<'_>) {
        let split = |at: Location| view.pools().of_location(at).locations.split(at);
        match *seen {
            DeviceEvent::Read { from: Some(from), .. } => {
                let (block, place) = split(from);
                let line = self.lines[place as usize];
                self.most = self.most.max(self.disturbance(block, line));
                let reads = &mut self.reads[block.0 as usize];
                (reads.all, reads.lines[line as usize]) = (reads.all + 1, reads.lines[line as usize] + 1);
                self.due.extend(reads.all.is_multiple_of(CHECK_EVERY).then_some(block));
            }
            DeviceEvent::Programmed { first, locations, .. } => {
                for (block, place) in (first.0..first.0 + locations).map(|at| split(Location(at))) {
                    let line = self.lines[place as usize];
                    self.reads[block.0 as usize].before[line as usize] = self.since_erase(block, line);
                }
            }
            DeviceEvent::Erased { block, .. } => {
                let Reads { all, lines, before } = &mut self.reads[block.0 as usize];
                *all = 0;
                lines.iter_mut().chain(before).for_each(|count| *count = 0);
            }
            _ => {}
        }
    }

    fn maintenance(&mut self, view: &mut View<'_>) -> Option<Maintenance> {
        std::mem::take(&mut self.due).into_iter().find_map(|block| self.request(block, view))
    }

    fn measure(&self) -> Vec<(&'static Metric, Value)> {
        vec![(&MOST, Value::Number(self.most as f64))]
    }
}

impl DesignType for ReadReclaim {
    const NAME: &'static str = "read-reclaim";
    const DESCRIPTION: &'static str =
        "Word lines that reads disturbed too much are relocated, not whole blocks.";
    const PAGE: &str = include_str!("../page.md");

    type File = File;

    fn check(file: &File, config: &Config) -> Result<(), Complaints> {
        let mut wrong = Complaints::default();
        wrong.require((1..=1_000).contains(&file.adjacent), "adjacent", file.adjacent, "from 1 to 1000");
        let least = MARGIN * file.adjacent.min(1_000) + 1;
        let wanted = format!("from {least} to 2^30");
        wrong.require((least..=1 << 30).contains(&file.limit), "limit", file.limit, wanted);
        wrong.require(config.pools.count() == 1, "", "a device of several pools", "one pool");
        wrong.into_result(())
    }

    fn build(file: &File, config: &Config) -> Box<dyn Design> {
        let Pool { part, geometry, locations, .. } = config.pools.first();
        let page = |place| geometry.split(locations.page_of(locations.at(BlockSetId(0), place))).1;
        let line = |place| part.pages().word_line(geometry.page_in_block(page(place)));
        let (blocks, word_lines) = (config.pools.block_sets() as usize, part.pages().word_lines());
        let none = vec![0; word_lines as usize];
        Box::new(Self {
            file: file.clone(),
            lines: (0..locations.per_block()).map(line).collect(),
            stride: (word_lines / part.geometry.layers).max(1),
            reads: vec![Reads { all: 0, lines: none.clone(), before: none }; blocks],
            due: Vec::new(),
            most: 0,
        })
    }

    fn metrics() -> Vec<&'static Metric> {
        vec![&MOST]
    }

    fn presets() -> &'static [(&'static str, &'static str)] {
        &[("read-reclaim", include_str!("../read-reclaim.toml"))]
    }
}

/// The devices and designs of `wordline`, with one more design.
pub fn registry() -> Registry {
    Registry::default().with_design::<ReadReclaim>()
}
