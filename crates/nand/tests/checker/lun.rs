//! A LUN as a list of effects on pages, registers and status bits, each with its instant. A command appends
//! its effects when it starts, a reset removes future effects, and a suspend moves them.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::facts::Facts;

/// Marks a byte with an unknown value; known bytes are below 256.
pub const UNKNOWN: u16 = 0x100;
pub type Page = Vec<u16>;
/// Block and page.
pub type Place = (u32, u32);

#[derive(Clone, Debug, Default)]
pub struct Block {
    pub erases: u32,
    slc: Option<bool>,
    last: Option<u32>,
    programs: BTreeMap<u32, u32>,
    pages: BTreeMap<u32, Rc<Page>>,
    torn: bool,
    bad: bool,
}

#[derive(Clone, Debug)]
enum Effect {
    /// FAIL becomes FAILC, or both are cleared.
    Start {
        after_cache: bool,
    },
    Fail(u16),
    HandOver(Vec<Place>),
    Sense {
        place: Place,
        to_cache: bool,
    },
    Begin {
        place: Place,
        slc: bool,
    },
    Write {
        place: Place,
        bytes: Page,
        torn: bool,
    },
    BeginErase(u32),
    Erase {
        block: u32,
        torn: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Read,
    Program,
    Copyback,
    Erase,
}

/// An interval of array work.
#[derive(Clone, Debug)]
struct Work {
    begin: u64,
    end: u64,
    kind: Kind,
    cached: bool,
    places: Vec<Place>,
}

/// A suspended operation, with the time of its suspend.
#[derive(Clone, Debug)]
struct Aside {
    since: u64,
    /// FAIL and FAILC at the suspend.
    status: (u16, u16),
    effects: Vec<(u64, Effect)>,
    works: Vec<Work>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    Idle,
    Reading,
    Programming,
    Busy,
}

/// A plane that waits for the other planes of its operation. `bytes` is set in a one-shot part.
#[derive(Clone, Debug)]
struct Waiting {
    place: Place,
    failing: bool,
    bytes: Option<(bool, Page)>,
}

#[derive(Clone, Debug)]
pub struct Lun {
    facts: Rc<Facts>,
    fatal: bool,
    /// Programs and erases that fail: the place, whether it is an erase, and how many such operations remain
    /// until the failure.
    faults: Vec<(Place, bool, u32)>,
    blocks: Vec<Block>,
    pub cache: Vec<Page>,
    sensed: Vec<Option<Page>>,
    due: Vec<(u64, Effect)>,
    works: Vec<Work>,
    aside: Option<Aside>,
    ready: u64,
    array_ready: u64,
    /// End of the busy time of a feature or a calibration.
    pub held: u64,
    behind: Activity,
    fail: u16,
    fail_before: u16,
    queue: Option<(Kind, Vec<Waiting>)>,
    /// Pages that a cache read moves to the cache registers and continues from, and whether in SLC mode.
    goes_on: Option<(Vec<Place>, bool)>,
    cache_reading: bool,
    /// Planes whose page the next copyback may take.
    /// Planes that hold the page of a copyback read.
    sources: Vec<u32>,
    copies: Vec<u32>,
    last: Option<Kind>,
    after_cache: bool,
    pub out_plane: usize,
    /// Whether several planes were read together, and none of them has been selected since.
    pub plane_lost: bool,
    sensed_plane: usize,
    sensed_several: bool,
    pub load_plane: usize,
    /// Column of the next byte of data out.
    pub column: u32,
    pub features: BTreeMap<u8, [u8; 4]>,
}

/// The reason why a LUN rejects an operation.
pub type Refused = &'static str;
type Done = Result<(), Refused>;

impl Lun {
    pub fn new(facts: &Rc<Facts>, fatal: bool, faults: Vec<(Place, bool, u32)>, bad: &[u32]) -> Self {
        let erased = vec![0xff; facts.page_bytes as usize];
        let mut blocks = vec![Block::default(); facts.blocks as usize];
        bad.iter().for_each(|block| blocks[*block as usize].bad = true);
        Self {
            fatal,
            faults,
            blocks,
            cache: vec![erased; facts.planes],
            sensed: vec![None; facts.planes],
            due: Vec::new(),
            works: Vec::new(),
            aside: None,
            ready: 0,
            array_ready: 0,
            held: 0,
            behind: Activity::Idle,
            fail: 0,
            fail_before: 0,
            queue: None,
            goes_on: None,
            cache_reading: false,
            sources: Vec::new(),
            copies: Vec::new(),
            last: None,
            after_cache: false,
            out_plane: 0,
            sensed_plane: 0,
            sensed_several: false,
            plane_lost: false,
            load_plane: 0,
            column: 0,
            features: BTreeMap::new(),
            facts: Rc::clone(facts),
        }
    }

