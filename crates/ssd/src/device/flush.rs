//! From the buffer towards flash: which pages leave it and when, and how a partly written one is completed.

use wordline_kernel::{Duration, Schedule, state};

use super::read::{SlotRead, Wanted};
use super::{Device, Event, Mutant};
use crate::Config;
use crate::buffer::{Entry, EntryId, EntryState};
use crate::command::RequestId;
use crate::flash::Ticket;
use crate::ftl::mapping::LogicalPage;
use crate::ftl::translation::Then;
use crate::policy::router::Outgoing;
use crate::sectors::Sectors;

/// How full the buffer may be before pages leave it: in pages, or in written sectors where these are counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    high: u32,
    low: u32,
    /// Pages that may be on their way to a program unit.
    most: u32,
    /// Writing out has begun and did not come to the low mark yet.
    begun: bool,
}

state!(Marks { values { begun } fixed { high, low, most } });

impl Marks {
    pub fn new(config: &Config) -> Self {
        let file = &config.file.buffer;
        let room = f64::from(file.room().unwrap_or(config.buffer_pages));
        let (high, low) = (file.flush_above, file.flush_to.unwrap_or(file.flush_above));
        let (high, low) = ((room * high) as u32, (room * low) as u32);
        // Two program units a row keep every die busy while the next pages are read and gathered.
        let rows = 0..config.pools.rows();
        let most = 2 * rows.map(|row| config.pools.per_program(row)).sum::<u32>();
        Self { high, low, most, begun: false }
    }

    /// Whether pages leave when there is so much that is not being programmed.
    #[inline]
    fn are_passed(&mut self, full: u32) -> bool {
        self.begun = full > if self.begun { self.low } else { self.high };
        self.begun
    }
}

impl Device {
    /// An entry must not stay in the buffer.
    pub(super) fn urge(&mut self, id: EntryId, calendar: &mut impl Schedule<Event>) {
        let was_urgent = std::mem::replace(&mut self.buffer.get_mut(id).urgent, true);
        let entry = *self.buffer.get(id);
        match entry.state {
            EntryState::Dirty => self.leave(id, calendar),
            EntryState::Ready if !was_urgent && self.waits_in_list(entry.logical) => {
                let list = self.list_of(entry.logical, entry.stream);
                self.ready.urge(list, true);
            }
            EntryState::Filling if self.subs.is_some() => self.hurry_unit(entry.logical, calendar),
            EntryState::Filling => self.hurry_fill(id, calendar),
            _ => {}
        }
    }

    /// Whether the buffer holds all of a page, or flash nothing of it.
    #[inline]
    pub(super) fn is_complete(&self, id: EntryId) -> bool {
        let entry = self.buffer.get(id);
        entry.sectors == self.full_page() || self.mapping.get(entry.logical).is_none()
    }

    /// Makes an entry that left the list ready for a program unit, as soon as the place of its page is known.
    pub(super) fn prepare(&mut self, id: EntryId, calendar: &mut impl Schedule<Event>) {
        let logical = self.buffer.get(id).logical;
        let class = self.class_of_reads_for(id);
        if self.is_located(logical, (Then::Prepare(id), class), calendar) {
            self.complete(id, calendar);
        } else {
            self.buffer.get_mut(id).state = EntryState::Filling;
            self.filling += 1;
        }
    }

    /// An entry knows where its page is.
    pub(super) fn go_on_preparing(&mut self, id: EntryId, calendar: &mut impl Schedule<Event>) {
        self.filling -= 1;
        self.complete(id, calendar);
    }

    /// Makes an entry ready; the rest of a partly written page is read first.
    pub(super) fn complete(&mut self, id: EntryId, calendar: &mut impl Schedule<Event>) {
        if self.is_complete(id) || self.has(Mutant::RestNotRead) {
            self.make_ready(id);
            return;
        }
        let full = self.full_page();
        let entry = self.buffer.get_mut(id);
        entry.state = EntryState::Filling;
        let (logical, version, missing) = (entry.logical, entry.flash_version, full.without(entry.sectors));
        let slot = self.mapping.get(logical).expect("an incomplete page is in flash");
        self.filling += 1;
        let fill = SlotRead {
            ticket: Ticket::Fill(id),
            class: self.class_of_reads_for(id),
            slot,
            sectors: Wanted::Set(missing),
            logical,
            version,
            waited: Duration::ZERO,
        };
        let (die, reads) = self.queue_read(fill, calendar);
        self.buffer.get_mut(id).fills = reads as u8;
        self.kick(die, calendar);
    }

    /// A read of the rest of a page is over; the last one completes it.
    pub(super) fn filled(&mut self, id: EntryId) {
        let entry = self.buffer.get_mut(id);
        entry.fills -= 1;
        if entry.fills == 0 {
            self.filling -= 1;
            self.make_ready(id);
        }
    }

