//! Open-channel device: chips with a command queue for each die, a chunk table, a write buffer, and a program
//! failure manager.
//!
//! A group is a channel, a parallel unit a die, and a chunk a multi-plane block. One program therefore writes
//! `ws_min` logical blocks, on all planes of a plane group. Commands arrive over the link, if one is
//! configured. Written data wait in the queue of their parallel unit ([`buffer`]). A write completes when its
//! data are in the queue (write-back) or programmed (write-through). Firmware takes no time. See
//! `docs/open-channel.md`.
//!
//! Without a failure manager ([`failures`]) the device reports failures in completions and does not recover
//! them:
//!
//! * A failed program closes its chunk before the failed unit. Further writes to the chunk fail too.
//! * At its next reset such a chunk goes offline, as data sheets require of such blocks, unless the failure
//!   policy decided otherwise.
//! * A chunk goes offline at once if its erase failed or its endurance is used up.

mod audit;
pub mod buffer;
mod check;
pub mod chunks;
mod config;
mod die_work;
pub mod failures;
mod in_flight;
mod journal;
mod latency;
mod link;
mod metrics;
mod physical_device;
mod power_cut;
mod progress;
mod repairs;
mod resets;
mod time_recorder;
mod writes;

use serde::{Deserialize, Serialize};
use wordline_device::Recovered;
use wordline_device::physical_device::{
    Chunk, ChunkState, Command, Completion, Failure, LogicalBlock, Notice, Notification, Operation,
};
use wordline_flash as flash;
use wordline_flash::policy::failure::FailurePolicy;
use wordline_flash::policy::tuner::Tuner;
use wordline_flash::{Class, Flash, Outcome, RequestId, Task, TaskWait, Ticket};
use wordline_kernel::{Digest, Instant, Schedule, Seed, state};
use wordline_nand::{BlockSetId, CommandCompletion, DataTag, DieId, Layers, Location, Operation as Work};

use buffer::{Buffers, CompletionMode};
use chunks::{ChunkId, Chunks};
use die_work::Repairs;
use in_flight::{Commands, InFlight, NO_LOCATION, Stage};
use link::HostLink;
use resets::Resets;

pub use config::{FailuresFile, OpenChannelConfig, OpenChannelFile};
pub use metrics::{Counts, Mark, all as metrics};

/// Event of an open-channel device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// Event of the flash.
    Flash(flash::Event),
    /// Next step of a command on the link.
    Link(u32),
    /// Arrival of the data of a unit over the link.
    Unit(u32),
}

/// Policies of an open-channel device.
pub struct Policies {
    /// Array parameters of commands.
    pub tuner: Box<dyn Tuner>,
    /// Decides what happens to a chunk or block after a program or erase failure.
    pub failure: Box<dyn FailurePolicy>,
    /// Whether the tuner selects the parameters of programs.
    pub tunes_programs: bool,
}

state!(Policies {
    parts { tuner, failure }
    fixed { tunes_programs }
});

impl Policies {
    /// Policies of a configuration.
    pub fn of(config: &OpenChannelConfig) -> Self {
        Self {
            tuner: config.file.tuner.build(|| Layers::of(&config.pools)),
            failure: config.file.failure.build(),
            tunes_programs: false,
        }
    }
}

/// Open-channel device.
pub struct OpenChannel {
    config: OpenChannelConfig,
    flash: Flash,
    policies: Policies,
    chunks: Chunks,
    commands: Commands,
    buffers: Buffers,
    link: Option<HostLink>,
    repairs: Option<Repairs>,
    resets: Resets,
    completions: Vec<Completion>,
    notifications: Vec<Notification>,
    counts: Counts,
    /// Program commands that power losses interrupted.
    cut_programs: u64,
    recovering: Option<Recovering>,
    recovery: Option<Recovered>,
    digest: Digest,
}