    pub fn plane(&self, block: u32) -> usize {
        block as usize % self.facts.planes
    }

    fn bit(&self, place: Place) -> u16 {
        1 << self.plane(place.0)
    }

    pub fn ready_at(&self) -> u64 {
        self.ready.max(self.held)
    }

    pub fn array_ready_at(&self) -> u64 {
        self.ready_at().max(self.array_ready)
    }

    pub fn activity(&self, at: u64) -> Activity {
        if at < self.ready_at() {
            Activity::Busy
        } else if at >= self.array_ready {
            Activity::Idle
        } else {
            self.behind
        }
    }

    /// The status byte of the planes in `mask`, without the write-protect bit.
    pub fn status(&mut self, mask: u16, at: u64) -> u8 {
        self.catch_up(at);
        if at < self.held {
            return 0;
        }
        let (ready, array_ready) = (at >= self.ready, at >= self.array_ready);
        let bit = |set: bool, value: u8| if set { value } else { 0 };
        bit(ready, 0x40)
            | bit(array_ready, 0x20)
            | bit(self.fail & mask != 0 && ready && array_ready, 0x01)
            | bit(self.fail_before & mask != 0 && ready, 0x02)
    }

    /// Whether the block was programmed in SLC mode.
    pub fn is_slc(&self, block: u32) -> bool {
        self.blocks[block as usize].slc == Some(true)
    }

    /// Applies the effects up to `at` in order. Of two effects at one instant the earlier entry is applied
    /// first.
    pub fn catch_up(&mut self, at: u64) {
        while let Some((_, n)) =
            self.due.iter().enumerate().map(|(n, due)| (due.0, n)).min().filter(|(due, _)| *due <= at)
        {
            let (_, effect) = self.due.remove(n);
            self.happen(effect);
        }
        self.works.retain(|work| work.end > at);
    }

    fn happen(&mut self, effect: Effect) {
        match effect {
            Effect::Start { after_cache } => {
                self.fail_before = if after_cache { self.fail } else { 0 };
                self.fail = 0;
            }
            Effect::Fail(planes) => self.fail |= planes,
            Effect::HandOver(places) => {
                for (block, _) in places {
                    let plane = self.plane(block);
                    if let Some(page) = self.sensed[plane].take() {
                        self.cache[plane] = page;
                    }
                }
            }
            Effect::Sense { place, to_cache } => {
                let (plane, page) = (self.plane(place.0), self.page(place));
                if to_cache {
                    self.cache[plane].clone_from(&page);
                }
                self.sensed[plane] = Some(page);
            }
            Effect::Begin { place: (block, page), slc } => {
                let block = &mut self.blocks[block as usize];
                (block.slc, block.last) = (Some(slc), Some(page));
                *block.programs.entry(page).or_default() += 1;
            }
            Effect::Write { place, bytes, torn } => {
                let before = self.blocks[place.0 as usize].pages.get(&place.1);
                let known = |old: u16, new: u16| if old | new >= UNKNOWN { UNKNOWN } else { old & new };
                let bytes = match before {
                    Some(old) => old.iter().zip(&bytes).map(|(old, new)| known(*old, *new)).collect(),
                    None => bytes,
                };
                self.blocks[place.0 as usize].pages.insert(place.1, Rc::new(bytes));
                if torn {
                    self.tear(place);
                }
            }
            Effect::BeginErase(block) => self.blocks[block as usize].erases += 1,
            Effect::Erase { block, torn } => {
                let block = &mut self.blocks[block as usize];
                *block = Block { erases: block.erases, bad: block.bad, torn, ..Block::default() };
            }
        }
    }

    fn tear(&mut self, (block, page): Place) {
        let unknown = vec![UNKNOWN; self.facts.page_bytes as usize];
        self.blocks[block as usize].pages.insert(page, Rc::new(unknown));
    }

    /// The bytes that a read of a page returns.
    pub fn page(&self, (block, page): Place) -> Page {
        let block = &self.blocks[block as usize];
        let all = |byte| vec![byte; self.facts.page_bytes as usize];
        match block.pages.get(&page) {
            _ if block.torn => all(UNKNOWN),
            Some(page) => page.to_vec(),
            // The mark of a factory bad block, until the first erase.
            None if block.bad && block.erases == 0 => all(0),
            None => all(0xff),
        }
    }

