//! Power loss, and the recovery scan.

use wordline_device::PhysicalDevice;
use wordline_device::physical_device::{Chunk, ChunkState, Completion, MOST_BLOCKS};
use wordline_kernel::Schedule;

use super::{Ftl, InFlightCommand, NONE, Purpose};

impl<D: PhysicalDevice> Ftl<D> {
    /// Resets after a power cut: all volatile state is lost.
    pub(crate) fn forget(&mut self) {
        for list in [&mut self.map, &mut self.owners] {
            list.fill(NONE);
        }
        for list in [&mut self.versions, &mut self.valid, &mut self.busy] {
            list.fill(0);
        }
        (self.open, self.victim) = (None, None);
        (self.cleaning, self.resetting, self.is_flushing) = (0, 0, false);
        (self.lost, self.buffer, self.sent) = Default::default();
        self.queue.clear();
        self.free.clear();
        self.reads.clear();
    }

    /// Reads all readable pages, to rebuild the L2P map.
    pub(crate) fn scan(&mut self, calendar: &mut impl Schedule<D::Event>) {
        let chunks: Vec<Chunk> = self.device.geometry().all_chunks().collect();
        let mut read = 0;
        for chunk in chunks {
            let first = self.place(chunk, 0);
            let places: Vec<u32> = (first..first + self.device.report(chunk).readable).collect();
            read += places.len() as u64;
            for places in places.chunks(MOST_BLOCKS) {
                self.send(
                    InFlightCommand { work: Purpose::Scan, places: places.to_vec(), stamps: Vec::new() },
                    calendar,
                );
            }
        }
        self.scanning = Some(read);
    }

    /// Whether no scan command is in flight.
    pub(crate) fn is_idle(&self) -> bool {
        self.sent.is_empty()
    }

    pub(super) fn scanned(&mut self, completion: &Completion, sent: &InFlightCommand) {
        for (place, found) in sent.places.iter().zip(&completion.found) {
            let page = found.logical as usize;
            if found.is_data() && page < self.map.len() && found.version > self.versions[page] {
                self.versions[page] = found.version;
                self.install(found.logical, *place);
            }
        }
    }

    /// Finds the writable lines. Lines that the power cut left unfinished are first.
    pub(crate) fn find_free_lines(&mut self) {
        for line in 0..self.valid.len() as u32 {
            let states: Vec<ChunkState> =
                self.chunks_of(line).map(|chunk| self.device.report(chunk).state).collect();
            let has = |state: ChunkState| states.contains(&state);
            if has(ChunkState::Open) || has(ChunkState::Free) && has(ChunkState::Closed) {
                self.free.push_front(line);
            } else if has(ChunkState::Free) {
                self.free.push_back(line);
            }
        }
    }
}
