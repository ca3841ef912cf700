//! Threads of an application with their pending requests, and the deferred work of the system below them.

use std::collections::VecDeque;

use super::asks::{Ask, Asks, Later};
use super::program::{Program, Turn};
use super::{btree, lsm};

/// Steps without a request after which another thread has its turn. Chosen: more than in any loop.
const MOST_STEPS: usize = 4096;

/// Pending work items of the system at which threads wait. Chosen: the most blocks that a transaction
/// changes.
const MOST_LATER: usize = 256;

/// Rounds over all threads without a request before giving up. Chosen: far more than any application needs to
/// advance.
const MOST_ROUNDS: usize = 1 << 16;

/// Threads and the state they work on.
#[derive(Clone, Debug)]
pub(super) enum Threaded {
    Files(Program),
    Lsm(lsm::Store),
    Btree(btree::Store),
}

impl Threaded {
    fn thread_count(&self) -> usize {
        match self {
            Self::Files(program) => program.thread_count(),
            Self::Lsm(store) => store.thread_count(),
            Self::Btree(store) => store.thread_count(),
        }
    }

    fn step(&mut self, thread: usize, asks: &mut Asks) -> Turn {
        match self {
            Self::Files(program) => program.step(thread, asks),
            Self::Lsm(store) => store.step(thread, asks),
            Self::Btree(store) => store.step(thread, asks),
        }
    }

    fn give(&mut self, block: u32, blocks: u32) {
        match self {
            Self::Files(program) => program.give(block, blocks),
            Self::Lsm(store) => store.give(block, blocks),
            Self::Btree(store) => store.give(block, blocks),
        }
    }
}

/// Outcome of asking a thread for its next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The request.
    Asks(Ask),
    /// None before other threads, or the system, have advanced.
    Waits,
    /// None in many steps.
    Idles,
}

/// The threads, and their pending work.
#[derive(Clone, Debug)]
pub(super) struct Work {
    threads: Threaded,
    asks: Vec<Asks>,
    /// Deferred work of the system.
    later: VecDeque<Later>,
    /// Whether a waiting thread may have been unblocked since the last query.
    wakes: bool,
}

impl Work {
    pub(super) fn new(threads: Threaded) -> Self {
        let asks = vec![Asks::default(); threads.thread_count()];
        Self { threads, asks, later: VecDeque::new(), wakes: false }
    }

    pub(super) fn thread_count(&self) -> usize {
        self.asks.len()
    }

    /// Upper bound on attempts to get a request before it is certain that there will be none.
    pub(super) fn most_tries(&self) -> usize {
        MOST_ROUNDS * self.asks.len()
    }

    /// Whether the system has so much work that threads wait for it.
    pub(super) fn is_behind(&self) -> bool {
        self.later.len() > MOST_LATER
    }

    /// Whether waiting threads may have been unblocked; clears the flag.
    pub(super) fn take_wakes(&mut self) -> bool {
        std::mem::take(&mut self.wakes)
    }

    /// Returns the next request of the system, if any.
    pub(super) fn of_system(&mut self) -> Option<Ask> {
        while let Some(next) = self.later.pop_front() {
            match next {
                Later::Ask(ask) => return Some(ask),
                Later::Free(block, blocks) => {
                    self.threads.give(block, blocks);
                    self.wakes = true;
                }
            }
        }
        None
    }

    /// Returns the next request of a thread whose previous requests have been issued.
    pub(super) fn of_thread(&mut self, thread: usize) -> Next {
        let asks = &mut self.asks[thread];
        for _ in 0..MOST_STEPS {
            if let Some(ask) = asks.pop() {
                return Next::Asks(ask);
            }
            self.later.extend(asks.later.drain(..));
            let turn = self.threads.step(thread, asks);
            self.wakes |= std::mem::take(&mut asks.wakes);
            if turn == Turn::Waits {
                return Next::Waits;
            }
        }
        Next::Idles
    }
}

#[cfg(test)]
impl Work {
    /// Returns the file system, and the number of blocks not yet returned to it.
    pub(super) fn file_system(&self) -> (&super::files::FileSystem, u32) {
        let Threaded::Files(program) = &self.threads else { panic!("an application over files") };
        (program.file_system(), self.on_their_way())
    }

    fn on_their_way(&self) -> u32 {
        let blocks = |later: &Later| if let Later::Free(_, blocks) = later { *blocks } else { 0 };
        let of_threads = self.asks.iter().flat_map(|asks| &asks.later);
        self.later.iter().chain(of_threads).map(blocks).sum()
    }

    /// Returns the blocks that may be read, after checking that each belongs to one owner.
    pub(super) fn audit(&self) -> Vec<bool> {
        let on_their_way = self.on_their_way();
        match &self.threads {
            Threaded::Files(program) => program.file_system().audit(on_their_way),
            Threaded::Lsm(store) => store.audit(on_their_way),
            Threaded::Btree(store) => store.audit(on_their_way),
        }
    }

    /// Number of flushed tables, and the fill of each level of a merge tree.
    pub(super) fn levels(&self) -> (usize, Vec<f64>) {
        let Threaded::Lsm(store) = &self.threads else { panic!("an application over a merge tree") };
        store.shape()
    }

    /// Number of pending work items of the system.
    pub(super) fn later(&self) -> usize {
        self.later.len()
    }
}
