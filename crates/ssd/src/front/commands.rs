//! Commands come in, are taken up, and are answered.

use std::fmt::{self, Write};

use wordline_kernel::{Duration, Instant, Schedule};

use super::answering::answer_soon;
use crate::base::Piece;
use crate::block_device::Oldest;
use crate::command::{Answer, Command, Operation, RequestId};
use crate::contents::Content;
use crate::engines::Core;
use crate::event::Event;
use crate::front::{Front, Request, Stage};
use crate::writer::Writer;

impl Front {
    /// A read of the host finds a piece of a page now.
    #[cold]
    pub(super) fn note_found(&mut self, id: RequestId, piece: &Piece, core: &mut Core) {
        let Command { sector, sectors, .. } = self.get(id).command;
        let start = u64::from(piece.page.0) * core.base.sectors_per_page();
        let found: Vec<(usize, Content)> = piece
            .range()
            .map(|at| {
                (
                    (start + u64::from(at) - sector) as usize,
                    core.cache.content_at(piece.page, at, &core.base, &core.map),
                )
            })
            .collect();
        if let Some(contents) = &mut core.base.contents {
            contents.found(id, sectors, found.into_iter());
        }
    }

    /// A command is answered: what it found goes with it.
    #[cold]
    fn note_answer(&mut self, id: RequestId, core: &mut Core) {
        let tag = self.get(id).command.tag;
        if let Some(contents) = &mut core.base.contents {
            contents.answered(id, tag);
        }
    }

    /// Takes in a command. A bug if it goes beyond its namespace.
    pub(crate) fn submit(
        &mut self,
        command: Command,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        let id = self.take_in(command, calendar.now());
        core.reclaim.note_command();
        if self.port.is_some() && core.base.flash.takes_time() {
            self.enter_port(id, &command, calendar);
        } else if self.started < core.base.config.file.front.queue_depth {
            self.start(id, core, writer, calendar);
        } else {
            self.waiting.push_back(id);
        }
    }

    /// The answers that were given and neither taken nor forgotten, in the order in which they were given.
    #[inline]
    pub(crate) fn answers(&self) -> &[Answer] {
        &self.answers
    }

    /// The answers so far are of interest no more.
    #[inline]
    pub(crate) fn forget_answers(&mut self) {
        self.answers.clear();
    }

    /// The answers that were neither taken nor forgotten, moved to the end of `into`.
    #[inline]
    pub(crate) fn take_answers(&mut self, into: &mut Vec<Answer>) {
        if !self.answers.is_empty() {
            into.append(&mut self.answers);
        }
    }

    /// Takes up a command of a direct interface.
    fn start(
        &mut self,
        id: RequestId,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        self.started += 1;
        let request = self.get(id);
        request.queued = calendar.now() - request.submitted;
        let time = core.base.config.file.front.command_time;
        if time == Duration::ZERO {
            self.begin(id, core, writer, calendar);
        } else {
            calendar.after(time, Event::Begin(id));
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
            Operation::Read => self.begin_read(id, core, calendar),
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
            Operation::Compare => self.begin_compare(id, core, calendar),
            other => unreachable!("{other:?} begins elsewhere"),
        }
    }

    /// One part of a command is done; the last one answers it.
    #[inline(always)]
    pub(super) fn part_done(
        &mut self,
        id: RequestId,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        let request = self.get(id);
        request.parts -= 1;
        if request.parts == 0 {
            self.answer(id, core, writer, calendar);
        }
    }

    /// Refuses a command: the device is at the end of its life.
    pub(super) fn refuse(&mut self, id: RequestId, core: &Core, calendar: &mut impl Schedule<Event>) {
        self.get(id).failed = true;
        answer_soon(id, &core.base, calendar);
    }

    /// The work on a command is done: its answer goes to the host.
    #[inline(never)]
    pub(crate) fn answer(
        &mut self,
        id: RequestId,
        core: &mut Core,
        writer: &mut Writer,
        calendar: &mut impl Schedule<Event>,
    ) {
        if self.port.is_some() && core.base.flash.takes_time() {
            self.report(id, calendar);
        } else {
            self.give_answer(id, Duration::ZERO, core, calendar);
            if !self.waiting.is_empty() {
                self.start_waiting(core, writer, calendar);
            }
        }
    }

