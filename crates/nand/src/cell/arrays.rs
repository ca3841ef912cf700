//! The cells behind the arrays of dies: what [`Physics`] asks of a parameter set.
//!
//! Program times come from the loops, outcomes of reads from error rates that are calculated once for each class of word lines
//! and then looked up. Erases count the cycles of blocks; time and temperature are a condition of all cells, never the
//! simulated clock. In modes other than the native one the data sheet answers.

use std::ops::Range;
use std::sync::Arc;

use wordline_kernel::snapshot::{Broken, Reader, State, Writer};
use wordline_kernel::{Complaints, Duration, Instant, Seed, Stream};

use super::aged::Surge;
use super::condition::Condition;
use super::math::count;
use super::rates::{RateTable, Sensing, Wanted, Way, same};
use super::set::CellSet;
use super::variation::{Place, Variation};
use crate::cell_mode::CellMode;
use crate::geometry::PlaneBlock;
use crate::physics::{MOST_STATES, Outcome, Parameters, Physics, Sensed, Work};
use crate::{Part, Stage};

/// Classes of the place of a word line within a loop. Chosen: the mean of whole loops is right to a 64th.
const FASTER: usize = 64;

/// Cells of a parameter set behind the dies of a part.
#[derive(Clone, Debug)]
pub struct CellArrays {
    set: Arc<CellSet>,
    seed: Seed,
    shape: ArrayShape,
    random: Stream,
    /// Erases of each block of each die.
    erases: Vec<u32>,
    /// The way in which each word line was programmed, as a place in `ways`; empty while there is only one.
    written: Vec<u8>,
    ways: Vec<Way>,
    /// How programs of each way go, for each place within a loop.
    programs: Vec<Vec<Option<Done>>>,
    rates: RateTable,
    /// The place of each layer of each block within a loop, as a class.
    faster: Vec<u8>,
    surges: Vec<Surge>,
}

impl State for CellArrays {
    fn save_state(&self, to: &mut Writer<'_>) -> Result<(), Broken> {
        let Self {
            seed,
            random,
            erases,
            written,
            ways,
            set: _,
            shape: _,
            programs: _,
            rates: _,
            faster: _,
            surges: _,
        } = self;
        to.value("seed", seed)?;
        to.value("random", random)?;
        to.value("erases", erases)?;
        to.value("written", written)?;
        to.value("ways", ways)
    }

    fn load_state(&mut self, from: &mut Reader<'_>) -> Result<(), Broken> {
        self.seed = from.value("seed")?;
        self.random = from.value("random")?;
        self.erases = from.value("erases")?;
        self.written = from.value("written")?;
        self.ways = from.value("ways")?;
        // What chance gave layers, blocks and chips follows from the seed; how programs go, from the ways.
        self.programs.clear();
        self.faster.fill(u8::MAX);
        self.rates.forget_ways();
        self.rates.draw(self.dies(), self.shape.blocks, self.seed);
        Ok(())
    }
}

/// How a program went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Done {
    time: Duration,
    /// Loops, and the verifies in them.
    steps: (u32, u32),
    first: [u8; MOST_STATES],
    last: [u8; MOST_STATES],
}

/// The properties of a part that determine the index of a word line in the tables.
#[derive(Clone, Copy, Debug)]
struct ArrayShape {
    first_die: u32,
    blocks: u32,
    word_lines: u32,
    layers: u32,
    page_bits: u64,
}

impl CellArrays {
    /// The cells of `set` behind the `dies` of `part`, after what `condition` says; its cycles come on top of the erases that the
    /// blocks get.
    ///
    /// # Errors
    /// If the set is not of cells as the part has them.
    pub fn new(
        set: Arc<CellSet>,
        part: &Part,
        dies: Range<u32>,
        condition: Condition,
        seed: Seed,
    ) -> Result<Self, Complaints> {
        let geometry = &part.geometry;
        let mut wrong = Complaints::default();
        set.check_part(geometry, &mut wrong);
        let shape = ArrayShape {
            first_die: dies.start,
            blocks: geometry.planes * geometry.blocks_per_plane,
            word_lines: part.pages().word_lines(),
            layers: geometry.layers.max(1),
            page_bits: geometry.page_size.0 * 8,
        };
        let all_blocks = dies.len() * shape.blocks as usize;
        let of_blocks = (shape.blocks, shape.layers, shape.page_bits);
        let rates = RateTable::new(set.clone(), condition, dies, of_blocks, part.endurance, seed);
        wrong.or_ok(Self {
            seed,
            shape,
            random: seed.stream("cells.arrays", u64::from(shape.first_die)),
            erases: vec![0; all_blocks],
            written: Vec::new(),
            ways: vec![Way::default()],
            programs: Vec::new(),
            rates,
            faster: vec![u8::MAX; all_blocks * shape.layers as usize],
            surges: Vec::new(),
            set,
        })
    }

