//! Block-level mapping (hybrid mapping with replacement or log blocks). Logical blocks are mapped to
//! multi-plane blocks, and each page has a fixed offset in them.
//!
//! A *logical block* is the logical pages of one multi-plane block. Page `p` is at offset `p` modulo the
//! locations of a block. It is in the *data block* of its logical block or in the *replacement block*.
//!
//! Blocks are programmed in order:
//!
//! * A write after the write pointer of the replacement block first copies all pages in between.
//! * A write before the write pointer causes a merge. The rest of the pages is copied, the replacement block
//!   becomes the data block, and the old data block is erased.
//! * If an operation failed in a replacement block and the block cannot take the rest, it is merged with the
//!   data block into a third block.
//!
//! This module determines the steps. `commands` executes them as die commands; preconditioning executes them in
//! no simulated time.

mod commands;
pub mod config;
mod group_work;
mod logical_blocks;
mod recovery;
mod static_allocation;
mod upkeep;

use wordline_kernel::{Column, state};
use wordline_nand::{BlockSetId, Chips, Location, PlaneGroupId};

use super::mapping::LogicalPage;
use crate::Config;
use crate::blocks::{BlockManager, State};
use crate::policy::placement::Placement;
use crate::pools::FALLBACK_POOL;
use group_work::{CopyLimit, Copying, GroupWork};
use logical_blocks::LogicalBlocks;

pub use logical_blocks::LogicalBlock;
pub use static_allocation::LogicalBlockPlacement;

/// Free blocks of a plane group that are not used as replacement blocks. One is needed: if a logical block
/// cannot be merged into its replacement block, it is merged into a new block.
const RESERVED: usize = 1;

/// Next step of a plane group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Writes the waiting page to a location.
    Write {
        /// Destination.
        to: Location,
    },
    /// Reads a valid location and holds its data.
    Read {
        /// Location.
        from: Location,
    },
    /// Programs the held data, or padding if no data are held.
    Program {
        /// Destination.
        to: Location,
    },
    /// Copies a valid location within its planes (copyback).
    Copyback {
        /// Source.
        from: Location,
        /// Destination.
        to: Location,
    },
    /// Erases a block without valid pages.
    Erase {
        /// The block.
        block: BlockSetId,
    },
    /// Takes a block without valid pages out of service. Takes no simulated time.
    Retire {
        /// The block.
        block: BlockSetId,
    },
}

/// Block-level map of a device.
pub struct BlockMap {
    /// Most replacement blocks of a plane group.
    most: usize,
    /// Number of logical blocks assigned to each plane group.
    homes: Column<PlaneGroupId, u32>,
    logical: LogicalBlocks,
    rows: Column<PlaneGroupId, GroupWork>,
    /// Whether pages are copied by copyback.
    uses_copyback: bool,
}

state!(BlockMap { values { rows } parts { logical } fixed { most, homes, uses_copyback } });

impl BlockMap {
    /// Empty map; `None` unless the configuration has block-level mapping. `placement` gives the plane group
    /// of each logical block.
    pub fn of(config: &Config, placement: &dyn Placement) -> Option<Box<Self>> {
        let file = config.file.ftl.mapping.block.as_ref()?;
        let (pools, per_block) = (&config.pools, config.locations().per_block());
        let logical_blocks = config.logical_blocks();
        let mut homes = Column::filled(pools.rows() as usize, 0);
        for row in
            (0..logical_blocks).filter_map(|logical| placement.home(logical * per_block, FALLBACK_POOL))
        {
            homes[row] += 1;
        }
        Some(Box::new(Self {
            most: file.replacements as usize,
            homes,
            logical: LogicalBlocks::new(logical_blocks, pools.block_sets(), *config.locations()),
            rows: Column::filled(pools.rows() as usize, GroupWork::default()),
            uses_copyback: config.file.ftl.gc.uses_copyback(),
        }))
    }

    /// Good blocks that a plane group needs: a data block for each of its logical blocks, a replacement
    /// block, and the reserved free block.
    pub fn needs(&self, row: PlaneGroupId) -> u32 {
        self.homes[row] + 1 + RESERVED as u32
    }

