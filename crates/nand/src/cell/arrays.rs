//! The cells behind the arrays of dies: what [`Physics`] asks of a parameter set.
//!
//! Program times come from the loops, outcomes of reads from error rates that are calculated once for each class of word lines
//! and then looked up. Erases count the cycles of blocks; time and temperature are a condition of all cells, never the
//! simulated clock. In modes other than the native one the data sheet answers.

use std::sync::Arc;

use wordline_kernel::{Complaints, Duration, Seed, Stream, state};

use super::condition::{Condition, Effects};
use super::ispp::How;
use super::math::{class_of, count, middles};
use super::set::{CellSet, Written};
use super::variation::{Draws, Place, Strength, Variation};
use crate::cell_mode::CellMode;
use crate::geometry::PlaneBlock;
use crate::physics::{Outcome, Parameters, Physics, Work};
use crate::{Part, Stage};

/// Classes of the place of a word line within a loop. Chosen: the mean of whole loops is right to a 64th.
const FASTER: usize = 64;
/// Classes of the cycles up to the endurance of the part, and as many beyond. Chosen: a class is 3 % of a life.
const AGES: u32 = 32;
/// Classes of what chance gave blocks, and as many of what it gave chips. Chosen: neighbours differ by a fifth of a deviation.
const DRAWN: usize = 16;
/// A rate that was not calculated yet.
const UNKNOWN: f32 = -1.0;

/// Cells of a parameter set behind the dies of a part.
#[derive(Clone, Debug)]
pub struct CellArrays {
    set: Arc<CellSet>,
    effects: Effects,
    condition: Condition,
    seed: Seed,
    shape: ArrayShape,
    random: Stream,
    /// Erases of each block of each die.
    erases: Vec<u32>,
    /// The way in which each word line was programmed, as a place in `ways`; empty while there is only one.
    written: Vec<u8>,
    ways: Vec<Way>,
    rates: Vec<Rates>,
    faster: Vec<u8>,
    /// The class of each block and its chip.
    drawn: Vec<u8>,
    /// The draw that each class stands for.
    middles: Vec<f64>,
}

state!(CellArrays { values { random, erases, written, ways } fixed { set, effects, condition, seed, shape, rates, faster, drawn, middles } });

/// What of a part decides where a word line's numbers stand.
#[derive(Clone, Copy, Debug)]
struct ArrayShape {
    blocks: u32,
    word_lines: u32,
    layers: u32,
    page_bits: u64,
    cycles_of_class: f64,
}

/// A way to program: what the controller changed.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
struct Way {
    start_margin: u16,
    final_margin: u16,
    skipped: Vec<u8>,
    /// For each place within a loop: time, loops, verifies.
    #[serde(skip)]
    programs: Vec<Option<(Duration, u32, u32)>>,
}

/// Error rates under one way to program and one set of read offsets.
#[derive(Clone, Debug)]
struct Rates {
    way: u8,
    offsets: Vec<i8>,
    /// By class of block and age, empty until one is looked at; then by layer and page.
    of_classes: Vec<Vec<f32>>,
}

impl CellArrays {
    /// The cells of `set` behind `dies` dies of `part`, after what `condition` says; its cycles come on top of the erases that the
    /// blocks get.
    ///
    /// # Errors
    /// If the set is not of cells as the part has them.
    pub fn new(
        set: Arc<CellSet>,
        part: &Part,
        dies: u32,
        condition: Condition,
        seed: Seed,
    ) -> Result<Self, Complaints> {
        let geometry = &part.geometry;
        let mut wrong = Complaints::default();
        let bits = set.coding.bits();
        let wanted = format!("{bits}, as `{}` has", set.name);
        wrong.require(
            geometry.bits_per_cell == bits,
            "geometry.bits_per_cell",
            geometry.bits_per_cell,
            wanted,
        );
        wrong.require(
            geometry.one_shot,
            "geometry.one_shot",
            geometry.one_shot,
            "true: programs are of word lines",
        );
        if let Some(variation) = &set.variation {
            let wanted = format!("{}, as `{}` has", variation.layers, set.name);
            wrong.require(geometry.layers == variation.layers, "geometry.layers", geometry.layers, wanted);
        }
        let blocks = geometry.planes * geometry.blocks_per_plane;
        let shape = ArrayShape {
            blocks,
            word_lines: part.pages().word_lines(),
            layers: geometry.layers.max(1),
            page_bits: geometry.page_size.0 * 8,
            cycles_of_class: f64::from(part.endurance.max(AGES)) / f64::from(AGES),
        };
        let all_blocks = (dies * blocks) as usize;
        wrong.or_ok(Self {
            effects: Effects::ALL,
            condition,
            seed,
            shape,
            random: seed.stream("cells.arrays", 0),
            erases: vec![0; all_blocks],
            written: Vec::new(),
            ways: vec![Way { start_margin: 0, final_margin: 0, skipped: Vec::new(), programs: Vec::new() }],
            rates: Vec::new(),
            faster: vec![u8::MAX; all_blocks * shape.layers as usize],
            drawn: (0..dies)
                .flat_map(|chip| (0..blocks).map(move |block| drawn(chip, block, seed)))
                .collect(),
            middles: middles(DRAWN),
            set,
        })
    }

