//! Jobs: what is done in a row for one of the sources. A job empties a block, which is erased then, or moves listed pages in
//! the order of the list. Where a page goes is asked page by page.

use serde::{Deserialize, Serialize};
use wordline_nand::{BlockSetId, Location, Pool};

use crate::flash::{Class, Purpose};
use crate::space::Space;

/// The work of a job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Work {
    /// The valid pages of a block move in their order; then it is erased.
    Empty {
        /// The block, a victim.
        block: BlockSetId,
        /// How far it was gone through.
        place: u32,
    },
    /// Those of these pages move that are still valid, in this order. They end in units of their own.
    Move {
        /// Where they are, all in one row.
        pages: Vec<Location>,
        /// How many of them were gone through.
        next: usize,
        /// How many of the first ones are known to be there no more.
        gone: usize,
        /// The block of the last one, and one beyond its place.
        reached: (BlockSetId, u32),
    },
}

/// A job of a row for one of the sources, done a step at a time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Job {
    pub(super) work: Work,
    /// Its purpose, which its source sets.
    pub(super) purpose: Purpose,
    /// How urgent its commands are.
    pub(super) class: Class,
    /// Whether it goes on only while the host is idle, or where the row needs blocks.
    pub(super) only_while_idle: bool,
    /// Whether its pages go to another pool; those of tables stay.
    pub(super) leaves: bool,
    /// Whether the relocator was asked if its pages leave the pool.
    pub(super) is_asked: bool,
    /// Whether its pages are only read: they are programmed with pages of the host.
    pub(super) with_host: bool,
}

/// Pages that are read at once: the same page in planes side by side, each with something valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) block: BlockSetId,
    /// The first place, which is valid.
    pub(super) first: u32,
    /// One beyond the last, which is valid.
    pub(super) end: u32,
    /// Valid ones among them.
    pub(super) valid: u32,
}

impl Job {
    /// Empties a block as the commands of cleaning go.
    pub(super) fn empty(block: BlockSetId) -> Self {
        Self::empty_from(block, 0)
    }

    /// The same for a block that was gone through up to a place.
    pub(super) fn empty_from(block: BlockSetId, place: u32) -> Self {
        Self::of(Work::Empty { block, place })
    }

    /// Moves these pages of a row as the commands of cleaning go. `reached` is the block that they begin in, and the place from
    /// which on that is gone through.
    pub(super) fn moving(pages: Vec<Location>, reached: (BlockSetId, u32)) -> Self {
        Self { is_asked: true, ..Self::of(Work::Move { pages, next: 0, gone: 0, reached }) }
    }

    fn of(work: Work) -> Self {
        Self {
            work,
            purpose: Purpose::Cleaning,
            class: Class::Reclaim,
            only_while_idle: false,
            leaves: false,
            is_asked: false,
            with_host: false,
        }
    }

    /// Sets the purpose of the job.
    pub(super) fn to(self, purpose: Purpose) -> Self {
        Self { purpose, ..self }
    }

    /// A copyback of this many pages failed: they are moved again.
    pub(super) fn step_back(&mut self, pages: u32) {
        if let Work::Empty { place, .. } = &mut self.work {
            *place -= pages;
        }
    }

    /// The block that it empties.
    pub(super) fn victim(&self) -> Option<BlockSetId> {
        match self.work {
            Work::Empty { block, .. } => Some(block),
            Work::Move { .. } => None,
        }
    }

    /// Where it is: a block, and one beyond the last place of it that was gone through.
    pub(super) fn reached(&self) -> (BlockSetId, u32) {
        match self.work {
            Work::Empty { block, place } => (block, place),
            Work::Move { reached, .. } => reached,
        }
    }

