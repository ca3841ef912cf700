//! Error rates of pages, calculated once for a class of word lines and then looked up.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use wordline_kernel::Seed;

use super::condition::{Condition, Effects};
use super::ispp::ProgramParameters;
use super::levels::Levels;
use super::math::{class_of, inverse_upper_tail, middles};
use super::mode::{StoredBits, UsedStates};
use super::set::{CellSet, ProgramEffect};
use super::variation::{CellLocation, CellProperties, Draws, Variation};

/// Classes of P/E cycles up to the endurance of the part. As many classes follow beyond the endurance.
/// Chosen: a class is 3 % of the endurance.
const CYCLE_CLASSES: u32 = 32;
/// Classes of the random draws of blocks, and of the draws of chips. Chosen: neighbouring classes differ by a
/// fifth of a deviation.
const DRAW_CLASSES: usize = 16;
/// Marks a rate that is not calculated yet.
const UNKNOWN: f32 = -1.0;
/// Marks a limit that is not calculated yet.
const NO_LIMIT: i16 = i16::MIN;
/// Resolution of limits: units per standard deviation. Chosen: one unit changes the share of reads beyond a
/// limit by less than two in ten thousand.
const LIMIT_RESOLUTION: f64 = 2_048.0;

/// A program variant: the parameters that the controller changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProgramVariant {
    /// Increase of VStart, in millivolts.
    pub start_margin: u16,
    /// Decrease of VFinal, in millivolts.
    pub final_margin: u16,
    /// Skipped verifies of each state; empty for none.
    pub skipped: Vec<u8>,
    /// Number of loops by which cells passed earlier.
    pub early: u8,
    /// The bits stored in the cells.
    pub held: StoredBits,
}

/// The key of a lookup: a page and its condition.
#[derive(Clone, Copy, Debug)]
pub struct RateKey<'a> {
    /// Index of its block over all dies.
    pub block: usize,
    /// Erases of the block in the run.
    pub erases: u32,
    /// Layer of the word line.
    pub layer: u32,
    /// The bit of its cells, 0 for the lowest.
    pub page: u32,
    /// The program variant of its word line, with its number.
    pub way: (u8, &'a ProgramVariant),
}

/// The error rates of all blocks.
#[derive(Clone, Debug)]
pub struct RateTable {
    set: Arc<CellSet>,
    condition: Condition,
    layers: u32,
    cycles_of_class: f64,
    /// The class of each block and its chip.
    drawn: Vec<u8>,
    /// The draw that represents each class.
    middles: Vec<f64>,
    /// Frames of a page.
    frames: u32,
    known: Vec<KnownRates>,
    /// Limits by program variant, and by age class and number of frames, empty until first used. Within these:
    /// by block class, layer, page and table entry, with the entries adjacent. See [`limit`](Self::limit).
    limits: Vec<Vec<Vec<i16>>>,
    /// Entries of the retry table, plus one for hard decisions with the last entry.
    entries: u32,
}

/// Error rates for one program variant and one set of read offsets.
#[derive(Clone, Debug)]
struct KnownRates {
    way: u8,
    /// Read offsets, in steps.
    offsets: Vec<i8>,
    /// Rates by age class, empty until first used. Within an age class: by block class, layer and page.
    of_ages: Vec<Vec<f32>>,
}

impl ProgramVariant {
    /// The program parameters for a word line of this speed within a loop.
    pub fn how(&self, faster: f64) -> ProgramParameters<'_> {
        ProgramParameters {
            start_margin: f64::from(self.start_margin),
            final_margin: f64::from(self.final_margin),
            skipped: &self.skipped,
            early: u32::from(self.early),
            faster,
        }
    }
}

impl RateTable {
    /// The rates of `blocks` blocks of each die, with this many layers and frames per page; `endurance` is in
    /// P/E cycles.
    pub fn new(
        set: Arc<CellSet>,
        condition: Condition,
        dies: std::ops::Range<u32>,
        (blocks, layers, frames): (u32, u32, u32),
        endurance: u32,
        seed: Seed,
    ) -> Self {
        let cycles_of_class = f64::from(endurance.max(CYCLE_CLASSES)) / f64::from(CYCLE_CLASSES);
        let (drawn, middles) = (Vec::new(), middles(DRAW_CLASSES));
        let (known, limits) = (Vec::new(), Vec::new());
        let entries = set.reading.as_ref().map_or(1, |reading| reading.entries() + 1);
        let mut table =
            Self { set, condition, layers, cycles_of_class, drawn, middles, frames, known, limits, entries };
        table.draw(dies, blocks, seed);
        table
    }

