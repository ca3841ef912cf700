//! The writer: writes ring entries to the open line, one strip of each parallel unit at a time.
//!
//! Each parallel unit has at most one write in flight, as with pblk's semaphore. While a line is written, the
//! writer also resets the chunks of the next line one by one, and writes the emeta of the previous line. An
//! emeta write that accompanies a data write goes to a distant parallel unit: its number is at least half the
//! number of units higher, modulo the number of units.

mod data;
mod metadata;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wordline_device::PhysicalDevice;
use wordline_kernel::{Schedule, state};

use super::buffer::Buffer;
use super::flash::Flash;
use super::flush::FlushTracker;
use super::frontend::HostFrontend;
use super::layout::{Layout, LineId, Ppa};
use super::lines::Lines;
use super::port::Event;

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

    /// Writes everything that can be written now. Returns whether there was anything.
    pub(super) fn write_pending<D: PhysicalDevice>(
        &mut self,
        flash: &mut Flash<D>,
        buffer: &mut Buffer,
        front: &mut HostFrontend,
        durable: &FlushTracker,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) -> bool {
        let mut any = self.prepare_next_line(flash, durable, calendar);
        while self.write_data(flash, buffer, front, durable, calendar) {
            any = true;
        }
        // The emeta of a line is written at the latest when the next line is full.
        any |= self.closing.len() > 1 && self.write_emeta(None, flash, durable, calendar);
        while let Some((line, has_emeta)) = self.take_closed(&flash.lines) {
            flash.lines.close(line, has_emeta);
            flash.update_limiter();
            any = true;
        }
        any
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
