//! The requests of the host: their parts, the commands to the zoned device, and their completion.

use serde::{Deserialize, Serialize};
use wordline_device::content::FoundBlock;
use wordline_device::{Command, Completion, Operation, PhysicalDevice};
use wordline_kernel::{Instant, Schedule};
use wordline_nand::DataTag;
use wordline_open_channel::zoned;
use wordline_open_channel::zoned::{Action, Status};

use super::plugs::Part;
use super::{Event, Power, ZoneHost};
use crate::slab::Slab;

/// An outstanding request.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Request {
    pub command: Command,
    pub submitted: Instant,
    /// Parts that have not ended, and one for the request until all parts are known.
    parts: u32,
    failed: bool,
    /// Whether the request needs a flush before it completes (FUA).
    is_forced: bool,
}

/// All requests, the commands in flight, and the completions.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Requests {
    pub all: Slab<Request>,
    /// The commands in flight to the zoned device.
    pub sent: Slab<Part>,
    pub completions: Vec<Completion>,
}

impl Requests {
    /// Adds a request with one part: itself, until all of its parts are known.
    fn add(&mut self, command: Command, submitted: Instant, is_forced: bool) -> u32 {
        self.all.add(Request { command, submitted, parts: 1, failed: false, is_forced })
    }

    /// Records that a request has failed in part.
    fn fail(&mut self, number: u32) {
        self.all.get_mut(number).failed = true;
    }
}

/// The state of a logical block that a read finds, from its data tag.
fn found(tag: &DataTag) -> FoundBlock {
    match *tag {
        DataTag::UNREADABLE => FoundBlock::Lost,
        tag if tag.is_data() => FoundBlock::Version { block: tag.logical, version: tag.version },
        _ => FoundBlock::Unwritten,
    }
}

impl<D: PhysicalDevice> ZoneHost<D> {
    /// Takes a command of the host.
    pub(super) fn take(&mut self, command: Command, calendar: &mut impl Schedule<Event<D::Event>>) {
        assert!(self.power == Power::On, "it takes no command before it has recovered");
        let writes = matches!(command.operation, Operation::Write | Operation::ZoneAppend);
        let is_forced = command.fua && writes && self.zoned.has_volatile_writes();
        let number = self.requests.add(command, calendar.now(), is_forced);
        calendar.after(self.command_time, Event::Submission(number));
    }

    /// Submits a request in parts: reads and writes are split at zone boundaries.
    pub(super) fn submit_parts(&mut self, number: u32, calendar: &mut impl Schedule<Event<D::Event>>) {
        let command = self.requests.all.get(number).command;
        let (mut first, size) = (command.sector / self.sectors_of_a_block, self.zoned.config().layout.size);
        let end = first + command.sectors / self.sectors_of_a_block;
        match command.operation {
            Operation::Read | Operation::Write => {
                while first < end {
                    let next = end.min((first / size + 1) * size);
                    let part = Part { request: number, first, blocks: (next - first) as u32 };
                    self.submit_part(part, calendar);
                    first = next;
                }
            }
            operation => {
                // An append and zone management have the address of any block of the zone.
                let blocks = if operation == Operation::ZoneAppend { (end - first) as u32 } else { 0 };
                self.submit_part(Part { request: number, first: first / size * size, blocks }, calendar);
            }
        }
        self.end_part(number, calendar);
        self.process(calendar);
    }

    /// Zone of a part.
    pub(super) fn zone_of(&self, part: &Part) -> u32 {
        (part.first / self.zoned.config().layout.size) as u32
    }

    fn operation_of(&self, part: &Part) -> Operation {
        self.requests.all.get(part.request).command.operation
    }

