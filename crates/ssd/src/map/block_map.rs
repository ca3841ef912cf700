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
//! This module determines the steps. The device executes them, with or without simulated time.

mod audit;
pub mod config;
mod failing;
mod recovery;
mod static_allocation;
mod upkeep;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wordline_kernel::{Column, id, state, word};
use wordline_nand::{BlockSetId, Chips, Location, Locations, PlaneGroupId};

use super::mapping::LogicalPage;
use crate::Config;
use crate::blocks::{BlockManager, State};
use crate::map::Relocation;

pub use static_allocation::LogicalBlockPlacement;

id!(
    /// A logical block: the logical pages of a multi-plane block.
    LogicalBlock
);

const NONE: u32 = u32::MAX;

/// Free blocks of a plane group that are not used as replacement blocks. One is needed: if a logical block
/// cannot be merged into its replacement block, it is merged into a new block.
const RESERVED: usize = 1;

/// The multi-plane blocks of a logical block.
#[derive(Clone, Copy, Debug)]
struct Pair {
    data: u32,
    replacement: u32,
}

word!(Pair { data: u32, replacement: u32 });

const NOWHERE: Pair = Pair { data: NONE, replacement: NONE };

fn block(number: u32) -> Option<BlockSetId> {
    (number != NONE).then_some(BlockSetId(number))
}

impl Pair {
    fn data(self) -> Option<BlockSetId> {
        block(self.data)
    }

    fn replacement(self) -> Option<BlockSetId> {
        block(self.replacement)
    }
}

/// Next step of a plane group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Writes the waiting page to a location.
    Write {
        /// Destination.
        to: Location,
    },
    /// Reads a valid location and [holds](BlockMap::hold) its data.
    Read {
        /// Location.
        from: Location,
    },
    /// Programs the [held](BlockMap::held) data, or padding if no data are held.
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

/// End of the copying of a logical block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum CopyLimit {
    /// Copies up to this offset (exclusive).
    Offset(u32),
    /// Copies all valid pages that are elsewhere: a merge.
    Merged,
    /// A merge that continues only while the host is idle.
    MergedWhileIdle,
}

/// Copying in progress of the pages of a logical block.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Copying {
    logical: LogicalBlock,
    into: BlockSetId,
    until: CopyLimit,
}

/// State of a plane group.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct PlaneGroupState {
    /// Commands of the current step that are queued or in progress.
    commands: u32,
    copying: Option<Copying>,
    /// Destination of the host page that is being written, or of the last one.
    write: Option<Location>,
    /// Pages that were read and must be programmed.
    held: Vec<Relocation>,
    /// Blocks without valid pages that must be erased.
    to_erase: VecDeque<BlockSetId>,
    /// Logical blocks with a replacement block. The least recently written one is first.
    replaced: VecDeque<LogicalBlock>,
    /// Logical blocks that must be merged before other data are written, because an operation failed in one
    /// of their blocks or their data are cold.
    due: VecDeque<LogicalBlock>,
    /// Number of program failures since a host page was last written or the plane group was last idle.
    in_vain: u8,
    /// Whether the plane group has too few good blocks, or too many programs failed.
    stuck: bool,
    /// Whether the plane group is out of service.
    lost: bool,
}

impl PlaneGroupState {
    /// Drops the pending work of a logical block that has at most one block.
    fn settle(&mut self, logical: LogicalBlock) {
        self.replaced.retain(|other| *other != logical);
        self.due.retain(|other| *other != logical);
    }
}

/// Block-level map of a device.
pub struct BlockMap {
    locations: Locations,
    /// Most replacement blocks of a plane group.
    most: usize,
    /// Number of logical blocks assigned to each plane group.
    homes: Column<PlaneGroupId, u32>,
    pairs: Column<LogicalBlock, Pair>,
    /// Logical block of each multi-plane block; `NONE` for a block that is free or waits for an erase.
    owners: Column<BlockSetId, u32>,
    /// Third blocks of logical blocks: targets of merges in which a program failed.
    strays: Vec<(LogicalBlock, BlockSetId)>,
    rows: Column<PlaneGroupId, PlaneGroupState>,
}

