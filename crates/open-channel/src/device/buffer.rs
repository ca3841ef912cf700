//! Write buffer: a queue of units for each parallel unit, programmed in order of arrival.
//!
//! A *unit* is the data of one program. First the unit gets space in the buffer. Then its data arrive, it is
//! programmed, and its space is freed. Each queue has at most one program at its die. Units of a chunk stay
//! in order. Units of other chunks overtake a unit whose data have not arrived.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_device::epochs::Epochs;
use wordline_device::physical_device::Geometry;
use wordline_kernel::ensure::ensure;
use wordline_kernel::{Bytes, Complaints};
use wordline_nand::DataTag;

use super::chunks::ChunkId;

/// Completion of writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CompletionMode {
    /// A write completes when it is in flash (synchronous).
    #[default]
    WriteThrough,
    /// A write completes when it is in the buffer (asynchronous).
    WriteBack,
}

/// Configuration of the write buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "UnitBufferFile")]
pub struct BufferFile {
    /// Size for each parallel unit.
    pub size: Bytes,
    /// Completion of writes.
    #[serde(default)]
    pub completion: CompletionMode,
    /// Allows write-back without a failure manager. A failed program then loses completed writes.
    #[serde(default)]
    pub unreliable: bool,
    /// The contents survive a power loss. Otherwise completed writes that were not flushed are lost.
    #[serde(default)]
    pub protected: bool,
}

/// Maximum buffer size of a parallel unit. Chosen: 32 times the largest of FT-PASSD, table 3.
const LARGEST: Bytes = Bytes::mib(64);

impl BufferFile {
    /// Whether writes complete before they would survive a power loss.
    pub(super) fn is_volatile(&self) -> bool {
        self.completion == CompletionMode::WriteBack && !self.protected
    }

    /// Adds complaints about the keys. `is_managed` is true if the device has a failure manager.
    pub(super) fn check(&self, geometry: &Geometry, is_managed: bool, wrong: &mut Complaints) {
        let least = geometry.block_size * u64::from(geometry.ws_min);
        wrong.require(
            (least..=LARGEST).contains(&self.size),
            "buffer.size",
            self.size,
            format!("from {least} (ws_min) to {LARGEST}"),
        );
        let blocks = self.size.0 / geometry.block_size.0;
        wrong.require(
            u64::from(geometry.mw_cunits) <= blocks,
            "mw_cunits",
            geometry.mw_cunits,
            format!("at most {blocks}, the buffer of a parallel unit"),
        );
        let is_back = self.completion == CompletionMode::WriteBack;
        wrong.require(
            !is_back || is_managed || self.unreliable,
            "buffer.completion",
            "write-back",
            "write-through, failures.block_map = true, or buffer.unreliable = true",
        );
        wrong.require(
            !self.unreliable || is_back && !is_managed,
            "buffer.unreliable",
            true,
            "false: no completed write is lost when a program fails",
        );
        wrong.require(
            !self.protected || is_back,
            "buffer.protected",
            true,
            "false: with write-through no completed write is only in the buffer",
        );
    }
}

/// Progress of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Stage {
    /// Waits for space.
    Waiting,
    /// Data are on the link.
    Transferring,
    /// Data are being read, for a copy.
    Copying,
    /// Data have arrived.
    Ready,
    /// Data are unreadable: the chunk ends before the unit.
    Unreadable,
    /// Dropped, but its data are still on the link.
    Dropped,
}

/// Data of one program.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Unit {
    /// Command that waits for the unit; `None` after its completion.
    pub(super) command: Option<u32>,
    /// Index of the unit's first logical block in the command.
    pub(super) at: u32,
    pub(super) chunk: ChunkId,
    /// First logical block of the unit in its chunk.
    pub(super) first: u32,
    pub(super) stage: Stage,
    epoch: u64,
}

/// Queue of a parallel unit.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Queue {
    units: VecDeque<u32>,
    /// Number of units that have space, from the first on.
    granted: u32,
    /// Unit that is being programmed.
    at_die: Option<u32>,
    /// Units of offline chunks. They stay in the buffer, where they can be read.
    stranded: Vec<u32>,
}

/// Write buffers of all parallel units.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Buffers {
    queues: Vec<Queue>,
    units: Vec<Unit>,
    stamps: Vec<DataTag>,
    free: Vec<u32>,
    epochs: Epochs,
    /// Outstanding flush commands: the epoch that each waits for, and its number.
    flushes: VecDeque<(u64, u32)>,
    /// Logical blocks in a unit.
    size: u32,
    /// Units that fit in the buffer of a parallel unit.
    capacity: u32,
}

