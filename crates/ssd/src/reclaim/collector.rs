//! Garbage collection, one row of planes at a time and one command at a time, so that the host's commands can go in
//! between. Pages that do not fill a program unit are carried over to the next victim instead of being padded, so
//! that cleaning a block with a single invalid page still gains that page.

mod failing;
mod gain;
mod members;
mod pools;
mod untimed;
mod waits;

use std::collections::VecDeque;
use std::ops::Range;

use pools::passed;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Stream, state};
use wordline_nand::{BlockSetId, Location, Pool};

use super::config::GcFile;
use crate::map::Moved;
use crate::policy::placement::Row;
use crate::policy::victim::VictimPolicy;
use crate::policy::wear::WearLeveller;
use crate::space::{Space, State, StreamId};

pub(crate) use untimed::erase_untimed;

/// What the collector wants done next in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Read the locations from `first` up to, but without, `end`, which lie side by side in the planes.
    Read {
        /// The first location, which is valid.
        first: Location,
        /// One beyond the last location, which is valid.
        end: Location,
        /// Valid ones among them.
        valid: u32,
    },
    /// Program the row's [`unit`](Collector::unit) to the open block of this stream.
    Program {
        /// A stream of the collector.
        stream: StreamId,
    },
    /// Move a program unit of valid pages from here on inside their planes; they are put into the row's
    /// [`unit`](Collector::unit) with [`copy`](Collector::copy).
    Copyback {
        /// The first location.
        from: Location,
    },
    /// Erase this victim.
    Erase {
        /// The victim.
        block: BlockSetId,
    },
    /// Take this victim out of use. Takes no time.
    Retire {
        /// The victim.
        block: BlockSetId,
    },
}

/// Programs failed in so many pages that no block is left for a victim's valid pages.
struct NoRoom;

/// What the collector may do beside what must be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leave {
    /// Whether it has to wait for commands of the host while that can go on without it.
    pub waits: bool,
    /// Free blocks that it may clean the row for, since the host rests; 0 while the host is at work.
    pub rest_goal: usize,
    /// Blocks in SLC mode that may stay in the row: the oldest of more are folded.
    pub keep_cached: u32,
    /// Whether that is so because the host rests.
    pub rests: bool,
}

impl Leave {
    /// As much as must be done, and no block is folded.
    pub const MUST: Self = Self { waits: false, rest_goal: 0, keep_cached: u32::MAX, rests: false };
}

/// Where the collector is in a row.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct RowState {
    active: bool,
    /// Whether too few good blocks are left to clean any.
    stuck: bool,
    /// Commands of the present step that are queued or under way.
    commands: u32,
    /// The block being read, and how far it was.
    victim: Option<(BlockSetId, u32)>,
    /// Invalid pages that were passed since cleaning began, less what the host has written for them.
    regained: u32,
    /// Steps that it may take until the host writes again.
    steps_left: u32,
    /// Victims of which every valid page was read.
    read: VecDeque<BlockSetId>,
    /// Pages that were read, by the collector's stream that they will be written to.
    staged: Vec<VecDeque<Moved>>,
    unit: Vec<Moved>,
    /// Blocks that are to be emptied because something failed in them.
    condemned: VecDeque<BlockSetId>,
    /// Whether the row is out of use as a whole.
    lost: bool,
    /// Blocks of the row, counted from 0, that are still to be cleaned because their data lie still.
    still: Range<u32>,
    /// Whether the victim was just chosen.
    is_new: bool,
    /// A victim whose pages leave the pool: nothing else is cleaned until it is empty.
    migrating: Option<BlockSetId>,
}

impl RowState {
    fn begin(&mut self, block: BlockSetId) {
        (self.victim, self.is_new) = (Some((block, 0)), true);
    }

    /// Pages that were read and wait to fill a program unit.
    fn staged(&self) -> usize {
        self.staged.iter().map(VecDeque::len).sum()
    }
}

