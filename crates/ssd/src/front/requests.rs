//! The commands that a device has taken in and not answered.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Duration, Id, Instant};

use crate::command::{Command, RequestId};
use crate::ensure::ensure;
use crate::times::Spent;

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

/// The requests by their ids.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Requests {
    all: Vec<Request>,
    free: Vec<RequestId>,
}

impl Requests {
    /// Commands that are not answered.
    pub fn outstanding(&self) -> usize {
        self.all.len() - self.free.len()
    }

    /// Adds a command.
    #[inline]
    pub fn add(&mut self, command: Command, now: Instant) -> RequestId {
        let id = self.free.pop().unwrap_or_else(|| {
            self.all.push(Request::default());
            RequestId::from_index(self.all.len() - 1)
        });
        // Field by field into its place: a request is two cache lines and more, and this is done for every command.
        let request = &mut self.all[id.index()];
        request.command = command;
        request.submitted = now;
        request.parts = 0;
        request.spent = Spent::default();
        request.failed = false;
        id
    }

    /// A request.
    #[inline]
    pub fn get(&mut self, id: RequestId) -> &mut Request {
        &mut self.all[id.index()]
    }

    /// A request, to be looked at.
    pub fn look(&self, id: RequestId) -> &Request {
        &self.all[id.index()]
    }

    /// The request is answered: its id is free.
    #[inline]
    pub fn remove(&mut self, id: RequestId) {
        self.free.push(id);
    }

    /// Which ids are in use.
    ///
    /// # Errors
    /// Ids that were loaded are free twice, or are none.
    pub fn in_use(&self) -> Result<Vec<bool>, String> {
        let mut in_use = vec![true; self.all.len()];
        let mut take = |id: &RequestId| in_use.get_mut(id.index()).is_some_and(std::mem::take);
        ensure(self.free.iter().all(&mut take), || "requests are free twice".into())?;
        Ok(in_use)
    }

    /// The ids in use.
    pub fn ids(&self) -> impl Iterator<Item = RequestId> + '_ {
        (0..self.all.len()).map(RequestId::from_index).filter(|id| !self.free.contains(id))
    }
}
