//! The front end of a device: commands come in, are taken up, and are answered.

use wordline_kernel::{Duration, Schedule};

use super::{Device, Event};
use crate::Config;
use crate::command::{Answer, Command, Operation, RequestId, SECTOR};
use crate::ftl::mapping::LogicalPage;
use crate::sectors::Sectors;

/// The part of a command that lies in one logical page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub page: LogicalPage,
    /// Its first sector in the page, and one beyond its last.
    from: u32,
    to: u32,
}

impl Piece {
    /// Its sectors of the page.
    #[inline]
    pub fn sectors(&self) -> Sectors {
        Sectors::range(self.from, self.to)
    }

    /// Their numbers.
    pub fn range(&self) -> std::ops::Range<u32> {
        self.from..self.to
    }

    /// How many these are.
    #[inline]
    pub fn len(&self) -> u32 {
        self.to - self.from
    }
}

/// The size of a logical page.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageSize {
    sectors: u64,
    /// The binary logarithm of their number, where they are a power of two.
    shift: Option<u32>,
    all: Sectors,
}

impl PageSize {
    pub fn new(config: &Config) -> Self {
        let sectors = config.unit.0 / SECTOR.0;
        let shift = sectors.is_power_of_two().then_some(sectors.trailing_zeros());
        Self { sectors, shift, all: Sectors::range(0, sectors as u32) }
    }

    /// The page that a sector lies in.
    #[inline]
    fn page_of(&self, sector: u64) -> u32 {
        let page = match self.shift {
            Some(shift) => sector >> shift,
            None => sector / self.sectors,
        };
        page as u32
    }
}

impl Device {
    /// Takes in a command. A bug if it goes beyond its namespace.
    pub fn submit(&mut self, command: Command, calendar: &mut impl Schedule<Event>) {
        assert!(self.is_ready(), "a command for a device that is without its tables: {command:?}");
        let id = self.front.take_in(command, calendar.now());
        self.rest.host_works = true;
        if self.front.port.is_some() && self.flash.takes_time() {
            self.enter_port(id, &command, calendar);
        } else if self.front.started < self.config.file.front.queue_depth {
            self.start(id, calendar);
        } else {
            self.front.waiting.push_back(id);
        }
    }

    /// The command that the host submits next and the one after it: what is looked up of their first pages is fetched into
    /// the processor's cache, of the later one where the page is, of the next one what is there. Changes nothing.
    #[inline]
    pub fn foresee(&self, [next, later]: [Option<&Command>; 2]) {
        if let Some(command) = later {
            let (first, _) = self.pages_of(command);
            self.mapping.prefetch(LogicalPage(first));
            self.buffer.prefetch(LogicalPage(first));
        }
        if let Some(command) = next
            && command.operation == Operation::Read
        {
            let (first, _) = self.pages_of(command);
            self.foresee_read(LogicalPage(first));
        }
    }

    /// A page is going to be read if there is such a page, and where it is was asked for before.
    #[inline]
    pub(super) fn foresee_read(&self, page: LogicalPage) {
        if page.0 < self.mapping.len()
            && let Some(at) = self.mapping.get(page)
        {
            self.blocks.prefetch_block(at);
            self.flash.prefetch(at);
        }
    }

    /// The answers that were given and neither taken nor forgotten, in the order in which they were given.
    #[inline]
    pub fn answers(&self) -> &[Answer] {
        &self.answers
    }

    /// The answers so far are of interest no more.
    #[inline]
    pub fn forget_answers(&mut self) {
        self.answers.clear();
    }

    /// The answers that were neither taken nor forgotten, moved to the end of `into`.
    #[inline]
    pub fn take_answers(&mut self, into: &mut Vec<Answer>) {
        if !self.answers.is_empty() {
            into.append(&mut self.answers);
        }
    }

    /// Takes up a command of a direct interface.
    fn start(&mut self, id: RequestId, calendar: &mut impl Schedule<Event>) {
        self.front.started += 1;
        let request = self.front.get(id);
        request.queued = calendar.now() - request.submitted;
        let time = self.config.file.front.command_time;
        if time == Duration::ZERO {
            self.begin(id, calendar);
        } else {
            calendar.after(time, Event::Begin(id));
        }
    }

    /// The work on a command begins.
    pub(super) fn begin(&mut self, id: RequestId, calendar: &mut impl Schedule<Event>) {
        match self.front.get(id).command.operation {
            Operation::Read => self.begin_read(id, calendar),
            Operation::Write | Operation::WriteZeroes => self.begin_write(id, calendar),
            Operation::Discard | Operation::Flush | Operation::Compare => self.begin_other(id, calendar),
        }
    }

    /// The work begins on a command that neither reads nor writes.
    #[inline(never)]
    fn begin_other(&mut self, id: RequestId, calendar: &mut impl Schedule<Event>) {
        match self.front.get(id).command.operation {
            Operation::Discard => self.discard(id, calendar),
            Operation::Flush => self.flush(id, calendar),
            Operation::Compare => self.begin_compare(id, calendar),
            other => unreachable!("{other:?} begins elsewhere"),
        }
    }

