//! Destaging: pages that the destage policy lets leave the buffer as soon as they are written, and a write-out of everything
//! from time to time. The pages then in the buffer leave it a program unit at a time, spread over the interval, so that the
//! host does not meet all of them at once.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Duration, Instant, state};

use crate::base::Base;
use crate::cache::Cache;
use crate::cache::buffer::Buffer;
use crate::command::SECTOR;
use crate::config::{BufferMode, Config};
use crate::map::LogicalPage;
use crate::policy::destage::Destage;

/// Steps of a round at the most. Chosen: in a thousandth of the interval the host hardly notices what a step writes, and a
/// step is an event.
const MOST_STEPS: u64 = 1_000;

/// The pages to write out in the present interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Round {
    pub begun: Instant,
    /// Pages of this flush epoch and of older ones belong to it.
    pub epoch: u64,
    /// Pages that leave the buffer at each step, and the time between two of them.
    pub pages: u32,
    pub every: Duration,
}

impl Round {
    /// A round that writes out the present pages of the buffer over the next interval; none if there are none.
    pub(super) fn begin(buffer: &mut Buffer, now: Instant, base: &Base) -> Option<Self> {
        let epoch = buffer.end_epoch()?;
        let rows = base.config.pools.all_rows();
        let unit = rows.map(|row| base.config.pools.per_program(row)).max().unwrap_or(1);
        let dirty = buffer.dirty();
        let steps = u64::from(dirty.div_ceil(unit)).clamp(1, MOST_STEPS);
        let every = Duration::from_ps(base.config.file.buffer.flush_interval.ps() / steps);
        Some(Self { begun: now, epoch, pages: dirty.div_ceil(steps as u32), every })
    }
}

/// Pages leave the buffer as soon as they are written.
pub(crate) struct Destaging {
    policy: Box<dyn Destage>,
    /// Pages of the device.
    pages: u32,
    /// Pages, or sectors where these are counted, that may be on their way to flash before writes wait.
    most: u32,
}

state!(Destaging { parts { policy } fixed { pages, most } });

impl Destaging {
    /// The destaging that `policy` wants; none if no page ever leaves so, or all do that by the mode of the buffer.
    pub fn of(config: &Config, mut policy: Box<dyn Destage>) -> Option<Box<Self>> {
        let in_flight = policy.in_flight().filter(|_| config.file.buffer.mode == BufferMode::WriteBack)?;
        let counted = if config.file.buffer.room().is_some() { SECTOR } else { config.unit };
        policy.prepare(config.logical_pages);
        let most = in_flight.0.div_ceil(counted.0) as u32;
        Some(Box::new(Self { policy, pages: config.logical_pages, most }))
    }

    /// The host wrote a page: whether it leaves now.
    pub fn written(&mut self, page: LogicalPage, now: Instant) -> bool {
        let leaves = self.policy.leaves(page, now);
        self.policy.written(page, now);
        leaves
    }

    /// Forgets everything, as when the power is cut.
    pub fn forget(&mut self) {
        self.policy.prepare(self.pages);
    }
}

impl Cache {
    /// Whether a write of `page` waits because it would leave at once, and as much is on its way as may be.
    #[inline(never)]
    pub(crate) fn waits_to_leave(&self, page: LogicalPage, now: Instant) -> bool {
        let at_once = self.destage.as_ref().filter(|at_once| self.buffer.on_the_way() >= at_once.most);
        at_once.is_some_and(|at_once| at_once.policy.leaves(page, now))
    }

    /// Whether some pages leave the buffer as soon as they are written.
    #[inline]
    pub(crate) fn destages_at_once(&self) -> bool {
        self.destage.is_some()
    }
}
