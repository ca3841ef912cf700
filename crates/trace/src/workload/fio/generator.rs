//! The requests of a lane, one after another: their kinds, files, addresses and sizes. Their times are the
//! lane's.

use wordline_kernel::{Seed, Stream};

use super::cursor::{Cursor, Position, Rules, Span, Streams};
use super::settings::{Ops, Service, ServiceOrder, Settings, SizeDistribution, Sizes, Spread, ZoneMode};
use super::zones::{InZone, Wanted, Zones};

/// A request without its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draft {
    /// 0 is a read, 1 a write, 2 a trim.
    pub kind: usize,
    pub address: u64,
    pub size: u64,
    /// Stream of a write; 0 for none.
    pub stream: u8,
    /// Whether the job waits until its outstanding requests have completed.
    pub waits: bool,
    /// Zone that is reset by a command: before a write, or in place of a trim.
    pub reset: Option<u64>,
    /// Whether a write is a zone append.
    pub appends: bool,
}

impl Draft {
    /// Creates a read.
    pub fn read(address: u64, size: u64) -> Self {
        Self { kind: 0, address, size, stream: 0, waits: false, reset: None, appends: false }
    }
}

/// Draws the requests of a lane.
#[derive(Clone, Debug)]
pub struct Generator {
    number: u16,
    ops: Ops,
    /// Share of reads in a mixed load.
    reads: f64,
    sizes: Sizes,
    rules: Rules,
    /// Requests to an address, and those left until the next one is drawn.
    run: u64,
    run_left: u64,
    is_random: bool,
    smallest: u64,
    files: Vec<Cursor>,
    spans: Vec<Span>,
    service: Service,
    file: usize,
    file_left: u64,
    /// Whether zones are written in order, and how many of them at a time.
    zones: Option<u64>,
    appends: bool,
    streams: Vec<u64>,
    is_random_stream: bool,
    next_stream: usize,
    random: Random,
    /// Whether addresses go on in the next pass: fio begins anew only with those of uniform distributions.
    keeps_place: bool,
    /// The streams at the beginning, if each pass has the same.
    first: Option<Box<Random>>,
}

/// Random streams of a lane. A change of one does not affect the others.
#[derive(Clone, Debug)]
struct Random {
    place: Stream,
    mode: Stream,
    size: Stream,
    op: Stream,
    file: Stream,
    stream: Stream,
}

/// Attempts to draw a size that fits, before the smallest is taken. Chosen: far more than a distribution with a
/// size that fits ever needs.
const MAX_ATTEMPTS: usize = 256;

impl Generator {
    /// Creates the requests of a job in these files, as clone `number` of all. A pass has `size` bytes, and all
    /// of them `total`.
    pub fn new(
        settings: &Settings,
        spans: Vec<Span>,
        seed: Seed,
        number: u64,
        size: u64,
        total: u64,
    ) -> Self {
        let rules = Rules::new(settings, spans.len(), size, total);
        let files = spans.iter().map(|span| Cursor::new(*span, settings, &rules, number)).collect();
        let random = Random {
            place: seed.stream("fio.place", number),
            mode: seed.stream("fio.mode", number),
            size: seed.stream("fio.size", number),
            op: seed.stream("fio.op", number),
            file: seed.stream("fio.file", number),
            stream: seed.stream("fio.stream", number),
        };
        let is_zoned = settings.zones.kind() == ZoneMode::Zbd;
        Self {
            number: number as u16,
            ops: settings.mix.ops,
            reads: settings.mix.reads as f64 / 100.0,
            sizes: settings.sizes.clone(),
            rules,
            run: settings.mix.run,
            run_left: 1,
            is_random: settings.mix.is_random,
            smallest: settings.smallest(),
            files,
            file: first_file(&settings.place.service, spans.len()),
            service: settings.place.service.clone(),
            file_left: 0,
            spans,
            zones: is_zoned.then_some(settings.zones.job_max_open),
            appends: is_zoned && settings.zones.appends,
            streams: if settings.streams.is_on { settings.streams.ids.clone() } else { Vec::new() },
            is_random_stream: settings.streams.is_random,
            next_stream: 0,
            keeps_place: settings.place.spread.iter().any(Spread::is_hashed),
            first: settings.place.repeats.then(|| Box::new(random.clone())),
            random,
        }
    }

