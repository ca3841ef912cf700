//! Requests of an application's threads, where each thread waits for its own completion.

use std::collections::VecDeque;

use super::block_requests::BlockRequest;
use super::requests::Requests;
use super::thread_queues::{NextRequest, ThreadQueues};
use crate::Request;

/// The threads of an [`Application`](super::Application). Each has one outstanding request and continues when
/// it completes. The system (metadata in place, discards) is one more thread; it always has a request
/// outstanding while it has work. If the system still has too much work, the other threads wait for it.
#[derive(Clone, Debug)]
pub struct Threads {
    left: u64,
    work: ThreadQueues,
    /// Threads that may issue a request, in order of completion.
    ready: VecDeque<u16>,
    /// Threads that wait for other threads.
    waiting: Vec<u16>,
    /// Threads that issued no request in many steps. They are tried again after the next completion, as other
    /// threads may have changed their state by then.
    idle: Vec<u16>,
    /// Number of threads with an outstanding request.
    outstanding: u32,
    /// Whether the system has an outstanding request.
    is_system_out: bool,
}

impl Threads {
    pub(super) fn new(work: ThreadQueues, requests: u64) -> Self {
        let ready = (0..work.thread_count() as u16).collect();
        let (waiting, idle) = (Vec::new(), Vec::new());
        Self { left: requests, work, ready, waiting, idle, outstanding: 0, is_system_out: false }
    }

    /// Number of threads, without the system.
    pub fn count(&self) -> u32 {
        self.work.thread_count() as u32
    }

    /// Number of zones, from the first on, that have the data at the start; `None` if the application does not
    /// write zones.
    pub fn filled_zones(&self) -> Option<u32> {
        self.work.filled_zones()
    }

    /// Number of the system thread, which follows the other threads.
    fn system(&self) -> u16 {
        self.work.thread_count() as u16
    }

    /// Whether no request is left.
    pub fn is_over(&self) -> bool {
        self.left == 0
    }

    /// Returns the next request and the number of its thread; `None` while all threads wait, and at the end.
    pub fn ask(&mut self) -> Option<(u16, Request)> {
        if self.is_over() {
            return None;
        }
        let (thread, ask) = self.next_ask()?;
        self.left -= 1;
        self.outstanding += 1;
        Some((thread, ask.request()))
    }

    fn next_ask(&mut self) -> Option<(u16, BlockRequest)> {
        for _ in 0..self.work.max_attempts() {
            if !self.is_system_out
                && let Some(ask) = self.work.next_system_request()
            {
                self.is_system_out = true;
                return Some((self.system(), ask));
            }
            if self.work.take_unblocked() {
                self.ready.extend(self.waiting.drain(..));
            }
            if self.work.is_behind() {
                return None;
            }
            let Some(thread) = self.ready.pop_front() else {
                if self.outstanding > 0 {
                    return None;
                }
                let idles = !self.idle.is_empty();
                assert!(idles, "threads of an application that was checked wait for each other");
                self.ready.extend(self.idle.drain(..));
                continue;
            };
            match self.work.next_thread_request(usize::from(thread)) {
                NextRequest::Ready(ask) => return Some((thread, ask)),
                NextRequest::Waiting => self.waiting.push(thread),
                NextRequest::Idle => self.idle.push(thread),
            }
        }
        panic!("no thread of an application that was checked has a request");
    }

    /// Resumes a thread whose request completed.
    pub fn completed(&mut self, thread: u16) {
        self.outstanding -= 1;
        if thread == self.system() {
            self.is_system_out = false;
        } else {
            self.ready.push_back(thread);
        }
        self.ready.extend(self.idle.drain(..));
    }

    /// Returns the remaining requests in an order that does not depend on completions: the threads take
    /// turns, with one request each.
    pub fn in_turn(self) -> Requests {
        Requests::new(self.work, self.left)
    }
}

#[cfg(test)]
impl Threads {
    pub(super) fn work(&self) -> &ThreadQueues {
        &self.work
    }
}
