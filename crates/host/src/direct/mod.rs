//! A host without an FTL: it passes requests unchanged to a physical device.
//!
//! A write goes to the open chunk of one parallel unit, and the next write to the next parallel unit,
//! whatever the sizes of the writes. So measurements show the latency of the device for each request. The
//! host keeps the L2P map. It relocates nothing: it resets a chunk when no data of the chunk are valid.
//!
//! See `docs/open-channel.md`.

mod attribution;
mod audit;
mod block_device;
mod config;
mod frontiers;
mod in_flight;
mod l2p;
mod layout;
mod metrics;
mod requests;

use serde::{Deserialize, Serialize};
use wordline_device::content::TrackedContents;
use wordline_device::physical_device::{Command, Completion, LogicalBlock};
use wordline_device::{PhysicalDevice, Recovered, SECTOR};
use wordline_kernel::snapshot::State;
use wordline_kernel::{Digest, Instant, Schedule, state};

use attribution::Explainer;
use frontiers::UnitFrontiers;
use in_flight::{InFlightCommand, Purpose, Requests};
use l2p::{L2pMap, Ppa};

use crate::recorder::Recorder;
use crate::slab::Slab;

pub use config::{DirectConfig, DirectFile};
pub use layout::{Layout, Spread};
pub use metrics::{Counts, Mark, all as metrics};

/// Events of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event<E> {
    /// An event of its device.
    Device(E),
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

/// A host without an FTL over a physical device.
pub struct Direct<D> {
    layout: Layout,
    sectors_of_a_page: u64,
    is_volatile: bool,
    device: D,
    sent: Slab<InFlightCommand>,
    places: L2pMap,
    heads: UnitFrontiers,
    requests: Requests,
    /// Flushes sent so far.
    flushes: u64,
    power: Power,
    recovery: Option<Recovered>,
    counts: Counts,
    digest: Digest,
    /// The logical blocks of a command. Empty between events, kept for its capacity.
    blocks: Vec<LogicalBlock>,
    /// Completions of the device. Empty between events, kept for its capacity.
    completed: Vec<Completion>,
    followed: Option<Box<TrackedContents>>,
    /// `None` unless latencies are explained.
    explainer: Option<Box<Explainer>>,
    recorder: Recorder,
}

state!(Direct<D: State> {
    values { sent, heads, requests, flushes, power, recovery, counts, digest }
    parts { device, places }
    fixed { layout, sectors_of_a_page, is_volatile, blocks, completed, followed, explainer, recorder }
});

impl<D: PhysicalDevice> Direct<D> {
    /// A host on a device without written data.
    pub fn new(device: D, layout: Layout) -> Self {
        let geometry = device.geometry();
        Self {
            layout,
            sectors_of_a_page: geometry.block_size.0 / SECTOR.0,
            is_volatile: geometry.capabilities.volatile_writes,
            places: L2pMap::new(&layout),
            heads: UnitFrontiers::new(&layout),
            device,
            sent: Slab::default(),
            requests: Requests::default(),
            flushes: 0,
            power: Power::On,
            recovery: None,
            counts: Counts::default(),
            digest: Digest::default(),
            blocks: Vec::new(),
            completed: Vec::new(),
            followed: None,
            explainer: None,
            recorder: Recorder::default(),
        }
    }

    /// The device below.
    pub fn device(&self) -> &D {
        &self.device
    }

    /// The counters since the host was made.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The logical block at a location.
    fn block(&self, place: Ppa) -> LogicalBlock {
        let size = self.layout.blocks_per_chunk;
        self.layout.chunk(place.0 / size).at(place.0 % size)
    }

    /// Submits a command; returns false if the device rejects it.
    fn send(&mut self, sent: InFlightCommand, calendar: &mut impl Schedule<Event<D::Event>>) -> bool {
        let mut blocks = std::mem::take(&mut self.blocks);
        blocks.extend(sent.places.iter().map(|place| self.block(*place)));
        let tag = self.sent.next();
        let command = match sent.work {
            Purpose::Write(_) => Command::write(tag, &blocks, &sent.stamps),
            Purpose::Read(_) => Command::read(tag, &blocks),
            Purpose::Close(_) => Command::close(tag, &blocks),
            Purpose::Reset(_) => Command::reset(tag, &blocks),
            Purpose::Flush(_) => Command::flush(tag),
        };
        let refused = self.device.submit(&command, &mut calendar.within(Event::Device)).is_err();
        blocks.clear();
        self.blocks = blocks;
        if refused {
            self.counts.rejected += 1;
            return false;
        }
        self.sent.add(sent);
        true
    }

    /// Processes the completions of the device and starts the work that has become possible.
    fn make_progress(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) {
        loop {
            // The host discovers a chunk that closed early or went offline when it writes to the chunk.
            self.device.clear_notifications();
            let mut completions = std::mem::take(&mut self.completed);
            self.device.take_completions(&mut completions);
            let mut any = !completions.is_empty();
            for completion in completions.drain(..) {
                let sent = self.sent.remove(completion.tag);
                if let Some(explainer) = &mut self.explainer {
                    let context = (&mut self.device, &self.requests);
                    explainer.note_device_completion(completion.tag, sent.work, context, calendar.now());
                }
                self.handle_completion(&completion, sent, calendar);
            }
            self.completed = completions;
            for unit in self.heads.waiting_units() {
                any |= self.continue_writes(unit, calendar);
            }
            if !any && self.device.completions().is_empty() {
                return;
            }
        }
    }

    fn handle_completion(
        &mut self,
        completion: &Completion,
        sent: InFlightCommand,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        match sent.work {
            Purpose::Write(number) => self.written(number, completion, &sent, calendar),
            Purpose::Read(number) => self.found(number, completion, &sent, calendar),
            Purpose::Close(unit) => self.reset(unit, sent.places[0], calendar),
            Purpose::Reset(unit) => self.heads.complete_reset(unit, completion.failure.is_none()),
            Purpose::Flush(number) => {
                let has_failed = completion.failure.is_some();
                if !has_failed {
                    self.places.complete_flush(sent.flush);
                }
                self.heads.complete_flush(has_failed);
                if let Some(number) = number {
                    self.complete_part(number, has_failed, calendar);
                }
            }
        }
    }
}
