//! The requests of the host: their device commands and their completion.

use smallvec::smallvec;
use wordline_device::content::FoundBlock;
use wordline_device::physical_device::{ChunkState, Completion as DeviceAnswer, Descriptor, MOST_BLOCKS};
use wordline_device::{Command, Completion, Operation, PhysicalDevice};
use wordline_kernel::{Duration, Instant, Schedule};
use wordline_nand::DataTag;

use super::frontiers::Piece;
use super::in_flight::{InFlightCommand, Places, Purpose, Request, Stamps};
use super::l2p::Ppa;
use super::layout::{Layout, Spread};
use super::{Direct, Event, Power};

impl<D: PhysicalDevice> Direct<D> {
    fn pages_of(&self, command: &Command) -> std::ops::Range<u32> {
        let sectors = self.sectors_of_a_page;
        (command.sector / sectors) as u32..((command.sector + command.sectors) / sectors) as u32
    }

    pub(super) fn take(&mut self, command: Command, calendar: &mut impl Schedule<Event<D::Event>>) {
        assert!(self.power == Power::On, "it takes no command before it has recovered");
        // The request itself counts as a part until the number of its parts is known.
        let (submitted, is_forced) = (calendar.now(), command.fua && self.is_volatile);
        let request = Request { command, submitted, parts: 1, failed: false, is_forced };
        let number = self.requests.all.add(request);
        if let Some(explainer) = &mut self.explainer {
            explainer.note_submission(number);
        }
        match command.operation {
            Operation::Read | Operation::Compare => self.read(number, &command, calendar),
            Operation::Write | Operation::WriteZeroes => self.write(number, &command),
            Operation::Flush => self.flush(Some(number), calendar),
            Operation::Discard => {
                for page in self.pages_of(&command) {
                    self.places.trim(page);
                    self.counts.trimmed_pages += 1;
                }
            }
            of_zones => of_zones.is_not_executed(),
        }
        self.complete_part(number, false, calendar);
        self.make_progress(calendar);
    }

    /// Divides a write into pieces for its parallel units.
    fn write(&mut self, number: u32, command: &Command) {
        let pages: Vec<u32> = self.pages_of(command).collect();
        let size = match self.layout.spread {
            Spread::Requests => pages.len().max(1),
            Spread::Programs => self.layout.ws_min as usize,
        };
        for of_piece in pages.chunks(size) {
            let mut stamps = std::collections::VecDeque::with_capacity(of_piece.len());
            for page in of_piece {
                let stamp = DataTag { logical: *page, version: self.places.next_version(*page) };
                self.track_write(command, *page, stamp.version);
                stamps.push_back(stamp);
            }
            self.requests.all.get_mut(number).parts += 1;
            let unit = self.heads.next_unit();
            self.heads.pieces_to_extend(unit).push_back(Piece { request: number, stamps });
        }
        if let Some(followed) = &mut self.followed {
            followed.forget_carried(command.tag);
        }
    }

