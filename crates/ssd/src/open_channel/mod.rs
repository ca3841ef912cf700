//! A small open-channel device: chips, the queues of their dies, and a table of chunks.
//!
//! Nothing stands between its host and the flash: no write buffer, no map, no cleaning, and no treatment of failures. A group is a
//! channel, a parallel unit a die, and a chunk a block set, so that one program writes `ws_min` logical blocks, in all planes that
//! multi-plane commands tie together. A write is answered when it is programmed. Firmware and the link to the host take no time.
//!
//! A failure is reported in the answer and not repaired. After a failed program its chunk is closed before the failed unit, and further
//! writes there fail too; when it is reset it goes offline, as data sheets want of such blocks. A chunk of which an erase failed, or
//! that was erased as often as it stands, goes offline at once.

mod audit;
mod check;
mod chunks;
mod config;
mod cut;
mod in_flight;
mod metrics;
mod physical_device;
mod progress;

use serde::{Deserialize, Serialize};
use wordline_kernel::{Digest, Instant, Schedule, Seed, state};
use wordline_nand::{BlockSetId, DieId, Done, Layers, Location, Operation as Work, Stamp};

use crate::command::RequestId;
use crate::device::Recovered;
use crate::flash::{Class, Event, Flash, Outcome, Task, Ticket};
use crate::physical_device::{
    Answer, Chunk, ChunkState, Command, Failure, LogicalBlock, Notice, Notification, Operation,
};
use crate::policy::tuner::Tuner;
use chunks::{Chunks, Unit};
use in_flight::{Commands, InFlight};

pub use config::{OpenChannelConfig, OpenChannelFile};
pub use metrics::{Counts, Mark, all as metrics};

/// A small open-channel device.
pub struct OpenChannel {
    config: OpenChannelConfig,
    flash: Flash,
    tuner: Box<dyn Tuner>,
    chunks: Chunks,
    commands: Commands,
    answers: Vec<Answer>,
    notifications: Vec<Notification>,
    counts: Counts,
    /// Program commands that a power cut ended.
    cut_programs: u64,
    recovering: Option<Recovering>,
    recovery: Option<Recovered>,
    digest: Digest,
}

state!(OpenChannel {
    values { chunks, commands, answers, notifications, counts, cut_programs, recovering, recovery, digest }
    parts { flash, tuner }
    fixed { config }
});

/// A recovery from a power cut.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Recovering {
    /// Chunks that commands were changing.
    chunks: Vec<BlockSetId>,
    /// Reads of them that are under way.
    left: u32,
    /// When the power came back; none before that.
    since: Option<Instant>,
}

impl OpenChannel {
    /// A device with nothing written.
    pub fn new(config: OpenChannelConfig, seed: Seed) -> Self {
        let flash = Flash::of(&config.setup(), seed);
        let tuner = config.file.tuner.build(|| Layers::of(&config.pools));
        let chunks = Chunks::new(config.geometry.chunks(), &flash.chips().factory_bad());
        Self {
            config,
            flash,
            tuner,
            chunks,
            commands: Commands::default(),
            answers: Vec::new(),
            notifications: Vec::new(),
            counts: Counts::default(),
            cut_programs: 0,
            recovering: None,
            recovery: None,
            digest: Digest::default(),
        }
    }

    /// Its configuration.
    pub fn config(&self) -> &OpenChannelConfig {
        &self.config
    }

    /// Its chips.
    pub fn chips(&self) -> &wordline_nand::Chips {
        self.flash.chips()
    }

    /// The counts of the device.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The block set that a chunk is: dies and block sets are numbered channel by channel, as chunks are.
    #[inline]
    fn block_of(&self, chunk: Chunk) -> BlockSetId {
        BlockSetId(self.config.geometry.number(chunk))
    }

    #[inline]
    fn location_of(&self, LogicalBlock { chunk, block }: LogicalBlock) -> Location {
        self.config.pools.at(self.block_of(chunk), block)
    }

    /// The logical block in a location.
    fn logical_block(&self, location: Location) -> LogicalBlock {
        let (block, place) = self.config.pools.first().locations.split(location);
        self.config.geometry.chunk(block.0).at(place)
    }

