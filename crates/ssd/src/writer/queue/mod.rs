//! The write queue: pages that were destaged and wait for a program unit. The rest of a partly written page
//! is read (RMW), the router is queried for its stream, and the page waits in a list. With several pools the
//! pages of a unit go together, as sub-requests.

mod destage;
mod lists;
pub mod units;

use std::fmt::{self, Write};

use wordline_kernel::{Duration, Schedule, state};
use wordline_nand::PlaneGroupId;

use crate::base::{Base, LocationRead, WantedSectors};
use crate::blocks::BlockManager;
use crate::cache::buffer::{EntryId, EntryState};
use crate::cache::{BegunProgram, Cache, Ready};
use crate::contents::InjectedFault;
use crate::design::DesignContext;
use crate::engines::Core;
use crate::ensure::ensure;
use crate::event::Event;
use crate::flash::Ticket;
use crate::map::LogicalPage;
use crate::map::translation::Continuation;
use crate::policy::router::HostPage;
use crate::pools::FALLBACK_POOL;
use crate::writer::ProgramUnit;
pub(super) use lists::Lists;
use units::SubRequests;

/// Reason for which a device has sub-requests.
const HAS_SUB_REQUESTS: &str = "the device has several pools";

/// Pages between the buffer's list of dirty pages and a program unit.
pub(super) struct WriteQueue {
    /// Waiting complete pages: a list for each stream of the host or, with static allocation, for each plane
    /// group and stream.
    ready: Lists,
    /// Outstanding reads and lookups of entries on their way to a list.
    filling: u32,
    /// None in a device with a single pool.
    subs: Option<Box<SubRequests>>,
}

state!(WriteQueue { values { filling } parts { ready, subs } });

impl WriteQueue {
    /// An empty queue; `units` has the smallest unit of each list, in pages.
    pub fn new(units: Vec<u32>, streams: usize, has_homes: bool, subs: Option<Box<SubRequests>>) -> Self {
        Self { ready: Lists::new(units, streams, has_homes), filling: 0, subs }
    }

    /// Drops all pages on their way, in a power cut.
    pub fn forget(&mut self) {
        self.ready.forget();
        self.filling = 0;
        if let Some(subs) = &mut self.subs {
            subs.forget();
        }
    }

    /// The lists of complete pages.
    #[inline]
    pub fn lists(&self) -> &Lists {
        &self.ready
    }

    /// The sub-requests of a device with several pools.
    #[inline]
    pub fn subs(&self) -> Option<&SubRequests> {
        self.subs.as_deref()
    }

    /// The sub-requests, to change them.
    fn units(&mut self) -> &mut SubRequests {
        self.subs.as_mut().expect(HAS_SUB_REQUESTS)
    }

    /// Outstanding reads and lookups of pages that are not complete yet.
    #[inline]
    pub fn filling(&self) -> u32 {
        self.filling
    }

    /// Writes a report of up to `lists` of the lists with pages.
    pub fn describe(&self, lists: usize, out: &mut String) -> fmt::Result {
        let held = self.ready.iter().enumerate().filter(|(_, list)| !list.pages.is_empty());
        for (n, list) in held.take(lists) {
            let (pages, urgent) = (list.pages.len(), list.urgent);
            writeln!(out, "  list {n}: {pages} complete pages wait, {urgent} of them urgent")?;
        }
        Ok(())
    }

    /// Checks a loaded state: waiting pages are in the cache, and the reads for them are counted.
    pub fn check_loaded(&self, cache: &Cache, space: &BlockManager) -> Result<(), String> {
        let is_ready = |id| cache.entry(id).state == EntryState::Ready;
        ensure(self.ready.check_loaded(cache.entries(), is_ready), || {
            "lists of pages disagree with their entries".into()
        })?;
        match &self.subs {
            Some(subs) => subs.check_loaded(cache, space),
            None => ensure(self.filling == cache.filling(), || {
                format!("{} pages are being completed, not {}", cache.filling(), self.filling)
            }),
        }
    }

    /// Prepares a destaged entry for a program unit, as soon as its page is located.
    fn prepare(&mut self, id: EntryId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        let logical = core.cache.entry(id).logical;
        let class = core.cache.class_of_reads_for(id);
        if core.map.locate_or_wait(logical, (Continuation::Prepare(id), class), &mut core.base, calendar) {
            self.complete(id, core, calendar);
        } else {
            core.cache.begin_completing(id);
            self.filling += 1;
        }
    }

    /// Continues with an entry whose page was located.
    pub fn resume_preparing(&mut self, id: EntryId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        self.filling -= 1;
        self.complete(id, core, calendar);
    }

