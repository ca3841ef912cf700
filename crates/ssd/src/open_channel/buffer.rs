//! The write buffer: for each parallel unit a queue of units, which are programmed in the order in which they came.
//!
//! A *unit* is what one program writes. It waits for space, its data come, it is programmed, and its space is free for the next one. A
//! queue has one program at its die at a time. Units of one chunk stay in order; one whose data have not come yet lets those of other
//! chunks pass.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Complaints};
use wordline_nand::Stamp;

use super::chunks::ChunkId;
use crate::cache::buffer::epochs::Epochs;
use crate::ensure::ensure;
use crate::physical_device::Geometry;

/// When a write is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CompletionMode {
    /// When it is in flash (synchronous).
    #[default]
    WriteThrough,
    /// When it is in the buffer (asynchronous).
    WriteBack,
}

/// The write buffer as it is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "UnitBufferFile")]
pub struct BufferFile {
    /// Its size for each parallel unit.
    pub size: Bytes,
    /// When a write is answered.
    #[serde(default)]
    pub completion: CompletionMode,
    /// Write-back although nothing recovers a program that fails: what was answered may be lost.
    #[serde(default)]
    pub unreliable: bool,
    /// Its contents outlive a power cut. Otherwise what was answered and not flushed is lost.
    #[serde(default)]
    pub protected: bool,
}

/// The largest buffer of a parallel unit. Chosen: 32 times the largest of FT-PASSD, table 3.
const LARGEST: Bytes = Bytes::mib(64);

impl BufferFile {
    /// Whether writes are answered before they outlive a power cut.
    pub(super) fn is_volatile(&self) -> bool {
        self.completion == CompletionMode::WriteBack && !self.protected
    }

    /// Adds what is wrong with it; `is_managed` says whether the device recovers programs that fail.
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
            format!("at most {blocks}, what the buffer of a parallel unit holds"),
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
            "false: no answered write is lost when a program fails",
        );
        wrong.require(
            !self.protected || is_back,
            "buffer.protected",
            true,
            "false: with write-through nothing that was answered is in the buffer alone",
        );
    }
}

/// How far a unit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Stage {
    /// It waits for space.
    Waits,
    /// Its data come over the link.
    Coming,
    /// Its data are being read, to be copied.
    Copying,
    /// Its data are here.
    Here,
    /// Its data could not be had: its chunk ends before it.
    Void,
    /// Nobody wants it any more, and its data still come.
    Dropped,
}

/// The data of one program.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Unit {
    /// The command that waits for it; none once that was answered.
    pub(super) command: Option<u32>,
    /// Where in the list of the command its logical blocks begin.
    pub(super) at: u32,
    pub(super) chunk: ChunkId,
    /// The first of its logical blocks in the chunk.
    pub(super) first: u32,
    pub(super) stage: Stage,
    epoch: u64,
}

/// The queue of a parallel unit.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Queue {
    units: VecDeque<u32>,
    /// How many of them, from the first on, have space.
    granted: u32,
    /// The one that is programmed.
    at_die: Option<u32>,
    /// Units whose chunk is out of use: they are read from here, and keep their space.
    stranded: Vec<u32>,
}

/// The write buffers of all parallel units.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Buffers {
    queues: Vec<Queue>,
    units: Vec<Unit>,
    stamps: Vec<Stamp>,
    free: Vec<u32>,
    epochs: Epochs,
    /// Flush commands that wait: for which epoch, and which they are.
    flushes: VecDeque<(u64, u32)>,
    /// Logical blocks of a unit.
    size: u32,
    /// Units that a parallel unit has space for.
    capacity: u32,
}

impl Buffers {
    /// The buffers of a device; without a `size` they hold whatever comes.
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

    /// The contents of a unit.
    pub(super) fn stamps(&self, id: u32) -> &[Stamp] {
        &self.stamps[(id * self.size) as usize..][..self.size as usize]
    }

    /// Appends a unit that waits for space, with what it will hold.
    pub(super) fn push(
        &mut self,
        queue: u32,
        (command, at): (u32, u32),
        (chunk, first): (ChunkId, u32),
        stamps: &[Stamp],
    ) {
        let epoch = self.epochs.enter();
        let unit = Unit { command: Some(command), at, chunk, first, stage: Stage::Waits, epoch };
        let id = match self.free.pop() {
            Some(id) => {
                self.units[id as usize] = unit;
                id
            }
            None => {
                self.units.push(unit);
                self.stamps.resize(self.units.len() * self.size as usize, Stamp::PADDING);
                self.units.len() as u32 - 1
            }
        };
        self.fill(id, stamps);
        self.queues[queue as usize].units.push_back(id);
    }

