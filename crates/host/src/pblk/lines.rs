//! Lines: their states, usable chunks and valid pages, and the contents of every location.

mod collected;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wordline_device::physical_device::{Chunk, ChunkState};
use wordline_kernel::{Column, state};
use wordline_nand::DataTag;

use super::layout::{Layout, LineId, Ppa};

pub(super) use collected::List;

/// The state of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum LineState {
    /// The line can be opened once its chunks are reset.
    Free,
    /// The line is being written, or prepared for writing.
    Open,
    /// The line is fully written.
    Closed,
    /// The line is being collected.
    Collected,
    /// The line has too few usable chunks.
    Bad,
}

impl LineState {
    pub(super) const ALL: [Self; 5] = [Self::Free, Self::Open, Self::Closed, Self::Collected, Self::Bad];
}

/// Whether a chunk is usable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ChunkUse {
    Good,
    /// A write to the chunk failed after its reset: it takes no more writes.
    Early,
    /// The chunk went offline after its line was opened. Its data are readable.
    Retired,
    /// The chunk is offline, and not part of its line.
    Bad,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Line {
    pub(super) state: LineState,
    /// Sequence number: the number of lines opened before it, plus one.
    pub(super) sequence: u32,
    /// Valid logical blocks.
    pub(super) valid: u32,
    /// Logical blocks for data.
    pub(super) blocks: u32,
    /// Ring entries written to this line that are not synced.
    pub(super) pending: u32,
    /// Commands in flight and GC reads that refer to this line. It is not freed before they are done.
    pub(super) references: u32,
    /// Whether the page list is final: the emeta is being written, or exists. A free line keeps its list
    /// until it is reopened.
    pub(super) is_listed: bool,
    /// Whether a write to this line failed, or the line has no emeta. GC collects such a line first.
    pub(super) has_failed: bool,
    /// Whether some data of this line may exist only in the volatile cache of the device, because one of its
    /// chunks went offline.
    is_stranded: bool,
    /// For a free line: the number of the flush ([`flush`](super::flush)) after which all newer copies of its
    /// former data are non-volatile.
    point: u64,
}

/// All lines.
pub(super) struct Lines {
    layout: Layout,
    table: Column<LineId, Line>,
    /// By line, then by parallel unit.
    chunks: Vec<ChunkUse>,
    /// Valid bitmap over all locations.
    valid: Vec<u64>,
    /// Data tags written to each location. For an open line they are the page list in memory. For other lines
    /// they replace the contents of emeta, which the simulated flash does not store. After a power cut the
    /// tags of a line are used only once its emeta has been read.
    contents: Column<Ppa, DataTag>,
    free: VecDeque<LineId>,
    /// Usable chunks of free lines.
    free_chunks: u32,
    /// Closed or collected lines with a write error.
    failed_lines: u32,
    /// Lines with data that exist only in the volatile cache.
    stranded: u32,
    /// Lines without valid pages, which may be freed.
    emptied: Vec<LineId>,
    /// Lines opened so far.
    opened: u32,
    /// Whether the last search found no victim, and nothing has changed since.
    is_settled: bool,
}

state!(Lines {
    values { table, chunks, free, free_chunks, failed_lines, stranded, emptied, opened, is_settled }
    parts { valid, contents }
    fixed { layout }
});

impl Lines {
    /// The lines of a device, from the states of its chunks.
    pub(super) fn new(layout: Layout, state_of: impl Fn(Chunk) -> ChunkState) -> Self {
        let new = Line {
            state: LineState::Free,
            sequence: 0,
            valid: 0,
            blocks: 0,
            pending: 0,
            references: 0,
            is_listed: false,
            has_failed: false,
            is_stranded: false,
            point: 0,
        };
        let places = (layout.lines * layout.per_line()) as usize;
        let mut lines = Self {
            layout,
            table: Column::filled(layout.lines as usize, new),
            chunks: vec![ChunkUse::Good; (layout.lines * layout.units) as usize],
            valid: vec![0; places.div_ceil(64)],
            contents: Column::filled(places, DataTag::PADDING),
            free: VecDeque::new(),
            free_chunks: 0,
            failed_lines: 0,
            stranded: 0,
            emptied: Vec::new(),
            opened: 0,
            is_settled: false,
        };
        lines.update_offline_chunks(state_of);
        lines.table.ids().for_each(|line| lines.free_empty(line));
        lines
    }

