//! Blocks pending retirement. They are collected before they leave service.

use std::collections::VecDeque;

use wordline_kernel::{Column, state};
use wordline_nand::{BlockSetId, PlaneGroupId};

use super::view::{Source, View};
use crate::blocks::State;
use crate::gc::job::Job;

/// Blocks pending retirement of each plane group, in the order of their failures.
pub(in crate::gc) struct PendingRetirement {
    rows: Column<PlaneGroupId, VecDeque<BlockSetId>>,
}

state!(PendingRetirement { values { rows } });

impl PendingRetirement {
    pub(super) fn new(rows: u32) -> Self {
        Self { rows: Column::filled(rows as usize, VecDeque::new()) }
    }

    /// Queues a block for collection and retirement.
    pub(in crate::gc) fn add(&mut self, row: PlaneGroupId, block: BlockSetId) {
        self.rows[row].push_back(block);
    }

    /// Whether a plane group has queued blocks. They may have been collected meanwhile.
    #[inline]
    pub(in crate::gc) fn has_any(&self, row: PlaneGroupId) -> bool {
        !self.rows[row].is_empty()
    }

    /// Queued blocks of a plane group.
    pub(in crate::gc) fn of(&self, row: PlaneGroupId) -> impl Iterator<Item = BlockSetId> + '_ {
        self.rows[row].iter().copied()
    }

    /// Clears the queue of a plane group.
    pub(super) fn forget(&mut self, row: PlaneGroupId) {
        self.rows[row].clear();
    }
}

impl Source for PendingRetirement {
    /// First queued block that can be collected. Collecting it gains no free block, so the blocks that GC
    /// itself needs must stay free.
    fn next(&mut self, row: PlaneGroupId, view: &mut View<'_>) -> Option<Job> {
        let queue = &mut self.rows[row];
        if queue.is_empty() {
            return None;
        }
        let blocks = &*view.blocks;
        queue.retain(|block| !matches!(blocks.table().state(*block), State::Victim | State::Bad));
        let spares = blocks.space().free(row) > blocks.space().kept(row);
        let fits = |block: &BlockSetId| {
            blocks.table().state(*block) == State::PendingRetirement
                && (blocks.table().valid(*block) == 0 || (spares && view.has_room_for(row, *block)))
        };
        queue.iter().copied().find(fits).map(Job::empty)
    }
}