    /// Writes the waiting pieces of a parallel unit while it has a chunk for them. Returns whether it made
    /// progress.
    pub(super) fn continue_writes(
        &mut self,
        unit: u32,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) -> bool {
        let (mut any, mut wrote) = (false, false);
        while !self.heads.get_mut(unit).pieces.is_empty() {
            let Some((chunk, next)) = self.heads.get_mut(unit).open else {
                if !self.open(unit, calendar) {
                    return self.move_pieces(unit, Self::has_room) || any;
                }
                any = true;
                continue;
            };
            any = true;
            let Layout { blocks_per_chunk, ws_min, .. } = self.layout;
            let head = self.heads.get_mut(unit);
            let piece = &mut head.pieces[0];
            let most = (MOST_BLOCKS as u32 - MOST_BLOCKS as u32 % ws_min).min(blocks_per_chunk - next);
            let wanted = (piece.stamps.len() as u32).next_multiple_of(ws_min).min(most);
            let count = (piece.stamps.len() as u32).min(wanted) as usize;
            let mut stamps: Stamps = piece.stamps.drain(..count).collect();
            stamps.resize(wanted as usize, DataTag::PADDING);
            let first = chunk * blocks_per_chunk + next;
            let places: Places = (first..first + wanted).map(Ppa).collect();
            let number = piece.request;
            self.counts.padding += u64::from(wanted) - count as u64;
            self.counts.pages_written += count as u64;
            let sent = InFlightCommand { work: Purpose::Write(number), places, stamps, flush: 0 };
            let stamps = Stamps::from_slice(&sent.stamps[..count]);
            if !self.send(sent, calendar) {
                self.counts.padding -= u64::from(wanted) - count as u64;
                self.counts.pages_written -= count as u64;
                let head = self.heads.get_mut(unit);
                stamps.into_iter().rev().for_each(|stamp| head.pieces[0].stamps.push_front(stamp));
                if self.state_of(chunk) == ChunkState::Free {
                    // The device has as many open chunks as it may have.
                    self.heads.get_mut(unit).put_back();
                    return self.move_pieces(unit, Self::has_open_chunk)
                        || self.sent.count() == 0 && self.flush_for_chunks(calendar)
                        || wrote;
                }
                // The device has closed the chunk in the meantime.
                self.heads.get_mut(unit).close_chunk();
                continue;
            }
            wrote = true;
            self.requests.all.get_mut(number).parts += 1;
            let written = (first..first + count as u32).map(Ppa);
            written.for_each(|place| self.places.pin(place));
            let head = self.heads.get_mut(unit);
            head.open = Some((chunk, next + wanted));
            if next + wanted == blocks_per_chunk {
                head.close_chunk();
            }
            if head.pieces[0].stamps.is_empty() {
                head.pieces.pop_front();
                self.complete_part(number, false, calendar);
            }
        }
        any
    }

    /// Moves the waiting pieces of a parallel unit without a writable chunk to the next parallel unit that
    /// can `take` them. Returns whether it moved them.
    fn move_pieces(&mut self, unit: u32, take: impl Fn(&Self, u32) -> bool) -> bool {
        if self.heads.get_mut(unit).resetting.is_some() || self.heads.is_flushing {
            return false;
        }
        let units = self.layout.units;
        let others = (1..units).map(|n| (unit + n) % units);
        let Some(other) = others.into_iter().find(|other| take(self, *other)) else { return false };
        let pieces = std::mem::take(&mut self.heads.get_mut(unit).pieces);
        self.heads.pieces_to_extend(other).extend(pieces);
        true
    }

    fn has_open_chunk(&self, unit: u32) -> bool {
        let open = self.heads.get(unit).open;
        open.is_some_and(|(chunk, _)| self.state_of(chunk) == ChunkState::Open)
    }

    fn has_room(&self, unit: u32) -> bool {
        let head = self.heads.get(unit);
        head.open.is_some() || head.resetting.is_some() || head.others().any(|chunk| self.is_writable(chunk))
    }

    fn state_of(&self, chunk: u32) -> ChunkState {
        self.device.report(self.layout.chunk(chunk)).state
    }

    /// Whether a chunk is free or can be reset.
    fn is_writable(&self, chunk: u32) -> bool {
        match self.state_of(chunk) {
            ChunkState::Free => true,
            ChunkState::Open | ChunkState::Closed => self.places.is_free(chunk),
            ChunkState::Offline => false,
        }
    }

    /// Opens another chunk of a parallel unit: one that a power cut left partly written, a free chunk, or one
    /// without needed data. Returns whether it opened a chunk or started an action.
    fn open(&mut self, unit: u32, calendar: &mut impl Schedule<Event<D::Event>>) -> bool {
        if self.heads.get_mut(unit).resetting.is_some() {
            return false;
        }
        let unfinished = |chunk: u32| {
            let Descriptor { state, write_pointer, .. } = self.device.report(self.layout.chunk(chunk));
            let is_begun = state == ChunkState::Open && write_pointer < self.layout.blocks_per_chunk;
            is_begun.then_some((chunk, write_pointer))
        };
        let begun = self.heads.get(unit).others().find_map(unfinished);
        if let Some((chunk, _)) = begun {
            let head = self.heads.get_mut(unit);
            head.take(chunk);
            head.open = begun;
            return true;
        }
        let next = self.heads.get(unit).others().find(|chunk| self.is_writable(*chunk));
        let Some(chunk) = next else {
            return self.flush_for_chunks(calendar);
        };
        let state = self.state_of(chunk);
        let head = self.heads.get_mut(unit);
        head.take(chunk);
        if state == ChunkState::Free {
            head.open = Some((chunk, 0));
            return true;
        }
        head.resetting = Some(chunk);
        let first = Ppa(chunk * self.layout.blocks_per_chunk);
        let closes = state == ChunkState::Open && !self.device.geometry().capabilities.early_resets;
        if closes {
            let sent = InFlightCommand {
                work: Purpose::Close(unit),
                places: smallvec![first],
                stamps: Stamps::new(),
                flush: 0,
            };
            if self.send(sent, calendar) {
                return true;
            }
        }
        self.reset(unit, first, calendar);
        true
    }

