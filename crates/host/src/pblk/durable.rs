//! Flushes, which make writes outlive a power cut on a device that answers them before that.
//!
//! A *point* counts flushes. What the device has answered by now is safe at the point that [`Durable::point`] gives, once the flush with that
//! number is over. One flush is in flight at a time, and covers all that was answered before it. On other devices what was
//! answered is safe at once, and no flush is sent.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Schedule, state};
use wordline_ssd::PhysicalDevice;
use wordline_ssd::physical_device::Answer;

use super::port::Work;
use super::{Event, Pblk};

/// A flush in flight.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct InFlight {
    /// The entries of the ring before this position were in the device before it.
    covers: u64,
    /// Whether a chunk went offline meanwhile: then some of that may be in the memory of the device for good.
    is_spoilt: bool,
}

/// The flushes of a device.
pub(super) struct Durable {
    is_needed: bool,
    sent: u64,
    over: u64,
    in_flight: Option<InFlight>,
    /// The entries of the ring before this position outlive a power cut.
    covered: u64,
}

state!(Durable {
    values { sent, over, in_flight, covered }
    fixed { is_needed }
});

impl Durable {
    /// Those of a device, which answers writes early or does not.
    pub(super) fn new(is_needed: bool) -> Self {
        Self { is_needed, sent: 0, over: 0, in_flight: None, covered: 0 }
    }

    /// The point from which on all is safe that is answered by now.
    pub(super) fn point(&self) -> u64 {
        if self.is_needed { self.sent + 1 } else { 0 }
    }

    /// Whether a point is reached.
    pub(super) fn is_reached(&self, point: u64) -> bool {
        point <= self.over
    }

    /// The position in the ring before which entries are safe, of those that are `synced`.
    pub(super) fn covered(&self, synced: u64) -> u64 {
        if self.is_needed { self.covered } else { synced }
    }

    /// A chunk went offline, and some of its data may be nowhere else than in the memory of the device.
    pub(super) fn spoil(&mut self) {
        if let Some(flush) = &mut self.in_flight {
            flush.is_spoilt = true;
        }
    }

    /// The power is gone: what is found from now on outlives the next cut as well. `head` is the next position in the ring.
    pub(super) fn forget(&mut self, head: u64) {
        (self.in_flight, self.covered, self.over) = (None, head, self.sent);
    }

    /// Whether it can be the state of flushes of a ring.
    pub(super) fn check(&self, synced: u64) -> Result<(), String> {
        let of_flush = self.in_flight.map_or(0, |flush| flush.covers);
        let is_right = self.over <= self.sent && self.covered.max(of_flush) <= synced;
        if is_right { Ok(()) } else { Err("flushes of what was not written".into()) }
    }
}

impl<D: PhysicalDevice> Pblk<D> {
    /// Sends a flush if somebody waits for one, and it can succeed; whether it did.
    pub(super) fn make_durable(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) -> bool {
        let durable = &self.durable;
        if !durable.is_needed || durable.in_flight.is_some() || self.lines.has_stranded() {
            return false;
        }
        let synced = self.ring.synced();
        let waits = self.front.waits_for_flash(durable.covered, synced)
            || self.writer.wanted_point().is_some_and(|point| !durable.is_reached(point))
            || self.lines.wanted_point().is_some_and(|point| !durable.is_reached(point));
        if !waits {
            return false;
        }
        self.durable.sent += 1;
        self.durable.in_flight = Some(InFlight { covers: synced, is_spoilt: false });
        self.counts.flushes += 1;
        let sent = self.port.blank(Work::Flush);
        self.send(sent, calendar);
        true
    }

    /// A flush is over. If it failed, it is sent again when the lines are collected whose chunks went offline: data that were moved since are
    /// elsewhere, and chunks that went offline before it held none any more.
    pub(super) fn flushed(&mut self, answer: &Answer) {
        let flush = self.durable.in_flight.take().expect("it was in flight");
        if answer.failure.is_some() && flush.is_spoilt {
            return;
        }
        self.durable.over = self.durable.sent;
        self.durable.covered = flush.covers;
    }
}
