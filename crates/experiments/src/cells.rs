//! Experiments on the flash cells of a parameter set, without chips.

use std::path::Path;

use serde::Deserialize;
use wordline_kernel::Complaints;
use wordline_nand::cell::{CellSet, CellsFile};

use crate::options::Options;
use crate::sweep::axes::{self, Axis, Points};
use wordline_lab::cells::{Evaluation, Question};
use wordline_lab::config::embedded::{CELLS, names, text_of};
use wordline_lab::config::one_of;
use wordline_lab::error::{Error, Result};
use wordline_lab::words::found_and_wanted;

/// One query for each combination of the varied keys. Varied keys begin with `set`, `cells` or `question`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellsSweep {
    /// Parameter set, by name.
    pub set: String,
    /// Keys of the parameter set that are overridden.
    #[serde(default)]
    pub cells: toml::Table,
    /// The query, in the form of a question.
    #[serde(default)]
    pub question: toml::Table,
    /// Varied keys; the last one varies fastest.
    #[serde(default)]
    pub vary: Vec<Axis>,
}

/// Keys of one query.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PointFile {
    set: String,
    cells: toml::Table,
    question: Question,
}

/// One query to one parameter set.
#[derive(Clone, Debug)]
pub struct CellsPoint {
    /// Values of the varied keys.
    pub settings: toml::Table,
    /// The validated parameter set.
    pub set: CellSet,
    /// The query.
    pub question: Question,
    /// Seed of all random streams.
    pub seed: u64,
}

impl Points for CellsSweep {
    type Point = CellsPoint;

    fn varied(&self, _: &Options) -> Vec<&Axis> {
        self.vary.iter().collect()
    }

    fn point(&self, path: &Path, settings: toml::Table, options: &Options) -> Result<CellsPoint> {
        let mut whole = toml::Table::new();
        whole.insert("set".into(), self.set.clone().into());
        whole.insert("cells".into(), self.cells.clone().into());
        whole.insert("question".into(), self.question.clone().into());
        for axis in &self.vary {
            axis.apply(&mut whole, &settings[&axis.key]);
        }
        options.change.iter().for_each(|(key, value)| axes::set(&mut whole, key, value.clone()));
        let label = format!("{}: kind.cells", path.display());
        let one = |key: String, message: &str| {
            let mut wrong = Complaints::default();
            let (found, wanted) = found_and_wanted(message, "a parameter set and a question");
            wrong.add(key, found, wanted);
            Error::Config(wrong)
        };
        let file = PointFile::deserialize(whole).map_err(|error| one(label.clone(), error.message()))?;
        let Some(text) = text_of(&file.set, CELLS) else {
            let message = format!("found `{}`, wanted {}", file.set, one_of(&file.set, &names(CELLS)));
            return Err(one(format!("{label}.set"), &message));
        };
        let mut cells: toml::Table = toml::from_str(text).expect("embedded sets are tested");
        axes::merge(&mut cells, file.cells);
        let cells = CellsFile::deserialize(cells).map_err(|e| one(format!("{label}.cells"), e.message()))?;
        let nested = |key: &str, inner: Complaints| {
            let mut wrong = Complaints::default();
            wrong.nest(&format!("{label}.{key}"), inner);
            Error::Config(wrong)
        };
        let set = cells.check().map_err(|inner| nested("cells", inner))?;
        match file.question.check(&set) {
            Err(Error::Config(inner)) => return Err(nested("question", inner)),
            other => drop(other?),
        }
        Ok(CellsPoint { settings, set, question: file.question, seed: options.seed })
    }
}

impl CellsPoint {
    /// Evaluates the query.
    pub fn run(&self) -> Result<Evaluation> {
        Evaluation::of(&self.set, &self.question, self.seed)
    }
}
