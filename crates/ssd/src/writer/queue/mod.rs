//! Write queue: destaged pages on their way to a program unit. The rest of a partly written page is read
//! (RMW), the router selects a stream, and the page waits in the list of that stream. With several pools, the
//! pages of a unit go together as a sub-request.

mod destage;
mod lists;
pub mod units;

use std::fmt::{self, Write};

use wordline_flash::Ticket;
use wordline_ftl::blocks::BlockManager;
use wordline_ftl::contents::InjectedFault;
use wordline_ftl::design::DesignContext;
use wordline_ftl::map::LogicalPage;
use wordline_ftl::map::translation::Continuation;
use wordline_ftl::policy::pool_state::PoolStates;
use wordline_ftl::policy::router::HostPage;
use wordline_ftl::pools::FALLBACK_POOL;
use wordline_ftl::{Ftl, LocationRead, WantedSectors};
use wordline_kernel::ensure::ensure;
use wordline_kernel::{Duration, Schedule, state};
use wordline_nand::{DataTag, Location, PlaneGroupId};

use crate::cache::buffer::{EntryId, EntryState};
use crate::cache::{BegunProgram, Cache, Ready};
use crate::engines::Core;
use crate::event::Event;
use crate::writer::{PlaneGroups, ProgramUnit};
pub(crate) use lists::Lists;
use units::SubRequests;

/// Reason why a device has sub-requests, for panics.
const HAS_SUB_REQUESTS: &str = "the device has several pools";

/// Pages between the dirty list of the write buffer and a program unit.
pub(crate) struct WriteQueue {
    /// Complete pages that wait for a program unit. There is a list for each host stream or, with static
    /// allocation, for each plane group and stream.
    ready: Lists,
    /// Outstanding map lookups and RMW reads of pages that are not in a list yet.
    filling: u32,
    /// Sub-requests; `None` in a device with one pool.
    subs: Option<Box<SubRequests>>,
    /// States of the pools, for queries of the router and the balancer.
    states: PoolStates,
}

state!(WriteQueue { values { filling } parts { ready, subs } fixed { states } });

impl WriteQueue {
    /// Empty queue. `units` has the smallest program unit of each list, in pages.
    pub fn new(units: Vec<u32>, streams: usize, has_homes: bool, subs: Option<Box<SubRequests>>) -> Self {
        let ready = Lists::new(units, streams, has_homes);
        Self { ready, filling: 0, subs, states: PoolStates::default() }
    }

    /// Drops all pages, in a power loss.
    pub fn forget(&mut self) {
        self.ready.forget();
        self.filling = 0;
        if let Some(subs) = &mut self.subs {
            subs.forget();
        }
    }

    /// Lists of complete pages.
    #[inline]
    pub fn lists(&self) -> &Lists {
        &self.ready
    }

    /// Sub-requests; `None` in a device with one pool.
    #[inline]
    pub fn subs(&self) -> Option<&SubRequests> {
        self.subs.as_deref()
    }

    /// Mutable sub-requests of a device with several pools.
    fn units(&mut self) -> &mut SubRequests {
        self.subs.as_mut().expect(HAS_SUB_REQUESTS)
    }

    /// Outstanding map lookups and RMW reads of pages that are not complete yet.
    #[inline]
    pub fn filling(&self) -> u32 {
        self.filling
    }

    /// Whether an incomplete program unit of a list must be written. True if a command waits for one of its
    /// pages and no other page is coming. Also true if nothing else would free space in the buffer.
    pub fn must_pad(&self, list: usize, rows: &PlaneGroups, core: &Core) -> bool {
        self.filling == 0 && (self.ready[list].urgent > 0 || rows.is_stalled(&core.cache))
    }

    /// Maps a buffered page to `location`, where it was programmed, unless it is invalid.
    #[inline]
    pub fn page_programmed(
        &mut self,
        id: EntryId,
        stamp: DataTag,
        location: Location,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        let DataTag { logical, version } = stamp;
        let page = LogicalPage(logical);
        if core.cache.mark_programmed(id, version) {
            let old = core.ftl.map.install(page, location, &mut core.ftl.blocks);
            core.ftl.map_cache.note_update(page, old, location, &core.ftl.blocks);
            core.ftl.map.in_flash(page, version);
        }
        if core.cache.programmed(id, version) {
            self.requeue_rewritten(id, core, calendar);
        } else if core.cache.read_cache().is_on() {
            core.cache.keep_programmed(page, version, &core.ftl.map);
        }
    }

