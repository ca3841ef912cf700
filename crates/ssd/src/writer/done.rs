//! What the writer does when its reads and programs are done, or failed.

use wordline_kernel::Schedule;
use wordline_nand::{DieId, Location, RowId};

use crate::cache::buffer::EntryId;
use crate::engines::Core;
use crate::event::Event;
use crate::flash::Task;
use crate::map::LogicalPage;
use crate::policy::failure::Failed;
use crate::writer::Writer;

impl Writer {
    /// The host's group of `row` was not programmed: its pages, which the buffer still has, go elsewhere at once.
    pub(crate) fn host_program_failed(
        &mut self,
        failed: Failed,
        row: RowId,
        first: Location,
        core: &mut Core,
    ) {
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
    pub(crate) fn table_program_failed(
        &mut self,
        failed: Failed,
        row: RowId,
        first: Location,
        core: &mut Core,
    ) {
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
