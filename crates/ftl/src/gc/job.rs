//! Jobs: the work of GC in a plane group for one of the sources. A job either collects a block, which is then
//! erased, or relocates a list of pages in order. The destination is selected page by page.

use serde::{Deserialize, Serialize};
use wordline_flash::{Class, Purpose};
use wordline_nand::{BlockSetId, Location, Pool};

use crate::blocks::BlockManager;

/// Kind of work.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum JobKind {
    /// Relocates the valid pages of a block in order, then erases it.
    Collect {
        /// The block, a victim.
        block: BlockSetId,
        /// Offset in the block up to which pages were processed.
        place: u32,
    },
    /// Relocates the listed pages that are still valid, in this order, into program units without other
    /// pages.
    Relocate {
        /// Locations of the pages, all in one plane group.
        pages: Vec<Location>,
        /// Number of pages that were processed.
        next: usize,
        /// Number of leading pages that are relocated or invalid.
        gone: usize,
        /// Block of the last processed page, and the offset after it.
        reached: (BlockSetId, u32),
    },
}

/// A job of a plane group for one of the sources. It is done step by step.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Job {
    pub(super) work: JobKind,
    /// Purpose, set by the source.
    pub(super) purpose: Purpose,
    /// Scheduling class of its commands.
    pub(super) class: Class,
    /// Whether the job runs only while the host is idle or the plane group needs blocks.
    pub(super) only_while_idle: bool,
    /// Whether the job's pages migrate to another pool. Translation pages stay.
    pub(super) leaves: bool,
    /// Whether the relocator was already queried about a migration of the job's pages.
    pub(super) is_asked: bool,
    /// Whether the job only reads its pages, which are then programmed together with host pages.
    pub(super) with_host: bool,
    /// Whether a design requested the job. It is then finished at once, with a padded program unit.
    pub(super) is_requested: bool,
}

/// Locations that one step reads: the same page number in adjacent planes, each plane with valid data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) block: BlockSetId,
    /// First offset; its page is valid.
    pub(super) first: u32,
    /// Offset after the last one, whose page is valid.
    pub(super) end: u32,
    /// Number of valid locations.
    pub(super) valid: u32,
}

impl Job {
    /// Job that collects a block, with the purpose and class of ordinary GC.
    pub(super) fn empty(block: BlockSetId) -> Self {
        Self::empty_from(block, 0)
    }

    /// Job that collects a block that was processed up to an offset.
    pub(super) fn empty_from(block: BlockSetId, place: u32) -> Self {
        Self::of(JobKind::Collect { block, place })
    }

    /// Job that relocates these pages of a plane group, with the purpose and class of ordinary GC. `reached`
    /// is the block and offset of the first page.
    pub(super) fn relocating(pages: Vec<Location>, reached: (BlockSetId, u32)) -> Self {
        Self { is_asked: true, ..Self::of(JobKind::Relocate { pages, next: 0, gone: 0, reached }) }
    }

    fn of(work: JobKind) -> Self {
        Self {
            work,
            purpose: Purpose::Collecting,
            class: Class::Gc,
            only_while_idle: false,
            leaves: false,
            is_asked: false,
            with_host: false,
            is_requested: false,
        }
    }

    /// Sets the purpose of the job.
    pub(super) fn to(self, purpose: Purpose) -> Self {
        Self { purpose, ..self }
    }

    /// Repeats the relocation of this many pages after a failed copyback.
    pub(super) fn step_back(&mut self, pages: u32) {
        if let JobKind::Collect { place, .. } = &mut self.work {
            *place -= pages;
        }
    }

    /// Block that the job collects; `None` for a list of pages.
    pub(super) fn victim(&self) -> Option<BlockSetId> {
        match self.work {
            JobKind::Collect { block, .. } => Some(block),
            JobKind::Relocate { .. } => None,
        }
    }

    /// Progress of the job: a block, and the offset up to which it was processed.
    pub(super) fn reached(&self) -> (BlockSetId, u32) {
        match self.work {
            JobKind::Collect { block, place } => (block, place),
            JobKind::Relocate { reached, .. } => reached,
        }
    }

    /// Next pages of the job that one step can read.
    pub(super) fn next_run(&self, blocks: &BlockManager) -> Option<Run> {
        match &self.work {
            JobKind::Collect { block, place } => {
                let first = blocks.table().next_valid(*block, *place)?;
                Some(run(blocks, *block, first, |_| true))
            }
            JobKind::Relocate { pages, next, .. } => {
                let mut valid = pages[*next..].iter().filter(|page| blocks.table().is_valid(**page));
                let first = *valid.next()?;
                let (block, place) = blocks.pools().of_location(first).locations.split(first);
                Some(run(blocks, block, place, |page| valid.next() == Some(&page)))
            }
        }
    }

