//! The cell model of the arrays of dies: [`Physics`] over a parameter set.
//!
//! Program times follow from the loops. Outcomes of reads follow from error rates, which are calculated once
//! for each class of word lines and then looked up. Erases count the P/E cycles of blocks, and reads count if
//! the set has read disturb. Retention time and temperature are a condition of all cells; retention time
//! follows the simulated clock only if configured (`retention_clock.rs`). `mode.rs` has the states of cells in
//! modes other than the native one.

use std::ops::Range;
use std::sync::Arc;

use wordline_kernel::snapshot::{Reader, SnapshotError, State, Writer};
use wordline_kernel::{Complaints, Duration, Instant, Seed, Stream};

use super::aged::Surge;
use super::coding::Coding;
use super::condition::Condition;
use super::deviate::CellRandom;
use super::mode::StoredBits;
use super::rate_classes::BlockRates;
use super::rates::{RateKey, RateTable};
use super::read::{Reading, deviation_of};
use super::reprogram::Bit;
use super::retention_clock::RetentionClock;
use super::set::CellSet;
use super::variants::ProgramVariants;
use super::variation::{CellLocation, Variation};
use crate::cell_mode::CellMode;
use crate::geometry::PlaneBlock;
use crate::parameters::{MAX_PROGRAM_STATES, Parameters};
use crate::physics::{Outcome, Physics, Sensed, Work};
use crate::{Part, Stage};

/// Number of classes of programming speed within a loop. Chosen: the mean number of whole loops is then exact
/// to 1/64.
const SPEED_CLASSES: usize = 64;

/// Cell model of the dies of a part with one parameter set.
#[derive(Clone, Debug)]
pub struct CellArrays {
    set: Arc<CellSet>,
    seed: Seed,
    shape: ArrayShape,
    random: Stream,
    chance: CellRandom,
    /// Erases of each block of each die.
    erases: Vec<u32>,
    ways: ProgramVariants,
    /// Results of programs for each program variant and speed class.
    programs: Vec<Vec<Option<ProgramResult>>>,
    rates: BlockRates,
    surges: Vec<Surge>,
}

impl State for CellArrays {
    fn save_state(&self, to: &mut Writer<'_>) -> Result<(), SnapshotError> {
        let Self { seed, random, erases, ways, chance: _, set: _, shape: _, programs: _, rates, surges: _ } =
            self;
        to.value("seed", seed)?;
        to.value("random", random)?;
        to.value("erases", erases)?;
        rates.save_state(to)?;
        ways.save_state(to)
    }

    fn load_state(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        self.seed = from.value("seed")?;
        self.random = from.value("random")?;
        self.erases = from.value("erases")?;
        self.rates.load_state(from)?;
        self.ways.load_state(from)?;
        // The drawn properties of layers, blocks and chips follow from the seed. The results of programs
        // follow from the program variants.
        self.chance = CellRandom::new(self.seed);
        self.programs.clear();
        self.rates.redraw(self.dies(), self.shape.blocks, self.seed);
        Ok(())
    }
}

/// The result of a program.
#[derive(Clone, Copy, Debug)]
struct ProgramResult {
    time: Duration,
    /// Number of loops and of verifies.
    steps: (u32, u32),
    first: [u8; MAX_PROGRAM_STATES],
    last: [u8; MAX_PROGRAM_STATES],
}

impl ProgramResult {
    fn write_to(&self, outcome: &mut Outcome) {
        (outcome.loops, outcome.verifies) = self.steps;
        (outcome.first_loops, outcome.last_loops) = (self.first, self.last);
    }
}

/// The properties of a part that determine the table index of a word line.
#[derive(Clone, Copy, Debug)]
struct ArrayShape {
    first_die: u32,
    blocks: u32,
    word_lines: u32,
    /// Layers of the part.
    layers: u32,
    /// Word lines of each layer that has any.
    per_layer: u32,
    page_bits: u64,
}