    /// Takes a command that breaks no rule.
    fn take(&mut self, command: &Command<'_>, calendar: &mut impl Schedule<Event>) {
        let locations = command.blocks.iter().map(|block| self.location_of(*block)).collect();
        let number = self.commands.add(InFlight::new(command, locations, calendar.now()));
        let mut dies = match command.operation {
            Operation::Read => self.queue_reads(number, calendar.now()),
            Operation::Write => self.queue_writes(number, calendar.now()),
            Operation::Reset => self.queue_resets(number, calendar.now()),
        };
        dies.sort_unstable();
        dies.dedup();
        for die in dies {
            self.flash.start(die, &*self.tuner, calendar);
        }
        while let Some(done) = self.flash.next_over() {
            self.command_done(&done, calendar);
        }
    }

    /// Queues the reads of a command, one for each page; the dies, some of them several times.
    fn queue_reads(&mut self, number: u32, now: Instant) -> Vec<DieId> {
        let Self { config, flash, chunks, commands, counts, .. } = self;
        let pools = &config.pools;
        let command = commands.get_mut(number);
        let is_beside = |location: &Location, next: &Location| {
            next.0 == location.0 + 1 && pools.page_of(*location) == pools.page_of(*next)
        };
        let mut dies = Vec::new();
        for locations in command.locations.chunk_by(is_beside) {
            let (die, page) = pools.die_and_page_of(locations[0]);
            let task = flash.read(die, now, (Ticket::Request(RequestId(number)), Class::Read), page);
            (task.location, task.locations) = (locations[0], locations.len() as u32);
            task.bytes = (config.geometry.block_size.0 * locations.len() as u64) as u32;
            chunks.get_mut(pools.block_of(locations[0])).readers += 1;
            command.parts += 1;
            dies.push(die);
        }
        counts.reads += 1;
        counts.blocks_read += command.locations.len() as u64;
        dies
    }

    /// Queues the units of a write: those whose turn is now, at their dies, which it returns.
    fn queue_writes(&mut self, number: u32, now: Instant) -> Vec<DieId> {
        let unit = self.config.geometry.ws_min;
        let command = self.commands.get_mut(number);
        command.parts = command.locations.len() as u32 / unit;
        let first_locations: Vec<Location> =
            command.locations.iter().copied().step_by(unit as usize).collect();
        self.counts.writes += 1;
        let mut dies = Vec::new();
        for (n, location) in (0..).zip(first_locations) {
            let block = self.config.pools.block_of(location);
            if self.chunks.write(block, number, n * unit, unit) {
                dies.push(self.queue_program(block, now));
            }
        }
        dies
    }

    /// Queues the program of the unit of a chunk whose turn it is, at its die.
    fn queue_program(&mut self, block: BlockSetId, now: Instant) -> DieId {
        let Unit { command: number, at, .. } = self.chunks.current(block).expect("a unit is to be written");
        let (at, unit) = (at as usize, self.config.geometry.ws_min);
        let command = self.commands.get(number);
        let asked = (Ticket::Request(RequestId(number)), Class::Write);
        let (die, stamps) = self.flash.program(now, asked, command.locations[at], unit);
        stamps.copy_from_slice(&command.stamps[at..at + unit as usize]);
        die
    }

    /// Queues the erases of a command; chunks of which a program failed go out of use instead.
    fn queue_resets(&mut self, number: u32, now: Instant) -> Vec<DieId> {
        let blocks: Vec<BlockSetId> = self
            .commands
            .get(number)
            .locations
            .iter()
            .map(|location| self.config.pools.block_of(*location))
            .collect();
        self.counts.resets += 1;
        self.commands.get_mut(number).parts = blocks.len() as u32;
        let mut dies = Vec::new();
        for (at, block) in blocks.into_iter().enumerate() {
            self.chunks.get_mut(block).is_resetting = true;
            if self.chunks.get(block).has_failed {
                self.reset_over(number, at, block, true, now);
            } else {
                let asked = (Ticket::Request(RequestId(number)), Class::Write);
                dies.push(self.flash.erase(now, asked, block));
            }
        }
        dies
    }

