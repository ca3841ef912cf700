//! Block and location events not yet delivered to designs.

use std::cell::Cell;

use crate::policy::event::{DeviceEvent, EventMask};

/// Pending events, in order.
pub(super) struct PendingEvents {
    /// Event kinds that are recorded.
    kinds: EventMask,
    list: Cell<Vec<DeviceEvent<'static>>>,
    /// Whether the list has events.
    waits: Cell<bool>,
    /// While set, no event is recorded.
    paused: bool,
}

impl PendingEvents {
    /// An empty list; `None` if none of `kinds` is an event of blocks or locations.
    pub fn of(kinds: EventMask) -> Option<Box<Self>> {
        let wanted = kinds.has(EventMask::INVALIDATED | EventMask::LOST_PAGES | EventMask::BLOCKS);
        wanted
            .then(|| Box::new(Self { kinds, list: Cell::default(), waits: Cell::new(false), paused: false }))
    }

    /// While `paused`, no event is recorded.
    pub fn pause(&mut self, paused: bool) {
        self.paused = paused;
    }

    /// Records an event if a design observes its kind.
    #[inline(never)]
    pub fn note(&self, seen: DeviceEvent<'static>) {
        if self.kinds.has(seen.kind()) && !self.paused {
            let mut list = self.list.take();
            list.push(seen);
            self.list.set(list);
            self.waits.set(true);
        }
    }

    /// Whether events are pending.
    #[inline]
    pub fn waits(&self) -> bool {
        self.waits.get()
    }

    /// Takes the pending events.
    pub fn take(&self) -> Vec<DeviceEvent<'static>> {
        self.waits.set(false);
        self.list.take()
    }

    /// Returns the list of delivered events, so that its memory is reused.
    pub fn take_back(&self, mut list: Vec<DeviceEvent<'static>>) {
        list.clear();
        self.list.set(list);
    }
}
