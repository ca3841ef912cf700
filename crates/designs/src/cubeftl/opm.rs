//! OPM: the parameters of followers, from the outcome of their leader (cubeFTL, sections 4.1 and 5.1).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wordline_kernel::Duration;
use wordline_nand::physics::MOST_STATES;
use wordline_nand::{BlockSetId, Outcome, Parameters, Part};

use super::config::{CubeFile, LayerMargin, Sensed, Source, ispp_of};

/// Steps of margins, in millivolts: those of figure 10a.
const STEP: f64 = 10.0;

/// What is kept of a layer for its followers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// The skipped verifies of each state.
    skips: [u8; MOST_STATES],
    /// By how much VStart is higher, and VFinal lower, in millivolts.
    start: u16,
    last: u16,
}

/// What is known of the part of a pool.
#[derive(Clone, Copy, Debug)]
pub struct Programmer {
    /// Bits of a cell.
    pub bits: u32,
    /// Word lines of a layer.
    pub per_layer: u32,
    /// Horizontal layers.
    pub layers: u32,
    /// Cells of the erased state and of P1 in a word line.
    cells: f64,
    /// By how much the programming voltage rises from loop to loop.
    step: f64,
    /// The time to sense a page.
    sense: Duration,
}

impl Programmer {
    /// None where programs follow from no cells.
    pub fn of(part: &Part) -> Option<Self> {
        let (ispp, geometry) = (ispp_of(part)?, &part.geometry);
        let bits = geometry.bits_per_cell;
        Some(Self {
            bits,
            per_layer: part.pages().word_lines() / geometry.layers,
            layers: geometry.layers,
            cells: geometry.page_size.0 as f64 * 8.0 * 2.0 / f64::from(1 << bits),
            step: ispp.step,
            sense: part.read_time(0),
        })
    }

    /// The layer of a word line.
    pub fn layer(&self, word_line: u32) -> u32 {
        word_line / self.per_layer
    }
}

/// The tables of the optimal parameter manager, and what it keeps.
pub struct Opm {
    settings: CubeFile,
    /// Of the open blocks, by layer. Until the last follower of a layer is programmed.
    blocks: BTreeMap<u32, Vec<Option<Kept>>>,
}

wordline_kernel::state!(Opm { values { blocks } fixed { settings } });

impl Opm {
    /// Nothing is kept yet.
    pub fn new(file: &CubeFile) -> Self {
        Self { settings: file.clone(), blocks: BTreeMap::new() }
    }

    /// What is kept of a layer of a block.
    pub fn kept(&self, block: BlockSetId, layer: u32) -> Option<&Kept> {
        self.blocks.get(&block.0)?.get(layer as usize)?.as_ref()
    }

    /// What is kept of the layers of a block; nothing for none.
    pub fn layers(&self, block: BlockSetId) -> &[Option<Kept>] {
        self.blocks.get(&block.0).map_or(&[], Vec::as_slice)
    }

    /// The parameters of a program of a layer.
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

    /// A leader of a layer was programmed and showed this: kept for the followers. How many layers of the block something is kept of.
    pub fn learn(&mut self, block: BlockSetId, layer: u32, part: &Programmer, outcome: &Outcome) -> usize {
        let kept = self.derived(part, outcome);
        let layers = self.blocks.entry(block.0).or_insert_with(|| vec![None; part.layers as usize]);
        layers[layer as usize] = Some(kept);
        layers.iter().flatten().count()
    }

    /// The last follower of a layer was programmed, or what its leader showed does not hold any more.
    pub fn drop_layer(&mut self, block: BlockSetId, layer: u32) {
        if let Some(layers) = self.blocks.get_mut(&block.0) {
            layers[layer as usize] = None;
        }
    }

    /// A block is not open any more.
    pub fn drop_block(&mut self, block: BlockSetId) {
        self.blocks.remove(&block.0);
    }

    /// The power failed.
    pub fn forget(&mut self) {
        self.blocks.clear();
    }

    /// The parameters that follow from what a leader showed. Verifies before the first loop in which cells of a state pass are skipped:
    /// N = a - 1, with a counted from the first loop of the program. A higher VStart brings states forward by whole loops, up to
    /// so many as it is steps, rounded up: so many fewer are skipped, or cells would pass before they are verified.
    fn derived(&self, part: &Programmer, outcome: &Outcome) -> Kept {
        let CubeFile { skip, window, most_errors, margins, split, .. } = &self.settings;
        let spare = (most_errors - f64::from(outcome.erased_to_p1) / part.cells).max(0.0);
        let total = if *window { down(between(margins, spare), STEP) } else { 0.0 };
        let start = down(between(split, total), STEP).min(total);
        let earlier = (start / part.step).ceil() as u8;
        let skipped = |first: u8| if *skip { first.saturating_sub(1 + earlier) } else { 0 };
        Kept { skips: outcome.first_loops.map(skipped), start: start as u16, last: (total - start) as u16 }
    }
}

fn down(value: f64, step: f64) -> f64 {
    // What lies a millionth of a step below a whole number of them is rounding.
    (value / step + 1e-6).floor() * step
}

/// The value at `at` of a table that is straight between its entries; before the first and behind the last as there.
fn between(table: &[[f64; 2]], at: f64) -> f64 {
    let next = table.partition_point(|[from, _]| *from < at);
    match (next.checked_sub(1).map(|before| table[before]), table.get(next)) {
        (Some([from, low]), Some(&[to, high])) => low + (high - low) * (at - from) / (to - from),
        (Some([_, only]), None) | (None, Some(&[_, only])) => only,
        (None, None) => 0.0,
    }
}

/// The margin of VFinal of a layer.
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
