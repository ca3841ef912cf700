//! Garbage collection, one row of planes at a time and one command at a time, so that the host's commands can go in
//! between. Pages that do not fill a program unit are carried over to the next victim instead of being padded, so
//! that cleaning a block with a single invalid page still gains that page.

use std::collections::VecDeque;

use wordline_kernel::Stream;
use wordline_nand::{Chips, PageId, RowBlockId, Stamp};

use super::blocks::{Blocks, WriteStream};
use crate::policy::placement::Row;
use crate::policy::victim::VictimPolicy;

/// A page on its way from a victim to the collector's open block.
#[derive(Clone, Copy, Debug)]
pub struct Moved {
    /// What is in it.
    pub stamp: Stamp,
    /// Where it comes from.
    pub from: PageId,
}

/// What the collector wants done next in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Read `pages` pages from `page` on, in one multi-plane command.
    Read {
        /// The first page.
        page: PageId,
        /// How many.
        pages: u32,
    },
    /// Program the row's [`unit`](Collector::unit) to the collector's open block.
    Program,
    /// Erase this victim.
    Erase {
        /// The victim.
        block: RowBlockId,
    },
}

/// Where the collector is in a row.
#[derive(Clone, Debug, Default)]
struct RowState {
    active: bool,
    /// Whether too few good blocks are left to clean any.
    stuck: bool,
    /// Whether a command of the collector is queued or under way.
    busy: bool,
    victim: Option<(RowBlockId, u32)>,
    /// Invalid pages that were passed since cleaning began, less what the host has written for them.
    regained: u32,
    /// Victims of which every valid page was read.
    read: VecDeque<RowBlockId>,
    staged: VecDeque<Moved>,
    unit: Vec<Moved>,
}

/// The garbage collector of a device.
pub struct Collector {
    rows: Vec<RowState>,
    policy: Box<dyn VictimPolicy>,
    random: Stream,
    start_below: usize,
    stop_at: usize,
    /// Steps under way.
    steps: u32,
}

impl Collector {
    /// A collector for `rows` rows.
    pub fn new(
        rows: u32,
        policy: Box<dyn VictimPolicy>,
        random: Stream,
        start_below: u32,
        stop_at: u32,
    ) -> Self {
        Self {
            rows: vec![RowState::default(); rows as usize],
            policy,
            random,
            start_below: start_below as usize,
            stop_at: stop_at as usize,
            steps: 0,
        }
    }

    /// What to do next in `row`; `None` when nothing is to be done now or a step is under way.
    pub fn next(&mut self, row: Row, blocks: &mut Blocks) -> Option<Step> {
        let state = &mut self.rows[row as usize];
        let free = blocks.free(row);
        if !state.active && free < self.start_below {
            state.active = true;
            state.regained = 0;
        }
        if state.busy || (!state.active && state.read.is_empty()) {
            return None;
        }
        let step = self.step(row, blocks);
        self.rows[row as usize].busy = step.is_some();
        self.steps += u32::from(step.is_some());
        step
    }

    fn step(&mut self, row: Row, blocks: &mut Blocks) -> Option<Step> {
        let unit = blocks.geometry().pages_per_program as usize;
        loop {
            let state = &mut self.rows[row as usize];
            if let Some(at) = state.read.iter().position(|block| blocks.is_clean(*block)) {
                let block = state.read.remove(at).expect("it was just found");
                // What is left of it in the staging area is void, and its pages will soon hold something else.
                state.staged.retain(|moved| blocks.geometry().block_of(moved.from) != block);
                return Some(Step::Erase { block });
            }
            if state.staged.len() >= unit {
                state.staged.retain(|moved| blocks.is_valid(moved.from));
                if state.staged.len() >= unit {
                    state.unit.extend(state.staged.drain(..unit));
                    return Some(Step::Program);
                }
                continue;
            }
            if let Some((block, offset)) = state.victim {
                if let Some(step) = next_read(blocks, block, offset) {
                    let (first, pages) = step;
                    state.regained += first - offset;
                    state.victim = Some((block, first + pages));
                    return Some(Step::Read { page: blocks.geometry().page(block, first), pages });
                }
                state.regained += blocks.geometry().pages_per_row_block() - offset;
                state.victim = None;
                state.read.push_back(block);
                continue;
            }
            if blocks.free(row) >= self.stop_at {
                state.active = false;
                return None;
            }
            match self.policy.choose(blocks.candidates(row), &mut self.random) {
                Some(block) => {
                    // So many blocks may have failed that the victim's pages have nowhere to go.
                    let state = &mut self.rows[row as usize];
                    let moving = (blocks.valid(block) as usize + state.staged.len()).next_multiple_of(unit);
                    if moving > blocks.collector_room(row) {
                        // The erase of a victim that still is read will make room.
                        if state.read.iter().any(|read| blocks.valid(*read) == 0) {
                            return None;
                        }
                        state.stuck = true;
                        return None;
                    }
                    blocks.clean(block);
                    self.rows[row as usize].victim = Some((block, 0));
                }
                None => return self.finish_padded(row, blocks),
            }
        }
    }

    /// There is no other victim to fill the unit with: it is programmed as it is.
    fn finish_padded(&mut self, row: Row, blocks: &Blocks) -> Option<Step> {
        let state = &mut self.rows[row as usize];
        state.staged.retain(|moved| blocks.is_valid(moved.from));
        if state.staged.is_empty() {
            state.active = false;
            return None;
        }
        state.unit.extend(state.staged.drain(..));
        Some(Step::Program)
    }

