//! Selection of the plane group, or of the stream, of the next program unit.

use wordline_ftl::blocks::BlockManager;
use wordline_nand::{PlaneGroupId, Pool, Pools};

use super::PlaneGroups;
use crate::engines::Core;
use crate::writer::queue::{Lists, WriteQueue};

impl PlaneGroups {
    /// Next plane group for a unit of a list whose assigned plane group is full of valid pages.
    ///
    /// With several pools, also used if the assigned plane group does not accept the unit while all pools are
    /// idle. GC there may
    /// be waiting for pages of the same units, which would be a deadlock.
    pub fn overflow_group(
        &self,
        list: usize,
        queue: &WriteQueue,
        has_pools: bool,
        core: &Core,
    ) -> Option<PlaneGroupId> {
        let pools = &core.ftl.config.pools;
        let (rows, lists) = (pools.rows(), queue.lists());
        let home = lists.home(list)?;
        let (unit, waiting) = (pools.per_program(home), lists[list].pages.len() as u32);
        if waiting == 0 {
            return None;
        }
        let accepting = self.of(lists.stream(list));
        let is_stuck = || has_pools && !accepting.contains(home) && self.is_idle(&core.ftl.gc);
        if !core.ftl.blocks.space().is_full(home, unit) && !is_stuck() {
            return None;
        }
        if waiting < unit && !queue.must_pad(list, self, core) {
            return None;
        }
        (1..rows).map(|n| PlaneGroupId((home.0 + n) % rows)).find(|row| accepting.contains(*row))
    }

    /// Stream of the next program unit of a list in a plane group, and the number of pages of the plane
    /// group's reclaimed block that this unit may have.
    ///
    /// The limit is two reclaimed pages for each host page, and the program unit goes to the first stream of
    /// the pool. Host pages of a stream with reprogrammed word lines are in this program unit too, as long as
    /// they cannot replace a page of another word line (ReSSD, section 4.2.2).
    #[inline]
    pub fn with_reclaimed(
        &self,
        row: PlaneGroupId,
        list: usize,
        lists: &Lists,
        core: &mut Core,
    ) -> (usize, u32) {
        let stream = lists.stream(list);
        if core.ftl.gc.has_reclaimed_pages() {
            self.stream_with_reclaimed(row, stream, lists[list].pages.len() as u32, core)
        } else {
            (stream, 0)
        }
    }

    #[inline(never)]
    fn stream_with_reclaimed(
        &self,
        row: PlaneGroupId,
        stream: usize,
        of_host: u32,
        core: &mut Core,
    ) -> (usize, u32) {
        let is_of_pool = |other: &usize| self.pool_of(*other) == self.pool_of(stream);
        let first = (0..stream).find(is_of_pool).unwrap_or(stream);
        let beside = core.ftl.gc.vacated(row, &core.ftl.blocks).min(2 * of_host);
        let [id, first_id] = [stream, first].map(|stream| core.ftl.blocks.streams().host(stream as u8));
        let goes = || {
            of_host + beside >= core.ftl.blocks.unit(row, first_id)
                && core.ftl.blocks.shares_reclaim_unit(row, id)
                && self.of(first).contains(row)
        };
        if stream == first || beside > 0 && goes() { (first, beside) } else { (stream, 0) }
    }

    /// Whether complete host pages wait for a plane group.
    pub fn has_waiting_pages(&self, row: PlaneGroupId, lists: &Lists, blocks: &BlockManager) -> bool {
        let streams = usize::from(blocks.streams().host);
        let first = lists.of(lists.has_static_allocation().then_some(row), 0);
        let mut waiting = (0..streams).filter(|stream| !lists[first + stream].pages.is_empty());
        waiting.any(|stream| self.is_in_pool_of(row, stream, blocks.pools()))
    }
}

/// Number of pages of the reclaimed block of a plane group that go into the next program unit beside the
/// `waiting` pages of a list, at most `may`. They fill the space that host pages leave, and at least one page of
/// each word line is one of them.
#[inline(never)]
pub(in crate::writer) fn reclaimed_pages(
    row: PlaneGroupId,
    waiting: u32,
    unit: u32,
    may: u32,
    pools: &Pools,
) -> u32 {
    let Pool { geometry, locations, .. } = pools.of_group(row);
    let one_each = locations.of_adjacent_pages(geometry.planes_per_row);
    let most = unit.saturating_sub(waiting).max(one_each).min(unit - 1);
    may.min(most)
}