state!(BlockMap {
    values { strays, rows }
    parts { pairs, owners }
    fixed { locations, most, homes }
});

impl BlockMap {
    /// Empty map; `None` unless the configuration has block-level mapping. `home` returns the plane group of
    /// a page's logical block.
    pub fn of(config: &Config, home: impl Fn(u32) -> Option<PlaneGroupId>) -> Option<Self> {
        let file = config.file.ftl.mapping.block.as_ref()?;
        let (pools, per_block) = (&config.pools, config.locations().per_block());
        let logical_blocks = config.logical_blocks();
        let mut homes = Column::filled(pools.rows() as usize, 0);
        for row in (0..logical_blocks).filter_map(|logical| home(logical * per_block)) {
            homes[row] += 1;
        }
        Some(Self {
            locations: *config.locations(),
            most: file.replacements as usize,
            homes,
            pairs: Column::filled(logical_blocks as usize, NOWHERE),
            owners: Column::filled(pools.block_sets() as usize, NONE),
            strays: Vec::new(),
            rows: Column::filled(pools.rows() as usize, PlaneGroupState::default()),
        })
    }

    /// Good blocks that a plane group needs: a data block for each of its logical blocks, a replacement
    /// block, and the reserved free block.
    pub fn needs(&self, row: PlaneGroupId) -> u32 {
        self.homes[row] + 1 + RESERVED as u32
    }