    /// Flushes, so that chunks close whose last writes the device holds in its cache, and chunks with older data
    /// can be reset. Returns whether it sent the flush.
    fn flush_for_chunks(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) -> bool {
        let (is_flushing, cannot_flush) = (self.heads.is_flushing, self.heads.cannot_flush);
        let may_help = self.places.has_unflushed() && !is_flushing && !cannot_flush;
        if may_help {
            self.heads.is_flushing = true;
            self.flush(None, calendar);
        }
        may_help
    }

    /// Resets the next chunk of a parallel unit.
    pub(super) fn reset(&mut self, unit: u32, first: Ppa, calendar: &mut impl Schedule<Event<D::Event>>) {
        self.counts.resets += 1;
        let sent = InFlightCommand {
            work: Purpose::Reset(unit),
            places: smallvec![first],
            stamps: Stamps::new(),
            flush: 0,
        };
        if !self.send(sent, calendar) {
            self.heads.complete_reset(unit, false);
        }
    }

    /// Sends a flush if the device has a volatile write cache.
    fn flush(&mut self, number: Option<u32>, calendar: &mut impl Schedule<Event<D::Event>>) {
        if !self.is_volatile {
            return;
        }
        self.flushes += 1;
        let sent = InFlightCommand {
            work: Purpose::Flush(number),
            places: Places::new(),
            stamps: Stamps::new(),
            flush: self.flushes,
        };
        if let Some(number) = number {
            self.requests.all.get_mut(number).parts += 1;
        }
        assert!(self.send(sent, calendar), "a device that is ready takes a flush");
    }

    /// Completes a write of pages of a request.
    pub(super) fn written(
        &mut self,
        number: u32,
        completion: &DeviceAnswer,
        sent: &InFlightCommand,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        let mut again = std::collections::VecDeque::new();
        let flushes = self.is_volatile.then_some(self.flushes);
        for (at, (place, stamp)) in sent.places.iter().zip(&sent.stamps).enumerate() {
            if !stamp.is_data() {
                continue;
            }
            match completion.has_failed(at) {
                true => again.push_back(*stamp),
                false => self.places.written(stamp.logical, stamp.version, *place, flushes),
            }
            self.places.unpin(*place);
        }
        let has_failed = !again.is_empty();
        self.heads.cannot_flush &= completion.failure.is_some();
        if completion.failure.is_some() {
            let chunk = sent.places[0].0 / self.layout.blocks_per_chunk;
            let unit = chunk / self.layout.chunks_per_unit;
            let head = self.heads.get_mut(unit);
            if head.open.is_some_and(|(open, _)| open == chunk) {
                head.close_chunk();
            }
            if self.layout.retry && has_failed {
                self.counts.resubmitted += again.len() as u64;
                self.heads.pieces_to_extend(unit).push_front(Piece { request: number, stamps: again });
                self.requests.all.get_mut(number).parts += 1;
                return self.complete_part(number, false, calendar);
            }
        }
        self.complete_part(number, has_failed, calendar);
    }

    fn read(&mut self, number: u32, command: &Command, calendar: &mut impl Schedule<Event<D::Event>>) {
        if self.followed.is_some() {
            self.track_read(command);
        }
        let pages = self.pages_of(command);
        let (mut places, mut stamps) = (Places::new(), Stamps::new());
        for page in pages {
            let version = self.places.version(page);
            let is_expected = command.expected == 0 || command.expected == version;
            let request = self.requests.all.get_mut(number);
            request.failed |= !is_expected;
            let Some(place) = self.places.get(page) else { continue };
            // A device that does not recover program failures may have lost the page.
            let block = self.block(place);
            if block.block < self.device.report(block.chunk).readable {
                self.places.pin(place);
                places.push(place);
                stamps.push(DataTag { logical: page, version });
            } else {
                self.counts.pages_lost += 1;
                self.requests.all.get_mut(number).failed = true;
            }
        }
        for (places, stamps) in places.chunks(MOST_BLOCKS).zip(stamps.chunks(MOST_BLOCKS)) {
            self.send_read(number, Places::from_slice(places), Stamps::from_slice(stamps), calendar);
        }
    }