impl CellArrays {
    /// The cells of `set` in the `dies` of `part`, under `condition`. The cycles of `condition` are added to
    /// the erases of the run.
    ///
    /// # Errors
    /// If the set does not fit the cells of the part.
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
            per_layer: part.word_lines_per_layer(),
            page_bits: geometry.page_size.0 * 8,
        };
        let all_blocks = dies.len() * shape.blocks as usize;
        let frames = set.reading.as_ref().map_or(1, |reading| reading.ecc.frames(shape.page_bits) as u32);
        let of_blocks = (shape.blocks, shape.layers, frames);
        let rates = RateTable::new(set.clone(), condition, dies, of_blocks, part.endurance, seed);
        let disturbing = set.disturb.map(|_| vec![0; all_blocks]);
        wrong.into_result(Self {
            seed,
            shape,
            random: seed.stream("cells.arrays", u64::from(shape.first_die)),
            chance: CellRandom::new(seed),
            erases: vec![0; all_blocks],
            ways: ProgramVariants::new(all_blocks, shape.word_lines),
            programs: Vec::new(),
            rates: BlockRates::new(rates, disturbing),
            surges: Vec::new(),
            set,
        })
    }

    /// The cells, passing their verifies earlier in these spans of time.
    #[must_use]
    pub fn with_surges(self, surges: Vec<Surge>) -> Self {
        Self { surges, ..self }
    }

    /// The cells, with retention time that passes with simulated time. Data from before the run have the age
    /// of the condition when the run begins; data written in the run age from their program on.
    #[must_use]
    pub fn with_retention_clock(mut self) -> Self {
        self.rates.start_clock(RetentionClock::new(self.erases.len(), self.shape.word_lines));
        self
    }

    /// Records the begin of a program. The data age from this instant on.
    fn record_program(&mut self, work: &Work<'_>) {
        if !self.rates.has_clock() {
            return;
        }
        for at in work.blocks {
            self.rates.note_program(self.block(*at), work.word_line(), work.begin);
        }
    }

    /// Number of loops by which cells pass earlier at `now`.
    fn early(&self, now: Instant) -> u8 {
        let since = now - Instant::ZERO;
        let surge = self.surges.iter().find(|surge| surge.from <= since && since < surge.to);
        surge.map_or(0, |surge| surge.loops)
    }

    /// The seed of all properties drawn for layers, blocks and chips.
    pub(super) fn seed(&self) -> Seed {
        self.seed
    }

    /// The dies of these cells.
    pub fn dies(&self) -> Range<u32> {
        let ArrayShape { first_die, blocks, .. } = self.shape;
        first_die..first_die + self.erases.len() as u32 / blocks
    }

    /// Index of a block over all dies.
    fn block(&self, at: PlaneBlock) -> usize {
        ((at.die.0 - self.shape.first_die) * self.shape.blocks + at.block) as usize
    }

    /// The layer whose cells a word line has. If fewer layers have word lines than the part has, they are
    /// spread over its height.
    fn layer(&self, word_line: u32) -> u32 {
        let ArrayShape { layers, per_layer, word_lines, .. } = self.shape;
        word_line / per_layer * layers / word_lines.div_ceil(per_layer)
    }

    /// The speed class of a layer within a loop. Drawing it each time is faster than a table lookup.
    fn faster(&self, at: PlaneBlock, layer: u32) -> usize {
        let faster =
            Variation::faster(CellLocation { chip: at.die.0, block: at.block, layer }, self.chance.speeds);
        (faster * SPEED_CLASSES as f64) as usize
    }

    /// The result of a program of a word line with a program variant and a speed class.
    fn program(&mut self, way: u8, class: usize) -> Option<&ProgramResult> {
        self.set.ispp.as_ref()?;
        let (way, number) = (self.ways.get(way), usize::from(way));
        if self.programs.len() <= number {
            self.programs.resize(self.ways.count(), vec![None; SPEED_CLASSES]);
        }
        let known = &mut self.programs[number][class];
        if known.is_none() {
            let done = self.set.used(way.held).ispp(&self.set)?.program(&way.how(middle(class)));
            let (mut first, mut last) = ([0; MAX_PROGRAM_STATES], [0; MAX_PROGRAM_STATES]);
            for (state, loops) in done.loops.iter().enumerate() {
                (first[state], last[state]) = (loops.first as u8, loops.last as u8);
            }
            let steps = (done.verifies.len() as u32, done.all_verifies());
            *known = Some(ProgramResult { time: done.time, steps, first, last });
        }
        known.as_ref()
    }

    /// The error rate of a page.
    fn rate(
        &mut self,
        (at, now): (PlaneBlock, Instant),
        word_line: u32,
        page: u32,
        way: u8,
        offsets: &[i8],
    ) -> f64 {
        let (block, layer) = (self.block(at), self.layer(word_line));
        let Self { rates, ways, erases, .. } = self;
        let wanted = RateKey { block, erases: erases[block], layer, page, way: (way, ways.get(way)) };
        rates.at(block, word_line, now).rate(wanted, offsets)
    }

    /// The program variant of a word line that is read in `mode`. If the word line was programmed in another
    /// mode: the default variant of `mode`.
    fn variant_of(&mut self, at: PlaneBlock, word_line: u32, mode: CellMode) -> u8 {
        let way = self.ways.of(self.block(at), word_line);
        if self.ways.get(way).held.is_in(mode) {
            return way;
        }
        self.ways.number(&Parameters::DATA_SHEET, 0, 0, StoredBits::of(mode))
    }

    /// The state of a word line after a program in a mode. In a reprogram, the replaced page determines the
    /// rewritten bit.
    fn held_after(&self, work: &Work<'_>, at: PlaneBlock, word_line: u32) -> StoredBits {
        let CellMode::Reprogrammed(times) = work.mode else { return StoredBits::of(work.mode) };
        let before = match times {
            0 | 1 => CellMode::Mlc,
            times => CellMode::Reprogrammed(times - 1),
        };
        let held = self.ways.held(self.block(at), word_line);
        let held = if held.is_in(before) { held } else { StoredBits::of(before) };
        let bit = if work.page_type() == 0 { Bit::Low } else { Bit::High };
        held.after(bit, self.reprograms_ahead(at, word_line, held))
    }

    /// Number of word lines above this one in the string with more reprogram passes. Above are the layers
    /// that are programmed after the layer of this word line.
    fn reprograms_ahead(&self, at: PlaneBlock, word_line: u32, held: StoredBits) -> u8 {
        if self.set.background.is_none() {
            return 0;
        }
        let above = (word_line..self.shape.word_lines).step_by(self.shape.per_layer as usize).skip(1);
        let above = above.map(|line| self.ways.held(self.block(at), line));
        let two_bits = above.take_while(|above| matches!(above, StoredBits::Mlc { .. }));
        two_bits.filter(|above| above.rewrites() > held.rewrites()).count() as u8
    }

    /// The time and outcome of a program if the set has fixed factors.
    fn program_by_factors(&mut self, work: &Work<'_>, outcome: Option<&mut Outcome>) -> Option<Duration> {
        let (factors, ispp) = (self.set.factors.as_ref()?, self.set.ispp.as_ref()?);
        let time = factors.time(ispp, work.parameters, work.data_sheet);
        let Some(outcome) = outcome else { return Some(time) };
        let (at, layer) = (work.blocks[0], self.layer(work.word_line()));
        let layer = self.block(at) as u64 * u64::from(self.shape.layers) + u64::from(layer);
        let cells = self.shape.page_bits as f64 * 2.0 / self.set.states() as f64;
        outcome.erased_to_p1 = (factors.erased_to_p1(layer, self.seed) * cells).round() as u32;
        self.program(0, 0)?.write_to(outcome);
        Some(time)
    }

    fn programs(&mut self, work: &Work<'_>, mut outcome: Option<&mut Outcome>) -> Duration {
        if self.set.factors.is_some() && work.mode != CellMode::Native {
            return work.data_sheet;
        }
        if let Some(time) = self.program_by_factors(work, outcome.as_deref_mut()) {
            return time;
        }
        let (early, word_line) = (self.early(work.begin), work.word_line());
        // A reprogram uses the parameters of the data sheet.
        let parameters = if work.mode.is_reprogram() { &Parameters::DATA_SHEET } else { work.parameters };
        let (layer, states) = (self.layer(word_line), self.set.states() - 1);
        let (mut slowest, mut first_way) = (None, None);
        for at in work.blocks {
            let class = self.faster(*at, layer);
            let held = self.held_after(work, *at, word_line);
            let way = self.ways.number(parameters, states, early, held);
            let done = self.program(way, class).map(|done| (done.time, done.steps, (way, class)));
            slowest = slowest.max(done);
            let block = self.block(*at);
            self.ways.note(block, word_line, way);
            first_way.get_or_insert(way);
        }
        let Some((time, _, (way, class))) = slowest else { return work.data_sheet };
        if let (Some(outcome), Some(first)) = (outcome, first_way) {
            if let Some(done) = &self.programs[usize::from(way)][class] {
                done.write_to(outcome);
            }
            self.write_program_errors(work, first, outcome);
        }
        time
    }

    /// Writes the errors of a word line of the first plane directly after its program into `outcome`.
    fn write_program_errors(&mut self, work: &Work<'_>, way: u8, outcome: &mut Outcome) {
        let (at, word_line) = (work.blocks[0], work.word_line());
        let bits = work.mode.bits(self.set.coding.bits());
        let (block, layer) = (self.block(at), self.layer(word_line));
        let way = (way, self.ways.get(way));
        let wanted = RateKey { block, erases: self.erases[block], layer, page: 0, way };
        let [erased_to_p1, all_pages] = self.rates.usual().just_programmed(wanted);
        let cells = self.shape.page_bits as f64 * 2.0 / f64::from(1 << bits);
        outcome.erased_to_p1 = self.chance.count(erased_to_p1 * cells, &mut self.random);
        let all = self.shape.page_bits * u64::from(bits);
        outcome.bit_errors[0] = self.chance.count(all_pages * all as f64, &mut self.random);
    }

    fn reads(&mut self, work: &Work<'_>, outcome: &mut Outcome) {
        let (page, word_line) = (work.page_type(), work.word_line());
        let states = self.set.states() - 1;
        let offsets = &work.parameters.read_offsets[..states];
        for (plane, at) in work.blocks.iter().enumerate() {
            let way = self.variant_of(*at, word_line, work.mode);
            if plane == 0 {
                outcome.senses = self.senses(page, way);
            }
            let rate = self.rate((*at, work.begin), word_line, page, way, offsets);
            outcome.bit_errors[plane] =
                self.chance.count(rate * self.shape.page_bits as f64, &mut self.random);
        }
    }

    /// The failure limit of a page with an entry of the retry table; see [`RateTable::limit`].
    fn limit(&mut self, sensed: &Sensed, entry: u32) -> f64 {
        let Sensed { at, word_line, page_type: page, mode, now, bytes, .. } = *sensed;
        let (block, layer) = (self.block(at), self.layer(word_line));
        let frames = self.set.reading.as_ref().map_or(1, |reading| reading.ecc.frames(bytes.0 * 8) as u32);
        let way = self.variant_of(at, word_line, mode);
        let Self { rates, ways, erases, .. } = self;
        let wanted = RateKey { block, erases: erases[block], layer, page, way: (way, ways.get(way)) };
        rates.at(block, word_line, now).limit(wanted, entry, frames)
    }

    /// The part of a page's error deviation that is the same in each read until the block is erased.
    fn recurring(&self, sensed: &Sensed) -> f64 {
        let Sensed { at, word_line, page_type, .. } = *sensed;
        let in_block = u64::from(word_line * self.set.coding.bits() + page_type);
        let erases = self.erases[self.block(at)];
        let number = u64::from(at.die.0) << 52 | u64::from(at.block) << 32;
        let number = number | u64::from(erases & 0xFFFF) << 16 | in_block;
        self.chance.deviates.deviate(&mut self.chance.pages.stream(number))
    }

    /// Number of senses for a page.
    fn senses(&self, page: u32, way: u8) -> u32 {
        let held = self.ways.get(way).held;
        let sensed = |coding: &Coding| coding.sensed(page).count() as u32;
        if held == StoredBits::Native {
            sensed(&self.set.coding)
        } else {
            sensed(&self.set.used(held).coding)
        }
    }
}

