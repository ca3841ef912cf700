//! Commands of a device: acceptance, start and completion.

use std::collections::VecDeque;
use std::fmt::{self, Write};

use wordline_device::tail::Tail;
use wordline_device::timeline::{OccupancySample, TimelineRequest};
use wordline_device::{Command, Completion, times};
use wordline_flash::RequestId;
use wordline_ftl::Ftl;
use wordline_kernel::ensure::ensure;
use wordline_kernel::{Duration, Id, Instant, Schedule, state};

use super::completion::complete_soon;
use super::firmware::Firmware;
use super::namespaces::Namespace;
use super::port::{Port, Stage};
use super::requests::{Request, Requests};
use crate::config::Config;
use crate::engines::Core;
use crate::event::Event;

/// Waiting and started commands, and completions.
#[derive(Clone, Debug)]
pub(super) struct Commands {
    /// All outstanding commands.
    pub(super) requests: Requests,
    /// Commands of a direct interface that wait until the device can start them.
    waiting: VecDeque<RequestId>,
    /// Commands that were started and have not completed.
    pub(super) started: u32,
    /// When the firmware can take the next command.
    pub(super) firmware: Firmware,
    /// The link, if there is one.
    pub(super) port: Option<Box<Port>>,
    namespaces: Vec<Namespace>,
    completions: Vec<Completion>,
    /// `None` without tail attribution.
    pub(super) tail: Option<Box<Tail>>,
    /// `None` while requests are not recorded.
    pub(super) recorded: Option<Box<(Vec<TimelineRequest>, Vec<OccupancySample>)>>,
}

state!(Commands { values { requests, waiting, started, firmware, completions } parts { port } fixed { namespaces, tail, recorded } });

impl Commands {
    /// No commands.
    pub fn new(config: &Config) -> Self {
        Self {
            requests: Requests::default(),
            waiting: VecDeque::new(),
            started: 0,
            firmware: Firmware::default(),
            port: Port::of(&config.file.front).map(Box::new),
            namespaces: config.namespaces.clone(),
            completions: Vec::new(),
            tail: None,
            recorded: None,
        }
    }

    /// Drops all commands after a power cut at `now`, and returns them.
    pub fn forget(&mut self, config: &Config, now: Instant) -> Vec<Command> {
        let ids: Vec<RequestId> = self.requests.ids().collect();
        let mut command_of = |id| {
            let mut command = self.requests.get(id).command;
            self.as_submitted(&mut command);
            command
        };
        let commands = ids.into_iter().map(&mut command_of).collect();
        let (completions, recorded) = (std::mem::take(&mut self.completions), self.recorded.take());
        let mut tail = self.tail.take();
        tail.iter_mut().for_each(|tail| tail.forget());
        let link = self.port.as_ref().map(|port| port.link().cut(now));
        *self = Self { completions, tail, recorded, ..Self::new(config) };
        if let (Some(port), Some(link)) = (&mut self.port, link) {
            port.adopt_link(link);
        }
        commands
    }

    /// Checks a state loaded at `now`: waiting commands must exist and be counted. Returns the requests in
    /// use.
    pub fn check_loaded(&self, now: Instant, interval: Duration) -> Result<Vec<bool>, String> {
        let in_use = self.requests.in_use()?;
        let is_in_use = |id: RequestId| in_use.get(id.index()) == Some(&true);
        let mut used = (0..in_use.len()).map(RequestId::from_index).filter(|id| is_in_use(*id));
        let is_past = used.clone().all(|id| self.requests.look(id).submitted <= now);
        ensure(is_past, || "a command of the future".into())?;
        let (outstanding, started) = (self.requests.outstanding(), self.started as usize);
        match &self.port {
            Some(port) => port.check_loaded(&mut used, is_in_use)?,
            None => {
                let holds = started + self.waiting.len() == outstanding;
                ensure(holds && self.waiting.iter().all(|id| is_in_use(*id)), || {
                    format!("{started} of {outstanding} commands are taken up")
                })?;
            }
        }
        self.firmware.check_loaded(now, interval, started as u64)?;
        ensure(started <= outstanding, || format!("{started} of {outstanding} commands are taken up"))?;
        Ok(in_use)
    }

