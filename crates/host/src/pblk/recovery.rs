//! Power-loss recovery: rebuilds the L2P map.
//!
//! 1. Open chunks are padded to their ends, so that they are readable.
//! 2. Smeta of each line is read. It gives the order in which the lines were opened.
//! 3. The page lists of the lines are replayed in this order. Later entries override earlier ones.
//!
//! The page list of a line comes from its emeta if all of the emeta is readable, else from the out-of-band
//! data of its pages. Apart from padding, one command is in flight at a time, as in pblk.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wordline_device::physical_device::{Chunk, ChunkState, Completion, MOST_BLOCKS};
use wordline_device::{PhysicalDevice, Recovered};
use wordline_kernel::{Instant, Schedule, state};
use wordline_nand::DataTag;

use super::l2p::{L2pMap, PageLocation};
use super::layout::{LineId, Page, Ppa};
use super::port::Purpose;
use super::ring::page_of;
use super::writer::{EMETA, SMETA};
use super::{Event, Pblk};

/// Whether the FTL has power, and since when it has been recovering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Power {
    On,
    Off,
    Back(Instant),
}

/// The current phase of a recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Phase {
    /// The device recovers.
    Device,
    /// Open chunks are padded.
    Padding,
    /// The smeta of this line is read.
    Smeta(LineId),
    /// The emeta of the first of the remaining lines is read, or the pages of that line.
    Emeta,
    Pages,
}

/// A recovery, and the result of the last one.
pub(super) struct Recovery {
    pub(super) power: Power,
    phase: Phase,
    /// Chunks to pad.
    open: Vec<Chunk>,
    /// Lines found, with their sequence numbers.
    lines: VecDeque<(u32, LineId)>,
    /// Lines whose page lists have been applied, and whether each line has emeta.
    done: Vec<(LineId, bool)>,
    /// Locations still to be read.
    to_read: VecDeque<Ppa>,
    /// The data tags found so far.
    found: Vec<(Ppa, DataTag)>,
    pub(super) pages_read: u64,
    /// The version of each page before the power cut; [`NONE`] for unmapped pages.
    before: Vec<u32>,
    pub(super) last: Option<Recovered>,
}

state!(Recovery { values { power, phase, open, lines, done, to_read, found, pages_read, before, last } fixed {} });

/// No version.
const NONE: u32 = u32::MAX;

impl Recovery {
    pub(super) fn new() -> Self {
        Self {
            power: Power::On,
            phase: Phase::Device,
            open: Vec::new(),
            lines: VecDeque::new(),
            done: Vec::new(),
            to_read: VecDeque::new(),
            found: Vec::new(),
            pages_read: 0,
            before: Vec::new(),
            last: None,
        }
    }

    /// Resets after a power cut. A cut during a recovery keeps the versions before the first cut as the
    /// reference.
    pub(super) fn forget(&mut self, map: &L2pMap) {
        let before = match self.power {
            Power::On => map.iter().map(|(page, address)| version_of(map, page, address)).collect(),
            Power::Off | Power::Back(_) => std::mem::take(&mut self.before),
        };
        *self = Self { power: Power::Off, before, last: self.last.take(), ..Self::new() };
    }

    /// Begins to read these locations.
    fn request_reads(&mut self, places: impl IntoIterator<Item = Ppa>) {
        self.found.clear();
        self.to_read.extend(places);
    }

    /// The version that all found data tags have in common, if all of them have this logical number. `None`
    /// otherwise.
    fn common_version(&self, logical: u32) -> Option<u32> {
        let (_, first) = *self.found.first()?;
        let is_one = self.found.iter().all(|(_, stamp)| *stamp == first);
        (is_one && first.logical == logical).then_some(first.version)
    }

    /// Whether the found emeta belongs to this sequence number of its line.
    fn has_emeta(&self, sequence: u32) -> bool {
        self.common_version(EMETA) == Some(sequence)
    }

    /// Checks that the lines and locations of the recovery exist.
    pub(super) fn check(&self, lines: u32, places: u32) -> Result<(), String> {
        let found = self.found.iter().map(|(place, _)| place);
        let is_there = self.to_read.iter().chain(found).all(|place| place.0 < places)
            && self.lines.iter().all(|(_, line)| line.0 < lines)
            && self.done.iter().all(|(line, _)| line.0 < lines)
            && !matches!(self.phase, Phase::Smeta(line) if line.0 > lines);
        let is_one = !matches!(self.phase, Phase::Emeta | Phase::Pages) || !self.lines.is_empty();
        if is_there && is_one { Ok(()) } else { Err("a recovery of lines that do not exist".into()) }
    }
}

