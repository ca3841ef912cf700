//! The port of a device with a link: the path of a command from submission to the device, and of its
//! completion back.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Duration, Factor, Id, Instant, state};

use super::config::{Arbitration, FrontFile, Interface};
use super::link::{Direction, Link};
use super::queues::SubmissionQueues;
use crate::command::{Command, Operation, RequestId, SECTOR};

/// Tags of native command queuing (Serial ATA specification).
const SATA_TAGS: u32 = 32;

/// The range of a discard, which the device fetches: 16 bytes in NVM Express (dataset management), a block of
/// 512 in ATA (DATA SET MANAGEMENT).
const RANGE: [u64; 2] = [16, 512];

/// Progress of a command on the link and in the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stage {
    /// Waits: in the host for an entry of its queue, or in the queue.
    Waiting,
    /// The host is ringing the doorbell.
    Submitting,
    /// The device is fetching and decoding it.
    Fetching,
    /// Its data are being transferred.
    Transferring(Direction),
    /// The device executes it.
    Executing,
    /// Its completion is on its way.
    Completing,
}

/// State of a command on the link.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct CommandState {
    stage: Stage,
    /// Its submission queue.
    queue: u32,
    /// Bytes still to be transferred.
    left: u64,
    /// Time on the link, and waiting for it.
    on_link: Duration,
}

/// Submission queues, the link, and the commands on it.
#[derive(Clone, Debug)]
pub struct Port {
    link: Link,
    queues: SubmissionQueues,
    entries: u32,
    is_sata: bool,
    /// Whether a command that must be alone in the device is in it.
    is_alone: bool,
    /// By request id.
    journeys: Vec<CommandState>,
}

state!(Port {
    values { journeys, is_alone }
    parts { link, queues }
    fixed { entries, is_sata }
});

impl Port {
    /// The port of a device, if its interface has a link.
    pub fn of(front: &FrontFile) -> Option<Self> {
        let link = Link::of(front)?;
        let is_sata = front.interface == Interface::Sata;
        let queues = if is_sata {
            SubmissionQueues::new(1, &Arbitration::RoundRobin { burst: 1 })
        } else {
            SubmissionQueues::new(front.nvme.queues, &front.nvme.arbitration)
        };
        let entries = if is_sata { SATA_TAGS } else { front.nvme.entries - 1 };
        Some(Self { link, queues, entries, is_sata, is_alone: false, journeys: Vec::new() })
    }

    /// Takes over the link of another port, whose commands a power cut has stopped.
    pub fn adopt_link(&mut self, link: Link) {
        self.link = link;
    }

    /// The link.
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// Scales the link's times by this factor from now on.
    pub fn change_link(&mut self, factor: Factor) {
        self.link.change_times(factor);
    }

    /// Progress of a command.
    #[inline]
    pub fn stage(&self, id: RequestId) -> Stage {
        self.journeys[id.index()].stage
    }

    /// Time of a command on the link, and waiting for it.
    #[inline]
    pub fn on_link(&self, id: RequestId) -> Duration {
        self.journeys[id.index()].on_link
    }

    /// The host has a command; whether its queue has a free entry. If not, it waits in the host.
    pub fn enter(&mut self, id: RequestId, command: &Command) -> bool {
        let queue = u32::from(command.queue) % self.queues.count();
        let journey = CommandState { stage: Stage::Waiting, queue, left: 0, on_link: Duration::ZERO };
        // Commands submitted while the clock was stopped have no entry.
        if id.index() >= self.journeys.len() {
            self.journeys.resize(id.index() + 1, journey);
        }
        self.journeys[id.index()] = journey;
        self.queues.enter(queue, id, self.entries)
    }

    /// Rings the doorbell for a command; returns when the device knows.
    pub fn ring_doorbell(&mut self, id: RequestId, now: Instant) -> Instant {
        let at = self.link.submit(now);
        self.note(id, Stage::Submitting, at - now);
        at
    }

    /// The device knows of a command: it waits for arbitration.
    pub fn arrive(&mut self, id: RequestId) {
        let journey = &mut self.journeys[id.index()];
        journey.stage = Stage::Waiting;
        self.queues.push(journey.queue, id);
    }

