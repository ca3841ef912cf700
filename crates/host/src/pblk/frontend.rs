//! Host commands: their reads, the conditions that they wait for, and their completion.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wordline_device::physical_device::{Completion as DeviceAnswer, MOST_BLOCKS};
use wordline_device::{Command, Completion, PhysicalDevice, SECTOR};
use wordline_kernel::{Bytes, Duration, Instant, Schedule, state};
use wordline_nand::DataTag;

use super::buffer::Buffer;
use super::flash::Flash;
use super::l2p::PageLocation;
use super::layout::Page;
use super::port::{Event, Purpose, Sent};
use super::ring::LOST;
use crate::slab::Slab;

/// An outstanding host command.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Request {
    pub(super) command: Command,
    pub(super) submitted: Instant,
    /// Outstanding device reads.
    reads: u32,
    /// The next page to write.
    next: u32,
    pub(super) failed: bool,
    /// Whether the rate limiter has delayed this write.
    is_limited: bool,
}

/// All host commands.
pub(super) struct HostFrontend {
    sectors_of_a_page: u64,
    /// Host time per command, in addition to the device time.
    command_time: Duration,
    all: Slab<Request>,
    /// Writes that wait for space in the ring.
    writes: VecDeque<u32>,
    /// Commands that wait until all entries before a position are in flash, in order of position.
    flushes: VecDeque<(u64, u32)>,
    completions: Vec<Completion>,
    /// Whether the device is being preconditioned. No host command waits then.
    pub(super) is_filling: bool,
}

state!(HostFrontend {
    values { all, writes, flushes, completions }
    fixed { sectors_of_a_page, command_time, is_filling }
});

impl HostFrontend {
    /// For pages of this size. `command_time`: host time per command.
    pub(super) fn new(page: Bytes, command_time: Duration) -> Self {
        Self {
            sectors_of_a_page: page.0 / SECTOR.0,
            command_time,
            all: Slab::default(),
            writes: VecDeque::new(),
            flushes: VecDeque::new(),
            completions: Vec::new(),
            is_filling: false,
        }
    }

    pub(super) fn sectors_of_a_page(&self) -> u64 {
        self.sectors_of_a_page
    }

    pub(super) fn command_time(&self) -> Duration {
        self.command_time
    }

    pub(super) fn set_command_time(&mut self, time: Duration) {
        self.command_time = time;
    }

    /// The logical pages that a command addresses.
    #[inline]
    pub(super) fn pages_of(&self, command: &Command) -> std::ops::Range<u32> {
        let sectors = self.sectors_of_a_page;
        (command.sector / sectors) as u32..((command.sector + command.sectors) / sectors) as u32
    }

    /// Adds a command and returns its number.
    pub(super) fn add(&mut self, command: Command, submitted: Instant) -> u32 {
        let next = self.pages_of(&command).start;
        self.all.add(Request { command, submitted, reads: 0, next, failed: false, is_limited: false })
    }

    /// Appends a write to the writes that wait for space.
    pub(super) fn queue_write(&mut self, number: u32) {
        self.writes.push_back(number);
    }

    /// Appends a command that waits until all entries before `position` are in flash.
    pub(super) fn queue_flush(&mut self, position: u64, number: u32) {
        self.flushes.push_back((position, number));
    }

    /// The first write that waits for space: its number, its command, and its pages that are not in the ring.
    #[inline]
    pub(super) fn first_write(&self) -> Option<(u32, Command, std::ops::Range<u32>)> {
        let number = *self.writes.front()?;
        let Request { command, next, .. } = *self.all.get(number);
        Some((number, command, next..self.pages_of(&command).end))
    }

    /// Notes that the rate limiter delays the first write. Returns whether it did not delay that write before.
    pub(super) fn note_limited(&mut self) -> bool {
        let first = self.writes.front().copied();
        first.is_some_and(|number| !std::mem::replace(&mut self.all.get_mut(number).is_limited, true))
    }

    /// Notes that the pages of the first write before `next` are in the ring. `is_last`: all of its pages are.
    pub(super) fn advance_write(&mut self, next: u32, is_last: bool) {
        if let Some(number) = self.writes.front().copied() {
            self.all.get_mut(number).next = next;
            if is_last {
                self.writes.pop_front();
            }
        }
    }

    /// Whether the first command that waits for flash waits for entries that are only in the volatile cache
    /// of the device: entries from position `covered` to `synced`.
    pub(super) fn needs_flush(&self, covered: u64, synced: u64) -> bool {
        self.flushes.front().is_some_and(|(position, _)| (covered + 1..=synced).contains(position))
    }

    /// Whether a command with this number is outstanding.
    pub(super) fn has(&self, number: u32) -> bool {
        self.all.has(number)
    }

    /// All outstanding commands.
    pub(super) fn requests(&self) -> impl Iterator<Item = &Request> {
        self.all.values()
    }

    pub(super) fn outstanding(&self) -> usize {
        self.all.count()
    }

    pub(super) fn completions(&self) -> &[Completion] {
        &self.completions
    }

    pub(super) fn clear_completions(&mut self) {
        self.completions.clear();
    }

    /// Whether a command waits for ring entries to be written.
    pub(super) fn has_waiting(&self) -> bool {
        self.is_filling || !self.writes.is_empty() || !self.flushes.is_empty()
    }

