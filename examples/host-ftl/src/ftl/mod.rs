//! The FTL: a page-level L2P map in host memory, a write buffer, and greedy GC.
//!
//! - *Lines*: the chunks with the same number in all parallel units form a line, as in pblk.
//! - *Writes*: one line is open. Pages are written to it one program unit at a time, rotating over the
//!   parallel units. A page stays in the buffer until it is programmed, so that a failed write can be
//!   repeated at another location.
//! - *GC* reads the valid pages of a victim line into the buffer, and they are written like other pages. It
//!   resets the line when none of its pages is valid or in flight.
//! - *Recovery* reads the out-of-band data of all pages after a power cut. The newest version of each page
//!   counts.

mod checks;
mod gc;
mod recovery;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};
use wordline_device::PhysicalDevice;
use wordline_device::physical_device::{Chunk, ChunkState, Command, Completion, LogicalBlock, MOST_BLOCKS};
use wordline_kernel::snapshot::State;
use wordline_kernel::{Schedule, counters, state};
use wordline_nand::DataTag;

/// No location, or no page.
pub(crate) const NONE: u32 = u32::MAX;

/// Free lines reserved for GC. Chosen: one for the pages of a victim, and one for padding.
pub(crate) const RESERVE: usize = 2;

counters! {
    /// The counters of the FTL.
    pub struct Counts {
        host_pages: "ftl.host_pages", LogicalPages, "Pages programmed for the host.";
        moved_pages: "ftl.moved_pages", LogicalPages, "Pages relocated by GC.";
        padding: "ftl.padding", LogicalPages, "Pages of padding programmed to complete a unit.";
        lines_cleaned: "ftl.lines_cleaned", Count, "Lines that were reset.";
        lost_pages: "ftl.lost_pages", LogicalPages, "Pages that GC could not read.";
    }
}

/// A buffered page.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Page {
    version: u32,
    /// Whether the page waits. Otherwise it is being programmed.
    waits: bool,
    is_moved: bool,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
enum Purpose {
    Write,
    Clean,
    Reset,
    Read(u32),
    Scan,
}

/// A device command: its purpose, its locations and its data tags.
#[derive(Clone, Serialize, Deserialize)]
struct InFlightCommand {
    work: Purpose,
    places: Vec<u32>,
    stamps: Vec<DataTag>,
}

/// An FTL over a device. A location is a logical block, numbered over the whole device.
pub struct Ftl<D> {
    pub(crate) device: D,
    /// By logical page: its location.
    pub(crate) map: Vec<u32>,
    /// By logical page: its newest version.
    pub(crate) versions: Vec<u32>,
    lost: BTreeSet<u32>,
    /// By location: the page written to it.
    owners: Vec<u32>,
    /// By line: its valid pages.
    valid: Vec<u32>,
    /// By line: locations of the commands in flight.
    busy: Vec<u32>,
    buffer: BTreeMap<u32, Page>,
    queue: VecDeque<u32>,
    capacity: usize,
    free: VecDeque<u32>,
    /// The open line, and the next unit of it.
    open: Option<(u32, u32)>,
    /// The victim line, and the next location of it to examine.
    victim: Option<(u32, u32)>,
    /// GC reads in flight.
    cleaning: u32,
    /// Lines that are being reset.
    resetting: usize,
    sent: BTreeMap<u32, InFlightCommand>,
    tag: u32,
    /// Completed host reads: the number of the request, and whether the read failed.
    pub(crate) reads: Vec<(u32, bool)>,
    pub(crate) is_flushing: bool,
    pub(crate) scanning: Option<u64>,
    pub(crate) counts: Counts,
}

state!(Ftl<D: State> {
    values {
        lost, buffer, queue, free, open, victim, cleaning, resetting, sent, tag, reads, is_flushing, scanning, counts
    }
    parts { device, map, versions, owners, valid, busy }
    fixed { capacity }
});

impl<D: PhysicalDevice> Ftl<D> {
    /// An FTL with this many pages and a buffer of `capacity` pages.
    pub(crate) fn new(device: D, pages: u32, capacity: usize) -> Self {
        let geometry = device.geometry();
        let (places, lines) =
            (geometry.chunks() * geometry.blocks_per_chunk, geometry.chunks_per_unit as usize);
        let mut ftl = Self {
            map: vec![NONE; pages as usize],
            versions: vec![0; pages as usize],
            lost: BTreeSet::new(),
            owners: vec![NONE; places as usize],
            valid: vec![0; lines],
            busy: vec![0; lines],
            buffer: BTreeMap::new(),
            queue: VecDeque::new(),
            free: VecDeque::new(),
            open: None,
            victim: None,
            cleaning: 0,
            resetting: 0,
            sent: BTreeMap::new(),
            tag: 0,
            reads: Vec::new(),
            is_flushing: false,
            scanning: None,
            counts: Counts::default(),
            capacity,
            device,
        };
        ftl.find_free_lines();
        ftl
    }

