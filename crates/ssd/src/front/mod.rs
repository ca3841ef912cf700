//! The front end: how commands reach the device, wait their turn, and get their answer back.
//!
//! With a direct interface a command is there when it is submitted. Else it goes over a [`Port`]: the host tells the
//! device of it, the device takes it from its submission queue when the arbitration says so and there is room, fetches
//! it and its data, and sends data and answer back, each over a [`link`] that others use as well.

mod answering;
mod commands;
pub mod config;
mod done;
pub mod link;
pub mod namespaces;
mod over_link;
pub mod port;
mod pump;
pub mod queues;
mod read;
pub mod requests;
mod tail;
mod timer;
mod write;

use std::fmt;

use wordline_kernel::{Factor, Instant, Schedule, state};

use crate::base::Base;
use crate::command::{Answer, Command, Operation, RequestId};
use crate::config::Config;
use crate::engines::Core;
use crate::ensure::ensure;
use crate::event::Event;
use crate::factors::{NO_LINK, Unchanged, none_of};
use crate::timeline::{AnsweredRequest, Levels};
use crate::writer::Writer;
use commands::Commands;
use timer::Timer;

pub use link::{Link, Way};
pub use namespaces::Namespace;
pub use port::{Port, Stage};
pub use requests::{Request, Requests};
pub use tail::{ABOVE, Above, Explained, Interval, Tail};

/// The front end: commands, and the timer of the write buffer.
#[derive(Clone, Debug)]
pub struct Front {
    commands: Commands,
    timer: Timer,
    /// Whether requests of which a part is done are being ended.
    waking: bool,
}

state!(Front { parts { commands, timer } fixed { waking } });

impl Front {
    /// A front end without commands.
    pub fn new(config: &Config) -> Self {
        Self { commands: Commands::new(config), timer: Timer::default(), waking: false }
    }

    /// Forgets all commands, as when the power is cut; which they were.
    pub fn forget(&mut self, config: &Config, now: Instant) -> Vec<Command> {
        (self.timer, self.waking) = (Timer::default(), false);
        self.commands.forget(config, now)
    }

    /// The link to the host, if the interface has one.
    pub fn link(&self) -> Option<&Link> {
        self.commands.port.as_deref().map(|port| port.link())
    }

    /// Checks what was loaded at `now`; which requests are in use.
    pub(crate) fn check_loaded(&self, now: Instant) -> Result<Vec<bool>, String> {
        self.commands.check_loaded(now)
    }

    /// Whether an event that was loaded can come to it, or to the flash, while these requests are `known`.
    pub(crate) fn check_event(
        &self,
        event: Event,
        base: &Base,
        known: impl Fn(RequestId) -> bool,
    ) -> Result<(), String> {
        let is_known = match event {
            Event::Begin(id) | Event::Answer(id) => known(id),
            Event::Link(id) => known(id) && self.commands.port.is_some(),
            Event::FlushTimer | Event::Idle => true,
            Event::Flash(event) => return base.flash.check_event(event),
        };
        ensure(is_known, || format!("{event:?} of a command that is not there"))
    }

    /// From now on requests are explained to this tail.
    pub(crate) fn explain(&mut self, tail: Tail) {
        self.commands.tail = Some(Box::new(tail));
    }

    /// Where the time of requests went, if they are explained.
    pub(crate) fn tail(&self) -> Option<&Tail> {
        self.commands.tail.as_deref()
    }

    /// Records requests from now on, or none any more.
    pub(crate) fn record(&mut self, on: bool) {
        self.commands.recorded = on.then(Box::default);
    }

    /// The requests recorded so far in the order of their answers, and how full the device was at each.
    pub(crate) fn take_recorded(&mut self) -> (Vec<AnsweredRequest>, Vec<Levels>) {
        self.commands.recorded.as_mut().map(|recorded| std::mem::take(&mut **recorded)).unwrap_or_default()
    }

    /// A request waits for the buffer from now on.
    #[inline]
    fn note_came(&mut self, id: RequestId, now: Instant, core: &Core) {
        if let Some(tail) = &mut self.commands.tail {
            tail.note_came(id, now, &core.base);
        }
    }

    /// Commands that are not answered.
    #[inline]
    pub fn outstanding(&self) -> usize {
        self.commands.requests.outstanding()
    }

    /// The answers that were given and neither taken nor forgotten, in the order in which they were given.
    #[inline]
    pub(crate) fn answers(&self) -> &[Answer] {
        self.commands.answers()
    }

    /// The answers so far are of interest no more.
    #[inline]
    pub(crate) fn forget_answers(&mut self) {
        self.commands.forget_answers();
    }

    /// The answers that were neither taken nor forgotten, moved to the end of `into`.
    #[inline]
    pub(crate) fn take_answers(&mut self, into: &mut Vec<Answer>) {
        self.commands.take_answers(into);
    }

    /// The request that was submitted first; those that were taken up go before those that wait.
    pub(crate) fn oldest(&self) -> Option<&Request> {
        self.commands.oldest()
    }

    /// The commands that are not answered, in words; a write may be stalled.
    pub(crate) fn tell(
        &self,
        now: Instant,
        most: usize,
        is_stalled: impl Fn(RequestId) -> bool,
        out: &mut String,
    ) -> fmt::Result {
        self.commands.tell(now, most, is_stalled, out)
    }

    /// A request, to be changed.
    #[inline]
    fn get(&mut self, id: RequestId) -> &mut Request {
        self.commands.requests.get(id)
    }

    /// Takes in a command. A bug if it goes beyond its namespace.
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

    /// From now on the link takes its times with this factor.
    ///
    /// # Errors
    /// The reason, where it is not one and there is no link.
    pub(crate) fn change_link(&mut self, factor: Factor) -> Result<(), Unchanged> {
        match self.commands.port.as_deref_mut() {
            Some(port) => port.change_link(factor),
            None => return none_of(factor, NO_LINK),
        }
        Ok(())
    }

    /// A step of a command on the link is over.
    pub(crate) fn link_free(
        &mut self,
        id: RequestId,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        if self.commands.link_free(id, core, calendar) {
            self.begin(id, core, writer, calendar);
        }
    }

    /// The work on a command begins.
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
            Operation::Discard | Operation::Flush | Operation::Compare => {
                self.begin_other(id, core, writer, calendar);
            }
        }
    }

    /// The work begins on a command that neither reads nor writes.
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
            other => unreachable!("{other:?} begins elsewhere"),
        }
    }

    /// The work on a command is done: its answer goes to the host, and another may begin.
    #[inline(never)]
    pub(crate) fn answer(
        &mut self,
        id: RequestId,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        if let Some(next) = self.commands.answer(id, core, calendar) {
            self.begin(next, core, writer, calendar);
        }
    }

    /// Called when no event is pending though commands are: a device at the end of its life may be unable to write
    /// what is in its buffer, and then says so. False if that is not the reason.
    pub(crate) fn give_up(&mut self, core: &mut Core, calendar: &mut impl Schedule<Event>) -> bool {
        if !core.base.life.read_only {
            return false;
        }
        let ids: Vec<RequestId> =
            self.commands.requests.ids().filter(|id| self.commands.is_taken_up(*id)).collect();
        core.cache.forget_waiters();
        for id in ids {
            self.commands.refuse(id, core, calendar);
        }
        core.map.forget_waiters();
        true
    }
}
