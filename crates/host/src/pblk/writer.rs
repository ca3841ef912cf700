//! The writer: writes ring entries to the open line, one strip of each parallel unit at a time.
//!
//! Each parallel unit has at most one write in flight, as with pblk's semaphore. While a line is written, the
//! writer also resets the chunks of the next line one by one, and writes the emeta of the previous line. An
//! emeta write that accompanies a data write goes to a distant parallel unit: its number is at least half the
//! number of units higher, modulo the number of units.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wordline_device::PhysicalDevice;
use wordline_device::physical_device::{ChunkState, Completion};
use wordline_kernel::{Schedule, state};
use wordline_nand::DataTag;

use super::flush::FlushTracker;
use super::l2p::PageLocation;
use super::layout::{Layout, LineId, Ppa};
use super::lines::{ChunkUse, Lines};
use super::port::{PADDING, Purpose, Sent};
use super::ring::{Origin, Progress, page_of};
use super::{Event, Pblk};

/// Logical number in the data tags of smeta. The version in these tags is the sequence number of the line.
pub(super) const SMETA: u32 = u32::MAX - 16;
/// Logical number in the data tags of emeta. The version is the same as in smeta.
pub(super) const EMETA: u32 = u32::MAX - 17;

/// Maximum number of lines that wait for their emeta before the writer stalls (Linux 5.10: PBLK_DATA_LINES).
const CLOSING_LINES: usize = 4;

/// Maximum number of lines with open chunks: the closing lines, the current line, and the line being opened.
pub(crate) const OPEN_LINES: u32 = CLOSING_LINES as u32 + 2;

/// The line being written.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Cursor {
    line: LineId,
    /// The next strip.
    strip: u32,
    /// The first strip of emeta: the end of the data.
    end: u32,
}

/// The line to be opened next.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Next {
    line: LineId,
    /// Parallel units whose chunks are not reset yet.
    to_reset: Vec<u32>,
    /// Resets in flight.
    resetting: u32,
    /// Whether the old smeta of the line still exists. The chunk that has it is reset before the others, so
    /// that no recovery finds a line with parts missing.
    has_smeta: bool,
}

/// A line that takes no more data and has incomplete emeta.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Closing {
    line: LineId,
    /// Strips of emeta still to be written, last first.
    strips: Vec<u32>,
    /// Emeta writes in flight.
    in_flight: u32,
    is_whole: bool,
    /// Number of the flush that makes the data of the line non-volatile. `None` until all data of the line
    /// are written to the device. The emeta, which lists the data, is written after this flush.
    point: Option<u64>,
}

/// The lines being written, and the state of their writes.
pub(super) struct Writer {
    current: Option<Cursor>,
    /// The line whose smeta is being written, and the number of smeta strips in flight.
    opening: Option<(LineId, u32)>,
    next: Option<Next>,
    closing: VecDeque<Closing>,
    /// Ring positions of entries whose writes failed.
    again: VecDeque<u64>,
    /// By parallel unit: whether a write is in flight.
    busy: Vec<bool>,
    /// Position in the ring: entries before it are written even if they do not fill a strip.
    forced: u64,
}

state!(Writer { values { current, opening, next, closing, again, busy, forced } fixed {} });

impl Writer {
    pub(super) fn new(layout: &Layout) -> Self {
        Self {
            current: None,
            opening: None,
            next: None,
            closing: VecDeque::new(),
            again: VecDeque::new(),
            busy: vec![false; layout.units as usize],
            forced: 0,
        }
    }

    /// Whether a line takes data.
    pub(super) fn has_line(&self) -> bool {
        self.current.is_some()
    }

    /// The line under preparation, which counts as free.
    pub(super) fn next_line(&self) -> Option<LineId> {
        self.next.as_ref().map(|next| next.line)
    }

    /// The lines that the writer works on.
    fn lines(&self) -> impl Iterator<Item = LineId> {
        let current = self.current.iter().map(|cursor| cursor.line);
        let closing = self.closing.iter().map(|closing| closing.line);
        current.chain(self.opening.iter().map(|(line, _)| *line)).chain(closing).chain(self.next_line())
    }