    /// Next step of a plane group; `None` if there is nothing to do or a step is in progress. `waiting` is
    /// the page that waits to be written, if any.
    pub fn next(
        &mut self,
        row: PlaneGroupId,
        waiting: Option<LogicalPage>,
        blocks: &mut BlockManager,
        chips: &Chips,
    ) -> Option<Step> {
        if self.rows[row].is_blocked() {
            return None;
        }
        loop {
            // Blocks that were merged are erased before other work begins, so that no logical block has a
            // third block then.
            if !self.rows[row].to_erase.is_empty() {
                return self.next_erase(row, blocks);
            }
            if let Some(copying) = self.rows[row].copying {
                match self.copy(row, copying, blocks, chips) {
                    Some(step) => return Some(step),
                    None => continue,
                }
            }
            if let Some(logical) = self.rows[row].due.front().copied() {
                self.merge(row, logical, blocks, chips)?;
                continue;
            }
            let Some(page) = waiting else {
                self.rows[row].note_progress();
                return None;
            };
            if let Some(to) = self.place(row, page, blocks, chips)? {
                self.rows[row].write = Some(to);
                return Some(Step::Write { to });
            }
        }
    }

    /// Erase or retirement of the next block without readers.
    fn next_erase(&mut self, row: PlaneGroupId, blocks: &BlockManager) -> Option<Step> {
        let block = self.rows[row].take_erasable(blocks)?;
        Some(if blocks.table().is_pending_retirement(block) {
            Step::Retire { block }
        } else {
            Step::Erase { block }
        })
    }

    /// Next step of copying; `None` if the copying has ended.
    fn copy(
        &mut self,
        row: PlaneGroupId,
        copying: Copying,
        blocks: &mut BlockManager,
        chips: &Chips,
    ) -> Option<Step> {
        let Copying { logical, into, until } = copying;
        let next = chips.programmed(into);
        let state = &mut self.rows[row];
        state.held.retain(|moved| blocks.table().is_valid(moved.from));
        if !state.held.is_empty() {
            return Some(Step::Program { to: blocks.program_at(into, next) });
        }
        let wanted = self.logical.next_outside(logical, into, next, blocks);
        let end = match (until, wanted) {
            (CopyLimit::Offset(until), _) => until,
            (_, Some((place, _))) => place + 1,
            (_, None) => {
                self.merged(row, logical, into, blocks);
                return None;
            }
        };
        match wanted {
            _ if next >= end => {
                self.rows[row].copying = None;
                None
            }
            Some((place, from)) if place == next => Some(Step::Read { from }),
            _ => Some(Step::Program { to: blocks.program_at(into, next) }),
        }
    }

    /// Location for a page. `Some(None)` if other work was begun that must be done first. `None` if nothing
    /// can be done.
    fn place(
        &mut self,
        row: PlaneGroupId,
        page: LogicalPage,
        blocks: &mut BlockManager,
        chips: &Chips,
    ) -> Option<Option<Location>> {
        let (logical, place) = self.logical.split(page);
        let Some(replacement) = self.logical.pair(logical).replacement() else {
            self.open(row, logical, place, blocks, chips)?;
            return Some(None);
        };
        let next = chips.programmed(replacement);
        if place < next {
            self.merge(row, logical, blocks, chips)?;
            return Some(None);
        }
        if place > next {
            self.rows[row].copying =
                Some(Copying { logical, into: replacement, until: CopyLimit::Offset(place) });
            return Some(None);
        }
        let is_last = place + 1 == self.logical.per_block();
        let state = &mut self.rows[row];
        if is_last {
            // The page fills the block, so only the erase of the old block is left.
            state.copying = Some(Copying { logical, into: replacement, until: CopyLimit::Merged });
        } else {
            state.note_written(logical);
        }
        Some(Some(blocks.program_at(replacement, place)))
    }

    /// Opens a replacement block for the page of a logical block at offset `place`, or begins a merge that
    /// gains space for one. If the data block is not written up to that offset, it becomes its own
    /// replacement block.
    fn open(
        &mut self,
        row: PlaneGroupId,
        logical: LogicalBlock,
        place: u32,
        blocks: &mut BlockManager,
        chips: &Chips,
    ) -> Option<()> {
        let goes_on = |data: &BlockSetId| {
            blocks.table().state(*data) == State::Closed && chips.programmed(*data) <= place
        };
        let data = self.logical.pair(logical).data().filter(goes_on);
        let state = &self.rows[row];
        let short = data.is_none() && blocks.space().free(row) <= RESERVED;
        if short || state.replaced.len() >= self.most {
            return match state.replaced.front().copied() {
                Some(oldest) => self.merge(row, oldest, blocks, chips),
                None => self.rows[row].mark_stuck(),
            };
        }
        if let Some(data) = data {
            blocks.reopen(data);
            self.logical.replace_by_data(logical, data);
        } else {
            let replacement = blocks.open_free(row, false).expect("more are free than are kept");
            self.logical.replace(logical, replacement);
        }
        self.rows[row].replaced.push_back(logical);
        Some(())
    }

