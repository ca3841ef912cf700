//! Sub-requests that are programmed as whole units: formed, programmed, and found again after a power cut.

use wordline_kernel::Schedule;
use wordline_nand::{Location, RowId, Stamp};

use super::THERE;
use crate::cache::buffer::NONE;
use crate::engines::Core;
use crate::event::Event;
use crate::map::LogicalPage;
use crate::writer::{Group, Writer};

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
        let stream = self.subs().get(sub).stream;
        let row = core.base.place(self.rows.that_take(usize::from(stream)));
        self.gather_whole_unit(sub, row, core);
        if self.counted(row).data == 0 {
            // Everything was discarded meanwhile.
            self.groups[row].clear();
            self.sub_request_over(sub, core, calendar);
            return;
        }
        let stream = core.base.space.streams().host(stream);
        self.send(row, stream, core, calendar);
    }

    /// Puts the pages that a sub-request brings into the group of a row, and what it carries along, as far as flash holds it still.
    fn gather_whole_unit(&mut self, sub: u32, row: RowId, core: &mut Core) {
        let one = self.subs().get(sub);
        let (mut entries, carried) = (std::mem::take(&mut one.entries), std::mem::take(&mut one.carried));
        let group = &mut self.groups[row];
        group.extent = Some(sub);
        for (place, stamp) in entries.iter_mut().zip(&carried) {
            let id = *place;
            if id == NONE {
                let is_there = stamp.is_data() && core.map.holds(*stamp, &core.base);
                group.carry(if is_there { *stamp } else { Stamp::PADDING });
                continue;
            }
            match core.cache.begin_program(id).stamp {
                Some(stamp) => group.push(id, stamp),
                None => {
                    *place = NONE;
                    group.carry(Stamp::PADDING);
                }
            }
        }
        let one = self.subs().get(sub);
        (one.entries, one.carried) = (entries, carried);
    }

    /// The extent of a sub-request is programmed to the program unit that begins at `first`.
    pub(in crate::writer) fn extent_goes_to(&mut self, sub: u32, first: Location, core: &mut Core) {
        let page = self.first_page(sub);
        core.map.write_extent(page, first);
    }

    /// The first page of the unit of a sub-request.
    fn first_page(&self, sub: u32) -> LogicalPage {
        let subs = self.subs.as_ref().expect(THERE);
        LogicalPage(subs.all[sub as usize].unit * subs.per_unit)
    }

    /// Notes the rows that pages of an extent leave, which was programmed in `row`: a victim there may be clean now.
    pub(in crate::writer) fn note_left(&mut self, row: RowId, group: &Group, core: &Core) {
        let mut left = std::mem::take(&mut self.subs().left);
        for (stamp, id) in (0..group.stamps.len()).filter_map(|place| group.page(place)) {
            let is_wanted =
                id.map_or_else(|| core.map.holds(stamp, &core.base), |id| !core.cache.entry(id).void);
            if is_wanted && let Some(old) = core.map.get(LogicalPage(stamp.logical)) {
                left.push(core.base.config.pools.row_of(old));
            }
        }
        left.sort_unstable();
        left.dedup();
        left.retain(|from| *from != row);
        self.subs().left = left;
    }

    /// The program of the whole extent of a sub-request is done.
    pub(in crate::writer) fn extent_programmed(
        &mut self,
        sub: u32,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        core.map.extent_written(self.first_page(sub));
        self.sub_request_over(sub, core, calendar);
    }

    /// The program of the whole extent of a sub-request failed: it waits for another program unit, before all others. Its pages
    /// must not wait, wherever they go.
    pub(in crate::writer) fn extent_failed(&mut self, sub: u32, group: &Group, core: &mut Core) {
        for id in group.entries() {
            core.cache.urge(id);
            core.cache.ready_again(id);
        }
        core.map.extent_written(self.first_page(sub));
        let stream = usize::from(self.subs().get(sub).stream);
        self.subs().ready[stream].push_front(sub);
    }

    /// A victim that the pages of a whole unit left may be clean now: cleaning goes on there.
    pub(crate) fn collect_where_unit_left(&mut self, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        let Some(subs) = &mut self.subs else { return };
        let mut left = std::mem::take(&mut subs.left);
        left.drain(..).for_each(|row| self.collect(row, core, calendar));
        self.subs().left = left;
    }

    /// What is valid of a unit in the pool of whole units is in one program unit, at its place; and the books of the pools
    /// are right.
    pub(crate) fn audit(&self, core: &Core) {
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
