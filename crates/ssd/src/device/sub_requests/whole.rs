//! Sub-requests that are programmed as whole units: formed, programmed, and found again after a power cut.

use wordline_kernel::Schedule;
use wordline_nand::{SlotId, Stamp};

use crate::buffer::{EntryState, NONE};
use crate::device::{Device, Event};
use crate::flash::Ticket;
use crate::ftl::mapping::LogicalPage;
use crate::policy::placement::Row;

impl Device {
    /// Programs whole units as far as rows take them; what none takes another pool may.
    #[inline(never)]
    pub(in crate::device) fn form_whole_units(&mut self, calendar: &mut impl Schedule<Event>) -> bool {
        let mut formed = false;
        for stream in 0..self.subs().ready.len() {
            while let Some(sub) = self.subs().ready[stream].front().copied() {
                if !self.some_row_accepts(stream, calendar) {
                    break;
                }
                self.subs().ready[stream].pop_front();
                self.form_whole_unit(sub, calendar);
                formed = true;
            }
        }
        formed | self.steal()
    }

    /// Queues the program of a sub-request and of what is carried along. The caller knows of a row that accepts.
    fn form_whole_unit(&mut self, sub: u32, calendar: &mut impl Schedule<Event>) {
        let one = self.subs().get(sub);
        let (mut entries, carried) = (std::mem::take(&mut one.entries), std::mem::take(&mut one.carried));
        let stream = one.stream;
        let row = self.policies.placement.next(&self.accepting[usize::from(stream)]).expect("a row accepts");
        assert!(self.accepting[usize::from(stream)].contains(row), "the placement chose row {row}");
        let mut unit = std::mem::take(&mut self.units[row as usize]);
        let mut carries = 0;
        for (place, stamp) in entries.iter_mut().zip(&carried) {
            let id = *place;
            if id == NONE {
                let there = stamp.is_data() && self.holds(*stamp);
                carries += u64::from(there);
                unit.stamps.push(if there { *stamp } else { Stamp::PADDING });
                continue;
            }
            let entry = self.buffer.get_mut(id);
            entry.urgent = false;
            if entry.discarded {
                self.buffer.drop_entry(id, &mut self.wake);
                *place = NONE;
                unit.stamps.push(Stamp::PADDING);
                continue;
            }
            (entry.state, entry.void) = (EntryState::Programming, false);
            unit.stamps.push(Stamp { logical: entry.logical.0, version: entry.version });
            unit.entries.push(id);
        }
        let one = self.subs().get(sub);
        (one.entries, one.carried) = (entries, carried);
        if unit.stamps.iter().all(|stamp| !stamp.is_data()) {
            // Everything was discarded meanwhile.
            unit.stamps.clear();
            self.units[row as usize] = unit;
            self.sub_request_over(sub, calendar);
            return;
        }
        let brought = unit.entries.len() as u64;
        self.programming += brought as u32;
        self.totals.host_programs += brought;
        self.totals.unit_programs += carries;
        self.totals.padding += unit.stamps.len() as u64 - brought - carries;
        unit.busy = true;
        self.units[row as usize] = unit;
        let subs = self.subs();
        subs.at_row[row as usize] = sub;
        self.set_programming(sub, true);
        let stream = self.streams.host(stream);
        self.queue_unit(row, stream, Ticket::HostUnit(row), calendar);
    }

    /// Whether flash holds this version of a page still, wherever that is.
    fn holds(&self, stamp: Stamp) -> bool {
        self.mapping.get(LogicalPage(stamp.logical)).is_some_and(|slot| self.flash.stamp(slot) == stamp)
    }

    /// The collector copies the program unit that `from` is in to `to`.
    #[inline]
    pub(in crate::device) fn note_copy(&mut self, row: Row, from: SlotId, to: SlotId) {
        if let Some(writes) = &mut self.unit_writes
            && self.blocks.has_whole_units(row)
        {
            writes.copy(LogicalPage(self.flash.stamp(from).logical), from, to);
        }
    }

    /// Whether a write of the unit of a sub-request is being programmed from now on.
    fn set_programming(&mut self, sub: u32, is_programming: bool) {
        let page = LogicalPage(self.subs().get(sub).unit * self.subs().per_unit);
        if let Some(writes) = &mut self.unit_writes {
            writes.set_programming(page, is_programming);
        }
    }

    /// The place in the stamps of a row's unit of entry number `n` of it.
    #[inline]
    pub(in crate::device) fn place_in_unit(&self, row: Row, n: usize) -> usize {
        match &self.subs {
            Some(subs) if subs.at_row[row as usize] != NONE => {
                subs.place(self.buffer.get(self.units[row as usize].entries[n]).logical)
            }
            _ => n,
        }
    }

