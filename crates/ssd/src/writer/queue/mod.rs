//! The write queue: pages that left the buffer's list of dirty ones, until a program unit takes them. What is missing of a partly
//! written page is read, the router is asked for its stream, and it waits in a list. With several pools the pages of a unit go
//! together, as sub-requests.

mod leave;
mod lists;
pub mod units;

use std::fmt::{self, Write};

use wordline_kernel::{Duration, Schedule, state};
use wordline_nand::RowId;

use crate::base::{Base, LocationRead, Wanted};
use crate::cache::buffer::{EntryId, EntryState};
use crate::cache::{Begun, Cache, Ready};
use crate::contents::Mutant;
use crate::design::Sight;
use crate::engines::Core;
use crate::ensure::ensure;
use crate::event::Event;
use crate::flash::Ticket;
use crate::map::LogicalPage;
use crate::map::translation::Then;
use crate::policy::router::Outgoing;
use crate::pools::EVERYTHING_IN;
use crate::space::Space;
use crate::writer::Group;
pub(super) use lists::Lists;
use units::SubRequests;

/// Why a device asks for its sub-requests.
const THERE: &str = "the device has several pools";

/// Pages on their way from the buffer's list of dirty ones to a program unit.
pub(super) struct WriteQueue {
    /// Complete pages that wait: a list for each stream of the host, or, where pages have homes, for each row and stream.
    ready: Lists,
    /// Reads and lookups that entries on their way to a list wait for.
    filling: u32,
    /// None in a device with a single pool.
    subs: Option<Box<SubRequests>>,
}

state!(WriteQueue { values { filling } parts { ready, subs } });

impl WriteQueue {
    /// An empty one; `units` says for each list how many pages make a unit at least.
    pub fn new(units: Vec<u32>, streams: usize, has_homes: bool, subs: Option<Box<SubRequests>>) -> Self {
        Self { ready: Lists::new(units, streams, has_homes), filling: 0, subs }
    }

    /// Forgets what is on its way, as when the power is cut.
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

    /// The same, to be changed.
    fn units(&mut self) -> &mut SubRequests {
        self.subs.as_mut().expect(THERE)
    }

    /// Reads and lookups that pages wait for before they are complete.
    #[inline]
    pub fn filling(&self) -> u32 {
        self.filling
    }

    /// Describes in words up to `lists` of the lists with pages.
    pub fn tell(&self, lists: usize, out: &mut String) -> fmt::Result {
        let held = self.ready.iter().enumerate().filter(|(_, list)| !list.pages.is_empty());
        for (n, list) in held.take(lists) {
            let (pages, urgent) = (list.pages.len(), list.urgent);
            writeln!(out, "  list {n}: {pages} complete pages wait, {urgent} of them urgent")?;
        }
        Ok(())
    }

    /// Checks what was loaded: pages wait that are in the cache, and as much is read for them as they wait for.
    pub fn check_loaded(&self, cache: &Cache, space: &Space) -> Result<(), String> {
        let is_ready = |id| cache.entry(id).state == EntryState::Ready;
        ensure(self.ready.check_loaded(cache.entries(), is_ready), || {
            "lists of pages that are not what they are noted as".into()
        })?;
        match &self.subs {
            Some(subs) => subs.check_loaded(cache, space),
            None => ensure(self.filling == cache.filling(), || {
                format!("{} pages are being completed, not {}", cache.filling(), self.filling)
            }),
        }
    }

    /// Makes an entry that left the list ready for a program unit, as soon as the place of its page is known.
    fn prepare(&mut self, id: EntryId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        let logical = core.cache.entry(id).logical;
        let class = core.cache.class_of_reads_for(id);
        if core.map.locate_or_wait(logical, (Then::Prepare(id), class), &mut core.base, calendar) {
            self.complete(id, core, calendar);
        } else {
            core.cache.begin_completing(id);
            self.filling += 1;
        }
    }

    /// An entry knows where its page is.
    pub fn go_on_preparing(&mut self, id: EntryId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        self.filling -= 1;
        self.complete(id, core, calendar);
    }

    /// Makes an entry ready; the rest of a partly written page is read first.
    fn complete(&mut self, id: EntryId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        if core.cache.is_complete(id, &core.base, &core.map) || core.base.has(Mutant::RestNotRead) {
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
            ticket: Ticket::Fill(id),
            class: core.cache.class_of_reads_for(id),
            location,
            sectors: Wanted::Set(missing),
            logical,
            version,
            waited: Duration::ZERO,
        };
        let (die, reads) = core.base.queue_read(fill, calendar);
        core.cache.await_reads(id, reads);
        core.base.kick(die, calendar);
    }

    /// A read of the rest of a page is over; the last one completes it.
    #[inline]
    pub fn filled(&mut self, id: EntryId, core: &mut Core) {
        if core.cache.read_over(id) {
            self.filling -= 1;
            self.make_ready(id, core);
        }
    }