    /// Checks a limit. If it is exceeded, the operation is rejected, or executed with FAIL.
    fn limit(&mut self, place: Place, broken: bool, what: Refused) -> Result<bool, Refused> {
        if broken && self.fatal { Err(self.failed(place, what)) } else { Ok(broken) }
    }

    /// Sets FAIL of a plane because of a rejection.
    fn failed(&mut self, place: Place, what: Refused) -> Refused {
        self.fail |= self.bit(place);
        what
    }

    fn require(&mut self, place: Place, holds: bool, what: Refused) -> Done {
        if holds { Ok(()) } else { Err(self.failed(place, what)) }
    }

    /// Checks that the queue is empty or has the same kind of operation.
    fn require_queue(&self, kind: Kind) -> Done {
        match &self.queue {
            Some((queued, _)) if *queued != kind => Err("planes wait for another operation"),
            _ => Ok(()),
        }
    }

    /// Whether `place` violates the plane rule together with the queued planes.
    fn against_queue(&self, place: Place, kind: Kind, slc: bool) -> bool {
        let together = self.facts.together(slc);
        let program = matches!(kind, Kind::Program | Kind::Copyback);
        self.queue.iter().flat_map(|(_, waiting)| waiting).any(|waiting| {
            let other = waiting.place;
            let same_unit = match kind {
                Kind::Erase => true,
                Kind::Read => other.1 == place.1,
                _ => other.1 / together == place.1 / together,
            };
            let same_plane = self.plane(other.0) == self.plane(place.0);
            let again = program && together > 1 && other.0 == place.0;
            !same_unit || (same_plane && !again)
        })
    }

    fn suspended_uses(&self, place: Place) -> bool {
        let uses = |work: &Work| match work.kind {
            Kind::Erase => work.places.iter().any(|p| p.0 == place.0),
            _ => work.places.contains(&place),
        };
        self.aside.iter().flat_map(|aside| &aside.works).any(uses)
    }

    /// Handles 80h or 85h with a row.
    pub fn begin_load(&mut self, block: u32, at: u64) {
        self.catch_up(at);
        self.load_plane = self.plane(block);
    }

    /// Handles 80h to any LUN of the target: clears every register, except registers whose data wait for the
    /// last plane of a program.
    pub fn clear(&mut self) {
        let waiting: Vec<usize> = match &self.queue {
            Some((Kind::Program | Kind::Copyback, waiting)) => {
                waiting.iter().map(|w| self.plane(w.place.0)).collect()
            }
            _ => Vec::new(),
        };
        for plane in (0..self.cache.len()).filter(|plane| !waiting.contains(plane)) {
            self.cache[plane].fill(0xff);
            self.copies.retain(|copy| *copy as usize != plane);
        }
    }

    pub fn admits_copyback(&self, block: u32) -> Done {
        self.require_queue(Kind::Copyback)?;
        let plane = self.plane(block) as u32;
        let sourced = if self.fatal { self.sources.contains(&plane) } else { !self.sources.is_empty() };
        if sourced { Ok(()) } else { Err("copyback program without a copyback read") }
    }

    pub fn admits_program(&self) -> Done {
        self.require_queue(Kind::Program)
    }

    fn short(&mut self, from: u64) {
        self.ready = from + self.facts.plane_busy;
        self.array_ready = self.array_ready.max(self.ready);
    }

    fn wait(&mut self, kind: Kind, waiting: Waiting) {
        self.queue.get_or_insert((kind, Vec::new())).1.push(waiting);
    }

    /// Handles 00h with 30h, 31h, 32h or 35h.
    pub fn read(&mut self, place: Place, second: u8, slc: bool, now: u64) -> Done {
        self.require_queue(Kind::Read)?;
        if second == 0x31 && self.goes_on.is_none() {
            return Err("cache read without a page");
        }
        if slc && self.facts.slc.is_none() {
            return Err("no SLC mode");
        }
        self.catch_up(now);
        self.require(place, second != 0x3e && (second != 0x31 || self.facts.cache), "not of this part")?;
        self.require(place, place.1 < self.facts.pages_in(slc), "hole")?;
        self.require(place, !self.suspended_uses(place), "suspended")?;
        let rule = self.against_queue(place, Kind::Read, slc);
        let mixed = self.blocks[place.0 as usize].slc.is_some_and(|mode| mode != slc);
        let failing = self.limit(place, rule || mixed, "plane rule or mode")?;
        if self.queue.is_none() {
            self.out_plane = self.plane(place.0);
        }
        self.last = Some(Kind::Read);
        self.cache_reading = second == 0x31;
        let goes_on = self.goes_on.take();
        if second == 0x32 {
            self.goes_on = goes_on.map(|(places, _)| (places, slc));
            self.sources.clear();
            self.wait(Kind::Read, Waiting { place, failing, bytes: None });
            self.short(now);
            return Ok(());
        }
        let plane = self.plane(place.0);
        let several = self.queue.is_some();
        self.plane_lost = if second == 0x31 { self.sensed_several } else { several };
        self.out_plane = if second == 0x31 { self.sensed_plane } else { plane };
        (self.sensed_plane, self.sensed_several) = (plane, several);
        let (places, failing) = self.take_queue(place, failing);
        let before = goes_on.filter(|_| second == 0x31).map(|(places, _)| places);
        self.sense(places, failing, second, before, slc, now);
        Ok(())
    }

