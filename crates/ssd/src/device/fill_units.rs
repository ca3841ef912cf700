//! Units of pages that are written in no time, for preconditioning a device with several pools.

use wordline_kernel::Stream;
use wordline_nand::{Location, Stamp};

use super::Device;
use crate::device::precondition::{Filler, Watched};
use crate::map::LogicalPage;
use crate::policy::placement::Row;
use crate::space::StreamId;

impl Device {
    /// Writes the first `pages` logical pages, each unit to one of the pools drawn at random by the room they have.
    pub(in crate::device) fn fill_pools(
        &mut self,
        pages: u32,
        filler: &mut Filler,
        random: &mut Stream,
        watched: &mut Watched<'_>,
    ) {
        let (per_unit, room) = (self.writer.subs().per_unit, self.core.base.life.room.clone());
        let all = room.iter().sum();
        for page in (0..pages).step_by(per_unit as usize) {
            let mut at = random.below(all);
            let drawn = room.iter().position(|room| {
                let here = at < *room;
                at = at.saturating_sub(*room);
                here
            });
            let has_room = |pool: &usize| {
                self.core.map.held(*pool, &self.core.base) + u64::from(per_unit) <= room[*pool]
            };
            let pool = drawn.filter(has_room).unwrap_or(0);
            self.write_unit_untimed(LogicalPage(page), pages, pool, filler);
            if !watched.wrote(u64::from(per_unit)) {
                return;
            }
        }
    }

    /// Overwrites what was written of the unit of a page, in the pool that it is in. Returns the pages of it.
    pub(in crate::device) fn overwrite_unit_untimed(
        &mut self,
        page: LogicalPage,
        filler: &mut Filler,
    ) -> u64 {
        let per_unit = self.writer.subs().per_unit;
        let first = page.0 - page.0 % per_unit;
        let written = |page: &u32| {
            *page < self.core.base.config.logical_pages && self.core.map.get(LogicalPage(*page)).is_some()
        };
        let end = first + (first..first + per_unit).take_while(written).count() as u32;
        let home =
            self.core.map.get(LogicalPage(first)).expect("preconditioning fills a unit from its beginning");
        let pool = self.core.base.config.pools.number_of_row(self.core.base.config.pools.row_of(home));
        if let Some(translation) = self.core.map.translation_mut() {
            (first..end).for_each(|page| translation.look_up_untimed(LogicalPage(page)));
        }
        self.write_unit_untimed(LogicalPage(first), end, pool, filler);
        (first..end).for_each(|page| self.note_written_untimed(LogicalPage(page)));
        self.write_tables_untimed(end - first, filler);
        u64::from(end - first)
    }

    /// Writes the pages of a unit from its first one up to `end` to a pool.
    pub(in crate::device) fn write_unit_untimed(
        &mut self,
        first: LogicalPage,
        end: u32,
        pool: usize,
        filler: &mut Filler,
    ) {
        let subs = self.writer.subs();
        let (per_unit, stream) = (subs.per_unit, subs.stream_to(pool));
        let whole = subs.is_whole(stream);
        let stream = self.core.base.space.streams().host(stream);
        if whole {
            let row = self.next_with_room(stream);
            self.put_unit_untimed(first, end, row, stream);
            filler.programmed += u64::from(per_unit);
            self.clean_untimed(row, stream, filler);
            return;
        }
        for page in first.0..end.min(first.0 + per_unit) {
            let row = self.next_row(stream, filler);
            self.put_untimed(LogicalPage(page), row, stream, filler);
        }
    }

    /// Puts a unit as a whole into a row of the first pool; what is beyond `end` is padded.
    fn put_unit_untimed(&mut self, page: LogicalPage, end: u32, row: Row, stream: StreamId) {
        let per_unit = self.writer.subs().per_unit;
        let first = self.core.base.take(row, stream, per_unit);
        if let Some(writes) = self.core.map.unit_writes_mut() {
            writes.write(first);
        }
        for place in 0..per_unit {
            let (page, location) = (LogicalPage(page.0 + place), Location(first.0 + place));
            if page.0 >= end {
                self.core.base.flash.put(location, Stamp::PADDING);
                continue;
            }
            let version = self.core.map.written(page);
            self.core.base.flash.put(location, Stamp { logical: page.0, version });
            self.core.map.install(page, location, &mut self.core.base);
        }
        self.core.base.space.program_done(first);
    }
}
