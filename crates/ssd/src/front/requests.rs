//! Requests: the outstanding commands of a device.

use serde::{Deserialize, Serialize};
use wordline_device::Command;
use wordline_flash::{FlashTime, RequestId};
use wordline_kernel::ensure::ensure;
use wordline_kernel::{Duration, Id, Instant};

/// An outstanding command.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Request {
    /// The command. Its sectors are counted within the device, not within the namespace.
    pub command: Command,
    /// Time of submission.
    pub submitted: Instant,
    /// Time from submission until the device started the command.
    pub queued: Duration,
    /// Number of outstanding parts: flash reads, pages to be programmed, and admission to the buffer.
    pub parts: u32,
    /// First page that a stalled write has not put into the buffer yet.
    pub next_page: u32,
    /// Latency breakdown of the part that ended last.
    pub spent: FlashTime,
    /// Whether the request will complete as failed.
    pub failed: bool,
}

/// Requests by id.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Requests {
    all: Vec<Request>,
    free: Vec<RequestId>,
}

impl Requests {
    /// Outstanding commands.
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
        // Fields are set in place, because a request has more than two cache lines and each command comes
        // here.
        let request = &mut self.all[id.index()];
        request.command = command;
        request.submitted = now;
        request.parts = 0;
        request.spent = FlashTime::default();
        request.failed = false;
        id
    }

    /// A request, mutable.
    #[inline]
    pub fn get(&mut self, id: RequestId) -> &mut Request {
        &mut self.all[id.index()]
    }

    /// A request.
    pub fn look(&self, id: RequestId) -> &Request {
        &self.all[id.index()]
    }

    /// Removes a completed request and frees its id.
    #[inline]
    pub fn remove(&mut self, id: RequestId) {
        self.free.push(id);
    }

    /// Flags of the ids in use.
    ///
    /// # Errors
    /// Loaded ids that are free twice, or do not exist.
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
