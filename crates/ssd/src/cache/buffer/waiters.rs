//! Requests that wait for entries. They form lists, and each entry has the head of its list.

use serde::{Deserialize, Serialize};
use wordline_flash::RequestId;
use wordline_kernel::ensure;

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Waiter {
    request: RequestId,
    version: u32,
    next: u32,
}

/// Head of an empty list.
pub const NOBODY: u32 = u32::MAX;

/// Requests that wait for versions of entries. The list of an entry begins at its head, which is [`NOBODY`]
/// at first.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Waiters {
    pool: Vec<Waiter>,
    free: Vec<u32>,
}

impl Waiters {
    /// No waiters, with memory for `many`.
    pub fn with_capacity(many: usize) -> Self {
        Self { pool: Vec::with_capacity(many), free: Vec::with_capacity(many) }
    }

    /// Makes `request` wait for `version`.
    pub fn add(&mut self, head: &mut u32, request: RequestId, version: u32) {
        let waiter = Waiter { request, version, next: *head };
        *head = match self.free.pop() {
            Some(free) => {
                self.pool[free as usize] = waiter;
                free
            }
            None => {
                self.pool.push(waiter);
                self.pool.len() as u32 - 1
            }
        };
    }

    /// Calls `f` for each request that waits for version `version` or an older one.
    pub fn each(&self, head: u32, version: u32, mut f: impl FnMut(RequestId)) {
        let mut at = head;
        while at != NOBODY {
            let waiter = self.pool[at as usize];
            if waiter.version <= version {
                f(waiter.request);
            }
            at = waiter.next;
        }
    }

    /// Moves the requests that waited for version `version` or an older one to `wake`.
    pub fn wake(&mut self, head: &mut u32, version: u32, wake: &mut Vec<RequestId>) {
        let mut at = std::mem::replace(head, NOBODY);
        while at != NOBODY {
            let waiter = self.pool[at as usize];
            if waiter.version <= version {
                wake.push(waiter.request);
                self.free.push(at);
            } else {
                self.pool[at as usize].next = *head;
                *head = at;
            }
            at = waiter.next;
        }
    }

    /// Checks a loaded state: there must be a list for each of these heads, without duplicates, and all
    /// requests must be `known`.
    pub fn match_heads(&self, heads: impl Iterator<Item = u32>, known: impl Fn(RequestId) -> bool) -> bool {
        let mut seen = vec![false; self.pool.len()];
        let mut is_first = |at: u32| ensure::is_first(&mut seen, at as usize);
        if !self.free.iter().all(|free| is_first(*free)) {
            return false;
        }
        for mut at in heads {
            while at != NOBODY {
                if !is_first(at) || !known(self.pool[at as usize].request) {
                    return false;
                }
                at = self.pool[at as usize].next;
            }
        }
        true
    }

    /// Removes all waiters.
    pub fn clear(&mut self) {
        self.pool.clear();
        self.free.clear();
    }
}
