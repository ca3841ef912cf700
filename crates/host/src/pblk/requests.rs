//! The way of a host command through the parts of the FTL.

use wordline_device::content::FoundBlock;
use wordline_device::{Command, Operation, PhysicalDevice};
use wordline_kernel::{Instant, Schedule};

use super::Pblk;
use super::buffer::Buffer;
use super::flash::Flash;
use super::l2p::PageLocation;
use super::layout::Page;
use super::lines::Lines;
use super::port::Event;
use super::recovery::Power;
use super::ring::{LOST, Origin};

/// The state of a page that a read finds.
fn found(page: Page, buffer: &Buffer, lines: &Lines) -> FoundBlock {
    let stamp = match buffer.map.get(page) {
        PageLocation::Unmapped => return FoundBlock::Unwritten,
        PageLocation::Ring(index) => buffer.ring.at(index).stamp,
        PageLocation::Flash(place) => lines.content(place),
    };
    match stamp.logical & LOST {
        0 => FoundBlock::Version { block: page.0, version: stamp.version },
        _ => FoundBlock::Lost,
    }
}

impl<D: PhysicalDevice> Pblk<D> {
    pub(super) fn take(&mut self, command: Command, calendar: &mut impl Schedule<Event<D::Event>>) {
        assert!(self.recovery.power == Power::On, "it takes no command before it has recovered");
        let submitted = calendar.now();
        let number = self.front.add(command, submitted);
        let is_flush = command.operation == Operation::Flush;
        self.attribution.note_time(submitted);
        self.attribution.note_submission(number, is_flush, self.flash.device());
        let pages = self.front.pages_of(&command);
        match command.operation {
            Operation::Read | Operation::Compare => {
                if let Some(tracked) = &mut self.tracked {
                    let found = pages.map(|page| found(Page(page), &self.buffer, &self.flash.lines));
                    tracked.note_read(command.tag, 0, found);
                }
                self.front.read(number, &mut self.flash, &self.buffer, calendar);
            }
            Operation::Write | Operation::WriteZeroes if !pages.is_empty() => self.front.queue_write(number),
            Operation::Write | Operation::WriteZeroes => self.front.schedule_completion(number, calendar),
            Operation::Flush => self.front.queue_flush(self.buffer.ring.head(), number),
            Operation::Discard => {
                let Flash { lines, counts, .. } = &mut self.flash;
                pages.for_each(|page| counts.trimmed_pages += u64::from(self.buffer.trim(Page(page), lines)));
                self.front.schedule_completion(number, calendar);
            }
            of_zones => of_zones.is_not_executed(),
        }
        self.make_progress(calendar);
    }

    /// Admits pages of waiting writes to the ring while there is space. Returns whether it admitted any.
    pub(super) fn admit(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) -> bool {
        let mut any = false;
        while let Some((number, command, pages)) = self.front.first_write() {
            let count = (pages.end - pages.start).min(self.flash.layout.most_io());
            if !self.flash.limiter.host_can_insert(self.buffer.ring.of(Origin::Host)) {
                self.flash.counts.rate_limited += u64::from(self.front.note_limited());
                return any;
            }
            if !self.buffer.make_space(count, &self.flash) {
                return any;
            }
            any = true;
            let next = pages.start + count;
            for page in (pages.start..next).map(Page) {
                let version = self.buffer.write(page);
                if let Some(tracked) = &mut self.tracked {
                    let first = self.front.pages_of(&command).start;
                    tracked.note_write(&command, (page.0 - first) as usize, page.0, version);
                }
            }
            self.flash.limiter.note_host_write(calendar.now());
            self.front.advance_write(next, next == pages.end);
            if next == pages.end {
                self.attribution.note_admitted(number);
                self.tracked.iter_mut().for_each(|tracked| tracked.forget_carried(command.tag));
                match command.fua {
                    true => self.front.queue_flush(self.buffer.ring.head(), number),
                    false => self.front.schedule_completion(number, calendar),
                }
            }
        }
        any
    }

    /// Completes the commands whose entries are all in flash. Returns whether there were any.
    pub(super) fn complete_flushes(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) -> bool {
        let mut any = false;
        let covered = self.durable.covered(self.buffer.ring.synced());
        while let Some(number) = self.front.pop_flushed(covered) {
            self.attribution.note_flushed(number);
            self.front.schedule_completion(number, calendar);
            any = true;
        }
        any
    }

    pub(super) fn complete_request(&mut self, number: u32, now: Instant) {
        let (completion, submitted) = self.front.complete(number, now);
        self.digest.add(u64::from(completion.command.tag));
        self.digest.add(completion.latency.ps());
        let own = self.front.command_time();
        self.attribution.note_completion(number, (completion, submitted), self.flash.device(), own);
        let (ring, lines) = (&self.buffer.ring, &self.flash.lines);
        self.recorder
            .note(number, (completion, submitted), || (ring.of(Origin::Host), lines.free_chunks().into()));
    }
}