    /// Makes an entry ready; the rest of a partly written page is read first (RMW).
    fn complete(&mut self, id: EntryId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        if core.cache.is_complete(id, &core.base, &core.map) || core.base.has(InjectedFault::RestNotRead) {
            self.make_ready(id, core);
            return;
        }
        let full = core.base.full_page();
        core.cache.begin_completing(id);
        let entry = core.cache.entry(id);
        let (logical, version, missing) = (entry.logical, entry.flash_version, full.without(entry.sectors));
        let location = core.map.get(logical).expect("an incomplete page is in flash");
        self.filling += 1;
        let fill = LocationRead {
            ticket: Ticket::Rmw(id),
            class: core.cache.class_of_reads_for(id),
            location,
            sectors: WantedSectors::Set(missing),
            logical,
            version,
            waited: Duration::ZERO,
        };
        let (die, reads) = core.base.queue_read(fill, calendar);
        core.cache.await_reads(id, reads);
        core.base.start_die(die, calendar);
    }

    /// An RMW read of a page has ended; the last one completes the page.
    #[inline]
    pub fn finish_rmw_read(&mut self, id: EntryId, core: &mut Core) {
        if core.cache.finish_read(id) {
            self.filling -= 1;
            self.make_ready(id, core);
        }
    }

    /// Lets a complete page wait for its program unit.
    pub fn make_ready(&mut self, id: EntryId, core: &mut Core) {
        if let Some(contents) = &mut core.base.contents {
            let logical = core.cache.entry(id).logical;
            if core.map.get(logical).is_none() {
                contents.fill_rest_with_zeroes(logical);
            }
        }
        if self.subs.is_some() {
            return self.unit_page_ready(id, core);
        }
        let entry = core.cache.entry(id);
        let routes = core.base.policies.designs.routes();
        let from = if routes { core.map.get(entry.logical) } else { None };
        let outgoing = HostPage {
            tag: entry.tag,
            sectors: entry.sectors.count(),
            request: entry.request,
            from,
            ..HostPage::of(entry.logical.0)
        };
        if routes {
            core.base.policies.designs.note_level(core.cache.level());
        }
        let Base { policies, flash, space, .. } = &mut core.base;
        let stream = policies.route(&outgoing, DesignContext { flash, space });
        core.cache.set_stream(id, stream);
        let Ready { page, stream, urgent } = core.cache.completed(id, &core.base);
        let list = self.list_of(page, stream, core);
        self.ready.push(list, id, urgent);
    }

    /// The list in which a complete page waits.
    #[inline]
    fn list_of(&self, logical: LogicalPage, stream: u8, core: &Core) -> usize {
        let home = match self.ready.has_static_allocation() {
            true => {
                let pool = self.subs.as_ref().map_or(FALLBACK_POOL, |subs| subs.pool_of(stream));
                core.base.policies.placement.home(logical.0, pool)
            }
            false => None,
        };
        self.ready.of(home, usize::from(stream))
    }

    /// Whether a ready entry waits in a list, and not for its whole unit.
    fn is_in_list(&self, page: LogicalPage) -> bool {
        self.subs.as_ref().is_none_or(|subs| subs.is_in_list(page))
    }

    /// Forces an entry out of the buffer.
    pub fn force(&mut self, id: EntryId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        let was_urgent = core.cache.force(id);
        let entry = *core.cache.entry(id);
        match entry.state {
            EntryState::Dirty => self.destage(id, core, calendar),
            EntryState::Ready if !was_urgent && self.is_in_list(entry.logical) => {
                let list = self.list_of(entry.logical, entry.stream, core);
                self.ready.force(list, true);
            }
            EntryState::AwaitingRmw if self.subs.is_some() => {
                self.promote_unit(entry.logical, core, calendar);
            }
            EntryState::AwaitingRmw => core.cache.promote_rmw_reads(id, &mut core.base, &core.map, calendar),
            _ => {}
        }
    }

    /// Adds complete dirty pages to a list that has fewer pages than a unit, instead of padding. The router
    /// may send them elsewhere.
    #[inline(never)]
    pub fn top_up(&mut self, list: usize, unit: u32, core: &mut Core) {
        while (self.ready[list].pages.len() as u32) < unit {
            if core.cache.dirty() == 0 || self.subs.is_some() {
                return;
            }
            let id = core.cache.next_to_destage();
            if !core.cache.is_complete(id, &core.base, &core.map) {
                return;
            }
            core.cache.unlink(id);
            self.make_ready(id, core);
        }
    }

    /// Moves pages of a list into a program unit, up to a number. Pages that were discarded meanwhile are
    /// left out: with sub-requests, they are returned for [`finish_pages`](Self::finish_pages).
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

    /// A list for pages of sub-requests that have ended; one without capacity if there are no sub-requests.
    #[inline]
    pub fn list_of_pages(&mut self) -> Vec<LogicalPage> {
        self.subs.as_mut().map_or_else(Vec::new, |subs| subs.take_page_list())
    }

    /// The page that a plane group writes next, and its list. Pages that were discarded meanwhile leave their
    /// lists.
    pub fn first_of(&mut self, row: PlaneGroupId, cache: &mut Cache) -> Option<(usize, EntryId)> {
        for list in self.ready.of_group(row) {
            while let Some(id) = self.ready[list].pages.front().copied() {
                if !cache.entry(id).discarded {
                    return Some((list, id));
                }
                self.ready.pop(list);
                if cache.entry(id).urgent {
                    self.ready.force(list, false);
                }
                cache.drop_entry(id);
            }
        }
        None
    }
}
