//! The next address in a file, as fio chooses it.

use wordline_kernel::Stream;

use super::addresses::AddressGenerator;
use super::map::RandomMap;
use super::settings::{Settings, Spread, ZoneMode};
use super::values::Each;

/// Place of a file on the device, and the part of it that a job accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Device address of the first byte of the file.
    pub begin: u64,
    /// Offset of the part in the file.
    pub offset: u64,
    /// Length of the part.
    pub length: u64,
    /// Length of the file.
    pub file: u64,
}

/// Rules of a job for the addresses in its files.
#[derive(Clone, Debug)]
pub struct Rules {
    align: Each<u64>,
    /// Smallest size of a request, and the unit of the map of blocks.
    smallest: u64,
    is_random: bool,
    random: Each<u64>,
    step: i64,
    repeats: bool,
    /// Whether an address generator serves all kinds, because each block is accessed once.
    is_shared: bool,
    /// Whether a pass goes on after the last address.
    wraps_random: bool,
    wraps_sequential: bool,
    stride: Option<Stride>,
}

/// Strided zones.
#[derive(Clone, Copy, Debug)]
struct Stride {
    size: u64,
    range: u64,
    skip: u64,
}

impl Rules {
    /// Takes the rules from the settings of a job that accesses `files` files.
    pub fn new(settings: &Settings, files: usize, size: u64, total: u64) -> Self {
        let zones = &settings.zones;
        let is_strided = zones.kind() == ZoneMode::Strided && files == 1;
        let is_time_based = settings.is_endless();
        let range = if zones.range > 0 { zones.range } else { zones.size };
        let is_simple = settings.mix.random == [100; 3] && settings.mix.run == 1 && !is_strided;
        Self {
            align: [0, 1, 2].map(|kind| settings.alignment(kind)),
            smallest: settings.smallest(),
            is_random: settings.mix.is_random,
            random: settings.mix.random,
            step: settings.mix.step,
            repeats: settings.mix.repeats,
            is_shared: settings.has_map() && settings.has_one_size() && is_simple,
            wraps_random: is_time_based,
            wraps_sequential: is_time_based && files == 1 || settings.writes() && total > size,
            stride: is_strided.then(|| Stride {
                size: zones.size,
                range,
                skip: zones.skip.of(0, zones.size),
            }),
        }
    }
}

/// Position of a job in a file.
#[derive(Clone, Debug)]
pub struct Cursor {
    span: Span,
    /// Start of the current zone, or of the part.
    offset: u64,
    /// End and start of the last request of each kind, in the file.
    end: Each<u64>,
    start: Each<Option<u64>>,
    generators: Each<AddressGenerator>,
    map: Option<RandomMap>,
    zone_bytes: u64,
    /// Whether the pass over this file has ended.
    pub is_done: bool,
}

/// An address in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Byte of the part.
    pub at: u64,
    pub is_random: bool,
}

/// Blocks of a map that needs memory. Chosen: 128 MiB for a clone.
const MAX_MAP: u64 = 1 << 30;

impl Cursor {
    /// Creates the position of clone `number` at the start of `span`.
    pub fn new(span: Span, settings: &Settings, rules: &Rules, number: u64) -> Self {
        let blocks = span.length.div_ceil(rules.smallest);
        let generators = [0, 1, 2].map(|kind| {
            let slots = slots(rules, span.length, kind);
            let is_used = settings.kinds().contains(&kind);
            let spread = if is_used { &settings.place.spread[kind] } else { &Spread::Uniform };
            AddressGenerator::new(spread, rules.is_shared, slots, rules.align[kind], number)
        });
        let keeps_map = settings.has_map() && !rules.is_shared && blocks <= MAX_MAP;
        Self {
            span,
            offset: span.offset,
            end: [span.offset; 3],
            start: [None; 3],
            generators,
            map: keeps_map.then(|| RandomMap::new(blocks)),
            zone_bytes: 0,
            is_done: false,
        }
    }

    /// Begins a new pass.
    pub fn reset(&mut self) {
        self.is_done = false;
        (self.offset, self.zone_bytes) = (self.span.offset, 0);
        self.restart();
    }

    fn restart(&mut self) {
        (self.end, self.start) = ([self.offset; 3], [None; 3]);
        if let Some(map) = &mut self.map {
            map.reset();
        }
        self.generators.iter_mut().for_each(AddressGenerator::reset);
    }

    /// Device address of a byte of the part.
    pub fn address(&self, at: u64) -> u64 {
        self.span.begin + self.offset + at
    }

    /// Whether a request of `size` bytes at `at` ends within the part.
    pub fn fits(&self, at: u64, size: u64) -> bool {
        self.offset + at + size <= self.span.offset + self.span.length
    }

    /// Whether a request ends within the file.
    pub fn is_inside(&self, at: u64, size: u64) -> bool {
        self.offset + at + size <= self.span.file
    }