    /// Begins a new pass over the files.
    pub fn reset(&mut self) {
        self.files.iter_mut().for_each(Cursor::reset);
        (self.run_left, self.file_left) = (1, 0);
        self.file = first_file(&self.service, self.files.len());
        if let Some(first) = &self.first {
            let place = self.random.place.clone();
            self.random = (**first).clone();
            if self.keeps_place {
                self.random.place = place;
            }
        }
    }

    /// Draws the kind of the next request. In a job of trims and writes it is the kind whose rate
    /// applies.
    pub fn draw_kind(&mut self) -> usize {
        match self.ops {
            Ops::Only(kind) => kind,
            Ops::Both => usize::from(self.random.op.unit() >= self.reads),
            Ops::TrimWrite => 1,
        }
    }

    /// Whether reads and writes take turns.
    pub fn is_mixed(&self) -> bool {
        self.ops == Ops::Both
    }

    /// Returns the next request of a kind. `None` at the end of a pass over all files.
    pub fn next(&mut self, kind: usize, zones: &mut Option<Zones>) -> Option<Draft> {
        loop {
            let file = self.choose_file()?;
            if let Some(draft) = self.next_in(file, kind, zones) {
                return Some(draft);
            }
            self.files[file].is_done = true;
            self.file_left = 0;
        }
    }

    /// Chooses the file of the next request among those whose pass has not ended.
    fn choose_file(&mut self) -> Option<usize> {
        let count = self.files.len();
        if self.files.iter().all(|file| file.is_done) {
            return None;
        }
        let stays = match self.service.by {
            ServiceOrder::Sequential => true,
            _ => self.file_left > 0,
        };
        if stays && !self.files[self.file].is_done {
            self.file_left = self.file_left.saturating_sub(1);
            return Some(self.file);
        }
        let begin = match self.service.by {
            ServiceOrder::Random => self.random.file.below(count as u64) as usize,
            ServiceOrder::RoundRobin => (self.file + 1) % count,
            ServiceOrder::Sequential => self.file,
        };
        let chosen = (0..count).map(|n| (begin + n) % count).find(|file| !self.files[*file].is_done);
        self.file = chosen?;
        self.file_left = self.service.run - 1;
        chosen
    }

    fn next_in(&mut self, file: usize, kind: usize, zones: &mut Option<Zones>) -> Option<Draft> {
        let kind = if self.ops == Ops::TrimWrite { self.trim_or_write(file) } else { kind };
        if let Some(draft) = self.write_of_trim(file, kind) {
            return Some(draft);
        }
        self.run_left -= 1;
        let draws = self.run_left == 0;
        if draws {
            self.run_left = self.run;
        }
        let mut streams = Streams { place: &mut self.random.place, mode: &mut self.random.mode };
        let cursor = &mut self.files[file];
        let position = cursor.next(&self.rules, kind, draws, &mut streams)?;
        let size = self.draw_size(file, kind, position)?;
        let cursor = &mut self.files[file];
        if !cursor.is_inside(position.at, size) {
            return None;
        }
        let wanted = (cursor.address(position.at), size);
        let has_commands = zones.as_ref().is_some_and(Zones::has_commands);
        let fitted = match (zones, self.zones) {
            (Some(zones), Some(max_open)) => Some(self.fit_to_zone(zones, max_open, file, kind, wanted)?),
            _ => None,
        };
        let cursor = &mut self.files[file];
        let (address, size, waits) =
            fitted.map_or((wanted.0, size, false), |fitted| (fitted.address, fitted.size, fitted.resets));
        let at = address.saturating_sub(cursor.address(0));
        let size = cursor.accept(&self.rules, kind, position, at, size);
        let reset = fitted.filter(|fitted| has_commands && fitted.resets).map(|_| address);
        let appends = self.appends && has_commands && kind == 1;
        Some(Draft { kind, address, size, stream: self.stream(kind), waits, reset, appends })
    }

