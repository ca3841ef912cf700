//! The commands that a device has taken in and not answered.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Duration, Instant};

use crate::command::Command;
use crate::device::Spent;

/// A command on its way.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Request {
    /// The command, its sectors counted from the first of the device.
    pub command: Command,
    /// When the host submitted it.
    pub submitted: Instant,
    /// How long it waited until the device took it up.
    pub queued: Duration,
    /// Parts that are not done: flash reads, pages to be programmed, and the admission itself.
    pub parts: u32,
    /// The first page that a stalled write has not put into the buffer.
    pub next_page: u32,
    /// The time of the part that was done last.
    pub spent: Spent,
    /// Whether it is to be answered as failed.
    pub failed: bool,
}

/// Requests by slot; slots are used again.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Requests {
    all: Vec<Request>,
    free: Vec<u32>,
}

impl Requests {
    /// Commands that are not answered.
    pub fn outstanding(&self) -> usize {
        self.all.len() - self.free.len()
    }

    /// Adds a command; its slot.
    #[inline]
    pub fn add(&mut self, command: Command, now: Instant) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.all.push(Request::default());
            self.all.len() as u32 - 1
        });
        // Field by field into its place: a request is two cache lines and more, and this is done for every command.
        let request = &mut self.all[slot as usize];
        request.command = command;
        request.submitted = now;
        request.parts = 0;
        request.spent = Spent::default();
        request.failed = false;
        slot
    }

    /// The request in a slot.
    #[inline]
    pub fn get(&mut self, slot: u32) -> &mut Request {
        &mut self.all[slot as usize]
    }

    /// The request in a slot, to be looked at.
    pub fn look(&self, slot: u32) -> &Request {
        &self.all[slot as usize]
    }

    /// The slot is free.
    #[inline]
    pub fn remove(&mut self, slot: u32) {
        self.free.push(slot);
    }

    /// The slots in use.
    pub fn slots(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.all.len() as u32).filter(|slot| !self.free.contains(slot))
    }
}