    /// A table of the same cells after so many reads of their blocks, for a retention time of `hours` if it is
    /// another one.
    pub fn under(&self, hours: Option<f64>, reads: f64) -> Self {
        let (known, limits) = (Vec::new(), Vec::new());
        let hours = hours.unwrap_or(self.condition.hours);
        let condition = Condition { hours, reads, ..self.condition };
        let (drawn, middles) = (self.drawn.clone(), self.middles.clone());
        Self { set: self.set.clone(), condition, drawn, middles, known, limits, ..*self }
    }

    /// Draws the class of each of `blocks` blocks of each die from the seed.
    pub fn draw(&mut self, dies: std::ops::Range<u32>, blocks: u32, seed: Seed) {
        let all = dies.flat_map(|chip| (0..blocks).map(move |block| drawn(chip, block, seed)));
        self.drawn = all.collect();
    }

    /// Drops all rates, because the numbers of program variants change.
    pub fn clear_variants(&mut self) {
        self.known.clear();
        self.limits.clear();
    }

    /// The retention time of all data, in hours.
    pub fn hours(&self) -> f64 {
        self.condition.hours
    }

    fn age(&self, erases: u32) -> usize {
        // A block without erases skips the division.
        if erases == 0 {
            return 0;
        }
        ((f64::from(erases) / self.cycles_of_class) as usize).min(2 * CYCLE_CLASSES as usize)
    }

    /// The raw bit error rate of a page with these read offsets.
    pub fn rate(&mut self, wanted: RateKey<'_>, offsets: &[i8]) -> f64 {
        let [rate] = self.rates([wanted.page], wanted, offsets);
        rate
    }

    /// BER_EP1 of a word line directly after its program, and the mean error rate of all its pages.
    pub fn just_programmed(&mut self, wanted: RateKey<'_>) -> [f64; 2] {
        let bits = self.set.coding.bits();
        self.rates([bits, bits + 1], wanted, &[])
    }

    /// The rates of pages of one word line. The indices after its pages are BER_EP1 and the mean directly
    /// after a program.
    fn rates<const N: usize>(&mut self, pages: [u32; N], wanted: RateKey<'_>, offsets: &[i8]) -> [f64; N] {
        let known = self.moved(wanted.way.0, offsets);
        let age = self.age(wanted.erases);
        let (class, locations) = (self.drawn[wanted.block], self.set.coding.bits() + 2);
        let of_class = (self.layers * locations) as usize;
        let location = usize::from(class) * of_class + (wanted.layer * locations) as usize;
        if self.known[known].of_ages[age].is_empty() {
            self.known[known].of_ages[age].resize(DRAW_CLASSES * DRAW_CLASSES * of_class, UNKNOWN);
        }
        let mut rates = [0.0; N];
        for (rate, page) in rates.iter_mut().zip(pages) {
            let at = location + page as usize;
            let mut found = self.known[known].of_ages[age][at];
            if found == UNKNOWN {
                found = self.calculated(class, age, RateKey { page, ..wanted }, offsets) as f32;
                self.known[known].of_ages[age][at] = found;
            }
            *rate = f64::from(found);
        }
        rates
    }

    /// The `entry` for which [`limit`](Self::limit) returns the limit of hard decisions with the last entry
    /// of a retry table of `entries` entries. For the last entry itself it returns the limit of soft
    /// decisions, which follow.
    pub fn hard_decision_entry(entries: u32) -> u32 {
        entries
    }

    /// The failure limit of `frames` frames of a page with an entry of the retry table: the ECC fails if the
    /// errors of a read exceed their mean by more than this number of standard deviations. Infinite if the ECC
    /// never fails, minus infinity if it always fails.
    pub fn limit(&mut self, wanted: RateKey<'_>, entry: u32, frames: u32) -> f64 {
        let age = self.age(wanted.erases);
        let (class, pages, way) =
            (self.drawn[wanted.block], self.set.coding.bits(), usize::from(wanted.way.0));
        let of_class = (self.layers * pages * self.entries) as usize;
        let location = usize::from(class) * of_class
            + ((wanted.layer * pages + wanted.page) * self.entries + entry) as usize;
        if self.limits.len() <= way {
            let tables = (2 * CYCLE_CLASSES + 1) * self.frames;
            self.limits.resize(way + 1, vec![Vec::new(); tables as usize]);
        }
        let frames = frames.min(self.frames);
        let table = age * self.frames as usize + frames as usize - 1;
        let limits = &mut self.limits[way][table];
        if limits.is_empty() {
            limits.resize(DRAW_CLASSES * DRAW_CLASSES * of_class, NO_LIMIT);
        }
        let mut limit = limits[location];
        if limit == NO_LIMIT {
            let (used, levels) = self.levels(class, age, wanted);
            let found = inverse_upper_tail(self.failure(&levels, &used, wanted.page, (entry, frames)));
            limit =
                (found * LIMIT_RESOLUTION).round().clamp(-f64::from(i16::MAX), f64::from(i16::MAX)) as i16;
            self.limits[way][table][location] = limit;
        }
        match limit {
            i16::MAX => f64::INFINITY,
            limit if limit == -i16::MAX => f64::NEG_INFINITY,
            limit => f64::from(limit) / LIMIT_RESOLUTION,
        }
    }

