//! Checks of loaded sub-requests.

use wordline_ftl::blocks::BlockManager;
use wordline_ftl::pools::FALLBACK_POOL;
use wordline_kernel::ensure;
use wordline_kernel::ensure::ensure;

use super::{NO_SUB, SubRequest, SubRequests};
use crate::cache::Cache;
use crate::cache::buffer::{EntryId, EntryState, NONE};

impl SubRequests {
    /// Checks a loaded state: each unit has at most one sub-request, its entries are in the cache, and the
    /// pages on their way to each pool are counted.
    pub fn check_loaded(&self, cache: &Cache, blocks: &BlockManager) -> Result<(), String> {
        let mut is_free = vec![false; self.all.len()];
        let mut take = |sub: u32| ensure::is_first(&mut is_free, sub as usize);
        ensure(self.free.iter().all(|sub| take(*sub)), || "sub-requests are free twice".into())?;
        let is_of = |(unit, sub): (usize, &u32)| {
            *sub == NO_SUB
                || is_free.get(*sub as usize) == Some(&false) && self.all[*sub as usize].unit as usize == unit
        };
        let under_way = self.of_unit.iter().filter(|sub| **sub != NO_SUB).count();
        let holds = under_way == self.all.len() - self.free.len();
        ensure(holds && self.of_unit.iter().enumerate().all(is_of), || {
            "the sub-requests listed by unit differ from those in use".into()
        })?;
        let mut going = vec![0u64; self.last_pool + 1];
        for one in self.all.iter().zip(&is_free).filter(|(_, free)| !**free).map(|(one, _)| one) {
            ensure(self.is_possible(one, cache), || format!("unit {} is not on its way as noted", one.unit))?;
            let pools = one.goes_to.iter().map(|pool| usize::from(*pool));
            pools.filter(|pool| *pool != FALLBACK_POOL).for_each(|pool| going[pool] += 1);
        }
        // The counts also include pages without a sub-request.
        let counts = (0..).zip(&going).all(|(pool, going)| blocks.by_pool()[pool].on_their_way() >= *going);
        ensure(counts, || "more pages go to a pool than are counted".into())?;
        let mut is_ready = is_free;
        let mut waits_here = |stream: usize, sub: u32| {
            ensure::is_first(&mut is_ready, sub as usize) && {
                let one = &self.all[sub as usize];
                usize::from(one.stream) == stream && one.waits == 0
            }
        };
        let mut ready = self.ready.iter().enumerate();
        let holds = ready.all(|(stream, subs)| subs.iter().all(|sub| waits_here(stream, *sub)));
        ensure(holds && self.ready.len() == self.pools.len(), || {
            "incomplete sub-requests wait for a program unit".into()
        })
    }

    fn is_possible(&self, one: &SubRequest, cache: &Cache) -> bool {
        let per_unit = self.per_unit as usize;
        let is_there = |id: &EntryId| {
            *id == NONE
                || id.0 < cache.buffer().pages() && {
                    let entry = cache.buffer().get(*id);
                    entry.state != EntryState::Free && entry.logical.0 / self.per_unit == one.unit
                }
        };
        [one.entries.len(), one.carried.len(), one.goes_to.len()] == [per_unit; 3]
            && usize::from(one.stream) < self.pools.len()
            && one.goes_to.iter().all(|pool| usize::from(*pool) <= self.last_pool)
            && one.entries.iter().chain(&one.later).all(is_there)
    }
}
