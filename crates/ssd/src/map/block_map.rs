//! Block-level mapping (hybrid, with replacement or log blocks): logical blocks are mapped to multi-plane
//! blocks, and each page has a fixed offset in them.
//!
//! A *logical block* is the logical pages of one multi-plane block; page `p` is at offset `p` modulo the
//! locations of a block, in the *data block* of its logical block or in its *replacement block*. Blocks are
//! programmed in order. A write beyond the write pointer of the replacement block first copies all pages in
//! between; a write behind it causes a merge: the rest is copied, the replacement block becomes the data
//! block, and the old one is erased. If an operation failed in a replacement block so that it cannot take the
//! rest, it is merged with the data block into a third block.
//!
//! This module has only the rules, step by step; the device carries the steps out, with or without simulated
//! time.

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

/// Free blocks of a plane group that no replacement block uses. With one, a logical block that cannot be
/// merged into its replacement block is merged into a new block.
const RESERVED: usize = 1;

/// Multi-plane blocks of a logical block.
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
    /// Write the waiting page here.
    Write {
        /// Destination.
        to: Location,
    },
    /// Read this valid location, and [hold](BlockMap::hold) its data.
    Read {
        /// Location.
        from: Location,
    },
    /// Program the [held](BlockMap::held) data here, or padding if none is held.
    Program {
        /// Destination.
        to: Location,
    },
    /// Copy this valid location inside its planes (copyback).
    Copyback {
        /// Source.
        from: Location,
        /// Destination.
        to: Location,
    },
    /// Erase this block, which has no valid pages.
    Erase {
        /// Block to erase.
        block: BlockSetId,
    },
    /// Take this block, which has no valid pages, out of service. Takes no simulated time.
    Retire {
        /// Block to retire.
        block: BlockSetId,
    },
}

/// Extent of the copying of a logical block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum CopyLimit {
    /// Up to this offset, exclusive.
    Offset(u32),
    /// All valid pages elsewhere: a merge.
    Merged,
    /// A merge that continues only while the host is idle.
    MergedWhileIdle,
}

/// Copying of the pages of a logical block, in progress.
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
    /// Destination of the host page being written, or of the last one.
    write: Option<Location>,
    /// A page that was read and is to be programmed.
    held: Vec<Relocation>,
    /// Blocks without valid pages, to be erased.
    to_erase: VecDeque<BlockSetId>,
    /// Logical blocks with a replacement block, the least recently written one first.
    replaced: VecDeque<LogicalBlock>,
    /// Logical blocks merged before anything else is written: an operation failed in one of their blocks, or
    /// their data are cold.
    due: VecDeque<LogicalBlock>,
    /// Programs that failed since a host page was last written, or since the plane group was last idle.
    in_vain: u8,
    /// Whether too few good blocks are left, or too many programs fail.
    stuck: bool,
    /// Whether the plane group is out of service.
    lost: bool,
}

impl PlaneGroupState {
    /// Drops the pending work of a logical block that has one block or none.
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
    /// Logical block of each multi-plane block; `NONE` for blocks that are free or to be erased.
    owners: Column<BlockSetId, u32>,
    /// Targets of merges in which a program failed: third blocks of their logical blocks.
    strays: Vec<(LogicalBlock, BlockSetId)>,
    rows: Column<PlaneGroupId, PlaneGroupState>,
}

state!(BlockMap {
    values { strays, rows }
    parts { pairs, owners }
    fixed { locations, most, homes }
});

impl BlockMap {
    /// Empty map of a device configured for block-level mapping, where `home` returns the plane group of a
    /// page's logical block.
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
    /// block, and the one reserved free block.
    pub fn needs(&self, row: PlaneGroupId) -> u32 {
        self.homes[row] + 1 + RESERVED as u32
    }

    /// Logical block of a page, and the page's offset in it.
    #[inline]
    fn split(&self, page: LogicalPage) -> (LogicalBlock, u32) {
        let (logical, place) = self.locations.split(Location(page.0));
        (LogicalBlock(logical.0), place)
    }

    /// Next step of a plane group, given the page waiting to be written, if any; `None` if there is nothing
    /// to do or a step is in progress.
    pub fn next(
        &mut self,
        row: PlaneGroupId,
        waiting: Option<LogicalPage>,
        space: &mut BlockManager,
        chips: &Chips,
    ) -> Option<Step> {
        let state = &self.rows[row];
        if state.commands > 0 || state.lost || state.has_given_up() {
            return None;
        }
        loop {
            // Merged blocks are erased before anything else begins, so that no logical block occupies a third
            // block then.
            if !self.rows[row].to_erase.is_empty() {
                return self.next_erase(row, space);
            }
            if let Some(copying) = self.rows[row].copying {
                match self.copy(row, copying, space, chips) {
                    Some(step) => return Some(step),
                    None => continue,
                }
            }
            if let Some(logical) = self.rows[row].due.front().copied() {
                self.merge(row, logical, space, chips)?;
                continue;
            }
            let Some(page) = waiting else {
                self.rows[row].in_vain = 0;
                return None;
            };
            if let Some(to) = self.place(row, page, space, chips)? {
                self.rows[row].write = Some(to);
                return Some(Step::Write { to });
            }
        }
    }

