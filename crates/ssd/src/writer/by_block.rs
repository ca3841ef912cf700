//! The steps of a block map on the dies: what waits for a row is written at its place, and what must be copied or erased
//! before that goes as the commands of a collector do.

use wordline_kernel::Schedule;
use wordline_nand::RowId;

use crate::cache::buffer::EntryId;
use crate::engines::Core;
use crate::event::Event;
use crate::flash::{Class, Ticket};
use crate::map::block_map::Step;
use crate::writer::Writer;

impl Writer {
    /// Queues the next command of a row, if none is under way. Returns whether it programs a page of the host.
    #[inline(never)]
    pub(super) fn work_on(
        &mut self,
        row: RowId,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        !self.rows.is_busy(row) && self.queue_step(row, core, calendar)
    }

    fn queue_step(&mut self, row: RowId, core: &mut Core, calendar: &mut impl Schedule<Event>) -> bool {
        loop {
            let waiting = self.waiting_for(row, core);
            let page = waiting.map(|(_, id)| core.cache.entry(id).logical);
            let Some(step) = core.map.next_step(row, page, &mut core.base) else { return false };
            let die = match (step, waiting) {
                (Step::Retire { block }, _) => {
                    core.base.space.retire(block);
                    continue;
                }
                (Step::Write { .. }, Some((list, _))) => {
                    self.form(row, list, core, calendar);
                    return true;
                }
                (Step::Write { .. }, None) => unreachable!("a page waits if it is to be written"),
                (Step::Read { from }, _) => core.map.queue_copy_reads(row, from, &mut core.base, calendar),
                (Step::Program { to }, _) => core.map.queue_copy(row, to, &mut core.base, calendar),
                (Step::Erase { block }, _) => {
                    core.map.begin_step(row, 1);
                    core.base.flash.erase(calendar.now(), (Ticket::Reclaim(row), Class::Reclaim), block)
                }
            };
            core.base.kick(die, calendar);
            return false;
        }
    }

    /// The page that the row writes next, and the list that it is in. Those that were discarded meanwhile leave theirs.
    fn waiting_for(&mut self, row: RowId, core: &mut Core) -> Option<(usize, EntryId)> {
        let streams = usize::from(core.base.space.streams().host);
        let first = self.ready.of(Some(row), 0);
        for list in first..first + streams {
            while let Some(id) = self.ready[list].pages.front().copied() {
                if !core.cache.entry(id).discarded {
                    return Some((list, id));
                }
                self.ready.pop(list);
                if core.cache.entry(id).urgent {
                    self.ready.urge(list, false);
                }
                core.cache.drop_entry(id);
            }
        }
        None
    }

    /// A command of the row's step is done: the row goes on.
    pub(crate) fn step_done(&mut self, row: RowId, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        if core.map.command_done(row) {
            self.work_on(row, core, calendar);
        }
    }
}
