//! Sub-requests that are programmed as whole units: formed, programmed, and found again after a power cut.

use wordline_kernel::Schedule;
use wordline_nand::{Location, Stamp};

use super::NO_SUB;
use crate::cache::buffer::{EntryState, NONE};
use crate::engines::Core;
use crate::event::Event;
use crate::flash::Ticket;
use crate::map::LogicalPage;
use crate::policy::placement::Row;
use crate::writer::Writer;

impl Writer {
    /// Programs whole units as far as rows take them; what none takes another pool may.
    #[inline(never)]
    pub(crate) fn form_whole_units(&mut self, core: &mut Core, calendar: &mut impl Schedule<Event>) -> bool {
        let mut formed = false;
        for stream in 0..self.subs().ready.len() {
            while let Some(sub) = self.subs().ready[stream].front().copied() {
                if !self.look_for_row(stream, core, calendar) {
                    break;
                }
                self.subs().ready[stream].pop_front();
                self.form_whole_unit(sub, core, calendar);
                formed = true;
            }
        }
        formed | self.steal(core)
    }

    /// Queues the program of a sub-request and of what is carried along. The caller knows of a row that accepts.
    fn form_whole_unit(&mut self, sub: u32, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        let one = self.subs().get(sub);
        let (mut entries, carried) = (std::mem::take(&mut one.entries), std::mem::take(&mut one.carried));
        let stream = one.stream;
        let row =
            core.base.policies.placement.next(self.rows.of(usize::from(stream))).expect("a row accepts");
        assert!(self.rows.of(usize::from(stream)).contains(row), "the placement chose row {row}");
        let mut unit = std::mem::take(&mut self.units[row as usize]);
        let mut carries = 0;
        for (place, stamp) in entries.iter_mut().zip(&carried) {
            let id = *place;
            if id == NONE {
                let there = stamp.is_data() && core.map.holds(*stamp, &core.base);
                carries += u64::from(there);
                unit.stamps.push(if there { *stamp } else { Stamp::PADDING });
                continue;
            }
            let entry = core.cache.entry_mut(id);
            entry.urgent = false;
            if entry.discarded {
                core.cache.drop_entry(id);
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
            self.sub_request_over(sub, core, calendar);
            return;
        }
        let brought = unit.entries.len() as u64;
        self.programming += brought as u32;
        core.base.totals.host_programs += brought;
        core.base.totals.unit_programs += carries;
        core.base.totals.padding += unit.stamps.len() as u64 - brought - carries;
        self.rows.set_busy(row, true);
        self.units[row as usize] = unit;
        let subs = self.subs();
        subs.at_row[row as usize] = sub;
        self.set_programming(sub, true, core);
        let stream = core.base.space.streams().host(stream);
        self.queue_unit(row, stream, Ticket::HostUnit(row), core, calendar);
    }

    /// Whether a write of the unit of a sub-request is being programmed from now on.
    fn set_programming(&mut self, sub: u32, is_programming: bool, core: &mut Core) {
        let page = LogicalPage(self.subs().get(sub).unit * self.subs().per_unit);
        if let Some(writes) = core.map.unit_writes_mut() {
            writes.set_programming(page, is_programming);
        }
    }

    /// The place in the stamps of a row's unit of entry number `n` of it.
    #[inline]
    pub(crate) fn place_in_unit(&self, row: Row, n: usize, core: &Core) -> usize {
        match &self.subs {
            Some(subs) if subs.at_row[row as usize] != NO_SUB => {
                subs.place(core.cache.entry(self.units[row as usize].entries[n]).logical)
            }
            _ => n,
        }
    }

    /// Whether a row is programming a whole unit.
    #[inline]
    pub(in crate::writer) fn programs_whole_unit(&self, row: Row) -> bool {
        self.subs.as_ref().is_some_and(|subs| subs.programs_whole_unit(row))
    }

    /// The program of a whole unit in `row` is done: its pages are where they were written, but for those that were
    /// written or discarded meanwhile.
    #[inline(never)]
    pub(in crate::writer) fn whole_unit_programmed(
        &mut self,
        row: Row,
        first: Location,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        let sub = std::mem::replace(&mut self.subs().at_row[row as usize], NO_SUB);
        let mut unit = std::mem::take(&mut self.units[row as usize]);
        let mut left = std::mem::take(&mut self.subs().left);
        let entries = std::mem::take(&mut self.subs().get(sub).entries);
        for (place, stamp) in unit.stamps.iter().copied().enumerate().filter(|(_, stamp)| stamp.is_data()) {
            let (page, id) = (LogicalPage(stamp.logical), entries[place]);
            let wanted =
                if id == NONE { core.map.holds(stamp, &core.base) } else { !core.cache.entry(id).void };
            if wanted {
                left.extend(core.map.get(page).map(|old| core.base.config.pools.row_of(old)));
            }
            let location = Location(first.0 + place as u32);
            if id != NONE {
                self.page_programmed(id, stamp, location, core, calendar);
            } else if wanted {
                let old = core.map.install(page, location, &mut core.base);
                core.map.note_update(page, old, location, &core.base);
            }
        }
        self.programming -= unit.entries.len() as u32;
        unit.clear();
        self.rows.set_busy(row, false);
        self.units[row as usize] = unit;
        core.base.space.program_done(first);
        self.rows.note(row, &core.base, &core.reclaim);
        self.subs().get(sub).entries = entries;
        self.set_programming(sub, false, core);
        self.sub_request_over(sub, core, calendar);
        left.sort_unstable();
        left.dedup();
        left.retain(|from| *from != row);
        self.subs().left = left;
    }

    /// A victim that the pages of a whole unit left may be clean now: cleaning goes on there.
    pub(crate) fn collect_where_unit_left(&mut self, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        let Some(subs) = &mut self.subs else { return };
        let mut left = std::mem::take(&mut subs.left);
        left.drain(..).for_each(|row| self.collect(row, core, calendar));
        self.subs().left = left;
    }

    /// The program of a whole unit failed: it waits for another program unit, before all others.
    pub(in crate::writer) fn whole_unit_failed(&mut self, row: Row, core: &mut Core) {
        let sub = std::mem::replace(&mut self.subs().at_row[row as usize], NO_SUB);
        let mut unit = std::mem::take(&mut self.units[row as usize]);
        self.programming -= unit.entries.len() as u32;
        for id in unit.entries.iter().copied() {
            core.cache.program_failed(id);
            core.cache.entry_mut(id).state = EntryState::Ready;
        }
        unit.clear();
        self.rows.set_busy(row, false);
        self.units[row as usize] = unit;
        self.set_programming(sub, false, core);
        let stream = usize::from(self.subs().get(sub).stream);
        self.subs().ready[stream].push_front(sub);
    }

    /// What is valid of a unit in the pool of whole units is in one program unit, at its place; and the books of the pools
    /// are right.
    pub(crate) fn audit_units(&self, core: &Core) {
        let Some(subs) = &self.subs else { return };
        let mut homes: Vec<u32> = vec![u32::MAX; subs.of_unit.len()];
        let mut valid = vec![0u64; core.base.config.pools.count()];
        for page in (0..core.base.config.logical_pages).map(LogicalPage) {
            let Some(location) = core.map.get(page) else { continue };
            let row = core.base.config.pools.row_of(location);
            valid[core.base.config.pools.number_of_row(row)] += 1;
            if !core.base.space.has_whole_units(row) {
                continue;
            }
            let (_, place) = core.base.config.pools.of_row(row).locations.split(location);
            assert_eq!(place % subs.per_unit, page.0 % subs.per_unit, "page {} is at its place", page.0);
            let (home, found) =
                (&mut homes[(page.0 / subs.per_unit) as usize], location.0 - place % subs.per_unit);
            assert!(*home == u32::MAX || *home == found, "unit {} is in two places", page.0 / subs.per_unit);
            *home = found;
        }
        for (n, valid) in valid.into_iter().enumerate() {
            assert!(
                valid <= core.base.space.valid_of(n),
                "pool {n} holds {valid} pages of the host and counts {}",
                core.base.space.valid_of(n)
            );
        }
    }
}
