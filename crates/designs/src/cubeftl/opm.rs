//! OPM, the optimal parameter manager: program parameters of followers, from the outcome of their leader
//! (cubeFTL, sections 4.1 and 5.1).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wordline_kernel::Duration;
use wordline_nand::physics::MAX_PROGRAM_STATES;
use wordline_nand::{BlockSetId, Outcome, Parameters, Part};

use super::config::{CubeFile, LayerMargin, Sensed, Source, ispp_of};

/// Resolution of margins in millivolts, as in figure 10a.
const STEP: f64 = 10.0;

/// Additional share of wrong bits that is allowed for followers with a narrower window, relative to their
/// leader. Chosen: a reduction of 50 mV adds 0.75e-3 in new cells of `cubeftl-tlc`, and error correction
/// handles 8.8e-3 of a page.
const OF_MARGINS: f64 = 1e-3;

/// The parameters of a layer's followers, derived from the outcome of its leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FollowerParameters {
    /// Skipped verifies of each state.
    skips: [u8; MAX_PROGRAM_STATES],
    /// Increase of VStart, in millivolts.
    start: u16,
    /// Reduction of VFinal, in millivolts.
    last: u16,
    /// Bit errors of the last programmed word line of the layer, right after its program.
    errors: u32,
}

/// Properties of a pool's part from which program parameters are derived.
#[derive(Clone, Copy, Debug)]
pub struct Programmer {
    /// Bits of a cell.
    pub bits: u32,
    /// Word lines of a layer.
    pub per_layer: u32,
    /// Horizontal layers.
    pub layers: u32,
    /// Cells of a word line that are in the erased state or in P1.
    cells: f64,
    /// Increase of the programming voltage for each loop.
    step: f64,
    word_line_bits: f64,
    /// Time to sense a page.
    sense: Duration,
    /// If the cells are modelled by fixed factors: the retry-table entry for the first retry of a read. The
    /// entry lies beyond the table and marks that the read has offsets from the ORT. Otherwise `None`.
    pub kept_entry: Option<u8>,
}

fn kept_entry_of(part: &Part) -> Option<u8> {
    let set = &part.aged_cells()?.set;
    set.factors.as_ref()?;
    Some(set.reading.as_ref()?.entries() as u8)
}

impl Programmer {
    /// The properties of a part. `None` without cells.
    pub fn of(part: &Part) -> Option<Self> {
        let (ispp, geometry) = (ispp_of(part)?, &part.geometry);
        let bits = geometry.bits_per_cell;
        Some(Self {
            bits,
            per_layer: part.pages().word_lines() / geometry.layers,
            layers: geometry.layers,
            cells: geometry.page_size.0 as f64 * 8.0 * 2.0 / f64::from(1 << bits),
            step: ispp.step,
            word_line_bits: geometry.page_size.0 as f64 * 8.0 * f64::from(bits),
            sense: part.read_time(0),
            kept_entry: kept_entry_of(part),
        })
    }

    /// The layer of a word line.
    pub fn layer(&self, word_line: u32) -> u32 {
        word_line / self.per_layer
    }
}

/// The optimal parameter manager: its tables and kept parameters.
pub struct Opm {
    settings: CubeFile,
    /// Parameters of followers, by open block and layer. An entry lasts until the last follower of its layer
    /// is programmed.
    blocks: BTreeMap<u32, BlockParameters>,
    /// By open block: the layer whose rejected follower has to be programmed again.
    again: BTreeMap<u32, u32>,
}

/// Parameters of followers in a block, by layer.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Vec<Option<FollowerParameters>>", into = "Vec<Option<FollowerParameters>>")]
struct BlockParameters {
    layers: Vec<Option<FollowerParameters>>,
    led: Vec<u64>,
}

impl From<Vec<Option<FollowerParameters>>> for BlockParameters {
    fn from(layers: Vec<Option<FollowerParameters>>) -> Self {
        let mut led = vec![0; layers.len().div_ceil(64)];
        for (layer, _) in layers.iter().enumerate().filter(|(_, kept)| kept.is_some()) {
            led[layer / 64] |= 1 << (layer % 64);
        }
        Self { layers, led }
    }
}