    /// Begins to merge a logical block. It is merged into its replacement block if this block can take all
    /// remaining pages, otherwise into a new block. If no block is free, another logical block is merged
    /// first.
    fn merge(
        &mut self,
        row: PlaneGroupId,
        logical: LogicalBlock,
        blocks: &mut BlockManager,
        chips: &Chips,
    ) -> Option<()> {
        let into = if let Some(replacement) = self.logical.merge_target(logical, blocks, chips) {
            replacement
        } else if self.logical.blocks_of(logical).all(|block| blocks.table().valid(block) == 0) {
            self.release(row, logical, None, blocks);
            return Some(());
        } else if let Some(new) = blocks.open_free(row, true) {
            self.logical.own(new, logical);
            new
        } else {
            let Some(other) = self.first_gaining_merge(row, blocks, chips) else {
                return self.rows[row].mark_stuck();
            };
            return self.merge(row, other, blocks, chips);
        };
        self.rows[row].copying = Some(Copying { logical, into, until: CopyLimit::Merged });
        Some(())
    }

    /// Ends a merge. All valid pages of the logical block are in `into` now.
    fn merged(
        &mut self,
        row: PlaneGroupId,
        logical: LogicalBlock,
        into: BlockSetId,
        blocks: &mut BlockManager,
    ) {
        self.rows[row].copying = None;
        blocks.close_open(into);
        self.release(row, logical, Some(into), blocks);
        if blocks.table().is_pending_retirement(into) {
            self.rows[row].due.push_back(logical);
        }
    }

    /// Releases all blocks of a logical block except `data`. The others have no valid pages.
    fn release(
        &mut self,
        row: PlaneGroupId,
        logical: LogicalBlock,
        data: Option<BlockSetId>,
        blocks: &mut BlockManager,
    ) {
        loop {
            let mut old = self.logical.blocks_of(logical).filter(|block| Some(*block) != data);
            let next = old.find(|block| blocks.table().state(*block) != State::Victim);
            drop(old);
            let Some(block) = next else { break };
            if blocks.table().state(block) == State::Open {
                blocks.close_open(block);
            }
            self.erase(row, block, blocks);
        }
        self.logical.keep_only(logical, data);
        self.rows[row].settle(logical);
    }

    /// Queues a closed block without valid pages for erase.
    fn erase(&mut self, row: PlaneGroupId, block: BlockSetId, blocks: &mut BlockManager) {
        blocks.make_victim(block);
        self.logical.disown(block);
        self.rows[row].to_erase.push_back(block);
    }

    /// Checks that each valid page is at its offset, in a block of its logical block. Also checks that pages
    /// before the write pointer of a replacement block are valid nowhere else. Panics otherwise. The time
    /// grows with the number of pages.
    pub fn audit(&self, blocks: &BlockManager, chips: &Chips) {
        for block in self.logical.all_blocks().filter(|block| blocks.table().valid(*block) > 0) {
            let logical = self.logical.owner(block).expect("a block with valid pages is of a logical block");
            let row = blocks.table().group_of(block);
            let is_target = self.rows[row].copying.is_some_and(|copying| copying.into == block);
            let known = self.logical.blocks_of(logical).any(|known| known == block);
            assert!(known || is_target, "{block:?} holds pages of {logical:?}, which has it not");
            self.logical.audit_places(logical, block, blocks, chips);
        }
        for (row, state) in self.rows.entries() {
            for logical in &state.replaced {
                let replacement = self.logical.pair(*logical).replacement();
                let replacement =
                    replacement.expect("a logical block that is listed has a replacement block");
                assert_eq!(blocks.table().group_of(replacement), row, "{replacement:?} of {logical:?}");
                let merges = state.copying.is_some_and(|copying| copying.logical == *logical);
                if !merges && !state.due.contains(logical) {
                    assert_eq!(
                        self.logical.merge_target(*logical, blocks, chips),
                        Some(replacement),
                        "{logical:?} has valid pages that its replacement block has passed"
                    );
                }
            }
        }
    }

    /// Checks the loaded state.
    pub(crate) fn check_loaded(&self) -> Result<(), String> {
        self.logical.check_loaded()
    }
}
