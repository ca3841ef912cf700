//! How the bus goes from one die to the next; whose turn it is says [`Bus`](super::bus::Bus).

use wordline_kernel::Schedule;

use super::{Chips, Event};
use crate::geometry::{ChannelId, DieId};

impl Chips {
    #[inline(never)]
    pub(super) fn ask_for_bus(&mut self, die: DieId, calendar: &mut impl Schedule<Event>) {
        if self.has_bus(die, calendar) {
            self.hold_bus(die, calendar);
        } else {
            self.wait_for_bus(die, calendar);
        }
    }

    /// Whether `die` gets the bus at once: it is free, and no other die can ask for it at this instant.
    #[inline(always)]
    pub(super) fn has_bus(&self, die: DieId, calendar: &mut impl Schedule<Event>) -> bool {
        let now = calendar.now();
        let bus = &self.buses[self.dies[die].channel];
        bus.busy_until <= now
            && !bus.is_wanted()
            && self.wiring.clocks.host.edge(now) == now
            && calendar.is_settled()
    }

    /// Wants the bus as soon as it is free and its turn.
    #[inline(never)]
    pub(super) fn wait_for_bus(&mut self, die: DieId, calendar: &mut impl Schedule<Event>) {
        let now = calendar.now();
        let work = &self.dies[die];
        let bus = &mut self.buses[work.channel];
        let wanted = bus.is_wanted();
        bus.want(die, !work.moves_data(), now);
        if wanted {
            return;
        }
        if let Some(holder) = bus.told_by()
            && bus.busy_until > now
            && calendar.is_last(bus.busy_until, Event::HoldOver(holder))
        {
            return bus.hand_on();
        }
        let free = self.wiring.clocks.host.edge(now);
        calendar.at(bus.busy_until.max(free), Event::BusFree(work.channel));
    }

    /// The bus is free for the next die, and for those after it as long as nothing else happens meanwhile. There may be none:
    /// a die that wanted to suspend does not wait for the bus any more if its array has finished meanwhile; and then another
    /// one may hold it.
    #[inline(never)]
    pub(super) fn give_bus(&mut self, channel: ChannelId, calendar: &mut impl Schedule<Event>) {
        let bus = &mut self.buses[channel];
        if bus.busy_until > calendar.now() {
            return;
        }
        loop {
            let Some(next) = self.buses[channel].next() else { return };
            self.hold_bus(next, calendar);
            let bus = &mut self.buses[channel];
            if !bus.is_wanted() {
                return;
            }
            if bus.told_by().is_some() {
                return bus.hand_on();
            }
            let free = bus.busy_until.max(calendar.now());
            if !calendar.go_on_to(free) {
                return calendar.at(free, Event::BusFree(channel));
            }
        }
    }
}