fn version_of(map: &L2pMap, page: Page, address: PageLocation) -> u32 {
    if address == PageLocation::Unmapped { NONE } else { map.version(page) }
}

impl<D: PhysicalDevice> Pblk<D> {
    /// Advances the recovery as far as possible.
    pub(super) fn advance_recovery(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) {
        let Power::Back(since) = self.recovery.power else { return };
        while self.port.device.is_ready() {
            self.take_completions(calendar);
            if !self.port.is_idle() {
                return;
            }
            if self.send_next_read(calendar) {
                continue;
            }
            match self.recovery.phase {
                Phase::Device => self.find_open_chunks(),
                Phase::Padding => {
                    if !self.pad(calendar) {
                        self.recovery.phase = Phase::Smeta(LineId(0));
                        self.request_smeta(LineId(0));
                    }
                }
                Phase::Smeta(line) => self.handle_smeta(line),
                Phase::Emeta => self.handle_emeta(),
                Phase::Pages => self.handle_pages(),
            }
            if self.recovery.phase == Phase::Emeta && self.recovery.lines.is_empty() {
                self.finish_recovery(since, calendar.now());
                return self.make_progress(calendar);
            }
        }
    }

    /// Reads the next requested locations. Returns false if there are none.
    fn send_next_read(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) -> bool {
        if self.recovery.to_read.is_empty() {
            return false;
        }
        let mut sent = self.port.new_command(Purpose::Scan);
        let count = self.recovery.to_read.len().min(MOST_BLOCKS);
        sent.places.extend(self.recovery.to_read.drain(..count));
        self.recovery.pages_read += count as u64;
        self.send(sent, calendar);
        true
    }

    /// Completes a scan read. Unreadable locations count as interrupted programs.
    pub(super) fn complete_scan(&mut self, completion: &Completion, places: &[Ppa]) {
        for (at, place) in places.iter().enumerate() {
            let stamp = if completion.has_failed(at) { DataTag::UNREADABLE } else { completion.found[at] };
            self.recovery.found.push((*place, stamp));
        }
    }

    fn find_open_chunks(&mut self) {
        let device = &self.port.device;
        self.lines.update_offline_chunks(|chunk| device.report(chunk).state);
        let is_open = |chunk: &Chunk| device.report(*chunk).state == ChunkState::Open;
        self.recovery.open = device.geometry().all_chunks().filter(is_open).collect();
        self.recovery.phase = Phase::Padding;
    }

    /// Pads each open chunk with one command. Returns false if no chunk is left.
    fn pad(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) -> bool {
        let device = &self.port.device;
        let mut open = std::mem::take(&mut self.recovery.open);
        open.retain(|chunk| device.report(*chunk).state == ChunkState::Open);
        let (unit, size) = (device.geometry().ws_min, device.geometry().blocks_per_chunk);
        let most = MOST_BLOCKS as u32 - MOST_BLOCKS as u32 % unit;
        for chunk in &open {
            let first = self.port.device.report(*chunk).write_pointer;
            let count = (size - first).min(most);
            let mut sent = self.port.new_command(Purpose::Pad);
            sent.places.extend((first..first + count).map(|block| self.layout.place(chunk.at(block))));
            sent.stamps.resize(count as usize, DataTag::PADDING);
            self.counts.padding += u64::from(count);
            self.send(sent, calendar);
        }
        self.recovery.open = open;
        !self.recovery.open.is_empty()
    }

    /// The written and readable locations of a strip.
    fn readable(&self, line: LineId, strip: u32) -> impl Iterator<Item = Ppa> + use<D> {
        let mut places = self.layout.locations_in(line, strip);
        let first = self.layout.block(places.next().expect("a strip has places"));
        let end = self.port.device.report(first.chunk).readable;
        self.layout.locations_in(line, strip).take(end.saturating_sub(first.block) as usize)
    }

    /// Requests reads of all locations of some strips of a line, if all are readable.
    fn request_strips(&mut self, line: LineId, strips: &[u32]) {
        self.recovery.found.clear();
        let places: Vec<Ppa> = strips.iter().flat_map(|strip| self.readable(line, *strip)).collect();
        if places.len() as u32 == strips.len() as u32 * self.layout.strip {
            self.recovery.request_reads(places);
        }
    }

    fn request_smeta(&mut self, line: LineId) {
        if line.0 < self.layout.lines {
            let strips = self.lines.smeta_of(line);
            self.request_strips(line, &strips);
        }
    }

