//! Zone table: states, write pointers and attributes of zones, and the limits of active and open zones.
//!
//! The table does not depend on flash. A change is checked and made at once, so the table always has the
//! state that the device reports.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wordline_device::ZoneState;
use wordline_kernel::ensure::ensure;
use wordline_kernel::{Column, id};

use super::command::{Action, Status};

id!(
    /// Number of a zone.
    ZoneId
);

/// Attributes of a zone (ZA).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attributes {
    /// Zone Finished by Controller (ZFC, bit 0): the device made the zone full.
    pub finished: bool,
    /// Finish Zone Recommended (FZR, bit 1).
    pub finish_recommended: bool,
    /// Reset Zone Recommended (RZR, bit 2).
    pub reset_recommended: bool,
}

impl Attributes {
    /// Attribute byte of the zone descriptor.
    pub fn byte(self) -> u8 {
        u8::from(self.finished)
            | u8::from(self.finish_recommended) << 1
            | u8::from(self.reset_recommended) << 2
    }
}

/// Limits of active and open zones; `None` means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of open and closed zones together.
    pub active: Option<u32>,
    /// Maximum number of open zones.
    pub open: Option<u32>,
}

/// Table entry of a zone.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) state: ZoneState,
    /// Write pointer. In a full zone, where the writes ended.
    pub(super) next: u32,
    pub(super) attributes: Attributes,
}

/// Table of all zones.
#[derive(Clone, Debug)]
pub(super) struct Table {
    capacity: u32,
    limits: Limits,
    tracked: Tracked,
}

/// The mutable part of the table.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Tracked {
    entries: Column<ZoneId, Entry>,
    active: u32,
    /// Number of explicitly open zones.
    explicit: u32,
    /// Implicitly open zones, oldest first.
    implicit: VecDeque<ZoneId>,
    /// Implicitly open zones that the device closed to open another one.
    closed_by_device: u64,
}

wordline_kernel::state!(Table { values { tracked } fixed { capacity, limits } });

impl Table {
    /// Table of empty zones with this capacity.
    pub(super) fn new(zones: u32, capacity: u32, limits: Limits) -> Self {
        let new = Entry { state: ZoneState::Empty, next: 0, attributes: Attributes::default() };
        let tracked = Tracked {
            entries: Column::filled(zones as usize, new),
            active: 0,
            explicit: 0,
            implicit: VecDeque::new(),
            closed_by_device: 0,
        };
        Self { capacity, limits, tracked }
    }

