//! Experiments on a logical unit: dies of a part on one bus, without an FTL.

mod summary;
#[cfg(test)]
mod tests;
mod workload;

use std::path::Path;

use serde::Deserialize;
use wordline_kernel::{Complaints, Seed};
use wordline_nand::part::PartFile;
use wordline_nand::unit::UnitFile;
use wordline_nand::{LogicalUnit, Part};

use crate::options::Options;
use crate::sweep::Quick;
use crate::sweep::axes::{self, Axis, Points};
pub use summary::{ByStage, Cycles, NandSummary};
use wordline_lab::config::embedded::{PARTS, names, text_of};
use wordline_lab::config::one_of;
use wordline_lab::error::{Error, Result};
use wordline_lab::words::found_and_wanted;
pub use workload::{NandWorkload, OperationName};

/// One run of a logical unit for each combination of the varied keys. Varied keys begin with `base`, `part`,
/// `unit` or `workload`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NandSweep {
    /// Part, by name.
    pub base: String,
    /// Keys of the part that are overridden.
    #[serde(default)]
    pub part: toml::Table,
    /// Keys of the logical unit.
    pub unit: toml::Table,
    /// Accesses to run.
    pub workload: toml::Table,
    /// Whether every stage is recorded, for cycle traces.
    #[serde(default)]
    pub trace: bool,
    /// Varied keys; the last one varies fastest.
    #[serde(default)]
    pub vary: Vec<Axis>,
    /// The scaled-down sweep. If not given, it is the full sweep.
    pub quick: Option<Quick<toml::Table>>,
}

/// Settings of one run of a logical unit, as the file has them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PointFile {
    base: String,
    part: toml::Table,
    unit: UnitFile,
    workload: NandWorkload,
}

/// One run of a logical unit.
#[derive(Clone, Debug)]
pub struct NandPoint {
    /// Values of the varied keys.
    pub settings: toml::Table,
    /// The validated part.
    pub part: Part,
    /// The logical unit.
    pub unit: UnitFile,
    /// Accesses to run.
    pub workload: NandWorkload,
    /// Whether every stage is recorded.
    pub trace: bool,
    /// Seed of all random streams.
    pub seed: u64,
}

impl Points for NandSweep {
    type Point = NandPoint;

    fn varied(&self, options: &Options) -> Vec<&Axis> {
        let quick = self.quick.as_ref().filter(|_| options.quick);
        axes::replace_axes(&self.vary, quick.map_or(&[], |quick| &quick.vary))
    }

    fn point(&self, path: &Path, settings: toml::Table, options: &Options) -> Result<NandPoint> {
        let mut whole = toml::Table::new();
        whole.insert("base".into(), self.base.clone().into());
        for (key, table) in [("part", &self.part), ("unit", &self.unit), ("workload", &self.workload)] {
            whole.insert(key.into(), table.clone().into());
        }
        for axis in self.varied(options) {
            axis.apply(&mut whole, &settings[&axis.key]);
        }
        if let Some(quick) = self.quick.as_ref().filter(|_| options.quick) {
            quick.set.iter().for_each(|(key, value)| axes::set(&mut whole, key, value.clone()));
            let workload = quick.workload.clone().unwrap_or_default();
            axes::merge(&mut whole, toml::Table::from_iter([("workload".to_owned(), workload.into())]));
        }
        options.change.iter().for_each(|(key, value)| axes::set(&mut whole, key, value.clone()));
        let label = format!("{}: kind.nand", path.display());
        let one = |key: String, message: &str| {
            let mut wrong = Complaints::default();
            let (found, wanted) = found_and_wanted(message, "a logical unit with its part and workload");
            wrong.add(key, found, wanted);
            Error::Config(wrong)
        };
        let file = PointFile::deserialize(whole).map_err(|error| one(label.clone(), error.message()))?;
        let Some(text) = text_of(&file.base, PARTS) else {
            let message = format!("found `{}`, wanted {}", file.base, one_of(&file.base, &names(PARTS)));
            return Err(one(format!("{label}.base"), &message));
        };
        let mut part: toml::Table = toml::from_str(text).expect("embedded parts are tested");
        axes::merge(&mut part, file.part);
        let part = PartFile::deserialize(part).map_err(|e| one(format!("{label}.part"), e.message()))?;
        let mut wrong = Complaints::default();
        let part = part.check().map_err(|inner| wrong.nest(&format!("{label}.part"), inner)).ok();
        let (unit, workload) = (file.unit, file.workload);
        let mut inner = Complaints::default();
        workload.check(&mut inner);
        wrong.nest(&label, inner);
        if let Some(Err(inner)) = part.as_ref().map(|part| unit.check(part)) {
            wrong.nest(&format!("{label}.unit"), inner);
        }
        let part =
            wrong.into_result(part).map_err(Error::Config)?.expect("without complaints there is a part");
        Ok(NandPoint { settings, part, unit, workload, trace: self.trace, seed: options.seed })
    }
}

impl NandPoint {
    /// Runs the logical unit.
    pub fn run(&self) -> Result<NandSummary> {
        let started = std::time::Instant::now();
        let mut unit = LogicalUnit::new(&self.part, &self.unit, Seed(self.seed)).map_err(Error::Config)?;
        if self.trace {
            unit.record();
        }
        let rows = self.part.geometry.pages_per_block / self.part.pages_per_program();
        self.workload.run(&mut unit, rows, Seed(self.seed))?;
        let spans = unit.take_spans();
        let summary = NandSummary::of(&unit.report(), spans);
        let wall_seconds = started.elapsed().as_secs_f64();
        Ok(NandSummary {
            interface_mw: self.part.power.interface.0 as f64 / 1e3,
            wall_seconds,
            requests_per_second: summary.accesses as f64 / wall_seconds.max(1e-9),
            ..summary
        })
    }
}
