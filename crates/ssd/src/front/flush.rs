//! Flushes, discards, and what is written out from time to time.

use wordline_kernel::{Duration, Schedule};

use super::answering::{answer_soon, is_durable};
use crate::cache::Round;
use crate::command::RequestId;
use crate::engines::Core;
use crate::event::Event;
use crate::front::Front;
use crate::map::LogicalPage;
use crate::writer::Writer;

impl Front {
    /// Pages that tell of discards are in flash: those who waited for them go on.
    #[cold]
    pub(crate) fn discards_written(
        &mut self,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        while let Some(waiters) = core.map.end_discards() {
            waiters.into_iter().for_each(|id| self.part_done(id, core, writer, calendar));
        }
    }

    /// A flush command.
    pub(super) fn flush(
        &mut self,
        id: RequestId,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        let epoch = core.cache.end_epoch().filter(|_| !core.base.is_protected());
        let waits = core.map.wait_for_discards(id);
        let parts = u32::from(waits) + u32::from(epoch.is_some());
        self.get(id).parts = parts;
        if let Some(epoch) = epoch {
            core.cache.flush(epoch, id);
            writer.urge_covered(epoch, core);
            core.base.promote_all(calendar);
        }
        match parts {
            0 => answer_soon(id, &core.base, calendar),
            _ => self.pump(core, writer, calendar),
        }
    }

    /// Forgets the pages that a discard covers as a whole.
    pub(super) fn discard(
        &mut self,
        id: RequestId,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        let command = self.get(id).command;
        let per_page = core.base.sectors_per_page();
        let first = command.sector.div_ceil(per_page) as u32;
        let end = ((command.sector + command.sectors) / per_page) as u32;
        for page in first..end {
            core.cache.discard_page(LogicalPage(page), &mut core.base, &mut core.map);
        }
        core.map.release_tables();
        self.wake_waiters(core, writer, calendar);
        self.get(id).parts = 1;
        if !(is_durable(&command, &core.base) && core.map.wait_for_discards(id)) {
            answer_soon(id, &core.base, calendar);
        }
        self.pump(core, writer, calendar);
    }

    /// Sets the time at which the write buffer is looked at, if it is to be written out from time to time.
    pub(crate) fn set_timer(&mut self, core: &Core, calendar: &mut impl Schedule<Event>) {
        let interval = core.base.config.file.buffer.flush_interval;
        if !self.timer_set && interval > Duration::ZERO && core.cache.in_use() > 0 {
            self.timer_set = true;
            calendar.after(interval, Event::FlushTimer);
        }
    }

    /// The next step of a round, or the next round.
    #[inline(never)]
    pub(crate) fn write_out_on_time(
        &mut self,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        let round = match self.round.take() {
            Some(round) => Some(round),
            None => core.cache.begin_round(calendar.now(), &core.base),
        };
        self.timer_set = false;
        let Some(round) = round else { return self.rest_until_next_round(None, core, calendar) };
        let most = core.cache.dirty().saturating_sub(round.pages);
        while core.cache.dirty() > most
            && let Some(oldest) = core.cache.oldest()
            && core.cache.epoch(oldest) <= round.epoch
        {
            writer.leave(oldest, core, calendar);
        }
        if core.cache.oldest().is_some_and(|oldest| core.cache.epoch(oldest) <= round.epoch) {
            self.pump(core, writer, calendar);
            (self.round, self.timer_set) = (Some(round), true);
            calendar.after(round.every, Event::FlushTimer);
            return;
        }
        self.drain(round.epoch, core, writer, calendar);
        self.rest_until_next_round(Some(round), core, calendar);
    }

    /// What is of an epoch and of older ones leaves at once; the last pages do not wait for others to fill a program unit with.
    fn drain(
        &mut self,
        epoch: u64,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        core.cache.drain_to(epoch);
        writer.urge_covered(epoch, core);
        self.pump(core, writer, calendar);
    }

    /// Everything in the buffer leaves at once, protected or not.
    pub(crate) fn write_out(
        &mut self,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        if let Some(epoch) = core.cache.end_epoch() {
            self.drain(epoch, core, writer, calendar);
        }
    }

    /// No timer is set any more.
    pub(crate) fn forget_timer(&mut self) {
        (self.round, self.timer_set) = (None, false);
    }

    /// Rounds begin an interval apart. With no die at work nothing moves by itself any more; the next write sets the timer
    /// again.
    fn rest_until_next_round(
        &mut self,
        last: Option<Round>,
        core: &Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        if core.base.flash.outstanding() == 0 || self.timer_set {
            return;
        }
        let Some(Round { begun, .. }) = last else { return self.set_timer(core, calendar) };
        if core.cache.in_use() > 0 {
            self.timer_set = true;
            let next = begun + core.base.config.file.buffer.flush_interval;
            calendar.at(next.max(calendar.now()), Event::FlushTimer);
        }
    }
}