    /// Takes in pages that were read.
    pub fn stage(&mut self, row: Row, moved: Moved) {
        self.rows[row as usize].staged.push_back(moved);
    }

    /// The pages of the row's program unit that is under way; fewer than a unit if it is padded.
    pub fn unit(&self, row: Row) -> &[Moved] {
        &self.rows[row as usize].unit
    }

    /// The row's program is done.
    pub fn take_unit(&mut self, row: Row) -> impl Iterator<Item = Moved> + '_ {
        self.rows[row as usize].unit.drain(..)
    }

    /// The row's step is done.
    pub fn step_done(&mut self, row: Row) {
        self.rows[row as usize].busy = false;
        self.steps -= 1;
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

    /// The host writes `pages`: of what was regained, as far as that goes.
    pub fn spend(&mut self, row: Row, pages: u32) {
        let state = &mut self.rows[row as usize];
        state.regained = state.regained.saturating_sub(pages);
    }

    /// Whether the row cannot be cleaned any more: too few of its blocks are good.
    pub fn is_stuck(&self, row: Row) -> bool {
        self.rows[row as usize].stuck
    }

    /// Cleans the row in no time until it has enough free blocks, as in preconditioning: `move_page` carries a valid
    /// page from one place to another.
    pub fn clean_untimed(
        &mut self,
        row: Row,
        blocks: &mut Blocks,
        mut move_page: impl FnMut(&mut Blocks, &mut Chips, PageId, PageId),
        chips: &mut Chips,
    ) {
        while blocks.free(row) < self.start_below {
            let Some(victim) = self.policy.choose(blocks.candidates(row), &mut self.random) else { return };
            blocks.clean(victim);
            let first = blocks.geometry().page(victim, 0);
            for n in 0..blocks.geometry().pages_per_row_block() {
                let from = PageId(first.0 + n);
                if blocks.is_valid(from) {
                    let to = blocks.take(row, WriteStream::Gc, 1);
                    move_page(blocks, chips, from, to);
                    blocks.program_done(to);
                }
            }
            // What happens before the run wears nothing.
            let erases = chips.erases()[victim];
            chips.wipe(victim);
            chips.set_erases(victim, erases);
            blocks.erased(victim, erases);
        }
    }
}

/// The next valid pages of a victim from place `offset` on that one multi-plane command can read: first place, count.
fn next_read(blocks: &Blocks, block: RowBlockId, offset: u32) -> Option<(u32, u32)> {
    let geometry = blocks.geometry();
    let start = geometry.page(block, 0).0;
    let valid = |place: u32| blocks.is_valid(PageId(start + place));
    let all = geometry.pages_per_row_block();
    let first = (offset..all).find(|place| valid(*place))?;
    let end = (first + 1..all)
        .find(|place| !valid(*place) || geometry.page_in_block(*place) != geometry.page_in_block(first))
        .unwrap_or(all);
    Some((first, end - first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::small;
    use crate::policy::victim::Fifo;
    use wordline_kernel::Seed;

    /// Carries out what the collector wants, at once; false if it wants nothing.
    fn step(collector: &mut Collector, blocks: &mut Blocks) -> bool {
        match collector.next(0, blocks) {
            None => return false,
            Some(Step::Read { page, pages }) => {
                for n in 0..pages {
                    collector.stage(0, Moved { stamp: Stamp::PADDING, from: PageId(page.0 + n) });
                }
            }
            Some(Step::Program) => {
                let first = blocks.take(0, WriteStream::Gc, blocks.geometry().pages_per_program);
                let moved: Vec<Moved> = collector.take_unit(0).collect();
                for (n, page) in moved.iter().enumerate() {
                    blocks.invalidate(page.from);
                    blocks.validate(PageId(first.0 + n as u32));
                }
                blocks.program_done(first);
            }
            Some(Step::Erase { block }) => blocks.erased(block, 1),
        }
        collector.step_done(0);
        true
    }

    #[test]
    fn a_victim_that_is_read_for_long_does_not_end_the_life_of_its_row() {
        let geometry = small().check().expect("the device is sound").geometry;
        let mut blocks = Blocks::new(geometry, |_| false);
        let policy = Fifo;
        blocks.keep(policy.needs());
        let per_block = geometry.pages_per_row_block();
        // The oldest blocks have one invalid page each: such a victim fills nearly a whole block of the collector's.
        while blocks.free(0) > 2 {
            for n in 0..per_block {
                let page = blocks.take(0, WriteStream::Host, 1);
                if n >= if page.0 < 8 * per_block { 1 } else { per_block / 2 } {
                    blocks.validate(page);
                }
                blocks.program_done(page);
            }
        }
        let read = geometry.page(RowBlockId(0), 1);
        blocks.read_queued(read);
        let mut collector = Collector::new(1, Box::new(policy), Seed(1).stream("test.victim", 0), 3, 3);
        while step(&mut collector, &mut blocks) {}
        assert!(blocks.free(0) < 2 && !collector.is_stuck(0), "the collector waits for the reader");
        assert!(blocks.read_done(read), "a victim waited for the reader");
        while step(&mut collector, &mut blocks) {}
        assert!(blocks.free(0) >= 3 && !collector.is_stuck(0));
    }
}