    /// Submits a part, unless an earlier write of its zone is in flight.
    fn submit_part(&mut self, part: Part, calendar: &mut impl Schedule<Event<D::Event>>) {
        self.requests.all.get_mut(part.request).parts += 1;
        let (operation, zone) = (self.operation_of(&part), self.zone_of(&part));
        let waits = operation == Operation::Write || Operation::ZONE_MANAGEMENT.contains(&operation);
        if let Some(plugs) = self.plugs.as_mut().filter(|_| waits)
            && !plugs.admit(zone, part, operation == Operation::Write)
        {
            self.counts.plugged += u64::from(operation == Operation::Write);
            return;
        }
        if let Some(status) = self.send(part, calendar) {
            self.end(part, Some(status), calendar);
        }
    }

    /// Sends a part to the zoned device. Returns the status if the device rejects it.
    fn send(&mut self, part: Part, calendar: &mut impl Schedule<Event<D::Event>>) -> Option<Status> {
        let (operation, zone) = (self.operation_of(&part), self.zone_of(&part));
        let tag = self.requests.sent.next();
        let Part { first, blocks, .. } = part;
        let stamps = self.stamps(operation, zone, part);
        let command = match operation {
            Operation::Read => zoned::Command::read(tag, first, blocks),
            Operation::Write => zoned::Command::write(tag, first, &stamps),
            Operation::ZoneAppend => zoned::Command::append(tag, first, &stamps),
            Operation::Flush => zoned::Command::flush(tag),
            Operation::ZoneReset => zoned::Command::manage(tag, Action::Reset, first),
            Operation::ZoneFinish => zoned::Command::manage(tag, Action::Finish, first),
            Operation::ZoneOpen => zoned::Command::manage(tag, Action::Open, first),
            Operation::ZoneClose => zoned::Command::manage(tag, Action::Close, first),
            Operation::Discard | Operation::WriteZeroes | Operation::Compare => operation.is_not_executed(),
        };
        if let Err(status) = self.zoned.submit(&command, &mut calendar.within(Event::Device)) {
            return Some(status);
        }
        if let Some(followed) = &mut self.followed {
            let request = &self.requests.all.get(part.request).command;
            let skipped = (part.first.saturating_sub(request.sector / self.sectors_of_a_block)) as usize;
            for (at, stamp) in (skipped..).zip(&stamps) {
                followed.note_write(request, at, stamp.logical, stamp.version);
            }
        }
        self.requests.sent.add(part);
        self.generations[zone as usize] += u32::from(operation == Operation::ZoneReset);
        None
    }

    /// Data tags of a part that writes: the addresses of its blocks, and the generation of their zone.
    fn stamps(&self, operation: Operation, zone: u32, part: Part) -> Vec<DataTag> {
        let first = match operation {
            Operation::Write => part.first,
            // An append is written at the write pointer. A zone without one rejects it.
            Operation::ZoneAppend => match self.zoned.zone(zoned::ZoneId(zone)).write_pointer {
                u64::MAX => part.first,
                pointer => pointer,
            },
            _ => return Vec::new(),
        };
        let version = self.generations[zone as usize] + 1;
        (first..first + u64::from(part.blocks))
            .map(|block| DataTag { logical: block as u32, version })
            .collect()
    }

    /// Handles the completions of the zoned device.
    pub(super) fn process(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) {
        loop {
            let completions = self.zoned.zone_completions().to_vec();
            // The host learns of a zone that the device closed when it uses the zone.
            self.zoned.clear_notifications();
            if completions.is_empty() {
                return;
            }
            self.zoned.clear_zone_completions();
            for completion in completions {
                let part = self.requests.sent.remove(completion.tag);
                let is_flush = completion.operation == zoned::Operation::Flush;
                if is_flush && self.operation_of(&part) != Operation::Flush {
                    // The flush after a write with FUA.
                    if completion.status.is_some() {
                        self.requests.fail(part.request);
                    }
                    self.end_part(part.request, calendar);
                    continue;
                }
                self.note_data(&completion, part);
                self.end(part, completion.status, calendar);
            }
        }
    }

