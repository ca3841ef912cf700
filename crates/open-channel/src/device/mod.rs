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

pub mod buffer;
mod check;
mod chunk_data;
pub mod chunks;
mod config;
mod counts;
mod die_work;
mod event;
pub mod failures;
mod host;
mod in_flight;
mod journal;
mod latency;
mod link;
mod maintenance;
mod media;
mod metrics;
mod physical_device;
mod power_cut;
mod progress;
mod recovery;
mod repairs;
mod resets;
mod state;
mod time_recorder;
mod writes;

use wordline_device::lifetime::PoolWear;
use wordline_device::physical_device::{ChunkState, Command, LogicalBlock, Operation};
use wordline_flash::{Outcome, RequestId, Task, Ticket};
use wordline_kernel::ensure::ensure;
use wordline_kernel::{Digest, Schedule, Seed};
use wordline_nand::{BlockSetId, Chips, CommandCompletion, Location, Operation as Work};

use buffer::CompletionMode;
use chunk_data::ChunkData;
use chunks::ChunkId;
use die_work::Repairs;
use host::Host;
use in_flight::InFlight;
use media::Media;
use recovery::Recovery;
use resets::Resets;

pub use config::{FailuresFile, OpenChannelConfig, OpenChannelFile};
pub use counts::Counts;
pub use event::Event;
pub use media::Policies;
pub use metrics::{Mark, all as metrics};

/// Open-channel device: it takes the commands of the host to the flash, and what ends there back.
pub struct OpenChannel {
    media: Media,
    host: Host,
    data: ChunkData,
    repairs: Option<Repairs>,
    resets: Resets,
    recovery: Recovery,
    digest: Digest,
}

impl OpenChannel {
    /// Empty device.
    pub fn new(config: OpenChannelConfig, seed: Seed) -> Self {
        let policies = Policies::of(&config);
        Self::with(config, seed, policies)
    }

    /// Empty device with these policies.
    pub fn with(config: OpenChannelConfig, seed: Seed, policies: Policies) -> Self {
        let mut data = ChunkData::new(&config);
        let host = Host::new(&config);
        let media = Media::new(config, seed, policies);
        let (repairs, offline) = Repairs::of(&media.config, &media.chips().factory_bad());
        for chunk in offline {
            data.chunks.set_state(chunk, ChunkState::Offline);
        }
        Self {
            media,
            host,
            data,
            repairs,
            resets: Resets::default(),
            recovery: Recovery::default(),
            digest: Digest::default(),
        }
    }

    /// Configuration of the device.
    pub fn config(&self) -> &OpenChannelConfig {
        &self.media.config
    }

    /// Chips of the device.
    pub fn chips(&self) -> &Chips {
        self.media.chips()
    }

    /// Counts of events since the device was created.
    pub fn counts(&self) -> &Counts {
        &self.media.counts
    }

    /// Program failure manager, if there is one.
    pub fn failures(&self) -> Option<&failures::Manager> {
        self.repairs.as_ref().map(Repairs::manager)
    }

    /// Wear of the chunks.
    pub fn worn(&self) -> PoolWear {
        self.media.worn()
    }

    /// Flash location of the unit with a logical block of a chunk. The unit is written or the next one to be
    /// written.
    fn unit_location(&self, chunk: ChunkId, block: u32) -> Location {
        let unit = self.media.unit();
        match &self.repairs {
            None => self.media.config.pools.at(self.block_of(chunk), block - block % unit),
            Some(repairs) => self.media.first_location(repairs.manager().locate(chunk, block / unit)),
        }
    }

    /// Flash location of a logical block of a chunk.
    #[inline]
    fn location_of(&self, chunk: ChunkId, block: u32) -> Location {
        Location(self.unit_location(chunk, block).0 + block % self.media.unit())
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
        self.media.config.file.buffer.as_ref().is_some_and(is_back)
            && self.repairs.as_ref().is_none_or(|repairs| !repairs.manager().reserve(unit).is_empty())
    }