    pub(super) fn forget(&mut self) {
        (self.current, self.opening, self.next) = (None, None, None);
        self.closing.clear();
        self.again.clear();
        self.busy.fill(false);
        self.forced = 0;
    }

    /// Forces the write of all entries before a position. Returns whether some of them were not forced yet.
    pub(super) fn force(&mut self, position: u64) -> bool {
        let before = std::mem::replace(&mut self.forced, position);
        before < position
    }

    /// Advances to the next writable strip. At the end of the line it returns `None`, and the line becomes a
    /// closing line.
    fn next_strip(&mut self, lines: &Lines) -> Option<(LineId, u32)> {
        let Cursor { line, strip, end } = self.current.as_mut()?;
        while *strip < *end && !lines.is_usable(*line, *strip) {
            *strip += 1;
        }
        if strip < end {
            return Some((*line, *strip));
        }
        let line = *line;
        self.current = None;
        self.closing.push_back(Closing {
            line,
            strips: lines.emeta_of(line),
            in_flight: 0,
            is_whole: true,
            point: None,
        });
        None
    }

    /// Takes strips for this many logical blocks, while their parallel units are idle. Returns the parallel
    /// unit of the last strip.
    fn take_strips(
        &mut self,
        blocks: u32,
        lines: &Lines,
        layout: &Layout,
        places: &mut Vec<Ppa>,
    ) -> Option<u32> {
        let mut last = None;
        while (places.len() as u32) < blocks {
            let Some((line, strip)) = self.next_strip(lines) else { break };
            let unit = layout.unit_of(strip);
            if std::mem::replace(&mut self.busy[unit as usize], true) {
                break;
            }
            places.extend(layout.locations_in(line, strip));
            self.current.as_mut().expect("a strip is of a line").strip += 1;
            last = Some(unit);
        }
        last
    }

    /// Takes a strip of emeta that can be written now: on a parallel unit away from the data write to
    /// `beside`, or without `beside` on any idle parallel unit.
    fn take_emeta(
        &mut self,
        beside: Option<u32>,
        lines: &Lines,
        layout: &Layout,
        durable: &FlushTracker,
    ) -> Option<(LineId, u32)> {
        for closing in &mut self.closing {
            if lines.get(closing.line).pending > 0 {
                return None;
            }
            if !closing.strips.is_empty() {
                let point = *closing.point.get_or_insert_with(|| durable.point());
                if !durable.is_reached(point) {
                    return None;
                }
            }
            while closing.strips.pop_if(|strip| !lines.is_usable(closing.line, *strip)).is_some() {
                closing.is_whole = false;
            }
            let Some(strip) = closing.strips.last().copied() else { continue };
            let (unit, units) = (layout.unit_of(strip), layout.units);
            let is_far = beside.is_none_or(|data| (unit + units - data) % units >= units / 2);
            if self.busy[unit as usize] || !is_far {
                return None;
            }
            self.busy[unit as usize] = true;
            closing.strips.pop();
            closing.in_flight += 1;
            return Some((closing.line, strip));
        }
        None
    }

    /// The highest flush number ([`FlushTracker::point`]) that the emeta of a closing line waits for.
    pub(super) fn wanted_point(&self) -> Option<u64> {
        self.closing.iter().filter_map(|closing| closing.point).max()
    }

    /// Ends a line early: it takes no more data and no more emeta.
    pub(super) fn end_line(&mut self, line: LineId) {
        if self.current.take_if(|cursor| cursor.line == line).is_some() {
            let of_line = Closing { line, strips: Vec::new(), in_flight: 0, is_whole: false, point: None };
            self.closing.push_back(of_line);
        } else if let Some(closing) = self.closing.iter_mut().find(|closing| closing.line == line) {
            closing.strips.clear();
            closing.is_whole = false;
        }
    }

    /// Removes and returns a closing line with no outstanding writes, and whether its emeta is complete.
    fn take_closed(&mut self, lines: &Lines) -> Option<(LineId, bool)> {
        let is_over = |closing: &Closing| {
            closing.strips.is_empty() && closing.in_flight == 0 && lines.get(closing.line).pending == 0
        };
        let at = self.closing.iter().position(is_over)?;
        self.closing.remove(at).map(|closing| (closing.line, closing.is_whole))
    }

