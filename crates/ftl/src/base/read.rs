//! Reads of locations. Any engine that needs sectors of a logical page queues them here.

use wordline_device::SECTOR;
use wordline_flash::{Class, Event, FlashTime, Task, Ticket};
use wordline_kernel::{Duration, Instant, Schedule};
use wordline_nand::{CommandCompletion, DataTag, DieId, Location, PageId, PlaneGroupId};

use crate::Sectors;
use crate::base::{Base, Piece};
use crate::map::LogicalPage;

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

impl Base {
    /// Queues a read of each flash page of a location that has one of the sectors. Returns the die, and the
    /// number of reads.
    #[inline(always)]
    pub fn queue_read(&mut self, read: LocationRead, now: Instant) -> (DieId, u32) {
        let locations = &self.config.pools.of_location(read.location).locations;
        let (first, pages) = (locations.page_of(read.location), locations.pages());
        if pages == 1 {
            return (self.queue_page_read(&read, first, read.sectors.count(), now), 1);
        }
        let reads = self.queue_page_reads(read, first, pages, now);
        (self.config.pools.die_of(read.location), reads)
    }

    /// Queues a read of each page of a location of several pages that has one of the sectors. Returns the
    /// number of reads.
    #[inline(never)]
    fn queue_page_reads(&mut self, read: LocationRead, first: PageId, pages: u32, now: Instant) -> u32 {
        let per_page = (self.config.pools.of_page(first).geometry.page_size.0 / SECTOR.0) as u32;
        let (mut reads, sectors) = (0, read.sectors.sectors());
        for n in 0..pages {
            let here = sectors.common(Sectors::range(n * per_page, (n + 1) * per_page));
            if !here.is_empty() {
                self.queue_page_read(&read, PageId(first.0 + n), here.count(), now);
                reads += 1;
            }
        }
        reads
    }

    #[inline(always)]
    fn queue_page_read(&mut self, read: &LocationRead, page: PageId, sectors: u32, now: Instant) -> DieId {
        let geometry = &self.config.pools.of_page(page).geometry;
        let block = geometry.block_of(page);
        let die = geometry.die_of(block);
        self.blocks.read_queued(block);
        self.flash.prefetch(read.location);
        let task = self.flash.read(die, now, (read.ticket, read.class), page);
        task.location = read.location;
        task.bytes = sectors * SECTOR.0 as u32;
        task.wanted = DataTag { logical: read.logical.0, version: read.version };
        task.looked_up = read.waited;
        die
    }

    /// Checks that a read found the version that the host wrote last. Panics otherwise.
    #[inline(always)]
    pub fn check_read(&self, task: &Task) {
        let (wanted, found) = (task.wanted, self.flash.stamp(task.location));
        assert!(
            found == wanted,
            "a read of logical page {} wanted version {} and found {found:?} in {:?}",
            wanted.logical,
            wanted.version,
            task.location
        );
    }

    /// Records the latency breakdown of a read-modify-write read.
    pub fn note_rmw_time(&mut self, task: &Task, done: &CommandCompletion, now: Instant) {
        let spent = self.flash.spent(task, done, now);
        self.written_back[self.config.pools.number_of(done.die)].fills.add(&spent);
    }

    /// Records and returns the latency breakdown of a host program.
    pub fn note_program_time(
        &mut self,
        row: PlaneGroupId,
        task: &Task,
        done: &CommandCompletion,
        now: Instant,
    ) -> FlashTime {
        let spent = self.flash.spent(task, done, now);
        self.written_back[self.config.pools.number_of_group(row)].programs.add(&spent);
        spent
    }

    /// Starts the next command of an idle die.
    #[inline]
    pub fn start_die(&mut self, die: DieId, calendar: &mut impl Schedule<Event>) {
        self.flash.start(die, &self.policies, calendar);
    }

    /// Raises the class of the tasks with these tickets, because a host command waits for them.
    pub fn promote(&mut self, tickets: &[Ticket], calendar: &mut impl Schedule<Event>) {
        self.flash.promote(tickets, &self.policies, calendar);
    }

    /// Promotes all background reads (RMW reads for which no command waits) to host reads. Called when the
    /// host waits for space in the buffer, or for a flush of the whole buffer.
    #[inline]
    pub fn promote_all(&mut self, calendar: &mut impl Schedule<Event>) {
        self.flash.promote_all(&self.policies, calendar);
    }
}
