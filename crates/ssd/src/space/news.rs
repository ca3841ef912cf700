//! Events of blocks and locations that designs were not told of yet.

use std::cell::Cell;

use crate::policy::seen::{Observes, Seen};

/// Events, in order.
pub(super) struct News {
    /// The kinds that are noted.
    kinds: Observes,
    list: Cell<Vec<Seen<'static>>>,
    /// Whether the list holds something.
    waits: Cell<bool>,
    /// While this is set, nothing is noted.
    paused: bool,
}

impl News {
    /// Nothing yet; none where none of these kinds is news.
    pub fn of(kinds: Observes) -> Option<Box<Self>> {
        let wanted = kinds.has(Observes::INVALIDATED | Observes::LOST_PAGES | Observes::BLOCKS);
        wanted
            .then(|| Box::new(Self { kinds, list: Cell::default(), waits: Cell::new(false), paused: false }))
    }

    /// Takes nothing down while `paused`.
    pub fn pause(&mut self, paused: bool) {
        self.paused = paused;
    }

    /// Takes it down, if a design wants to know.
    #[inline(never)]
    pub fn note(&self, seen: Seen<'static>) {
        if self.kinds.has(seen.kind()) && !self.paused {
            let mut list = self.list.take();
            list.push(seen);
            self.list.set(list);
            self.waits.set(true);
        }
    }

    /// Whether something was taken down.
    #[inline]
    pub fn waits(&self) -> bool {
        self.waits.get()
    }

    /// The events noted. They are taken out.
    pub fn take(&self) -> Vec<Seen<'static>> {
        self.waits.set(false);
        self.list.take()
    }

    /// The list comes back, empty, for its room.
    pub fn take_back(&self, mut list: Vec<Seen<'static>>) {
        list.clear();
        self.list.set(list);
    }
}
