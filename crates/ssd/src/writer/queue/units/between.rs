//! Transfers between pools: migration of units with a page in a victim, and sub-requests that another pool
//! steals.

use std::collections::VecDeque;

use wordline_ftl::Ftl;
use wordline_ftl::blocks::State;
use wordline_ftl::design::{DesignContext, WaitingPages};
use wordline_ftl::map::LogicalPage;
use wordline_ftl::pools::FALLBACK_POOL;
use wordline_kernel::Schedule;
use wordline_nand::DataTag;

use crate::cache::buffer::NONE;
use crate::engines::Core;
use crate::event::Event;
use crate::writer::plane_groups::PlaneGroups;
use crate::writer::queue::{HAS_SUB_REQUESTS, WriteQueue};

impl WriteQueue {
    /// Migrates pages that were read from victims to the first pool, with their units.
    #[inline]
    pub fn migrate_leaving_pages(&mut self, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        if let Some(mut leaving) = core.ftl.gc.take_migrated() {
            leaving.drain(..).for_each(|stamp| self.migrate(stamp, core, calendar));
            core.ftl.gc.return_migrated(leaving);
        }
    }

    /// Migrates a valid page of a victim to the first pool, with all pages of its unit. The page has been
    /// read.
    fn migrate(&mut self, stamp: DataTag, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        let page = LogicalPage(stamp.logical);
        let subs = self.units();
        if let Some(sub) = subs.of(page) {
            // The page may be in the sub-request in progress or carried with it. `finish_sub_request` checks.
            subs.get(sub).migrates = true;
            return;
        }
        let unit = page.0 / subs.per_unit;
        let sub = subs.begin(unit, subs.first_stream());
        let place = subs.place(page);
        let one = subs.get(sub);
        one.carried[place] = stamp;
        // One extra wait, so that the sub-request is not ready before all reads are queued.
        one.waits = 1;
        self.carry(sub, core, calendar);
        self.count_migrated(page, core);
        self.units().end_wait(sub);
    }

    /// Counts a migrated unit, and its pages that are not in the first pool yet.
    fn count_migrated(&mut self, page: LogicalPage, core: &Core) {
        let pages = self.unit_of_page(page, core).filter(|page| *page < core.ftl.config.logical_pages);
        let counts = &mut self.units().counts;
        counts.migrated += 1;
        for page in pages {
            let from =
                core.ftl.map.get(LogicalPage(page)).map(|location| core.ftl.config.pools.group_of(location));
            let leaves = from.is_some_and(|row| core.ftl.config.pools.number_of_group(row) != FALLBACK_POOL);
            counts.migrated_pages += u64::from(leaves);
        }
    }

    /// Migrates a unit after its sub-request has ended, if a victim still has a page of the unit that must
    /// leave its pool.
    pub(super) fn migrate_unit(
        &mut self,
        page: LogicalPage,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        for page in self.unit_of_page(page, core).filter(|page| *page < core.ftl.config.logical_pages) {
            let Some(location) = core.ftl.map.get(LogicalPage(page)) else { continue };
            let block = core.ftl.config.pools.block_of(location);
            let row = core.ftl.config.pools.group_of_block(block);
            if core.ftl.blocks.table().state(block) == State::Victim && core.ftl.gc.is_migrating(row) {
                return self.migrate(core.ftl.flash.stamp(location), core, calendar);
            }
        }
    }

    /// Lets another pool steal a sub-request that waits as a whole unit; its pages are then programmed one by
    /// one. The balancer must decide so, and a die of that pool must be idle. The pools are tried in
    /// ascending order.
    pub fn steal(&mut self, rows: &PlaneGroups, core: &mut Core) -> bool {
        // Whole units have no assigned plane group. With static allocation, only migrating pages wait as
        // whole units.
        let takes_any = core.ftl.policies.balances() && !self.ready.has_static_allocation();
        if !takes_any || self.units().ready.iter().all(VecDeque::is_empty) {
            return false;
        }
        let pools = 0..core.ftl.config.pools.count();
        pools.filter(|pool| *pool != FALLBACK_POOL).any(|pool| self.steal_to(pool, rows, core))
    }

    /// Lets a pool steal a sub-request; see [`steal`](Self::steal).
    fn steal_to(&mut self, pool: usize, rows: &PlaneGroups, core: &mut Core) -> bool {
        let Some(to) = self.idle_stream(pool, rows, core) else { return false };
        let Ftl { policies, flash, blocks, .. } = &mut core.ftl;
        let subs = self.subs.as_mut().expect(HAS_SUB_REQUESTS);
        let states = self.states.update(flash, blocks);
        let waiting = || subs.waiting().map(|(_, waits)| waits).collect();
        let Some(which) = policies.steal(waiting, pool, DesignContext { flash, blocks }, states) else {
            return false;
        };
        let Some(((stream, at), WaitingPages { pages, .. })) = subs.waiting().nth(which) else {
            return false;
        };
        if !subs.has_room(pool, pages.into(), core) {
            return false;
        }
        let sub = subs.ready[stream].remove(at).expect("it was just found");
        subs.counts.stolen += 1;
        self.split(sub, to, core);
        true
    }

    /// Stream of a pool that has no waiting pages and an accepting plane group whose die is idle.
    fn idle_stream(&self, pool: usize, rows: &PlaneGroups, core: &Core) -> Option<u8> {
        let subs = self.subs.as_ref().expect(HAS_SUB_REQUESTS);
        let idle = |stream: &usize| {
            let waits = !self.ready[*stream].pages.is_empty();
            let die = |row| core.ftl.config.pools.of_group(row).geometry.die_of_group(row);
            !waits && rows.of(*stream).iter().any(|row| core.ftl.flash.chips().is_idle(die(row)))
        };
        (0..subs.pools.len())
            .filter(|stream| subs.pool_of(*stream as u8) == pool)
            .find(idle)
            .map(|stream| stream as u8)
    }

    /// Sends the pages of a sub-request one by one to another stream. Its carried pages keep their locations.
    fn split(&mut self, sub: u32, stream: u8, core: &mut Core) {
        let pool = self.units().pool_of(stream);
        let one = self.units().get(sub);
        (one.whole, one.stream) = (false, stream);
        one.waits = one.entries.iter().filter(|id| **id != NONE).count() as u32;
        for place in 0..one.entries.len() {
            let id = self.units().get(sub).entries[place];
            if id != NONE {
                self.units().set_target_pool(sub, place, pool, &mut core.ftl.blocks);
                core.cache.set_stream(id, stream);
                self.unit_page_ready(id, core);
            }
        }
    }
}