state!(OpenChannel {
    values { chunks, commands, buffers, resets, completions, notifications, counts, cut_programs, recovering, recovery, digest }
    parts { flash, policies, link, repairs }
    fixed { config }
});

/// Recovery from a power loss.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Recovering {
    /// Chunks that commands were changing at the power loss.
    chunks: Vec<ChunkId>,
    /// Outstanding reads. `pages_read` counts all reads of the recovery.
    left: u32,
    pages_read: u64,
    /// When power returned; `None` before that.
    since: Option<Instant>,
}

impl OpenChannel {
    /// Empty device.
    pub fn new(config: OpenChannelConfig, seed: Seed) -> Self {
        let policies = Policies::of(&config);
        Self::with(config, seed, policies)
    }

    /// Empty device with these policies.
    pub fn with(config: OpenChannelConfig, seed: Seed, policies: Policies) -> Self {
        let mut flash = Flash::new(&config.setup(), seed);
        if policies.tunes_programs {
            flash.tune_programs(true);
        }
        let mut chunks = Chunks::new(&config.geometry);
        let bad = flash.chips().factory_bad();
        let (repairs, offline) = Repairs::of(&config, &bad);
        for chunk in offline {
            chunks.set_state(chunk, ChunkState::Offline);
        }
        let buffers = Buffers::new(&config.geometry, config.file.buffer.as_ref().map(|buffer| buffer.size));
        Self {
            link: config.file.link.as_ref().map(HostLink::new),
            config,
            flash,
            policies,
            chunks,
            commands: Commands::default(),
            buffers,
            repairs,
            resets: Resets::default(),
            completions: Vec::new(),
            notifications: Vec::new(),
            counts: Counts::default(),
            cut_programs: 0,
            recovering: None,
            recovery: None,
            digest: Digest::default(),
        }
    }

    /// Configuration of the device.
    pub fn config(&self) -> &OpenChannelConfig {
        &self.config
    }

    /// Chips of the device.
    pub fn chips(&self) -> &wordline_nand::Chips {
        self.flash.chips()
    }

    /// Counts of events since the device was created.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Program failure manager, if there is one.
    pub fn failures(&self) -> Option<&failures::Manager> {
        self.repairs.as_ref().map(Repairs::manager)
    }

    #[inline]
    fn id_of(&self, chunk: Chunk) -> ChunkId {
        ChunkId(self.config.geometry.number(chunk))
    }

    /// Flash location of the unit with a logical block of a chunk. The unit is written or the next one to be
    /// written.
    fn unit_location(&self, chunk: ChunkId, block: u32) -> Location {
        let unit = self.config.geometry.ws_min;
        match &self.repairs {
            None => self.config.pools.at(self.block_of(chunk), block - block % unit),
            Some(repairs) => {
                let place = repairs.manager().locate(chunk, block / unit);
                self.config.pools.at(place.block, place.page * unit)
            }
        }
    }

    /// Flash location of a logical block of a chunk.
    fn location_of(&self, chunk: ChunkId, block: u32) -> Location {
        Location(self.unit_location(chunk, block).0 + block % self.config.geometry.ws_min)
    }

    /// Multi-plane block that a chunk is mapped to.
    fn block_of(&self, chunk: ChunkId) -> BlockSetId {
        match &self.repairs {
            None => BlockSetId(chunk.0),
            Some(repairs) => repairs.manager().block(chunk),
        }
    }

    /// Whether writes to a parallel unit complete when their data are in the buffer. With a failure manager
    /// they do so only while a reserve block is left.
    fn is_write_back(&self, unit: u32) -> bool {
        let is_back = |buffer: &buffer::BufferFile| buffer.completion == CompletionMode::WriteBack;
        self.config.file.buffer.as_ref().is_some_and(is_back)
            && self.repairs.as_ref().is_none_or(|repairs| !repairs.manager().reserve(unit).is_empty())
    }