    /// Block and offset of the next pages, if they are a whole program unit of valid pages, which a copyback
    /// can move.
    pub(super) fn whole_unit(&self, unit: u32, blocks: &BlockManager) -> Option<(BlockSetId, u32)> {
        let JobKind::Collect { block, place } = self.work else { return None };
        if !blocks.table().is_native(block) {
            return None;
        }
        let first = blocks.table().next_valid(block, place).filter(|first| first.is_multiple_of(unit))?;
        let is_valid = |place| blocks.table().is_valid(blocks.pools().at(block, place));
        (first..first + unit).all(is_valid).then_some((block, first))
    }

    /// Marks the pages of a block before offset `end` as processed.
    pub(super) fn go_through(&mut self, block: BlockSetId, end: u32, blocks: &BlockManager) {
        match &mut self.work {
            JobKind::Collect { place, .. } => *place = end,
            JobKind::Relocate { pages, next, reached, .. } => {
                let is_done = |page: &Location| {
                    let (of, place) = blocks.pools().of_location(*page).locations.split(*page);
                    !blocks.table().is_valid(*page) || (of == block && place < end)
                };
                *next += pages[*next..].iter().take_while(|page| is_done(page)).count();
                *reached = (block, end);
            }
        }
    }

    /// Whether all listed pages are relocated or invalid.
    pub(super) fn is_relocated(&mut self, blocks: &BlockManager) -> bool {
        let JobKind::Relocate { pages, gone, .. } = &mut self.work else { return false };
        *gone += pages[*gone..].iter().take_while(|page| !blocks.table().is_valid(**page)).count();
        *gone == pages.len()
    }

    /// The valid pages of the list, if a design requested the job and it collects no block.
    pub(super) fn requested_pages(&self, blocks: &BlockManager) -> Vec<Location> {
        match &self.work {
            JobKind::Relocate { pages, .. } if self.is_requested => {
                pages.iter().copied().filter(|page| blocks.table().is_valid(*page)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether the job relocates pages that a design requested, and collects no block.
    pub(super) fn relocates_requested_pages(&self) -> bool {
        self.is_requested && self.victim().is_none()
    }

    /// Whether a page is in the list.
    pub(super) fn lists(&self, page: Location) -> bool {
        matches!(&self.work, JobKind::Relocate { pages, .. } if pages.contains(&page))
    }

    /// Whether a loaded job is possible for a plane group: its blocks and pages must be in the plane group,
    /// and its progress within bounds.
    pub(super) fn is_possible(
        &self,
        has_page: impl Fn(Location) -> bool,
        has_block: impl Fn(BlockSetId) -> bool,
        blocks: &BlockManager,
    ) -> bool {
        let (block, place) = self.reached();
        let is_there = has_block(block) && place <= blocks.pools().per_block(block);
        let is_listed = match &self.work {
            JobKind::Collect { .. } => true,
            JobKind::Relocate { pages, next, gone, .. } => {
                *next.max(gone) <= pages.len() && pages.iter().all(|page| has_page(*page))
            }
        };
        is_there && is_listed
    }

    /// Number of valid pages of the job that were not processed yet.
    pub(super) fn valid_left(&self, blocks: &BlockManager) -> usize {
        match &self.work {
            JobKind::Collect { block, .. } => blocks.table().valid(*block) as usize,
            JobKind::Relocate { pages, next, .. } => {
                pages[*next..].iter().filter(|page| blocks.table().is_valid(**page)).count()
            }
        }
    }
}

/// Run of valid offsets of a block, beginning with `first`, that one step can read. `goes_on` returns whether
/// an offset belongs to the job.
fn run(
    blocks: &BlockManager,
    block: BlockSetId,
    first: u32,
    mut goes_on: impl FnMut(Location) -> bool,
) -> Run {
    let Pool { geometry, locations, .. } = blocks.pools().of_block(block);
    let page = |place| locations.page_of(locations.at(block, place)).0;
    let begin = page(0);
    let (mut end, mut valid, mut last) = (first + 1, 1, page(first));
    let number = geometry.page_in_block(last - begin);
    while let Some(next) = blocks.table().next_valid(block, end) {
        let here = page(next);
        let is_beside = here <= last + locations.pages() && geometry.page_in_block(here - begin) == number;
        if !(is_beside && goes_on(locations.at(block, next))) {
            break;
        }
        (end, valid, last) = (next + 1, valid + 1, here);
    }
    Run { block, first, end, valid }
}
