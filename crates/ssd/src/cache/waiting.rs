//! Requests that wait for the write buffer: stalled writes, flush commands, and those with a part that has ended.

use std::collections::VecDeque;

use wordline_flash::RequestId;
use wordline_kernel::ensure::ensure;

use super::buffer::{Buffer, EntryId};

/// Requests that wait for space in the buffer or for its pages.
#[derive(Default)]
pub(crate) struct WaitingRequests {
    /// Stalled writes, which wait for buffer space.
    pub(super) stalled: VecDeque<RequestId>,
    /// Flush commands, each with the epoch whose entries it waits for.
    pub(super) flushes: VecDeque<(u64, RequestId)>,
    /// Requests with a part that has ended. The front end completes these parts before the current event
    /// ends.
    pub(super) wake: Vec<RequestId>,
    /// Flush epoch up to which entries are destaged at once.
    pub(super) drain: Option<u64>,
}

impl WaitingRequests {
    /// Drops everything after a power cut.
    pub(super) fn forget(&mut self) {
        self.forget_waiters();
        self.wake.clear();
        self.drain = None;
    }

    /// Forgets the requests that wait for buffer entries.
    pub(super) fn forget_waiters(&mut self) {
        self.stalled.clear();
        self.flushes.clear();
    }

    /// Whether a request has been woken.
    #[inline]
    pub(crate) fn has_woken(&self) -> bool {
        !self.wake.is_empty()
    }

    /// Whether a request may have been woken.
    #[inline]
    pub(crate) fn may_have_woken(&self) -> bool {
        !self.wake.is_empty() || !self.flushes.is_empty()
    }

    /// Takes the next woken request.
    pub(super) fn next_woken(&mut self, buffer: &Buffer) -> Option<RequestId> {
        if let Some(id) = self.wake.pop() {
            return Some(id);
        }
        let (epoch, id) = *self.flushes.front()?;
        buffer.is_flushed(epoch).then(|| {
            self.flushes.pop_front();
            id
        })
    }

    /// Whether writes are stalled for space in the buffer.
    #[inline]
    pub(crate) fn has_stalled(&self) -> bool {
        !self.stalled.is_empty()
    }

    /// Number of stalled writes.
    #[inline]
    pub(crate) fn stalled(&self) -> usize {
        self.stalled.len()
    }

    /// Whether a write is stalled.
    pub(crate) fn is_stalled(&self, id: RequestId) -> bool {
        self.stalled.contains(&id)
    }

    /// The write that has been stalled for the longest time.
    #[inline]
    pub(crate) fn first_stalled(&self) -> Option<RequestId> {
        self.stalled.front().copied()
    }

    /// Whether a flush requires that entries of an epoch are destaged at once.
    #[inline]
    pub(super) fn is_drained(&self, of: impl FnOnce() -> u64) -> bool {
        self.drain.is_some_and(|epoch| of() <= epoch)
    }

    /// Whether a host command waits until an entry is in flash.
    pub(super) fn has_waiters(&self, id: EntryId, buffer: &Buffer) -> bool {
        !self.stalled.is_empty()
            || buffer.has_waiters(id)
            || self.flushes.back().is_some_and(|(epoch, _)| buffer.epoch(id) <= *epoch)
    }

    /// Checks that the requests of a loaded state are `known`.
    pub(super) fn check_loaded(&self, known: impl Fn(RequestId) -> bool) -> Result<(), String> {
        let flushes = self.flushes.iter().map(|(_, id)| id);
        let mut waiting = self.stalled.iter().chain(flushes).chain(&self.wake);
        ensure(waiting.all(|id| known(*id)), || "requests that do not exist wait for the buffer".into())
    }
}