impl Buffers {
    /// Empty buffers of a device; unlimited without a `size`.
    pub(super) fn new(geometry: &Geometry, size: Option<Bytes>) -> Self {
        let unit = geometry.block_size * u64::from(geometry.ws_min);
        Self {
            queues: vec![Queue::default(); geometry.units() as usize],
            units: Vec::new(),
            stamps: Vec::new(),
            free: Vec::new(),
            epochs: Epochs::default(),
            flushes: VecDeque::new(),
            size: geometry.ws_min,
            capacity: size.map_or(u32::MAX, |size| (size.0 / unit.0) as u32),
        }
    }

    pub(super) fn get(&self, id: u32) -> &Unit {
        &self.units[id as usize]
    }

    /// Data tags of a unit.
    pub(super) fn stamps(&self, id: u32) -> &[DataTag] {
        &self.stamps[(id * self.size) as usize..][..self.size as usize]
    }

    /// Appends a unit, which waits for space, with its data tags.
    pub(super) fn push(
        &mut self,
        queue: u32,
        (command, at): (u32, u32),
        (chunk, first): (ChunkId, u32),
        stamps: &[DataTag],
    ) {
        let epoch = self.epochs.enter();
        let unit = Unit { command: Some(command), at, chunk, first, stage: Stage::Waiting, epoch };
        let id = match self.free.pop() {
            Some(id) => {
                self.units[id as usize] = unit;
                id
            }
            None => {
                self.units.push(unit);
                self.stamps.resize(self.units.len() * self.size as usize, DataTag::PADDING);
                self.units.len() as u32 - 1
            }
        };
        self.fill(id, stamps);
        self.queues[queue as usize].units.push_back(id);
    }

    /// Sets the data tags of a unit.
    pub(super) fn fill(&mut self, id: u32, stamps: &[DataTag]) {
        self.stamps[(id * self.size) as usize..][..self.size as usize].copy_from_slice(stamps);
    }

    /// Gives space to the next unit of a queue, if there is any. Returns the unit.
    pub(super) fn grant(&mut self, queue: u32) -> Option<u32> {
        let Queue { units, granted, stranded, .. } = &mut self.queues[queue as usize];
        // Stranded units leave space for at least one unit; otherwise nothing could be written.
        let space = self.capacity.saturating_sub(stranded.len() as u32).max(1);
        let id = *units.get(*granted as usize).filter(|_| *granted < space)?;
        *granted += 1;
        self.units[id as usize].stage = Stage::Transferring;
        Some(id)
    }

    /// Sets the progress of a unit that has space.
    pub(super) fn set_stage(&mut self, id: u32, stage: Stage) {
        self.units[id as usize].stage = stage;
    }

    /// Detaches a unit from its command. Returns the command's number.
    pub(super) fn release_command(&mut self, id: u32) -> Option<u32> {
        self.units[id as usize].command.take()
    }

    /// Next unit of a queue to be programmed; `None` while one is at the die.
    pub(super) fn next(&self, queue: u32) -> Option<u32> {
        let Queue { units, granted, at_die, .. } = &self.queues[queue as usize];
        if at_die.is_some() {
            return None;
        }
        let mut waiting: Vec<ChunkId> = Vec::new();
        for id in units.iter().take(*granted as usize) {
            let unit = self.get(*id);
            if waiting.contains(&unit.chunk) {
                continue;
            }
            if matches!(unit.stage, Stage::Ready | Stage::Unreadable) {
                return Some(*id);
            }
            waiting.push(unit.chunk);
        }
        None
    }

    /// Records that a unit is at its die.
    pub(super) fn begin(&mut self, queue: u32, id: u32) {
        self.queues[queue as usize].at_die = Some(id);
    }

    /// Records the end of the program at the die. Returns its unit.
    pub(super) fn end(&mut self, queue: u32) -> u32 {
        self.queues[queue as usize].at_die.take().expect("a program of it was at its die")
    }

    /// Unit of a queue that is being programmed.
    pub(super) fn at_die(&self, queue: u32) -> Option<u32> {
        self.queues[queue as usize].at_die
    }

    /// Removes a unit from its queue.
    pub(super) fn remove(&mut self, queue: u32, id: u32) -> Unit {
        let unit = self.leave(queue, id);
        self.epochs.leave(unit.epoch);
        if unit.stage == Stage::Transferring {
            self.units[id as usize].stage = Stage::Dropped;
        } else {
            self.free.push(id);
        }
        unit
    }

