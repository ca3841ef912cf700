//! The side of the host: outstanding commands, the link, and what the host has not read yet.

use wordline_device::physical_device::{Completion, Failure, Notice, Notification, Operation};
use wordline_flash::{RequestId, Task, TaskWait, Ticket};
use wordline_kernel::{Instant, Schedule};
use wordline_nand::{CommandCompletion, DataTag, Location};

use super::chunks::ChunkId;
use super::config::OpenChannelConfig;
use super::event::Event;
use super::in_flight::{Commands, Stage};
use super::link::HostLink;
use super::media::Media;
use super::time_recorder::CommandTimes;

/// Commands of the host, and the link over which they come.
pub(super) struct Host {
    pub(super) commands: Commands,
    pub(super) link: Option<HostLink>,
    pub(super) completions: Vec<Completion>,
    pub(super) notifications: Vec<Notification>,
    /// Whether a command has completed since the device last asked. False between events.
    pub(super) has_completed: bool,
}

impl Host {
    /// A host without outstanding commands.
    pub(super) fn new(config: &OpenChannelConfig) -> Self {
        Self {
            commands: Commands::default(),
            link: config.file.link.as_ref().map(HostLink::new),
            completions: Vec::new(),
            notifications: Vec::new(),
            has_completed: false,
        }
    }

    /// Whether a command has completed since the last call.
    #[inline]
    pub(super) fn take_completed(&mut self) -> bool {
        std::mem::take(&mut self.has_completed)
    }

    /// The link, if commands take time on it now.
    fn link(&mut self, media: &Media) -> Option<&mut HostLink> {
        self.link.as_mut().filter(|_| media.flash.is_clock_running())
    }

    /// Sends the submission of a command over the link. Returns false without a link: the command starts at
    /// once.
    pub(super) fn submit(&mut self, number: u32, media: &Media, calendar: &mut impl Schedule<Event>) -> bool {
        let Some(link) = self.link(media) else { return false };
        let at = link.submit(calendar.now());
        calendar.at(at, Event::Link(number));
        true
    }

    /// Continues a command on the link with its next step. Returns whether the device has fetched it and has
    /// to start it.
    pub(super) fn advance(
        &mut self,
        number: u32,
        media: &Media,
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        let command = self.commands.all.get_mut(number);
        match command.stage {
            Stage::Submitting => {
                command.stage = Stage::Fetching;
                let link = self.link.as_mut().expect("an event of it");
                calendar.at(link.fetch(calendar.now()), Event::Link(number));
                false
            }
            Stage::Fetching => true,
            Stage::Completing => {
                self.complete(number, media, calendar.now());
                false
            }
            Stage::Executing => unreachable!("the link has nothing of a command that is worked on"),
        }
    }

    /// Begins the execution of a command.
    pub(super) fn begin(&mut self, number: u32, media: &Media, now: Instant) -> Operation {
        let is_timed = self.commands.breakdowns.is_some();
        let command = self.commands.all.get_mut(number);
        command.times =
            is_timed.then(|| Box::new(CommandTimes::begin(command.submitted, now, media.flash.worked())));
        command.stage = Stage::Executing;
        // The command counts as one part until all of its parts are known.
        command.parts = 1;
        command.operation
    }

    /// Records that a logical block of a command is unreadable.
    pub(super) fn unread(&mut self, number: u32, at: usize, media: &mut Media) {
        self.commands.all.get_mut(number).record_failure(at, 1, Failure::Unread);
        media.counts.blocks_unreadable += 1;
    }

    /// Queues the flash reads of a command, one for each page.
    pub(super) fn queue_reads(
        &mut self,
        number: u32,
        media: &mut Media,
        calendar: &mut impl Schedule<Event>,
    ) {
        let mut dies = std::mem::take(&mut self.commands.dies);
        let command = self.commands.all.get_mut(number);
        let ticket = Ticket::Request(RequestId(number));
        command.reads += media.queue_reads(&command.locations, ticket, calendar.now(), &mut dies);
        command.parts += command.reads;
        dies.sort_unstable();
        dies.dedup();
        for die in dies.drain(..) {
            media.start(die, calendar);
        }
        self.commands.dies = dies;
    }