    /// Notes which chunks are offline. On real devices smeta tells which chunks were not part of the line
    /// when it was opened. Here the model knows.
    pub(super) fn update_offline_chunks(&mut self, state_of: impl Fn(Chunk) -> ChunkState) {
        for line in self.table.ids() {
            for unit in 0..self.layout.units {
                let is_offline = state_of(self.layout.chunk(line, unit)) == ChunkState::Offline;
                let chunk = self.chunk_mut(line, unit);
                *chunk = match (is_offline, *chunk) {
                    (_, ChunkUse::Bad) => ChunkUse::Bad,
                    (true, _) => ChunkUse::Retired,
                    (false, _) => ChunkUse::Good,
                };
            }
        }
    }

    /// Frees an empty line. Its failed chunks are reset with the others, and go offline at that reset.
    /// Offline chunks are removed from the line.
    fn free_empty(&mut self, line: LineId) {
        for unit in 0..self.layout.units {
            let chunk = self.chunk_mut(line, unit);
            *chunk = match *chunk {
                ChunkUse::Early => ChunkUse::Good,
                ChunkUse::Retired => ChunkUse::Bad,
                other => other,
            };
        }
        self.add_to_free_list(line);
    }

    /// Frees a line in which a recovery found nothing. It may be reused from `point`.
    pub(super) fn free_unrecovered(&mut self, line: LineId, point: u64) {
        self.table[line].point = point;
        self.free_empty(line);
    }

    /// Appends an empty line to the free list, or retires it.
    fn add_to_free_list(&mut self, line: LineId) {
        let chunks = self.chunks_of(line);
        let before = self.wanted_point().unwrap_or(0);
        let entry = &mut self.table[line];
        entry.point = entry.point.max(before);
        self.stranded -= u32::from(entry.is_stranded);
        (entry.has_failed, entry.is_stranded) = (false, false);
        if chunks < self.layout.least_chunks {
            entry.state = LineState::Bad;
        } else {
            entry.state = LineState::Free;
            self.free.push_back(line);
            self.free_chunks += chunks;
        }
    }

