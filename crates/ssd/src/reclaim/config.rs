//! The configuration of garbage collection, and its check.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::Complaints;
use wordline_nand::Geometry;

use crate::policy::background::BackgroundKind;
use crate::policy::relocator::RelocatorKind;
use crate::policy::victim::VictimKind;
use crate::space::Streams;

/// The unit of cleaning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// A block of a row of planes, which is in one die.
    #[default]
    Row,
    /// A super block: a block of each row of the device, which the rows opened one after the other for the same stream.
    /// The victim policy chooses among super blocks. A row cleans a victim of its own where its block gains nothing, and
    /// where it needs more before the other rows are done.
    SuperBlock,
}

/// The count of free space that starts and stops garbage collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FreeSpace {
    /// Free blocks.
    #[default]
    Blocks,
    /// Pages, as SSDSim counts them: a program takes those that it writes, and an erase gives back all of a native block. What a block in another
    /// cell mode lacks is never charged, so that the count runs ahead of the flash; when one free block is left beside those that are kept
    /// for GC, free blocks are counted.
    Programs,
}

impl FreeSpace {
    fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// Garbage collection, in each row of planes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GcFile {
    /// Which block is cleaned.
    pub victim: VictimKind,
    /// The unit of cleaning: `row` a block of a row of planes, `super-block` a block of each row of the device.
    pub scope: Scope,
    /// Where the valid pages of a victim go.
    pub relocator: RelocatorKind,
    /// Cleaning starts when fewer blocks than this are free in a row of planes. Where a file says nothing, at least one more than
    /// the blocks that are kept for the collector, of which streams and a map in flash want more.
    pub start_below_free_blocks: u32,
    /// Cleaning goes on until this many are free. Where a file says nothing, at least as many as it starts below.
    pub stop_at_free_blocks: u32,
    /// What the two marks above count: blocks, or `programs`, as SSDSim does.
    #[serde(skip_serializing_if = "FreeSpace::is_usual")]
    pub free_space: FreeSpace,
    /// Whether pages that are all valid and side by side in the planes move inside the chip (copyback), without the
    /// bus. Wants a part that programs a page of each plane at a time.
    pub copyback: bool,
    /// Whether the collector waits between its commands for the host's commands that wait for the die, as long as the
    /// row has free blocks beside those kept for the collector.
    pub preemptible: bool,
    /// Commands of the collector in a row for each program unit that the host writes there, as long as the row has free
    /// blocks beside those kept for the collector. Left out: as fast as the die can.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub steps_per_write: Option<u32>,
    /// Whether a row is cleaned at the pace of the host's writes: as soon as less than a block beyond
    /// `start_below_free_blocks` can be programmed there without an erase, open blocks and what was gone through of a victim counted
    /// in, until that much can; the host waits for a row that is more than a program unit behind. Otherwise a block of the host that is opened lets it clean as fast as the die can until
    /// `stop_at_free_blocks` are free.
    pub paced: bool,
    /// Cleaning while the host rests.
    pub background: BackgroundKind,
}

impl Default for GcFile {
    /// As late as is safe: two blocks are kept for the collector itself. Chosen.
    fn default() -> Self {
        Self {
            victim: VictimKind::default(),
            scope: Scope::default(),
            relocator: RelocatorKind::default(),
            start_below_free_blocks: 3,
            stop_at_free_blocks: 3,
            free_space: FreeSpace::default(),
            copyback: false,
            preemptible: false,
            steps_per_write: None,
            paced: false,
            background: BackgroundKind::default(),
        }
    }
}

impl GcFile {
    /// Whether pages move inside the chip where they can.
    pub fn moves_inside(&self) -> bool {
        self.copyback
    }

    /// Blocks of a row that the collector leaves free at the most, with marks of the row's pool where it has some of its own.
    pub fn left_free(&self, start: Option<u32>, stop: Option<u32>) -> u32 {
        let start = start.unwrap_or(self.start_below_free_blocks);
        stop.unwrap_or(self.stop_at_free_blocks).max(if self.paced { start.saturating_add(1) } else { 0 })
    }

    /// Raises the marks that are left out to the least that a device with these `streams` needs.
    pub fn raise_marks(&mut self, streams: Streams, start_is_chosen: bool, stop_is_chosen: bool) {
        if !start_is_chosen {
            let least = streams.kept_blocks() as u32 + 1;
            self.start_below_free_blocks = self.start_below_free_blocks.max(least);
        }
        if !stop_is_chosen {
            self.stop_at_free_blocks = self.stop_at_free_blocks.max(self.start_below_free_blocks);
        }
    }

    /// Complaints about the settings of a device with these streams, by key below `ftl.gc`.
    pub fn check(&self, streams: Streams, wrong: &mut Complaints) {
        if let Some((key, found, wanted)) = self.victim.complaint() {
            wrong.add(format!("ftl.gc.victim.{key}"), found, wanted);
        }
        let (start, stop) = (self.start_below_free_blocks, self.stop_at_free_blocks);
        let kept = streams.kept_blocks();
        wrong.require(
            start as usize > kept,
            "ftl.gc.start_below_free_blocks",
            start,
            format!("at least {}: {kept} blocks are kept for the collector", kept + 1),
        );
        wrong.require(
            stop >= start,
            "ftl.gc.stop_at_free_blocks",
            stop,
            format!("at least ftl.gc.start_below_free_blocks ({start})"),
        );
        if let Some(steps) = self.steps_per_write {
            wrong.require(steps > 0, "ftl.gc.steps_per_write", steps, "at least 1");
        }
        let two_paces = self.paced && self.steps_per_write.is_some();
        wrong.require(
            !two_paces,
            "ftl.gc.steps_per_write",
            "a number",
            "none beside ftl.gc.paced, which is a pace of its own",
        );
        if let Some((key, found, wanted)) = self.background.complaint() {
            wrong.add(format!("ftl.gc.background.{key}"), found, wanted);
        }
    }

    /// Complaints about the settings on these chips.
    pub fn check_chips(&self, geometry: &Geometry, wrong: &mut Complaints) {
        let (stop, blocks) = (self.stop_at_free_blocks, geometry.blocks_per_plane);
        wrong.require(
            stop < blocks,
            "ftl.gc.stop_at_free_blocks",
            stop,
            format!("fewer than the {blocks} blocks of a row of planes"),
        );
        let one_shot = geometry.pages_per_program != geometry.planes_per_row;
        wrong.require(
            !(self.copyback && one_shot),
            "ftl.gc.copyback",
            self.copyback,
            "false: the part programs all pages of a word line at once, and a copyback moves one page of each plane",
        );
    }
}