/// The garbage collector of a device.
pub struct Collector {
    rows: Vec<RowState>,
    policy: Box<dyn VictimPolicy>,
    random: Stream,
    copyback: bool,
    /// Steps in a row for each program unit of the host.
    steps_per_write: u32,
    /// Static wear levelling, if there is any.
    wear: Option<(Box<dyn WearLeveller>, Stream)>,
    /// Rows with a step under way.
    steps: u32,
}

state!(Collector {
    values { rows, random, steps }
    parts { policy, wear }
    fixed { copyback, steps_per_write }
});

impl Collector {
    /// A collector for `rows` rows that writes to `streams` streams in each.
    pub fn new(rows: u32, streams: u8, policy: Box<dyn VictimPolicy>, random: Stream, gc: &GcFile) -> Self {
        let steps_per_write = gc.steps_per_write.unwrap_or(u32::MAX);
        let row = RowState {
            staged: vec![VecDeque::new(); streams.into()],
            steps_left: steps_per_write,
            ..RowState::default()
        };
        Self {
            rows: vec![row; rows as usize],
            policy,
            random,
            copyback: gc.copyback,
            steps_per_write,
            wear: None,
            steps: 0,
        }
    }

    /// Forgets what it was doing, as when the power is cut.
    pub fn forget(&mut self) {
        for row in &mut self.rows {
            let staged = vec![VecDeque::new(); row.staged.len()];
            *row = RowState { staged, steps_left: self.steps_per_write, ..RowState::default() };
        }
        self.steps = 0;
    }

    /// What to do next in `row`; `None` when nothing is to be done now or a step is under way.
    #[inline]
    pub fn next(&mut self, row: Row, space: &mut Space, leave: Leave) -> Option<Step> {
        let state = &self.rows[row as usize];
        if state.lost {
            return None;
        }
        let empties = !state.condemned.is_empty() && self.next_condemned(row, space).is_some();
        let [start_below, stop_at] = space.marks(row);
        let state = &mut self.rows[row as usize];
        let free = space.free(row);
        if !state.active && (free < start_below || empties) {
            state.active = true;
            state.regained = 0;
        }
        if state.commands > 0 {
            return None;
        }
        let has_cause = state.active
            || !state.read.is_empty()
            || free < leave.rest_goal
            // What was begun to be folded is finished.
            || state.victim.is_some_and(|(block, _)| space.is_slc(block))
            || space.to_fold(row, leave.keep_cached).is_some()
            || self.cleans_member(row, space, &leave);
        if !(has_cause || self.levels(row, free, stop_at)) {
            return None;
        }
        let state = &self.rows[row as usize];
        let must_wait = leave.waits || (state.steps_left == 0 && !leave.rests);
        if must_wait && free > space.kept(row) {
            return None;
        }
        let step = self.step(row, space, &leave);
        let state = &mut self.rows[row as usize];
        state.commands = u32::from(step.is_some());
        state.steps_left = state.steps_left.saturating_sub(1);
        self.steps += u32::from(step.is_some());
        step
    }

    /// Works out the next step of a row that has cause for one.
    #[inline(never)]
    fn step(&mut self, row: Row, space: &mut Space, leave: &Leave) -> Option<Step> {
        let rest_goal = leave.rest_goal;
        let [_, stop_at] = space.marks(row);
        loop {
            if let Some(step) = self.finish_victim(row, space) {
                return Some(step);
            }
            match self.form_unit(row, space) {
                Ok(None) => {}
                Ok(step) => return step,
                Err(NoRoom) => return self.stick(row),
            }
            if let Some((block, place)) = self.rows[row as usize].victim {
                match self.go_through_victim(row, block, place, space) {
                    Ok(None) => continue,
                    Ok(step) => return step,
                    Err(NoRoom) => return self.stick(row),
                }
            }
            if let Some(block) = self.rows[row as usize].migrating {
                return self.finish_staying(row, block, space);
            }
            if let Some(block) = self.forced_victim(row, leave, space) {
                space.clean(block);
                self.rows[row as usize].begin(block);
                continue;
            }
            let state = &mut self.rows[row as usize];
            let free = space.free(row);
            if free >= stop_at.max(rest_goal) {
                state.active = false;
                if !self.begin_still_block(row, space) {
                    return None;
                }
                continue;
            }
            let needed = free < stop_at && (state.active || rest_goal == 0);
            state.active &= needed;
            let gains = !needed || self.gains_unit(row, space);
            let Some(block) = gains.then(|| self.choose(row, leave, space)).flatten() else {
                // To pad a unit gains nothing: what was read waits for more.
                if !needed {
                    return None;
                }
                return self.finish_padded(row, space);
            };
            if let Err(step) = self.begin_victim(row, block, space) {
                return step;
            }
        }
    }

