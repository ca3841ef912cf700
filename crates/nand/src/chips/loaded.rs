//! Consistency checks of chips that were loaded from a snapshot.

use wordline_kernel::Instant;

use super::Chips;
use super::command::Operation;
use super::event::Event;
use super::pages::{DataTag, Pages};
use super::step::Step;
use crate::geometry::DieId;
use crate::locations::Location;

impl Chips {
    /// Checks the state that was loaded at `now`: dies and buses match the geometry, and an idle die has no
    /// work left. The controller must not use cache operations.
    ///
    /// # Errors
    /// The contradiction.
    pub fn check_loaded(&self, now: Instant) -> Result<(), String> {
        for die in self.sequencer.dies.ids() {
            if !self.is_wired(die) {
                return Err(format!("die {} does not exist in this device", die.0));
            }
            if !self.is_at_step(die, now) {
                return Err(format!("die {} is in an invalid state", die.0));
            }
        }
        let mut waits = vec![false; self.sequencer.dies.len()];
        for (channel, bus) in self.sequencer.buses.entries() {
            let mut is_first = |die: DieId| {
                let is_own = self.sequencer.dies.get(die).is_some_and(|work| work.channel == channel);
                is_own && !std::mem::replace(&mut waits[die.0 as usize], true)
            };
            let mut waiting = bus.waiting();
            let all_work = waiting.all(|die| is_first(die) && self.sequencer.dies[die].step != Step::Idle);
            let is_own = bus.told_by().is_none_or(|die| die.0 < self.cells.pools.dies());
            if !(all_work && is_own && bus.is_counted(now)) {
                return Err(format!("channel {} is used by dies that do not use it", channel.0));
            }
        }
        self.cells.pages.check_loaded()
    }

    /// Checks the loaded pending events: each belongs to a die that waits for one, and each working die that
    /// does not wait for the bus has one. Array events of a suspended operation have no effect. The
    /// controller must not use cache operations.
    ///
    /// # Errors
    /// The contradiction.
    pub fn check_pending(&self, events: impl Iterator<Item = Event>) -> Result<(), String> {
        let mut pending = vec![0u32; self.sequencer.dies.len()];
        for event in events {
            let die = match event {
                Event::BusFree(_) => continue,
                Event::ArrayDone(die)
                | Event::RegisterTransferred(die)
                | Event::GrantEnded(die)
                | Event::CacheProgramDone(die)
                | Event::Suspend(die)
                | Event::ArraySuspended(die) => die,
            };
            let count = pending.get_mut(die.0 as usize);
            *count.ok_or_else(|| format!("{event:?} of a die that does not exist"))? += 1;
            let work = &self.sequencer.dies[die];
            if work.step == Step::Idle && !work.suspended && work.overtaken == 0 {
                return Err(format!("{event:?} of a die that is idle"));
            }
        }
        let mut waits = vec![false; self.sequencer.dies.len()];
        let waiting = self.sequencer.buses.iter().flat_map(|bus| bus.waiting());
        waiting.for_each(|die| waits[die.0 as usize] = true);
        for (die, work) in self.sequencer.dies.entries() {
            let at = die.0 as usize;
            if work.step != Step::Idle && !waits[at] && pending[at] == 0 {
                return Err(format!("die {} works and never ends", die.0));
            }
        }
        Ok(())
    }

    /// Checks that the data tags in pages and registers belong to a controller with `units` mapping units.
    ///
    /// # Errors
    /// The first tag that is out of range.
    pub fn check_data_tags(&self, units: u32) -> Result<(), String> {
        let mut stamps = self.cells.pages.stamps().chain(self.cells.pages.all_registers().iter().copied());
        match stamps.find(|stamp| stamp.is_data() && stamp.logical >= units) {
            Some(stamp) => Err(format!("flash holds unit {} of {units}", stamp.logical)),
            None => Ok(()),
        }
    }

    /// Whether the suspended operation of a die is parked, so that the die accepts other commands.
    pub fn is_parked(&self, die: DieId) -> bool {
        self.sequencer.suspended[die].as_ref().is_some_and(|suspended| suspended.is_parked())
    }

    /// Whether a die is on its channel, and its command is valid for it.
    fn is_wired(&self, die: DieId) -> bool {
        let (work, number) = (&self.sequencer.dies[die], self.cells.pools.number_of(die));
        let geometry = &self.cells.pools.get(number).geometry;
        let command = &work.command;
        let planes = 1..=geometry.planes_per_row;
        let is_known = !matches!(command.operation, Operation::ReadCache { .. } | Operation::ProgramCache);
        let is_own = work.step == Step::Idle || self.cells.pools.find_die(command.page) == Some(die);
        work.channel == geometry.channel_of(die)
            && usize::from(work.pool) == number
            && self.sequencer.tables.has(work)
            && planes.contains(&command.planes)
            && work.matches_command(geometry.planes_per_row)
            && is_known
            && is_own
    }

    /// Whether the step of a die is consistent with its array and its suspended operation. Without cache
    /// operations, the array is ready when the operation ends.
    fn is_at_step(&self, die: DieId, now: Instant) -> bool {
        let work = &self.sequencer.dies[die];
        let is_idle = work.step == Step::Idle;
        let rests = work.ends() <= now;
        self.sequencer.behind[die].is_none()
            && work.pipeline.array_ready_at <= work.ends()
            && work.suspended == self.sequencer.suspended[die].is_some()
            && (!is_idle || rests)
            && (is_idle || work.asked <= now)
    }
}

impl Pages {
    /// Checks that no block has more programmed locations than it can hold, and that unprogrammed locations
    /// are erased.
    fn check_loaded(&self) -> Result<(), String> {
        if !self.has_data_tags() {
            return Ok(());
        }
        for block in self.pools.all_blocks() {
            let (programmed, all) = (self.programmed[block], self.pools.per_block(block));
            let first = self.pools.at(block, 0).0;
            let is_written = |place: &u32| self.stamp(Location(first + place)) != DataTag::ERASED;
            let fits = programmed <= all
                && match self.any_order {
                    // A partially programmed unit may contain erased locations.
                    true => (0..all).filter(is_written).count() <= programmed as usize,
                    false => !(programmed..all).any(|place| is_written(&place)),
                };
            if !fits {
                return Err(format!(
                    "block {} has {programmed} programmed locations of {all}, and others",
                    block.0
                ));
            }
        }
        Ok(())
    }
}
