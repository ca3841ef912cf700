//! Bus grants: how the bus passes from one die to the next. [`Bus`](super::bus::Bus) arbitrates.

use wordline_kernel::Schedule;

use super::cells::Cells;
use super::event::Event;
use super::sequencer::Sequencer;
use crate::geometry::{ChannelId, DieId};

impl Sequencer {
    #[inline(never)]
    pub(super) fn request_bus(&mut self, die: DieId, cells: &mut Cells, calendar: &mut impl Schedule<Event>) {
        if self.can_take_bus(die, calendar) {
            self.grant_bus(die, cells, calendar);
        } else {
            self.queue_for_bus(die, calendar);
        }
    }

    /// Whether `die` is granted the bus at once: the bus is free, and no other die can request it at this
    /// instant.
    #[inline(always)]
    pub(super) fn can_take_bus(&self, die: DieId, calendar: &mut impl Schedule<Event>) -> bool {
        let now = calendar.now();
        let bus = &self.buses[self.dies[die].channel];
        bus.busy_until <= now
            && !bus.has_requests()
            && self.tables.wiring.clocks.host.edge(now) == now
            && calendar.is_settled()
    }

    /// Queues a request of `die` for the bus.
    #[inline(never)]
    pub(super) fn queue_for_bus(&mut self, die: DieId, calendar: &mut impl Schedule<Event>) {
        let now = calendar.now();
        let work = &self.dies[die];
        let bus = &mut self.buses[work.channel];
        let wanted = bus.has_requests();
        bus.request(die, !work.moves_data(), now);
        if wanted {
            return;
        }
        if let Some(holder) = bus.told_by()
            && bus.busy_until > now
            && calendar.is_last(bus.busy_until, Event::GrantEnded(holder))
        {
            return bus.hand_on();
        }
        let free = self.tables.wiring.clocks.host.edge(now);
        calendar.at(bus.busy_until.max(free), Event::BusFree(work.channel));
    }

    /// Grants the free bus to the next die, and to the dies after it as long as no other event intervenes.
    /// There may be no request, and the bus may be busy: a die that was to suspend withdraws its request if
    /// its array has finished meanwhile.
    #[inline(never)]
    pub(super) fn grant_next(
        &mut self,
        channel: ChannelId,
        cells: &mut Cells,
        calendar: &mut impl Schedule<Event>,
    ) {
        let bus = &mut self.buses[channel];
        if bus.busy_until > calendar.now() {
            return;
        }
        loop {
            let Some(next) = self.buses[channel].next() else { return };
            self.grant_bus(next, cells, calendar);
            let bus = &mut self.buses[channel];
            if !bus.has_requests() {
                return;
            }
            if bus.told_by().is_some() {
                return bus.hand_on();
            }
            let free = bus.busy_until.max(calendar.now());
            if !calendar.advance_to(free) {
                return calendar.at(free, Event::BusFree(channel));
            }
        }
    }
}
