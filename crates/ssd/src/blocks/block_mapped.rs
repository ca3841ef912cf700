//! Blocks under block-level mapping. The mapping itself selects the location of each write, so a plane group
//! may have any number of open blocks. This file also delivers block events to designs.

use wordline_nand::{BlockSetId, Location, PlaneGroupId};

use super::{BlockManager, State, StreamId};
use crate::policy::event::DeviceEvent;

impl BlockManager {
    /// Opens a free block of a plane group for host writes or, if `for_moved`, for relocated pages. `None` if
    /// no block is free.
    pub fn open_free(&mut self, row: PlaneGroupId, for_moved: bool) -> Option<BlockSetId> {
        let block = self.free[row].pop(for_moved)?;
        self.opened(block, StreamId(0));
        Some(block)
    }

    /// Number of block openings so far.
    pub fn openings(&self) -> u64 {
        self.openings.count()
    }

    /// Starts a program of the location at offset `place` of an open block, and returns the location.
    /// [`program_done`](Self::program_done) ends the program.
    pub fn program_at(&mut self, block: BlockSetId, place: u32) -> Location {
        assert_eq!(self.state(block), State::Open, "only an open block is programmed");
        self.table[block].programs += 1;
        self.pools.at(block, place)
    }

    /// Closes an open block. It may have unwritten word lines.
    pub fn close_open(&mut self, block: BlockSetId) {
        assert!(
            self.state(block) == State::Open && self.table[block].programs == 0,
            "an open block at rest closes"
        );
        self.table[block].state = State::Closing;
        self.close_if_programmed(block);
    }

    /// Reopens a closed block that is not full.
    pub fn reopen(&mut self, block: BlockSetId) {
        assert_eq!(self.state(block), State::Closed, "a closed block opens again");
        self.closed.remove(self.group_of(block), self.valid(block), block);
        self.table[block].state = State::Open;
    }

    /// Clears all active blocks. Called after [`forget`](Self::forget).
    pub fn clear_active_blocks(&mut self) {
        for (block, _) in self.open.iter_mut().filter_map(Option::take) {
            self.table[block].state = State::Closing;
        }
    }

    /// Events since the last call; `None` if there were none.
    #[inline]
    pub(crate) fn take_events(&self) -> Option<Vec<DeviceEvent<'static>>> {
        self.has_events().then(|| self.news.as_ref().expect("it has news").take())
    }

    /// Whether events are pending.
    #[inline]
    pub(crate) fn has_events(&self) -> bool {
        self.news.as_ref().is_some_and(|news| news.waits())
    }

    /// Returns the list of delivered events, so that its memory is reused.
    pub(crate) fn return_events(&self, list: Vec<DeviceEvent<'static>>) {
        if let Some(news) = &self.news {
            news.take_back(list);
        }
    }

    /// Whether a block can be the next victim of a plane group.
    #[inline]
    pub(crate) fn is_candidate(&self, block: BlockSetId, row: PlaneGroupId) -> bool {
        block.0 < self.pools.block_sets()
            && self.can_be_collected(block)
            && self.group_of(block) == row
            && self.valid(block) < self.pools.per_block(block)
    }

    /// Records an event if some design observes its kind.
    #[inline]
    pub(super) fn note(&self, seen: DeviceEvent<'static>) {
        if let Some(news) = &self.news {
            news.note(seen);
        }
    }
}