    /// A complete page waits for its program unit.
    pub(super) fn make_ready(&mut self, id: EntryId) {
        if self.contents.is_some() {
            self.note_complete(id);
        }
        if self.subs.is_some() {
            return self.unit_page_ready(id);
        }
        let full = self.full_page();
        let drained = self.is_drained(id);
        let entry = self.buffer.get_mut(id);
        let (logical, tag, sectors) = (entry.logical.0, entry.tag, entry.sectors.count());
        let outgoing = Outgoing { logical, tag, sectors, pools: &[] };
        entry.stream = self.policies.router.route(&outgoing);
        assert!(entry.stream < self.streams.host, "the router chose stream {}", entry.stream);
        entry.urgent |= drained;
        entry.state = EntryState::Ready;
        entry.sectors = if entry.discarded { Sectors::NONE } else { full };
        let Entry { logical, stream, urgent, .. } = *entry;
        let list = self.list_of(logical, stream);
        self.ready.push(list, id, urgent);
    }

    /// Which list a complete page waits in.
    pub(super) fn list_of(&self, logical: LogicalPage, stream: u8) -> usize {
        if !self.has_homes {
            return usize::from(stream);
        }
        let home = self.policies.placement.home(logical.0).unwrap_or(0);
        home as usize * usize::from(self.streams.host) + usize::from(stream)
    }

    /// Takes pages out of the list while the buffer is too full, or a flush wants them: the flush's by age, others as
    /// the eviction policy has them.
    pub(super) fn draw_from_list(&mut self, calendar: &mut impl Schedule<Event>) {
        while let Some(oldest) = self.buffer.oldest() {
            if self.is_drained(oldest) {
                self.leave(oldest, calendar);
                continue;
            }
            let not_programming = self.buffer.in_use() - self.programming;
            let on_the_way = not_programming - self.buffer.dirty();
            let full = self.buffer.waiting_sectors().unwrap_or(not_programming);
            if !self.marks.are_passed(full) || on_the_way >= self.marks.most {
                return;
            }
            let id = self.buffer.next_out();
            self.leave(id, calendar);
            self.foresee_leaving();
        }
    }

    /// Asks for what is looked up when the pages leave that became dirty first: of the second one where it is in flash, of
    /// the first one what is there, if the rest of it must be read.
    #[inline]
    fn foresee_leaving(&self) {
        let Some(first) = self.buffer.oldest() else { return };
        if let Some(second) = self.buffer.foresee(first) {
            self.mapping.prefetch(self.buffer.get(second).logical);
        }
        let entry = self.buffer.get(first);
        if entry.sectors != self.full_page() {
            self.foresee_read(entry.logical);
        }
    }

    /// Takes a dirty entry out of the list, and its neighbours if they are to go with it.
    pub(super) fn leave(&mut self, id: EntryId, calendar: &mut impl Schedule<Event>) {
        if self.subs.is_some() {
            self.leave_with_unit(id, calendar);
        } else if self.config.file.buffer.coalesce {
            self.leave_together(self.buffer.get(id).logical, calendar);
        } else {
            self.buffer.unlink(id);
            self.prepare(id, calendar);
        }
    }

    /// Takes out the run of dirty pages around `page` that belong to one program unit of consecutive pages, in order.
    #[inline(never)]
    fn leave_together(&mut self, page: LogicalPage, calendar: &mut impl Schedule<Event>) {
        let unit = self.config.pools.first().slots.per_program;
        let start = page.0 - page.0 % unit;
        let mut first = page.0;
        while first > start && self.dirty_entry(first - 1).is_some() {
            first -= 1;
        }
        for page in first..start + unit {
            let Some(id) = self.dirty_entry(page) else { return };
            self.buffer.unlink(id);
            self.prepare(id, calendar);
        }
    }

    /// The entry of a page that waits in the list.
    pub(super) fn dirty_entry(&self, page: u32) -> Option<EntryId> {
        let id = self.buffer.find(LogicalPage(page))?;
        (self.buffer.get(id).state == EntryState::Dirty).then_some(id)
    }

    /// Whether a flush wants the entry in flash.
    pub(super) fn is_drained(&self, id: EntryId) -> bool {
        self.drain.is_some_and(|epoch| self.buffer.epoch(id) <= epoch)
    }

    /// A flush command.
    pub(super) fn flush(&mut self, id: RequestId, calendar: &mut impl Schedule<Event>) {
        let epoch = self.buffer.end_epoch().filter(|_| !self.is_protected());
        let waits = self.waits_for_discards(id);
        let parts = u32::from(waits) + u32::from(epoch.is_some());
        self.front.get(id).parts = parts;
        if let Some(epoch) = epoch {
            self.drain = Some(epoch);
            self.flushes.push_back((epoch, id));
            self.urge_covered(epoch);
            self.hurry_all(calendar);
        }
        match parts {
            0 => self.answer_soon(id, calendar),
            _ => self.pump(calendar),
        }
    }

    /// Pages on their way to flash belong to the flush too.
    pub(super) fn urge_covered(&mut self, epoch: u64) {
        if self.subs.is_some() {
            self.hurry_covered(epoch);
        }
        let mut next = 0;
        while let Some(list) = self.ready.held_from(next) {
            for n in 0..self.ready[list].pages.len() {
                let id = self.ready[list].pages[n];
                if self.buffer.epoch(id) <= epoch && !self.buffer.get(id).urgent {
                    self.buffer.get_mut(id).urgent = true;
                    self.ready.urge(list, true);
                }
            }
            next = list + 1;
        }
    }
}