    /// Erase of the next block that has no readers.
    fn next_erase(&mut self, row: PlaneGroupId, space: &BlockManager) -> Option<Step> {
        let to_erase = &mut self.rows[row].to_erase;
        let at = to_erase.iter().position(|block| space.can_erase(*block))?;
        let block = to_erase.remove(at).expect("it was just found");
        Some(if space.is_pending_retirement(block) { Step::Retire { block } } else { Step::Erase { block } })
    }

    /// Next step of copying; `None` when it is finished.
    fn copy(
        &mut self,
        row: PlaneGroupId,
        copying: Copying,
        space: &mut BlockManager,
        chips: &Chips,
    ) -> Option<Step> {
        let Copying { logical, into, until } = copying;
        let next = chips.programmed(into);
        let state = &mut self.rows[row];
        state.held.retain(|moved| space.is_valid(moved.from));
        if !state.held.is_empty() {
            return Some(Step::Program { to: space.program_at(into, next) });
        }
        let wanted = self.next_outside(logical, into, next, space);
        let end = match (until, wanted) {
            (CopyLimit::Offset(until), _) => until,
            (_, Some((place, _))) => place + 1,
            (_, None) => {
                self.merged(row, logical, into, space);
                return None;
            }
        };
        match wanted {
            _ if next >= end => {
                self.rows[row].copying = None;
                None
            }
            Some((place, from)) if place == next => Some(Step::Read { from }),
            _ => Some(Step::Program { to: space.program_at(into, next) }),
        }
    }

    /// First valid location of a logical block, at or after offset `place`, that is not in `into`, and its
    /// offset.
    fn next_outside(
        &self,
        logical: LogicalBlock,
        into: BlockSetId,
        place: u32,
        space: &BlockManager,
    ) -> Option<(u32, Location)> {
        let others = self.blocks_of(logical).filter(|other| *other != into);
        let first = others.filter_map(|other| {
            let at = space.next_valid(other, place)?;
            Some((at, self.locations.at(other, at)))
        });
        first.min_by_key(|(at, _)| *at)
    }

