//! Configuration of garbage collection, and its check.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::Complaints;
use wordline_nand::Geometry;

use crate::blocks::Streams;
use crate::policy::background::BackgroundKind;
use crate::policy::relocator::RelocatorKind;
use crate::policy::victim::VictimKind;

/// Unit of GC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// A block of a plane group, in one die.
    #[default]
    Row,
    /// A superblock: one block of each plane group of the device, opened one after the other for the same
    /// stream. The victim policy selects superblocks. A plane group collects another victim if its block
    /// gains nothing, or if it needs more free blocks before the other plane groups are done.
    SuperBlock,
}

/// How GC counts the free space that starts and stops it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FreeSpace {
    /// In free blocks.
    #[default]
    Blocks,
    /// In pages, as SSDSim counts them. A program consumes the pages that it writes, and an erase frees all
    /// pages of a native block. Pages that a block in another cell mode cannot hold never count as consumed,
    /// so the count exceeds the real free space. When only one free block is left in addition to the blocks
    /// reserved for GC, free blocks are counted instead.
    Programs,
}

impl FreeSpace {
    fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// Garbage collection of each plane group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GcFile {
    /// Victim policy: selects the block that is collected next.
    pub victim: VictimKind,
    /// Unit of GC: `row` for a block of one plane group, or `super-block` for one block of each plane group
    /// of the device.
    pub scope: Scope,
    /// Selects where the valid pages of a victim are relocated.
    pub relocator: RelocatorKind,
    /// GC starts when a plane group has fewer free blocks than this. The default is at least one more than
    /// the blocks reserved for GC. The number of reserved blocks grows with the streams and with a map in
    /// flash.
    pub start_below_free_blocks: u32,
    /// GC stops when this many blocks are free. The default is at least `start_below_free_blocks`.
    pub stop_at_free_blocks: u32,
    /// How free space is counted for the two watermarks above: in free blocks, or in `programs` as in SSDSim.
    #[serde(skip_serializing_if = "FreeSpace::is_usual")]
    pub free_space: FreeSpace,
    /// Whether GC relocates a program unit inside the chip (copyback), without using the bus, if all its
    /// pages are valid. Requires a part that programs one page of each plane at a time.
    pub copyback: bool,
    /// Whether GC yields to queued host commands between its own commands. It does so only while the plane
    /// group has free blocks beyond those reserved for GC.
    pub preemptible: bool,
    /// GC commands of a plane group for each program unit that the host writes there. The limit applies only
    /// while the plane group has free blocks beyond those reserved for GC. If absent, there is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub steps_per_write: Option<u32>,
    /// Whether GC keeps pace with host writes (paced GC). Its goal for a plane group is a number of pages
    /// that can be programmed before the next erase. The goal is the pages of one block more than
    /// `start_below_free_blocks`. Pages of open blocks count, and pages of the part of victims that GC has
    /// processed. GC runs until the goal is reached. The host waits for a plane group that is more than a
    /// program unit behind the goal. If false, GC starts when the host opens a block, and runs as fast as the
    /// die can until `stop_at_free_blocks` are free.
    pub paced: bool,
    /// Background GC, which runs while the host is idle.
    pub background: BackgroundKind,
}

impl Default for GcFile {
    /// Chosen: GC starts as late as is safe. Two blocks are reserved for GC itself.
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
    /// Whether pages are relocated by copyback if possible.
    pub fn uses_copyback(&self) -> bool {
        self.copyback
    }

    /// Greatest number of free blocks of a plane group up to which GC works, given the pool's own watermarks,
    /// if any.
    pub fn max_free_blocks(&self, start: Option<u32>, stop: Option<u32>) -> u32 {
        let start = start.unwrap_or(self.start_below_free_blocks);
        stop.unwrap_or(self.stop_at_free_blocks).max(if self.paced { start.saturating_add(1) } else { 0 })
    }

    /// Raises default watermarks to the minimum that a device with these `streams` needs.
    pub fn raise_watermarks(&mut self, streams: Streams, start_is_chosen: bool, stop_is_chosen: bool) {
        if !start_is_chosen {
            let least = streams.reserved_blocks() as u32 + 1;
            self.start_below_free_blocks = self.start_below_free_blocks.max(least);
        }
        if !stop_is_chosen {
            self.stop_at_free_blocks = self.stop_at_free_blocks.max(self.start_below_free_blocks);
        }
    }

    /// Adds complaints about the settings of a device with these streams, with keys below `ftl.gc`.
    pub fn check(&self, streams: Streams, wrong: &mut Complaints) {
        if let Some((key, found, wanted)) = self.victim.complaint() {
            wrong.add(format!("ftl.gc.victim.{key}"), found, wanted);
        }
        let (start, stop) = (self.start_below_free_blocks, self.stop_at_free_blocks);
        let kept = streams.reserved_blocks();
        wrong.require(
            start as usize > kept,
            "ftl.gc.start_below_free_blocks",
            start,
            format!("at least {}: {kept} blocks are reserved for GC", kept + 1),
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

    /// Adds complaints about the settings for these chips.
    pub fn check_chips(&self, geometry: &Geometry, wrong: &mut Complaints) {
        let (stop, blocks) = (self.stop_at_free_blocks, geometry.blocks_per_plane);
        wrong.require(
            stop < blocks,
            "ftl.gc.stop_at_free_blocks",
            stop,
            format!("fewer than the {blocks} blocks of a plane group"),
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