    /// The same cells, which pass earlier in these spans of time.
    #[must_use]
    pub fn with_surges(self, surges: Vec<Surge>) -> Self {
        Self { surges, ..self }
    }

    /// By how many loops cells pass earlier now.
    fn early(&self, now: Instant) -> u8 {
        let since = now - Instant::ZERO;
        let surge = self.surges.iter().find(|surge| surge.from <= since && since < surge.to);
        surge.map_or(0, |surge| surge.loops)
    }

    /// The dies that they are behind.
    pub fn dies(&self) -> Range<u32> {
        let ArrayShape { first_die, blocks, .. } = self.shape;
        first_die..first_die + self.erases.len() as u32 / blocks
    }

    /// The number of a block over all dies.
    fn block(&self, at: PlaneBlock) -> usize {
        ((at.die.0 - self.shape.first_die) * self.shape.blocks + at.block) as usize
    }

    fn layer(&self, word_line: u32) -> u32 {
        (u64::from(word_line) * u64::from(self.shape.layers) / u64::from(self.shape.word_lines)) as u32
    }

    /// The place of a word line's layer within a loop, as a class.
    fn faster(&mut self, at: PlaneBlock, layer: u32) -> usize {
        let index = self.block(at) * self.shape.layers as usize + layer as usize;
        if self.faster[index] == u8::MAX {
            let faster = Variation::faster(Place { chip: at.die.0, block: at.block, layer }, self.seed);
            self.faster[index] = ((faster * FASTER as f64) as u8).min(FASTER as u8 - 1);
        }
        usize::from(self.faster[index])
    }

    /// The way of programming that a command's parameters name, as a place in `ways`.
    fn way(&mut self, parameters: &Parameters, early: u8) -> u8 {
        let states = self.set.states() - 1;
        let skipped = &parameters.skipped_verifies[..states];
        let skipped = if skipped.iter().all(|n| *n == 0) { &[] } else { skipped };
        let Parameters { start_margin, final_margin, .. } = *parameters;
        let is_it = |way: &Way| {
            (way.start_margin, way.final_margin, way.early) == (start_margin, final_margin, early)
                && same(&way.skipped, skipped)
        };
        if let Some(known) = self.ways.iter().position(is_it) {
            return known as u8;
        }
        if self.ways.len() > usize::from(u8::MAX) {
            // More ways than a byte counts: errors are those of the one that is most like it, the last.
            return u8::MAX;
        }
        self.ways.push(Way { start_margin, final_margin, skipped: skipped.to_vec(), early });
        (self.ways.len() - 1) as u8
    }

    /// How a program of a word line goes in such a way.
    fn program(&mut self, way: u8, class: usize) -> Option<Done> {
        let ispp = self.set.ispp.as_ref()?;
        let way = usize::from(way);
        if self.programs.len() <= way {
            self.programs.resize(self.ways.len(), vec![None; FASTER]);
        }
        let known = &mut self.programs[way][class];
        if known.is_none() {
            let done = ispp.program(&self.ways[way].how(middle(class)));
            let (mut first, mut last) = ([0; MOST_STATES], [0; MOST_STATES]);
            for (state, loops) in done.loops.iter().enumerate() {
                (first[state], last[state]) = (loops.first as u8, loops.last as u8);
            }
            let steps = (done.verifies.len() as u32, done.all_verifies());
            *known = Some(Done { time: done.time, steps, first, last });
        }
        *known
    }

    /// Notes that a word line was programmed in such a way.
    fn note(&mut self, at: PlaneBlock, word_line: u32, way: u8) {
        if self.written.is_empty() {
            if way == 0 {
                return;
            }
            self.written = vec![0; self.erases.len() * self.shape.word_lines as usize];
        }
        let index = self.block(at) * self.shape.word_lines as usize + word_line as usize;
        self.written[index] = way;
    }

    /// The error rate of a page, or, in the place of the page after the last one, BER_EP1 right after a program.
    fn rate(&mut self, at: PlaneBlock, word_line: u32, page: u32, way: u8, sensing: Sensing<'_>) -> f64 {
        let (block, layer) = (self.block(at), self.layer(word_line));
        let way = (way, &self.ways[usize::from(way)]);
        self.rates.rate(Wanted { block, erases: self.erases[block], layer, page, way, sensing })
    }

    /// The way in which a word line was programmed.
    fn way_of(&self, at: PlaneBlock, word_line: u32) -> u8 {
        if self.written.is_empty() {
            return 0;
        }
        self.written[self.block(at) * self.shape.word_lines as usize + word_line as usize]
    }

