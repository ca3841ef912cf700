//! The block map: logical blocks on block sets, each page at the place that its number gives it.
//!
//! A *logical block* is the logical pages of one block set; page `p` lies at place `p` modulo the locations of a block, in the
//! *data block* of its logical block or in its *replacement block*. Blocks are programmed in order, so a page that is written
//! first lets everything between it and the last page of the replacement block be copied there, and a page that lies behind
//! that point ends in a merge: the rest is copied, the replacement block becomes the data block, and the old one is erased.
//! A replacement block that cannot take the rest, because something failed in it, is merged with the data block into a third.
//!
//! Only the rules are here, step by step; the device carries the steps out, with time or without.

mod audit;
pub mod config;
mod failing;
mod homes;
mod recovery;
mod upkeep;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wordline_kernel::{Column, id, state, word};
use wordline_nand::{BlockSetId, Chips, Location, Locations, RowId};

use super::mapping::LogicalPage;
use crate::Config;
use crate::map::Moved;
use crate::space::{Space, State};

pub use homes::ByBlock;

id!(
    /// A logical block: the logical pages of a block set.
    LogicalBlock
);

const NONE: u32 = u32::MAX;

/// Free blocks of a row beside which no replacement block is opened. With one, a logical block that cannot be merged into its
/// replacement block is merged into a new one.
const KEPT: usize = 1;

/// The block sets of a logical block.
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

/// The next step of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Write the page that waits here.
    Write {
        /// Its location.
        to: Location,
    },
    /// Read this valid location, and [hold](BlockMap::hold) what was in it.
    Read {
        /// The location.
        from: Location,
    },
    /// Program what is [held](BlockMap::held) here, or padding if nothing is.
    Program {
        /// The location.
        to: Location,
    },
    /// Move this valid location inside its planes.
    Move {
        /// The location.
        from: Location,
        /// Where it goes.
        to: Location,
    },
    /// Erase this block, which holds nothing valid.
    Erase {
        /// The block.
        block: BlockSetId,
    },
    /// Take this block, which holds nothing valid, out of use. Takes no time.
    Retire {
        /// The block.
        block: BlockSetId,
    },
}

/// How far pages of a logical block are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Until {
    /// Up to this place, which is not copied any more.
    Place(u32),
    /// All that is valid elsewhere: it is merged.
    Merged,
    /// The same, as long as the host is idle.
    MergedWhileIdle,
}

/// Pages of a logical block are being copied.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Copying {
    logical: LogicalBlock,
    into: BlockSetId,
    until: Until,
}

/// Where a row is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct RowState {
    /// Commands of the present step that are queued or under way.
    commands: u32,
    copying: Option<Copying>,
    /// Where the host's page is written, or was last.
    write: Option<Location>,
    /// A page that was read and is to be programmed.
    held: Vec<Moved>,
    /// Blocks without anything valid.
    to_erase: VecDeque<BlockSetId>,
    /// Logical blocks with a replacement block, the one written least recently in front.
    replaced: VecDeque<LogicalBlock>,
    /// Logical blocks that are merged before anything else is written: something failed in one of their blocks, or their data lie still.
    due: VecDeque<LogicalBlock>,
    /// Programs that failed since a page of the host was last written, or nothing was left to be done.
    in_vain: u8,
    /// Whether too few good blocks are left to go on, or too much fails.
    stuck: bool,
    /// Whether the row is out of use as a whole.
    lost: bool,
}

impl RowState {
    /// A logical block has one block only, or none: nothing is to be done for it.
    fn settle(&mut self, logical: LogicalBlock) {
        self.replaced.retain(|other| *other != logical);
        self.due.retain(|other| *other != logical);
    }
}

/// The map of a device by whole blocks.
pub struct BlockMap {
    locations: Locations,
    /// Replacement blocks of a row.
    most: usize,
    /// Logical blocks that live in each row.
    homes: Column<RowId, u32>,
    pairs: Column<LogicalBlock, Pair>,
    /// The logical block of each block set; none of those that are free or to be erased.
    owners: Column<BlockSetId, u32>,
    /// Blocks that a merge was to go to, before a program failed in them: third ones of their logical blocks.
    strays: Vec<(LogicalBlock, BlockSetId)>,
    rows: Column<RowId, RowState>,
}

state!(BlockMap {
    values { strays, rows }
    parts { pairs, owners }
    fixed { locations, most, homes }
});