    /// Accepts a checked command.
    fn take(&mut self, command: &Command<'_>, calendar: &mut impl Schedule<Event>) {
        for LogicalBlock { chunk, .. } in command.written() {
            let chunk = self.id_of(*chunk);
            self.chunks.write(chunk, 1);
        }
        for LogicalBlock { chunk, .. } in command.blocks {
            let chunk = self.id_of(*chunk);
            match command.operation {
                Operation::Read | Operation::Copy => self.chunks.get_mut(chunk).readers += 1,
                Operation::Reset => self.chunks.get_mut(chunk).is_resetting = true,
                Operation::Write | Operation::Flush | Operation::Close => {}
            }
        }
        let number = self.commands.add(InFlight::new(command, calendar.now()));
        if command.operation == Operation::Close {
            self.close(number);
        }
        match self.link.as_mut().filter(|_| self.flash.is_clock_running()) {
            Some(link) => {
                let at = link.submit(calendar.now());
                calendar.at(at, Event::Link(number));
            }
            None => self.start_command(number, calendar),
        }
        while let Some(done) = self.flash.next_untimed_completion() {
            self.command_done(&done, calendar);
        }
    }

    /// Continues a command on the link with its next step.
    fn advance_on_link(&mut self, number: u32, calendar: &mut impl Schedule<Event>) {
        let link = self.link.as_mut().expect("an event of it");
        let command = self.commands.get_mut(number);
        match command.stage {
            Stage::Submitting => {
                command.stage = Stage::Fetching;
                calendar.at(link.fetch(calendar.now()), Event::Link(number));
            }
            Stage::Fetching => self.start_command(number, calendar),
            Stage::Completing => self.completion(number, calendar),
            Stage::Executing => unreachable!("the link has nothing of a command that is worked on"),
        }
    }

    /// Starts the execution of a command.
    fn start_command(&mut self, number: u32, calendar: &mut impl Schedule<Event>) {
        let submitted = self.commands.get(number).submitted;
        if let Some(teller) = &mut self.commands.teller {
            teller.begun(number, submitted, calendar.now(), self.flash.worked());
        }
        let command = self.commands.get_mut(number);
        command.stage = Stage::Executing;
        // The command counts as one part until all of its parts are known.
        command.parts = 1;
        match command.operation {
            Operation::Read => self.begin_reads(number, calendar),
            Operation::Write => self.begin_writes(number, calendar),
            Operation::Copy => {
                self.begin_reads(number, calendar);
                self.begin_writes(number, calendar);
            }
            Operation::Reset => self.begin_resets(number, calendar),
            Operation::Flush => {
                let is_over = self.buffers.flush(number);
                self.commands.get_mut(number).parts += u32::from(!is_over);
            }
            // The chunks were closed when the command was submitted.
            Operation::Close => {}
        }
        self.counts.count(self.commands.get(number));
        self.finish_part(number, calendar);
        self.start_background_work(calendar);
    }

    /// Starts the reads of a command. Buffered blocks are read at once; the others need a flash read for each
    /// page.
    fn begin_reads(&mut self, number: u32, calendar: &mut impl Schedule<Event>) {
        let blocks = std::mem::take(&mut self.commands.get_mut(number).blocks);
        for (at, LogicalBlock { chunk, block }) in blocks.iter().enumerate() {
            let chunk = self.id_of(*chunk);
            let (programmed, unit) = (self.chunks.get(chunk).programmed, self.chunks.unit_of(chunk));
            if *block < programmed {
                let location = self.location_of(chunk, *block);
                self.commands.get_mut(number).locations[at] = location;
                continue;
            }
            match self.buffers.find(unit, chunk, *block) {
                Some(stamp) => self.commands.get_mut(number).stamps[at] = stamp,
                None => self.unread(number, at),
            }
        }
        self.commands.get_mut(number).blocks = blocks;
        self.queue_reads(number, calendar);
    }