    /// Checks and counts the data of a completion. An append is completed with the address of its data.
    fn note_data(&mut self, completion: &zoned::Completion, part: Part) {
        match completion.operation {
            zoned::Operation::Read => {
                self.counts.blocks_read += u64::from(part.blocks);
                let layout = &self.zoned.config().layout;
                let end = part.first % layout.size + u64::from(part.blocks);
                let in_gap = end.saturating_sub(layout.capacity.into()).min(part.blocks.into());
                self.counts.gap_blocks_read += in_gap;
                let version = self.generations[self.zone_of(&part) as usize] + 1;
                for (block, found) in (completion.first..).zip(&completion.found) {
                    assert!(
                        !found.is_data() || u64::from(found.logical) == block && found.version <= version,
                        "a block of a zone is where it was written"
                    );
                }
            }
            zoned::Operation::Write | zoned::Operation::Append if completion.status.is_none() => {
                self.counts.blocks_written += u64::from(part.blocks);
                if completion.operation == zoned::Operation::Append {
                    let sector = completion.first * self.sectors_of_a_block;
                    self.requests.all.get_mut(part.request).command.sector = sector;
                }
            }
            _ => {}
        }
        if let Some(followed) = &mut self.followed
            && completion.operation == zoned::Operation::Read
        {
            let tag = self.requests.all.get(part.request).command.tag;
            followed.note_read(tag, completion.first, completion.found.iter().map(found));
        }
    }

    /// Ends a part. If later parts of its zone wait for it, sends them up to the next write.
    fn end(&mut self, part: Part, status: Option<Status>, calendar: &mut impl Schedule<Event<D::Event>>) {
        let (holds, zone) = (self.operation_of(&part) == Operation::Write, self.zone_of(&part));
        self.end_with(part, status, calendar);
        while holds && let Some(next) = self.plugs.as_mut().and_then(|plugs| plugs.end(zone)) {
            let is_write = self.operation_of(&next) == Operation::Write;
            match self.send(next, calendar) {
                Some(status) => self.end_with(next, Some(status), calendar),
                None if is_write => return,
                None => {}
            }
        }
    }

    /// Ends a part with a status.
    fn end_with(
        &mut self,
        part: Part,
        status: Option<Status>,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        if let Some(status) = status {
            self.counts.note(status);
            self.requests.fail(part.request);
        }
        self.end_part(part.request, calendar);
    }

    /// Ends a part of a request, or the request itself as its last part. A flush follows a write with FUA.
    fn end_part(&mut self, number: u32, calendar: &mut impl Schedule<Event<D::Event>>) {
        let request = self.requests.all.get_mut(number);
        request.parts -= 1;
        if request.parts > 0 {
            return;
        }
        if std::mem::take(&mut request.is_forced) && !request.failed {
            request.parts = 1;
            let tag = self.requests.sent.next();
            let flushed = self.zoned.submit(&zoned::Command::flush(tag), &mut calendar.within(Event::Device));
            assert!(flushed.is_ok(), "a device that is ready takes a flush");
            self.requests.sent.add(Part { request: number, first: 0, blocks: 0 });
            return;
        }
        calendar.after(wordline_kernel::Duration::ZERO, Event::Completion(number));
    }

    /// Completes a request.
    pub(super) fn complete(&mut self, number: u32, now: Instant) {
        let Request { command, submitted, failed, .. } = self.requests.all.remove(number);
        let latency = now - submitted;
        self.followed.iter_mut().for_each(|followed| followed.forget_carried(command.tag));
        self.digest.add(u64::from(command.tag));
        self.digest.add(latency.ps());
        let completion = Completion { command, latency, failed };
        self.requests.completions.push(completion);
        let zoned = &self.zoned;
        let levels = || {
            let below = zoned.gauges(submitted + latency);
            (below.buffered_pages as u32, below.free_blocks)
        };
        self.recorder.note(number, (completion, submitted), levels);
    }
}
