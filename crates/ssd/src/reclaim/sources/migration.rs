//! Pages leave their pool: those of a victim are listed and moved to the first pool, in their order, and when all of them are
//! there the block is empty, and erased.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Column, state};
use wordline_nand::{BlockSetId, RowId};

use super::view::{Source, View};
use crate::reclaim::job::Job;

/// A victim whose pages leave the pool.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Abandoned {
    block: BlockSetId,
    /// The place from which on its pages leave.
    from: u32,
    /// Whether they are on their way.
    is_listed: bool,
}

/// Moves the pages of victims out of their pool.
pub(in crate::reclaim) struct Migration {
    rows: Column<RowId, Option<Abandoned>>,
}

state!(Migration { values { rows } });

impl Migration {
    pub(super) fn new(rows: u32) -> Self {
        Self { rows: Column::filled(rows as usize, None) }
    }

    /// The pages of a victim of the row, from a place on, leave the pool.
    pub(in crate::reclaim) fn send_off(&mut self, row: RowId, block: BlockSetId, from: u32) {
        self.rows[row] = Some(Abandoned { block, from, is_listed: false });
    }

    /// Whether pages of the row are leaving the pool.
    #[inline]
    pub(in crate::reclaim) fn is_at(&self, row: RowId) -> bool {
        self.rows[row].is_some()
    }

    /// The victim of a row that they leave.
    pub(in crate::reclaim) fn block(&self, row: RowId) -> Option<BlockSetId> {
        self.rows[row].map(|abandoned| abandoned.block)
    }

    /// The row is out of use as a whole, or the power is cut.
    pub(super) fn forget(&mut self, row: RowId) {
        self.rows[row] = None;
    }
}

impl Source for Migration {
    /// First a list of the pages that are valid; when none of them is in its place any more, the block they were in.
    #[inline]
    fn next(&mut self, row: RowId, view: &mut View<'_>) -> Option<Job> {
        let abandoned = self.rows[row].as_mut()?;
        let Abandoned { block, from, .. } = *abandoned;
        if std::mem::replace(&mut abandoned.is_listed, true) {
            self.rows[row] = None;
            return Some(Job::empty_from(block, view.space.pools().per_block(block)));
        }
        let next = |from| view.space.next_valid(block, from);
        let places = std::iter::successors(next(from), |place| next(place + 1));
        let pages = places.map(|place| view.space.pools().at(block, place)).collect();
        Some(Job { leaves: true, ..Job::moving(pages, (block, from)) })
    }
}