    /// Sets what a unit holds.
    pub(super) fn fill(&mut self, id: u32, stamps: &[Stamp]) {
        self.stamps[(id * self.size) as usize..][..self.size as usize].copy_from_slice(stamps);
    }

    /// The next unit of a queue that gets space.
    pub(super) fn grant(&mut self, queue: u32) -> Option<u32> {
        let Queue { units, granted, stranded, .. } = &mut self.queues[queue as usize];
        // Stranded units leave space for one unit at least: else nothing could be written any more.
        let space = self.capacity.saturating_sub(stranded.len() as u32).max(1);
        let id = *units.get(*granted as usize).filter(|_| *granted < space)?;
        *granted += 1;
        self.units[id as usize].stage = Stage::Coming;
        Some(id)
    }

    /// Sets how far a unit is that has space.
    pub(super) fn set_stage(&mut self, id: u32, stage: Stage) {
        self.units[id as usize].stage = stage;
    }

    /// The command of a unit is not concerned with it any more: which it was.
    pub(super) fn release_command(&mut self, id: u32) -> Option<u32> {
        self.units[id as usize].command.take()
    }

    /// The unit of a queue that is to be programmed next, unless one is at the die.
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
            if matches!(unit.stage, Stage::Here | Stage::Void) {
                return Some(*id);
            }
            waiting.push(unit.chunk);
        }
        None
    }

    /// A unit goes to its die.
    pub(super) fn begin(&mut self, queue: u32, id: u32) {
        self.queues[queue as usize].at_die = Some(id);
    }

    /// The program of a unit is over: which it was.
    pub(super) fn end(&mut self, queue: u32) -> u32 {
        self.queues[queue as usize].at_die.take().expect("a program of it was at its die")
    }

    /// The unit of a queue that is programmed.
    pub(super) fn at_die(&self, queue: u32) -> Option<u32> {
        self.queues[queue as usize].at_die
    }

    /// Takes a unit out of its queue.
    pub(super) fn remove(&mut self, queue: u32, id: u32) -> Unit {
        let unit = self.leave(queue, id);
        self.epochs.leave(unit.epoch);
        if unit.stage == Stage::Coming {
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

    /// The data of a unit came that nobody wants any more.
    pub(super) fn forget_dropped(&mut self, id: u32) {
        self.free.push(id);
    }

    /// A unit stays here for good, because its chunk takes it no more.
    pub(super) fn strand(&mut self, queue: u32, id: u32) {
        let unit = self.leave(queue, id);
        self.epochs.leave(unit.epoch);
        self.queues[queue as usize].stranded.push(id);
    }

    /// How many units of a chunk are stranded.
    pub(super) fn stranded(&self, queue: u32, chunk: ChunkId) -> u32 {
        let stranded = self.queues[queue as usize].stranded.iter();
        stranded.filter(|id| self.get(**id).chunk == chunk).count() as u32
    }

    /// Whether units are stranded anywhere.
    pub(super) fn has_stranded(&self) -> bool {
        self.queues.iter().any(|queue| !queue.stranded.is_empty())
    }

    /// The units of a chunk in their queue, in order.
    pub(super) fn of_chunk(&self, queue: u32, chunk: ChunkId) -> Vec<u32> {
        let units = self.queues[queue as usize].units.iter().copied();
        units.filter(|id| self.get(*id).chunk == chunk).collect()
    }

    /// The units of a queue that a command waits for.
    pub(super) fn of_command(&self, queue: u32, command: u32) -> Vec<u32> {
        let units = self.queues[queue as usize].units.iter().copied();
        units.filter(|id| self.get(*id).command == Some(command)).collect()
    }

    /// The unit of a chunk that begins with a logical block, if its data are here.
    pub(super) fn here_at(&self, queue: u32, chunk: ChunkId, first: u32) -> Option<u32> {
        let mut units = self.queues[queue as usize].units.iter().copied();
        units.find(|id| {
            let unit = self.get(*id);
            unit.chunk == chunk && unit.first == first && unit.stage == Stage::Here
        })
    }

    /// The contents of a logical block of a chunk that is in the buffer.
    pub(super) fn find(&self, queue: u32, chunk: ChunkId, block: u32) -> Option<Stamp> {
        let first = block - block % self.size;
        let Queue { units, stranded, .. } = &self.queues[queue as usize];
        let is_it = |id: &&u32| {
            let unit = self.get(**id);
            unit.chunk == chunk && unit.first == first && unit.stage == Stage::Here
        };
        let id = units.iter().chain(stranded).find(is_it)?;
        Some(self.stamps(*id)[(block - first) as usize])
    }

    /// The part of the buffer of a parallel unit that is in use, if it has a limit.
    pub(super) fn use_of(&self, queue: u32) -> f64 {
        let Queue { granted, stranded, .. } = &self.queues[queue as usize];
        f64::from(*granted + stranded.len() as u32) / f64::from(self.capacity)
    }

    /// Units of a queue, and how many of them have space.
    pub(super) fn waiting(&self, queue: u32) -> [usize; 2] {
        let Queue { units, granted, .. } = &self.queues[queue as usize];
        [units.len(), *granted as usize]
    }

    /// Units that have space, those of chunks that are out of use among them.
    pub(super) fn held(&self) -> u32 {
        self.queues.iter().map(|queue| queue.granted + queue.stranded.len() as u32).sum()
    }

    /// Whether a queue is empty.
    pub(super) fn is_empty(&self, queue: u32) -> bool {
        self.queues[queue as usize].units.is_empty()
    }

    /// A command waits until all that is here now is in flash, or given up; whether it is already.
    pub(super) fn flush(&mut self, command: u32) -> bool {
        let waits = self.epochs.end();
        self.flushes.extend(waits.map(|epoch| (epoch, command)));
        waits.is_none()
    }

    /// A flush that is over.
    pub(super) fn flushed(&mut self) -> Option<u32> {
        let (epoch, command) = *self.flushes.front()?;
        self.epochs.is_over(epoch).then(|| self.flushes.pop_front())?;
        Some(command)
    }

    /// Flushes that wait.
    pub(super) fn flushes(&self) -> usize {
        self.flushes.len()
    }

    /// Programs that are at their dies.
    pub(super) fn programs(&self) -> usize {
        self.queues.iter().filter(|queue| queue.at_die.is_some()).count()
    }

    /// Units that commands wait for.
    pub(super) fn awaited(&self) -> usize {
        self.queues
            .iter()
            .flat_map(|queue| &queue.units)
            .filter(|id| self.get(**id).command.is_some())
            .count()
    }

    /// The power is cut: only units that were answered stay, and these only if they are `kept`. The chunks that a unit was being
    /// programmed in, and those that lost units: the chunk, and how many units.
    pub(super) fn forget(&mut self, kept: bool) -> Forgotten {
        let mut forgotten = Forgotten::default();
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

    /// After a power cut a unit of a chunk turns out to be programmed: it is of no use any more, if it was kept.
    pub(super) fn programmed_at_cut(&mut self, queue: u32, chunk: ChunkId, first: u32) {
        let id = self.of_chunk(queue, chunk).into_iter().find(|id| self.get(*id).first == first);
        if let Some(id) = id {
            self.remove(queue, id);
        }
    }

    /// Whether there is a unit of this number, which may be none any more.
    pub(super) fn has(&self, id: u32) -> bool {
        (id as usize) < self.units.len()
    }

    /// The length of the list whose length follows from the configuration.
    pub(super) fn len(&self) -> usize {
        self.queues.len()
    }

    /// Checks what was loaded: each unit is in one place, is of a chunk of its queue, and of a command that `knows` it there.
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

/// The losses of the buffers with the power.
#[derive(Debug, Default)]
pub(super) struct Forgotten {
    /// Chunks of which a unit was at its die.
    pub(super) programming: Vec<ChunkId>,
    /// Chunks of answered units that are lost, one entry for each unit.
    pub(super) lost: Vec<ChunkId>,
}

fn take_once(left: &mut [bool], id: u32) -> Result<(), String> {
    let is_first = left.get_mut(id as usize).is_some_and(std::mem::take);
    ensure(is_first, || format!("unit {id} is in two places, or is none"))
}