    /// Whether a row is programming a whole unit.
    #[inline]
    pub(in crate::device) fn programs_whole_unit(&self, row: Row) -> bool {
        self.subs.as_ref().is_some_and(|subs| subs.programs_whole_unit(row))
    }

    /// The program of a whole unit in `row` is done: its pages are where they were written, but for those that were
    /// written or discarded meanwhile.
    #[inline(never)]
    pub(in crate::device) fn whole_unit_programmed(
        &mut self,
        row: Row,
        first: SlotId,
        calendar: &mut impl Schedule<Event>,
    ) {
        let sub = std::mem::replace(&mut self.subs().at_row[row as usize], NONE);
        let mut unit = std::mem::take(&mut self.units[row as usize]);
        let mut left = std::mem::take(&mut self.subs().left);
        let entries = std::mem::take(&mut self.subs().get(sub).entries);
        for (place, stamp) in unit.stamps.iter().copied().enumerate().filter(|(_, stamp)| stamp.is_data()) {
            let (page, id) = (LogicalPage(stamp.logical), entries[place]);
            let wanted = if id == NONE { self.holds(stamp) } else { !self.buffer.get(id).void };
            if wanted {
                left.extend(self.mapping.get(page).map(|old| self.config.pools.row_of(old)));
            }
            let slot = SlotId(first.0 + place as u32);
            if id != NONE {
                self.page_programmed(id, stamp, slot, calendar);
            } else if wanted {
                let old = self.install(page, slot);
                self.note_update(page, old, slot);
            }
        }
        self.programming -= unit.entries.len() as u32;
        unit.clear();
        self.units[row as usize] = unit;
        self.blocks.program_done(first);
        self.note_row(row);
        self.subs().get(sub).entries = entries;
        self.set_programming(sub, false);
        self.sub_request_over(sub, calendar);
        left.sort_unstable();
        left.dedup();
        left.retain(|from| *from != row);
        self.subs().left = left;
    }

    /// A victim that the pages of a whole unit left may be clean now: cleaning goes on there.
    pub(in crate::device) fn collect_where_unit_left(&mut self, calendar: &mut impl Schedule<Event>) {
        let Some(subs) = &mut self.subs else { return };
        let mut left = std::mem::take(&mut subs.left);
        left.drain(..).for_each(|row| self.collect(row, calendar));
        self.subs().left = left;
    }

    /// The program of a whole unit failed: it waits for another program unit, before all others.
    pub(in crate::device) fn whole_unit_failed(&mut self, row: Row) {
        let sub = std::mem::replace(&mut self.subs().at_row[row as usize], NONE);
        let mut unit = std::mem::take(&mut self.units[row as usize]);
        self.programming -= unit.entries.len() as u32;
        for id in unit.entries.iter().copied() {
            self.buffer.program_failed(id);
            self.buffer.get_mut(id).state = EntryState::Ready;
        }
        unit.clear();
        self.units[row as usize] = unit;
        self.set_programming(sub, false);
        let stream = usize::from(self.subs().get(sub).stream);
        self.subs().ready[stream].push_front(sub);
    }

    /// Whether pages are filled in whole units, and how many pages these have.
    pub(in crate::device) fn whole_unit(&self) -> Option<u32> {
        self.unit_writes.as_ref().map(|writes| writes.per_unit())
    }

    /// What is valid of a unit in the pool of whole units is in one program unit, at its place; and the books of the pools
    /// are right.
    pub(in crate::device) fn audit_units(&self) {
        let Some(subs) = &self.subs else { return };
        let mut homes: Vec<u32> = vec![NONE; subs.of_unit.len()];
        let mut valid = vec![0u64; self.config.pools.count()];
        for page in (0..self.config.logical_pages).map(LogicalPage) {
            let Some(slot) = self.mapping.get(page) else { continue };
            let row = self.config.pools.row_of(slot);
            valid[self.config.pools.number_of_row(row)] += 1;
            if !self.blocks.has_whole_units(row) {
                continue;
            }
            assert_eq!(slot.0 % subs.per_unit, page.0 % subs.per_unit, "page {} is at its place", page.0);
            let (home, found) = (&mut homes[(page.0 / subs.per_unit) as usize], slot.0 / subs.per_unit);
            assert!(*home == NONE || *home == found, "unit {} is in two places", page.0 / subs.per_unit);
            *home = found;
        }
        for (n, valid) in valid.into_iter().enumerate() {
            assert!(
                valid <= self.blocks.valid_of(n),
                "pool {n} holds {valid} pages of the host and counts {}",
                self.blocks.valid_of(n)
            );
        }
    }
}