    /// A die has finished a command.
    fn command_done(&mut self, done: &Done, calendar: &mut impl Schedule<Event>) {
        let now = calendar.now();
        self.digest.add(now.ps() ^ u64::from(done.die.0) << 48);
        self.digest.add(u64::from(done.command.page.0) << 3 | done.command.operation.kind() as u64);
        let mut next = self.flash.finish(done, now);
        while let Some(id) = next {
            let task = self.flash.release(done.die, id);
            next = task.following();
            let failed = match self.flash.outcome(&task, done, &mut *self.tuner, calendar) {
                Outcome::Again => continue,
                Outcome::Done => false,
                Outcome::Unread(_) | Outcome::Failed | Outcome::Refused => true,
            };
            self.task_over(&task, failed, now);
        }
        self.flash.start(done.die, &*self.tuner, calendar);
    }

    fn task_over(&mut self, task: &Task, failed: bool, now: Instant) {
        let number = match task.ticket {
            Ticket::Request(RequestId(number)) => number,
            Ticket::Scan(_) => return self.scan_read_over(now),
            other => unreachable!("{other:?} is nothing that this device asks for"),
        };
        match task.operation {
            Work::Program => self.program_over(number, task, failed, now),
            Work::Erase => {
                let block = self.config.pools.block_of_page(task.page);
                let locations = &self.commands.get(number).locations;
                let at = locations.iter().position(|location| self.config.pools.block_of(*location) == block);
                self.reset_over(number, at.expect("the reset names the chunk"), block, failed, now);
            }
            _ => self.read_over(number, task, failed, now),
        }
    }

    /// A part of a page was read, or could not be.
    fn read_over(&mut self, number: u32, task: &Task, failed: bool, now: Instant) {
        let Self { flash, commands, counts, .. } = self;
        let command = commands.get_mut(number);
        let mut any_failed = false;
        for at in 0..command.locations.len() {
            let location = command.locations[at];
            if location < task.location || location.0 >= task.location.0 + task.locations {
                continue;
            }
            let found = flash.stamp(location);
            assert!(found != Stamp::ERASED, "location {} can be read and is not programmed", location.0);
            if failed || found == Stamp::TORN {
                any_failed = true;
                command.fails(at, 1, Failure::Unread);
                counts.blocks_unread += 1;
            } else {
                command.stamps[at] = found;
            }
        }
        if any_failed || task.tries > 0 {
            let notice = if any_failed { Notice::Unrecovered } else { Notice::HighErrorRate };
            let first = self.logical_block(task.location);
            self.notifications.push(Notification { first, blocks: task.locations, notice });
        }
        self.chunks.get_mut(self.config.pools.block_of(task.location)).readers -= 1;
        self.part_over(number, now);
    }

    /// A unit was programmed, or could not be.
    fn program_over(&mut self, number: u32, task: &Task, failed: bool, now: Instant) {
        let block = self.config.pools.block_of(task.location);
        let (unit, size) = (self.config.geometry.ws_min, self.config.geometry.blocks_per_chunk);
        self.counts.programs += u64::from(self.flash.takes_time());
        if failed {
            self.counts.early_closes += 1;
            for Unit { command, at, .. } in self.chunks.close_early(block) {
                self.commands.get_mut(command).fails(at as usize, unit, Failure::EarlyClose);
                self.part_over(command, now);
            }
            return;
        }
        let written = self.chunks.programmed(block, unit, size);
        debug_assert_eq!(written.command, number);
        self.counts.blocks_written += u64::from(unit);
        self.part_over(number, now);
        if self.chunks.current(block).is_some() {
            self.queue_program(block, now);
        }
    }

    /// The chunk at a place of the list of a reset is free, or out of use.
    fn reset_over(&mut self, number: u32, at: usize, block: BlockSetId, failed: bool, now: Instant) {
        self.chunks.reset_over(block, failed);
        if failed {
            self.counts.reset_failures += 1;
            self.commands.get_mut(number).fails(at, 1, Failure::Offline);
        } else {
            self.counts.chunks_reset += 1;
            self.tuner.erased(block);
        }
        self.part_over(number, now);
    }

    /// A part of a command is over; with the last one it is answered.
    fn part_over(&mut self, number: u32, now: Instant) {
        if let Some(command) = self.commands.part_over(number) {
            self.answers.push(command.answer(now));
        }
    }

    /// The first logical block of a chunk that cannot be read now.
    fn readable(&self, block: BlockSetId) -> u32 {
        let entry = self.chunks.get(block);
        match entry.state {
            ChunkState::Closed => entry.programmed,
            ChunkState::Open => entry.programmed.saturating_sub(self.config.geometry.mw_cunits),
            ChunkState::Free | ChunkState::Offline => 0,
        }
    }
}
