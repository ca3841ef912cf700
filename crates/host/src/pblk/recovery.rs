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
use wordline_kernel::{Duration, Instant, Schedule, state};
use wordline_nand::DataTag;

use super::flash::Flash;
use super::l2p::{L2pMap, PageLocation};
use super::layout::{LineId, Page, Ppa};
use super::port::{Event, Purpose};
use super::ring::page_of;
use super::writer::{EMETA, SMETA};

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

/// The phases of a recovery.
impl Recovery {
    /// Does the next step, with no command in flight. Returns whether all page lists have been applied.
    pub(super) fn step<D: PhysicalDevice>(
        &mut self,
        flash: &mut Flash<D>,
        map: &mut L2pMap,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) -> bool {
        if self.send_next_read(flash, calendar) {
            return false;
        }
        match self.phase {
            Phase::Device => self.find_open_chunks(flash),
            Phase::Padding => {
                if !self.pad(flash, calendar) {
                    self.phase = Phase::Smeta(LineId(0));
                    self.request_smeta(LineId(0), flash);
                }
            }
            Phase::Smeta(line) => self.handle_smeta(line, flash),
            Phase::Emeta => self.handle_emeta(flash, map),
            Phase::Pages => self.handle_pages(flash, map),
        }
        self.phase == Phase::Emeta && self.lines.is_empty()
    }

    /// Reads the next requested locations. Returns false if there are none.
    fn send_next_read<D: PhysicalDevice>(
        &mut self,
        flash: &mut Flash<D>,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) -> bool {
        if self.to_read.is_empty() {
            return false;
        }
        let mut sent = flash.port.new_command(Purpose::Scan);
        let count = self.to_read.len().min(MOST_BLOCKS);
        sent.places.extend(self.to_read.drain(..count));
        self.pages_read += count as u64;
        flash.send(sent, calendar);
        true
    }

    /// Completes a scan read. Unreadable locations count as interrupted programs.
    pub(super) fn complete_scan(&mut self, completion: &Completion, places: &[Ppa]) {
        for (at, place) in places.iter().enumerate() {
            let stamp = if completion.has_failed(at) { DataTag::UNREADABLE } else { completion.found[at] };
            self.found.push((*place, stamp));
        }
    }

    fn find_open_chunks<D: PhysicalDevice>(&mut self, flash: &mut Flash<D>) {
        let device = &flash.port.device;
        flash.lines.update_offline_chunks(|chunk| device.report(chunk).state);
        let is_open = |chunk: &Chunk| device.report(*chunk).state == ChunkState::Open;
        self.open = device.geometry().all_chunks().filter(is_open).collect();
        self.phase = Phase::Padding;
    }

    /// Pads each open chunk with one command. Returns false if no chunk is left.
    fn pad<D: PhysicalDevice>(
        &mut self,
        flash: &mut Flash<D>,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) -> bool {
        let device = &flash.port.device;
        let mut open = std::mem::take(&mut self.open);
        open.retain(|chunk| device.report(*chunk).state == ChunkState::Open);
        let (unit, size) = (device.geometry().ws_min, device.geometry().blocks_per_chunk);
        let most = MOST_BLOCKS as u32 - MOST_BLOCKS as u32 % unit;
        for chunk in &open {
            let first = flash.port.device.report(*chunk).write_pointer;
            let count = (size - first).min(most);
            let mut sent = flash.port.new_command(Purpose::Pad);
            sent.places.extend((first..first + count).map(|block| flash.layout.place(chunk.at(block))));
            sent.stamps.resize(count as usize, DataTag::PADDING);
            flash.counts.padding += u64::from(count);
            flash.send(sent, calendar);
        }
        self.open = open;
        !self.open.is_empty()
    }

    /// Requests reads of all locations of some strips of a line, if all are readable.
    fn request_strips<D: PhysicalDevice>(&mut self, line: LineId, strips: &[u32], flash: &Flash<D>) {
        self.found.clear();
        let places: Vec<Ppa> = strips.iter().flat_map(|strip| flash.readable(line, *strip)).collect();
        if places.len() as u32 == strips.len() as u32 * flash.layout.strip {
            self.request_reads(places);
        }
    }