    /// Takes up the command that waits for longest.
    #[inline(never)]
    fn start_waiting(&mut self, core: &mut Core, writer: &mut Writer, calendar: &mut impl Schedule<Event>) {
        if let Some(next) = self.waiting.pop_front() {
            self.start(next, core, writer, calendar);
        }
    }

    /// The host has the answer of a command, of whose time `on_link` was on the link.
    #[inline(always)]
    pub(super) fn give_answer(
        &mut self,
        id: RequestId,
        on_link: Duration,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        let now = calendar.now();
        let request = self.requests.get(id);
        let latency = now - request.submitted;
        let controller = if core.base.flash.takes_time() {
            core.base.config.file.front.command_time
        } else {
            Duration::ZERO
        };
        let known = request.queued + on_link + controller + request.spent.total();
        assert!(known <= latency, "the parts of a command's time exceed it: {request:?} of {latency}");
        let outside = [request.queued, on_link, controller, latency - known];
        // Reads and writes are the first two operations.
        if let Some(sums) = core.base.totals.times.spent.get_mut(request.command.operation as usize) {
            request.spent.add_to(sums, outside);
        }
        core.base.digest.add(now.ps());
        core.base.digest.add(u64::from(request.command.tag) << 1 | u64::from(request.failed));
        let mut answer = Answer { command: request.command, latency, failed: request.failed };
        self.as_submitted(&mut answer.command);
        self.answers.push(answer);
        if core.base.contents.is_some() {
            self.note_answer(id, core);
        }
        self.requests.remove(id);
        self.started -= 1;
        self.note_rest(core, calendar);
    }

    /// Called when no event is pending though commands are: a device at the end of its life may be unable to write
    /// what is in its buffer, and then says so. False if that is not the reason.
    pub(crate) fn give_up(&mut self, core: &mut Core, calendar: &mut impl Schedule<Event>) -> bool {
        if !core.base.life.read_only {
            return false;
        }
        let ids: Vec<RequestId> = self.requests.ids().filter(|id| self.is_taken_up(*id)).collect();
        core.cache.forget_waiters();
        for id in ids {
            self.refuse(id, core, calendar);
        }
        core.map.forget_waiters_for_discards();
        true
    }

    /// The command that was submitted first; those that were taken up go before those that wait.
    pub(crate) fn oldest_command(&self) -> Option<Oldest> {
        let ids = self.requests.ids();
        let requests = ids.map(|id| (!self.is_taken_up(id), self.requests.look(id)));
        let first = requests.min_by_key(|(waits, request)| (*waits, request.submitted, request.command.tag));
        first.map(|(_, Request { submitted, command, parts, next_page, .. })| Oldest {
            submitted: *submitted,
            tag: command.tag,
            done: u64::from(*parts) << 32 | u64::from(*next_page),
        })
    }

    /// Whether the work on a command has begun.
    pub(crate) fn is_taken_up(&self, id: RequestId) -> bool {
        match &self.port {
            Some(port) => port.stage(id) == Stage::Working,
            None => !self.waiting.contains(&id),
        }
    }

    /// The commands that are not answered, in words; a write may be stalled.
    pub(crate) fn tell(
        &self,
        now: Instant,
        most: usize,
        is_stalled: impl Fn(RequestId) -> bool,
        out: &mut String,
    ) -> fmt::Result {
        let ids: Vec<RequestId> = self.requests.ids().collect();
        let taken_up = ids.iter().filter(|id| self.is_taken_up(**id)).count();
        writeln!(out, "commands: {} not answered, {taken_up} of them taken up", ids.len())?;
        for id in ids.into_iter().take(most) {
            let Request { command, submitted, parts, next_page, .. } = self.requests.look(id);
            let stage = match (self.is_taken_up(id), is_stalled(id)) {
                (_, true) => format!("waits for room in the buffer from page {next_page} on"),
                (true, false) => format!("waits for {parts} parts"),
                (false, false) => "waits to be taken up".into(),
            };
            writeln!(
                out,
                "  {:?} of {} sectors from {}{}, {} old: {stage}",
                command.operation,
                command.sectors,
                command.sector,
                if command.fua { ", durable" } else { "" },
                now - *submitted,
            )?;
        }
        Ok(())
    }
}