    /// The next of a victim's valid pages are read, or moved inside the chip; none where nothing of it is left to be read.
    fn go_through_victim(
        &mut self,
        row: Row,
        block: BlockSetId,
        place: u32,
        space: &Space,
    ) -> Result<Option<Step>, NoRoom> {
        let state = &mut self.rows[row as usize];
        // Nothing is regained of a block that will not be erased.
        let gain = u32::from(!space.is_condemned(block));
        let unit = space.pools().per_program(row);
        if self.copyback
            && let Some(first) = whole_unit(space, block, place)
        {
            if !space.has_room(row, space.streams().gc(0), unit) {
                return Err(NoRoom);
            }
            state.regained += gain * passed(space, row, place, first, first, 0);
            state.victim = Some((block, first + unit));
            return Ok(Some(Step::Copyback { from: space.pools().at(block, first) }));
        }
        if let Some((first, end, valid)) = next_read(space, block, place) {
            state.regained += gain * passed(space, row, place, first, end, valid);
            state.victim = Some((block, end));
            let locations = &space.pools().of_row(row).locations;
            return Ok(Some(Step::Read {
                first: locations.at(block, first),
                end: locations.at(block, end),
                valid,
            }));
        }
        let end = space.pools().per_block(block);
        state.regained += gain * passed(space, row, place, end, end, 0);
        state.victim = None;
        state.read.push_back(block);
        Ok(None)
    }

    /// A victim that is not a matter of choice any more.
    fn forced_victim(&mut self, row: Row, leave: &Leave, space: &mut Space) -> Option<BlockSetId> {
        let condemned = self.next_condemned(row, space);
        condemned
            .or_else(|| self.next_fold(row, leave.keep_cached, space))
            .or_else(|| self.next_member(row, leave, space))
    }

    /// A victim of which nothing valid is left is erased.
    fn finish_victim(&mut self, row: Row, space: &Space) -> Option<Step> {
        let state = &mut self.rows[row as usize];
        if state.read.is_empty() {
            return None;
        }
        let at = state.read.iter().position(|block| space.is_clean(*block))?;
        let block = state.read.remove(at).expect("it was just found");
        state.migrating = state.migrating.filter(|migrating| *migrating != block);
        // What is left of it in the staging areas is void, and its locations will soon hold something else.
        for staged in &mut state.staged {
            staged.retain(|moved| space.pools().block_of(moved.from) != block);
        }
        Some(if space.is_condemned(block) { Step::Retire { block } } else { Step::Erase { block } })
    }

    /// A stream with enough pages for a program unit writes one.
    fn form_unit(&mut self, row: Row, space: &Space) -> Result<Option<Step>, NoRoom> {
        if space.has_whole_units(row) {
            return self.form_whole_unit(row, space);
        }
        let unit = space.pools().per_program(row) as usize;
        let state = &mut self.rows[row as usize];
        for (n, staged) in state.staged.iter_mut().enumerate() {
            if staged.len() < unit {
                continue;
            }
            staged.retain(|moved| space.is_valid(moved.from));
            if staged.len() >= unit {
                let stream = space.streams().gc(n as u8);
                if !space.has_room(row, stream, unit as u32) {
                    return Err(NoRoom);
                }
                state.unit.extend((0..unit).map_while(|_| staged.pop_front()));
                return Ok(Some(Step::Program { stream }));
            }
        }
        Ok(None)
    }

