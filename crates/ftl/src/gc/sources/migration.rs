//! Migration between pools. The valid pages of a victim are listed and programmed in the first pool, in
//! order. When all are programmed, the victim is erased.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Column, state};
use wordline_nand::{BlockSetId, PlaneGroupId};

use super::view::{Source, View};
use crate::gc::job::Job;

/// A victim whose pages migrate.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct MigratedVictim {
    block: BlockSetId,
    /// Offset of the first page that migrates.
    from: u32,
    /// Whether the pages were listed.
    is_listed: bool,
}

/// Migrates pages of victims to another pool.
pub(in crate::gc) struct Migration {
    rows: Column<PlaneGroupId, Option<MigratedVictim>>,
}

state!(Migration { values { rows } });

impl Migration {
    pub(super) fn new(rows: u32) -> Self {
        Self { rows: Column::filled(rows as usize, None) }
    }

    /// Migrates the pages of a victim from offset `from` on.
    pub(in crate::gc) fn migrate(&mut self, row: PlaneGroupId, block: BlockSetId, from: u32) {
        self.rows[row] = Some(MigratedVictim { block, from, is_listed: false });
    }

    /// Whether pages of the plane group are migrating.
    #[inline]
    pub(in crate::gc) fn is_at(&self, row: PlaneGroupId) -> bool {
        self.rows[row].is_some()
    }

    /// Victim whose pages are migrating.
    pub(in crate::gc) fn block(&self, row: PlaneGroupId) -> Option<BlockSetId> {
        self.rows[row].map(|abandoned| abandoned.block)
    }

    /// Clears a plane group that is out of service. Also used after a power cut.
    pub(super) fn forget(&mut self, row: PlaneGroupId) {
        self.rows[row] = None;
    }
}

impl Source for Migration {
    /// Returns first a job for the valid pages. When none is left, returns a job that erases their block.
    #[inline]
    fn next(&mut self, row: PlaneGroupId, view: &mut View<'_>) -> Option<Job> {
        let abandoned = self.rows[row].as_mut()?;
        let MigratedVictim { block, from, .. } = *abandoned;
        if std::mem::replace(&mut abandoned.is_listed, true) {
            self.rows[row] = None;
            return Some(Job::empty_from(block, view.blocks.pools().per_block(block)));
        }
        let next = |from| view.blocks.table().next_valid(block, from);
        let places = std::iter::successors(next(from), |place| next(place + 1));
        let pages = places.map(|place| view.blocks.pools().at(block, place)).collect();
        Some(Job { leaves: true, ..Job::relocating(pages, (block, from)) })
    }
}