    /// Handles the end of a flash read, which may have failed. Returns whether it was the last one of its
    /// command.
    pub(super) fn finish_read(&mut self, number: u32, task: &Task, failed: bool, media: &mut Media) -> bool {
        let mut first = None;
        let mut any_failed = false;
        let command = self.commands.all.get_mut(number);
        let read = task.location.0..task.location.0 + task.locations;
        for at in 0..command.locations.len() {
            let location: Location = command.locations[at];
            if !read.contains(&location.0) {
                continue;
            }
            let found = media.flash.stamp(location);
            assert!(found != DataTag::ERASED, "location {} can be read and is not programmed", location.0);
            if failed || found == DataTag::UNREADABLE {
                any_failed = true;
                command.record_failure(at, 1, Failure::Unread);
                media.counts.blocks_unreadable += 1;
            } else {
                command.stamps[at] = found;
            }
            first = first.or(Some(command.blocks[at]));
        }
        command.reads -= 1;
        let is_last = command.reads == 0;
        if let Some(first) = first.filter(|_| any_failed || task.tries > 0) {
            let notice = if any_failed { Notice::Unrecovered } else { Notice::HighErrorRate };
            self.notifications.push(Notification { first, blocks: task.locations, notice });
        }
        is_last
    }

    /// Records the times of a flash command that a host command waits for.
    pub(super) fn note_task(
        &mut self,
        number: u32,
        task: &Task,
        done: &CommandCompletion,
        media: &Media,
        now: Instant,
    ) {
        if let Some(times) = self.commands.times_of(number) {
            times.note_task(media.flash.spent(task, done, now), TaskWait::of(done.die, task));
        }
    }

    /// Transfers the data of a unit over the link. Returns false without a link: the data are there at once.
    pub(super) fn transfer_unit(
        &mut self,
        number: u32,
        id: u32,
        media: &Media,
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        let Some(link) = self.link(media) else { return false };
        let bytes = media.config.geometry.block_size.0 * u64::from(media.unit());
        let at = link.receive(bytes, calendar.now());
        calendar.at(at, Event::Unit(id));
        let time = at - calendar.now();
        self.commands.times_of(number).into_iter().for_each(|times| times.note_link(time));
        true
    }

    /// Ends a command that has no more parts: its completion goes over the link.
    pub(super) fn end(&mut self, number: u32, media: &Media, calendar: &mut impl Schedule<Event>) {
        let command = self.commands.all.get_mut(number);
        command.times.iter_mut().for_each(|times| times.end(calendar.now()));
        command.stage = Stage::Completing;
        let found = command.found();
        match self.link(media) {
            Some(link) => {
                let bytes = media.config.geometry.block_size.0 * found as u64;
                let at = link.complete(bytes, calendar.now());
                calendar.at(at, Event::Link(number));
            }
            None => self.complete(number, media, calendar.now()),
        }
    }

    fn complete(&mut self, number: u32, media: &Media, now: Instant) {
        self.completions.push(self.commands.completion(number, now, &media.flash));
        self.has_completed = true;
    }

    /// Notifies the host that a chunk ended early, before logical block `next`.
    pub(super) fn notify_end(&mut self, chunk: ChunkId, next: u32, notice: Notice, media: &Media) {
        let geometry = &media.config.geometry;
        let (first, blocks) = (geometry.chunk(chunk.0).at(next), geometry.blocks_per_chunk - next);
        self.notifications.push(Notification { first, blocks, notice });
    }

    /// Drops all commands at a power loss. Returns their tags.
    pub(super) fn cut(&mut self) -> Vec<u32> {
        self.commands.breakdowns.iter_mut().for_each(|breakdowns| **breakdowns = Default::default());
        self.commands.all.forget().map(|command| command.tag).collect()
    }
}