    /// Makes `block` the victim; otherwise what to do instead. So many blocks may have failed that the victim's pages
    /// have nowhere to go.
    #[inline(never)]
    fn begin_victim(&mut self, row: Row, block: BlockSetId, space: &mut Space) -> Result<(), Option<Step>> {
        let fits = |block: &BlockSetId| self.has_room_for(row, *block, space);
        // After a power cut, blocks that were victims before it may be all that there is room to clean.
        let victim = Some(block).filter(fits).or_else(|| space.emptiest(row).filter(fits));
        let state = &mut self.rows[row as usize];
        if let Some(block) = victim {
            space.clean(block);
            state.begin(block);
            return Ok(());
        }
        // The erase of a victim that still is read will make room.
        if state.read.iter().any(|read| space.valid(*read) == 0) {
            return Err(None);
        }
        // Pages of different streams share a unit when nothing else makes room.
        if state.staged() >= space.pools().per_program(row) as usize {
            return Err(self.finish_padded(row, space));
        }
        state.stuck = true;
        Err(None)
    }

    /// The oldest block of the SLC cache, if the row has more of them than are to be kept, and room for its pages.
    #[inline(never)]
    fn next_fold(&self, row: Row, keep: u32, space: &mut Space) -> Option<BlockSetId> {
        space.to_fold(row, keep).filter(|block| self.has_room_for(row, *block, space))
    }

    /// Whether what is valid of a block has somewhere to go, with what waits to fill a program unit.
    fn has_room_for(&self, row: Row, block: BlockSetId, space: &Space) -> bool {
        let unit = space.pools().per_program(row) as usize;
        let moving = space.valid(block) as usize + self.rows[row as usize].staged();
        moving.next_multiple_of(unit) <= space.collector_room(row)
    }

    /// There is no other victim to fill a unit with: what there is of all streams is programmed as it is.
    #[inline(never)]
    pub(super) fn finish_padded(&mut self, row: Row, space: &Space) -> Option<Step> {
        let unit = space.pools().per_program(row) as usize;
        let state = &mut self.rows[row as usize];
        for staged in &mut state.staged {
            staged.retain(|moved| space.is_valid(moved.from));
        }
        let first = state.staged.iter().position(|staged| !staged.is_empty());
        let Some(first) = first else {
            state.active = false;
            return None;
        };
        let stream = space.streams().gc(first as u8);
        if !space.has_room(row, stream, unit as u32) {
            return self.stick(row);
        }
        for staged in &mut state.staged {
            let room = unit - state.unit.len();
            state.unit.extend(staged.drain(..room.min(staged.len())));
        }
        Some(Step::Program { stream })
    }

    /// Levels wear from now on, if there is anything to it.
    pub fn level(&mut self, wear: Box<dyn WearLeveller>, random: Stream) {
        self.wear = wear.is_on().then_some((wear, random));
    }

    /// Notes that a block was erased.
    pub fn erased(&mut self, block: BlockSetId, space: &Space) {
        if let Some((wear, _)) = &mut self.wear {
            let row = space.row_of(block);
            wear.erased(row, space.pools().of_row(row).geometry.number_of(block));
        }
    }

    /// Whether there are blocks to be cleaned because their data lie still, and the row has free blocks enough for that,
    /// or is at it.
    #[inline]
    fn levels(&mut self, row: Row, free: usize, stop_at: usize) -> bool {
        let Some((wear, random)) = &mut self.wear else { return false };
        let state = &mut self.rows[row as usize];
        if state.victim.is_some() {
            return true;
        }
        if free < stop_at {
            return false;
        }
        while state.still.is_empty()
            && let Some(found) = wear.next(row, random)
        {
            state.still = found;
        }
        !state.still.is_empty()
    }

    /// Makes the next of these blocks that is closed the victim, if its pages have somewhere to go; false if there is
    /// none.
    fn begin_still_block(&mut self, row: Row, space: &mut Space) -> bool {
        if self.wear.is_none() {
            return false;
        }
        let first = space.pools().of_row(row).geometry.first_block(row).0;
        let [_, stop_at] = space.marks(row);
        while self.levels(row, space.free(row), stop_at) {
            let state = &mut self.rows[row as usize];
            let block = BlockSetId(first + state.still.start);
            state.still.start += 1;
            if space.state(block) == State::Closed && self.has_room_for(row, block, space) {
                space.clean(block);
                self.rows[row as usize].begin(block);
                return true;
            }
        }
        false
    }