    #[inline]
    pub(super) fn get(&self, zone: ZoneId) -> &Entry {
        &self.tracked.entries[zone]
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = ZoneId> + use<> {
        self.tracked.entries.ids()
    }

    pub(super) fn len(&self) -> usize {
        self.tracked.entries.len()
    }

    pub(super) fn closed_by_device(&self) -> u64 {
        self.tracked.closed_by_device
    }

    pub(super) fn active(&self) -> u32 {
        self.tracked.active
    }

    pub(super) fn open(&self) -> u32 {
        self.tracked.explicit + self.tracked.implicit.len() as u32
    }

    /// Mutable attributes of a zone.
    pub(super) fn attributes_mut(&mut self, zone: ZoneId) -> &mut Attributes {
        &mut self.tracked.entries[zone].attributes
    }

    fn set(&mut self, zone: ZoneId, state: ZoneState) {
        let Tracked { entries, active, explicit, implicit, .. } = &mut self.tracked;
        let before = std::mem::replace(&mut entries[zone].state, state);
        *active = *active + u32::from(state.is_active()) - u32::from(before.is_active());
        let is_explicit = |state: ZoneState| u32::from(state == ZoneState::ExplicitlyOpen);
        *explicit = *explicit + is_explicit(state) - is_explicit(before);
        if before == ZoneState::ImplicitlyOpen && state != before {
            implicit.retain(|open| *open != zone);
        } else if state == ZoneState::ImplicitlyOpen && state != before {
            implicit.push_back(zone);
        }
    }

    /// Checks whether a zone in this state can be opened: first the active limit, then the open limit.
    /// Implicitly open zones do not count for the open limit, because the device can close them.
    fn can_open(&self, state: ZoneState) -> Result<(), Status> {
        let is_full = |used: u32, limit: Option<u32>| limit.is_some_and(|limit| used >= limit);
        if !state.is_active() && is_full(self.tracked.active, self.limits.active) {
            return Err(Status::TooManyActive);
        }
        if !state.is_open() && is_full(self.tracked.explicit, self.limits.open) {
            return Err(Status::TooManyOpen);
        }
        Ok(())
    }

    /// Opens a zone after [`can_open`](Self::can_open). Closes the oldest implicitly open zone if the open
    /// limit is reached.
    fn open_zone(&mut self, zone: ZoneId, state: ZoneState) {
        if !self.get(zone).state.is_open() && self.limits.open.is_some_and(|limit| self.open() >= limit) {
            let oldest = *self.tracked.implicit.front().expect("it may be opened");
            self.set(oldest, ZoneState::Closed);
            self.tracked.closed_by_device += 1;
        }
        self.set(zone, state);
    }

    /// Checks a write of `count` logical blocks at offset `at` of a zone, or an append if `at` is `None`.
    /// `is_append_valid` is the result of the check of the append's address and length.
    pub(super) fn check_write(
        &self,
        zone: ZoneId,
        at: Option<u32>,
        count: u64,
        is_append_valid: bool,
    ) -> Result<(), Status> {
        let Entry { state, next, .. } = *self.get(zone);
        let is_writable = state.is_writable();
        let begin = at.unwrap_or(if is_writable { next } else { 0 });
        if u64::from(begin) + count > u64::from(self.capacity) {
            return Err(Status::Boundary);
        }
        match state {
            ZoneState::Full => return Err(Status::Full),
            ZoneState::ReadOnly => return Err(Status::ReadOnly),
            ZoneState::Offline => return Err(Status::Offline),
            _ => {}
        }
        if at.is_none() && !is_append_valid {
            return Err(Status::InvalidField);
        }
        if at.is_some_and(|at| at != next) {
            return Err(Status::InvalidWrite);
        }
        self.can_open(state)
    }

    /// Carries out a checked write.
    pub(super) fn write(&mut self, zone: ZoneId, count: u32) {
        let Entry { state, .. } = *self.get(zone);
        if !state.is_open() {
            self.open_zone(zone, ZoneState::ImplicitlyOpen);
        }
        let entry = &mut self.tracked.entries[zone];
        entry.next += count;
        if entry.next == self.capacity {
            self.set(zone, ZoneState::Full);
        }
    }

    /// Changes the state of a zone as the host requires.
    pub(super) fn manage(&mut self, action: Action, zone: ZoneId) -> Result<(), Status> {
        use ZoneState::{Closed, Empty, ExplicitlyOpen, Full, ImplicitlyOpen, Offline, ReadOnly};
        let state = self.get(zone).state;
        match (action, state) {
            (Action::Offline, ReadOnly | Offline) => self.set(zone, Offline),
            (Action::Offline, _) | (_, ReadOnly | Offline) => return Err(Status::InvalidTransition),
            (Action::Open, Full) | (Action::Close, Empty | Full) => return Err(Status::InvalidTransition),
            (Action::Open, _) => {
                self.can_open(state)?;
                self.open_zone(zone, ExplicitlyOpen);
            }
            (Action::Close, ImplicitlyOpen | ExplicitlyOpen | Closed) => self.set(zone, Closed),
            (Action::Finish, _) => self.set(zone, Full),
            (Action::Reset, _) => self.empty(zone),
        }
        Ok(())
    }

    fn empty(&mut self, zone: ZoneId) {
        self.set(zone, ZoneState::Empty);
        let entry = &mut self.tracked.entries[zone];
        (entry.next, entry.attributes) = (0, Attributes::default());
    }

    /// Zones to which an action with Select All applies.
    fn selected(&self, action: Action) -> Vec<ZoneId> {
        let is_selected = |zone: &ZoneId| {
            let state = self.get(*zone).state;
            match action {
                Action::Open => state == ZoneState::Closed,
                Action::Close => state.is_open(),
                Action::Finish => state.is_active(),
                Action::Reset => state.is_active() || state == ZoneState::Full,
                Action::Offline => state == ZoneState::ReadOnly,
            }
        };
        self.ids().filter(is_selected).collect()
    }

    /// Changes all zones to which the action applies, or none. Returns these zones.
    pub(super) fn manage_all(&mut self, action: Action) -> Result<Vec<ZoneId>, Status> {
        let zones = self.selected(action);
        let opened = if action == Action::Open { zones.len() as u32 } else { 0 };
        if self.limits.open.is_some_and(|limit| self.tracked.explicit + opened > limit) {
            return Err(Status::TooManyOpen);
        }
        for zone in &zones {
            self.manage(action, *zone).expect("it was selected, and there is room");
        }
        Ok(zones)
    }

    /// Makes a zone full on behalf of the device.
    pub(super) fn end(&mut self, zone: ZoneId) {
        self.set(zone, ZoneState::Full);
        self.attributes_mut(zone).finished = true;
    }

    /// Retires a zone: `state` is read-only or offline.
    pub(super) fn retire(&mut self, zone: ZoneId, state: ZoneState) {
        self.set(zone, state);
        self.tracked.entries[zone].attributes = Attributes::default();
    }

    /// Sets the write pointer of a zone that was active at a power loss.
    pub(super) fn settle(&mut self, zone: ZoneId, next: u32) {
        if next == 0 {
            return self.empty(zone);
        }
        self.set(zone, ZoneState::Closed);
        self.tracked.entries[zone].next = next;
    }

    /// Checks a loaded state.
    pub(super) fn check(&self) -> Result<(), String> {
        let Tracked { entries, active, explicit, implicit, .. } = &self.tracked;
        let count = |is: fn(ZoneState) -> bool| entries.iter().filter(|entry| is(entry.state)).count();
        let is_implicit = |zone: &ZoneId| {
            let entry = entries.entries().find(|(other, _)| other == zone);
            entry.is_some_and(|(_, entry)| entry.state == ZoneState::ImplicitlyOpen)
        };
        let mut known: Vec<ZoneId> = implicit.iter().copied().collect();
        known.sort_unstable();
        known.dedup();
        let is_counted = count(ZoneState::is_active) == *active as usize
            && count(|state| state == ZoneState::ExplicitlyOpen) == *explicit as usize
            && count(|state| state == ZoneState::ImplicitlyOpen) == implicit.len()
            && known.len() == implicit.len()
            && known.iter().all(is_implicit);
        ensure(is_counted, || "other zones are active or open than are counted".into())?;
        let within = |limit: Option<u32>, found: u32| limit.is_none_or(|limit| found <= limit);
        ensure(within(self.limits.active, self.active()) && within(self.limits.open, self.open()), || {
            "more zones are active or open than may be".into()
        })?;
        let fits = |entry: &Entry| match entry.state {
            ZoneState::Empty => entry.next == 0,
            state if state.is_active() => entry.next < self.capacity,
            _ => entry.next <= self.capacity,
        };
        ensure(entries.iter().all(fits), || "a zone is written beyond its capacity".into())
    }
}
