//! Block and location events not yet delivered to designs.

use std::cell::Cell;

use crate::policy::event::{DeviceEvent, EventMask};

/// Block and location events of a device, if a design observes any of them.
pub(crate) struct BlockEvents {
    pending: Option<Box<PendingEvents>>,
}

impl BlockEvents {
    /// No events, and no design that observes them.
    pub(super) fn unobserved() -> Self {
        Self { pending: None }
    }

    /// Records events of these kinds from now on.
    pub fn observe(&mut self, kinds: EventMask) {
        self.pending = PendingEvents::of(kinds);
    }

    /// Records no events while `paused`.
    pub fn pause(&mut self, paused: bool) {
        if let Some(pending) = &mut self.pending {
            pending.pause(paused);
        }
    }

    /// The list to which events are added; `None` if no design observes them.
    #[inline]
    pub(super) fn observed(&self) -> Option<&PendingEvents> {
        self.pending.as_deref()
    }

    /// Records an event if some design observes its kind.
    #[inline]
    pub(super) fn note(&self, seen: impl FnOnce() -> DeviceEvent<'static>) {
        if let Some(pending) = &self.pending {
            pending.note(seen());
        }
    }

    /// Whether events are pending.
    #[inline]
    pub fn are_pending(&self) -> bool {
        self.pending.as_ref().is_some_and(|pending| pending.waits())
    }

    /// Events since the last call; `None` if there were none.
    #[inline]
    pub fn take(&self) -> Option<Vec<DeviceEvent<'static>>> {
        self.pending.as_ref().filter(|pending| pending.waits()).map(|pending| pending.take())
    }

    /// Returns the list of delivered events, so that its memory is reused.
    pub fn take_back(&self, list: Vec<DeviceEvent<'static>>) {
        if let Some(pending) = &self.pending {
            pending.take_back(list);
        }
    }
}

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