    #[inline]
    pub(super) fn get(&self, line: LineId) -> &Line {
        &self.table[line]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, line: LineId) -> &mut Line {
        &mut self.table[line]
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = LineId> + use<> {
        self.table.ids()
    }

    pub(super) fn chunk_use(&self, line: LineId, unit: u32) -> ChunkUse {
        self.chunks[(line.0 * self.layout.units + unit) as usize]
    }

    fn chunk_mut(&mut self, line: LineId, unit: u32) -> &mut ChunkUse {
        &mut self.chunks[(line.0 * self.layout.units + unit) as usize]
    }

    /// Number of chunks of a line, without bad ones.
    pub(super) fn chunks_of(&self, line: LineId) -> u32 {
        (0..self.layout.units).filter(|unit| self.chunk_use(line, *unit) != ChunkUse::Bad).count() as u32
    }

    /// Notes that a chunk of the next line went offline.
    pub(super) fn mark_offline(&mut self, line: LineId, unit: u32) {
        *self.chunk_mut(line, unit) = ChunkUse::Bad;
        // Only chunks of the next line are reset. The next line counts as free until it is opened.
        self.free_chunks -= 1;
    }

    /// Notes that a chunk of an open line takes no more writes.
    pub(super) fn mark_closed_early(&mut self, place: Ppa) {
        let (line, unit) = (self.layout.line_of(place), self.layout.unit_of(self.layout.strip_of(place)));
        let chunk = self.chunk_mut(line, unit);
        if *chunk == ChunkUse::Good {
            *chunk = ChunkUse::Early;
        }
        self.table[line].has_failed = true;
    }

    /// Notes that a chunk takes no more writes, whatever the state of its line. Returns whether this affects
    /// the line. GC then collects the line before others.
    pub(super) fn mark_ended(&mut self, line: LineId, unit: u32, is_offline: bool) -> bool {
        let state = self.table[line].state;
        if matches!(state, LineState::Free | LineState::Bad) || self.chunk_use(line, unit) == ChunkUse::Bad {
            return false;
        }
        let chunk = self.chunk_mut(line, unit);
        if is_offline {
            *chunk = ChunkUse::Retired;
        } else if *chunk == ChunkUse::Good {
            *chunk = ChunkUse::Early;
        }
        let had_failed = std::mem::replace(&mut self.table[line].has_failed, true);
        let is_counted = matches!(state, LineState::Closed | LineState::Collected);
        self.failed_lines += u32::from(is_counted && !had_failed);
        self.is_settled = false;
        true
    }

    /// Notes that some data of a line may exist only in the volatile cache of the device.
    pub(super) fn strand(&mut self, line: LineId) {
        let was = std::mem::replace(&mut self.table[line].is_stranded, true);
        self.stranded += u32::from(!was);
    }

    /// Whether data of this line may exist only in the volatile cache of the device.
    pub(super) fn is_stranded(&self, line: LineId) -> bool {
        self.table[line].is_stranded
    }

    /// Whether data of any line may exist only in the volatile cache of the device.
    pub(super) fn has_stranded(&self) -> bool {
        self.stranded > 0
    }

    /// The flush number that the last line of the free list waits for.
    pub(super) fn wanted_point(&self) -> Option<u64> {
        self.free.back().map(|line| self.table[*line].point)
    }

    /// Whether the chunk of a strip is usable.
    #[inline]
    pub(super) fn is_usable(&self, line: LineId, strip: u32) -> bool {
        self.chunk_use(line, self.layout.unit_of(strip)) == ChunkUse::Good
    }

    /// The strips of a line, except strips of bad chunks.
    pub(super) fn strips(&self, line: LineId) -> impl DoubleEndedIterator<Item = u32> {
        let is_there = move |strip: &u32| self.chunk_use(line, self.layout.unit_of(*strip)) != ChunkUse::Bad;
        (0..self.layout.strips()).filter(is_there)
    }

    /// The strips of smeta.
    pub(super) fn smeta_of(&self, line: LineId) -> Vec<u32> {
        self.strips(line).take(self.layout.smeta as usize).collect()
    }

    /// The strips of emeta, last first.
    pub(super) fn emeta_of(&self, line: LineId) -> Vec<u32> {
        self.strips(line).rev().take(self.layout.emeta as usize).collect()
    }

    /// The strips of a line between smeta and emeta, including strips of bad chunks.
    pub(super) fn data_range(&self, line: LineId) -> std::ops::Range<u32> {
        let last = self.smeta_of(line).last().map_or(0, |last| last + 1);
        let end = self.emeta_of(line).last().copied().unwrap_or(last);
        last..end.max(last)
    }

    /// The strips of a line for data, except strips of bad chunks.
    pub(super) fn data_strips(&self, line: LineId) -> impl Iterator<Item = u32> {
        let is_there = move |strip: &u32| self.chunk_use(line, self.layout.unit_of(*strip)) != ChunkUse::Bad;
        self.data_range(line).filter(is_there)
    }

    /// Whether a chunk that is part of a line is offline.
    pub(super) fn has_retired(&self, line: LineId) -> bool {
        (0..self.layout.units).any(|unit| self.chunk_use(line, unit) == ChunkUse::Retired)
    }

    /// Usable chunks of free lines, including the line under preparation.
    pub(super) fn free_chunks(&self) -> u32 {
        self.free_chunks
    }

    pub(super) fn failed_lines(&self) -> u32 {
        self.failed_lines
    }

    /// Takes the line that has been free for longest, to prepare it. Returns `None` if its flush number has
    /// not been reached, or that of one of the `kept` lines after it.
    pub(super) fn take_free(&mut self, kept: u32, is_reached: impl Fn(u64) -> bool) -> Option<LineId> {
        // The numbers rise from line to line.
        let last = self.free.get(kept as usize).or(self.free.back())?;
        if !is_reached(self.table[*last].point) {
            return None;
        }
        let line = self.free.pop_front()?;
        self.table[line].state = LineState::Open;
        Some(line)
    }

    /// Retires a line under preparation that lost too many chunks.
    pub(super) fn retire(&mut self, line: LineId) {
        self.free_chunks -= self.chunks_of(line);
        self.add_to_free_list(line);
        debug_assert_eq!(self.table[line].state, LineState::Bad);
    }

    /// Logical blocks for data on the usable chunks of a line.
    pub(super) fn data_blocks(&self, line: LineId) -> u32 {
        let strips = self.chunks_of(line) * (self.layout.blocks_per_chunk / self.layout.strip);
        (strips - self.layout.smeta - self.layout.emeta) * self.layout.strip
    }

    /// Opens a prepared line and returns its sequence number.
    pub(super) fn open(&mut self, line: LineId) -> u32 {
        self.free_chunks -= self.chunks_of(line);
        self.opened += 1;
        for place in self.layout.locations_of(line).map(Ppa) {
            self.contents[place] = DataTag::PADDING;
        }
        let blocks = self.data_blocks(line);
        let entry = &mut self.table[line];
        debug_assert!(entry.state == LineState::Open && entry.valid == 0 && entry.pending == 0);
        (entry.sequence, entry.blocks, entry.is_listed) = (self.opened, blocks, false);
        entry.sequence
    }

    /// Frees a line whose smeta could not be written.
    pub(super) fn abort_open(&mut self, line: LineId) {
        self.free_empty(line);
    }

    /// Closes a fully written line.
    pub(super) fn close(&mut self, line: LineId, has_emeta: bool) {
        let entry = &mut self.table[line];
        entry.state = LineState::Closed;
        entry.has_failed |= !has_emeta;
        self.failed_lines += u32::from(entry.has_failed);
        self.is_settled = false;
        self.queue_if_empty(line);
    }

    /// Frees an empty line, which may be reused from `point`.
    pub(super) fn free(&mut self, line: LineId, point: u64) {
        self.failed_lines -= u32::from(self.table[line].has_failed);
        self.table[line].point = point;
        self.free_empty(line);
    }

    /// Removes and returns a line without valid pages and references.
    pub(super) fn pop_emptied(&mut self) -> Option<LineId> {
        while let Some(line) = self.emptied.pop() {
            if self.is_empty(line) {
                return Some(line);
            }
        }
        None
    }

    fn is_empty(&self, line: LineId) -> bool {
        let Line { state, valid, references, .. } = self.table[line];
        valid == 0 && references == 0 && matches!(state, LineState::Closed | LineState::Collected)
    }

    #[inline]
    fn queue_if_empty(&mut self, line: LineId) {
        if self.is_empty(line) {
            self.emptied.push(line);
        }
    }

    #[inline]
    pub(super) fn add_reference(&mut self, line: LineId) {
        self.table[line].references += 1;
    }

    #[inline]
    pub(super) fn drop_reference(&mut self, line: LineId) {
        self.table[line].references -= 1;
        self.queue_if_empty(line);
    }

    /// Notes that a ring entry is written to this location.
    #[inline]
    pub(super) fn add_pending(&mut self, place: Ppa) {
        self.table[self.layout.line_of(place)].pending += 1;
    }

    /// Notes that the entry written to this location is synced, or that its write failed.
    #[inline]
    pub(super) fn drop_pending(&mut self, place: Ppa) {
        self.table[self.layout.line_of(place)].pending -= 1;
    }

    #[inline]
    pub(super) fn is_valid(&self, place: Ppa) -> bool {
        self.valid[place.0 as usize / 64] >> (place.0 % 64) & 1 != 0
    }

    /// Marks a location as valid: it has the newest copy of its page in flash.
    #[inline]
    pub(super) fn validate(&mut self, place: Ppa) {
        debug_assert!(!self.is_valid(place));
        self.valid[place.0 as usize / 64] |= 1 << (place.0 % 64);
        self.table[self.layout.line_of(place)].valid += 1;
    }

    /// Marks a location as invalid.
    #[inline]
    pub(super) fn invalidate(&mut self, place: Ppa) {
        debug_assert!(self.is_valid(place));
        self.valid[place.0 as usize / 64] &= !(1 << (place.0 % 64));
        let line = self.layout.line_of(place);
        self.table[line].valid -= 1;
        self.is_settled = false;
        self.queue_if_empty(line);
    }

    #[inline]
    pub(super) fn content(&self, place: Ppa) -> DataTag {
        self.contents[place]
    }

    #[inline]
    pub(super) fn set_content(&mut self, place: Ppa, stamp: DataTag) {
        self.contents[place] = stamp;
    }

    /// Resets after a power cut. Page lists of lines without emeta are lost.
    pub(super) fn forget(&mut self) {
        self.valid.fill(0);
        self.free.clear();
        self.emptied.clear();
        (self.free_chunks, self.failed_lines, self.opened, self.is_settled) = (0, 0, 0, false);
        self.stranded = 0;
        for line in self.table.ids() {
            if !self.table[line].is_listed {
                self.forget_contents(line);
            }
            let entry = &mut self.table[line];
            // The recovery determines the state of the line.
            (entry.state, entry.sequence) = (LineState::Open, 0);
            (entry.valid, entry.blocks, entry.pending, entry.references) = (0, 0, 0, 0);
            (entry.has_failed, entry.is_stranded) = (false, false);
        }
    }

    /// Drops the page list of a line.
    pub(super) fn forget_contents(&mut self, line: LineId) {
        for place in self.layout.locations_of(line).map(Ppa) {
            self.contents[place] = DataTag::PADDING;
        }
    }

    /// Notes that a recovery found a line with this sequence number.
    pub(super) fn found(&mut self, line: LineId, sequence: u32) {
        let blocks = self.data_strips(line).count() as u32 * self.layout.strip;
        self.opened = self.opened.max(sequence);
        let entry = &mut self.table[line];
        (entry.state, entry.sequence, entry.blocks) = (LineState::Open, sequence, blocks);
    }

    /// Number of lines in a state.
    pub(super) fn count_in_state(&self, state: LineState) -> u64 {
        self.table.iter().filter(|line| line.state == state).count() as u64
    }

    /// The valid logical blocks of each closed line, and its logical blocks for data.
    pub(super) fn closed(&self) -> impl Iterator<Item = [u32; 2]> {
        let closed = self.table.iter().filter(|line| line.state == LineState::Closed);
        closed.map(|line| [line.valid, line.blocks])
    }

    /// Number of locations.
    pub(super) fn places(&self) -> u32 {
        self.contents.len() as u32
    }

    /// Lengths of the lists.
    pub(super) fn lengths(&self) -> [usize; 2] {
        [self.table.len(), self.chunks.len()]
    }

    /// Checks the counters of the lines against their locations and chunks.
    pub(super) fn check(&self) -> Result<(), String> {
        let is_there = |line: &LineId| (line.0 as usize) < self.table.len();
        if !self.free.iter().chain(&self.emptied).all(is_there) {
            return Err("lines that do not exist".into());
        }
        let stranded = self.table.iter().filter(|line| line.is_stranded).count();
        if stranded as u32 != self.stranded {
            return Err(format!("{stranded} lines are stranded, not {}", self.stranded));
        }
        for (line, entry) in self.table.entries() {
            let valid = self.layout.locations_of(line).filter(|place| self.is_valid(Ppa(*place))).count();
            if valid as u32 != entry.valid {
                return Err(format!("line {} has {valid} valid locations, not {}", line.0, entry.valid));
            }
            let is_free = self.free.contains(&line);
            if is_free != (entry.state == LineState::Free) {
                return Err(format!(
                    "line {} is {:?}, which disagrees with the free list",
                    line.0, entry.state
                ));
            }
        }
        Ok(())
    }

    /// Counts the chunks of free lines, including the line `next` under preparation.
    pub(super) fn count_free_chunks(&self, next: Option<LineId>) -> u32 {
        self.free.iter().copied().chain(next).map(|line| self.chunks_of(line)).sum()
    }
}
