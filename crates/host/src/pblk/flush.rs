//! Flushes, which make completed writes non-volatile on a device with a volatile write cache.
//!
//! A *point* is the number of a flush. [`FlushTracker::point`] gives the point for the writes that the device
//! has completed by now: they are non-volatile once the flush with that number has completed. One flush is in
//! flight at a time, and covers every write that completed before it was sent. On a device without a volatile
//! cache completed writes are non-volatile at once, and no flush is sent.

use serde::{Deserialize, Serialize};
use wordline_device::physical_device::Completion;
use wordline_kernel::state;

/// A flush in flight.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct InFlight {
    /// Position in the ring: entries before it had been written to the device when the flush was submitted.
    covers: u64,
    /// Whether a chunk went offline after the submission. Some of the data may then stay in the volatile
    /// cache of the device.
    is_spoilt: bool,
}

/// The flushes of a device, and what they cover.
pub(super) struct FlushTracker {
    is_needed: bool,
    sent: u64,
    over: u64,
    in_flight: Option<InFlight>,
    /// Ring entries before this position are non-volatile.
    covered: u64,
}

state!(FlushTracker {
    values { sent, over, in_flight, covered }
    fixed { is_needed }
});

impl FlushTracker {
    /// A tracker for a device with a volatile write cache (`is_needed`), or for one without.
    pub(super) fn new(is_needed: bool) -> Self {
        Self { is_needed, sent: 0, over: 0, in_flight: None, covered: 0 }
    }

    /// The point at which all writes completed by now are non-volatile.
    pub(super) fn point(&self) -> u64 {
        if self.is_needed { self.sent + 1 } else { 0 }
    }

    /// Whether a point has been reached.
    pub(super) fn is_reached(&self, point: u64) -> bool {
        point <= self.over
    }

    /// The position in the ring before which entries are non-volatile. `synced`: the position before which
    /// they are written to the device.
    pub(super) fn covered(&self, synced: u64) -> u64 {
        if self.is_needed { self.covered } else { synced }
    }

    /// Notes that a chunk went offline. Some of its data may exist only in the volatile cache of the device.
    pub(super) fn mark_spoilt(&mut self) {
        if let Some(flush) = &mut self.in_flight {
            flush.is_spoilt = true;
        }
    }

    /// Resets after a power cut. Data found by the recovery are non-volatile. `head`: the next position in
    /// the ring.
    pub(super) fn forget(&mut self, head: u64) {
        (self.in_flight, self.covered, self.over) = (None, head, self.sent);
    }

    /// Checks a restored state against the ring.
    pub(super) fn check(&self, synced: u64) -> Result<(), String> {
        let of_flush = self.in_flight.map_or(0, |flush| flush.covers);
        let is_right = self.over <= self.sent && self.covered.max(of_flush) <= synced;
        if is_right { Ok(()) } else { Err("flushes that cover entries which were not written".into()) }
    }

    /// Whether a flush can be sent: the device needs flushes, and none is in flight.
    pub(super) fn can_begin(&self) -> bool {
        self.is_needed && self.in_flight.is_none()
    }

    /// Whether a point has been given that is not reached.
    pub(super) fn waits_for(&self, point: Option<u64>) -> bool {
        point.is_some_and(|point| !self.is_reached(point))
    }

    /// Notes that a flush is sent. `synced`: the position in the ring before which entries are written to the
    /// device.
    pub(super) fn begin(&mut self, synced: u64) {
        self.sent += 1;
        self.in_flight = Some(InFlight { covers: synced, is_spoilt: false });
    }

    /// Completes a flush. A flush may fail because a chunk went offline.
    ///
    /// * If the chunk went offline after the submission of the flush, the flush covers nothing. It is
    ///   repeated once the lines of such chunks are collected: their data have been relocated by then.
    /// * If the chunk went offline before the submission, the flush counts as completed. It was sent only
    ///   after the data of the chunk had been relocated.
    pub(super) fn complete(&mut self, completion: &Completion) {
        let flush = self.in_flight.take().expect("it was in flight");
        if completion.failure.is_some() && flush.is_spoilt {
            return;
        }
        self.over = self.sent;
        self.covered = flush.covers;
    }
}
