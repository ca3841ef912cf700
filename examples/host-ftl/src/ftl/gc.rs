//! Garbage collection: the selection of a victim line, its relocation and its reset.

use wordline_device::PhysicalDevice;
use wordline_device::physical_device::{Chunk, ChunkState, Completion, MOST_BLOCKS};
use wordline_kernel::Schedule;

use super::{Ftl, InFlightCommand, NONE, Purpose, RESERVE};

impl<D: PhysicalDevice> Ftl<D> {
    /// Reads valid pages of the victim line, or resets the line when it has no valid pages. Returns whether
    /// it did anything.
    pub(super) fn collect_garbage(&mut self, calendar: &mut impl Schedule<D::Event>) -> bool {
        if self.victim.is_none() && self.scanning.is_none() && self.free.len() + self.resetting <= RESERVE + 1
        {
            self.victim = self.select_victim().map(|line| (line, 0));
        }
        let Some((line, next)) = self.victim else { return false };
        let per_chunk = self.device.geometry().blocks_per_chunk;
        let size = self.device.geometry().units() * per_chunk;
        if next < size {
            if self.buffer.len() >= 2 * self.capacity {
                return false;
            }
            let first = (next / per_chunk * self.device.geometry().chunks_per_unit + line) * per_chunk;
            let end = per_chunk.min(next % per_chunk + MOST_BLOCKS as u32);
            let is_valid = |place: &u32| {
                let page = self.owners[*place as usize];
                page != NONE && self.map[page as usize] == *place
            };
            let places: Vec<u32> = (first + next % per_chunk..first + end).filter(is_valid).collect();
            self.victim = Some((line, next - next % per_chunk + end));
            if !places.is_empty() {
                self.cleaning += 1;
                self.send(InFlightCommand { work: Purpose::Clean, places, stamps: Vec::new() }, calendar);
            }
            return true;
        }
        if self.cleaning > 0 || self.valid[line as usize] > 0 || self.busy[line as usize] > 0 {
            return false;
        }
        self.victim = None;
        self.resetting += 1;
        for chunks in self.written_chunks(line).chunks(MOST_BLOCKS) {
            let places = chunks.iter().map(|chunk| self.place(*chunk, 0)).collect();
            self.send(InFlightCommand { work: Purpose::Reset, places, stamps: Vec::new() }, calendar);
        }
        true
    }

    /// The chunks of a line that need a reset.
    fn written_chunks(&self, line: u32) -> Vec<Chunk> {
        let is_written =
            |chunk: &Chunk| matches!(self.device.report(*chunk).state, ChunkState::Open | ChunkState::Closed);
        self.chunks_of(line).filter(is_written).collect()
    }

    /// The closed line with the fewest valid pages. `None` if collecting it gains no space.
    fn select_victim(&self) -> Option<u32> {
        let is_open = |line: u32| self.open.is_some_and(|(open, _)| open == line);
        let lines =
            (0..self.valid.len() as u32).filter(|line| !is_open(*line) && self.busy[*line as usize] == 0);
        let written = lines.filter(|line| !self.free.contains(line)).filter(|line| {
            let blocks: u32 =
                self.written_chunks(*line).iter().map(|chunk| self.device.report(*chunk).blocks).sum();
            blocks > self.valid[*line as usize]
        });
        written.min_by_key(|line| (self.valid[*line as usize], *line))
    }

    pub(super) fn read_to_clean(&mut self, completion: &Completion, sent: &InFlightCommand) {
        self.cleaning -= 1;
        for (at, place) in sent.places.iter().enumerate() {
            let page = self.owners[*place as usize];
            if self.map[page as usize] != *place || self.buffer.contains_key(&page) {
                continue;
            }
            if completion.has_failed(at) {
                self.install(page, NONE);
                self.lost.insert(page);
                self.counts.lost_pages += 1;
            } else {
                self.keep(page, completion.found[at].version, true);
            }
        }
    }

    pub(super) fn reset(&mut self, sent: &InFlightCommand) {
        let line = self.line_of(sent.places[0]);
        if self.busy[line] == 0 {
            self.counts.lines_cleaned += 1;
            self.resetting -= 1;
            let is_free = |chunk| self.device.report(chunk).state == ChunkState::Free;
            if self.chunks_of(line as u32).any(is_free) {
                self.free.push_back(line as u32);
            }
        }
    }
}