    fn leave(&mut self, queue: u32, id: u32) -> Unit {
        let Queue { units, granted, .. } = &mut self.queues[queue as usize];
        let at = units.iter().position(|other| *other == id).expect("it is in its queue");
        units.remove(at);
        *granted -= u32::from((at as u32) < *granted);
        *self.get(id)
    }

    /// Frees a dropped unit whose data have arrived.
    pub(super) fn free_dropped(&mut self, id: u32) {
        self.free.push(id);
    }

    /// Keeps a unit in the buffer for good, because its chunk accepts no more programs.
    pub(super) fn strand(&mut self, queue: u32, id: u32) {
        let unit = self.leave(queue, id);
        self.epochs.leave(unit.epoch);
        self.queues[queue as usize].stranded.push(id);
    }

    /// Number of stranded units of a chunk.
    pub(super) fn stranded(&self, queue: u32, chunk: ChunkId) -> u32 {
        let stranded = self.queues[queue as usize].stranded.iter();
        stranded.filter(|id| self.get(**id).chunk == chunk).count() as u32
    }

    /// Whether any queue has stranded units.
    pub(super) fn has_stranded(&self) -> bool {
        self.queues.iter().any(|queue| !queue.stranded.is_empty())
    }

    /// Units of a chunk in their queue, in order.
    pub(super) fn units_of_chunk(&self, queue: u32, chunk: ChunkId) -> Vec<u32> {
        let units = self.queues[queue as usize].units.iter().copied();
        units.filter(|id| self.get(*id).chunk == chunk).collect()
    }

    /// Units of a queue that a command waits for.
    pub(super) fn units_of_command(&self, queue: u32, command: u32) -> Vec<u32> {
        let units = self.queues[queue as usize].units.iter().copied();
        units.filter(|id| self.get(*id).command == Some(command)).collect()
    }

    /// Unit of a chunk that begins with logical block `first`, if its data have arrived.
    pub(super) fn ready_at(&self, queue: u32, chunk: ChunkId, first: u32) -> Option<u32> {
        let mut units = self.queues[queue as usize].units.iter().copied();
        units.find(|id| {
            let unit = self.get(*id);
            unit.chunk == chunk && unit.first == first && unit.stage == Stage::Ready
        })
    }

    /// Data tag of a logical block, if the block is in the buffer.
    pub(super) fn find(&self, queue: u32, chunk: ChunkId, block: u32) -> Option<DataTag> {
        let first = block - block % self.size;
        let Queue { units, stranded, .. } = &self.queues[queue as usize];
        let is_it = |id: &&u32| {
            let unit = self.get(**id);
            unit.chunk == chunk && unit.first == first && unit.stage == Stage::Ready
        };
        let id = units.iter().chain(stranded).find(is_it)?;
        Some(self.stamps(*id)[(block - first) as usize])
    }

    /// Occupancy of the buffer of a parallel unit, as a fraction; 0 without a limit.
    pub(super) fn occupancy(&self, queue: u32) -> f64 {
        let Queue { granted, stranded, .. } = &self.queues[queue as usize];
        f64::from(*granted + stranded.len() as u32) / f64::from(self.capacity)
    }

    /// Number of units of a queue, and how many of them have space.
    pub(super) fn waiting(&self, queue: u32) -> [usize; 2] {
        let Queue { units, granted, .. } = &self.queues[queue as usize];
        [units.len(), *granted as usize]
    }

    /// Number of units that have space, including stranded units.
    pub(super) fn occupied_units(&self) -> u32 {
        self.queues.iter().map(|queue| queue.granted + queue.stranded.len() as u32).sum()
    }

    /// Whether a queue is empty.
    pub(super) fn is_empty(&self, queue: u32) -> bool {
        self.queues[queue as usize].units.is_empty()
    }

    /// Lets a command wait until all data buffered now are in flash or dropped. Returns whether they already
    /// are.
    pub(super) fn flush(&mut self, command: u32) -> bool {
        let waits = self.epochs.end();
        self.flushes.extend(waits.map(|epoch| (epoch, command)));
        waits.is_none()
    }

    /// Takes a flush command whose wait is over.
    pub(super) fn take_completed_flush(&mut self) -> Option<u32> {
        let (epoch, command) = *self.flushes.front()?;
        self.epochs.is_over(epoch).then(|| self.flushes.pop_front())?;
        Some(command)
    }

