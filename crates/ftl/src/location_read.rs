//! Reads of locations. Any engine that needs sectors of a logical page queues them here.

use wordline_device::SECTOR;
use wordline_flash::{Class, Flash, Ticket};
use wordline_kernel::{Duration, Instant};
use wordline_nand::{DataTag, DieId, Location, PageId};

use crate::Sectors;
use crate::blocks::BlockManager;
use crate::map::LogicalPage;
use crate::page_size::Piece;

/// Sectors of a location to read. Most reads have a range, which becomes a set only when a set is needed.
#[derive(Clone, Copy, Debug)]
pub enum WantedSectors {
    /// Sectors of a piece of a command.
    Piece(Piece),
    /// Any set of sectors.
    Set(Sectors),
}

impl WantedSectors {
    #[inline]
    fn sectors(&self) -> Sectors {
        match self {
            Self::Piece(piece) => piece.sectors(),
            Self::Set(sectors) => *sectors,
        }
    }

    /// A bit for each sector from `begin` on; 0 if 64 bits do not suffice.
    #[cold]
    fn bits_from(&self, begin: u32) -> u64 {
        self.sectors().bits_from(begin)
    }

    /// Number of sectors.
    #[inline]
    fn count(&self) -> u32 {
        match self {
            Self::Piece(piece) => piece.count(),
            Self::Set(sectors) => sectors.count(),
        }
    }
}

/// A read of sectors of one location.
#[derive(Clone, Copy, Debug)]
pub struct LocationRead {
    /// Receiver of the result.
    pub ticket: Ticket,
    /// Urgency of the read.
    pub class: Class,
    /// Location to read.
    pub location: Location,
    /// Sectors to transfer.
    pub sectors: WantedSectors,
    /// Logical page that the read must find.
    pub logical: LogicalPage,
    /// Version of the page that the read must find.
    pub version: u32,
    /// Time that the read waited for the map entry of the page.
    pub waited: Duration,
}

impl LocationRead {
    /// Queues a read of each flash page of the location that has one of the sectors, and counts the readers of
    /// its block. Returns the die, and the number of reads.
    #[inline(always)]
    pub fn queue(self, blocks: &mut BlockManager, flash: &mut Flash, now: Instant) -> (DieId, u32) {
        let locations = &blocks.pools().of_location(self.location).locations;
        let (first, pages) = (locations.page_of(self.location), locations.pages());
        if pages == 1 {
            return (self.queue_page(first, (self.sectors, 0), blocks, flash, now), 1);
        }
        let reads = self.queue_pages(first, pages, blocks, flash, now);
        (blocks.pools().die_of(self.location), reads)
    }

    /// Queues a read of each page of a location of several pages that has one of the sectors. Returns the
    /// number of reads.
    #[inline(never)]
    fn queue_pages(
        self,
        first: PageId,
        pages: u32,
        blocks: &mut BlockManager,
        flash: &mut Flash,
        now: Instant,
    ) -> u32 {
        let per_page = (blocks.pools().of_page(first).geometry.page_size.0 / SECTOR.0) as u32;
        let (mut reads, sectors) = (0, self.sectors.sectors());
        for n in 0..pages {
            let here = sectors.common(Sectors::range(n * per_page, (n + 1) * per_page));
            if !here.is_empty() {
                let here = (WantedSectors::Set(here), n * per_page);
                self.queue_page(PageId(first.0 + n), here, blocks, flash, now);
                reads += 1;
            }
        }
        reads
    }

    /// Queues a read of sectors in a page whose first sector of the location is `begin`.
    #[inline(always)]
    fn queue_page(
        &self,
        page: PageId,
        (sectors, begin): (WantedSectors, u32),
        blocks: &mut BlockManager,
        flash: &mut Flash,
        now: Instant,
    ) -> DieId {
        let geometry = &blocks.pools().of_page(page).geometry;
        let block = geometry.block_of(page);
        let die = geometry.die_of(block);
        blocks.read_queued(block);
        flash.prefetch(self.location);
        let decodes = flash.decodes();
        let task = flash.read(die, now, (self.ticket, self.class), page);
        task.location = self.location;
        task.bytes = sectors.count() * SECTOR.0 as u32;
        if decodes {
            task.sectors = sectors.bits_from(begin);
        }
        task.wanted = DataTag { logical: self.logical.0, version: self.version };
        task.looked_up = self.waited;
        die
    }
}
