//! Write frontiers: the open chunk of each parallel unit, and the pieces of requests that wait for it.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wordline_device::physical_device::ChunkState;
use wordline_nand::DataTag;

use super::layout::Layout;

/// The pages of a request that go to one parallel unit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Piece {
    pub(super) request: u32,
    pub(super) stamps: VecDeque<DataTag>,
}

/// The write frontier of a parallel unit. Chunks are numbered over the whole device.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct UnitFrontier {
    /// The open chunk, and the next logical block to write in it.
    pub(super) open: Option<(u32, u32)>,
    /// The chunk that is being reset, to be opened next.
    pub(super) resetting: Option<u32>,
    pub(super) pieces: VecDeque<Piece>,
    /// The other chunks, least recently written first.
    others: VecDeque<u32>,
}

/// The write frontiers of all parallel units.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct UnitFrontiers {
    heads: Vec<UnitFrontier>,
    /// Whether pieces may wait. If not, no parallel unit has to be looked at.
    may_wait: bool,
    /// The parallel unit of the next write.
    next: u32,
    /// Whether a flush is in flight whose purpose is to free chunks.
    pub(super) is_flushing: bool,
    /// Whether the last flush failed and nothing was written after it. Another flush would fail as well.
    pub(super) cannot_flush: bool,
}

impl UnitFrontiers {
    pub(super) fn new(layout: &Layout) -> Self {
        let head = |unit| UnitFrontier {
            open: None,
            resetting: None,
            pieces: VecDeque::new(),
            others: (unit * layout.chunks_per_unit..(unit + 1) * layout.chunks_per_unit).collect(),
        };
        Self {
            heads: (0..layout.units).map(head).collect(),
            may_wait: false,
            next: 0,
            is_flushing: false,
            cannot_flush: false,
        }
    }

    pub(super) fn get(&self, unit: u32) -> &UnitFrontier {
        &self.heads[unit as usize]
    }

    pub(super) fn get_mut(&mut self, unit: u32) -> &mut UnitFrontier {
        &mut self.heads[unit as usize]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &UnitFrontier> {
        self.heads.iter()
    }

    /// The parallel unit of the next write; advances to the next one.
    pub(super) fn next_unit(&mut self) -> u32 {
        let unit = self.next;
        self.next = (unit + 1) % self.heads.len() as u32;
        unit
    }

    /// The waiting pieces of a parallel unit, to add one.
    pub(super) fn pieces_to_extend(&mut self, unit: u32) -> &mut VecDeque<Piece> {
        self.may_wait = true;
        &mut self.get_mut(unit).pieces
    }

    /// The parallel units with waiting pieces.
    pub(super) fn waiting_units(&mut self) -> Vec<u32> {
        if !self.may_wait {
            return Vec::new();
        }
        let waiting = (0..).zip(&self.heads).filter(|(_, head)| !head.pieces.is_empty());
        let units: Vec<u32> = waiting.map(|(unit, _)| unit).collect();
        self.may_wait = !units.is_empty();
        units
    }

    /// Completes the reset of the next chunk of a parallel unit. If `is_free` is false, the chunk is offline.
    pub(super) fn complete_reset(&mut self, unit: u32, is_free: bool) {
        let head = self.get_mut(unit);
        let chunk = head.resetting.take().expect("it was being reset");
        head.open = is_free.then_some((chunk, 0));
    }

    /// Notes the completion of a flush.
    pub(super) fn complete_flush(&mut self, has_failed: bool) {
        (self.is_flushing, self.cannot_flush) = (false, has_failed);
    }

    /// Drops the waiting pieces after a power cut.
    pub(super) fn forget(&mut self) {
        (self.is_flushing, self.cannot_flush) = (false, false);
        for head in &mut self.heads {
            head.pieces.clear();
            head.others.extend(head.resetting.take());
        }
    }

    /// Drops all pieces and returns the requests that they belong to.
    pub(super) fn drop_pieces(&mut self) -> Vec<u32> {
        self.heads.iter_mut().flat_map(|head| head.pieces.drain(..)).map(|piece| piece.request).collect()
    }

    /// Checks that the chunks and requests exist and belong to their parallel units.
    pub(super) fn check(&self, layout: &Layout, has: impl Fn(u32) -> bool) -> Result<(), String> {
        let is_right = |(unit, head): (u32, &UnitFrontier)| {
            let first = unit * layout.chunks_per_unit;
            let is_of_it = |chunk: &u32| (first..first + layout.chunks_per_unit).contains(chunk);
            head.others.iter().chain(&head.resetting).all(is_of_it)
                && head.open.is_none_or(|(chunk, next)| is_of_it(&chunk) && next < layout.blocks_per_chunk)
                && head.pieces.iter().all(|piece| has(piece.request) && !piece.stamps.is_empty())
                && head
                    .pieces
                    .iter()
                    .flat_map(|piece| &piece.stamps)
                    .all(|stamp| stamp.logical < layout.pages)
        };
        let is_noted = self.may_wait || self.heads.iter().all(|head| head.pieces.is_empty());
        let is_right = is_noted
            && self.heads.len() == layout.units as usize
            && self.next < layout.units
            && (0..).zip(&self.heads).all(is_right);
        if is_right { Ok(()) } else { Err("open chunks that do not exist".into()) }
    }
}

impl UnitFrontier {
    /// Continues the open chunk at its write pointer after a power cut, or closes the chunk.
    pub(super) fn resume_or_close(&mut self, state: ChunkState, write_pointer: u32) {
        match (&mut self.open, state) {
            (Some((_, next)), ChunkState::Free | ChunkState::Open) => *next = write_pointer,
            _ => self.close_chunk(),
        }
    }

    /// Returns the open chunk, which was not written, to the others, as the next one to open.
    pub(super) fn put_back(&mut self) {
        if let Some((chunk, _)) = self.open.take() {
            self.others.push_front(chunk);
        }
    }

    /// Closes the open chunk: it takes no more writes.
    pub(super) fn close_chunk(&mut self) {
        self.others.extend(self.open.take().map(|(chunk, _)| chunk));
    }

    /// The other chunks, least recently written first.
    pub(super) fn others(&self) -> impl Iterator<Item = u32> {
        self.others.iter().copied()
    }

    /// Removes a chunk from the others.
    pub(super) fn take(&mut self, chunk: u32) {
        self.others.retain(|other| *other != chunk);
    }
}
