//! The flash below the FTL: the device with the commands in flight, its lines, and the shares of the ring that
//! the free lines allow.

use wordline_device::PhysicalDevice;
use wordline_device::block_device::Programmed;
use wordline_device::physical_device::{ChunkState, Operation};
use wordline_kernel::Schedule;
use wordline_nand::DataTag;

use super::counts::Counts;
use super::layout::{Layout, LineId, Ppa};
use super::limiter::Limiter;
use super::lines::{ChunkUse, Lines};
use super::port::{Event, Port, Purpose, Sent};

/// The device, its lines, and the rate limiter, which follows the free lines.
pub(super) struct Flash<D> {
    pub(super) layout: Layout,
    pub(super) port: Port<D>,
    pub(super) lines: Lines,
    pub(super) limiter: Limiter,
    pub(super) counts: Counts,
}

impl<D: PhysicalDevice> Flash<D> {
    /// The flash of a device without written data.
    pub(super) fn new(device: D, layout: Layout) -> Self {
        let lines = Lines::new(layout, |chunk| device.report(chunk).state);
        let limiter = Limiter::new(&layout);
        let mut flash = Self { layout, lines, limiter, counts: Counts::default(), port: Port::new(device) };
        flash.update_limiter();
        flash
    }

    pub(super) fn device(&self) -> &D {
        &self.port.device
    }

    /// Pages programmed for host writes, and pages programmed for other reasons.
    pub(super) fn programmed(&self) -> Programmed {
        self.counts.programs().with_device(self.device().own_blocks())
    }

    pub(super) fn update_limiter(&mut self) {
        let lines = &self.lines;
        self.limiter.update(lines.free_chunks(), lines.failed_lines(), lines.has_stranded());
    }

    /// Submits a command. The command keeps references on its lines until it completes. Returns the number of
    /// completions to expect: more than one if the command had to be split.
    pub(super) fn send(&mut self, sent: Sent, calendar: &mut impl Schedule<Event<D::Event>>) -> u32 {
        for place in &sent.places {
            self.lines.add_reference(self.layout.line_of(*place));
        }
        let Err(sent) = self.port.send(sent, &self.layout, &mut calendar.within(Event::Device)) else {
            return 1;
        };
        for place in &sent.places {
            self.lines.drop_reference(self.layout.line_of(*place));
        }
        self.refused(sent, calendar)
    }

    /// Handles a command that the device rejected because chunks had closed or gone offline unknown to the
    /// host. The part that is still possible is submitted again. The rest fails. Returns the number of
    /// completions to expect.
    fn refused(&mut self, sent: Sent, calendar: &mut impl Schedule<Event<D::Event>>) -> u32 {
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
        let is_strip = matches!(good.work, Purpose::Smeta(_) | Purpose::Emeta(_));
        assert!(!(is_divided && is_strip), "a strip is refused as a whole");
        if bad.places.is_empty() {
            // The rejection has another reason than the state of a chunk. The whole command fails.
            std::mem::swap(&mut good, &mut bad);
        }
        let mut completions = 1;
        if good.places.is_empty() {
            self.port.recycle(good);
        } else {
            completions += self.send(good, calendar);
        }
        self.counts.rejected += bad.places.len() as u64;
        for place in &bad.places {
            self.lines.add_reference(self.layout.line_of(*place));
        }
        self.port.fail(bad);
        completions
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

    /// Drops the references of a completed command on its lines.
    pub(super) fn release(&mut self, sent: &Sent) {
        for place in &sent.places {
            self.lines.drop_reference(self.layout.line_of(*place));
        }
    }

    /// Writes a strip of metadata.
    pub(super) fn write_strip(
        &mut self,
        work: Purpose,
        (line, strip): (LineId, u32),
        stamp: DataTag,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        let mut sent = self.port.new_command(work);
        sent.places.extend(self.layout.locations_in(line, strip));
        sent.stamps.resize(sent.places.len(), stamp);
        self.send(sent, calendar);
    }

    /// The parallel units whose chunks of a line have to be reset. Chunks that went offline while the line
    /// was free are removed from the line.
    pub(super) fn plan_resets(&mut self, line: LineId) -> Vec<u32> {
        let mut to_reset = Vec::new();
        for unit in 0..self.layout.units {
            match self.port.device.report(self.layout.chunk(line, unit)).state {
                ChunkState::Open | ChunkState::Closed => to_reset.push(unit),
                ChunkState::Offline if self.lines.chunk_use(line, unit) != ChunkUse::Bad => {
                    self.lines.mark_offline(line, unit);
                }
                ChunkState::Free | ChunkState::Offline => {}
            }
        }
        to_reset
    }

    /// Resets a chunk of the next line. Closes it first if the device cannot reset open chunks.
    pub(super) fn reset(&mut self, line: LineId, unit: u32, calendar: &mut impl Schedule<Event<D::Event>>) {
        let is_open = self.port.device.report(self.layout.chunk(line, unit)).state == ChunkState::Open;
        let closes = is_open && !self.device().geometry().capabilities.early_resets;
        let work = if closes { Purpose::Close(line) } else { Purpose::Reset(line) };
        let mut sent = self.port.new_command(work);
        sent.places.extend(self.layout.locations_in(line, unit).take(1));
        self.send(sent, calendar);
    }

    /// Resets a chunk of the next line after it was closed.
    pub(super) fn reset_after_close(
        &mut self,
        line: LineId,
        sent: &Sent,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        let mut reset = self.port.new_command(Purpose::Reset(line));
        reset.places.extend(&sent.places);
        self.send(reset, calendar);
    }

    /// Whether the device can read a written location, or will never be able to.
    pub(super) fn can_read(&self, place: Ppa) -> bool {
        if self.layout.mw_cunits == 0 {
            return true;
        }
        let block = self.layout.block(place);
        let report = self.port.device.report(block.chunk);
        // Unreadable blocks of a chunk that closed early stay unreadable.
        report.state != ChunkState::Open || block.block < report.readable
    }

    /// The written and readable locations of a strip.
    pub(super) fn readable(&self, line: LineId, strip: u32) -> impl Iterator<Item = Ppa> + use<D> {
        let mut places = self.layout.locations_in(line, strip);
        let first = self.layout.block(places.next().expect("a strip has places"));
        let end = self.port.device.report(first.chunk).readable;
        self.layout.locations_in(line, strip).take(end.saturating_sub(first.block) as usize)
    }
}