    /// Start and size of the last request of a kind, for a write of the same place.
    pub fn last(&self, kind: usize) -> Option<(u64, u64)> {
        let start = self.start[kind]?;
        Some((start.checked_sub(self.offset)?, self.end[kind] - start))
    }

    /// Start of the last request of a kind.
    pub fn last_start(&self, kind: usize) -> Option<u64> {
        self.start[kind]
    }

    /// Chooses the address of a request. `draws` is unset if a random job repeats or continues its last
    /// address. `None` at the end of the pass.
    pub fn next(
        &mut self,
        rules: &Rules,
        kind: usize,
        draws: bool,
        random: &mut Streams<'_>,
    ) -> Option<Position> {
        if let Some(stride) = rules.stride {
            self.enter_zone(stride, kind);
        }
        let position = if !draws && rules.repeats {
            Some((self.start[kind].map_or(0, |start| start.saturating_sub(self.offset)), false))
        } else if rules.is_random && draws && self.is_random(rules, kind, random) {
            self.draw(rules, kind, random).map(|at| (at, true))
        } else {
            let next = self.follow(rules, kind).map(|at| (at, false));
            next.or_else(|| {
                if rules.is_random { self.draw(rules, kind, random).map(|at| (at, draws)) } else { None }
            })
        };
        let (at, is_random) = position?;
        let is_inside = at < self.span.length && self.offset + at < self.span.file;
        is_inside.then_some(Position { at, is_random })
    }

    /// Notes a request at byte `at` of the part, where a zone may have moved it to. Returns its size: in a job
    /// with a map, it ends before a block that was accessed.
    pub fn accept(&mut self, rules: &Rules, kind: usize, position: Position, at: u64, size: u64) -> u64 {
        let mut size = size;
        if let (Some(map), true) = (&mut self.map, position.is_random) {
            let blocks = size.div_ceil(rules.smallest);
            let taken = map.take(position.at / rules.smallest, blocks);
            size = size.min(taken * rules.smallest);
        }
        let start = self.offset + at;
        (self.start[kind], self.end[kind]) = (Some(start), start + size);
        self.zone_bytes += size;
        size
    }

    /// Enters the next strided zone once the current one has had its bytes.
    fn enter_zone(&mut self, stride: Stride, kind: usize) {
        if self.zone_bytes >= stride.size {
            self.zone_bytes = 0;
            self.offset += stride.range + stride.skip;
            if self.offset >= self.span.file {
                self.offset = self.span.offset;
            }
            self.end[kind] = self.offset;
        }
        if self.end[kind] >= self.offset + stride.range {
            self.end[kind] = self.offset;
        }
        if self.zone_bytes.is_multiple_of(stride.range) {
            self.restart();
        }
    }

    fn is_random(&self, rules: &Rules, kind: usize, random: &mut Streams<'_>) -> bool {
        let percent = rules.random[kind];
        percent == 100 || random.mode.below(100) < percent
    }

    /// Draws a random address.
    fn draw(&mut self, rules: &Rules, kind: usize, random: &mut Streams<'_>) -> Option<u64> {
        let length = rules.stride.map_or(self.span.length.min(self.span.file), |stride| stride.range);
        let slots = slots(rules, length, kind);
        let shared = if rules.is_shared { 0 } else { kind };
        let slot = self.generators[shared].next(slots, !rules.wraps_random, random.place)?;
        let at = slot * rules.align[kind];
        let Some(map) = &mut self.map else { return Some(at) };
        let mut free = map.next_free(at / rules.smallest);
        if free.is_none() && rules.wraps_random {
            map.reset();
            free = Some(at / rules.smallest);
        }
        free.map(|block| block * rules.smallest)
    }

    /// Returns the address behind the last request of a kind, plus the step of the job.
    fn follow(&mut self, rules: &Rules, kind: usize) -> Option<u64> {
        let end = &mut self.end[kind];
        if *end >= self.span.length + self.span.offset && rules.wraps_sequential {
            *end = self.offset;
        }
        if *end >= self.span.file {
            return None;
        }
        let last = self.span.length.min(self.span.file);
        if *end == self.offset && self.offset > 0 && rules.step < 0 {
            // As in fio, which takes the length as a place in the file.
            *end = last;
        }
        let at = *end as i64 - self.offset as i64;
        if at == 0 || rules.step == 0 {
            return Some(at as u64);
        }
        let next = at + rules.step;
        if (0..self.span.file as i64).contains(&next) {
            return Some(next as u64);
        }
        let wrapped = if rules.step > 0 { self.offset as i64 } else { last as i64 + rules.step };
        Some(wrapped.max(0) as u64)
    }
}

/// Random streams of an address.
pub struct Streams<'a> {
    pub place: &'a mut Stream,
    pub mode: &'a mut Stream,
}

/// Number of addresses of a kind in a part of `length` bytes.
fn slots(rules: &Rules, length: u64, kind: usize) -> u64 {
    let align = rules.align[kind];
    let tail = rules.smallest.saturating_sub(align);
    (length.saturating_sub(tail) / align).max(1)
}