    fn line_of(&self, place: u32) -> usize {
        let geometry = self.device.geometry();
        (place / geometry.blocks_per_chunk % geometry.chunks_per_unit) as usize
    }

    fn chunks_of(&self, line: u32) -> impl Iterator<Item = Chunk> {
        let geometry = self.device.geometry();
        (0..geometry.units()).map(move |unit| geometry.chunk(unit * geometry.chunks_per_unit + line))
    }

    fn place(&self, chunk: Chunk, block: u32) -> u32 {
        self.device.geometry().number(chunk) * self.device.geometry().blocks_per_chunk + block
    }

    /// The version of a page in the buffer; `None` if the page is not there.
    pub(crate) fn buffered(&self, page: u32) -> Option<u32> {
        self.buffer.get(&page).map(|page| page.version)
    }

    pub(crate) fn is_lost(&self, page: u32) -> bool {
        self.lost.contains(&page)
    }

    /// Whether all written data are in flash.
    pub(crate) fn is_flushed(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Whether the host may write a page. Lines reserved for GC do not count as space.
    pub(crate) fn has_room(&self) -> bool {
        self.buffer.len() < self.capacity && self.free.len() > RESERVE && !self.is_flushing
    }

    /// Writes a page to the buffer. Returns its version.
    pub(crate) fn write(&mut self, page: u32) -> u32 {
        self.versions[page as usize] += 1;
        let version = self.versions[page as usize];
        self.lost.remove(&page);
        self.keep(page, version, false);
        version
    }

    fn keep(&mut self, page: u32, version: u32, is_moved: bool) {
        let before = self.buffer.insert(page, Page { version, waits: true, is_moved });
        if before.is_none_or(|before| !before.waits) {
            self.queue.push_back(page);
        }
    }

    /// Unmaps a page.
    pub(crate) fn discard(&mut self, page: u32) {
        if self.buffer.remove(&page).is_some_and(|page| page.waits) {
            self.queue.retain(|queued| *queued != page);
        }
        self.lost.remove(&page);
        self.versions[page as usize] += 1;
        self.install(page, NONE);
    }

    fn install(&mut self, page: u32, place: u32) {
        let old = std::mem::replace(&mut self.map[page as usize], place);
        if old != NONE {
            let line = self.line_of(old);
            self.valid[line] -= 1;
        }
        if place != NONE {
            let line = self.line_of(place);
            self.valid[line] += 1;
            self.owners[place as usize] = page;
        }
    }

    /// Reads locations for a request. Returns the number of device commands that the request waits for.
    pub(crate) fn read(
        &mut self,
        request: u32,
        places: &[u32],
        calendar: &mut impl Schedule<D::Event>,
    ) -> u32 {
        let commands = places.chunks(MOST_BLOCKS);
        let count = commands.len() as u32;
        for places in commands {
            // A mapped location has the newest version of its page. Otherwise the page would be in the
            // buffer.
            let stamp = |place: &u32| {
                let logical = self.owners[*place as usize];
                DataTag { logical, version: self.versions[logical as usize] }
            };
            let stamps = places.iter().map(stamp).collect();
            self.send(
                InFlightCommand { work: Purpose::Read(request), places: places.to_vec(), stamps },
                calendar,
            );
        }
        count
    }

    fn send(&mut self, sent: InFlightCommand, calendar: &mut impl Schedule<D::Event>) {
        let per_chunk = self.device.geometry().blocks_per_chunk;
        let block = |place: &u32| self.device.geometry().chunk(place / per_chunk).at(place % per_chunk);
        let blocks: Vec<LogicalBlock> = sent.places.iter().map(block).collect();
        for place in &sent.places {
            let line = self.line_of(*place);
            self.busy[line] += 1;
        }
        self.tag = self.tag.wrapping_add(1);
        let command = match sent.work {
            Purpose::Write => Command::write(self.tag, &blocks, &sent.stamps),
            Purpose::Reset => Command::reset(self.tag, &blocks),
            Purpose::Clean | Purpose::Read(_) | Purpose::Scan => Command::read(self.tag, &blocks),
        };
        self.device
            .submit(&command, calendar)
            .unwrap_or_else(|refusal| panic!("the FTL broke a rule: {refusal}"));
        self.sent.insert(self.tag, sent);
    }

    /// Runs every activity that is possible now.
    pub(crate) fn make_progress(&mut self, calendar: &mut impl Schedule<D::Event>) {
        while self.take_completions() || self.write_out(calendar) || self.collect_garbage(calendar) {}
    }

    pub(crate) fn take_completions(&mut self) -> bool {
        let completions = self.device.completions().to_vec();
        self.device.clear_completions();
        self.device.clear_notifications();
        for completion in &completions {
            let sent = self.sent.remove(&completion.tag).expect("it was sent");
            for place in &sent.places {
                let line = self.line_of(*place);
                self.busy[line] -= 1;
            }
            match sent.work {
                Purpose::Write => self.written(completion, &sent),
                Purpose::Clean => self.read_to_clean(completion, &sent),
                Purpose::Reset => self.reset(&sent),
                Purpose::Scan => self.scanned(completion, &sent),
                Purpose::Read(request) => {
                    let is_right =
                        |at: usize| completion.has_failed(at) || completion.found[at] == sent.stamps[at];
                    assert!(
                        (0..sent.places.len()).all(is_right),
                        "a read found {completion:?}, wanted {:?}",
                        sent.stamps
                    );
                    self.reads.push((request, completion.failure.is_some()));
                }
            }
        }
        !completions.is_empty()
    }

    /// The locations of the next unit of the open line. Opens a free line if needed.
    fn next_unit(&mut self) -> Option<Vec<u32>> {
        loop {
            let (line, unit) = match self.open {
                Some(open) => open,
                None => (self.free.pop_front()?, 0),
            };
            let geometry = self.device.geometry();
            let (step, first) = (unit / geometry.units(), unit / geometry.units() * geometry.ws_min);
            let ws_min = geometry.ws_min;
            if step == geometry.blocks_per_chunk / ws_min {
                self.open = None;
                continue;
            }
            let chunk =
                self.chunks_of(line).nth((unit % geometry.units()) as usize).expect("a chunk of a unit");
            self.open = Some((line, unit + 1));
            let report = self.device.report(chunk);
            if matches!(report.state, ChunkState::Free | ChunkState::Open) && report.write_pointer == first {
                let place = self.place(chunk, first);
                return Some((place..place + ws_min).collect());
            }
        }
    }

    /// Writes a unit, with padding if a flush or GC waits for the last pages. Returns whether it wrote one.
    fn write_out(&mut self, calendar: &mut impl Schedule<D::Event>) -> bool {
        let unit = self.device.geometry().ws_min as usize;
        if self.queue.is_empty() || self.queue.len() < unit && !self.is_flushing && !self.is_last_of_victim()
        {
            return false;
        }
        let Some(places) = self.next_unit() else { return false };
        let mut stamps = vec![DataTag::PADDING; unit];
        for stamp in &mut stamps {
            let Some(logical) = self.queue.pop_front() else {
                self.counts.padding += 1;
                continue;
            };
            let page = self.buffer.get_mut(&logical).expect("what is queued is in the buffer");
            page.waits = false;
            *stamp = DataTag { logical, version: page.version };
            let count =
                if page.is_moved { &mut self.counts.moved_pages } else { &mut self.counts.host_pages };
            *count += 1;
        }
        self.send(InFlightCommand { work: Purpose::Write, places, stamps }, calendar);
        true
    }

    /// Whether the reset of the victim waits for a buffered page that would wait for others to fill its unit.
    fn is_last_of_victim(&self) -> bool {
        let Some((line, next)) = self.victim else { return false };
        let size = self.device.geometry().units() * self.device.geometry().blocks_per_chunk;
        let is_of_victim = |page: &u32| {
            let place = self.map[*page as usize];
            place != NONE && self.line_of(place) == line as usize
        };
        self.cleaning == 0 && next == size && self.queue.iter().any(is_of_victim)
    }

    fn written(&mut self, completion: &Completion, sent: &InFlightCommand) {
        for (at, (place, stamp)) in sent.places.iter().zip(&sent.stamps).enumerate() {
            let Some(page) = self.buffer.get_mut(&stamp.logical) else { continue };
            if page.waits || page.version != stamp.version {
                continue;
            }
            if completion.has_failed(at) {
                page.waits = true;
                self.queue.push_back(stamp.logical);
            } else {
                self.buffer.remove(&stamp.logical);
                self.install(stamp.logical, *place);
            }
        }
    }
}