    /// Processes the smeta of a line. Then requests the smeta of the next line, or the page lists of all
    /// lines.
    fn handle_smeta(&mut self, line: LineId) {
        if line.0 < self.layout.lines {
            if let Some(sequence) = self.recovery.common_version(SMETA) {
                self.lines.found(line, sequence);
                self.recovery.lines.push_back((sequence, line));
            }
            self.recovery.phase = Phase::Smeta(LineId(line.0 + 1));
            return self.request_smeta(LineId(line.0 + 1));
        }
        self.recovery.lines.make_contiguous().sort_unstable();
        self.recovery.phase = Phase::Emeta;
        self.request_emeta();
    }

    fn request_emeta(&mut self) {
        self.recovery.found.clear();
        if let Some((_, line)) = self.recovery.lines.front().copied() {
            let strips = self.lines.emeta_of(line);
            self.request_strips(line, &strips);
        }
    }

    /// Processes the emeta of a line. If the emeta is incomplete, the pages of the line are read.
    fn handle_emeta(&mut self) {
        let (sequence, line) = self.recovery.lines[0];
        if self.recovery.has_emeta(sequence) && self.lines.get(line).is_listed {
            return self.apply_list(line, true);
        }
        self.lines.forget_contents(line);
        self.lines.get_mut(line).is_listed = false;
        let data: Vec<Ppa> =
            self.lines.data_strips(line).flat_map(|strip| self.readable(line, strip)).collect();
        self.recovery.request_reads(data);
        self.recovery.phase = Phase::Pages;
    }

    /// Processes the pages of a line.
    fn handle_pages(&mut self) {
        let (_, line) = self.recovery.lines[0];
        for at in 0..self.recovery.found.len() {
            let (place, stamp) = self.recovery.found[at];
            let is_page = stamp.is_data() && page_of(stamp).0 < self.map.pages();
            self.lines.set_content(place, if is_page { stamp } else { DataTag::PADDING });
        }
        self.apply_list(line, false);
    }

    /// Applies the page list of a line to the map. Later lines override it.
    fn apply_list(&mut self, line: LineId, has_emeta: bool) {
        let strips: Vec<u32> = self.lines.data_strips(line).collect();
        for strip in strips {
            // Chunks of a free line may have been reset after its list was written.
            for place in self.readable(line, strip) {
                let stamp = self.lines.content(place);
                if stamp.is_data() {
                    self.map.found(page_of(stamp), stamp.version, place);
                }
            }
        }
        self.recovery.lines.pop_front();
        self.recovery.done.push((line, has_emeta));
        self.recovery.phase = Phase::Emeta;
        self.request_emeta();
    }

    /// Completes the recovery after all lists have been applied.
    fn finish_recovery(&mut self, since: Instant, now: Instant) {
        for (_, address) in self.map.iter() {
            if let PageLocation::Flash(place) = address {
                self.lines.validate(place);
            }
        }
        let (done, point) = (std::mem::take(&mut self.recovery.done), self.durable.point());
        for (line, has_emeta) in &done {
            self.lines.close(*line, *has_emeta && !self.lines.has_retired(*line));
        }
        for line in self.lines.ids() {
            if !done.iter().any(|(found, _)| *found == line) {
                self.lines.free_unrecovered(line, point);
            }
        }
        self.update_limiter();
        let pages_read = self.recovery.pages_read;
        let mut last = Recovered { time: now - since, pages_read, ..Recovered::default() };
        for ((page, address), before) in self.map.iter().zip(&self.recovery.before) {
            let after = version_of(&self.map, page, address);
            last.returned += u64::from(*before == NONE && after != NONE);
            last.lost += u64::from(*before != NONE && after != *before);
        }
        self.recovery = Recovery { last: Some(last), pages_read, ..Recovery::new() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_emeta_that_a_line_had_before_it_was_written_anew_is_not_accepted() {
        let stamp = |logical, version| DataTag { logical, version };
        let finds = |stamps: [DataTag; 2]| Recovery {
            found: (0..).map(Ppa).zip(stamps).collect(),
            ..Recovery::new()
        };
        assert!(finds([stamp(EMETA, 7); 2]).has_emeta(7));
        assert!(!finds([stamp(EMETA, 6); 2]).has_emeta(7), "it is of an earlier opening");
        assert!(!finds([stamp(EMETA, 7), stamp(EMETA, 6)]).has_emeta(7), "a part of it is");
        assert!(!finds([stamp(SMETA, 7); 2]).has_emeta(7) && !Recovery::new().has_emeta(7));
    }
}
