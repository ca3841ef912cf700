//! Requests of an application's threads, which take turns, and of the system below them.

use super::block_requests::BlockRequest;
use super::thread_queues::{NextRequest, ThreadQueues};
use crate::Request;

/// Iterates over the requests of an [`Application`](super::Application). Each thread issues one request per
/// turn, and none while it waits for other threads. Deferred work of the system (metadata in place, discards)
/// is interleaved, one request per turn. If the system still has too much work, threads wait for it.
#[derive(Clone, Debug)]
pub struct Requests {
    left: u64,
    work: ThreadQueues,
    turn: usize,
    /// Whether the next turn is the system's.
    is_systems_turn: bool,
}

impl Requests {
    pub(super) fn new(work: ThreadQueues, requests: u64) -> Self {
        Self { left: requests, work, turn: 0, is_systems_turn: false }
    }

    fn ask(&mut self) -> BlockRequest {
        for _ in 0..self.work.max_attempts() {
            self.is_systems_turn = !self.is_systems_turn || self.work.is_behind();
            let ask = if self.is_systems_turn { self.work.next_system_request() } else { None };
            if let Some(ask) = ask {
                return ask;
            }
            self.is_systems_turn = false;
            let next = self.work.next_thread_request(self.turn);
            self.turn = (self.turn + 1) % self.work.thread_count();
            if let NextRequest::Ready(ask) = next {
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
    pub(super) fn work(&self) -> &ThreadQueues {
        &self.work
    }
}