    /// Sectors of a logical page.
    #[inline]
    pub(super) fn sectors_per_page(&self) -> u64 {
        self.page_size.sectors
    }

    /// All sectors of a logical page.
    #[inline]
    pub(super) fn full_page(&self) -> Sectors {
        self.page_size.all
    }

    /// The pages that a command touches: first, and one beyond the last; the same if it has no sectors.
    #[inline]
    pub(super) fn pages_of(&self, command: &Command) -> (u32, u32) {
        let first = self.page_size.page_of(command.sector);
        let end = match command.sectors {
            0 => first,
            sectors => self.page_size.page_of(command.sector + sectors - 1) + 1,
        };
        (first, end)
    }

    /// The part of `command` that lies in page `page`, one of those that it touches.
    #[inline]
    pub(super) fn piece(&self, command: &Command, page: u32) -> Piece {
        let per_page = self.sectors_per_page();
        let start = u64::from(page) * per_page;
        let from = command.sector.saturating_sub(start);
        let to = (command.sector + command.sectors - start).min(per_page);
        Piece { page: LogicalPage(page), from: from as u32, to: to as u32 }
    }

    /// One part of a command is done; the last one answers it.
    #[inline(always)]
    pub(super) fn part_done(&mut self, id: RequestId, calendar: &mut impl Schedule<Event>) {
        let request = self.front.get(id);
        request.parts -= 1;
        if request.parts == 0 {
            self.answer(id, calendar);
        }
    }

    /// Answers a command without flash after the time of a buffer access.
    pub(super) fn answer_soon(&mut self, id: RequestId, calendar: &mut impl Schedule<Event>) {
        calendar.after(self.config.file.buffer.access_time, Event::Answer(id));
    }

    /// Refuses a command: the device is at the end of its life.
    pub(super) fn refuse(&mut self, id: RequestId, calendar: &mut impl Schedule<Event>) {
        self.front.get(id).failed = true;
        self.answer_soon(id, calendar);
    }

    /// The work on a command is done: its answer goes to the host.
    #[inline(never)]
    pub(super) fn answer(&mut self, id: RequestId, calendar: &mut impl Schedule<Event>) {
        if self.front.port.is_some() && self.flash.takes_time() {
            self.report(id, calendar);
        } else {
            self.give_answer(id, Duration::ZERO, calendar);
            if !self.front.waiting.is_empty() {
                self.start_waiting(calendar);
            }
        }
    }

    /// Takes up the command that waits for longest.
    #[inline(never)]
    fn start_waiting(&mut self, calendar: &mut impl Schedule<Event>) {
        if let Some(next) = self.front.waiting.pop_front() {
            self.start(next, calendar);
        }
    }

    /// The host has the answer of a command, of whose time `on_link` was on the link.
    #[inline(always)]
    pub(super) fn give_answer(
        &mut self,
        id: RequestId,
        on_link: Duration,
        calendar: &mut impl Schedule<Event>,
    ) {
        let now = calendar.now();
        let request = self.front.requests.get(id);
        let latency = now - request.submitted;
        let controller =
            if self.flash.takes_time() { self.config.file.front.command_time } else { Duration::ZERO };
        let known = request.queued + on_link + controller + request.spent.total();
        assert!(known <= latency, "the parts of a command's time exceed it: {request:?} of {latency}");
        let outside = [request.queued, on_link, controller, latency - known];
        // Reads and writes are the first two operations.
        if let Some(sums) = self.totals.times.spent.get_mut(request.command.operation as usize) {
            request.spent.add_to(sums, outside);
        }
        self.digest.add(now.ps());
        self.digest.add(u64::from(request.command.tag) << 1 | u64::from(request.failed));
        self.answers.push(Answer { command: request.command, latency, failed: request.failed });
        if let Some(Answer { command, .. }) = self.answers.last_mut() {
            self.front.as_submitted(command);
        }
        if self.contents.is_some() {
            self.note_answer(id);
        }
        self.front.requests.remove(id);
        self.front.started -= 1;
        self.note_rest(calendar);
    }

    /// Called when no event is pending though commands are: a device at the end of its life may be unable to write
    /// what is in its buffer, and then says so. False if that is not the reason.
    pub fn give_up(&mut self, calendar: &mut impl Schedule<Event>) -> bool {
        if !self.read_only {
            return false;
        }
        let ids: Vec<RequestId> = self.front.requests.ids().filter(|id| self.is_taken_up(*id)).collect();
        self.buffer.forget_waiters();
        for id in ids {
            self.refuse(id, calendar);
        }
        self.stalled.clear();
        self.flushes.clear();
        if let Some(discards) = &mut self.discards {
            discards.forget_waiters();
        }
        true
    }
}