    /// A complete page waits for its program unit.
    pub fn make_ready(&mut self, id: EntryId, core: &mut Core) {
        if let Some(contents) = &mut core.base.contents {
            let logical = core.cache.entry(id).logical;
            if core.map.get(logical).is_none() {
                contents.completed(logical);
            }
        }
        if self.subs.is_some() {
            return self.unit_page_ready(id, core);
        }
        let entry = core.cache.entry(id);
        let routes = core.base.policies.designs.routes();
        let from = if routes { core.map.get(entry.logical) } else { None };
        let outgoing = Outgoing {
            tag: entry.tag,
            sectors: entry.sectors.count(),
            request: entry.request,
            from,
            ..Outgoing::of(entry.logical.0)
        };
        if routes {
            core.base.policies.designs.note_level(core.cache.level());
        }
        let Base { policies, flash, space, .. } = &mut core.base;
        let stream = policies.route(&outgoing, Sight { flash, space });
        core.cache.send_to(id, stream);
        let Ready { page, stream, urgent } = core.cache.completed(id, &core.base);
        let list = self.list_of(page, stream, core);
        self.ready.push(list, id, urgent);
    }

    /// Which list a complete page waits in.
    #[inline]
    fn list_of(&self, logical: LogicalPage, stream: u8, core: &Core) -> usize {
        let home = match self.ready.have_homes() {
            true => {
                let pool = self.subs.as_ref().map_or(EVERYTHING_IN, |subs| subs.pool_of(stream));
                core.base.policies.placement.home(logical.0, pool)
            }
            false => None,
        };
        self.ready.of(home, usize::from(stream))
    }

    /// Whether an entry that is ready waits in a list, and not for its whole unit.
    fn waits_in_list(&self, page: LogicalPage) -> bool {
        self.subs.as_ref().is_none_or(|subs| subs.waits_in_list(page))
    }

    /// An entry must not stay in the buffer.
    pub fn urge(&mut self, id: EntryId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        let was_urgent = core.cache.urge(id);
        let entry = *core.cache.entry(id);
        match entry.state {
            EntryState::Dirty => self.leave(id, core, calendar),
            EntryState::Ready if !was_urgent && self.waits_in_list(entry.logical) => {
                let list = self.list_of(entry.logical, entry.stream, core);
                self.ready.urge(list, true);
            }
            EntryState::Filling if self.subs.is_some() => self.hurry_unit(entry.logical, core, calendar),
            EntryState::Filling => core.cache.hurry_fill(id, &mut core.base, &core.map, calendar),
            _ => {}
        }
    }

    /// Adds dirty pages that are complete to a list of fewer pages than a unit, instead of padding. The router may send them
    /// elsewhere.
    #[inline(never)]
    pub fn top_up(&mut self, list: usize, unit: u32, core: &mut Core) {
        while (self.ready[list].pages.len() as u32) < unit {
            if core.cache.dirty() == 0 || self.subs.is_some() {
                return;
            }
            let id = core.cache.next_out();
            if !core.cache.is_complete(id, &core.base, &core.map) {
                return;
            }
            core.cache.unlink(id);
            self.make_ready(id, core);
        }
    }

    /// Moves pages of a list into a group, up to a number. Pages that were discarded meanwhile are left out: where there are sub-requests,
    /// they are returned for [`pages_over`](Self::pages_over).
    #[inline]
    pub fn fill(
        &mut self,
        list: usize,
        pages: usize,
        group: &mut Group,
        cache: &mut Cache,
    ) -> Vec<LogicalPage> {
        let mut over = self.list_of_pages();
        while group.stamps.len() < pages {
            let Some(id) = self.ready.pop(list) else { break };
            let Begun { page, stamp, was_urgent } = cache.begin_program(id);
            if was_urgent {
                self.ready.urge(list, false);
            }
            if let Some(stamp) = stamp {
                group.push(id, stamp);
            } else if self.subs.is_some() {
                over.push(page);
            }
        }
        over
    }

    /// A list for pages of sub-requests that are over; one without room where there are no sub-requests.
    #[inline]
    pub fn list_of_pages(&mut self) -> Vec<LogicalPage> {
        self.subs.as_mut().map_or_else(Vec::new, |subs| subs.take_over())
    }

    /// The page that a row writes next, and the list that it is in. Those that were discarded meanwhile leave theirs.
    pub fn first_of(&mut self, row: RowId, cache: &mut Cache) -> Option<(usize, EntryId)> {
        for list in self.ready.of_row(row) {
            while let Some(id) = self.ready[list].pages.front().copied() {
                if !cache.entry(id).discarded {
                    return Some((list, id));
                }
                self.ready.pop(list);
                if cache.entry(id).urgent {
                    self.ready.urge(list, false);
                }
                cache.drop_entry(id);
            }
        }
        None
    }
}
