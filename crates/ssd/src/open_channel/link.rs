//! The link between host and device: what a command puts on it, and when it is through. A direction carries one thing at a time, in the
//! order in which it was asked for.

use wordline_kernel::{Duration, Factor, Instant, state};

use crate::front::config::PcieFile;
use crate::front::link::{Link, Way};

/// The link of a device.
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

    /// From now on everything takes its time with this factor.
    pub(super) fn change_times(&mut self, factor: Factor) {
        self.link.change_times(factor);
    }

    /// For how long each direction was taken until `now`.
    pub(super) fn busy(&self, now: Instant) -> Vec<Duration> {
        self.link.busy(now).collect()
    }

    /// The host tells the device of a command: when it knows.
    pub(super) fn ring(&mut self, now: Instant) -> Instant {
        self.link.submit(now)
    }

    /// The device fetches a command: when it has it.
    pub(super) fn fetch(&mut self, now: Instant) -> Instant {
        self.link.fetch(now)
    }

    /// Data of so many bytes go to the device: when they are there.
    pub(super) fn bring(&mut self, bytes: u64, now: Instant) -> Instant {
        self.transfer(Way::ToDevice, bytes, now)
    }

    /// An answer goes to the host, with data of so many bytes: when the host knows.
    pub(super) fn report(&mut self, bytes: u64, now: Instant) -> Instant {
        let at = if bytes > 0 { self.transfer(Way::ToHost, bytes, now) } else { now };
        self.link.complete(at)
    }

    fn transfer(&mut self, way: Way, mut bytes: u64, now: Instant) -> Instant {
        let mut at = self.link.transfer(way, &mut bytes, true, now);
        while bytes > 0 {
            at = self.link.transfer(way, &mut bytes, false, now);
        }
        at
    }
}