impl From<BlockParameters> for Vec<Option<FollowerParameters>> {
    fn from(block: BlockParameters) -> Self {
        block.layers
    }
}

impl BlockParameters {
    fn set(&mut self, layer: u32, kept: Option<FollowerParameters>) {
        let (word, bit) = (layer as usize / 64, 1 << (layer % 64));
        if kept.is_some() {
            self.led[word] |= bit;
        } else {
            self.led[word] &= !bit;
        }
        self.layers[layer as usize] = kept;
    }
}

wordline_kernel::state!(Opm { values { blocks, again } fixed { settings } });

impl Opm {
    /// A manager with empty tables.
    pub fn new(file: &CubeFile) -> Self {
        Self { settings: file.clone(), blocks: BTreeMap::new(), again: BTreeMap::new() }
    }

    /// The parameters of the followers of a layer; `None` before its leader is programmed.
    pub fn kept(&self, block: BlockSetId, layer: u32) -> Option<&FollowerParameters> {
        self.blocks.get(&block.0)?.layers.get(layer as usize)?.as_ref()
    }

    /// Bitmap of the layers of a block that have a leader. Empty before the first leader is programmed.
    pub fn led(&self, block: BlockSetId) -> &[u64] {
        self.blocks.get(&block.0).map_or(&[], |of| of.led.as_slice())
    }

    /// The parameters of a program in a layer.
    pub fn parameters(&self, block: BlockSetId, layer: u32, part: &Programmer) -> Parameters {
        let CubeFile { parameters, setting, sensed, .. } = self.settings;
        match parameters {
            Source::DataSheet => Parameters::DATA_SHEET,
            Source::Layer => {
                let final_margin = margin_of(&self.settings.layers, layer);
                Parameters { final_margin, setting, outcome: true, ..Parameters::DATA_SHEET }
            }
            Source::Leader => {
                let kept = self.kept(block, layer);
                let is_sensed = sensed == Sensed::All || sensed == Sensed::Leaders && kept.is_none();
                let setting = setting + if is_sensed { part.sense } else { Duration::ZERO };
                let monitored = Parameters { setting, outcome: true, ..Parameters::DATA_SHEET };
                let Some(kept) = kept else { return monitored };
                Parameters {
                    skipped_verifies: kept.skips,
                    start_margin: kept.start,
                    final_margin: kept.last,
                    ..monitored
                }
            }
        }
    }