    /// The time of a program and its outcome where factors say it.
    fn by_factors(&mut self, work: &Work<'_>, outcome: Option<&mut Outcome>) -> Option<Duration> {
        let (factors, ispp) = (self.set.factors.as_ref()?, self.set.ispp.as_ref()?);
        let time = factors.time(ispp, work.parameters, work.data_sheet);
        let Some(outcome) = outcome else { return Some(time) };
        let (at, layer) = (work.blocks[0], self.layer(work.word_line()));
        let layer = self.block(at) as u64 * u64::from(self.shape.layers) + u64::from(layer);
        let cells = self.shape.page_bits as f64 * 2.0 / self.set.states() as f64;
        outcome.erased_to_p1 = (factors.erased_to_p1(layer, self.seed) * cells).round() as u32;
        let done = self.program(0, 0)?;
        (outcome.loops, outcome.verifies) = done.steps;
        (outcome.first_loops, outcome.last_loops) = (done.first, done.last);
        Some(time)
    }

    fn programs(&mut self, work: &Work<'_>, mut outcome: Option<&mut Outcome>) -> Duration {
        if let Some(time) = self.by_factors(work, outcome.as_deref_mut()) {
            return time;
        }
        let way = self.way(work.parameters, self.early(work.begin));
        let word_line = work.word_line();
        let layer = self.layer(word_line);
        let mut slowest = None;
        for at in work.blocks {
            let class = self.faster(*at, layer);
            slowest = slowest.max(self.program(way, class));
            self.note(*at, word_line, way);
        }
        let Some(done) = slowest else { return work.data_sheet };
        let Some(outcome) = outcome else { return done.time };
        (outcome.loops, outcome.verifies) = done.steps;
        (outcome.first_loops, outcome.last_loops) = (done.first, done.last);
        let cells = self.shape.page_bits as f64 * 2.0 / self.set.states() as f64;
        let page = self.set.coding.bits();
        let rate = self.rate(work.blocks[0], word_line, page, way, Sensing::Moved(&[]));
        outcome.erased_to_p1 = count(rate * cells, &mut self.random);
        let rate = self.rate(work.blocks[0], word_line, page + 1, way, Sensing::Moved(&[]));
        let all = self.shape.page_bits * u64::from(page);
        outcome.bit_errors[0] = count(rate * all as f64, &mut self.random);
        done.time
    }

    fn reads(&mut self, work: &Work<'_>, outcome: &mut Outcome) {
        let (page, word_line) = (work.page_type(), work.word_line());
        outcome.senses = self.set.coding.sensed(page).count() as u32;
        let offsets = &work.parameters.read_offsets[..self.set.states() - 1];
        for (plane, at) in work.blocks.iter().enumerate() {
            let way = self.way_of(*at, word_line);
            let rate = self.rate(*at, word_line, page, way, Sensing::Moved(offsets));
            outcome.bit_errors[plane] = count(rate * self.shape.page_bits as f64, &mut self.random);
        }
    }
}

/// The middle of a class of places within a loop.
fn middle(class: usize) -> f64 {
    (class as f64 + 0.5) / FASTER as f64
}

impl Physics for CellArrays {
    fn work(&mut self, work: &Work<'_>, outcome: Option<&mut Outcome>) -> Duration {
        match (work.stage, work.mode, outcome) {
            (Stage::Ber, ..) => {
                for at in work.blocks {
                    let block = self.block(*at);
                    self.erases[block] += 1;
                }
            }
            (Stage::Tin, CellMode::Native, outcome) => return self.programs(work, outcome),
            (Stage::Ton, CellMode::Native, Some(outcome)) => self.reads(work, outcome),
            (Stage::Ton, _, Some(outcome)) => outcome.senses = 1,
            _ => {}
        }
        work.data_sheet
    }

    fn read_levels(&self) -> Option<u8> {
        self.set.highest_entry()
    }

    fn is_unread(&mut self, sensed: &Sensed) -> bool {
        let Some(reading) = self.set.reading.as_ref().filter(|_| sensed.mode == CellMode::Native) else {
            return false;
        };
        let last = (reading.entries() - 1) as u8;
        if let Some(factors) = &self.set.factors {
            let page = u64::from(sensed.word_line * self.set.coding.bits() + sensed.page_type);
            let block = self.block(sensed.at);
            let number = (block as u64) << 40 | u64::from(self.erases[block]) << 16 | page;
            return factors.is_unread(self.rates.hours(), (number, self.seed), sensed.level, last);
        }
        let entry = sensed.level.min(last);
        let way = self.way_of(sensed.at, sensed.word_line);
        let fails = self.rate(sensed.at, sensed.word_line, sensed.page_type, way, Sensing::Entry(entry));
        fails > 0.0 && self.random.unit() < fails
    }

    fn copied(&self) -> Box<dyn Physics> {
        Box::new(self.clone())
    }
}