    /// Reads locations for a request with one command.
    fn send_read(
        &mut self,
        number: u32,
        places: Places,
        stamps: Stamps,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        self.counts.pages_read += places.len() as u64;
        self.requests.all.get_mut(number).parts += 1;
        let sent = InFlightCommand { work: Purpose::Read(number), places, stamps, flush: 0 };
        assert!(self.send(sent, calendar), "all of it can be read");
    }

    /// Completes a read of pages of a request.
    pub(super) fn found(
        &mut self,
        number: u32,
        completion: &DeviceAnswer,
        sent: &InFlightCommand,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        for (at, (place, wanted)) in sent.places.iter().zip(&sent.stamps).enumerate() {
            self.places.unpin(*place);
            assert!(
                completion.has_failed(at) || completion.found[at] == *wanted,
                "a page is where it was written"
            );
        }
        self.complete_part(number, completion.failure.is_some(), calendar);
    }

    /// Completes a part of a request. A flush follows the last part of a FUA write.
    pub(super) fn complete_part(
        &mut self,
        number: u32,
        failed: bool,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        let request = self.requests.all.get_mut(number);
        request.failed |= failed;
        request.parts -= 1;
        if request.parts > 0 {
            return;
        }
        let is_forced = std::mem::take(&mut request.is_forced)
            && matches!(request.command.operation, Operation::Write | Operation::WriteZeroes);
        if is_forced && !request.failed {
            return self.flush(Some(number), calendar);
        }
        self.explainer.iter_mut().for_each(|explainer| explainer.note_last_part(number));
        calendar.after(Duration::ZERO, Event::Completion(number));
    }

    pub(super) fn complete_request(&mut self, number: u32, now: Instant) {
        let Request { command, submitted, failed, .. } = self.requests.all.remove(number);
        let latency = now - submitted;
        self.digest.add(u64::from(command.tag));
        self.digest.add(latency.ps());
        let completion = Completion { command, latency, failed };
        self.requests.completions.push(completion);
        if let Some(explainer) = &mut self.explainer {
            explainer.note_completion(number, completion, submitted);
        }
        self.record(number, completion, submitted);
    }

    fn record(&mut self, number: u32, completion: Completion, submitted: Instant) {
        let (device, places) = (&self.device, &self.places);
        let levels = || {
            let below = device.gauges(submitted + completion.latency);
            (below.buffered_pages as u32, places.free_chunks().min(below.good_blocks))
        };
        self.recorder.note(number, (completion, submitted), levels);
    }

    /// Fails the pieces that wait for a chunk that will never become free. Returns whether there were any.
    pub(super) fn fail_waiting(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) -> bool {
        let numbers = self.heads.drop_pieces();
        self.counts.out_of_chunks += numbers.len() as u64;
        numbers.iter().for_each(|number| self.complete_part(*number, true, calendar));
        !numbers.is_empty()
    }

    fn track_write(&mut self, command: &Command, page: u32, version: u32) {
        let first = self.pages_of(command).start;
        if let Some(followed) = &mut self.followed {
            followed.note_write(command, (page - first) as usize, page, version);
        }
    }

    fn track_read(&mut self, command: &Command) {
        let found = |page: u32| match self.places.get(page).map(|place| self.block(place)) {
            None => FoundBlock::Unwritten,
            Some(block) if block.block >= self.device.report(block.chunk).readable => FoundBlock::Lost,
            Some(_) => FoundBlock::Version { block: page, version: self.places.version(page) },
        };
        let found: Vec<FoundBlock> = self.pages_of(command).map(found).collect();
        if let Some(followed) = &mut self.followed {
            followed.note_read(command.tag, 0, found);
        }
    }
}
