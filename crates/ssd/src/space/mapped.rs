//! Blocks of a block map, which says itself what is written where: any number of them are open in a row. And what designs are told of blocks.

use wordline_nand::{BlockSetId, Location, RowId};

use super::{Space, State, StreamId};
use crate::policy::seen::Seen;

impl Space {
    /// Opens a free block of a row, for what the host writes or for what is moved. None if no block is free.
    pub fn open_free(&mut self, row: RowId, for_moved: bool) -> Option<BlockSetId> {
        let block = self.free[row].pop(for_moved)?;
        self.opened(block, StreamId(0));
        Some(block)
    }

    /// The number that a block got when it was opened.
    pub fn opened_as(&self, block: BlockSetId) -> u64 {
        self.openings.of(block)
    }

    /// How many blocks were opened.
    pub fn openings(&self) -> u64 {
        self.openings.count()
    }

    /// The location at `place` of an open block is going to be programmed; [`program_done`](Self::program_done) says when it is.
    pub fn program_at(&mut self, block: BlockSetId, place: u32) -> Location {
        assert_eq!(self.state(block), State::Open, "only an open block is programmed");
        self.table[block].programs += 1;
        self.pools.at(block, place)
    }

    /// An open block takes nothing more for now, though it may not be full.
    pub fn close_open(&mut self, block: BlockSetId) {
        assert!(
            self.state(block) == State::Open && self.table[block].programs == 0,
            "an open block at rest closes"
        );
        self.table[block].state = State::Filling;
        self.close_when_written(block);
    }

    /// A closed block that is not full takes pages again.
    pub fn reopen(&mut self, block: BlockSetId) {
        assert_eq!(self.state(block), State::Closed, "a closed block opens again");
        self.closed.remove(self.row_of(block), self.valid(block), block);
        self.table[block].state = State::Open;
    }

    /// After [`forget`](Self::forget): no block is open for a stream.
    pub fn forget_open(&mut self) {
        for (block, _) in self.open.iter_mut().filter_map(Option::take) {
            self.table[block].state = State::Filling;
        }
    }

    /// The events since the last call; none if there were none.
    #[inline]
    pub(crate) fn take_news(&self) -> Option<Vec<Seen<'static>>> {
        self.has_news().then(|| self.news.as_ref().expect("it has news").take())
    }

    /// Whether something happened since designs were told last.
    #[inline]
    pub(crate) fn has_news(&self) -> bool {
        self.news.as_ref().is_some_and(|news| news.waits())
    }

    /// The list comes back for its room.
    pub(crate) fn take_back_news(&self, list: Vec<Seen<'static>>) {
        if let Some(news) = &self.news {
            news.take_back(list);
        }
    }

    /// Whether a block can be the next victim of a row.
    #[inline]
    pub(crate) fn is_candidate(&self, block: BlockSetId, row: RowId) -> bool {
        block.0 < self.pools.block_sets()
            && self.can_be_emptied(block)
            && self.row_of(block) == row
            && self.valid(block) < self.pools.per_block(block)
    }

    /// Takes an event down, if a design wants to know of it.
    #[inline]
    pub(super) fn note(&self, seen: Seen<'static>) {
        if let Some(news) = &self.news {
            news.note(seen);
        }
    }
}