/// The middle of a speed class, as a fraction of a loop.
fn middle(class: usize) -> f64 {
    (class as f64 + 0.5) / SPEED_CLASSES as f64
}

impl Physics for CellArrays {
    fn work(&mut self, work: &Work<'_>, outcome: Option<&mut Outcome>) -> Duration {
        match (work.stage, outcome) {
            (Stage::Ber, _) => {
                for at in work.blocks {
                    let block = self.block(*at);
                    self.erases[block] += 1;
                    self.rates.note_erase(block);
                    self.ways.erase(block);
                }
            }
            (Stage::Tin, outcome) => {
                self.record_program(work);
                return self.programs(work, outcome);
            }
            (Stage::Ton, Some(outcome)) => self.reads(work, outcome),
            _ => {}
        }
        work.data_sheet
    }

    fn has_data_sheet_sensing(&self) -> bool {
        true
    }

    fn read_levels(&self) -> Option<u8> {
        self.set.highest_entry()
    }

    fn is_uncorrectable(&mut self, sensed: &Sensed) -> bool {
        let Some(reading) = &self.set.reading else { return false };
        let last = (reading.entries() - 1) as u8;
        if let Some(factors) = &self.set.factors {
            let Sensed { at, word_line, page_type, mode, level, now, .. } = *sensed;
            let block = self.block(at);
            let hours = self.rates.hours(block, word_line, now);
            let in_block = u64::from(word_line * self.set.coding.bits() + page_type);
            let number = (block as u64) << 40 | u64::from(self.erases[block]) << 16 | in_block;
            return mode == CellMode::Native
                && factors.is_uncorrectable(hours, (number, self.seed), level, last);
        }
        let limit = self.limit(sensed, u32::from(sensed.level.min(last)));
        self.rates.note_read(self.block(sensed.at));
        if limit.is_infinite() {
            return limit < 0.0;
        }
        let of_page = self.recurring(sensed);
        deviation_of(of_page, self.chance.deviates.deviate(&mut self.random)) > limit
    }

    fn needs_soft_decision(&mut self, sensed: &Sensed) -> bool {
        let entries = self.set.reading.as_ref().map_or(0, Reading::entries);
        if self.set.factors.is_some() || u32::from(sensed.level) + 1 != entries {
            return false;
        }
        let limit = self.limit(sensed, RateTable::hard_decision_entry(entries));
        deviation_of(self.recurring(sensed), 0.0) > limit
    }

    fn copied(&self) -> Box<dyn Physics> {
        Box::new(self.clone())
    }
}
