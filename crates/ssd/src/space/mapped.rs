//! Blocks of a block map, which says itself what is written where: any number of them are open in a row.

use wordline_nand::{BlockSetId, Location};

use super::{Space, State, StreamId};
use crate::policy::placement::Row;

impl Space {
    /// Opens a free block of a row: the least worn. None if no block is free.
    pub fn open_free(&mut self, row: Row) -> Option<BlockSetId> {
        let block = self.free[row as usize].pop(false)?;
        self.opened(block, StreamId(0));
        Some(block)
    }

    /// The number that a block got when it was opened.
    pub fn opened_as(&self, block: BlockSetId) -> u64 {
        self.opened[block]
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
}