    /// Records that a logical block of a command is unreadable.
    fn unread(&mut self, number: u32, at: usize) {
        self.commands.get_mut(number).record_failure(at, 1, Failure::Unread);
        self.counts.blocks_unreadable += 1;
    }

    /// Queues the flash reads of a command, one for each page.
    fn queue_reads(&mut self, number: u32, calendar: &mut impl Schedule<Event>) {
        let Self { config, flash, policies, commands, .. } = self;
        let pools = &config.pools;
        let mut dies = std::mem::take(&mut commands.dies);
        let command = commands.get_mut(number);
        let is_beside = |location: &Location, next: &Location| {
            *location != NO_LOCATION
                && next.0 == location.0 + 1
                && pools.page_of(*location) == pools.page_of(*next)
        };
        for locations in command.locations.chunk_by(is_beside) {
            if locations[0] == NO_LOCATION {
                continue;
            }
            let (die, page) = pools.die_and_page_of(locations[0]);
            let ticket = Ticket::Request(RequestId(number));
            let task = flash.read(die, calendar.now(), (ticket, Class::Read), page);
            (task.location, task.locations) = (locations[0], locations.len() as u32);
            task.bytes = (config.geometry.block_size.0 * locations.len() as u64) as u32;
            command.reads += 1;
            dies.push(die);
        }
        command.parts += command.reads;
        dies.sort_unstable();
        dies.dedup();
        for die in dies.drain(..) {
            flash.start(die, &*policies.tuner, &mut calendar.within(Event::Flash));
        }
        commands.dies = dies;
    }

    /// Handles the end of a flash command.
    fn command_done(&mut self, done: &CommandCompletion, calendar: &mut impl Schedule<Event>) {
        let now = calendar.now();
        self.digest.add(now.ps() ^ u64::from(done.die.0) << 48);
        self.digest.add(u64::from(done.command.page.0) << 3 | done.command.operation.kind() as u64);
        let mut next = self.flash.finish(done, now);
        while let Some(id) = next {
            let task = self.flash.release(done.die, id);
            next = task.next_in_chain();
            let tuner = &mut *self.policies.tuner;
            let failed = match self.flash.outcome(&task, done, tuner, &mut calendar.within(Event::Flash)) {
                Outcome::Retried => continue,
                Outcome::Done => false,
                Outcome::Unreadable(_) | Outcome::Failed | Outcome::Rejected => true,
            };
            self.finish_task(&task, done, failed, calendar);
        }
        self.start(done.die, calendar);
        self.start_background_work(calendar);
    }

    /// Notifies the tuner of the erase of a block.
    fn note_erased(&mut self, block: BlockSetId) {
        self.policies.tuner.erased(block);
    }

    fn start(&mut self, die: DieId, calendar: &mut impl Schedule<Event>) {
        self.flash.start(die, &*self.policies.tuner, &mut calendar.within(Event::Flash));
    }

    fn finish_task(
        &mut self,
        task: &Task,
        done: &CommandCompletion,
        failed: bool,
        calendar: &mut impl Schedule<Event>,
    ) {
        match task.ticket {
            Ticket::Scan(_) => self.finish_scan_read(calendar),
            Ticket::Gc(..) | Ticket::TableUnit(_) => self.finish_repair_task(task, failed, calendar),
            Ticket::HostUnit(_) => {
                let unit = self.buffers.at_die(self.config.pools.die_of(task.location).0);
                let waits = unit.and_then(|id| self.buffers.get(id).command);
                waits.into_iter().for_each(|number| self.note_task(number, task, done, calendar.now()));
                self.finish_program(task, failed, calendar);
            }
            Ticket::Request(RequestId(number)) => {
                self.note_task(number, task, done, calendar.now());
                match task.operation {
                    Work::Erase => self.finish_erase(number, task, failed, calendar),
                    _ => self.finish_read(number, task, failed, calendar),
                }
            }
            other => unreachable!("{other:?} does not belong to this device"),
        }
    }

