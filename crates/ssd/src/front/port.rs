//! Port of a device with a link: the path of a command from submission to the device, and of its completion
//! back to the host.

use serde::{Deserialize, Serialize};
use wordline_device::link::{Direction, Link};
use wordline_device::{Command, Operation, SECTOR};
use wordline_flash::RequestId;
use wordline_kernel::{Duration, Factor, Id, Instant, state};

use super::config::{Arbitration, FrontFile, Interface};
use super::queues::SubmissionQueues;

/// Tags of native command queuing (Serial ATA specification).
const SATA_TAGS: u32 = 32;

/// Bytes of a discard's range, which the device fetches: 16 in NVM Express (dataset management), and a block
/// of 512 in ATA (DATA SET MANAGEMENT).
const RANGE: [u64; 2] = [16, 512];

/// Progress of a command on the link and in the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stage {
    /// Waiting in the host for an entry of its queue, or in the queue.
    Waiting,
    /// The host rings the doorbell.
    Submitting,
    /// The device fetches and decodes the command.
    Fetching,
    /// Data of the command are transferred.
    Transferring(Direction),
    /// The device executes the command.
    Executing,
    /// The completion is on its way to the host.
    Completing,
}

/// State of a command on the link.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct CommandState {
    stage: Stage,
    /// Submission queue of the command.
    queue: u32,
    /// Bytes still to be transferred.
    left: u64,
    /// Time on the link, and time waiting for it.
    on_link: Duration,
}

/// Submission queues, the link, and the commands on it.
#[derive(Clone, Debug)]
pub struct Port {
    link: Link,
    queues: SubmissionQueues,
    entries: u32,
    is_sata: bool,
    /// Whether a command is in progress that excludes all others.
    is_alone: bool,
    /// Commands by request id.
    journeys: Vec<CommandState>,
}

state!(Port {
    values { journeys, is_alone }
    parts { link, queues }
    fixed { entries, is_sata }
});

/// Link of a device; `None` if its interface has no link.
pub fn link_of(front: &FrontFile) -> Option<Link> {
    match front.interface {
        Interface::Direct => None,
        Interface::Nvme => Some(Link::pcie(&front.nvme.link)),
        Interface::Sata => Some(Link::sata(&front.sata)),
    }
}

impl Port {
    /// Port of a device; `None` if its interface has no link.
    pub fn of(front: &FrontFile) -> Option<Self> {
        let link = link_of(front)?;
        let is_sata = front.interface == Interface::Sata;
        let queues = if is_sata {
            SubmissionQueues::new(1, &Arbitration::RoundRobin { burst: 1 })
        } else {
            SubmissionQueues::new(front.nvme.queues, &front.nvme.arbitration)
        };
        let entries = if is_sata { SATA_TAGS } else { front.nvme.entries - 1 };
        Some(Self { link, queues, entries, is_sata, is_alone: false, journeys: Vec::new() })
    }

    /// Takes over the link of an earlier port, after a power cut.
    pub fn adopt_link(&mut self, link: Link) {
        self.link = link;
    }

    /// The link.
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// Multiplies the link's times by this factor from now on.
    pub fn change_link(&mut self, factor: Factor) {
        self.link.change_times(factor);
    }

    /// Progress of a command.
    #[inline]
    pub fn stage(&self, id: RequestId) -> Stage {
        self.journeys[id.index()].stage
    }

    /// Time of a command on the link, and time waiting for it.
    #[inline]
    pub fn on_link(&self, id: RequestId) -> Duration {
        self.journeys[id.index()].on_link
    }

    /// Accepts a command in the host. Returns whether its queue has a free entry. Otherwise the command waits
    /// in the host.
    pub fn enter(&mut self, id: RequestId, command: &Command) -> bool {
        let queue = u32::from(command.queue) % self.queues.count();
        let journey = CommandState { stage: Stage::Waiting, queue, left: 0, on_link: Duration::ZERO };
        // Requests that were added while the clock was stopped have no state here.
        if id.index() >= self.journeys.len() {
            self.journeys.resize(id.index() + 1, journey);
        }
        self.journeys[id.index()] = journey;
        self.queues.enter(queue, id, self.entries)
    }

    /// Rings the doorbell for a command. Returns the time when the device knows of the command.
    pub fn ring_doorbell(&mut self, id: RequestId, now: Instant) -> Instant {
        let at = self.link.submit(now);
        self.note(id, Stage::Submitting, at - now);
        at
    }

    /// Records that the device knows of a command, which then waits for arbitration.
    pub fn arrive(&mut self, id: RequestId) {
        let journey = &mut self.journeys[id.index()];
        journey.stage = Stage::Waiting;
        self.queues.push(journey.queue, id);
    }

    /// Command that the device fetches next, while it executes `started` others. Calls `command_of` at most
    /// once.
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

    /// Fetches a command. Returns the time when the device has it.
    pub fn fetch(&mut self, id: RequestId, now: Instant) -> Instant {
        let at = self.link.fetch(now);
        self.note(id, Stage::Fetching, at - now);
        at
    }

    /// Whether a fetched command has data for the device. These must be transferred now.
    pub fn has_data(&mut self, id: RequestId, command: &Command) -> bool {
        let bytes = match command.operation {
            Operation::Write | Operation::Compare => command.sectors * SECTOR.0,
            Operation::Discard => RANGE[usize::from(self.is_sata)],
            _ => 0,
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

    /// Transfers the next data of a command. Returns the time when this ends. After the last data to the
    /// host, the completion is included.
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

    /// Records that all data of a command have arrived, so that the device executes it.
    pub fn execute(&mut self, id: RequestId) {
        self.journeys[id.index()].stage = Stage::Executing;
    }

    /// Sends the result of a command that the device has finished. Returns the time when the host has the
    /// completion, or when the first data are transferred.
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

    /// Records that the completion of a command has reached the host. Returns the held command that gets its
    /// queue entry.
    pub fn complete(&mut self, id: RequestId) -> Option<RequestId> {
        self.is_alone = false;
        self.queues.complete(self.journeys[id.index()].queue)
    }

    /// Checks a loaded state. The `used` requests must belong to existing queues, which must count them.
    /// Waiting requests must be `known`.
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

/// Whether an ATA command is not queued. The host waits until the queue is empty before each such command.
fn is_not_queued(operation: Operation) -> bool {
    !matches!(operation, Operation::Read | Operation::Write)
}