impl BlockMap {
    /// The map of a device that has one, with nothing written, where `home` is the row of the logical block that a page is in.
    pub fn of(config: &Config, home: impl Fn(u32) -> Option<RowId>) -> Option<Self> {
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
            rows: Column::filled(pools.rows() as usize, RowState::default()),
        })
    }

    /// Good blocks without which a row cannot go on: a data block for each of its logical blocks, a replacement block, and
    /// the one that is kept free.
    pub fn needs(&self, row: RowId) -> u32 {
        self.homes[row] + 1 + KEPT as u32
    }

    /// The logical block of a page and the page's place in it.
    #[inline]
    fn split(&self, page: LogicalPage) -> (LogicalBlock, u32) {
        let (logical, place) = self.locations.split(Location(page.0));
        (LogicalBlock(logical.0), place)
    }

    /// The next step of a row where a page may wait to be written; `None` if nothing is to be done now, or a step is in
    /// progress.
    pub fn next(
        &mut self,
        row: RowId,
        waiting: Option<LogicalPage>,
        space: &mut Space,
        chips: &Chips,
    ) -> Option<Step> {
        let state = &self.rows[row];
        if state.commands > 0 || state.lost || state.gives_up() {
            return None;
        }
        loop {
            // Nothing else begins before what was merged is erased: a logical block is in no third block then.
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

    /// The next block to be erased that has no readers any more.
    fn next_erase(&mut self, row: RowId, space: &Space) -> Option<Step> {
        let to_erase = &mut self.rows[row].to_erase;
        let at = to_erase.iter().position(|block| space.is_clean(*block))?;
        let block = to_erase.remove(at).expect("it was just found");
        Some(if space.is_condemned(block) { Step::Retire { block } } else { Step::Erase { block } })
    }

    /// The next step of copying; none if that is over.
    fn copy(&mut self, row: RowId, copying: Copying, space: &mut Space, chips: &Chips) -> Option<Step> {
        let Copying { logical, into, until } = copying;
        let next = chips.programmed(into);
        let state = &mut self.rows[row];
        state.held.retain(|moved| space.is_valid(moved.from));
        if !state.held.is_empty() {
            return Some(Step::Program { to: space.program_at(into, next) });
        }
        let wanted = self.next_outside(logical, into, next, space);
        let end = match (until, wanted) {
            (Until::Place(until), _) => until,
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

    /// The first valid location of a logical block from `place` on that is not in `into`, with its place.
    fn next_outside(
        &self,
        logical: LogicalBlock,
        into: BlockSetId,
        place: u32,
        space: &Space,
    ) -> Option<(u32, Location)> {
        let others = self.blocks_of(logical).filter(|other| *other != into);
        let first = others.filter_map(|other| {
            let at = space.next_valid(other, place)?;
            Some((at, self.locations.at(other, at)))
        });
        first.min_by_key(|(at, _)| *at)
    }

    /// The block sets that may hold pages of a logical block, but for a third one that is being merged into.
    fn blocks_of(&self, logical: LogicalBlock) -> impl Iterator<Item = BlockSetId> + '_ {
        let pair = self.pairs[logical];
        let strays = self.strays.iter().filter(move |(of, _)| *of == logical).map(|(_, block)| *block);
        pair.data().into_iter().chain(pair.replacement()).chain(strays)
    }

    /// Where a page goes now. If something must be done before, that has begun; `None` if nothing can be.
    fn place(
        &mut self,
        row: RowId,
        page: LogicalPage,
        space: &mut Space,
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
            self.rows[row].copying = Some(Copying { logical, into: replacement, until: Until::Place(place) });
            return Some(None);
        }
        let is_last = place + 1 == self.locations.per_block();
        let state = &mut self.rows[row];
        if is_last {
            // The page fills the block: what is left is the erase of the old one.
            state.copying = Some(Copying { logical, into: replacement, until: Until::Merged });
        } else if state.replaced.back() != Some(&logical) {
            state.replaced.retain(|other| *other != logical);
            state.replaced.push_back(logical);
        }
        Some(Some(space.program_at(replacement, place)))
    }

    /// Gives a logical block a replacement block that takes its page at `place`, or makes room for one. A data block that
    /// is not written that far yet goes on as its own replacement.
    fn open(
        &mut self,
        row: RowId,
        logical: LogicalBlock,
        place: u32,
        space: &mut Space,
        chips: &Chips,
    ) -> Option<()> {
        let goes_on =
            |data: &BlockSetId| space.state(*data) == State::Closed && chips.programmed(*data) <= place;
        let data = self.pairs[logical].data().filter(goes_on);
        let state = &self.rows[row];
        let short = data.is_none() && space.free(row) <= KEPT;
        if short || state.replaced.len() >= self.most {
            return match state.replaced.front().copied() {
                Some(oldest) => self.merge(row, oldest, space, chips),
                None => self.stick(row),
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

    /// Begins to merge a logical block: into its replacement block where that takes the rest, else into a new one. Where
    /// none is free, another logical block is merged first.
    fn merge(&mut self, row: RowId, logical: LogicalBlock, space: &mut Space, chips: &Chips) -> Option<()> {
        let into = if let Some(replacement) = self.takes_rest(logical, space, chips) {
            replacement
        } else if self.blocks_of(logical).all(|block| space.valid(block) == 0) {
            self.release(row, logical, None, space);
            return Some(());
        } else if let Some(new) = space.open_free(row, true) {
            self.owners[new] = logical.0;
            new
        } else {
            let Some(other) = self.first_to_gain(row, space, chips) else { return self.stick(row) };
            return self.merge(row, other, space, chips);
        };
        self.rows[row].copying = Some(Copying { logical, into, until: Until::Merged });
        Some(())
    }

    /// The replacement block of a logical block, if it takes all that is valid elsewhere.
    fn takes_rest(&self, logical: LogicalBlock, space: &Space, chips: &Chips) -> Option<BlockSetId> {
        let replacement = self.pairs[logical].replacement()?;
        let is_sound = space.state(replacement) == State::Open && !space.is_condemned(replacement);
        let first = self.next_outside(logical, replacement, 0, space);
        let fits = first.is_none_or(|(place, _)| place >= chips.programmed(replacement));
        (is_sound && fits).then_some(replacement)
    }

    /// All that is valid of a logical block is in one block now.
    fn merged(&mut self, row: RowId, logical: LogicalBlock, into: BlockSetId, space: &mut Space) {
        self.rows[row].copying = None;
        space.close_open(into);
        self.release(row, logical, Some(into), space);
        if space.is_condemned(into) {
            self.rows[row].due.push_back(logical);
        }
    }

    /// Nothing is valid in the blocks of a logical block but in `data`, which is all that it keeps.
    fn release(&mut self, row: RowId, logical: LogicalBlock, data: Option<BlockSetId>, space: &mut Space) {
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

    /// A closed block without anything valid is to be erased.
    fn erase(&mut self, row: RowId, block: BlockSetId, space: &mut Space) {
        space.clean(block);
        self.owners[block] = NONE;
        self.rows[row].to_erase.push_back(block);
    }

    /// Too few good blocks are left to go on.
    fn stick(&mut self, row: RowId) -> Option<()> {
        self.rows[row].stuck = true;
        None
    }

    /// Whether too few blocks of a row are good to go on.
    pub fn is_stuck(&self, row: RowId) -> bool {
        self.rows[row].stuck
    }

    /// The page of the host that was written is in flash.
    pub fn page_written(&mut self, row: RowId) {
        self.rows[row].in_vain = 0;
    }

    /// Where the page goes that is written now.
    pub fn place_of_write(&self, row: RowId) -> Location {
        self.rows[row].write.expect("the row's step is a write")
    }

    /// Where the page goes that is copied next.
    pub fn place_of_copy(&self, row: RowId, space: &mut Space, chips: &Chips) -> Location {
        let into = self.rows[row].copying.expect("the row's step is a copy").into;
        space.program_at(into, chips.programmed(into))
    }

    /// A step of a row takes this many commands.
    pub fn begin(&mut self, row: RowId, commands: u32) {
        self.rows[row].commands = commands;
    }

    /// A command of the row's step is done.
    pub fn command_done(&mut self, row: RowId) {
        self.rows[row].commands -= 1;
    }

    /// A page was read for the row's copying.
    pub fn hold(&mut self, row: RowId, moved: Moved) {
        self.rows[row].held.push(moved);
    }

    /// The page that the row's program writes; none if it writes padding.
    pub fn held(&self, row: RowId) -> &[Moved] {
        &self.rows[row].held
    }

    /// The row's program is done.
    pub fn take_held(&mut self, row: RowId) -> Option<Moved> {
        self.rows[row].held.pop()
    }
}