    /// Destages a page again that was written during its program.
    fn requeue_rewritten(&mut self, id: EntryId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        let entry = core.cache.buffer().get(id);
        if entry.discarded {
            core.cache.unlink(id);
            core.cache.drop_entry(id);
        } else if entry.urgent || core.cache.is_drained(id) {
            self.force(id, core, calendar);
        }
    }

    /// Writes a report of the lists that have pages, at most `lists` of them.
    pub fn describe(&self, lists: usize, out: &mut String) -> fmt::Result {
        let held = self.ready.iter().enumerate().filter(|(_, list)| !list.pages.is_empty());
        for (n, list) in held.take(lists) {
            let (pages, urgent) = (list.pages.len(), list.urgent);
            writeln!(out, "  list {n}: {pages} complete pages wait, {urgent} of them urgent")?;
        }
        Ok(())
    }

    /// Checks a loaded state: pages in lists are ready in the cache, and outstanding lookups and reads are
    /// counted.
    pub fn check_loaded(&self, cache: &Cache, blocks: &BlockManager) -> Result<(), String> {
        let is_ready = |id| cache.buffer().get(id).state == EntryState::Ready;
        ensure(self.ready.check_loaded(cache.buffer().pages(), is_ready), || {
            "lists of pages disagree with their entries".into()
        })?;
        match &self.subs {
            Some(subs) => subs.check_loaded(cache, blocks),
            None => ensure(self.filling == cache.buffer().filling(), || {
                format!("{} pages are being completed, not {}", cache.buffer().filling(), self.filling)
            }),
        }
    }

    /// Looks up the location of a destaged entry's page, if necessary, and then completes the entry.
    fn prepare(&mut self, id: EntryId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        let logical = core.cache.buffer().get(id).logical;
        let class = core.cache.class_of_reads_for(id);
        let then = (Continuation::Prepare(id.0), class);
        if core.ftl.locate_or_wait(logical, then, &mut calendar.within(Event::Flash)) {
            self.complete(id, core, calendar);
        } else {
            core.cache.begin_completing(id);
            self.filling += 1;
        }
    }

    /// Completes an entry whose page location is known now.
    pub fn resume_preparing(&mut self, id: EntryId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        self.filling -= 1;
        self.complete(id, core, calendar);
    }

    /// Makes an entry ready. If the page is partly written, its rest is read first (RMW).
    fn complete(&mut self, id: EntryId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        if core.cache.is_complete(id, &core.ftl.map)
            || InjectedFault::RestNotRead.is_enabled(core.ftl.contents.as_deref())
        {
            self.make_ready(id, core);
            return;
        }
        let full = core.ftl.page_size.full();
        core.cache.begin_completing(id);
        let entry = core.cache.buffer().get(id);
        let (logical, version, missing) = (entry.logical, entry.flash_version, full.without(entry.sectors));
        let location = core.ftl.map.get(logical).expect("an incomplete page is in flash");
        self.filling += 1;
        let fill = LocationRead {
            ticket: Ticket::Rmw(id.0),
            class: core.cache.class_of_reads_for(id),
            location,
            sectors: WantedSectors::Set(missing),
            logical,
            version,
            waited: Duration::ZERO,
        };
        let (die, reads) = fill.queue(&mut core.ftl.blocks, &mut core.ftl.flash, calendar.now());
        core.cache.await_reads(id, reads);
        core.ftl.flash.start_at_end_of_event(die);
    }

    /// Handles the end of an RMW read. The last one of a page completes the page.
    #[inline]
    pub fn finish_rmw_read(&mut self, id: EntryId, core: &mut Core) {
        if core.cache.finish_read(id) {
            self.filling -= 1;
            self.make_ready(id, core);
        }
    }

    /// Moves a complete page to a list, where it waits for its program unit.
    pub fn make_ready(&mut self, id: EntryId, core: &mut Core) {
        if let Some(contents) = &mut core.ftl.contents {
            let logical = core.cache.buffer().get(id).logical;
            if core.ftl.map.get(logical).is_none() {
                contents.fill_rest_with_zeroes(logical);
            }
        }
        if self.subs.is_some() {
            return self.unit_page_ready(id, core);
        }
        let entry = core.cache.buffer().get(id);
        let routes = core.ftl.policies.designs.routes();
        let from = if routes { core.ftl.map.get(entry.logical) } else { None };
        let outgoing = HostPage {
            tag: entry.tag,
            sectors: entry.sectors.count(),
            request: entry.request,
            from,
            ..HostPage::of(entry.logical.0)
        };
        if routes {
            core.ftl.policies.designs.note_level(core.cache.level());
        }
        let Ftl { policies, flash, blocks, .. } = &mut core.ftl;
        let stream = policies.route(&outgoing, DesignContext { flash, blocks });
        core.cache.set_stream(id, stream);
        let Ready { page, stream, urgent } = core.cache.completed(id);
        let list = self.list_of(page, stream, core);
        self.ready.push(list, id, urgent);
    }

