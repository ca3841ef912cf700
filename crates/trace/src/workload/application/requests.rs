//! The requests of an application's threads, in turn, and those of the system below them.

use std::collections::VecDeque;

use super::asks::{Ask, Asks, Later};
use super::program::{Program, Turn};
use super::{btree, lsm};
use crate::Request;

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

/// An iterator over the requests of an [`Application`](super::Application). Each thread has one request in its turn and none
/// while it waits for others. Deferred work of the system (metadata in place, discards) goes between them, one a turn; where
/// that is not enough, threads wait.
#[derive(Clone, Debug)]
pub struct Requests {
    left: u64,
    threads: Threaded,
    asks: Vec<Asks>,
    turn: usize,
    /// Deferred work of the system, and whether it is next.
    later: VecDeque<Later>,
    is_systems_turn: bool,
}

impl Requests {
    pub(super) fn new(threads: Threaded, requests: u64) -> Self {
        let asks = vec![Asks::default(); threads.thread_count()];
        Self { left: requests, threads, asks, turn: 0, later: VecDeque::new(), is_systems_turn: false }
    }

    /// The next request of the system, if it has one.
    fn of_system(&mut self) -> Option<Ask> {
        while let Some(next) = self.later.pop_front() {
            match next {
                Later::Ask(ask) => return Some(ask),
                Later::Free(block, blocks) => self.threads.give(block, blocks),
            }
        }
        None
    }

    /// The next request of the thread whose turn it is; none if it waits for others.
    fn of_thread(&mut self) -> Option<Ask> {
        let asks = &mut self.asks[self.turn];
        for _ in 0..MOST_STEPS {
            if let Some(ask) = asks.pop() {
                return Some(ask);
            }
            self.later.extend(asks.later.drain(..));
            if self.threads.step(self.turn, asks) == Turn::Waits {
                return None;
            }
        }
        None
    }

    fn ask(&mut self) -> Ask {
        for _ in 0..MOST_ROUNDS * self.asks.len() {
            self.is_systems_turn = !self.is_systems_turn || self.later.len() > MOST_LATER;
            let ask = if self.is_systems_turn { self.of_system() } else { None };
            if let Some(ask) = ask {
                return ask;
            }
            self.is_systems_turn = false;
            let ask = self.of_thread();
            self.turn = (self.turn + 1) % self.asks.len();
            if let Some(ask) = ask {
                return ask;
            }
        }
        panic!("all threads of an application that was checked wait for each other");
    }
}

impl Iterator for Requests {
    type Item = Request;

    #[inline]
    fn next(&mut self) -> Option<Request> {
        self.left = self.left.checked_sub(1)?;
        Some(self.ask().request())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

#[cfg(test)]
impl Requests {
    /// The file system, and the blocks that are not given back to it yet.
    pub fn file_system(&self) -> (&super::files::FileSystem, u32) {
        let Threaded::Files(program) = &self.threads else { panic!("an application over files") };
        (program.file_system(), self.on_their_way())
    }

    fn on_their_way(&self) -> u32 {
        let blocks = |later: &Later| if let Later::Free(_, blocks) = later { *blocks } else { 0 };
        let of_threads = self.asks.iter().flat_map(|asks| &asks.later);
        self.later.iter().chain(of_threads).map(blocks).sum()
    }

    /// The blocks that may be read, after looking whether each belongs to one thing.
    pub fn audit(&self) -> Vec<bool> {
        let on_their_way = self.on_their_way();
        match &self.threads {
            Threaded::Files(program) => program.file_system().audit(on_their_way),
            Threaded::Lsm(store) => store.audit(on_their_way),
            Threaded::Btree(store) => store.audit(on_their_way),
        }
    }

    /// Flushed tables, and how full each level of a merge tree is.
    pub fn levels(&self) -> (usize, Vec<f64>) {
        let Threaded::Lsm(store) = &self.threads else { panic!("an application over a merge tree") };
        store.shape()
    }

    /// Things that the system has to do.
    pub fn later(&self) -> usize {
        self.later.len()
    }
}
