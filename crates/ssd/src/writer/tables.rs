//! Pages of tables that changed, of the map and of discards, are written in program units of their own.

use wordline_kernel::Schedule;
use wordline_nand::{SlotId, Stamp};

use crate::engines::Core;
use crate::event::Event;
use crate::flash::{Class, Ticket};
use crate::map::LogicalPage;
use crate::map::discards::Discards;
use crate::map::translation::Translation;
use crate::policy::placement::Row;
use crate::writer::Writer;

impl Writer {
    /// Queues program units of pages that tell of discards, while there are some and a row takes them.
    #[cold]
    fn write_discards(&mut self, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        let stream = self.accepting.len() - 1;
        while core.map.discards.as_ref().is_some_and(|discards| discards.is_due())
            && self.some_row_accepts(stream, core, calendar)
        {
            let row = match core.base.has_homes {
                true => self.accepting[stream].iter().find(|row| core.map.takes_tables(*row, &core.base)),
                false => core.base.policies.placement.next(&self.accepting[stream]),
            };
            let Some(row) = row else { return };
            self.form_discards(row, core, calendar);
        }
    }

    fn form_discards(&mut self, row: Row, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        let Some(discards) = &mut core.map.discards else { return };
        let pages = core.base.config.pools.per_program(row) as usize;
        let unit = &mut self.units[row as usize];
        while unit.stamps.len() < pages {
            let Some(table) = discards.take_queued() else { break };
            let logical = discards.logical(table);
            let version = core.map.pages.written(logical);
            discards.begin_program(table, version);
            unit.stamps.push(Stamp { logical: logical.0, version });
        }
        self.queue_tables(row, core, calendar);
    }

    /// Writes translation pages that changed, as far as rows take them.
    #[inline]
    pub(crate) fn write_tables(&mut self, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        if core.map.translation.is_some() {
            self.write_changed_tables(core, calendar);
        }
        if core.map.discards.as_ref().is_some_and(Discards::is_due) {
            self.write_discards(core, calendar);
        }
    }

    /// Apart, so that the test above is all that devices without translation pages pay.
    #[inline(never)]
    fn write_changed_tables(&mut self, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        self.read_tables(core, calendar);
        while self.write_unit(core, calendar) {
            self.read_tables(core, calendar);
        }
    }

    /// Brings translation pages that are to be written into memory.
    fn read_tables(&mut self, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        while let Some(translation) = &mut core.map.translation {
            let Some(table) = translation.take_queued() else { return };
            match core.map.pages.get(translation.logical(table)) {
                Some(slot) => {
                    let class = if core.cache.stalled.is_empty() { Class::Background } else { Class::Read };
                    core.map.read_table(table, slot, class, &mut core.base, calendar);
                }
                None => core.map.stage_table(table),
            }
        }
    }

    /// Queues a program unit of translation pages if there is one and a row takes it.
    fn write_unit(&mut self, core: &mut Core, calendar: &mut impl Schedule<Event>) -> bool {
        let stream = usize::from(core.base.space.streams().host) - 1;
        let has_unit = core.map.translation.as_ref().is_some_and(Translation::has_unit);
        if !has_unit || !self.some_row_accepts(stream, core, calendar) {
            return false;
        }
        let row = match core.base.has_homes {
            true => self.row_for_tables(core),
            false => core.base.policies.placement.next(&self.accepting[stream]),
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
    pub(crate) fn row_for_tables(&self, core: &Core) -> Option<Row> {
        let translation = core.map.translation.as_ref()?;
        translation.next_row(self.accepting.last()?, |row| core.map.takes_tables(row, &core.base))
    }

    /// Whether it is the turn of translation pages in a row, or the host does not want it.
    fn may_write_tables(&self, row: Row, core: &Core) -> bool {
        let streams = usize::from(core.base.space.streams().host);
        let first = if core.base.has_homes { row as usize * streams } else { 0 };
        let has_turn = core.map.translation.as_ref().is_some_and(|translation| translation.has_turn(row));
        let mut waiting = (0..streams).filter(|stream| !self.ready[first + stream].pages.is_empty());
        has_turn || !waiting.any(|stream| self.subs.is_none() || self.goes_to_pool_of(row, stream, core))
    }

    fn form_tables(&mut self, row: Row, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        let Some(translation) = &mut core.map.translation else { return };
        let pages = core.base.config.pools.per_program(row);
        let unit = &mut self.units[row as usize];
        translation.begin_unit(row);
        for _ in 0..pages {
            let table = translation.begin_program();
            let logical = translation.logical(table);
            unit.stamps.push(Stamp { logical: logical.0, version: core.map.pages.written(logical) });
        }
        self.queue_tables(row, core, calendar);
    }

    /// Queues the program of the pages of tables in the unit of `row`, padded to a whole one.
    fn queue_tables(&mut self, row: Row, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        let pages = core.base.config.pools.per_program(row) as usize;
        let unit = &mut self.units[row as usize];
        core.base.totals.translation_programs += unit.stamps.len() as u64;
        core.base.totals.padding += (pages - unit.stamps.len()) as u64;
        unit.stamps.resize(pages, Stamp::PADDING);
        unit.busy = true;
        let stream = core.base.space.streams().host(core.base.space.streams().host - 1);
        self.queue_unit(row, stream, Ticket::TableUnit(row), core, calendar);
    }

    /// The program of translation pages of `row`, or of pages that tell of discards, is done.
    pub(crate) fn tables_programmed(&mut self, row: Row, first: SlotId, core: &mut Core) {
        let mut unit = std::mem::take(&mut self.units[row as usize]);
        for (n, stamp) in unit.stamps.iter().enumerate().filter(|(_, stamp)| stamp.is_data()) {
            core.map.install_table(LogicalPage(stamp.logical), SlotId(first.0 + n as u32), &mut core.base);
            if let Some((discards, table)) = core.map.discard_page_of(stamp.logical) {
                discards.programmed(table);
                continue;
            }
            let Some(translation) = &mut core.map.translation else { continue };
            let table = translation.table(stamp.logical).expect("the unit holds translation pages");
            translation.programmed(table, stamp.version);
        }
        unit.clear();
        self.units[row as usize] = unit;
        core.base.space.program_done(first);
        self.note_row(row, core);
    }
}
