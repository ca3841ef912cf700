//! Pages of tables that changed, of the map and of discards, are written in program units of their own.

use wordline_kernel::Schedule;
use wordline_nand::{Location, RowId};

use crate::engines::Core;
use crate::event::Event;
use crate::flash::{Class, Ticket};
use crate::map::translation::Translation;
use crate::writer::Writer;

impl Writer {
    /// Queues program units of pages that tell of discards, while there are some and a row takes them.
    #[cold]
    fn write_discards(&mut self, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        let stream = self.rows.of_all().len() - 1;
        while core.map.has_discards_to_write() && self.look_for_row(stream, core, calendar) {
            let row = match self.ready.have_homes() {
                true => self.rows.of(stream).iter().find(|row| core.map.takes_tables(*row, &core.base)),
                false => Some(core.base.place(self.rows.of(stream))),
            };
            let Some(row) = row else { return };
            self.form_discards(row, core, calendar);
        }
    }

    fn form_discards(&mut self, row: RowId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        let pages = core.base.config.pools.per_program(row) as usize;
        core.map.fill_unit_with_discards(pages, &mut self.groups[row].stamps);
        self.queue_tables(row, core, calendar);
    }

    /// Writes translation pages that changed, as far as rows take them.
    #[inline]
    pub(crate) fn write_tables(&mut self, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        if core.map.has_tables() {
            self.write_changed_tables(core, calendar);
        }
        if core.map.has_discards_to_write() {
            self.write_discards(core, calendar);
        }
    }

    /// Apart, so that the test above is all that devices without translation pages pay.
    #[inline(never)]
    fn write_changed_tables(&mut self, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        read_tables(core, calendar);
        while self.write_unit(core, calendar) {
            read_tables(core, calendar);
        }
    }

    /// Queues a program unit of translation pages if there is one and a row takes it.
    fn write_unit(&mut self, core: &mut Core, calendar: &mut impl Schedule<Event>) -> bool {
        let stream = usize::from(core.base.space.streams().host) - 1;
        let has_unit = core.map.translation().is_some_and(Translation::has_unit);
        if !has_unit || !self.look_for_row(stream, core, calendar) {
            return false;
        }
        let row = match self.ready.have_homes() {
            true => self.row_for_tables(core),
            false => Some(core.base.place(self.rows.of(stream))),
        };
        match row.filter(|row| self.may_write_tables(*row, core)) {
            Some(row) => {
                self.form_tables(row, core, calendar);
                true
            }
            None => false,
        }
    }

    /// Where pages have homes, translation pages go round the rows, and leave each of them what its pages need.
    pub(crate) fn row_for_tables(&self, core: &Core) -> Option<RowId> {
        let translation = core.map.translation()?;
        translation.next_row(self.rows.of_all().last()?, |row| core.map.takes_tables(row, &core.base))
    }

    /// Whether it is the turn of translation pages in a row, or the host does not want it.
    fn may_write_tables(&self, row: RowId, core: &Core) -> bool {
        let streams = usize::from(core.base.space.streams().host);
        let first = self.ready.of(self.ready.have_homes().then_some(row), 0);
        let has_turn = core.map.translation().is_some_and(|translation| translation.has_turn(row));
        let mut waiting = (0..streams).filter(|stream| !self.ready[first + stream].pages.is_empty());
        has_turn || !waiting.any(|stream| self.rows.goes_to_pool_of(row, stream, &core.base))
    }

    fn form_tables(&mut self, row: RowId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        let pages = core.base.config.pools.per_program(row);
        core.map.fill_unit(row, pages, &mut self.groups[row].stamps);
        self.queue_tables(row, core, calendar);
    }

    /// Queues the program of the pages of tables in the unit of `row`, padded to a whole one.
    fn queue_tables(&mut self, row: RowId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        let pages = core.base.config.pools.per_program(row) as usize;
        let group = &mut self.groups[row];
        core.base.totals.translation_programs += group.stamps.len() as u64;
        core.base.totals.padding += (pages - group.stamps.len()) as u64;
        group.pad(pages);
        self.rows.set_busy(row, true);
        let stream = core.base.space.streams().host(core.base.space.streams().host - 1);
        self.queue_unit(row, stream, Ticket::TableUnit(row), core, calendar);
    }

    /// The program of translation pages of `row`, or of pages that tell of discards, is done.
    pub(crate) fn tables_programmed(&mut self, row: RowId, first: Location, core: &mut Core) {
        let mut group = std::mem::take(&mut self.groups[row]);
        for (n, stamp) in group.stamps.iter().enumerate().filter(|(_, stamp)| stamp.is_data()) {
            core.map.table_programmed(*stamp, Location(first.0 + n as u32), &mut core.base);
        }
        group.clear();
        self.rows.set_busy(row, false);
        self.groups[row] = group;
        core.base.space.program_done(first);
        self.rows.note(row, &core.base, &core.reclaim);
    }
}

/// Brings translation pages that are to be written into memory.
fn read_tables(core: &mut Core, calendar: &mut impl Schedule<Event>) {
    let class = if core.cache.stalls() { Class::Read } else { Class::Background };
    core.map.read_queued_tables(class, &mut core.base, calendar);
}
