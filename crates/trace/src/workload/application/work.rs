//! The threads of an application with the requests that they are about to make, and the deferred work of the system below them.

use std::collections::VecDeque;

use super::asks::{Ask, Asks, Later};
use super::program::{Program, Turn};
use super::{btree, lsm};

/// Steps without a request after which another thread has its turn. Chosen: more than any loop has.
const MOST_STEPS: usize = 4096;

/// Things that the system has to do before threads wait for it. Chosen: as many as a transaction changes blocks at most.
const MOST_LATER: usize = 256;

/// Rounds of all threads in which no thread has a request. Chosen: many more than any application needs to get on.
const MOST_ROUNDS: usize = 1 << 16;

/// Threads, and what they work on.
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

/// The outcome of asking a thread for its next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// This is it.
    Asks(Ask),
    /// None before other threads, or the system, have got on.
    Waits,
    /// None in many steps.
    Idles,
}

/// The threads, and the work that is left to be asked for.
#[derive(Clone, Debug)]
pub(super) struct Work {
    threads: Threaded,
    asks: Vec<Asks>,
    /// Deferred work of the system.
    later: VecDeque<Later>,
    /// Whether a thread that waits may go on since it was asked last.
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

    /// How often threads are asked for a request before it is certain that none will ever have one.
    pub(super) fn most_tries(&self) -> usize {
        MOST_ROUNDS * self.asks.len()
    }

    /// Whether the system has so much to do that threads wait for it.
    pub(super) fn is_behind(&self) -> bool {
        self.later.len() > MOST_LATER
    }

    /// Whether threads that wait may go on; false from then on, until something else happens.
    pub(super) fn take_wakes(&mut self) -> bool {
        std::mem::take(&mut self.wakes)
    }

    /// The next request of the system, if it has one.
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

    /// The next request of a thread, whose requests so far have gone.
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
    /// The file system, and the blocks that are not given back to it yet.
    pub(super) fn file_system(&self) -> (&super::files::FileSystem, u32) {
        let Threaded::Files(program) = &self.threads else { panic!("an application over files") };
        (program.file_system(), self.on_their_way())
    }

    fn on_their_way(&self) -> u32 {
        let blocks = |later: &Later| if let Later::Free(_, blocks) = later { *blocks } else { 0 };
        let of_threads = self.asks.iter().flat_map(|asks| &asks.later);
        self.later.iter().chain(of_threads).map(blocks).sum()
    }

    /// The blocks that may be read, after looking whether each belongs to one thing.
    pub(super) fn audit(&self) -> Vec<bool> {
        let on_their_way = self.on_their_way();
        match &self.threads {
            Threaded::Files(program) => program.file_system().audit(on_their_way),
            Threaded::Lsm(store) => store.audit(on_their_way),
            Threaded::Btree(store) => store.audit(on_their_way),
        }
    }

    /// Flushed tables, and how full each level of a merge tree is.
    pub(super) fn levels(&self) -> (usize, Vec<f64>) {
        let Threaded::Lsm(store) = &self.threads else { panic!("an application over a merge tree") };
        store.shape()
    }

    /// Things that the system has to do.
    pub(super) fn later(&self) -> usize {
        self.later.len()
    }
}