    /// Multi-plane blocks that may hold pages of a logical block, except the third block of a merge in
    /// progress.
    fn blocks_of(&self, logical: LogicalBlock) -> impl Iterator<Item = BlockSetId> + '_ {
        let pair = self.pairs[logical];
        let strays = self.strays.iter().filter(move |(of, _)| *of == logical).map(|(_, block)| *block);
        pair.data().into_iter().chain(pair.replacement()).chain(strays)
    }

    /// Location for a page. `Some(None)` if other work was begun that must be done first; `None` if nothing
    /// can be done.
    fn place(
        &mut self,
        row: PlaneGroupId,
        page: LogicalPage,
        space: &mut BlockManager,
        chips: &Chips,
    ) -> Option<Option<Location>> {
        let (logical, place) = self.split(page);
        let Some(replacement) = self.pairs[logical].replacement() else {
            self.open(row, logical, place, space, chips)?;
            return Some(None);
        };
        let next = chips.programmed(replacement);
        if place < next {
            self.merge(row, logical, space, chips)?;
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
            // The page fills the block: only the erase of the old block is left.
            state.copying = Some(Copying { logical, into: replacement, until: CopyLimit::Merged });
        } else if state.replaced.back() != Some(&logical) {
            state.replaced.retain(|other| *other != logical);
            state.replaced.push_back(logical);
        }
        Some(Some(space.program_at(replacement, place)))
    }

    /// Gives a logical block a replacement block that takes its page at offset `place`, or makes room for
    /// one. A data block that is not written up to that offset becomes its own replacement block.
    fn open(
        &mut self,
        row: PlaneGroupId,
        logical: LogicalBlock,
        place: u32,
        space: &mut BlockManager,
        chips: &Chips,
    ) -> Option<()> {
        let goes_on =
            |data: &BlockSetId| space.state(*data) == State::Closed && chips.programmed(*data) <= place;
        let data = self.pairs[logical].data().filter(goes_on);
        let state = &self.rows[row];
        let short = data.is_none() && space.free(row) <= RESERVED;
        if short || state.replaced.len() >= self.most {
            return match state.replaced.front().copied() {
                Some(oldest) => self.merge(row, oldest, space, chips),
                None => self.mark_stuck(row),
            };
        }
        if let Some(data) = data {
            space.reopen(data);
            self.pairs[logical] = Pair { data: NONE, replacement: data.0 };
        } else {
            let replacement = space.open_free(row, false).expect("more are free than are kept");
            self.owners[replacement] = logical.0;
            self.pairs[logical].replacement = replacement.0;
        }
        self.rows[row].replaced.push_back(logical);
        Some(())
    }

    /// Begins to merge a logical block: into its replacement block if that can take the rest, otherwise into
    /// a new block. If none is free, another logical block is merged first.
    fn merge(
        &mut self,
        row: PlaneGroupId,
        logical: LogicalBlock,
        space: &mut BlockManager,
        chips: &Chips,
    ) -> Option<()> {
        let into = if let Some(replacement) = self.merge_target(logical, space, chips) {
            replacement
        } else if self.blocks_of(logical).all(|block| space.valid(block) == 0) {
            self.release(row, logical, None, space);
            return Some(());
        } else if let Some(new) = space.open_free(row, true) {
            self.owners[new] = logical.0;
            new
        } else {
            let Some(other) = self.first_gaining_merge(row, space, chips) else {
                return self.mark_stuck(row);
            };
            return self.merge(row, other, space, chips);
        };
        self.rows[row].copying = Some(Copying { logical, into, until: CopyLimit::Merged });
        Some(())
    }

    /// Replacement block of a logical block, if it can take all valid pages from elsewhere.
    fn merge_target(&self, logical: LogicalBlock, space: &BlockManager, chips: &Chips) -> Option<BlockSetId> {
        let replacement = self.pairs[logical].replacement()?;
        let is_sound = space.state(replacement) == State::Open && !space.is_pending_retirement(replacement);
        let first = self.next_outside(logical, replacement, 0, space);
        let fits = first.is_none_or(|(place, _)| place >= chips.programmed(replacement));
        (is_sound && fits).then_some(replacement)
    }

    /// Ends a merge: all valid pages of the logical block are in `into`.
    fn merged(
        &mut self,
        row: PlaneGroupId,
        logical: LogicalBlock,
        into: BlockSetId,
        space: &mut BlockManager,
    ) {
        self.rows[row].copying = None;
        space.close_open(into);
        self.release(row, logical, Some(into), space);
        if space.is_pending_retirement(into) {
            self.rows[row].due.push_back(logical);
        }
    }

    /// Releases all blocks of a logical block except `data`; the others have no valid pages.
    fn release(
        &mut self,
        row: PlaneGroupId,
        logical: LogicalBlock,
        data: Option<BlockSetId>,
        space: &mut BlockManager,
    ) {
        loop {
            let mut old = self.blocks_of(logical).filter(|block| Some(*block) != data);
            let next = old.find(|block| space.state(*block) != State::Victim);
            drop(old);
            let Some(block) = next else { break };
            if space.state(block) == State::Open {
                space.close_open(block);
            }
            self.erase(row, block, space);
        }
        self.strays.retain(|(of, _)| *of != logical);
        self.pairs[logical] = Pair { data: data.map_or(NONE, |data| data.0), replacement: NONE };
        self.rows[row].settle(logical);
    }

    /// Queues a closed block without valid pages for erase.
    fn erase(&mut self, row: PlaneGroupId, block: BlockSetId, space: &mut BlockManager) {
        space.make_victim(block);
        self.owners[block] = NONE;
        self.rows[row].to_erase.push_back(block);
    }

    /// Marks a plane group as stuck: too few good blocks are left.
    fn mark_stuck(&mut self, row: PlaneGroupId) -> Option<()> {
        self.rows[row].stuck = true;
        None
    }

    /// Whether too few good blocks are left in a plane group.
    pub fn is_stuck(&self, row: PlaneGroupId) -> bool {
        self.rows[row].stuck
    }

    /// Records that a host page was programmed.
    pub fn page_written(&mut self, row: PlaneGroupId) {
        self.rows[row].in_vain = 0;
    }

    /// Destination of the page being written.
    pub fn write_target(&self, row: PlaneGroupId) -> Location {
        self.rows[row].write.expect("the row's step is a write")
    }

    /// Destination of the page copied next.
    pub fn copy_target(&self, row: PlaneGroupId, space: &mut BlockManager, chips: &Chips) -> Location {
        let into = self.rows[row].copying.expect("the row's step is a copy").into;
        space.program_at(into, chips.programmed(into))
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

    /// Page that the plane group's program writes; none if it writes padding.
    pub fn held(&self, row: PlaneGroupId) -> &[Relocation] {
        &self.rows[row].held
    }

    /// Takes the held page when the plane group's program is done.
    pub fn take_held(&mut self, row: PlaneGroupId) -> Option<Relocation> {
        self.rows[row].held.pop()
    }
}
