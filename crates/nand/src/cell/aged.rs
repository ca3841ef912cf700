//! The table `cells` of a part: the parameter set of its arrays, and the wear and retention of the cells
//! before a run.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Complaints, Duration};

use super::condition::{Condition, ZERO_CELSIUS};
use super::file::CellsFile;
use super::set::{Base, CellSet};
use crate::part::DieGeometry;

/// The cell model of a part in its file, unchecked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgedCellsFile {
    /// The parameter set: a name, a path, or a table of changes to the set `base`.
    #[schemars(with = "SetTable")]
    pub set: Box<CellsFile>,
    /// P/E cycles of all blocks before the run; the cycles of the run are added.
    #[serde(default)]
    pub cycles: f64,
    /// Retention time of all data when they are read, in hours. With `retention_passes`: the retention time
    /// that the data from before the run have when the run begins.
    #[serde(default)]
    pub hours: f64,
    /// Whether retention time passes with simulated time; data written in the run age from their program on.
    /// Default: it does not pass.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retention_passes: bool,
    /// The retention temperature, in degrees Celsius.
    #[serde(default = "warm")]
    pub celsius: f64,
    /// Shares of blocks of other ages. All other blocks have the age in `cycles` and `hours`. The age of a
    /// block is drawn at random.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mixture: Vec<AgeShare>,
    /// Spans of simulated time in which cells program faster, for example after a sudden rise of temperature.
    /// If spans overlap, the first one in the list applies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub surges: Vec<Surge>,
}

/// A share of the blocks with an age of their own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgeShare {
    /// The share of the blocks, from 0 to 1.
    pub share: f64,
    /// P/E cycles of these blocks before the run.
    #[serde(default)]
    pub cycles: f64,
    /// Retention time of their data when they are read, in hours.
    #[serde(default)]
    pub hours: f64,
}

/// A span of simulated time in which all cells pass their verifies some loops earlier (cubeFTL, section
/// 4.1.4: a sudden change of operating conditions). The effect is specified in loops, as no source gives the
/// effect of a temperature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Surge {
    /// Begin of the span.
    pub from: Duration,
    /// End of the span.
    pub to: Duration,
    /// Number of loops by which cells pass earlier.
    pub loops: u8,
}

/// A parameter set in a device file. Its keys are the keys of a parameter set file and are checked in the
/// same way.
#[derive(JsonSchema)]
#[schemars(extend("type" = "object"))]
pub struct SetTable {}

/// Maximum number of ages in a mixture. Chosen: each has its own tables of error rates.
const MAX_AGES: usize = 16;

fn check_age(key: &str, cycles: f64, hours: f64, wrong: &mut Complaints) {
    for (name, value) in [("cycles", cycles), ("hours", hours)] {
        wrong.require(
            value >= 0.0 && value.is_finite(),
            &format!("{key}{name}"),
            value,
            "a number from 0 on",
        );
    }
}

fn warm() -> f64 {
    Condition::FRESH.celsius
}

/// A checked cell model with the age of the cells.
#[derive(Clone, Debug, PartialEq)]
pub struct AgedCells {
    /// The parameter set.
    pub set: Arc<CellSet>,
    /// P/E cycles, retention time and temperature.
    pub condition: Condition,
    /// The shares of blocks of other ages.
    pub mixture: Vec<AgeShare>,
    /// The spans of simulated time in which cells program faster.
    pub surges: Vec<Surge>,
    /// Whether retention time passes with simulated time.
    pub retention_passes: bool,
}

impl AgedCells {
    /// The ages of the blocks: the age in `cycles` and `hours`, then the ages of the mixture.
    pub fn conditions(&self) -> impl Iterator<Item = Condition> {
        let others = self.mixture.iter();
        let others = others.map(|of| Condition { cycles: of.cycles, hours: of.hours, ..self.condition });
        std::iter::once(self.condition).chain(others)
    }
}

impl AgedCellsFile {
    /// The cell model for a part of this geometry, or all complaints.
    ///
    /// # Errors
    /// All complaints, with their keys.
    pub fn check(&self, geometry: &DieGeometry) -> Result<AgedCells, Complaints> {
        let mut wrong = Complaints::default();
        check_age("", self.cycles, self.hours, &mut wrong);
        let is_warm = self.celsius > -ZERO_CELSIUS && self.celsius.is_finite();
        wrong.require(is_warm, "celsius", self.celsius, "a temperature above 0 K");
        let set = self.set.check().map_err(|inner| wrong.nest("set", inner)).ok();
        if let Some(set) = &set {
            self.check_unused(set, &mut wrong);
            set.check_part(geometry, &mut wrong);
        }
        self.check_mixture(&mut wrong);
        for (n, surge) in self.surges.iter().enumerate() {
            let key = format!("surges[{n}].to");
            wrong.require(surge.from < surge.to, &key, surge.to, format!("more than from ({})", surge.from));
            let last = set.as_ref().and_then(|set| set.ispp.as_ref()).map_or(0, |ispp| ispp.loops[0].last);
            let few = surge.loops > 0 && u32::from(surge.loops) < last;
            let wanted = format!("from 1 to {}, so that P1 is verified at all", last.saturating_sub(1));
            wrong.require(few, &format!("surges[{n}].loops"), surge.loops, wanted);
        }
        let Self { cycles, hours, celsius, .. } = *self;
        let condition = Condition { cycles, hours, celsius, ..Condition::FRESH };
        let set = Arc::new(wrong.into_result(set)?.expect("a set without complaints"));
        let (mixture, surges) = (self.mixture.clone(), self.surges.clone());
        Ok(AgedCells { set, condition, mixture, surges, retention_passes: self.retention_passes })
    }

