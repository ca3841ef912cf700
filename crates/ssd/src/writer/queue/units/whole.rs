//! Sub-requests that are programmed as whole units: their program units, and an audit of the pools.

use std::ops::Range;

use wordline_ftl::map::LogicalPage;
use wordline_nand::{DataTag, Location, PlaneGroupId};

use super::{SubRequest, SubRequests};
use crate::cache::buffer::NONE;
use crate::engines::Core;
use crate::writer::ProgramUnit;

impl SubRequests {
    /// Puts the pages of a sub-request into a program unit, with the carried pages that are still valid.
    ///
    /// If pages migrate to a page-mapped pool, only `places` of them fit; the next sub-request of the unit
    /// takes the others.
    pub(super) fn fill(&mut self, sub: u32, places: u32, group: &mut ProgramUnit, core: &mut Core) {
        group.extent = Some(sub);
        let SubRequest { entries, carried, whole, migrates, .. } = self.get(sub);
        if !*whole {
            let mut moved = carried
                .iter()
                .filter(|stamp| stamp.is_data() && core.ftl.map.holds(**stamp, &core.ftl.flash));
            moved.by_ref().take(places as usize).for_each(|stamp| group.carry(*stamp));
            *migrates |= moved.next().is_some();
            return;
        }
        for (place, stamp) in entries.iter_mut().zip(carried) {
            let id = *place;
            if id == NONE {
                let is_there = stamp.is_data() && core.ftl.map.holds(*stamp, &core.ftl.flash);
                group.carry(if is_there { *stamp } else { DataTag::PADDING });
                continue;
            }
            match core.cache.begin_program(id).stamp {
                Some(stamp) => group.push(id, stamp),
                None => {
                    *place = NONE;
                    group.carry(DataTag::PADDING);
                }
            }
        }
    }

    /// Records the plane groups that lost pages to a unit that was programmed in `row`. A victim there may
    /// have no valid pages now.
    pub fn note_source_groups(&mut self, row: PlaneGroupId, group: &ProgramUnit, core: &Core) {
        let left = &mut self.left;
        for (stamp, id) in (0..group.stamps.len()).filter_map(|place| group.page(place)) {
            let is_wanted = id.map_or_else(
                || core.ftl.map.holds(stamp, &core.ftl.flash),
                |id| !core.cache.buffer().get(id).void,
            );
            if is_wanted && let Some(old) = core.ftl.map.get(LogicalPage(stamp.logical)) {
                left.push(core.ftl.config.pools.group_of(old));
            }
        }
        left.sort_unstable();
        left.dedup();
        left.retain(|from| *from != row);
    }

    /// Requeues a sub-request after its failed program, before all others of its stream, and makes its pages
    /// urgent.
    pub fn unit_failed(&mut self, sub: u32, group: &ProgramUnit, core: &mut Core) {
        for id in group.entries() {
            core.cache.force(id);
            core.cache.return_to_ready(id);
        }
        core.ftl.map.note_unit_written(self.first_page(sub));
        let stream = usize::from(self.get(sub).stream);
        self.ready[stream].push_front(sub);
    }

    /// Records that the unit of a sub-request is being programmed to the program unit at `first`.
    pub fn set_unit_location(&self, sub: u32, first: Location, core: &mut Core) {
        core.ftl.map.note_unit_write(self.first_page(sub), first);
    }

    /// Streams that may have sub-requests ready as whole units.
    pub fn streams(&self) -> Range<usize> {
        0..self.ready.len()
    }

    /// Whether a stream has a sub-request that is ready as a whole unit.
    pub fn has_ready(&self, stream: usize) -> bool {
        !self.ready[stream].is_empty()
    }

    /// Checks that the valid pages of each unit in the coarsely mapped pool are in one program unit, at their
    /// offsets, and that the page counts of the pools are right.
    pub fn audit(&self, core: &Core) {
        let mut homes: Vec<u32> = vec![u32::MAX; self.of_unit.len()];
        let mut valid = vec![0u64; core.ftl.config.pools.count()];
        for page in (0..core.ftl.config.logical_pages).map(LogicalPage) {
            let Some(location) = core.ftl.map.get(page) else { continue };
            let row = core.ftl.config.pools.group_of(location);
            valid[core.ftl.config.pools.number_of_group(row)] += 1;
            if !core.ftl.blocks.pool_of(row).is_coarsely_mapped() {
                continue;
            }
            let (_, place) = core.ftl.config.pools.of_group(row).locations.split(location);
            assert_eq!(place % self.per_unit, page.0 % self.per_unit, "page {} is at its place", page.0);
            let (home, found) =
                (&mut homes[(page.0 / self.per_unit) as usize], location.0 - place % self.per_unit);
            assert!(*home == u32::MAX || *home == found, "unit {} is in two places", page.0 / self.per_unit);
            *home = found;
        }
        for (n, valid) in valid.into_iter().enumerate() {
            assert!(
                valid <= core.ftl.blocks.by_pool()[n].valid(),
                "pool {n} holds {valid} pages of the host and counts {}",
                core.ftl.blocks.by_pool()[n].valid()
            );
        }
    }
}