    /// Accepts a command, and starts it if possible. Returns its id if its work begins at once. Panics if the
    /// command exceeds its namespace.
    #[inline]
    pub fn submit(
        &mut self,
        command: Command,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) -> Option<RequestId> {
        let id = self.accept(command, calendar.now());
        core.ftl.gc.note_command();
        if self.port.is_some() && core.ftl.flash.is_clock_running() {
            self.enter_port(id, &command, calendar);
        } else if self.started < core.config.file.front.queue_depth {
            return self.start(id, core, calendar);
        } else {
            self.waiting.push_back(id);
        }
        None
    }

    /// Accepts a command and returns its id. Panics if the command exceeds its namespace.
    #[inline]
    fn accept(&mut self, command: Command, now: Instant) -> RequestId {
        let namespace = self.namespaces.get(usize::from(command.namespace));
        let Namespace { base, sectors } = *namespace.unwrap_or_else(|| reject_out_of_range(&command));
        if command.sector > sectors || command.sectors > sectors - command.sector {
            reject_out_of_range(&command);
        }
        let id = self.requests.add(command, now);
        self.requests.get(id).command.sector += base;
        id
    }

    /// Converts the command of a request back to the form in which the host submitted it.
    #[inline]
    fn as_submitted(&self, command: &mut Command) {
        command.sector -= self.namespaces[usize::from(command.namespace)].base;
    }

    /// Completions that were not taken or cleared, in order.
    #[inline]
    pub fn completions(&self) -> &[Completion] {
        &self.completions
    }

    /// Clears the completions.
    #[inline]
    pub fn clear_completions(&mut self) {
        self.completions.clear();
    }

    /// Moves the completions that were not taken or cleared to the end of `into`.
    #[inline]
    pub fn take_completions(&mut self, into: &mut Vec<Completion>) {
        if !self.completions.is_empty() {
            into.append(&mut self.completions);
        }
    }

    /// Starts a command of a direct interface. Returns its id if its work begins at once.
    #[inline]
    fn start(
        &mut self,
        id: RequestId,
        core: &Core,
        calendar: &mut impl Schedule<Event>,
    ) -> Option<RequestId> {
        self.started += 1;
        let request = self.requests.get(id);
        request.queued = calendar.now() - request.submitted;
        let front = &core.config.file.front;
        let mut time = front.command_time;
        if front.command_interval > Duration::ZERO && core.ftl.flash.is_clock_running() {
            let wait = self.firmware.take(calendar.now(), front.command_interval);
            request.queued += wait;
            time += wait;
        }
        if time == Duration::ZERO {
            return Some(id);
        }
        calendar.after(time, Event::Begin(id));
        None
    }

    /// Fails a command, because the device has reached its end of life.
    pub fn refuse(&mut self, id: RequestId, core: &Core, calendar: &mut impl Schedule<Event>) {
        self.requests.get(id).failed = true;
        complete_soon(id, &core.config, calendar);
    }

    /// Completes a command whose work is done. Returns the command, if any, whose work can begin now.
    #[inline]
    pub fn complete(
        &mut self,
        id: RequestId,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) -> Option<RequestId> {
        if self.port.is_some() && core.ftl.flash.is_clock_running() {
            self.send_completion(id, calendar);
            return None;
        }
        self.deliver_completion(id, Duration::ZERO, core, calendar);
        // The completion lets the oldest waiting command start.
        let next = self.waiting.pop_front()?;
        self.start(next, core, calendar)
    }

    /// Keeps the contents that a completed command found, for data verification.
    #[cold]
    fn note_completion(&mut self, id: RequestId, core: &mut Core) {
        let tag = self.requests.get(id).command.tag;
        if let Some(contents) = &mut core.ftl.contents {
            contents.completed(id, tag);
        }
    }

