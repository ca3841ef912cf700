//! The power is cut, and comes back.
//!
//! The table of chunks is kept in memory of its own that outlives the power, as real devices keep it; which is why all that is left to
//! find out is how far the commands came that were in flight. For that the chunks that they were changing are read, the page that was
//! programmed last in each. A unit that the cut tore closes its chunk before it. A chunk whose erase was torn stays closed, and
//! nothing in it can be read: it has to be reset once more. Commands that had not begun leave no trace.

use wordline_kernel::{Instant, Schedule};
use wordline_nand::{AtCut, BlockSetId, Location, Stamp};

use super::{OpenChannel, Recovering};
use crate::device::Recovered;
use crate::flash::{Class, Event, Ticket};
use crate::physical_device::{ChunkState, PowerCut};

impl OpenChannel {
    pub(super) fn cut(&mut self, now: Instant) -> PowerCut {
        let at_cut = AtCut::from(self.config.file.programs_at_cut);
        let before = self.chips().counts().program_commands;
        let torn = self.flash.cut_power(now, at_cut, |_, _| {});
        self.cut_programs += self.chips().counts().program_commands - before;
        if self.flash.asks_tuner() {
            self.tuner.forget();
        }
        self.digest.add(now.ps());
        let changing = self.chunks.forget();
        // A recovery that was cut off has to find out about the chunks of before.
        let chunks = self.recovering.take().map_or(changing, |recovering| recovering.chunks);
        self.recovering = Some(Recovering { chunks, left: 0, since: None });
        PowerCut { unanswered: self.commands.forget(), torn }
    }

    pub(super) fn power_on(&mut self, calendar: &mut impl Schedule<Event>) {
        let now = calendar.now();
        let recovering = self.recovering.as_mut().expect("the power was cut");
        recovering.since = Some(now);
        let mut dies = Vec::new();
        for block in &recovering.chunks {
            let Some(last) = self.flash.chips().programmed(*block).checked_sub(1) else { continue };
            let location = self.config.pools.at(*block, last);
            let (die, page) = self.config.pools.die_and_page_of(location);
            let task = self.flash.read(die, now, (Ticket::Scan(die), Class::Read), page);
            task.location = location;
            // An unreadable page is torn: a retry would not help.
            task.retried = false;
            task.bytes = self.config.geometry.block_size.0 as u32;
            dies.push(die);
        }
        recovering.left = dies.len() as u32;
        if dies.is_empty() {
            self.recovered(now);
        }
        dies.sort_unstable();
        dies.dedup();
        for die in dies {
            self.flash.start(die, &*self.tuner, calendar);
        }
    }

    /// The page of a chunk that was programmed last was read.
    pub(super) fn scan_read_over(&mut self, now: Instant) {
        let recovering = self.recovering.as_mut().expect("chunks are read after a power cut");
        recovering.left -= 1;
        if recovering.left == 0 {
            self.recovered(now);
        }
    }

    fn recovered(&mut self, now: Instant) {
        let Recovering { chunks, since, .. } = self.recovering.take().expect("it was under way");
        let time = now - since.expect("the power is on");
        let pages_read =
            chunks.iter().filter(|block| self.flash.chips().programmed(**block) > 0).count() as u64;
        self.recovery = Some(Recovered { time, pages_read, ..Recovered::default() });
        for block in chunks {
            self.settle(block);
        }
    }

    /// Finds out what became of a chunk that commands were changing.
    fn settle(&mut self, block: BlockSetId) {
        let (pools, geometry) = (&self.config.pools, &self.config.geometry);
        let chips = self.flash.chips();
        let (in_flash, size) = (chips.programmed(block), geometry.blocks_per_chunk);
        let is_torn = |place: u32| {
            let location: Location = pools.at(block, place);
            chips.stamp(location) == Stamp::TORN
        };
        let entry = self.chunks.get(block);
        let was_resetting = entry.is_resetting;
        if was_resetting && in_flash == 0 {
            return self.chunks.reset_over(block, false);
        }
        let erase_is_torn = was_resetting && is_torn(0);
        let program_is_torn = !was_resetting && in_flash > entry.programmed && is_torn(in_flash - 1);
        let entry = self.chunks.get_mut(block);
        if !was_resetting && !program_is_torn {
            entry.programmed = in_flash;
        }
        entry.is_resetting = false;
        entry.next = entry.programmed;
        entry.state = match entry.programmed {
            _ if erase_is_torn || program_is_torn => ChunkState::Closed,
            _ if was_resetting => entry.state,
            0 => ChunkState::Free,
            written if written == size => ChunkState::Closed,
            _ => ChunkState::Open,
        };
    }
}