    /// Takes in a page that was read, for the collector's stream of this number.
    pub fn stage(&mut self, row: Row, stream: u8, moved: Moved) {
        self.rows[row as usize].staged[usize::from(stream)].push_back(moved);
    }

    /// Puts a page into the row's unit that a copyback moves.
    pub fn copy(&mut self, row: Row, moved: Moved) {
        self.rows[row as usize].unit.push(moved);
    }

    /// The pages of the row's program unit that is under way; fewer than a unit if it is padded.
    pub fn unit(&self, row: Row) -> &[Moved] {
        &self.rows[row as usize].unit
    }

    /// The row's program is done.
    pub fn take_unit(&mut self, row: Row) -> impl Iterator<Item = Moved> + '_ {
        self.rows[row as usize].unit.drain(..)
    }

    /// The row's step takes this many commands instead of one.
    pub fn split_step(&mut self, row: Row, commands: u32) {
        self.rows[row as usize].commands = commands;
    }

    /// A command of the row's step is done; true if that ends the step.
    pub fn command_done(&mut self, row: Row) -> bool {
        let commands = &mut self.rows[row as usize].commands;
        *commands -= 1;
        let over = *commands == 0;
        self.steps -= u32::from(over);
        over
    }

    /// Whether no step is under way in any row.
    pub fn is_idle(&self) -> bool {
        self.steps == 0
    }

    /// Whether the host may write `pages` to a row of which only the collector's blocks are free.
    #[inline]
    pub fn affords(&self, row: Row, pages: u32) -> bool {
        let state = &self.rows[row as usize];
        !state.active || state.regained >= pages
    }

    /// Whether the collector is at gaining blocks in the row.
    #[inline]
    pub fn gains(&self, row: Row) -> bool {
        let state = &self.rows[row as usize];
        state.active && !state.stuck
    }

    /// The host writes `pages`: of what was regained, as far as that goes.
    pub fn spend(&mut self, row: Row, pages: u32) {
        let state = &mut self.rows[row as usize];
        state.regained = state.regained.saturating_sub(pages);
        state.steps_left = self.steps_per_write;
    }

    /// Whether the row cannot be cleaned any more: too few of its blocks are good.
    pub fn is_stuck(&self, row: Row) -> bool {
        self.rows[row as usize].stuck
    }
}

/// The next locations of a victim from `place` on that can be read at once: the same page in planes side by side, each with
/// something valid. First place, one beyond the last, and valid ones among them.
fn next_read(space: &Space, block: BlockSetId, place: u32) -> Option<(u32, u32, u32)> {
    let Pool { geometry, locations, .. } = space.pools().of_block(block);
    let page = |place| locations.page_of(locations.at(block, place)).0;
    let (first, begin) = (space.next_valid(block, place)?, page(0));
    let (mut end, mut valid, mut last) = (first + 1, 1, page(first));
    let number = geometry.page_in_block(last - begin);
    while let Some(next) = space.next_valid(block, end) {
        let here = page(next);
        if here > last + locations.pages() || geometry.page_in_block(here - begin) != number {
            break;
        }
        (end, valid, last) = (next + 1, valid + 1, here);
    }
    Some((first, end, valid))
}

/// The next valid location of a victim from `place` on, if a program unit of valid ones begins there.
fn whole_unit(space: &Space, block: BlockSetId, place: u32) -> Option<u32> {
    let unit = space.pools().of_block(block).locations.per_program;
    if space.is_slc(block) {
        return None;
    }
    let first = space.next_valid(block, place).filter(|first| first.is_multiple_of(unit))?;
    (first..first + unit).all(|place| space.is_valid(space.pools().at(block, place))).then_some(first)
}

#[cfg(test)]
mod tests;