    /// The next chunk to reset, by its parallel unit. Avoids the parallel unit `beside` if possible.
    fn take_reset(&mut self, beside: Option<u32>) -> Option<(LineId, u32)> {
        let next = self.next.as_mut()?;
        if next.has_smeta {
            if next.resetting > 0 {
                return None;
            }
            next.resetting = 1;
            return Some((next.line, next.to_reset.remove(0)));
        }
        let is_other = |unit: &u32| Some(*unit) != beside;
        let at = next.to_reset.iter().position(is_other).or((!next.to_reset.is_empty()).then_some(0))?;
        next.resetting += 1;
        Some((next.line, next.to_reset.remove(at)))
    }

    /// Checks that the lines, chunks and positions of the writer exist.
    pub(super) fn check(&self, lines: &Lines, positions: &std::ops::Range<u64>) -> Result<(), String> {
        let [of_lines, of_chunks] = lines.lengths();
        let units = (of_chunks / of_lines) as u32;
        let is_there = self.lines().all(|line| (line.0 as usize) < of_lines)
            && self.next.iter().flat_map(|next| &next.to_reset).all(|unit| *unit < units)
            && self
                .next
                .iter()
                .all(|next| !next.has_smeta || next.resetting > 0 || !next.to_reset.is_empty())
            && self.busy.len() == units as usize
            && self.again.iter().all(|position| positions.contains(position));
        if is_there { Ok(()) } else { Err("a writer on lines that do not exist".into()) }
    }

    /// The state of the writer, for a stall report.
    pub(super) fn describe(&self) -> String {
        format!(
            "writer: current {:?}, next {:?}, {} lines closing, {} entries to rewrite\n",
            self.current.map(|cursor| cursor.line.0),
            self.next.as_ref().map(|next| (next.line.0, next.to_reset.len(), next.resetting)),
            self.closing.len(),
            self.again.len()
        )
    }
}

impl<D: PhysicalDevice> Pblk<D> {
    /// Writes everything that can be written now. Returns whether there was anything.
    pub(super) fn write_pending(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) -> bool {
        let mut any = self.prepare_next_line(calendar);
        while self.write_data(calendar) {
            any = true;
        }
        // The emeta of a line is written at the latest when the next line is full.
        any |= self.writer.closing.len() > 1 && self.write_emeta(None, calendar);
        while let Some((line, has_emeta)) = self.writer.take_closed(&self.lines) {
            self.lines.close(line, has_emeta);
            self.update_limiter();
            any = true;
        }
        any
    }

    /// Prepares the next line, and opens it if none is open. Returns whether anything was done.
    fn prepare_next_line(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) -> bool {
        if self.writer.next.is_none() {
            let Some(line) = self.lines.take_free(|point| self.durable.is_reached(point)) else {
                return false;
            };
            let to_reset = self.plan_resets(line);
            let first = self.lines.strips(line).next().map(|strip| self.layout.unit_of(strip));
            let has_smeta = first.is_some() && to_reset.first().copied() == first;
            self.writer.next = Some(Next { line, to_reset, resetting: 0, has_smeta });
        }
        let writer = &self.writer;
        // While some data exist only in the volatile cache, the writer does not wait for emeta: the
        // relocation of these data needs space.
        let is_full =
            writer.closing.len() >= CLOSING_LINES && writer.again.is_empty() && !self.lines.has_stranded();
        if writer.current.is_some() || writer.opening.is_some() || is_full {
            return false;
        }
        let mut any = false;
        while let Some((line, unit)) = self.writer.take_reset(None) {
            self.reset(line, unit, calendar);
            any = true;
        }
        let Some(next) = self.writer.next.take_if(|next| next.resetting == 0) else { return any };
        if self.lines.chunks_of(next.line) < self.layout.least_chunks {
            self.lines.retire(next.line);
            self.update_limiter();
        } else {
            self.open(next.line, calendar);
        }
        true
    }

