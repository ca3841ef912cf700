//! Chunks that close early, and commands that the device rejects because of errors that the device detected
//! in the background.

use wordline_device::PhysicalDevice;
use wordline_device::physical_device::{Chunk, ChunkState, Notice, Operation};
use wordline_kernel::Schedule;

use super::layout::{LineId, Ppa};
use super::port::{Purpose, Sent};
use super::{Event, Pblk};

impl<D: PhysicalDevice> Pblk<D> {
    /// Handles the notifications of the device.
    pub(super) fn take_notifications(&mut self) -> bool {
        let count = self.port.device.notifications().len();
        for at in 0..count {
            let notification = self.port.device.notifications()[at];
            let chunk = notification.first.chunk;
            match notification.notice {
                Notice::EarlyClose => self.mark_chunk_ended(chunk, false),
                Notice::Offline => self.mark_chunk_ended(chunk, true),
                Notice::HighErrorRate | Notice::Unrecovered => {}
            }
        }
        self.port.device.clear_notifications();
        count > 0
    }

    /// Marks a chunk that takes no more writes. GC collects its line before others.
    fn mark_chunk_ended(&mut self, chunk: Chunk, is_offline: bool) {
        let (line, unit) = (LineId(chunk.chunk), self.layout.unit_of_chunk(chunk));
        // For a chunk under reset, the completion of the reset reports the state.
        if self.writer.next_line() == Some(line) || !self.lines.mark_ended(line, unit, is_offline) {
            return;
        }
        if is_offline && self.device().geometry().capabilities.volatile_writes {
            // No data of the line count as non-volatile until all of them are relocated. So the line ends
            // now.
            self.lines.strand(line);
            self.durable.mark_spoilt();
            self.writer.end_line(line);
        }
        self.update_limiter();
    }

    /// Handles a command that the device rejected because chunks had closed or gone offline unknown to the
    /// host. The part that is still possible is submitted again. The rest fails.
    pub(super) fn refused(&mut self, sent: Sent, calendar: &mut impl Schedule<Event<D::Event>>) {
        let operation = sent.work.operation();
        let strip = if operation == Operation::Write { self.layout.strip as usize } else { 1 };
        let mut good = self.port.new_command(sent.work);
        let mut bad = self.port.new_command(sent.work);
        for first in (0..sent.places.len()).step_by(strip) {
            let range = first..(first + strip).min(sent.places.len());
            let to = if self.accepts_at(operation, sent.places[first]) { &mut good } else { &mut bad };
            to.places.extend(&sent.places[range.clone()]);
            to.positions.extend(sent.positions.get(range.clone()).into_iter().flatten());
            to.stamps.extend(sent.stamps.get(range).into_iter().flatten());
        }
        self.port.recycle(sent);
        let is_divided = !good.places.is_empty() && !bad.places.is_empty();
        if is_divided {
            self.note_split(good.work);
        }
        if bad.places.is_empty() {
            // The rejection has another reason than the state of a chunk. The whole command fails.
            std::mem::swap(&mut good, &mut bad);
        }
        if good.places.is_empty() {
            self.port.recycle(good);
        } else {
            self.send(good, calendar);
        }
        self.counts.rejected += bad.places.len() as u64;
        for place in &bad.places {
            self.lines.add_reference(self.layout.line_of(*place));
        }
        self.port.fail(bad);
    }

    /// Whether the device accepts this operation at a location, in the present state of its chunk.
    fn accepts_at(&self, operation: Operation, place: Ppa) -> bool {
        let block = self.layout.block(place);
        let report = self.port.device.report(block.chunk);
        match operation {
            Operation::Read => block.block < report.readable,
            Operation::Write => {
                let is_writable = matches!(report.state, ChunkState::Free | ChunkState::Open);
                is_writable && report.write_pointer == block.block
            }
            Operation::Reset | Operation::Close => report.state != ChunkState::Offline,
            Operation::Copy | Operation::Flush => true,
        }
    }

    /// Notes that a command is split in two. Its owner waits for one more completion.
    fn note_split(&mut self, work: Purpose) {
        match work {
            Purpose::Read(number) => self.front.add_split_read(number),
            Purpose::List(line) => self.collector.add_split_read(line, true),
            Purpose::Collect(line) => self.collector.add_split_read(line, false),
            Purpose::Smeta(_) | Purpose::Emeta(_) => unreachable!("a strip is refused as a whole"),
            Purpose::Data
            | Purpose::Reset(_)
            | Purpose::Close(_)
            | Purpose::Pad
            | Purpose::Scan
            | Purpose::Flush => {}
        }
    }
}
