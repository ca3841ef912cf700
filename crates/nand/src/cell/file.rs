//! Parameter sets as they are written: TOML under `data/cells`. `check.rs` makes a [`CellSet`](super::CellSet) of one.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Duration};

use super::factors::Factors;

/// A parameter set as it is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CellsFile {
    /// Name of the set.
    pub name: String,
    /// Where its numbers come from, in short; `because` says it of each.
    pub source: String,
    /// The states of new cells.
    pub levels: LevelsFile,
    /// The effect of program and erase cycles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycles: Option<CyclesFile>,
    /// The effect of retention time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention: Option<RetentionFile>,
    /// The effect of reads: read disturb.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturb: Option<DisturbFile>,
    /// The effect of programming neighbours: interference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interference: Option<InterferenceFile>,
    /// The effect of the other programmed cells of a string: the background pattern.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<BackgroundFile>,
    /// The variation by layer, block and chip.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variation: Option<VariationFile>,
    /// How it programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ispp: Option<IsppFile>,
    /// How it is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<ReadFile>,
    /// Fixed factors in the place of what cells do behind arrays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factors: Option<Factors>,
    /// Of each key, or table of keys, why its numbers are what they are: begins with `source`, `chosen` or `fitted`.
    #[serde(default)]
    pub because: BTreeMap<String, String>,
}

/// The states of new cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LevelsFile {
    /// The bits of each state, the erased one first, as numbers; the lowest bit is that of the lowest page. Neighbours differ in one bit.
    /// Left out: the usual coding of as many states as there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coding: Option<Vec<u8>>,
    /// The mean of each state, rising.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mean: Vec<f64>,
    /// The deviation of each state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deviation: Vec<f64>,
    /// States that were measured at several ages, in the place of `mean` and `deviation`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ages: Vec<AgeFile>,
    /// The read references, one between each two states. Left out: those at which fewest new cells are misread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub references: Option<Vec<f64>>,
    /// Degrees of freedom of Student's t distribution, at least 3. Left out: states are normally distributed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub student: Option<u32>,
}

/// States at one age.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgeFile {
    /// Hours since the program.
    pub hours: f64,
    /// The mean of each state, rising.
    pub mean: Vec<f64>,
    /// The deviation of each state.
    pub deviation: Vec<f64>,
}

/// The effect of program and erase cycles.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CyclesFile {
    /// The deviation that 1,000 cycles add to each state.
    pub widening: f64,
    /// By how much 1,000 cycles raise the erased state.
    pub erased_rise: f64,
    /// The power of the cycles with which both grow.
    pub exponent: f64,
}

/// The effect of retention time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RetentionFile {
    /// By how much the mean of each state moves in ten times the time; never more than that of the state below.
    pub drift: Vec<f64>,
    /// The variance that each state gains in ten times the time.
    pub widening: f64,
    /// The cycles at which the two above hold.
    pub cycles: f64,
    /// The power of the cycles with which both grow.
    pub exponent: f64,
    /// The share of both that new cells have.
    pub unworn: f64,
    /// When the logarithm of time begins, in hours.
    pub onset_hours: f64,
    /// The activation energy, in electron volts.
    pub activation_energy: f64,
    /// The temperature at which time counts as it is, in degrees Celsius.
    pub celsius: f64,
}

/// The effect of reads: read disturb.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DisturbFile {
    /// By how much a million reads raise the erased state at 1,000 cycles.
    pub rise: f64,
    /// The power of the reads with which it grows.
    pub exponent: f64,
}

/// The effect of programming neighbours: interference.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InterferenceFile {
    /// By how much each further program of the neighbours raises all states.
    pub rise: f64,
    /// The variance that each adds.
    pub widening: f64,
}

/// The effect of the other programmed cells of a string: the background pattern.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BackgroundFile {
    /// The share of cells left behind where cells above in the string were ahead once when a cell was programmed again.
    pub share: f64,
    /// The power of how often, with which it grows.
    pub power: f64,
    /// How far they are left behind.
    pub drop: f64,
}

/// The variation by layer, block and chip.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VariationFile {
    /// Horizontal layers of a block.
    pub layers: u32,
    /// Word lines of a layer.
    pub word_lines: u32,
    /// The deviation of the logarithm of how strongly the layers of a block differ.
    pub block: f64,
    /// The deviation of the logarithm of how much cycles and time do to a chip.
    pub chip: f64,
    /// The deviation of the logarithm of how wide new cells of a word line are, beside others of its layer. Left out: they are alike.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub line: f64,
    /// Layers that are known: alpha and omega at the edges, beta the best, kappa the worst. The others lie on straight lines
    /// between them.
    pub roles: BTreeMap<String, RoleFile>,
}

fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

/// A layer that is known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoleFile {
    /// Its number, from the top.
    pub layer: u32,
    /// The deviation of new cells, times that of `levels`.
    pub width: f64,
    /// A factor on the effects of cycles and time.
    pub stress: f64,
}

/// How a part programs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IsppFile {
    /// VFinal - VStart, in millivolts.
    pub window: f64,
    /// By how much the programming voltage rises from loop to loop, in millivolts.
    pub step: f64,
    /// tPGM, a pulse.
    pub pulse: Duration,
    /// tVFY, a verify of one state.
    pub verify: Duration,
    /// For each programmed state the first loop in which a cell passes: a.
    pub first: Vec<u32>,
    /// The last one: b.
    pub last: Vec<u32>,
    /// The deviation that P1 gains for each millivolt of a higher VStart.
    #[serde(default)]
    pub start_margin: f64,
    /// The deviation that the highest state gains for each millivolt of a lower VFinal.
    #[serde(default)]
    pub final_margin: f64,
}

/// How a part is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadFile {
    /// The voltage of one step of a read level.
    pub level_step: f64,
    /// Errors that are corrected in a frame.
    pub ecc_bits: u32,
    /// Data of a frame.
    pub ecc_frame: Bytes,
    /// The time to decode a page by hard decisions.
    pub decode: Duration,
    /// The time to decode it by soft decisions.
    pub decode_soft: Duration,
    /// How many times as many errors soft decisions correct.
    pub soft_gain: f64,
    /// The read levels that are tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryFile>,
}

/// The read levels that are tried again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RetryFile {
    /// By how much a step moves each reference.
    pub pattern: Vec<f64>,
    /// Steps for cells that lost charge.
    pub steps: u32,
    /// Steps before them, for other causes.
    pub before: u32,
}
