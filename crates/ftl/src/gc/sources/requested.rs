//! Blocks and pages that a design requests to collect and to relocate.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wordline_kernel::{Column, state};
use wordline_nand::{BlockSetId, Location, PlaneGroupId};

use super::view::{Source, View};
use crate::blocks::BlockManager;
use crate::gc::job::Job;
use crate::map::LogicalPage;

/// A requested page: its number, and its location at the request.
type RequestedPage = (LogicalPage, Location);

/// Requests of a plane group.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct GroupRequests {
    /// Blocks, in the order of the requests.
    blocks: VecDeque<BlockSetId>,
    /// Pages, in the order of the requests.
    pages: VecDeque<RequestedPage>,
}

/// Collects blocks and relocates pages that a design requested.
pub(in crate::gc) struct Requested {
    rows: Column<PlaneGroupId, GroupRequests>,
    /// Plane groups with requests.
    waiting: u32,
}

state!(Requested { values { rows, waiting } });

impl GroupRequests {
    fn is_empty(&self) -> bool {
        self.blocks.is_empty() && self.pages.is_empty()
    }
}

impl Requested {
    pub(super) fn new(rows: u32) -> Self {
        Self { rows: Column::filled(rows as usize, GroupRequests::default()), waiting: 0 }
    }

    /// Adds a block. Does nothing if it is already requested.
    pub(in crate::gc) fn add_block(&mut self, row: PlaneGroupId, block: BlockSetId) {
        self.change(row, |requests| {
            if !requests.blocks.contains(&block) {
                requests.blocks.push_back(block);
            }
        });
    }

    /// Adds a page.
    pub(in crate::gc) fn add_page(&mut self, row: PlaneGroupId, page: LogicalPage, at: Location) {
        self.change(row, |requests| requests.pages.push_back((page, at)));
    }

    /// Whether a plane group has requests. They may have become obsolete.
    #[inline]
    pub(in crate::gc) fn has_any(&self, row: PlaneGroupId) -> bool {
        self.waiting > 0 && !self.rows[row].is_empty()
    }

    /// Cancels the requests of a plane group.
    pub(super) fn forget(&mut self, row: PlaneGroupId) {
        self.change(row, |requests| *requests = GroupRequests::default());
    }

    fn change<T>(&mut self, row: PlaneGroupId, change: impl FnOnce(&mut GroupRequests) -> T) -> T {
        let requests = &mut self.rows[row];
        let before = !requests.is_empty();
        let result = change(requests);
        self.waiting = self.waiting + u32::from(!requests.is_empty()) - u32::from(before);
        result
    }

    /// Whether the loaded requests are possible: the blocks and pages must be in their plane groups.
    pub(in crate::gc) fn is_possible(
        &self,
        row: PlaneGroupId,
        has_page: impl Fn(Location) -> bool,
        has_block: impl Fn(BlockSetId) -> bool,
    ) -> bool {
        let GroupRequests { blocks, pages } = &self.rows[row];
        blocks.iter().all(|block| has_block(*block)) && pages.iter().all(|(_, at)| has_page(*at))
    }

    /// Whether the loaded number of plane groups with requests is right.
    pub(in crate::gc) fn counts_right(&self) -> bool {
        self.rows.iter().filter(|requests| !requests.is_empty()).count() == self.waiting as usize
    }
}

impl GroupRequests {
    /// Drops requests that became obsolete.
    fn drop_obsolete(&mut self, view: &View<'_>) {
        let (table, pools) = (view.blocks.table(), view.blocks.pools());
        self.blocks.retain(|block| table.can_be_collected(*block));
        self.pages.retain(|(page, at)| {
            let is_there = table.is_valid(*at) && view.flash.stamp(*at).logical == page.0;
            is_there && table.may_relocate_from(pools.block_of(*at))
        });
    }

    /// Job for the first block for whose pages there is space.
    fn collect(&mut self, row: PlaneGroupId, view: &View<'_>) -> Option<Job> {
        let fits = |block: &BlockSetId| view.has_room_for(row, *block);
        let at = self.blocks.iter().position(fits)?;
        self.blocks.remove(at).map(Job::empty)
    }

    /// Job for the first pages, as many as there is space for and a block has.
    fn relocate(&mut self, row: PlaneGroupId, view: &View<'_>) -> Option<Job> {
        let pools = view.blocks.pools();
        let (unit, whole) = (pools.per_program(row), view.blocks.pool_of(row).is_coarsely_mapped());
        let most = view.room_for_pages(row).min(pools.per_block_of(row) as usize);
        let most = if whole { most / unit as usize } else { most };
        let chosen = self.pages.drain(..most.min(self.pages.len()));
        let mut pages: Vec<Location> = chosen.map(|(_, at)| at).collect();
        if whole {
            pages = pages.into_iter().flat_map(|at| valid_in_unit(at, unit, view.blocks)).collect();
        }
        pages.sort_unstable();
        pages.dedup();
        let reached = pools.of_group(row).locations.split(*pages.first()?);
        Some(Job::relocating(pages, reached))
    }
}

/// Valid locations of the unit of a location.
fn valid_in_unit(at: Location, unit: u32, blocks: &BlockManager) -> impl Iterator<Item = Location> + '_ {
    let first = at.0 - blocks.pools().of_location(at).locations.split(at).1 % unit;
    (first..first + unit).map(Location).filter(|other| blocks.table().is_valid(*other))
}

impl Source for Requested {
    /// First requested block, or the first requested pages. The blocks that GC itself needs must stay free.
    #[inline]
    fn next(&mut self, row: PlaneGroupId, view: &mut View<'_>) -> Option<Job> {
        if !self.has_any(row) {
            return None;
        }
        let spares = view.blocks.space().free(row) > view.blocks.space().kept(row);
        let job = self.change(row, |requests| {
            requests.drop_obsolete(view);
            spares.then(|| requests.collect(row, view).or_else(|| requests.relocate(row, view))).flatten()
        })?;
        Some(Job { is_requested: true, ..job })
    }
}