    /// Logical block of a page, and offset of the page in it.
    #[inline]
    fn split(&self, page: LogicalPage) -> (LogicalBlock, u32) {
        let (logical, place) = self.locations.split(Location(page.0));
        (LogicalBlock(logical.0), place)
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
        let state = &self.rows[row];
        if state.commands > 0 || state.lost || state.has_given_up() {
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
                self.rows[row].in_vain = 0;
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
        let to_erase = &mut self.rows[row].to_erase;
        let at = to_erase.iter().position(|block| blocks.table().can_erase(*block))?;
        let block = to_erase.remove(at).expect("it was just found");
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
        let wanted = self.next_outside(logical, into, next, blocks);
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

    /// First valid location of a logical block that is outside `into` and at or after offset `place`, with
    /// its offset.
    fn next_outside(
        &self,
        logical: LogicalBlock,
        into: BlockSetId,
        place: u32,
        blocks: &BlockManager,
    ) -> Option<(u32, Location)> {
        let others = self.blocks_of(logical).filter(|other| *other != into);
        let first = others.filter_map(|other| {
            let at = blocks.table().next_valid(other, place)?;
            Some((at, self.locations.at(other, at)))
        });
        first.min_by_key(|(at, _)| *at)
    }

    /// Multi-plane blocks that may have pages of a logical block, except the third block of a merge in
    /// progress.
    fn blocks_of(&self, logical: LogicalBlock) -> impl Iterator<Item = BlockSetId> + '_ {
        let pair = self.pairs[logical];
        let strays = self.strays.iter().filter(move |(of, _)| *of == logical).map(|(_, block)| *block);
        pair.data().into_iter().chain(pair.replacement()).chain(strays)
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
        let (logical, place) = self.split(page);
        let Some(replacement) = self.pairs[logical].replacement() else {
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
        let is_last = place + 1 == self.locations.per_block();
        let state = &mut self.rows[row];
        if is_last {
            // The page fills the block, so only the erase of the old block is left.
            state.copying = Some(Copying { logical, into: replacement, until: CopyLimit::Merged });
        } else if state.replaced.back() != Some(&logical) {
            state.replaced.retain(|other| *other != logical);
            state.replaced.push_back(logical);
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
        let data = self.pairs[logical].data().filter(goes_on);
        let state = &self.rows[row];
        let short = data.is_none() && blocks.space().free(row) <= RESERVED;
        if short || state.replaced.len() >= self.most {
            return match state.replaced.front().copied() {
                Some(oldest) => self.merge(row, oldest, blocks, chips),
                None => self.mark_stuck(row),
            };
        }
        if let Some(data) = data {
            blocks.reopen(data);
            self.pairs[logical] = Pair { data: NONE, replacement: data.0 };
        } else {
            let replacement = blocks.open_free(row, false).expect("more are free than are kept");
            self.owners[replacement] = logical.0;
            self.pairs[logical].replacement = replacement.0;
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
        let into = if let Some(replacement) = self.merge_target(logical, blocks, chips) {
            replacement
        } else if self.blocks_of(logical).all(|block| blocks.table().valid(block) == 0) {
            self.release(row, logical, None, blocks);
            return Some(());
        } else if let Some(new) = blocks.open_free(row, true) {
            self.owners[new] = logical.0;
            new
        } else {
            let Some(other) = self.first_gaining_merge(row, blocks, chips) else {
                return self.mark_stuck(row);
            };
            return self.merge(row, other, blocks, chips);
        };
        self.rows[row].copying = Some(Copying { logical, into, until: CopyLimit::Merged });
        Some(())
    }

    /// Replacement block of a logical block, if it can take all valid pages from the other blocks.
    fn merge_target(
        &self,
        logical: LogicalBlock,
        blocks: &BlockManager,
        chips: &Chips,
    ) -> Option<BlockSetId> {
        let replacement = self.pairs[logical].replacement()?;
        let is_sound = blocks.table().state(replacement) == State::Open
            && !blocks.table().is_pending_retirement(replacement);
        let first = self.next_outside(logical, replacement, 0, blocks);
        let fits = first.is_none_or(|(place, _)| place >= chips.programmed(replacement));
        (is_sound && fits).then_some(replacement)
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
            let mut old = self.blocks_of(logical).filter(|block| Some(*block) != data);
            let next = old.find(|block| blocks.table().state(*block) != State::Victim);
            drop(old);
            let Some(block) = next else { break };
            if blocks.table().state(block) == State::Open {
                blocks.close_open(block);
            }
            self.erase(row, block, blocks);
        }
        self.strays.retain(|(of, _)| *of != logical);
        self.pairs[logical] = Pair { data: data.map_or(NONE, |data| data.0), replacement: NONE };
        self.rows[row].settle(logical);
    }

    /// Queues a closed block without valid pages for erase.
    fn erase(&mut self, row: PlaneGroupId, block: BlockSetId, blocks: &mut BlockManager) {
        blocks.make_victim(block);
        self.owners[block] = NONE;
        self.rows[row].to_erase.push_back(block);
    }

    /// Marks a plane group as stuck, because too few good blocks are left.
    fn mark_stuck(&mut self, row: PlaneGroupId) -> Option<()> {
        self.rows[row].stuck = true;
        None
    }

    /// Whether a plane group is stuck, because too few good blocks are left or too many programs failed.
    pub fn is_stuck(&self, row: PlaneGroupId) -> bool {
        self.rows[row].stuck
    }

    /// Records that a host page was programmed.
    pub fn page_written(&mut self, row: PlaneGroupId) {
        self.rows[row].in_vain = 0;
    }

    /// Destination of the page that is being written.
    pub fn write_target(&self, row: PlaneGroupId) -> Location {
        self.rows[row].write.expect("the row's step is a write")
    }

    /// Destination of the page that is copied next.
    pub fn copy_target(&self, row: PlaneGroupId, blocks: &mut BlockManager, chips: &Chips) -> Location {
        let into = self.rows[row].copying.expect("the row's step is a copy").into;
        blocks.program_at(into, chips.programmed(into))
    }

    /// Sets the number of commands of the current step of a plane group.
    pub fn begin(&mut self, row: PlaneGroupId, commands: u32) {
        self.rows[row].commands = commands;
    }

    /// Records that a command of the plane group's step is done.
    pub fn command_done(&mut self, row: PlaneGroupId) {
        self.rows[row].commands -= 1;
    }

    /// Holds a page that was read for the plane group's copying.
    pub fn hold(&mut self, row: PlaneGroupId, moved: Relocation) {
        self.rows[row].held.push(moved);
    }

    /// Page that the plane group's program writes; empty if it writes padding.
    pub fn held(&self, row: PlaneGroupId) -> &[Relocation] {
        &self.rows[row].held
    }

    /// Takes the held page after the plane group's program.
    pub fn take_held(&mut self, row: PlaneGroupId) -> Option<Relocation> {
        self.rows[row].held.pop()
    }
}
