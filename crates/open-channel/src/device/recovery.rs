//! Recovery from a power loss: the chunks to be examined, and the pages that are read for them.

use serde::{Deserialize, Serialize};
use wordline_device::Recovered;
use wordline_kernel::{Instant, Schedule};
use wordline_nand::{DieId, Location};

use super::chunks::ChunkId;
use super::event::Event;
use super::media::Media;

/// The recovery that is under way, and the last one that is over.
#[derive(Debug, Default)]
pub(super) struct Recovery {
    pub(super) recovering: Option<Recovering>,
    pub(super) last: Option<Recovered>,
}

/// Recovery from a power loss.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Recovering {
    /// Chunks that commands were changing at the power loss.
    pub(super) chunks: Vec<ChunkId>,
    /// Outstanding reads. `pages_read` counts all reads of the recovery.
    pub(super) left: u32,
    pages_read: u64,
    /// When power returned; `None` before that.
    pub(super) since: Option<Instant>,
}

impl Recovery {
    /// Whether the device is without power or recovers.
    #[inline]
    pub(super) fn is_under_way(&self) -> bool {
        self.recovering.is_some()
    }

    /// The chunks to be examined.
    pub(super) fn chunks(&self) -> &[ChunkId] {
        self.recovering.as_ref().map_or(&[], |recovering| &recovering.chunks)
    }

    /// Number of outstanding reads.
    pub(super) fn reads(&self) -> usize {
        self.recovering.as_ref().map_or(0, |recovering| recovering.left as usize)
    }

    /// Notes a power loss, at which these chunks were being changed.
    pub(super) fn cut(&mut self, mut chunks: Vec<ChunkId>) {
        // Chunks that an interrupted recovery had not examined.
        chunks.extend_from_slice(self.chunks());
        chunks.sort_unstable();
        chunks.dedup();
        self.recovering = Some(Recovering { chunks, ..Recovering::default() });
    }

    /// Begins to read these pages, with the power back. Returns false if there are none.
    pub(super) fn begin(
        &mut self,
        to_read: &[Location],
        media: &mut Media,
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        let now = calendar.now();
        let mut dies: Vec<DieId> = to_read.iter().map(|location| media.scan(*location, now)).collect();
        let recovering = self.recovering.as_mut().expect("the power was cut");
        recovering.since = Some(now);
        (recovering.left, recovering.pages_read) = (dies.len() as u32, dies.len() as u64);
        dies.sort_unstable();
        dies.dedup();
        for die in dies {
            media.start(die, calendar);
        }
        !to_read.is_empty()
    }

    /// Handles the end of a read. Returns whether it was the last one.
    pub(super) fn finish_read(&mut self) -> bool {
        let recovering = self.recovering.as_mut().expect("chunks are read after a power cut");
        recovering.left -= 1;
        recovering.left == 0
    }

    /// Takes the chunks to be examined, all of whose pages are read. The recovery stays under way until
    /// [`end`](Self::end).
    pub(super) fn take_chunks(&mut self, now: Instant) -> Vec<ChunkId> {
        let recovering = self.recovering.as_mut().expect("it was under way");
        let Recovering { chunks, since, pages_read, .. } = std::mem::take(recovering);
        let time = now - since.expect("the power is on");
        self.last = Some(Recovered { time, pages_read, ..Recovered::default() });
        chunks
    }

    /// Ends the recovery.
    pub(super) fn end(&mut self) {
        self.recovering = None;
    }
}
