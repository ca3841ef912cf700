//! The front end: commands come in, wait their turn, and are answered.

use std::collections::VecDeque;

use wordline_kernel::{Duration, Instant, Schedule};

use super::totals::{Component, Spent};
use super::{Device, Event};
use crate::command::{Answer, Command, Operation, SECTOR};
use crate::ftl::mapping::LogicalPage;
use crate::sectors::Sectors;

/// A command on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub command: Command,
    submitted: Instant,
    started: Instant,
    /// Parts that are not done: flash reads, pages to be programmed, and the admission itself.
    pub parts: u32,
    /// The first page that a stalled write has not put into the buffer.
    pub next_page: u32,
    /// The time of the part that was done last.
    pub spent: Spent,
    pub failed: bool,
}

/// Commands that wait and commands under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Front {
    requests: Vec<Request>,
    free: Vec<u32>,
    waiting: VecDeque<u32>,
    started: u32,
}

impl Front {
    pub fn outstanding(&self) -> usize {
        self.requests.len() - self.free.len()
    }

    #[inline]
    pub fn get(&mut self, slot: u32) -> &mut Request {
        &mut self.requests[slot as usize]
    }

    fn add(&mut self, command: Command, now: Instant) -> u32 {
        let request = Request {
            command,
            submitted: now,
            started: now,
            parts: 0,
            next_page: 0,
            spent: Spent::default(),
            failed: false,
        };
        match self.free.pop() {
            Some(slot) => {
                self.requests[slot as usize] = request;
                slot
            }
            None => {
                self.requests.push(request);
                self.requests.len() as u32 - 1
            }
        }
    }
}

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
}

impl Device {
    /// Takes in a command. A bug if it goes beyond the capacity.
    pub fn submit(&mut self, command: Command, calendar: &mut impl Schedule<Event>) {
        let capacity = self.config.capacity().0 / SECTOR.0;
        let fits = command.sector <= capacity && command.sectors <= capacity - command.sector;
        assert!(fits, "a command beyond the capacity: {command:?}");
        let slot = self.front.add(command, calendar.now());
        if self.front.started < self.config.file.front.queue_depth {
            self.start(slot, calendar);
        } else {
            self.front.waiting.push_back(slot);
        }
    }

    fn start(&mut self, slot: u32, calendar: &mut impl Schedule<Event>) {
        self.front.started += 1;
        self.front.get(slot).started = calendar.now();
        let time = self.config.file.front.command_time;
        if time == Duration::ZERO {
            self.begin(slot, calendar);
        } else {
            calendar.after(time, Event::Begin(slot));
        }
    }

    /// The work on a command begins.
    pub(super) fn begin(&mut self, slot: u32, calendar: &mut impl Schedule<Event>) {
        match self.front.get(slot).command.operation {
            Operation::Read => self.begin_read(slot, calendar),
            Operation::Write => self.begin_write(slot, calendar),
            Operation::Discard => self.discard(slot, calendar),
            Operation::Flush => self.flush(slot, calendar),
        }
    }

    /// Sectors of a logical page.
    #[inline]
    pub(super) fn sectors_per_page(&self) -> u64 {
        self.config.slots.size.0 / SECTOR.0
    }

    /// The pages that a command touches: first, and one beyond the last.
    #[inline]
    pub(super) fn pages_of(&self, command: &Command) -> (u32, u32) {
        let per_page = self.sectors_per_page();
        let end = command.sector + command.sectors;
        let any = u32::from(command.sectors > 0);
        if per_page.is_power_of_two() {
            let shift = per_page.trailing_zeros();
            return ((command.sector >> shift) as u32, (end.saturating_sub(1) >> shift) as u32 + any);
        }
        ((command.sector / per_page) as u32, (end.saturating_sub(1) / per_page) as u32 + any)
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
    #[inline]
    pub(super) fn part_done(&mut self, slot: u32, calendar: &mut impl Schedule<Event>) {
        let request = self.front.get(slot);
        request.parts -= 1;
        if request.parts == 0 {
            self.answer(slot, calendar);
        }
    }

    /// Answers a command without flash after the time of a buffer access.
    pub(super) fn answer_soon(&mut self, slot: u32, calendar: &mut impl Schedule<Event>) {
        calendar.after(self.config.file.buffer.access_time, Event::Answer(slot));
    }

    /// Refuses a command: the device is at the end of its life.
    pub(super) fn refuse(&mut self, slot: u32, calendar: &mut impl Schedule<Event>) {
        self.front.get(slot).failed = true;
        self.answer_soon(slot, calendar);
    }

    /// Answers a command, and starts the next one that waits.
    pub(super) fn answer(&mut self, slot: u32, calendar: &mut impl Schedule<Event>) {
        let now = calendar.now();
        let request = self.front.get(slot);
        let Request { command, submitted, started, failed, .. } = *request;
        let latency = now - submitted;
        let mut spent = request.spent;
        spent.set(Component::Queue, started - submitted);
        spent.set(Component::Controller, self.config.file.front.command_time);
        assert!(spent.total() <= latency, "the parts of a command's time exceed it: {spent:?} of {latency}");
        spent.set(Component::Buffer, latency - spent.total());
        match command.operation {
            Operation::Read => self.totals.add_spent(0, &spent),
            Operation::Write => self.totals.add_spent(1, &spent),
            Operation::Discard | Operation::Flush => {}
        }
        self.digest.add(now.ps());
        self.digest.add(u64::from(command.tag) << 1 | u64::from(failed));
        self.answers.push(Answer { command, latency, failed });
        self.front.free.push(slot);
        self.front.started -= 1;
        self.note_rest(calendar);
        if let Some(next) = self.front.waiting.pop_front() {
            self.start(next, calendar);
        }
    }

    /// Called when no event is pending though commands are: a device at the end of its life may be unable to write
    /// what is in its buffer, and then says so. False if that is not the reason.
    pub fn give_up(&mut self, calendar: &mut impl Schedule<Event>) -> bool {
        if !self.read_only {
            return false;
        }
        let Front { requests, free, waiting, .. } = &self.front;
        let started = |slot: &u32| !free.contains(slot) && !waiting.contains(slot);
        let slots: Vec<u32> = (0..requests.len() as u32).filter(started).collect();
        self.buffer.forget_waiters();
        for slot in slots {
            self.refuse(slot, calendar);
        }
        self.stalled.clear();
        self.flushes.clear();
        true
    }
}
