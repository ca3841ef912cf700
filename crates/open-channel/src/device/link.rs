//! Link between host and device: the transfers of a command, and when each ends. Each direction carries one
//! transfer at a time, in order of request.

use wordline_device::link::{Direction, Link, PcieFile};
use wordline_kernel::{Duration, Factor, Instant, state};

/// Link of a device.
#[derive(Clone, Debug)]
pub(super) struct HostLink {
    link: Link,
}

state!(HostLink {
    parts { link }
});

impl HostLink {
    pub(super) fn new(file: &PcieFile) -> Self {
        Self { link: Link::pcie(file) }
    }

    /// Scales all times by `factor` from now on.
    pub(super) fn change_times(&mut self, factor: Factor) {
        self.link.change_times(factor);
    }

    /// Time for which each direction was busy until `now`.
    pub(super) fn busy(&self, now: Instant) -> Vec<Duration> {
        self.link.busy(now).collect()
    }

    /// Sends the submission of a command. Returns when the device has it.
    pub(super) fn submit(&mut self, now: Instant) -> Instant {
        self.link.submit(now)
    }

    /// Fetches a command. Returns when the device has it.
    pub(super) fn fetch(&mut self, now: Instant) -> Instant {
        self.link.fetch(now)
    }

    /// Sends `bytes` to the device. Returns when they have arrived.
    pub(super) fn receive(&mut self, bytes: u64, now: Instant) -> Instant {
        self.transfer(Direction::ToDevice, bytes, now)
    }

    /// Sends a completion with `bytes` of data to the host. Returns when it has arrived.
    #[inline]
    pub(super) fn complete(&mut self, bytes: u64, now: Instant) -> Instant {
        let at = if bytes > 0 { self.transfer(Direction::ToHost, bytes, now) } else { now };
        self.link.complete(at)
    }

    fn transfer(&mut self, way: Direction, mut bytes: u64, now: Instant) -> Instant {
        let mut at = self.link.transfer(way, &mut bytes, true, now);
        while bytes > 0 {
            at = self.link.transfer(way, &mut bytes, false, now);
        }
        at
    }
}
