//! Front end: how commands reach the device, wait, and complete.
//!
//! With a direct interface a command has arrived when it is submitted. Otherwise it passes a [`Port`] and a
//! [link](wordline_device::link) that all commands share:
//!
//! * The host rings the doorbell.
//! * The device takes the command from its submission queue, when arbitration and queue depth allow.
//! * The device fetches the command and its data.
//! * The device sends data and completion back.

mod commands;
mod completion;
pub mod config;
mod done;
mod firmware;
mod link_steps;
pub mod namespaces;
pub mod port;
mod pump;
pub mod queues;
mod read;
pub mod requests;
mod timer;
mod write;

use std::fmt;

use wordline_device::factors::{NO_LINK, none_of};
use wordline_device::link::Link;
use wordline_device::tail::{RequestBreakdown, Tail};
use wordline_device::timeline::{OccupancySample, TimelineRequest};
use wordline_device::{Command, Completion, Operation, UnscalableReason};
use wordline_flash::{Flash, RequestId};
use wordline_ftl::Ftl;
use wordline_ftl::design::DesignContext;
use wordline_kernel::ensure::ensure;
use wordline_kernel::{Factor, Instant, Schedule, state};

use crate::config::Config;
use crate::engines::Core;
use crate::event::Event;
use crate::writer::Writer;
use commands::Commands;
use config::FrontFile;
use timer::Timer;

pub use namespaces::Namespace;
pub use port::{Port, Stage, link_of};
pub use requests::{Request, Requests};

/// The front end: commands, and the flush timer of the write buffer.
#[derive(Clone, Debug)]
pub struct Front {
    commands: Commands,
    timer: Timer,
    /// Whether [`wake_waiters`](Self::wake_waiters) is in progress.
    waking: bool,
}

state!(Front { parts { commands, timer } fixed { waking } });

impl Front {
    /// A front end without commands.
    pub fn new(config: &Config) -> Self {
        Self { commands: Commands::new(config), timer: Timer::default(), waking: false }
    }

    /// Drops all commands after a power cut, and returns them.
    pub fn forget(&mut self, config: &Config, now: Instant) -> Vec<Command> {
        (self.timer, self.waking) = (Timer::default(), false);
        self.commands.forget(config, now)
    }

    /// Link to the host; `None` if the interface has no link.
    pub fn link(&self) -> Option<&Link> {
        self.commands.port.as_deref().map(|port| port.link())
    }

    /// Checks a state loaded at `now`. Returns the requests in use.
    pub(crate) fn check_loaded(&self, now: Instant, file: &FrontFile) -> Result<Vec<bool>, String> {
        self.commands.check_loaded(now, file.command_interval)
    }

    /// Whether a loaded event can occur while these requests are `known`.
    pub(crate) fn check_event(
        &self,
        event: Event,
        flash: &Flash,
        known: impl Fn(RequestId) -> bool,
    ) -> Result<(), String> {
        let is_known = match event {
            Event::Begin(id) | Event::Completion(id) => known(id),
            Event::Link(id) => known(id) && self.commands.port.is_some(),
            Event::FlushTimer | Event::Idle => true,
            Event::Flash(event) => return flash.check_event(event),
        };
        ensure(is_known, || format!("{event:?} of a command that does not exist"))
    }

    /// Collects the latency breakdown of requests in this tail from now on.
    pub(crate) fn explain(&mut self, tail: Tail) {
        self.commands.tail = Some(Box::new(tail));
    }

    /// The tail attribution; `None` if it is off.
    pub(crate) fn tail(&self) -> Option<&Tail> {
        self.commands.tail.as_deref()
    }

    /// Takes the latency breakdown of the completed command with this tag, if each is recorded.
    pub(crate) fn take_breakdown(&mut self, tag: u32, flash: &Flash) -> Option<RequestBreakdown> {
        let partial = self.commands.tail.as_deref_mut()?.take_each(tag)?;
        Some(partial.complete(|waited| flash.behind(waited)))
    }

    /// Drops the latency breakdown of the completed command with this tag.
    pub(crate) fn drop_breakdown(&mut self, tag: u32) {
        self.commands.tail.iter_mut().for_each(|tail| tail.drop_each(tag));
    }

    /// Starts or stops recording requests.
    pub(crate) fn record(&mut self, on: bool) {
        self.commands.recorded = on.then(Box::default);
    }

    /// Takes the requests recorded so far, in the order of completion, and the occupancy of the device at
    /// each.
    pub(crate) fn take_recorded(&mut self) -> (Vec<TimelineRequest>, Vec<OccupancySample>) {
        self.commands.recorded.as_mut().map(|recorded| std::mem::take(&mut **recorded)).unwrap_or_default()
    }

