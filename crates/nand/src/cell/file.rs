//! Parameter set files: TOML under `data/cells`. `check.rs` converts a file to a [`CellSet`](super::CellSet).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Duration};

use super::factors::Factors;

/// A parameter set file, unchecked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CellsFile {
    /// Name of the set.
    pub name: String,
    /// The source of the numbers, in short; `because` has the source of each number.
    pub source: String,
    /// The states of new cells.
    pub levels: LevelsFile,
    /// The effect of P/E cycles.
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
    /// Incremental step pulse programming (ISPP).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ispp: Option<IsppFile>,
    /// Read reference voltages, ECC and read retry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<ReadFile>,
    /// Fixed factors instead of the cell model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factors: Option<Factors>,
    /// The reason for the numbers of each key or table of keys. A reason begins with `source`, `chosen` or
    /// `fitted`.
    #[serde(default)]
    pub because: BTreeMap<String, String>,
}

/// The states of new cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LevelsFile {
    /// The bits of each state as numbers, the erased state first. The lowest bit belongs to the lowest page.
    /// Neighbouring states differ in one bit. Default: the usual coding for the number of states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coding: Option<Vec<u8>>,
    /// The mean of each state; the means increase.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mean: Vec<f64>,
    /// The deviation of each state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deviation: Vec<f64>,
    /// States measured at several ages, instead of `mean` and `deviation`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ages: Vec<AgeFile>,
    /// The read reference voltages, one between every two neighbouring states. Default: the voltages at
    /// which the fewest new cells are misread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub references: Option<Vec<f64>>,
    /// Degrees of freedom of Student's t distribution, at least 3. Default: states are normally distributed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub student: Option<u32>,
}

/// States at one age.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgeFile {
    /// Hours since the program.
    pub hours: f64,
    /// The mean of each state; the means increase.
    pub mean: Vec<f64>,
    /// The deviation of each state.
    pub deviation: Vec<f64>,
}

/// The effect of P/E cycles.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CyclesFile {
    /// The deviation that 1,000 cycles add to each state.
    pub widening: f64,
    /// The rise of the erased state by 1,000 cycles.
    pub erased_rise: f64,
    /// The exponent of the cycles in the growth of `widening` and `erased_rise`.
    pub exponent: f64,
}

/// The effect of retention time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RetentionFile {
    /// The shift of the mean of each state per decade of time. It never exceeds the shift of the state below.
    pub drift: Vec<f64>,
    /// The variance that each state gains per decade of time.
    pub widening: f64,
    /// The cycles at which the two values above apply.
    pub cycles: f64,
    /// The exponent of the cycles in the growth of `drift` and `widening`.
    pub exponent: f64,
    /// The share of `drift` and `widening` that new cells have.
    pub unworn: f64,
    /// The time at which retention begins, in hours: decades of time are counted from it.
    pub onset_hours: f64,
    /// The activation energy, in electron volts.
    pub activation_energy: f64,
    /// The reference temperature of the retention time, in degrees Celsius.
    pub celsius: f64,
}

/// The effect of reads: read disturb.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DisturbFile {
    /// The rise of the erased state by a million reads at 1,000 cycles.
    pub rise: f64,
    /// The exponent of the reads in the growth of `rise`.
    pub exponent: f64,
}

/// The effect of programming neighbours: interference.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InterferenceFile {
    /// The rise of all states by each further program of the neighbours.
    pub rise: f64,
    /// The variance that each program adds.
    pub widening: f64,
}

/// The effect of the other programmed cells of a string: the background pattern.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BackgroundFile {
    /// The share of cells left behind after one reprogram during which one cell above in the string had more
    /// passes.
    pub share: f64,
    /// The exponent of the number of such cells, summed over all reprograms, in the growth of `share`.
    pub power: f64,
    /// The distance by which these cells are left behind.
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
    /// The deviation of the logarithm of the contrast between the layers of a block.
    pub block: f64,
    /// The deviation of the logarithm of the ageing rate of a chip.
    pub chip: f64,
    /// The deviation of the logarithm of the distribution width of new cells between the word lines of a
    /// layer. Default: they are equal.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub line: f64,
    /// Known layers: alpha and omega at the edges, beta the best, kappa the worst. The layers between them
    /// are interpolated linearly.
    pub roles: BTreeMap<String, RoleFile>,
}

fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

/// A known layer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoleFile {
    /// Number of the layer, from the top.
    pub layer: u32,
    /// The deviation of new cells, relative to `levels`.
    pub width: f64,
    /// A factor on the effects of cycles and time.
    pub stress: f64,
}

/// Parameters of programming.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IsppFile {
    /// VFinal - VStart, in millivolts.
    pub window: f64,
    /// The step of the programming voltage from loop to loop, in millivolts.
    pub step: f64,
    /// tPGM, the time of a pulse.
    pub pulse: Duration,
    /// tVFY, the time of a verify of one state.
    pub verify: Duration,
    /// a: the first loop in which a cell of each programmed state passes.
    pub first: Vec<u32>,
    /// b: the last loop in which a cell of each programmed state passes.
    pub last: Vec<u32>,
    /// The deviation that P1 gains for each millivolt of a higher VStart.
    #[serde(default)]
    pub start_margin: f64,
    /// The deviation that the highest state gains for each millivolt of a lower VFinal.
    #[serde(default)]
    pub final_margin: f64,
}

/// Parameters of reading.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadFile {
    /// The voltage of one step of a read offset.
    pub level_step: f64,
    /// Errors that the ECC corrects in a frame.
    pub ecc_bits: u32,
    /// Data bytes of a frame.
    pub ecc_frame: Bytes,
    /// The time of hard-decision decoding of a page.
    pub decode: Duration,
    /// The time of soft-decision decoding of a page.
    pub decode_soft: Duration,
    /// The factor by which soft decisions correct more errors.
    pub soft_gain: f64,
    /// The read retry table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryFile>,
}

/// The read retry table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RetryFile {
    /// The shift of each read reference voltage by one step.
    pub pattern: Vec<f64>,
    /// Number of steps for cells that lost charge.
    pub steps: u32,
    /// Number of steps before the steps for lost charge, for other causes.
    pub before: u32,
}