    /// The parallel units whose chunks of a line have to be reset. Chunks that went offline while the line
    /// was free are removed from the line.
    fn plan_resets(&mut self, line: LineId) -> Vec<u32> {
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
    fn reset(&mut self, line: LineId, unit: u32, calendar: &mut impl Schedule<Event<D::Event>>) {
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

    /// Opens a line. Its smeta is written first.
    fn open(&mut self, line: LineId, calendar: &mut impl Schedule<Event<D::Event>>) {
        let version = self.lines.open(line);
        self.update_limiter();
        let strips = self.lines.smeta_of(line);
        self.writer.opening = Some((line, strips.len() as u32));
        for strip in strips {
            self.counts.smeta_blocks += u64::from(self.layout.strip);
            self.write_strip(
                Purpose::Smeta(line),
                line,
                strip,
                DataTag { logical: SMETA, version },
                calendar,
            );
        }
    }

    fn write_strip(
        &mut self,
        work: Purpose,
        line: LineId,
        strip: u32,
        stamp: DataTag,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        let mut sent = self.port.new_command(work);
        sent.places.extend(self.layout.locations_in(line, strip));
        sent.stamps.resize(sent.places.len(), stamp);
        self.send(sent, calendar);
    }

    /// Completes a smeta write. After a failure another line is opened.
    pub(super) fn complete_smeta_write(&mut self, line: LineId, completion: &Completion, sent: &Sent) {
        if completion.failure.is_some() {
            self.lines.mark_closed_early(sent.places[0]);
        }
        let (_, in_flight) = self.writer.opening.as_mut().expect("its smeta was being written");
        *in_flight -= 1;
        if *in_flight > 0 {
            return;
        }
        self.writer.opening = None;
        if self.lines.get(line).has_failed {
            self.lines.abort_open(line);
            self.update_limiter();
            return;
        }
        let data = self.lines.data_range(line);
        self.writer.current = Some(Cursor { line, strip: data.start, end: data.end });
    }

    /// Completes the reset of a chunk of the next line.
    pub(super) fn complete_chunk_reset(&mut self, line: LineId, completion: &Completion, sent: &Sent) {
        if completion.failure.is_some() {
            let unit = self.layout.unit_of(self.layout.strip_of(sent.places[0]));
            self.lines.mark_offline(line, unit);
            self.counts.chunks_lost += 1;
            self.update_limiter();
        }
        let next = self.writer.next.as_mut().expect("it waits for its resets");
        next.resetting -= 1;
        next.has_smeta = false;
    }

    /// Number of entries to write now: a full stripe, else full strips, else a padded strip if a command
    /// waits for it.
    fn entries_due(&self) -> u32 {
        let (waiting, strip, most) = (self.ring.waiting(), self.layout.strip, self.layout.most_write());
        let position = self.ring.submitted();
        match waiting {
            _ if waiting >= most => most,
            _ if waiting >= strip => waiting - waiting % strip,
            0 => 0,
            _ if self.front.flush_point() > position || self.writer.forced > position => strip,
            _ => 0,
        }
    }

    /// Sends one data write. Returns whether it sent one.
    fn write_data(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) -> bool {
        self.drop_superseded();
        let is_again = !self.writer.again.is_empty();
        let due = match is_again {
            true => (self.writer.again.len() as u32).min(self.layout.most_write()),
            false => self.entries_due(),
        };
        if due == 0 {
            return false;
        }
        let mut sent = self.port.new_command(Purpose::Data);
        let last = self.writer.take_strips(due, &self.lines, &self.layout, &mut sent.places);
        if last.is_none() {
            self.port.recycle(sent);
            return false;
        }
        for at in 0..sent.places.len() {
            let position = match is_again {
                true => self.writer.again.pop_front(),
                false => self.ring.submit(),
            };
            let stamp = self.assign_location(position, sent.places[at]);
            sent.positions.push(position.unwrap_or(PADDING));
            sent.stamps.push(stamp);
        }
        self.send(sent, calendar);
        if let Some((line, unit)) = self.writer.take_reset(last) {
            self.reset(line, unit, calendar);
        }
        self.write_emeta(last, calendar);
        true
    }

    /// Assigns an entry, or padding, to a location. Returns its data tag.
    fn assign_location(&mut self, position: Option<u64>, place: Ppa) -> DataTag {
        let Some(position) = position else {
            self.counts.padding += 1;
            return DataTag::PADDING;
        };
        let entry = self.ring.get_mut(position);
        (entry.progress, entry.place) = (Progress::Sent, place);
        match entry.origin {
            Origin::Host => self.counts.host_pages += 1,
            Origin::Collector => self.counts.moved_pages += 1,
        }
        let stamp = entry.stamp;
        self.lines.get_mut(self.layout.line_of(place)).pending += 1;
        stamp
    }

    /// Drops failed entries that are not the newest version of their page: a repeated write could reach flash
    /// after the newer version. Commands that waited for a dropped entry wait for the newer version.
    fn drop_superseded(&mut self) {
        for at in (0..self.writer.again.len()).rev() {
            let position = self.writer.again[at];
            let index = self.ring.index(position);
            let newest = self.map.get(page_of(self.ring.at(index).stamp));
            if newest == PageLocation::Ring(index) {
                continue;
            }
            self.writer.again.remove(at);
            self.ring.at_mut(index).progress = Progress::Dropped;
            if let PageLocation::Ring(newest) = newest {
                self.front.retarget_flushes(position, self.ring.position(newest));
            }
        }
    }

    pub(super) fn complete_data_write(&mut self, completion: &Completion, sent: &Sent) {
        for (at, (place, position)) in sent.places.iter().zip(&sent.positions).enumerate() {
            let has_failed = completion.has_failed(at);
            if has_failed {
                self.lines.mark_closed_early(*place);
            }
            if *position == PADDING {
                continue;
            }
            if has_failed {
                self.lines.get_mut(self.layout.line_of(*place)).pending -= 1;
                self.ring.get_mut(*position).progress = Progress::Waits;
                self.writer.again.push_back(*position);
                self.counts.resubmitted += 1;
            } else {
                self.ring.get_mut(*position).progress = Progress::Written;
            }
        }
        self.mark_units_idle(&sent.places);
    }

    /// Marks the parallel units of a write as idle.
    fn mark_units_idle(&mut self, places: &[Ppa]) {
        for place in places.iter().step_by(self.layout.strip as usize) {
            let unit = self.layout.unit_of(self.layout.strip_of(*place));
            self.writer.busy[unit as usize] = false;
        }
    }

    /// Syncs entries that are in flash, in order. Their pages are mapped to flash from then on.
    pub(super) fn sync(&mut self) -> bool {
        let before = self.ring.synced();
        while let Some(entry) = self.ring.sync() {
            if entry.progress == Progress::Dropped {
                continue;
            }
            self.lines.get_mut(self.layout.line_of(entry.place)).pending -= 1;
            self.lines.set_content(entry.place, entry.stamp);
            // The page may have been discarded after the write began.
            if let PageLocation::Ring(newest) = self.map.get(page_of(entry.stamp)) {
                let old = std::mem::replace(&mut self.ring.at_mut(newest).durable, entry.place);
                if old != Ppa::NONE {
                    self.lines.invalidate(old);
                }
                self.lines.validate(entry.place);
            }
        }
        self.ring.synced() > before
    }

    /// Writes a strip of emeta, if possible. Returns whether it did.
    pub(super) fn write_emeta(
        &mut self,
        beside: Option<u32>,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) -> bool {
        let Some((line, strip)) = self.writer.take_emeta(beside, &self.lines, &self.layout, &self.durable)
        else {
            return false;
        };
        let entry = self.lines.get_mut(line);
        entry.is_listed = true;
        let stamp = DataTag { logical: EMETA, version: entry.sequence };
        self.counts.emeta_blocks += u64::from(self.layout.strip);
        self.write_strip(Purpose::Emeta(line), line, strip, stamp, calendar);
        true
    }

    pub(super) fn complete_emeta_write(&mut self, line: LineId, completion: &Completion, sent: &Sent) {
        let closing = self.writer.closing.iter_mut().find(|closing| closing.line == line);
        let closing = closing.expect("its emeta was being written");
        closing.in_flight -= 1;
        if completion.failure.is_some() {
            closing.is_whole = false;
            self.lines.mark_closed_early(sent.places[0]);
        }
        self.mark_units_idle(&sent.places);
    }
}