    /// Number of outstanding flush commands.
    pub(super) fn flushes(&self) -> usize {
        self.flushes.len()
    }

    /// Number of programs at dies.
    pub(super) fn programs(&self) -> usize {
        self.queues.iter().filter(|queue| queue.at_die.is_some()).count()
    }

    /// Number of units that commands wait for.
    pub(super) fn awaited_units(&self) -> usize {
        self.queues
            .iter()
            .flat_map(|queue| &queue.units)
            .filter(|id| self.get(**id).command.is_some())
            .count()
    }

    /// Drops units at a power loss. Only completed units survive, and only if `kept`. Returns the losses.
    pub(super) fn forget(&mut self, kept: bool) -> BufferLosses {
        let mut forgotten = BufferLosses::default();
        let Self { queues, units, free, epochs, flushes, .. } = self;
        *epochs = Epochs::default();
        flushes.clear();
        let mut used = vec![false; units.len()];
        for queue in queues {
            forgotten.programming.extend(queue.at_die.take().map(|id| units[id as usize].chunk));
            let mut stays = |id: &u32| {
                let unit = &mut units[*id as usize];
                let stays = kept && unit.command.is_none();
                if stays {
                    unit.epoch = epochs.enter();
                    used[*id as usize] = true;
                } else if unit.command.is_none() {
                    forgotten.lost.push(unit.chunk);
                }
                stays
            };
            queue.units.retain(&mut stays);
            queue.granted = queue.units.len() as u32;
            queue.stranded.retain(&mut stays);
            queue.stranded.iter().for_each(|id| epochs.leave(units[*id as usize].epoch));
        }
        *free = (0..units.len() as u32).filter(|id| !used[*id as usize]).collect();
        forgotten
    }

    /// Drops a kept unit that turned out to be programmed before a power loss.
    pub(super) fn drop_programmed(&mut self, queue: u32, chunk: ChunkId, first: u32) {
        let id = self.units_of_chunk(queue, chunk).into_iter().find(|id| self.get(*id).first == first);
        if let Some(id) = id {
            self.remove(queue, id);
        }
    }

    /// Whether a unit number was ever used. The unit may be free.
    pub(super) fn has(&self, id: u32) -> bool {
        (id as usize) < self.units.len()
    }

    /// Number of queues, which follows from the configuration.
    pub(super) fn len(&self) -> usize {
        self.queues.len()
    }

    /// Checks a loaded state. Each unit is in one list, and belongs to a chunk of its queue and to a command
    /// that `knows` it.
    pub(super) fn check_loaded(
        &self,
        unit_of: impl Fn(ChunkId) -> Option<u32>,
        knows: impl Fn(&Unit) -> bool,
    ) -> Result<(), String> {
        ensure(self.stamps.len() == self.units.len() * self.size as usize, || "units without data".into())?;
        let mut left = vec![true; self.units.len()];
        for id in &self.free {
            take_once(&mut left, *id)?;
        }
        for (number, queue) in (0..).zip(&self.queues) {
            for id in queue.units.iter().chain(&queue.stranded) {
                take_once(&mut left, *id)?;
                let unit = self.get(*id);
                let is_here = unit_of(unit.chunk) == Some(number) && unit.first.is_multiple_of(self.size);
                ensure(is_here && knows(unit), || format!("unit {id} of no command"))?;
            }
            let fits = queue.granted as usize <= queue.units.len()
                && queue.at_die.is_none_or(|id| queue.units.contains(&id));
            ensure(fits, || format!("queue {number} has other units than it counts"))?;
        }
        let dropped = |id: &usize| self.units[*id].stage != Stage::Dropped;
        let lost = (0..left.len()).filter(|id| left[*id]).find(dropped);
        ensure(lost.is_none(), || "a unit of no queue".into())
    }
}

/// Losses of the buffers at a power loss.
#[derive(Debug, Default)]
pub(super) struct BufferLosses {
    /// Chunks with a unit that was being programmed.
    pub(super) programming: Vec<ChunkId>,
    /// Chunks of completed units that are lost, once for each unit.
    pub(super) lost: Vec<ChunkId>,
}

fn take_once(left: &mut [bool], id: u32) -> Result<(), String> {
    let is_first = left.get_mut(id as usize).is_some_and(std::mem::take);
    ensure(is_first, || format!("unit {id} is in two places, or is none"))
}