    /// Derives the parameters of a layer's followers from the outcome of its leader. Returns the number of
    /// layers of the block with kept parameters.
    pub fn learn(&mut self, block: BlockSetId, layer: u32, part: &Programmer, outcome: &Outcome) -> usize {
        let kept = self.derive_parameters(part, outcome);
        let block = self.blocks.entry(block.0).or_insert_with(|| vec![None; part.layers as usize].into());
        block.set(layer, Some(kept));
        block.led.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether the outcome of a program is accepted. A follower must not have far more errors than the
    /// preceding word line of its layer.
    pub fn accepts(&self, block: BlockSetId, layer: u32, outcome: &Outcome) -> bool {
        let before = self.kept(block, layer).filter(|_| self.settings.safety);
        before.is_none_or(|kept| !is_far_above(outcome.bit_errors[0], kept.errors))
    }

    /// Notes the errors of an accepted follower. The next follower is compared with it.
    pub fn note_follower(&mut self, block: BlockSetId, layer: u32, outcome: &Outcome) {
        let of_block = self.blocks.get_mut(&block.0);
        if let Some(kept) = of_block.and_then(|of| of.layers[layer as usize].as_mut()) {
            kept.errors = outcome.bit_errors[0];
        }
    }

    /// Rejects a follower: drops the parameters of its layer. The next word line of the layer becomes the
    /// leader.
    pub fn refused(&mut self, block: BlockSetId, layer: u32) {
        self.drop_layer(block, layer);
        self.again.insert(block.0, layer);
    }

    /// Whether a rejected follower of a block is still to be programmed again.
    pub fn has_rejected(&self, block: BlockSetId) -> bool {
        self.again.contains_key(&block.0)
    }

    /// Removes and returns the layer whose rejected follower has to be programmed again.
    pub fn take_rejected(&mut self, block: BlockSetId) -> Option<u32> {
        self.again.remove(&block.0)
    }

    /// Drops the parameters of a layer, after its last follower or when they have become invalid.
    pub fn drop_layer(&mut self, block: BlockSetId, layer: u32) {
        if let Some(of_block) = self.blocks.get_mut(&block.0) {
            of_block.set(layer, None);
        }
    }

    /// Drops all parameters of a closed block.
    pub fn drop_block(&mut self, block: BlockSetId) {
        self.blocks.remove(&block.0);
        self.again.remove(&block.0);
    }

    /// Drops everything after a power cut.
    pub fn forget(&mut self) {
        self.blocks.clear();
        self.again.clear();
    }

    /// Derives the parameters of followers from the outcome of their leader.
    ///
    /// Let `a` be the first loop in which cells of a state passed, counted from 1. Followers skip the `a - 1`
    /// verifies of this state before that loop. With a higher VStart cells pass earlier, by at most the
    /// increase in steps, rounded up. Followers therefore skip that many fewer verifies: otherwise cells
    /// would pass before they are verified.
    fn derive_parameters(&self, part: &Programmer, outcome: &Outcome) -> FollowerParameters {
        let CubeFile { skip, window, most_errors, margins, split, .. } = &self.settings;
        let spare = (most_errors - f64::from(outcome.erased_to_p1) / part.cells).max(0.0);
        let total = if *window { round_down(interpolate(margins, spare), STEP) } else { 0.0 };
        let start = round_down(interpolate(split, total), STEP).min(total);
        let earlier = (start / part.step).ceil() as u8;
        let skipped = |first: u8| if *skip { first.saturating_sub(1 + earlier) } else { 0 };
        let of_margins = if total > 0.0 { OF_MARGINS * part.word_line_bits } else { 0.0 };
        FollowerParameters {
            skips: outcome.first_loops.map(skipped),
            start: start as u16,
            last: (total - start) as u16,
            errors: outcome.bit_errors[0] + of_margins as u32,
        }
    }
}

/// Whether this number of errors is far above `before`: more than one and a half times as many, plus four
/// standard errors. Chosen: the paper gives no number.
fn is_far_above(errors: u32, before: u32) -> bool {
    let most = 1.5 * f64::from(before.max(1));
    f64::from(errors) > most + 4.0 * most.sqrt()
}

fn round_down(value: f64, step: f64) -> f64 {
    // A value a millionth of a step below a multiple differs from it only by rounding.
    (value / step + 1e-6).floor() * step
}

/// Linear interpolation in a table at `at`. Constant beyond both ends.
fn interpolate(table: &[[f64; 2]], at: f64) -> f64 {
    let next = table.partition_point(|[from, _]| *from < at);
    match (next.checked_sub(1).map(|before| table[before]), table.get(next)) {
        (Some([from, low]), Some(&[to, high])) => low + (high - low) * (at - from) / (to - from),
        (Some([_, only]), None) | (None, Some(&[_, only])) => only,
        (None, None) => 0.0,
    }
}

/// The VFinal margin of a layer.
fn margin_of(layers: &[LayerMargin], layer: u32) -> u16 {
    let next = layers.partition_point(|one| one.layer < layer);
    match (next.checked_sub(1).map(|before| layers[before]), layers.get(next)) {
        (Some(low), Some(high)) => {
            let share = f64::from(layer - low.layer) / f64::from(high.layer - low.layer);
            (f64::from(low.margin) + share * (f64::from(high.margin) - f64::from(low.margin))) as u16
        }
        (Some(only), None) => only.margin,
        (None, first) => first.map_or(0, |first| first.margin),
    }
}