    /// Delivers the completion of a command to the host. `on_link` is the command's time on the link.
    #[inline(always)]
    pub(super) fn deliver_completion(
        &mut self,
        id: RequestId,
        on_link: Duration,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        let now = calendar.now();
        let request = self.requests.get(id);
        let latency = now - request.submitted;
        let controller = if core.ftl.flash.is_clock_running() {
            core.config.file.front.command_time
        } else {
            Duration::ZERO
        };
        let known = request.queued + on_link + controller + request.spent.total();
        assert!(known <= latency, "the parts of a command's time exceed it: {request:?} of {latency}");
        let outside = [request.queued, on_link, controller, latency - known];
        // Reads and writes are the first two operations.
        if let Some(sums) = core.ftl.totals.times.spent.get_mut(request.command.operation as usize) {
            times::add_to(sums, &request.spent, outside);
        }
        core.ftl.digest.add(now.ps());
        core.ftl.digest.add(u64::from(request.command.tag) << 1 | u64::from(request.failed));
        let mut completion = Completion { command: request.command, latency, failed: request.failed };
        self.as_submitted(&mut completion.command);
        self.completions.push(completion);
        if self.recorded.is_some() {
            self.record_completion(id, completion, core, now);
        }
        if let Some(tail) = &mut self.tail {
            let request = self.requests.look(id);
            let parts = || times::with_outside(&request.spent, outside);
            tail.completed(id, (&completion, request.submitted), parts, &core.ftl.flash);
        }
        if core.ftl.contents.is_some() {
            self.note_completion(id, core);
        }
        self.requests.remove(id);
        self.started -= 1;
        self.note_idle(core, calendar);
    }

    #[cold]
    fn record_completion(&mut self, id: RequestId, completion: Completion, core: &Core, at: Instant) {
        let submitted = self.requests.look(id).submitted;
        let (requests, levels) = &mut **self.recorded.get_or_insert_default();
        requests.push(TimelineRequest { id, submitted, completion });
        let Ftl { blocks, config, .. } = &core.ftl;
        let free = config.pools.all_groups().map(|row| blocks.space().free(row) as u64).sum();
        levels.push(OccupancySample { at, buffered: core.cache.buffer().in_use(), free });
    }

    /// Called when a command completed: the device may be idle now.
    #[inline]
    pub fn note_idle(&self, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        if self.requests.outstanding() > 0 {
            return;
        }
        if let Some(due) = core.ftl.gc.note_idle(calendar.now(), &core.ftl.policies) {
            calendar.at(due, Event::Idle);
        }
    }

    /// The request that was submitted first. Started requests come before waiting ones.
    pub fn oldest(&self) -> Option<&Request> {
        let requests = self.requests.ids().map(|id| (!self.has_started(id), self.requests.look(id)));
        let first = requests.min_by_key(|(waits, request)| (*waits, request.submitted, request.command.tag));
        first.map(|(_, request)| request)
    }

    /// Whether the device has started a command.
    pub fn has_started(&self, id: RequestId) -> bool {
        match &self.port {
            Some(port) => port.stage(id) == Stage::Executing,
            None => !self.waiting.contains(&id),
        }
    }

    /// Writes a report of the outstanding commands. `is_stalled` marks writes that wait for buffer space.
    pub fn describe(
        &self,
        now: Instant,
        most: usize,
        is_stalled: impl Fn(RequestId) -> bool,
        out: &mut String,
    ) -> fmt::Result {
        let ids: Vec<RequestId> = self.requests.ids().collect();
        let taken_up = ids.iter().filter(|id| self.has_started(**id)).count();
        writeln!(out, "commands: {} outstanding, {taken_up} of them started", ids.len())?;
        for id in ids.into_iter().take(most) {
            let Request { command, submitted, parts, next_page, .. } = self.requests.look(id);
            let stage = match (self.has_started(id), is_stalled(id)) {
                (_, true) => format!("waits for buffer space from page {next_page} on"),
                (true, false) => format!("waits for {parts} parts"),
                (false, false) => "queued".into(),
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

/// Panics, because a command exceeds its namespace or names one that does not exist.
#[cold]
#[inline(never)]
fn reject_out_of_range(command: &Command) -> ! {
    panic!("a command beyond the capacity, or for a missing namespace: {command:?}")
}
