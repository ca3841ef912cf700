//! What the writer does when its reads and programs are done, or failed.

use wordline_kernel::Schedule;
use wordline_nand::{DieId, Done, Location, RowId};

use crate::cache::buffer::EntryId;
use crate::engines::Core;
use crate::event::Event;
use crate::flash::{Task, Ticket};
use crate::map::LogicalPage;
use crate::policy::failure::Failed;
use crate::writer::Writer;

impl Writer {
    /// The host's group of `row` was not programmed: its pages, which the buffer still has, go elsewhere at once.
    fn host_program_failed(&mut self, failed: Failed, row: RowId, first: Location, core: &mut Core) {
        let mut group = std::mem::take(&mut self.groups[row]);
        self.programming -= group.brought();
        core.base.space.program_done(first);
        group.entries().for_each(|id| core.cache.program_failed(id));
        match group.extent {
            Some(extent) => self.extent_failed(extent, &group, core),
            None => group.entries().for_each(|id| {
                core.cache.urge(id);
                self.make_ready(id, core);
            }),
        }
        group.clear();
        self.rows.set_busy(row, false);
        self.groups[row] = group;
        core.reclaim.program_failed(failed, first, &mut core.base, &mut core.map);
    }

    /// The unit of translation pages of `row` was not programmed: they are in memory still.
    fn table_program_failed(&mut self, failed: Failed, row: RowId, first: Location, core: &mut Core) {
        let mut group = std::mem::take(&mut self.groups[row]);
        core.base.space.program_done(first);
        for stamp in group.stamps.iter().rev().filter(|stamp| stamp.is_data()) {
            core.map.table_program_failed(*stamp);
        }
        group.clear();
        self.rows.set_busy(row, false);
        self.groups[row] = group;
        core.reclaim.program_failed(failed, first, &mut core.base, &mut core.map);
    }

    /// A program or an erase failed, or a program was refused.
    #[cold]
    pub(crate) fn change_failed(
        &mut self,
        failed: Failed,
        task: &Task,
        done: &Done,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        core.base.tell_programmed(task, done, true);
        let row = match task.ticket {
            Ticket::HostUnit(row) => {
                self.host_program_failed(failed, row, task.location, core);
                row
            }
            Ticket::TableUnit(row) => {
                self.table_program_failed(failed, row, task.location, core);
                row
            }
            Ticket::Reclaim(row) => {
                core.reclaim.step_failed(failed, row, task, &mut core.base, &mut core.map);
                row
            }
            _ => unreachable!("{task:?} changes pages"),
        };
        self.note_row(row, core);
        self.collect(row, core, calendar);
    }

    /// Some pages of a read, a bit each, could not be read however often it was tried: they are lost. Whether what it was to find is
    /// read elsewhere instead.
    #[cold]
    pub(crate) fn read_failed(
        &mut self,
        task: &Task,
        unread: u32,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        core.cache.lose_unread(task, unread, &mut core.base, &mut core.map);
        let block = core.base.config.pools.block_of_page(task.page);
        core.reclaim.failed(Failed::Read, block, &mut core.base, &mut core.map);
        let row = core.base.space.row_of(block);
        self.note_row(row, core);
        // The read for a victim is a step that is not over yet: nothing new begins then.
        self.collect(row, core, calendar);
        if task.is_reclaim() {
            return false;
        }
        let elsewhere = core.map.read_elsewhere(task, &mut core.base, calendar.now());
        if let Some(die) = elsewhere {
            core.base.kick(die, calendar);
            self.read_over(task.page, core, calendar);
        }
        elsewhere.is_some()
    }

    /// A command of this die failed: the die may be lost, with everything in it.
    #[cold]
    pub(crate) fn note_dead_die(&mut self, die: DieId, core: &mut Core) {
        let chips = core.base.flash.chips();
        if core.base.totals.dead_dies < u64::from(chips.dead_dies()) && chips.is_dead(die) {
            self.lose_die(die, core);
            core.map.check_life(&mut core.base);
        }
    }

    /// A die is lost with everything in it.
    pub(crate) fn lose_die(&mut self, die: DieId, core: &mut Core) {
        core.base.totals.dead_dies += 1;
        let mut locations = Vec::new();
        for row in core.base.config.pools.of_die(die).geometry.rows_of(die) {
            core.reclaim.lose(row);
            let good = core.base.space.lose_row(row, |location| locations.push(location));
            core.base.totals.grown_bad_blocks += u64::from(good);
            core.map.lose_row(row, &core.base);
            self.rows.note(row, &core.base, &core.reclaim);
        }
        // What waits for the lost rows goes elsewhere.
        self.rows.lost_one();
        locations
            .into_iter()
            .for_each(|location| core.cache.lose_location(location, &mut core.base, &mut core.map));
    }

    /// A read of the rest of a partly written page is over, or found nothing.
    #[inline]
    pub(crate) fn fill_done(
        &mut self,
        task: &Task,
        entry: EntryId,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        core.base.totals.fill_reads += 1;
        self.filled(entry, core);
        self.read_over(task.page, core, calendar);
    }

    /// A page that is programmed with its unit was read, or could not be.
    #[inline(never)]
    pub(crate) fn unit_fill_done(
        &mut self,
        task: &Task,
        sub: u32,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        self.unit_filled(sub, LogicalPage(task.wanted.logical), task.wanted.version, core);
        self.read_over(task.page, core, calendar);
    }
}