    fn take_queue(&mut self, place: Place, failing: bool) -> (Vec<Place>, u16) {
        let waiting = self.queue.take().map(|(_, waiting)| waiting).unwrap_or_default();
        let mark = |failing, bit| if failing { bit } else { 0 };
        let mut places: Vec<Place> = waiting.iter().map(|w| w.place).chain([place]).collect();
        let failing = waiting
            .iter()
            .fold(mark(failing, self.bit(place)), |mask, w| mask | mark(w.failing, self.bit(w.place)));
        places.sort_unstable();
        places.dedup();
        (places, failing)
    }

    fn sense(
        &mut self,
        places: Vec<Place>,
        failing: u16,
        second: u8,
        before: Option<Vec<Place>>,
        slc: bool,
        now: u64,
    ) {
        let time = places.iter().map(|p| self.facts.read_time(p.1, slc)).max().unwrap_or(0);
        let cached = second == 0x31;
        let begin = self.array_ready.max(now) + if cached { self.facts.cache_busy } else { 0 };
        let end = begin + time;
        self.ready = if cached { begin } else { end };
        self.array_ready = end;
        self.behind = Activity::Reading;
        self.after_cache = false;
        let planes: Vec<u32> = places.iter().map(|p| self.plane(p.0) as u32).collect();
        self.copies.retain(|copy| !planes.contains(copy));
        self.sources.clear();
        if second == 0x35 {
            self.sources.clone_from(&planes);
            self.copies.extend(planes);
        } else {
            self.goes_on = Some((places.clone(), slc));
        }
        self.due.push((begin, Effect::Start { after_cache: false }));
        self.due.extend(before.map(|places| (begin, Effect::HandOver(places))));
        self.due.push((end, Effect::Fail(failing)));
        self.due.extend(places.iter().map(|place| (end, Effect::Sense { place: *place, to_cache: !cached })));
        self.works.push(Work { begin, end, kind: Kind::Read, cached, places });
    }

    /// Handles 31h.
    pub fn read_on(&mut self, now: u64) -> Done {
        self.require_queue(Kind::Read)?;
        let Some((before, slc)) = self.goes_on.clone() else { return Err("31h without a page") };
        self.catch_up(now);
        let first = before[0];
        self.require(first, self.facts.cache, "no cache register")?;
        self.require(first, self.queue.is_none(), "planes wait")?;
        let next: Vec<Place> = before.iter().map(|(block, page)| (*block, page + 1)).collect();
        let free = next.iter().all(|p| p.1 < self.facts.pages_in(slc) && !self.suspended_uses(*p));
        self.require(first, free, "past the block or suspended")?;
        (self.last, self.cache_reading, self.out_plane) = (Some(Kind::Read), true, self.sensed_plane);
        self.plane_lost = self.sensed_several;
        self.sense(next, 0, 0x31, Some(before), slc, now);
        Ok(())
    }

    /// Handles 3Fh.
    pub fn read_end(&mut self, now: u64) -> Done {
        self.require_queue(Kind::Read)?;
        let Some((before, _)) = self.goes_on.clone().filter(|_| self.cache_reading) else {
            return Err("3Fh without a cache read");
        };
        self.catch_up(now);
        self.require(before[0], self.queue.is_none(), "planes wait")?;
        (self.goes_on, self.cache_reading, self.out_plane) = (None, false, self.sensed_plane);
        self.plane_lost = self.sensed_several;
        self.sources.clear();
        let at = self.array_ready.max(now) + self.facts.cache_busy;
        (self.ready, self.array_ready) = (at, at);
        self.due.push((at, Effect::Start { after_cache: false }));
        self.due.push((at, Effect::HandOver(before)));
        Ok(())
    }
}

mod change;