    /// The next of its pages that can be read at once.
    pub(super) fn next_run(&self, space: &Space) -> Option<Run> {
        match &self.work {
            Work::Empty { block, place } => {
                let first = space.next_valid(*block, *place)?;
                Some(run(space, *block, first, |_| true))
            }
            Work::Move { pages, next, .. } => {
                let mut valid = pages[*next..].iter().filter(|page| space.is_valid(**page));
                let first = *valid.next()?;
                let (block, place) = space.pools().of_location(first).locations.split(first);
                Some(run(space, block, place, |page| valid.next() == Some(&page)))
            }
        }
    }

    /// The next of its pages, with their block, if they are a program unit of valid ones that may move inside the chip.
    pub(super) fn whole_unit(&self, unit: u32, space: &Space) -> Option<(BlockSetId, u32)> {
        let Work::Empty { block, place } = self.work else { return None };
        if !space.is_native(block) {
            return None;
        }
        let first = space.next_valid(block, place).filter(|first| first.is_multiple_of(unit))?;
        let is_valid = |place| space.is_valid(space.pools().at(block, place));
        (first..first + unit).all(is_valid).then_some((block, first))
    }

    /// The pages up to `end` of a block were gone through.
    pub(super) fn go_through(&mut self, block: BlockSetId, end: u32, space: &Space) {
        match &mut self.work {
            Work::Empty { place, .. } => *place = end,
            Work::Move { pages, next, reached, .. } => {
                let is_done = |page: &Location| {
                    let (of, place) = space.pools().of_location(*page).locations.split(*page);
                    !space.is_valid(*page) || (of == block && place < end)
                };
                *next += pages[*next..].iter().take_while(|page| is_done(page)).count();
                *reached = (block, end);
            }
        }
    }

    /// Whether none of the listed pages is where it was.
    pub(super) fn has_moved_all(&mut self, space: &Space) -> bool {
        let Work::Move { pages, gone, .. } = &mut self.work else { return false };
        *gone += pages[*gone..].iter().take_while(|page| !space.is_valid(**page)).count();
        *gone == pages.len()
    }

    /// Whether a page is one of those that are listed.
    pub(super) fn lists(&self, page: Location) -> bool {
        matches!(&self.work, Work::Move { pages, .. } if pages.contains(&page))
    }

    /// Whether what was read can be a job of a row: blocks and pages of that row, and no more gone through than there are.
    pub(super) fn is_possible(
        &self,
        has_page: impl Fn(Location) -> bool,
        has_block: impl Fn(BlockSetId) -> bool,
        space: &Space,
    ) -> bool {
        let (block, place) = self.reached();
        let is_there = has_block(block) && place <= space.pools().per_block(block);
        let is_listed = match &self.work {
            Work::Empty { .. } => true,
            Work::Move { pages, next, gone, .. } => {
                *next.max(gone) <= pages.len() && pages.iter().all(|page| has_page(*page))
            }
        };
        is_there && is_listed
    }

    /// Pages of it that are valid and were not gone through.
    pub(super) fn valid_left(&self, space: &Space) -> usize {
        match &self.work {
            Work::Empty { block, .. } => space.valid(*block) as usize,
            Work::Move { pages, next, .. } => {
                pages[*next..].iter().filter(|page| space.is_valid(**page)).count()
            }
        }
    }
}

/// The valid places of a block from `first`, one of them, on that can be read at once and that `goes_on` says belong to it.
fn run(space: &Space, block: BlockSetId, first: u32, mut goes_on: impl FnMut(Location) -> bool) -> Run {
    let Pool { geometry, locations, .. } = space.pools().of_block(block);
    let page = |place| locations.page_of(locations.at(block, place)).0;
    let begin = page(0);
    let (mut end, mut valid, mut last) = (first + 1, 1, page(first));
    let number = geometry.page_in_block(last - begin);
    while let Some(next) = space.next_valid(block, end) {
        let here = page(next);
        let is_beside = here <= last + locations.pages() && geometry.page_in_block(here - begin) == number;
        if !(is_beside && goes_on(locations.at(block, next))) {
            break;
        }
        (end, valid, last) = (next + 1, valid + 1, here);
    }
    Run { block, first, end, valid }
}