    /// Records that a request waits for the buffer from now on.
    #[inline]
    fn note_buffer_wait(&mut self, id: RequestId, now: Instant, core: &Core) {
        if let Some(tail) = &mut self.commands.tail {
            tail.note_buffer_wait(id, now, &core.ftl.flash);
        }
    }

    /// Outstanding commands.
    #[inline]
    pub fn outstanding(&self) -> usize {
        self.commands.requests.outstanding()
    }

    /// Completions that were not taken or cleared, in order.
    #[inline]
    pub(crate) fn completions(&self) -> &[Completion] {
        self.commands.completions()
    }

    /// Clears the completions.
    #[inline]
    pub(crate) fn clear_completions(&mut self) {
        self.commands.clear_completions();
    }

    /// Moves the completions that were not taken or cleared to the end of `into`.
    #[inline]
    pub(crate) fn take_completions(&mut self, into: &mut Vec<Completion>) {
        self.commands.take_completions(into);
    }

    /// The request that was submitted first. Started requests come before waiting ones.
    pub(crate) fn oldest(&self) -> Option<&Request> {
        self.commands.oldest()
    }

    /// Writes a report of the outstanding commands. `is_stalled` marks writes that wait for buffer space.
    pub(crate) fn describe(
        &self,
        now: Instant,
        most: usize,
        is_stalled: impl Fn(RequestId) -> bool,
        out: &mut String,
    ) -> fmt::Result {
        self.commands.describe(now, most, is_stalled, out)
    }

    /// A request, mutable.
    #[inline]
    fn get(&mut self, id: RequestId) -> &mut Request {
        self.commands.requests.get(id)
    }

    /// Accepts a command. Panics if the command exceeds its namespace.
    pub(crate) fn submit(
        &mut self,
        command: Command,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        if let Some(id) = self.commands.submit(command, core, calendar) {
            self.begin(id, core, writer, calendar);
        }
    }

    /// Multiplies the link's times by this factor from now on.
    ///
    /// # Errors
    /// The reason, if the factor is not one and there is no link.
    pub(crate) fn change_link(&mut self, factor: Factor) -> Result<(), UnscalableReason> {
        match self.commands.port.as_deref_mut() {
            Some(port) => port.change_link(factor),
            None => return none_of(factor, NO_LINK),
        }
        Ok(())
    }

    /// Ends a step of a command on the link.
    pub(crate) fn finish_link_step(
        &mut self,
        id: RequestId,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        if self.commands.finish_link_step(id, core, calendar) {
            self.begin(id, core, writer, calendar);
        }
    }

    /// Starts the work on a command.
    pub(crate) fn begin(
        &mut self,
        id: RequestId,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        match self.get(id).command.operation {
            Operation::Read => self.commands.requests.begin_read(id, core, calendar),
            Operation::Write | Operation::WriteZeroes => self.begin_write(id, core, writer, calendar),
            _ => self.begin_other(id, core, writer, calendar),
        }
    }

    /// Starts a command that is neither a read nor a write.
    #[inline(never)]
    fn begin_other(
        &mut self,
        id: RequestId,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        match self.get(id).command.operation {
            Operation::Discard => self.discard(id, core, writer, calendar),
            Operation::Flush => self.flush(id, core, writer, calendar),
            Operation::Compare => self.commands.requests.begin_compare(id, core, calendar),
            other => other.is_not_executed(),
        }
    }

    /// Completes a command whose work is done. Another command may start.
    #[inline(never)]
    pub(crate) fn complete(
        &mut self,
        id: RequestId,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        if let Some(next) = self.commands.complete(id, core, calendar) {
            self.begin(next, core, writer, calendar);
        }
    }

    /// Called when commands are outstanding but no event is pending. A device at its end of life may be
    /// unable to program the pages in its buffer; it then fails the commands that wait for them. Returns
    /// false if this is not the reason. A design that selected no victim may be.
    pub(crate) fn give_up(&mut self, core: &mut Core, calendar: &mut impl Schedule<Event>) -> bool {
        if !core.ftl.health.read_only {
            let Ftl { policies, blocks, flash, .. } = &core.ftl;
            policies.record_declined_victim(DesignContext { flash, blocks });
            return false;
        }
        let ids: Vec<RequestId> =
            self.commands.requests.ids().filter(|id| self.commands.has_started(*id)).collect();
        core.cache.forget_waiters();
        for id in ids {
            self.commands.refuse(id, core, calendar);
        }
        core.ftl.tables.forget_waiters();
        true
    }
}
