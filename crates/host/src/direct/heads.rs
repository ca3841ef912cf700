//! The chunks that are written: one of each parallel unit, and the pieces of requests that wait for it.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wordline_nand::Stamp;
use wordline_ssd::physical_device::ChunkState;

use super::Layout;

/// Pages of a request that go to one parallel unit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Piece {
    pub(super) request: u32,
    pub(super) stamps: VecDeque<Stamp>,
}

/// A parallel unit as the host writes it. Chunks are counted over all of the device.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Head {
    /// The chunk that is written, and where it is written next.
    pub(super) open: Option<(u32, u32)>,
    /// The chunk that is being reset, to be written next.
    pub(super) resetting: Option<u32>,
    pub(super) pieces: VecDeque<Piece>,
    /// The other chunks, in the order in which they were written last.
    others: VecDeque<u32>,
}

/// All parallel units.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Heads {
    heads: Vec<Head>,
    /// The parallel unit of the next write.
    next: u32,
    /// Whether a flush is in flight that is to make chunks free.
    pub(super) is_flushing: bool,
    /// Whether the last flush failed and nothing was written since: another one would fail as well.
    pub(super) cannot_flush: bool,
}

impl Heads {
    pub(super) fn new(layout: &Layout) -> Self {
        let head = |unit| Head {
            open: None,
            resetting: None,
            pieces: VecDeque::new(),
            others: (unit * layout.chunks_per_unit..(unit + 1) * layout.chunks_per_unit).collect(),
        };
        Self {
            heads: (0..layout.units).map(head).collect(),
            next: 0,
            is_flushing: false,
            cannot_flush: false,
        }
    }

    pub(super) fn get(&self, unit: u32) -> &Head {
        &self.heads[unit as usize]
    }

    pub(super) fn get_mut(&mut self, unit: u32) -> &mut Head {
        &mut self.heads[unit as usize]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Head> {
        self.heads.iter()
    }

    /// The parallel unit of the next write.
    pub(super) fn take_unit(&mut self) -> u32 {
        let unit = self.next;
        self.next = (unit + 1) % self.heads.len() as u32;
        unit
    }

    /// The parallel units with pieces that wait.
    pub(super) fn units_that_wait(&self) -> Vec<u32> {
        if self.heads.iter().all(|head| head.pieces.is_empty()) {
            return Vec::new();
        }
        (0..).zip(&self.heads).filter(|(_, head)| !head.pieces.is_empty()).map(|(unit, _)| unit).collect()
    }

    /// The chunk that a parallel unit was to write next was reset, or is out of use.
    pub(super) fn was_reset(&mut self, unit: u32, is_free: bool) {
        let head = self.get_mut(unit);
        let chunk = head.resetting.take().expect("it was being reset");
        head.open = is_free.then_some((chunk, 0));
    }

    /// A flush is over.
    pub(super) fn flushed(&mut self, has_failed: bool) {
        (self.is_flushing, self.cannot_flush) = (false, has_failed);
    }

    /// The power is gone: nothing waits any more.
    pub(super) fn forget(&mut self) {
        (self.is_flushing, self.cannot_flush) = (false, false);
        for head in &mut self.heads {
            head.pieces.clear();
            head.others.extend(head.resetting.take());
        }
    }

    /// The requests of all pieces, which are dropped.
    pub(super) fn give_up(&mut self) -> Vec<u32> {
        self.heads.iter_mut().flat_map(|head| head.pieces.drain(..)).map(|piece| piece.request).collect()
    }

    /// Whether all of it is there, in parallel units of so many chunks.
    pub(super) fn check(&self, layout: &Layout, has: impl Fn(u32) -> bool) -> Result<(), String> {
        let is_right = |(unit, head): (u32, &Head)| {
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
        let is_right = self.heads.len() == layout.units as usize
            && self.next < layout.units
            && (0..).zip(&self.heads).all(is_right);
        if is_right { Ok(()) } else { Err("chunks that are not there are written".into()) }
    }
}

impl Head {
    /// After a power cut: the chunk is written on where it is, or left.
    pub(super) fn leave_or_go_on(&mut self, state: ChunkState, write_pointer: u32) {
        match (&mut self.open, state) {
            (Some((_, next)), ChunkState::Free | ChunkState::Open) => *next = write_pointer,
            _ => self.leave(),
        }
    }

    /// The chunk is left: it takes no more.
    pub(super) fn leave(&mut self) {
        self.others.extend(self.open.take().map(|(chunk, _)| chunk));
    }

    /// The other chunks, in the order in which they were written last.
    pub(super) fn others(&self) -> impl Iterator<Item = u32> {
        self.others.iter().copied()
    }

    /// Takes one of the other chunks.
    pub(super) fn take(&mut self, chunk: u32) {
        self.others.retain(|other| *other != chunk);
    }
}