    /// Records the times of a flash command that a host command waits for.
    fn note_task(&mut self, number: u32, task: &Task, done: &CommandCompletion, now: Instant) {
        if let Some(teller) = &mut self.commands.teller {
            teller.task(number, self.flash.spent(task, done, now), TaskWait::of(done.die, task));
        }
    }

    /// Handles the end of a flash read, which may have failed.
    fn finish_read(&mut self, number: u32, task: &Task, failed: bool, calendar: &mut impl Schedule<Event>) {
        let mut first = None;
        let mut any_failed = false;
        let Self { flash, commands, counts, .. } = self;
        let command = commands.get_mut(number);
        let read = task.location.0..task.location.0 + task.locations;
        for at in 0..command.locations.len() {
            let location = command.locations[at];
            if !read.contains(&location.0) {
                continue;
            }
            let found = flash.stamp(location);
            assert!(found != DataTag::ERASED, "location {} can be read and is not programmed", location.0);
            if failed || found == DataTag::UNREADABLE {
                any_failed = true;
                command.record_failure(at, 1, Failure::Unread);
                counts.blocks_unreadable += 1;
            } else {
                command.stamps[at] = found;
            }
            first = first.or(Some(command.blocks[at]));
        }
        if let Some(first) = first.filter(|_| any_failed || task.tries > 0) {
            let notice = if any_failed { Notice::Unrecovered } else { Notice::HighErrorRate };
            self.notifications.push(Notification { first, blocks: task.locations, notice });
        }
        let command = self.commands.get_mut(number);
        command.reads -= 1;
        let (is_last, copies) = (command.reads == 0, command.operation == Operation::Copy);
        if is_last && copies {
            self.finish_copy_reads(number, calendar);
        }
        if is_last {
            self.finish_command_reads(calendar);
        }
        self.finish_part(number, calendar);
    }

    /// Ends a part of a command. After its last part the command completes.
    fn finish_part(&mut self, number: u32, calendar: &mut impl Schedule<Event>) {
        if !self.commands.finish_part(number) {
            return;
        }
        self.commands.teller.iter_mut().for_each(|teller| teller.ended(number, calendar.now()));
        let command = self.commands.get_mut(number);
        command.stage = Stage::Completing;
        if command.operation == Operation::Flush && self.buffers.has_stranded() {
            command.record_failure(0, 1, Failure::NotFlushed);
        }
        if matches!(command.operation, Operation::Read | Operation::Copy) {
            for block in &command.blocks {
                self.chunks.get_mut(ChunkId(self.config.geometry.number(block.chunk))).readers -= 1;
            }
        }
        match self.link.as_mut().filter(|_| self.flash.is_clock_running()) {
            Some(link) => {
                let bytes = self.config.geometry.block_size.0 * command.found() as u64;
                let at = link.complete(bytes, calendar.now());
                calendar.at(at, Event::Link(number));
            }
            None => self.completion(number, calendar),
        }
    }

    fn completion(&mut self, number: u32, calendar: &mut impl Schedule<Event>) {
        let completion = self.commands.completion(number, calendar.now(), self.flash.is_clock_running());
        if let Some(teller) = &mut self.commands.teller {
            teller.completed(number, &completion, &self.flash);
        }
        self.completions.push(completion);
        self.start_background_work(calendar);
    }

    /// Number of readable logical blocks of a chunk, from its first on.
    fn readable(&self, chunk: ChunkId) -> u32 {
        let entry = self.chunks.get(chunk);
        match entry.state {
            ChunkState::Closed => entry.written,
            ChunkState::Open => entry.written.saturating_sub(self.config.geometry.mw_cunits),
            ChunkState::Free => 0,
            // A chunk that went offline because the reserve was used up is still readable.
            ChunkState::Offline => entry.written,
        }
    }
}