    /// Accepts a checked command.
    fn take(&mut self, command: &Command<'_>, calendar: &mut impl Schedule<Event>) {
        self.data.accept(command, &self.media);
        let number = self.host.commands.all.add(InFlight::new(command, calendar.now()));
        if command.operation == Operation::Close {
            self.close(number);
        }
        if !self.host.submit(number, &self.media, calendar) {
            self.start_command(number, calendar);
        }
        while let Some(done) = self.media.flash.next_untimed_completion() {
            self.command_done(&done, calendar);
        }
    }

    /// Starts the execution of a command.
    fn start_command(&mut self, number: u32, calendar: &mut impl Schedule<Event>) {
        match self.host.begin(number, &self.media, calendar.now()) {
            Operation::Read => self.begin_reads(number, calendar),
            Operation::Write => self.begin_writes(number, calendar),
            Operation::Copy => {
                self.begin_reads(number, calendar);
                self.begin_writes(number, calendar);
            }
            Operation::Reset => self.begin_resets(number, calendar),
            // The buffer survives a power loss: a flush has no effect (NVMe, VWC).
            Operation::Flush if self.media.is_buffer_protected() => {}
            Operation::Flush => {
                let is_over = self.data.buffers.flush(number);
                self.host.commands.all.get_mut(number).parts += u32::from(!is_over);
            }
            // The chunks were closed when the command was submitted.
            Operation::Close => {}
        }
        self.media.counts.count(self.host.commands.all.get(number));
        self.finish_part(number, calendar);
        self.start_background_work(calendar);
    }

    /// Starts the reads of a command. Buffered blocks are read at once; the others need a flash read for each
    /// page.
    fn begin_reads(&mut self, number: u32, calendar: &mut impl Schedule<Event>) {
        let blocks = std::mem::take(&mut self.host.commands.all.get_mut(number).blocks);
        for (at, LogicalBlock { chunk, block }) in blocks.iter().enumerate() {
            let chunk = self.media.id_of(*chunk);
            let ChunkData { chunks, buffers } = &self.data;
            if *block < chunks.get(chunk).programmed {
                let location = self.location_of(chunk, *block);
                self.host.commands.all.get_mut(number).locations[at] = location;
                continue;
            }
            match buffers.find(chunks.unit_of(chunk), chunk, *block) {
                Some(stamp) => self.host.commands.all.get_mut(number).stamps[at] = stamp,
                None => self.host.unread(number, at, &mut self.media),
            }
        }
        self.host.commands.all.get_mut(number).blocks = blocks;
        self.host.queue_reads(number, &mut self.media, calendar);
    }

    /// Handles the end of a flash command.
    fn command_done(&mut self, done: &CommandCompletion, calendar: &mut impl Schedule<Event>) {
        let now = calendar.now();
        self.digest.add(now.ps() ^ u64::from(done.die.0) << 48);
        self.digest.add(u64::from(done.command.page.0) << 3 | done.command.operation.kind() as u64);
        let mut next = self.media.flash.finish(done, now);
        while let Some(id) = next {
            let Media { flash, policies, .. } = &mut self.media;
            let task = flash.release(done.die, id);
            next = task.next_in_chain();
            let tuner = &mut *policies.tuner;
            let failed = match flash.outcome(&task, done, tuner) {
                Outcome::Retried => continue,
                Outcome::Done => false,
                Outcome::Unreadable(_) | Outcome::Failed | Outcome::Rejected => true,
            };
            self.finish_task(&task, done, failed, calendar);
        }
        self.media.start(done.die, calendar);
        self.start_background_work(calendar);
    }