    /// The number of a block over all dies.
    fn block(&self, at: PlaneBlock) -> usize {
        (at.die.0 * self.shape.blocks + at.block) as usize
    }

    fn layer(&self, word_line: u32) -> u32 {
        (u64::from(word_line) * u64::from(self.shape.layers) / u64::from(self.shape.word_lines)) as u32
    }

    /// What the cells of a layer are like in blocks of a class.
    fn strength(&self, class: u8, layer: u32) -> Strength {
        let Some(variation) = &self.set.variation else { return Strength::USUAL };
        let middle = |class: u8| self.middles[usize::from(class) % DRAWN];
        let draws = Draws { block: middle(class), chip: middle(class / DRAWN as u8) };
        variation.of_draws(layer, draws, self.effects)
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
    fn way(&mut self, parameters: &Parameters) -> u8 {
        let states = self.set.states() - 1;
        let skipped = &parameters.skipped_verifies[..states];
        let skipped = if skipped.iter().all(|n| *n == 0) { &[] } else { skipped };
        let Parameters { start_margin, final_margin, .. } = *parameters;
        let is_it = |way: &Way| {
            (way.start_margin, way.final_margin, &*way.skipped) == (start_margin, final_margin, skipped)
        };
        if let Some(known) = self.ways.iter().position(is_it) {
            return known as u8;
        }
        if self.ways.len() > usize::from(u8::MAX) {
            // More ways than a byte counts: errors are those of the one that is most like it, the last.
            return u8::MAX;
        }
        let skipped = skipped.to_vec();
        self.ways.push(Way { start_margin, final_margin, skipped, programs: Vec::new() });
        (self.ways.len() - 1) as u8
    }

    /// Time, loops and verifies of a program of a word line in such a way.
    fn program(&mut self, way: u8, class: usize) -> Option<(Duration, u32, u32)> {
        let ispp = self.set.ispp.as_ref()?;
        let way = &mut self.ways[usize::from(way)];
        way.programs.resize(FASTER, None);
        if way.programs[class].is_none() {
            let done = ispp.program(&way.how(middle(class)));
            way.programs[class] = Some((done.time, done.verifies.len() as u32, done.all_verifies()));
        }
        way.programs[class]
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

    /// The class of a block's age.
    fn age(&self, block: usize) -> u32 {
        ((f64::from(self.erases[block]) / self.shape.cycles_of_class) as u32).min(2 * AGES)
    }

    /// The error rate of a page, or, in the place of the page after the last one, BER_EP1 right after a program.
    fn rate(&mut self, at: PlaneBlock, word_line: u32, page: u32, way: u8, offsets: &[i8]) -> f64 {
        let (block, layer) = (self.block(at), self.layer(word_line));
        let slots = self.set.coding.bits() + 1;
        let known = self.rates.iter().position(|rates| rates.way == way && rates.offsets == offsets);
        let ages = 2 * AGES + 1;
        let known = known.unwrap_or_else(|| {
            let of_classes = vec![Vec::new(); DRAWN * DRAWN * ages as usize];
            self.rates.push(Rates { way, offsets: offsets.to_vec(), of_classes });
            self.rates.len() - 1
        });
        let (class, age, slot) = (self.drawn[block], self.age(block), (layer * slots + page) as usize);
        let of_class = usize::from(class) * ages as usize + age as usize;
        let rates = &mut self.rates[known].of_classes[of_class];
        if rates.is_empty() {
            rates.resize((self.shape.layers * slots) as usize, UNKNOWN);
        }
        if rates[slot] == UNKNOWN {
            let rate = self.calculated((class, layer), page, way, offsets, age);
            self.rates[known].of_classes[of_class][slot] = rate as f32;
            return rate;
        }
        f64::from(rates[slot])
    }

    fn calculated(&self, (class, layer): (u8, u32), page: u32, way: u8, offsets: &[i8], age: u32) -> f64 {
        let strength = self.strength(class, layer);
        // Errors are those in the middle of a loop: what a word line's place in it does to the cells that skipped verifies
        // over-program is left out.
        let how = self.ways[usize::from(way)].how(0.5);
        let written = self.set.ispp.as_ref().map(|ispp| Written::of(&how, &ispp.program(&how)));
        let cycles = if age == 0 { 0.0 } else { (f64::from(age) + 0.5) * self.shape.cycles_of_class };
        let just_programmed = page == self.set.coding.bits();
        let condition = Condition {
            cycles: self.condition.cycles + cycles,
            hours: if just_programmed { 0.0 } else { self.condition.hours },
            ..self.condition
        };
        let levels = self.set.levels(&strength, &condition, self.effects, &written.unwrap_or_default());
        if just_programmed {
            return self.set.erased_to_p1(&levels);
        }
        let step = self.set.reading.as_ref().map_or(1.0, |reading| reading.level_step);
        let moved = self.set.references.iter().zip(offsets);
        let references: Vec<f64> = moved.map(|(at, offset)| at + step * f64::from(*offset)).collect();
        levels.page_error(page, &references)
    }

    fn programs(&mut self, work: &Work<'_>, outcome: Option<&mut Outcome>) -> Duration {
        let (way, word_line) = (self.way(work.parameters), work.word_line());
        let layer = self.layer(word_line);
        let mut slowest = None;
        for at in work.blocks {
            let class = self.faster(*at, layer);
            slowest = slowest.max(self.program(way, class).map(|done| (done, class)));
            self.note(*at, word_line, way);
        }
        let Some(((time, loops, verifies), class)) = slowest else { return work.data_sheet };
        let Some(outcome) = outcome else { return time };
        (outcome.loops, outcome.verifies) = (loops, verifies);
        if let Some(ispp) = &self.set.ispp {
            let of = ispp.loops_under(&self.ways[usize::from(way)].how(middle(class)));
            for (state, loops) in of.iter().enumerate() {
                outcome.first_loops[state] = loops.first as u8;
                outcome.last_loops[state] = loops.last as u8;
            }
        }
        let cells = self.shape.page_bits as f64 * 2.0 / self.set.states() as f64;
        let page = self.set.coding.bits();
        let rate = self.rate(work.blocks[0], word_line, page, way, &[]);
        outcome.erased_to_p1 = count(rate * cells, &mut self.random);
        time
    }

    fn reads(&mut self, work: &Work<'_>, outcome: &mut Outcome) {
        let (page, word_line) = (work.page_type(), work.word_line());
        outcome.senses = self.set.coding.sensed(page).count() as u32;
        let offsets = &work.parameters.read_offsets[..self.set.states() - 1];
        for (plane, at) in work.blocks.iter().enumerate() {
            let index = self.block(*at) * self.shape.word_lines as usize + word_line as usize;
            let way = self.written.get(index).copied().unwrap_or_default();
            let rate = self.rate(*at, word_line, page, way, offsets);
            outcome.bit_errors[plane] = count(rate * self.shape.page_bits as f64, &mut self.random);
        }
    }
}

/// The class of what chance gave a block, and its chip in the upper half.
fn drawn(chip: u32, block: u32, seed: Seed) -> u8 {
    let draws = Variation::draws(Place { chip, block, layer: 0 }, seed);
    (class_of(draws.block, DRAWN) + DRAWN * class_of(draws.chip, DRAWN)) as u8
}

/// The middle of a class of places within a loop.
fn middle(class: usize) -> f64 {
    (class as f64 + 0.5) / FASTER as f64
}

impl Way {
    fn how(&self, faster: f64) -> How<'_> {
        How {
            start_margin: f64::from(self.start_margin),
            final_margin: f64::from(self.final_margin),
            skipped: &self.skipped,
            faster,
        }
    }
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

    fn copied(&self) -> Box<dyn Physics> {
        Box::new(self.clone())
    }
}