    /// Fits a request to the zones of the device.
    fn fit_to_zone(
        &self,
        zones: &mut Zones,
        max_open: u64,
        file: usize,
        kind: usize,
        (address, size): (u64, u64),
    ) -> Option<InZone> {
        let span = self.spans[file];
        let begin = span.begin + span.offset;
        let wanted = Wanted {
            lane: self.number,
            address,
            size,
            unit: self.smallest,
            part: (begin, begin + span.length),
            is_random: self.is_random,
            max_open,
        };
        match kind {
            0 => zones.read(wanted),
            1 => zones.write(wanted),
            _ => zones.trim(wanted),
        }
    }

    /// Kind of the next request of a job of trims and writes: a write of what was just trimmed, else a trim.
    fn trim_or_write(&self, file: usize) -> usize {
        let cursor = &self.files[file];
        if cursor.last_start(1) == cursor.last_start(2) { 2 } else { 1 }
    }

    /// Returns the write of what was just trimmed, in a random job.
    fn write_of_trim(&mut self, file: usize, kind: usize) -> Option<Draft> {
        if !(self.ops == Ops::TrimWrite && self.is_random && kind == 1) {
            return None;
        }
        let (at, size) = self.files[file].last(2)?;
        let position = Position { at, is_random: false };
        self.files[file].accept(&self.rules, 1, position, at, size);
        let address = self.files[file].address(at);
        Some(Draft { kind, address, size, stream: self.stream(1), waits: false, reset: None, appends: false })
    }

    /// Stream of a request.
    fn stream(&mut self, kind: usize) -> u8 {
        if kind != 1 || self.streams.is_empty() {
            return 0;
        }
        let count = self.streams.len();
        let chosen = if self.is_random_stream {
            self.random.stream.below(count as u64) as usize
        } else {
            self.next_stream
        };
        self.next_stream = (chosen + 1) % count;
        // Streams are numbered from 1.
        (self.streams[chosen] + 1) as u8
    }

    /// Draws a size that ends within the part of the file. `None` if none does.
    fn draw_size(&mut self, file: usize, kind: usize, position: Position) -> Option<u64> {
        let by = if self.sizes.by_randomness { usize::from(position.is_random) } else { kind };
        let cursor = &self.files[file];
        let (least, most) = self.sizes.of[by].bounds();
        if least == most {
            return Some(least);
        }
        if !cursor.fits(position.at, least) {
            return None;
        }
        for _ in 0..MAX_ATTEMPTS {
            let draw = self.random.size.unit();
            let size = match &self.sizes.of[by] {
                SizeDistribution::Split(sizes) => {
                    split_size(sizes, draw, |size| cursor.fits(position.at, size))
                }
                SizeDistribution::Range(least, most) => {
                    let unit = if self.sizes.unaligned { 512 } else { *least };
                    // As in fio: the largest size times the draw is added to the smallest, and cut.
                    let size = least + (*most as f64 * draw) as u64;
                    (size / unit * unit).min(*most)
                }
            };
            if cursor.fits(position.at, size) {
                return Some(size);
            }
        }
        Some(least)
    }
}

/// File before the first request: in a round robin the first follows the last.
fn first_file(service: &Service, files: usize) -> usize {
    if service.by == ServiceOrder::RoundRobin { files - 1 } else { 0 }
}

/// Draws one of several sizes: the first whose cumulative share is above the draw, and that fits.
fn split_size(sizes: &[(u64, f64)], draw: f64, fits: impl Fn(u64) -> bool) -> u64 {
    let mut left = draw * 100.0;
    for (size, percent) in sizes {
        left -= percent;
        if left < 0.0 && *percent > 0.0 && fits(*size) {
            return *size;
        }
    }
    sizes.iter().rev().find(|(_, percent)| *percent > 0.0).expect("percentages add to 100").0
}