    fn finish_task(
        &mut self,
        task: &Task,
        done: &CommandCompletion,
        failed: bool,
        calendar: &mut impl Schedule<Event>,
    ) {
        match task.ticket {
            Ticket::Scan(_) => {
                if self.recovery.finish_read() {
                    self.recovered(calendar);
                }
            }
            Ticket::Gc(..) | Ticket::TableUnit(_) => self.finish_repair_task(task, failed, calendar),
            Ticket::HostUnit(_) => {
                let unit = self.data.buffers.at_die(self.media.config.pools.die_of(task.location).0);
                let waits = unit.and_then(|id| self.data.buffers.get(id).command);
                if let Some(number) = waits {
                    self.host.note_task(number, task, done, &self.media, calendar.now());
                }
                self.finish_program(task, failed, calendar);
            }
            Ticket::Request(RequestId(number)) => {
                self.host.note_task(number, task, done, &self.media, calendar.now());
                match task.operation {
                    Work::Erase => self.finish_erase(number, task, failed, calendar),
                    _ => self.finish_read(number, task, failed, calendar),
                }
            }
            other => unreachable!("{other:?} does not belong to this device"),
        }
    }

    /// Handles the end of a flash read, which may have failed.
    fn finish_read(&mut self, number: u32, task: &Task, failed: bool, calendar: &mut impl Schedule<Event>) {
        let is_last = self.host.finish_read(number, task, failed, &mut self.media);
        if is_last && self.host.commands.all.get(number).operation == Operation::Copy {
            self.finish_copy_reads(number, calendar);
        }
        if is_last {
            self.finish_command_reads(calendar);
        }
        self.finish_part(number, calendar);
    }

    /// Ends a part of a command. After its last part the command completes.
    #[inline]
    fn finish_part(&mut self, number: u32, calendar: &mut impl Schedule<Event>) {
        self.data.finish_part(number, &mut self.host, &self.media, calendar);
        self.follow_completions(calendar);
    }

    /// Starts background work if a command has completed.
    fn follow_completions(&mut self, calendar: &mut impl Schedule<Event>) {
        if self.host.take_completed() {
            self.start_background_work(calendar);
        }
    }

    /// Number of parts of outstanding commands: flash reads and erases, units, resets and flushes. `None` if
    /// fewer flash commands are outstanding than recovery, failure manager and buffer count together. This
    /// happens only in a forged state.
    fn parts_in_flight(&self) -> Option<usize> {
        let buffers = &self.data.buffers;
        let of_repairs = self.repairs.as_ref().map_or(0, |repairs| repairs.tasks_in_flight());
        let of_none = self.recovery.reads().checked_add(of_repairs)?.checked_add(buffers.programs())?;
        let of_commands = self.media.flash.outstanding().checked_sub(of_none)?;
        Some(of_commands + buffers.awaited_units() + buffers.flushes() + self.resets.len())
    }

    /// Checks that the tables agree with each other and, after recovery, with the chips.
    fn check_tables(&self) -> Result<(), String> {
        self.data.chunks.check_loaded()?;
        if let Some(repairs) = &self.repairs {
            repairs.check(self.media.config.pools.block_sets())?;
        }
        if self.recovery.is_under_way() {
            return Ok(());
        }
        let of_unit = (self.media.unit(), self.media.config.geometry.blocks_per_chunk);
        self.data.chunks.iter().try_for_each(|(chunk, entry)| {
            let in_flash = self.chips().programmed(self.block_of(chunk));
            let is_mapped = self.failures().is_none_or(|manager| manager.shift(chunk) == Some(0));
            entry.check(chunk, in_flash, (self.repairs.is_some(), is_mapped), of_unit)
        })
    }

    fn check_event(&self, event: Event) -> Result<(), String> {
        let Host { link, commands, .. } = &self.host;
        match event {
            Event::Flash(event) => self.media.flash.check_event(event),
            Event::Link(number) => ensure(link.is_some() && commands.all.find(number).is_some(), || {
                format!("{event:?} of no command")
            }),
            Event::Unit(id) => {
                ensure(link.is_some() && self.data.buffers.has(id), || format!("{event:?} of no unit"))
            }
        }
    }
}
