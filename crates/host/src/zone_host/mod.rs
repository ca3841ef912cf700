//! A zoned namespace that the host drives itself, without an FTL: reads, writes at write pointers, zone
//! appends, and zone management. The commands come from a trace, a job file, a workload or a session.
//!
//! The host does what a block layer does. It splits reads and writes at zone boundaries, and it has one write
//! of a zone in flight at a time, as Linux does with zone write plugging. A command that breaks a rule of
//! zones fails, and a counter names its status.
//!
//! See `docs/zoned.md`.

mod audit;
mod block_device;
mod config;
mod metrics;
mod plugs;
mod requests;

use serde::{Deserialize, Serialize};
use wordline_device::content::TrackedContents;
use wordline_device::{PhysicalDevice, Recovered, SECTOR};
use wordline_kernel::snapshot::State;
use wordline_kernel::{Digest, Duration, Instant, state};
use wordline_open_channel::{Zoned, zoned};

use plugs::Plugs;
use requests::Requests;

use crate::recorder::Recorder;

pub use config::{ZoneHostConfig, ZoneHostFile};
pub use metrics::{Counts, Mark, all as metrics};

/// Events of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event<E> {
    /// An event of the zoned device.
    Device(zoned::Event<E>),
    /// The host has prepared the request with this number, and submits it.
    Submission(u32),
    /// The request with this number completes.
    Completion(u32),
}

/// Whether the device has power.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Power {
    On,
    Off,
    Back(Instant),
}

/// A zoned namespace with the block layer of its host.
pub struct ZoneHost<D> {
    zoned: Zoned<D>,
    sectors_of_a_block: u64,
    command_time: Duration,
    requests: Requests,
    /// `None` if writes of a zone are not held back.
    plugs: Option<Plugs>,
    /// Resets of each zone so far; the version of its data.
    generations: Vec<u32>,
    power: Power,
    recovery: Option<Recovered>,
    counts: Counts,
    digest: Digest,
    followed: Option<Box<TrackedContents>>,
    recorder: Recorder,
}

state!(ZoneHost<D: State> {
    values { requests, plugs, generations, power, recovery, counts, digest }
    parts { zoned }
    fixed { sectors_of_a_block, command_time, followed, recorder }
});

impl<D: PhysicalDevice> ZoneHost<D> {
    /// A namespace with empty zones.
    pub fn new(zoned: Zoned<D>, command_time: Duration, write_plugging: bool) -> Self {
        let zones = zoned.config().layout.zones as usize;
        Self {
            sectors_of_a_block: zoned.geometry().block_size.0 / SECTOR.0,
            zoned,
            command_time,
            requests: Requests::default(),
            plugs: write_plugging.then(Plugs::default),
            generations: vec![0; zones],
            power: Power::On,
            recovery: None,
            counts: Counts::default(),
            digest: Digest::default(),
            followed: None,
            recorder: Recorder::default(),
        }
    }

    /// The zoned device.
    pub fn zoned(&self) -> &Zoned<D> {
        &self.zoned
    }

    /// The counters since the host was made.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Completes a recovery that began at `since`, once the device has recovered.
    fn advance_recovery(&mut self, since: Instant, now: Instant) {
        if !self.zoned.is_ready() {
            return;
        }
        self.zoned.clear_notifications();
        self.zoned.clear_zone_completions();
        let of_device = self.zoned.recovery().unwrap_or_default();
        self.recovery = Some(Recovered { time: now - since, ..of_device });
        self.power = Power::On;
    }
}