    fn request_smeta<D: PhysicalDevice>(&mut self, line: LineId, flash: &Flash<D>) {
        if line.0 < flash.layout.lines {
            let strips = flash.lines.smeta_of(line);
            self.request_strips(line, &strips, flash);
        }
    }

    /// Processes the smeta of a line. Then requests the smeta of the next line, or the page lists of all
    /// lines.
    fn handle_smeta<D: PhysicalDevice>(&mut self, line: LineId, flash: &mut Flash<D>) {
        if line.0 < flash.layout.lines {
            if let Some(sequence) = self.common_version(SMETA) {
                flash.lines.found(line, sequence);
                self.lines.push_back((sequence, line));
            }
            self.phase = Phase::Smeta(LineId(line.0 + 1));
            return self.request_smeta(LineId(line.0 + 1), flash);
        }
        self.lines.make_contiguous().sort_unstable();
        self.phase = Phase::Emeta;
        self.request_emeta(flash);
    }

    fn request_emeta<D: PhysicalDevice>(&mut self, flash: &Flash<D>) {
        self.found.clear();
        if let Some((_, line)) = self.lines.front().copied() {
            let strips = flash.lines.emeta_of(line);
            self.request_strips(line, &strips, flash);
        }
    }

    /// Processes the emeta of a line. If the emeta is incomplete, the pages of the line are read.
    fn handle_emeta<D: PhysicalDevice>(&mut self, flash: &mut Flash<D>, map: &mut L2pMap) {
        let (sequence, line) = self.lines[0];
        if self.has_emeta(sequence) && flash.lines.get(line).is_listed {
            return self.apply_list(line, true, flash, map);
        }
        flash.lines.forget_contents(line);
        flash.lines.get_mut(line).is_listed = false;
        let data: Vec<Ppa> =
            flash.lines.data_strips(line).flat_map(|strip| flash.readable(line, strip)).collect();
        self.request_reads(data);
        self.phase = Phase::Pages;
    }

    /// Processes the pages of a line.
    fn handle_pages<D: PhysicalDevice>(&mut self, flash: &mut Flash<D>, map: &mut L2pMap) {
        let (_, line) = self.lines[0];
        for at in 0..self.found.len() {
            let (place, stamp) = self.found[at];
            let is_page = stamp.is_data() && page_of(stamp).0 < map.pages();
            flash.lines.set_content(place, if is_page { stamp } else { DataTag::PADDING });
        }
        self.apply_list(line, false, flash, map);
    }

    /// Applies the page list of a line to the map. Later lines override it.
    fn apply_list<D: PhysicalDevice>(
        &mut self,
        line: LineId,
        has_emeta: bool,
        flash: &mut Flash<D>,
        map: &mut L2pMap,
    ) {
        let strips: Vec<u32> = flash.lines.data_strips(line).collect();
        for strip in strips {
            // Chunks of a free line may have been reset after its list was written.
            for place in flash.readable(line, strip) {
                let stamp = flash.lines.content(place);
                if stamp.is_data() {
                    map.found(page_of(stamp), stamp.version, place);
                }
            }
        }
        self.lines.pop_front();
        self.done.push((line, has_emeta));
        self.phase = Phase::Emeta;
        self.request_emeta(flash);
    }

    /// Completes the recovery after all lists have been applied.
    pub(super) fn finish<D: PhysicalDevice>(
        &mut self,
        flash: &mut Flash<D>,
        map: &L2pMap,
        point: u64,
        time: Duration,
    ) {
        for (_, address) in map.iter() {
            if let PageLocation::Flash(place) = address {
                flash.lines.validate(place);
            }
        }
        let done = std::mem::take(&mut self.done);
        for (line, has_emeta) in &done {
            flash.lines.close(*line, *has_emeta && !flash.lines.has_retired(*line));
        }
        for line in flash.lines.ids() {
            if !done.iter().any(|(found, _)| *found == line) {
                flash.lines.free_unrecovered(line, point);
            }
        }
        flash.update_limiter();
        let pages_read = self.pages_read;
        let mut last = Recovered { time, pages_read, ..Recovered::default() };
        for ((page, address), before) in map.iter().zip(&self.before) {
            let after = version_of(map, page, address);
            last.returned += u64::from(*before == NONE && after != NONE);
            last.lost += u64::from(*before != NONE && after != *before);
        }
        *self = Self { last: Some(last), pages_read, ..Self::new() };
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