    fn moved(&mut self, way: u8, offsets: &[i8]) -> usize {
        let is_it = |known: &KnownRates| known.way == way && same(&known.offsets, offsets);
        if let Some(known) = self.known.iter().position(is_it) {
            return known;
        }
        let of_ages = vec![Vec::new(); 2 * CYCLE_CLASSES as usize + 1];
        self.known.push(KnownRates { way, offsets: offsets.to_vec(), of_ages });
        self.known.len() - 1
    }

    /// The properties of the cells of a layer in blocks of this class.
    fn strength(&self, class: u8, layer: u32) -> CellProperties {
        let Some(variation) = &self.set.variation else { return CellProperties::USUAL };
        let middle = |class: u8| self.middles[usize::from(class) % DRAW_CLASSES];
        let draws = Draws { block: middle(class), chip: middle(class / DRAW_CLASSES as u8) };
        variation.of_draws(layer, draws, Effects::ALL)
    }

    /// The states that the cells of a page use, and their threshold voltages.
    fn levels(&self, class: u8, age: usize, wanted: RateKey<'_>) -> (UsedStates, Levels) {
        let strength = self.strength(class, wanted.layer);
        // Errors are calculated in the middle of a loop, which neglects the effect of a word line's speed on
        // over-programmed cells.
        let how = wanted.way.1.how(0.5);
        let used = self.set.used(wanted.way.1.held);
        let written = used.ispp(&self.set).map(|ispp| ProgramEffect::of(&how, &ispp.program(&how)));
        let cycles = if age == 0 { 0.0 } else { (age as f64 + 0.5) * self.cycles_of_class };
        let just_programmed = wanted.page >= self.set.coding.bits();
        let condition = Condition {
            cycles: self.condition.cycles + cycles,
            hours: if just_programmed { 0.0 } else { self.condition.hours },
            ..self.condition
        };
        let levels = used.levels(&self.set, &strength, &condition, &written.unwrap_or_default());
        (used, levels)
    }

    #[cold]
    #[inline(never)]
    fn calculated(&self, class: u8, age: usize, wanted: RateKey<'_>, offsets: &[i8]) -> f64 {
        let (UsedStates { references, .. }, levels) = self.levels(class, age, wanted);
        let bits = self.set.coding.bits();
        if wanted.page >= bits {
            let is_mean = wanted.page > bits;
            return if is_mean {
                levels.mean_error(&references)
            } else {
                erased_to_p1_rate(&levels, &references)
            };
        }
        if offsets.is_empty() {
            return levels.page_error(wanted.page, &references);
        }
        let step = self.set.reading.as_ref().map_or(1.0, |reading| reading.level_step);
        let moved = references.iter().zip(offsets);
        let references: Vec<f64> = moved.map(|(at, offset)| at + step * f64::from(*offset)).collect();
        levels.page_error(wanted.page, &references)
    }

    /// The share of reads of so many frames that the ECC cannot correct with an entry of the retry table. For
    /// the last entry: the share that soft decisions cannot correct either. They use the best entry. Chosen: by
    /// then the controller knows which entry is best.
    fn failure(&self, levels: &Levels, used: &UsedStates, page: u32, (entry, frames): (u32, u32)) -> f64 {
        let reading = self.set.reading.as_ref().expect("who names an entry has a table");
        let bits = u64::from(frames) * u64::from(reading.ecc.frame);
        let rate = |entry: u32| {
            let offsets = reading.offsets(entry, self.set.references.len());
            levels.page_error(page, &used.moved(&offsets))
        };
        if entry + 1 == reading.entries() {
            let best = (0..reading.entries()).map(rate).fold(1.0, f64::min);
            return reading.ecc.soft_failure(best, bits);
        }
        reading.ecc.failure(rate(entry.min(reading.entries() - 1)), bits)
    }
}

/// The share of cells misread between the two lowest states in use.
fn erased_to_p1_rate(levels: &Levels, references: &[f64]) -> f64 {
    levels.boundary_error(0, references[0]) * levels.states.len() as f64 / 2.0
}

/// Whether two lists are equal. Most lists are empty, and on some processors comparing zero bytes at a
/// dangling address takes a hundred nanoseconds.
pub fn same<T: PartialEq>(one: &[T], other: &[T]) -> bool {
    one.len() == other.len() && (one.is_empty() || one == other)
}

/// The class of the random draws of a block, with the class of its chip in the upper half.
fn drawn(chip: u32, block: u32, seed: Seed) -> u8 {
    let draws = Variation::draws(CellLocation { chip, block, layer: 0 }, seed);
    (class_of(draws.block, DRAW_CLASSES) + DRAW_CLASSES * class_of(draws.chip, DRAW_CLASSES)) as u8
}