    /// The command that the device fetches next, while it executes `started` others; `command_of` is called
    /// at most once.
    pub fn next(&mut self, started: u32, command_of: impl FnOnce(RequestId) -> Command) -> Option<RequestId> {
        if self.is_sata {
            let head = self.queues.head(0)?;
            let wants_alone = is_not_queued(command_of(head).operation);
            if self.is_alone || wants_alone && started > 0 {
                return None;
            }
            self.is_alone = wants_alone;
        }
        self.queues.pop()
    }

    /// Fetches a command; returns when the device has it.
    pub fn fetch(&mut self, id: RequestId, now: Instant) -> Instant {
        let at = self.link.fetch(now);
        self.note(id, Stage::Fetching, at - now);
        at
    }

    /// Whether a fetched command has data for the device, which are to be transferred now.
    pub fn has_data(&mut self, id: RequestId, command: &Command) -> bool {
        let bytes = match command.operation {
            Operation::Write | Operation::Compare => command.sectors * SECTOR.0,
            Operation::Discard => RANGE[usize::from(self.is_sata)],
            Operation::Read | Operation::Flush | Operation::WriteZeroes => 0,
        };
        let journey = &mut self.journeys[id.index()];
        journey.left = bytes;
        journey.stage = Stage::Executing;
        bytes > 0
    }

    /// Bytes still to be transferred.
    pub fn left(&self, id: RequestId) -> u64 {
        self.journeys[id.index()].left
    }

    /// Transfers the next data of a command; returns when that ends, with the completion after the last data
    /// to the host.
    pub fn send(&mut self, id: RequestId, way: Direction, now: Instant) -> Instant {
        let Self { link, journeys, .. } = self;
        let journey = &mut journeys[id.index()];
        let is_first = journey.stage == Stage::Executing;
        let mut at = link.transfer(way, &mut journey.left, is_first, now);
        let mut stage = Stage::Transferring(way);
        if way == Direction::ToHost && journey.left == 0 {
            at = link.complete(at);
            stage = Stage::Completing;
        }
        self.note(id, stage, at - now);
        at
    }

    /// All data of a command have arrived: the device executes it.
    pub fn execute(&mut self, id: RequestId) {
        self.journeys[id.index()].stage = Stage::Executing;
    }

    /// The device has finished a command; returns when the host knows, or when the first data are
    /// transferred.
    pub fn send_completion(
        &mut self,
        id: RequestId,
        command: &Command,
        failed: bool,
        now: Instant,
    ) -> Instant {
        if command.operation == Operation::Read && command.sectors > 0 && !failed {
            self.journeys[id.index()].left = command.sectors * SECTOR.0;
            return self.send(id, Direction::ToHost, now);
        }
        let at = self.link.complete(now);
        self.note(id, Stage::Completing, at - now);
        at
    }

    /// The completion of a command has reached the host. Returns the held command that gets its entry.
    pub fn complete(&mut self, id: RequestId) -> Option<RequestId> {
        self.is_alone = false;
        self.queues.complete(self.journeys[id.index()].queue)
    }

    /// Checks a loaded state: the `used` requests belong to existing queues, which count them, and waiting
    /// ones are `known`.
    pub(super) fn check_loaded(
        &self,
        used: &mut dyn Iterator<Item = RequestId>,
        known: impl Fn(RequestId) -> bool,
    ) -> Result<(), String> {
        let mut taken = vec![0; self.queues.count() as usize];
        for id in used {
            let journey = self.journeys.get(id.index());
            let count = journey.and_then(|journey| taken.get_mut(journey.queue as usize));
            let Some(count) = count else { return Err(format!("{id:?} is in no queue")) };
            *count += 1;
        }
        self.queues.check_loaded(&taken, known)
    }

    fn note(&mut self, id: RequestId, stage: Stage, time: Duration) {
        let journey = &mut self.journeys[id.index()];
        journey.stage = stage;
        journey.on_link += time;
    }
}

/// ATA commands without a queued form in common use: the host drains the queue before each.
fn is_not_queued(operation: Operation) -> bool {
    !matches!(operation, Operation::Read | Operation::Write)
}
