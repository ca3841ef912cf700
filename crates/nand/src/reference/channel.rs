//! A channel, clock by clock: the cycles of the die with the bus grant, and the arbiter.

use std::collections::VecDeque;

use wordline_kernel::{Duration, Instant};

use super::die::Die;
use super::shared::SharedState;
use crate::chain::Cycle;
use crate::chips::MAX_CONSECUTIVE_LATCHES;
use crate::{ChannelId, DieId, Span, Stage};

/// The current bus grant.
#[derive(Clone, Debug)]
struct BusGrant {
    die: DieId,
    command: u32,
    /// Cycles that have not begun.
    cycles: VecDeque<Cycle>,
    /// Remaining clocks of the current cycle, and whether it is data out.
    left: u64,
    puts_out: bool,
    /// The current stage and its begin.
    stage: Option<(Stage, Instant)>,
}

/// A channel.
#[derive(Clone, Debug)]
pub(super) struct Channel {
    id: ChannelId,
    holder: Option<BusGrant>,
    /// Consecutive latches granted before waiting data.
    latches: u32,
    /// End of the last data out.
    quiet_since: Option<Instant>,
}

impl Channel {
    pub(super) fn new(id: u32) -> Self {
        Self { id: ChannelId(id), holder: None, latches: 0, quiet_since: None }
    }

    /// Counts down one clock; the bus is free after the last cycle.
    pub(super) fn tick(&mut self, world: &mut SharedState<'_>, dies: &mut [Die]) {
        let Some(holder) = &mut self.holder else { return };
        holder.left -= 1;
        if holder.left == 0 && holder.is_over(world, &mut self.quiet_since) {
            let of_die = dies.iter_mut().find(|die| die.id() == holder.die).expect("the holder is a die");
            of_die.release(world);
            self.holder = None;
        }
    }

    /// Grants a free bus to a waiting die. Dies that only latch a command are granted before dies that
    /// transfer data, unless too many latches went first. Otherwise the earliest request is granted first.
    /// Among requests at the same instant, the lowest die number is first.
    pub(super) fn arbitrate(&mut self, world: &mut SharedState<'_>, dies: &mut [Die]) {
        if self.holder.is_some() {
            return;
        }
        let of_channel = dies.iter_mut().filter(|die| world.geometry.channel_of(die.id()) == self.id);
        let mut wishes: Vec<_> = of_channel.filter_map(|die| Some((die.bus_request()?, die))).collect();
        wishes.sort_by_key(|(wish, _)| *wish);
        let data = wishes.iter().position(|((moves_data, ..), _)| *moves_data);
        let chosen = match data {
            Some(data) if self.latches == MAX_CONSECUTIVE_LATCHES => data,
            _ => 0,
        };
        self.latches = if data.is_some_and(|data| data != chosen) { self.latches + 1 } else { 0 };
        if wishes.is_empty() {
            return;
        }
        let (_, die) = wishes.swap_remove(chosen);
        let cycles = die.grant(world).into();
        let mut holder =
            BusGrant { die: die.id(), command: die.serial(), cycles, left: 0, puts_out: false, stage: None };
        assert!(!holder.is_over(world, &mut self.quiet_since), "a hold of the bus takes time");
        self.holder = Some(holder);
    }
}

impl BusGrant {
    /// Advances to the next cycle that takes time. Returns true if there is no such cycle.
    fn is_over(&mut self, world: &mut SharedState<'_>, quiet_since: &mut Option<Instant>) -> bool {
        while self.left == 0 {
            if std::mem::take(&mut self.puts_out) {
                *quiet_since = Some(world.now);
            }
            let Some(cycle) = self.cycles.front().copied() else {
                self.close(world);
                return true;
            };
            let (stage, time) = match turnaround(cycle, world, *quiet_since) {
                Some(rest) => (Stage::Cle, rest),
                None => {
                    self.cycles.pop_front();
                    self.puts_out = matches!(cycle, Cycle::DataOut { .. });
                    cycle.time(&world.part.bus, world.part.timing.plane_busy)
                }
            };
            if self.stage.is_none_or(|(before, _)| before != stage) {
                self.close(world);
                self.stage = Some((stage, world.now));
            }
            self.left = world.host_clocks(time);
        }
        false
    }

    /// Ends the current stage.
    fn close(&mut self, world: &mut SharedState<'_>) {
        if let Some((stage, begin)) = self.stage.take() {
            let length: Duration = world.now - begin;
            let (die, command) = (self.die, self.command);
            world.spans.push(Span { begin, die, stage, planes: 0, length, command });
        }
    }
}

/// The remaining turnaround time of the bus before a command latch.
fn turnaround(cycle: Cycle, world: &SharedState<'_>, quiet_since: Option<Instant>) -> Option<Duration> {
    let (Cycle::Command(_) | Cycle::Confirm(_)) = cycle else { return None };
    let from = quiet_since? + world.part.bus.t_rhw;
    (from > world.now).then(|| from - world.now)
}
