//! Threads of an application with their pending requests, and the deferred work of the system below them.

use std::collections::VecDeque;

use super::block_requests::{BlockRequest, DeferredWork, RequestQueue};
use super::program::{Program, StepOutcome};
use super::{btree, lsm};

/// Steps without a request after which another thread has its turn. Chosen: more than any loop has.
const MAX_STEPS: usize = 4096;

/// Pending work items of the system at which threads wait. Chosen: the maximum number of blocks that a
/// transaction changes.
const MAX_DEFERRED: usize = 256;

/// Rounds over all threads without a request after which the search ends. Chosen: far more than any
/// application needs to advance.
const MAX_ROUNDS: usize = 1 << 16;

/// Threads and the state they work on.
#[derive(Clone, Debug)]
pub(super) enum ApplicationModel {
    Files(Program),
    Lsm(Box<lsm::Store>),
    Btree(btree::Store),
}

impl ApplicationModel {
    fn thread_count(&self) -> usize {
        match self {
            Self::Files(program) => program.thread_count(),
            Self::Lsm(store) => store.thread_count(),
            Self::Btree(store) => store.thread_count(),
        }
    }

    fn step(&mut self, thread: usize, asks: &mut RequestQueue) -> StepOutcome {
        match self {
            Self::Files(program) => program.step(thread, asks),
            Self::Lsm(store) => store.step(thread, asks),
            Self::Btree(store) => store.step(thread, asks),
        }
    }

    fn release(&mut self, block: u32, blocks: u32) {
        match self {
            Self::Files(program) => program.release(block, blocks),
            Self::Lsm(store) => store.release(block, blocks),
            Self::Btree(store) => store.release(block, blocks),
        }
    }
}

/// Outcome of asking a thread for its next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextRequest {
    /// The request.
    Ready(BlockRequest),
    /// No request before other threads, or the system, have advanced.
    Waiting,
    /// No request in many steps.
    Idle,
}

/// The threads, and their pending work.
#[derive(Clone, Debug)]
pub(super) struct ThreadQueues {
    threads: ApplicationModel,
    asks: Vec<RequestQueue>,
    /// Deferred work of the system.
    later: VecDeque<DeferredWork>,
    /// Whether a waiting thread may have been unblocked since the last query.
    wakes: bool,
}

impl ThreadQueues {
    pub(super) fn new(threads: ApplicationModel) -> Self {
        let asks = vec![RequestQueue::default(); threads.thread_count()];
        Self { threads, asks, later: VecDeque::new(), wakes: false }
    }

    pub(super) fn thread_count(&self) -> usize {
        self.asks.len()
    }

    /// Number of zones that have data at the start; `None` on a conventional device.
    pub(super) fn filled_zones(&self) -> Option<u32> {
        match &self.threads {
            ApplicationModel::Lsm(store) => store.filled_zones(),
            ApplicationModel::Files(_) | ApplicationModel::Btree(_) => None,
        }
    }

    /// Upper bound on attempts to get a request before it is certain that there will be none.
    pub(super) fn max_attempts(&self) -> usize {
        MAX_ROUNDS * self.asks.len()
    }

    /// Whether the system has so much work that threads wait for it.
    pub(super) fn is_behind(&self) -> bool {
        self.later.len() > MAX_DEFERRED
    }

    /// Whether waiting threads may have been unblocked; clears the flag.
    pub(super) fn take_unblocked(&mut self) -> bool {
        std::mem::take(&mut self.wakes)
    }

    /// Returns the next request of the system, if any.
    pub(super) fn next_system_request(&mut self) -> Option<BlockRequest> {
        while let Some(next) = self.later.pop_front() {
            match next {
                DeferredWork::Request(ask) => return Some(ask),
                DeferredWork::Free(block, blocks) => {
                    self.threads.release(block, blocks);
                    self.wakes = true;
                }
            }
        }
        None
    }

    /// Returns the next request of a thread whose previous requests have been issued.
    pub(super) fn next_thread_request(&mut self, thread: usize) -> NextRequest {
        let asks = &mut self.asks[thread];
        for _ in 0..MAX_STEPS {
            if let Some(ask) = asks.pop() {
                return NextRequest::Ready(ask);
            }
            self.later.extend(asks.later.drain(..));
            let turn = self.threads.step(thread, asks);
            self.wakes |= std::mem::take(&mut asks.wakes);
            if turn == StepOutcome::Waiting {
                return NextRequest::Waiting;
            }
        }
        NextRequest::Idle
    }
}

#[cfg(test)]
impl ThreadQueues {
    /// Returns the file system, and the number of blocks not yet returned to it.
    pub(super) fn file_system(&self) -> (&super::files::FileSystem, u32) {
        let ApplicationModel::Files(program) = &self.threads else { panic!("an application over files") };
        (program.file_system(), self.blocks_being_freed())
    }

    fn blocks_being_freed(&self) -> u32 {
        let blocks =
            |later: &DeferredWork| if let DeferredWork::Free(_, blocks) = later { *blocks } else { 0 };
        let of_threads = self.asks.iter().flat_map(|asks| &asks.later);
        self.later.iter().chain(of_threads).map(blocks).sum()
    }

    /// Returns the blocks that may be read, after checking that each block belongs to one owner.
    pub(super) fn audit(&self) -> Vec<bool> {
        let on_their_way = self.blocks_being_freed();
        match &self.threads {
            ApplicationModel::Files(program) => program.file_system().audit(on_their_way),
            ApplicationModel::Lsm(store) => store.audit(on_their_way),
            ApplicationModel::Btree(store) => store.audit(on_their_way),
        }
    }

    /// Returns the store of a merge tree.
    pub(super) fn store(&self) -> &lsm::Store {
        let ApplicationModel::Lsm(store) = &self.threads else { panic!("an application over a merge tree") };
        store
    }

    /// Number of flushed tables of a merge tree, and the fill of each level.
    pub(super) fn levels(&self) -> (usize, Vec<f64>) {
        self.store().level_fill()
    }

    /// Number of pending work items of the system.
    pub(super) fn later(&self) -> usize {
        self.later.len()
    }
}
