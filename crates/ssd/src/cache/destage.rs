//! Destaging of pages as soon as they are written, according to the destage policy; and the periodic flush. A
//! flush round destages the pages that are in the buffer when it begins. It destages one program unit at a
//! time, spread over the interval, so that the host is not delayed by all of them at once.

use serde::{Deserialize, Serialize};
use wordline_device::SECTOR;
use wordline_ftl::map::LogicalPage;
use wordline_kernel::{Duration, Instant, state};

use crate::cache::buffer::Buffer;
use crate::config::{BufferMode, Config};
use crate::policy::destage::Destage;

/// Most steps of a round. Chosen: the writes of a thousandth of the interval hardly delay the host, and each
/// step costs an event.
const MOST_STEPS: u64 = 1_000;

/// A flush round: the pages to destage during an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Round {
    pub begun: Instant,
    /// Last flush epoch whose pages the round destages.
    pub epoch: u64,
    /// Number of pages to destage in each step. `every` is the time between two steps.
    pub pages: u32,
    pub every: Duration,
}

impl Round {
    /// Begins a round that destages the current pages of the buffer over the next interval; `None` if it is
    /// empty.
    pub(super) fn begin(buffer: &mut Buffer, now: Instant, config: &Config) -> Option<Self> {
        let epoch = buffer.end_epoch()?;
        let rows = config.ftl.pools.all_groups();
        let unit = rows.map(|row| config.ftl.pools.per_program(row)).max().unwrap_or(1);
        let dirty = buffer.dirty();
        let steps = u64::from(dirty.div_ceil(unit)).clamp(1, MOST_STEPS);
        let every = Duration::from_ps(config.file.buffer.flush_interval.ps() / steps);
        Some(Self { begun: now, epoch, pages: dirty.div_ceil(steps as u32), every })
    }
}

/// Destaging of pages as soon as they are written.
pub(crate) struct Destaging {
    policy: Box<dyn Destage>,
    /// Number of logical pages of the device.
    pages: u32,
    /// Most pages, or sectors if sectors are counted, that may be in transit to flash before writes wait.
    most: u32,
}

state!(Destaging { parts { policy } fixed { pages, most } });

impl Destaging {
    /// Destaging according to `policy`. `None` if the policy never destages a page at once, or the buffer
    /// mode destages all pages.
    pub fn of(config: &Config, mut policy: Box<dyn Destage>) -> Option<Box<Self>> {
        let in_flight = policy.in_flight().filter(|_| config.file.buffer.mode == BufferMode::WriteBack)?;
        let counted = if config.file.buffer.room().is_some() { SECTOR } else { config.ftl.unit };
        policy.prepare(config.ftl.logical_pages);
        let most = in_flight.0.div_ceil(counted.0) as u32;
        Some(Box::new(Self { policy, pages: config.ftl.logical_pages, most }))
    }

    /// Records that the host wrote a page. Returns whether the page is destaged now.
    pub fn written(&mut self, page: LogicalPage, now: Instant) -> bool {
        let leaves = self.policy.leaves(page, now);
        self.policy.written(page, now);
        leaves
    }

    /// Whether a write of `page` must wait, because it would be destaged at once and the limit of pages in
    /// transit is reached: `in_transit` are.
    pub fn must_wait(&self, page: LogicalPage, in_transit: u32, now: Instant) -> bool {
        in_transit >= self.most && self.policy.leaves(page, now)
    }

    /// Forgets everything after a power cut.
    pub fn forget(&mut self) {
        self.policy.prepare(self.pages);
    }
}