    /// How many writes wait for space, and how many commands for flash.
    pub(super) fn waiting(&self) -> [usize; 2] {
        [self.writes.len(), self.flushes.len()]
    }

    /// The position before which entries have to be written at once.
    #[inline]
    pub(super) fn flush_point(&self) -> u64 {
        self.flushes.back().map_or(0, |(position, _)| *position)
    }

    /// Notes that an entry was dropped in favour of a newer entry. Commands that waited for it wait for the
    /// newer one.
    pub(super) fn retarget_flushes(&mut self, dropped: u64, newer: u64) {
        for (position, _) in self.flushes.iter_mut().filter(|(position, _)| *position > dropped) {
            *position = (*position).max(newer + 1);
        }
    }

    /// Removes and returns a command whose entries are all in flash.
    pub(super) fn pop_flushed(&mut self, covered: u64) -> Option<u32> {
        let (position, number) = *self.flushes.front()?;
        if position > covered {
            return None;
        }
        self.flushes.pop_front();
        Some(number)
    }

    /// Fails and returns all waiting commands, after their condition has become impossible.
    fn drain_waiting(&mut self) -> Vec<u32> {
        let numbers: Vec<u32> =
            self.writes.drain(..).chain(self.flushes.drain(..).map(|(_, number)| number)).collect();
        for number in &numbers {
            self.all.get_mut(*number).failed = true;
        }
        numbers
    }

    /// Drops and returns the outstanding commands after a power cut.
    pub(super) fn forget(&mut self) -> Vec<Command> {
        self.writes.clear();
        self.flushes.clear();
        self.all.take_all().map(|request| request.command).collect()
    }

    /// Checks that the waiting commands exist.
    pub(super) fn check(&self) -> Result<(), String> {
        let flushes = self.flushes.iter().map(|(_, number)| number);
        let is_there = self.writes.iter().chain(flushes).all(|number| self.has(*number));
        if is_there && self.all.is_sound() { Ok(()) } else { Err("commands that do not exist".into()) }
    }

    /// Reads the pages that are not in the ring from the device, in the largest commands allowed. Completes
    /// the command if there are none.
    pub(super) fn read<D: PhysicalDevice>(
        &mut self,
        number: u32,
        flash: &mut Flash<D>,
        buffer: &Buffer,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        let command = self.all.get(number).command;
        let mut failed = false;
        let mut sent = flash.port.new_command(Purpose::Read(number));
        for page in self.pages_of(&command).map(Page) {
            let version = buffer.map.version(page);
            failed |= command.expected != 0 && command.expected != version;
            match buffer.map.get(page) {
                PageLocation::Unmapped => {}
                PageLocation::Ring(index) => {
                    flash.counts.read_from_ring += 1;
                    failed |= buffer.ring.at(index).is_lost();
                }
                PageLocation::Flash(place) => {
                    sent.places.push(place);
                    sent.stamps.push(DataTag { logical: page.0, version });
                }
            }
            if sent.places.len() == MOST_BLOCKS {
                let full = std::mem::replace(&mut sent, flash.port.new_command(Purpose::Read(number)));
                self.send_read(number, full, flash, calendar);
            }
        }
        self.all.get_mut(number).failed |= failed;
        if sent.places.is_empty() {
            flash.port.recycle(sent);
        } else {
            self.send_read(number, sent, flash, calendar);
        }
        if self.all.get(number).reads == 0 {
            self.schedule_completion(number, calendar);
        }
    }

    fn send_read<D: PhysicalDevice>(
        &mut self,
        number: u32,
        sent: Sent,
        flash: &mut Flash<D>,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        flash.counts.read_from_flash += sent.places.len() as u64;
        self.all.get_mut(number).reads += flash.send(sent, calendar);
    }

    /// Completes a device read of a host command. Returns whether it was the last of its command, which
    /// completes after the host time.
    pub(super) fn complete_read(&mut self, number: u32, completion: &DeviceAnswer, sent: &Sent) -> bool {
        let mut failed = completion.failure.is_some();
        for (at, wanted) in sent.stamps.iter().enumerate().filter(|(at, _)| !completion.has_failed(*at)) {
            let found = completion.found[at];
            let is_lost = found.logical == wanted.logical | LOST;
            assert!(is_lost || found == *wanted, "a read found {found:?}, wanted {wanted:?}");
            failed |= is_lost;
        }
        let request = self.all.get_mut(number);
        request.reads -= 1;
        request.failed |= failed;
        request.reads == 0
    }

    /// Completes a command after the host time.
    pub(super) fn schedule_completion<E>(&self, number: u32, calendar: &mut impl Schedule<Event<E>>) {
        calendar.after(self.command_time, Event::Completion(number));
    }

    /// Fails the commands that wait for space that never becomes free. Returns whether there were any.
    pub(super) fn fail_waiting<E>(&mut self, calendar: &mut impl Schedule<Event<E>>) -> bool {
        let numbers = self.drain_waiting();
        numbers.iter().for_each(|number| self.schedule_completion(*number, calendar));
        !numbers.is_empty()
    }

    /// Completes a command. Returns its completion and when it was submitted.
    pub(super) fn complete(&mut self, number: u32, now: Instant) -> (Completion, Instant) {
        let Request { command, submitted, failed, .. } = self.all.remove(number);
        let completion = Completion { command, latency: now - submitted, failed };
        self.completions.push(completion);
        (completion, submitted)
    }
}
