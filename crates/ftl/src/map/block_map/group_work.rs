//! Work of a plane group under block-level mapping: the step in progress, and what must be done next.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wordline_flash::policy::failure::MOST_FAILURES;
use wordline_nand::{BlockSetId, Location};

use super::logical_blocks::LogicalBlock;
use crate::blocks::BlockManager;
use crate::map::Relocation;

/// End of the copying of a logical block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum CopyLimit {
    /// Copies up to this offset (exclusive).
    Offset(u32),
    /// Copies all valid pages that are elsewhere: a merge.
    Merged,
    /// A merge that continues only while the host is idle.
    MergedWhileIdle,
}

/// Copying in progress of the pages of a logical block.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Copying {
    pub logical: LogicalBlock,
    pub into: BlockSetId,
    pub until: CopyLimit,
}

/// Work of a plane group.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct GroupWork {
    /// Commands of the current step that are queued or in progress.
    commands: u32,
    pub(super) copying: Option<Copying>,
    /// Destination of the host page that is being written, or of the last one.
    pub(super) write: Option<Location>,
    /// Pages that were read and must be programmed.
    pub(super) held: Vec<Relocation>,
    /// Blocks without valid pages that must be erased.
    pub(super) to_erase: VecDeque<BlockSetId>,
    /// Blocks that are not erased yet, of which pages were copied to another block.
    copied_from: Vec<BlockSetId>,
    /// Logical blocks with a replacement block. The least recently written one is first.
    pub(super) replaced: VecDeque<LogicalBlock>,
    /// Logical blocks that must be merged before other data are written, because an operation failed in one
    /// of their blocks or their data are cold.
    pub(super) due: VecDeque<LogicalBlock>,
    /// Number of program failures since a host page was last written or the plane group was last idle.
    in_vain: u8,
    /// Whether the plane group has too few good blocks, or too many programs failed.
    stuck: bool,
    /// Whether the plane group is out of service.
    lost: bool,
}

impl GroupWork {
    /// Drops the pending work of a logical block that has at most one block.
    pub fn settle(&mut self, logical: LogicalBlock) {
        self.replaced.retain(|other| *other != logical);
        self.due.retain(|other| *other != logical);
    }

    /// Begins a step of this many commands.
    pub fn begin(&mut self, commands: u32) {
        self.commands = commands;
    }

    /// Records that a command of the step is done.
    pub fn command_done(&mut self) {
        self.commands -= 1;
    }

    /// Records that the host was served, or has nothing to write. Earlier program failures do not count any
    /// more.
    pub fn note_progress(&mut self) {
        self.in_vain = 0;
    }

    /// Whether no step may begin: one is in progress, or the plane group is out of service or has given up.
    pub fn is_blocked(&self) -> bool {
        self.commands > 0 || self.lost || self.has_given_up()
    }

    /// Whether there is no pending work besides host requests.
    pub fn is_at_rest(&self) -> bool {
        let has_more = self.copying.is_some() || !self.to_erase.is_empty() || !self.due.is_empty();
        !(self.is_blocked() || has_more || self.stuck)
    }

    /// Whether the plane group is stuck, because too few good blocks are left or too many programs failed.
    pub fn is_stuck(&self) -> bool {
        self.stuck
    }

    /// Marks the plane group as stuck, because too few good blocks are left.
    pub fn mark_stuck(&mut self) -> Option<()> {
        self.stuck = true;
        None
    }

    /// Whether the plane group has given up after repeated program failures.
    fn has_given_up(&self) -> bool {
        self.in_vain == MOST_FAILURES
    }

    /// Records that a program failed in the plane group.
    pub fn program_failed(&mut self) {
        self.held.clear();
        self.copying = None;
        self.in_vain = self.in_vain.saturating_add(1);
        self.stuck |= self.has_given_up();
    }

    /// Clears a plane group that is out of service, except for commands in progress.
    pub fn lose(&mut self) {
        *self = Self { commands: self.commands, lost: true, ..Self::default() };
    }

    /// Queues the merge of a logical block before other data are written.
    pub fn queue_merge(&mut self, logical: LogicalBlock) {
        if !self.due.contains(&logical) {
            self.due.push_back(logical);
        }
    }

    /// Records that the replacement block of a logical block was written last.
    pub fn note_written(&mut self, logical: LogicalBlock) {
        if self.replaced.back() != Some(&logical) {
            self.replaced.retain(|other| *other != logical);
            self.replaced.push_back(logical);
        }
    }

    /// Records that a page of a block was copied to another block.
    pub fn note_copied_from(&mut self, block: BlockSetId) {
        if !self.copied_from.contains(&block) {
            self.copied_from.push(block);
        }
    }

    /// Whether pages of a block that is erased now were copied to another block.
    pub fn take_copied_from(&mut self, block: BlockSetId) -> bool {
        let at = self.copied_from.iter().position(|other| *other == block);
        at.map(|at| self.copied_from.swap_remove(at)).is_some()
    }

    /// Takes the next block that waits for its erase and has no readers.
    pub fn take_erasable(&mut self, blocks: &BlockManager) -> Option<BlockSetId> {
        let at = self.to_erase.iter().position(|block| blocks.table().can_erase(*block))?;
        Some(self.to_erase.remove(at).expect("it was just found"))
    }

    /// Stops a background merge between two commands, because the host is active again. Pages that were
    /// already copied stay in the replacement block.
    pub fn stop_merge(&mut self) {
        let is_background = |copying: Copying| copying.until == CopyLimit::MergedWhileIdle;
        if self.commands == 0 && self.copying.is_some_and(is_background) {
            self.copying = None;
            self.held.clear();
        }
    }
}