    /// Checks that each share is in range and that the shares add up to 1 at most.
    fn check_mixture(&self, wrong: &mut Complaints) {
        for (n, of) in self.mixture.iter().enumerate() {
            let key = format!("mixture[{n}].");
            let holds = of.share > 0.0 && of.share <= 1.0;
            wrong.require(holds, &format!("{key}share"), of.share, "a fraction above 0, up to 1");
            check_age(&key, of.cycles, of.hours, wrong);
        }
        // Tolerates rounding errors of the sum.
        let all: f64 = self.mixture.iter().map(|of| of.share).sum();
        wrong.require(all <= 1.0 + 1e-9, "mixture", format!("shares of {all} in all"), "at most 1");
        let most = MAX_AGES;
        wrong.require(
            self.mixture.len() <= most,
            "mixture",
            self.mixture.len(),
            format!("at most {most} ages"),
        );
    }

    /// Rejects keys without effect.
    fn check_unused(&self, set: &CellSet, wrong: &mut Complaints) {
        let measured = matches!(set.base, Base::Measured(_));
        let no_cycles = set.cycles.is_none() && set.retention.is_none() && set.disturb.is_none();
        let no_hours = set.retention.is_none() && !measured;
        let is_held =
            self.hours > 0.0 || self.retention_passes || self.mixture.iter().any(|of| of.hours > 0.0);
        let is_asked = self.celsius.to_bits() != warm().to_bits();
        let mut idle = vec![
            ("cycles".to_owned(), self.cycles > 0.0 && no_cycles, "cycles"),
            ("hours".to_owned(), self.hours > 0.0 && no_hours, "time"),
            ("retention_passes".to_owned(), self.retention_passes && no_hours, "time"),
            (
                "celsius".to_owned(),
                is_asked && (set.retention.is_none() || !is_held),
                "temperature, or cells.hours are 0",
            ),
        ];
        for (n, of) in self.mixture.iter().enumerate() {
            idle.push((format!("mixture[{n}].cycles"), of.cycles > 0.0 && no_cycles, "cycles"));
            idle.push((format!("mixture[{n}].hours"), of.hours > 0.0 && no_hours, "time"));
        }
        for (key, _, what) in idle.into_iter().filter(|(_, idle, _)| *idle) {
            wrong.add(&key, "a key without effect", format!("none: `{}` does not model {what}", set.name));
        }
        let line = set.variation.as_ref().map_or(0.0, |variation| variation.line);
        wrong.require(
            line == 0.0,
            "set.variation.line",
            line,
            "0: the word lines of a layer are alike in a run",
        );
        let counts_reads = set.reading.is_some() && set.factors.is_none();
        wrong.require(
            set.disturb.is_none() || counts_reads,
            "set.disturb",
            "a table without effect",
            "none: reads of a run disturb cells of a set with `read` and without `factors`",
        );
        let says = set.ispp.is_some() || set.reading.is_some();
        let wanted = "a set that says how cells are programmed (ispp) or read (read)";
        wrong.require(says, "set", format!("`{}`", set.name), wanted);
    }
}

impl CellSet {
    /// Checks that the set fits the cells of a part.
    pub(super) fn check_part(&self, geometry: &DieGeometry, wrong: &mut Complaints) {
        let found = |bits: u32| format!("`{}`, of cells of {bits} bits", self.name);
        let bits = geometry.bits_per_cell;
        let wanted = format!("a set of cells of {bits} bits, as the part has");
        wrong.require(self.coding.bits() == bits, "set", found(self.coding.bits()), wanted);
        let one_shot = "a part with geometry.one_shot: programs are of word lines";
        wrong.require(geometry.one_shot, "set", format!("`{}`", self.name), one_shot);
        if let Some(variation) = &self.variation {
            let found = format!("`{}`, of {} layers", self.name, variation.layers);
            let wanted = format!("a set of {} layers, as the part has", geometry.layers);
            wrong.require(geometry.layers == variation.layers, "set", found, wanted);
        }
    }
}
