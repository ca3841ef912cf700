//! Blocks in which something failed are emptied before they are taken out of use.

use std::collections::VecDeque;

use wordline_kernel::{Column, state};
use wordline_nand::{BlockSetId, RowId};

use super::view::{Source, View};
use crate::reclaim::job::Job;
use crate::space::State;

/// The condemned blocks of each row, in the order in which they failed.
pub(in crate::reclaim) struct Condemned {
    rows: Column<RowId, VecDeque<BlockSetId>>,
}

state!(Condemned { values { rows } });

impl Condemned {
    pub(super) fn new(rows: u32) -> Self {
        Self { rows: Column::filled(rows as usize, VecDeque::new()) }
    }

    /// A block is to be emptied and taken out of use.
    pub(in crate::reclaim) fn add(&mut self, row: RowId, block: BlockSetId) {
        self.rows[row].push_back(block);
    }

    /// Whether a row has any, which may be empty or taken care of meanwhile.
    #[inline]
    pub(in crate::reclaim) fn has_any(&self, row: RowId) -> bool {
        !self.rows[row].is_empty()
    }

    /// Those of a row.
    pub(in crate::reclaim) fn of(&self, row: RowId) -> impl Iterator<Item = BlockSetId> + '_ {
        self.rows[row].iter().copied()
    }

    /// Those of each row.
    pub(super) fn forget(&mut self, row: RowId) {
        self.rows[row].clear();
    }
}

impl Source for Condemned {
    /// The first that can be emptied: nothing is gained of it, so that the blocks that cleaning itself needs must stay free.
    fn next(&mut self, row: RowId, view: &mut View<'_>) -> Option<Job> {
        let blocks = &mut self.rows[row];
        if blocks.is_empty() {
            return None;
        }
        let space = &*view.space;
        blocks.retain(|block| !matches!(space.state(*block), State::Victim | State::Bad));
        let spares = space.free(row) > space.kept(row);
        let fits = |block: &BlockSetId| {
            space.state(*block) == State::Condemned
                && (space.valid(*block) == 0 || (spares && view.has_room_for(row, *block)))
        };
        blocks.iter().copied().find(fits).map(Job::empty)
    }
}