    /// List in which a complete page waits.
    #[inline]
    fn list_of(&self, logical: LogicalPage, stream: u8, core: &Core) -> usize {
        let home = match self.ready.has_static_allocation() {
            true => {
                let pool = self.subs.as_ref().map_or(FALLBACK_POOL, |subs| subs.pool_of(stream));
                core.ftl.policies.placement.home(logical.0, pool)
            }
            false => None,
        };
        self.ready.of(home, usize::from(stream))
    }

    /// Whether a ready entry waits in a list. If not, it waits for the other pages of its whole unit.
    fn is_in_list(&self, page: LogicalPage) -> bool {
        self.subs.as_ref().is_none_or(|subs| subs.is_in_list(page))
    }

    /// Forces the flush of an entry.
    pub fn force(&mut self, id: EntryId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        let was_urgent = core.cache.force(id);
        let entry = *core.cache.buffer().get(id);
        match entry.state {
            EntryState::Dirty => self.destage(id, core, calendar),
            EntryState::Ready if !was_urgent && self.is_in_list(entry.logical) => {
                let list = self.list_of(entry.logical, entry.stream, core);
                self.ready.force(list, true);
            }
            EntryState::AwaitingRmw if self.subs.is_some() => {
                self.promote_unit(entry.logical, core, calendar);
            }
            EntryState::AwaitingRmw => {
                let Ftl { policies, flash, map_cache, .. } = &mut core.ftl;
                core.cache.promote_rmw_reads(id, map_cache, flash, policies, calendar);
            }
            _ => {}
        }
    }

    /// Fills up a list with complete dirty pages that need no read, instead of padding, until it has a
    /// program unit. The router may send these pages to other lists.
    #[inline(never)]
    pub fn top_up(&mut self, list: usize, unit: u32, core: &mut Core) {
        while (self.ready[list].pages.len() as u32) < unit {
            if core.cache.buffer().dirty() == 0 || self.subs.is_some() {
                return;
            }
            let id = core.cache.next_to_destage();
            if !core.cache.is_complete(id, &core.ftl.map) {
                return;
            }
            core.cache.unlink(id);
            self.make_ready(id, core);
        }
    }

    /// Moves up to `pages` pages of a list into a program unit, without pages that were discarded meanwhile.
    /// With sub-requests the discarded pages are returned, for [`finish_pages`](Self::finish_pages).
    #[inline]
    pub fn fill(
        &mut self,
        list: usize,
        pages: usize,
        group: &mut ProgramUnit,
        cache: &mut Cache,
    ) -> Vec<LogicalPage> {
        let mut over = self.list_of_pages();
        while group.stamps.len() < pages {
            let Some(id) = self.ready.pop(list) else { break };
            let BegunProgram { page, stamp, was_urgent } = cache.begin_program(id);
            if was_urgent {
                self.ready.force(list, false);
            }
            if let Some(stamp) = stamp {
                group.push(id, stamp);
            } else if self.subs.is_some() {
                over.push(page);
            }
        }
        over
    }

    /// Empty list for pages of sub-requests that have ended. It has no capacity if there are no sub-requests.
    #[inline]
    pub fn list_of_pages(&mut self) -> Vec<LogicalPage> {
        self.subs.as_mut().map_or_else(Vec::new, |subs| subs.take_page_list())
    }

    /// Next page that a plane group writes, and its list. Removes the pages that were discarded meanwhile
    /// from the lists.
    pub fn first_of(&mut self, row: PlaneGroupId, cache: &mut Cache) -> Option<(usize, EntryId)> {
        for list in self.ready.of_group(row) {
            while let Some(id) = self.ready[list].pages.front().copied() {
                if !cache.buffer().get(id).discarded {
                    return Some((list, id));
                }
                self.ready.pop(list);
                if cache.buffer().get(id).urgent {
                    self.ready.force(list, false);
                }
                cache.drop_entry(id);
            }
        }
        None
    }
}
