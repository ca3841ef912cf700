//! An experiment that was read and checked.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;

use wordline_kernel::Complaints;

use crate::cells::CellsSweep;
use crate::judge::column;
use crate::judge::expect::{Expect, place};
use crate::known::Known;
use crate::map::MapFile;
use crate::nand::{NandSummary, NandSweep};
use crate::options::Options;
use crate::show::chart::ChartFile;
use crate::sweep::axes::{Axis, Points, lies_at};
use crate::sweep::{Point, Sweep};
use crate::write_sizes::{Volumes, WriteSizes};
use wordline_lab::cells::Answer;
use wordline_lab::error::{Error, Result};

/// A published figure or table as data.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// `PAPER/NAME`.
    pub id: String,
    /// The file, for errors.
    pub path: PathBuf,
    /// The text of the file.
    pub text: String,
    /// Its title.
    pub title: String,
    /// Where the figure or table is.
    pub source: String,
    /// The claims of the ledger that it belongs to.
    pub claims: Vec<String>,
    /// Values that the source leaves open, and the choices made here.
    pub left_open: Vec<String>,
    /// The runs.
    pub kind: Kind,
    /// Changes of the model, by name: the keys that each sets at every point. Rows say with which of them they fail.
    pub changes: BTreeMap<String, toml::Table>,
    /// The expected values.
    pub expect: Vec<Expect>,
    /// The charts.
    pub charts: Vec<ChartFile>,
    /// The maps.
    pub maps: Vec<MapFile>,
    /// Its rows that are known to lie outside.
    pub known: Known,
}

/// The runs of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// The statistics of the volumes of a paper's trace table; the published values stand with the profiles.
    TraceStatistics {
        /// The paper whose profiles are measured.
        paper: String,
        /// The claim of the ledger that the rows belong to.
        claim: Option<String>,
        /// How far a statistic may lie from the published one, as a fraction.
        within: f64,
        /// Why so far.
        derivation: String,
    },
    /// The sizes of the writes of volumes, whose names are the values of the key `volume`.
    WriteSizes(Volumes),
    /// One run for each combination of varied keys.
    Sweep(Box<Sweep>),
    /// One run of a logical unit for each combination of varied keys.
    Nand(Box<NandSweep>),
    /// One question to a parameter set of cells for each combination of varied keys.
    Cells(Box<CellsSweep>),
}

impl Kind {
    /// The varied keys.
    pub fn axes(&self) -> Cow<'_, [Axis]> {
        match self {
            Self::TraceStatistics { .. } => Cow::default(),
            Self::WriteSizes(volumes) => vec![volumes.axis()].into(),
            Self::Sweep(sweep) => sweep.vary.as_slice().into(),
            Self::Nand(sweep) => sweep.vary.as_slice().into(),
            Self::Cells(sweep) => sweep.vary.as_slice().into(),
        }
    }

    /// The values wanted in place of a name that is not that of a number which a run measures, or of a text where that
    /// is wanted.
    pub(crate) fn astray(&self, column: &str, is_text: bool) -> Option<String> {
        match self {
            Self::TraceStatistics { .. } => Some("nothing: the profiles hold what is expected".to_owned()),
            Self::Sweep(_) if is_text => {
                Some("a number: the summary of a device is compared by numbers".to_owned())
            }
            Self::Sweep(sweep) => sweep.astray(column),
            Self::WriteSizes(_) => column::astray(&WriteSizes::default(), column, is_text),
            Self::Nand(_) => column::astray(&NandSummary::default(), column, is_text),
            Self::Cells(_) => column::astray(&Answer::shape(), column, is_text),
        }
    }

    /// The description of the scaled-down experiment; none where there is no smaller size.
    pub fn quick_says(&self) -> Option<&str> {
        match self {
            Self::TraceStatistics { .. } | Self::WriteSizes(_) => Some(
                "a profile whose counts the paper prints is shrunk to a million requests, and its counts and volumes are divided by the scale; other profiles and real traces are whole",
            ),
            Self::Sweep(sweep) => sweep.quick.as_ref().map(|quick| quick.says.as_str()),
            Self::Nand(sweep) => sweep.quick.as_ref().map(|quick| quick.says.as_str()),
            Self::Cells(_) => None,
        }
    }
}

impl Experiment {
    /// Makes every device that it runs, scaled down and not.
    pub(crate) fn check_devices(&self) -> Result<()> {
        for quick in [false, true] {
            let options = Options { quick, ..Options::default() };
            match &self.kind {
                Kind::TraceStatistics { .. } | Kind::WriteSizes(_) => {}
                Kind::Sweep(sweep) => self.check_pools(&sweep.points(&self.path, &options)?)?,
                Kind::Nand(sweep) => drop(sweep.points(&self.path, &options)?),
                Kind::Cells(sweep) => drop(sweep.points(&self.path, &options)?),
            }
        }
        self.check_changes()
    }

    /// Refuses columns of pools that a device does not have, which would be found after its run alone.
    fn check_pools(&self, points: &[Point]) -> Result<()> {
        let mut wrong = Complaints::default();
        let points: Vec<(&Point, usize)> = points.iter().map(|point| (point, point.pools())).collect();
        for expect in &self.expect {
            let at = points.iter().filter(|(point, _)| lies_at(&point.settings, &expect.at));
            let others = at.clone().filter_map(|(point, _)| {
                let settings = expect.other(&point.settings)?;
                points.iter().find(|(other, _)| other.settings == settings)
            });
            let lacks = |(_, pools): &&(&Point, usize)| {
                let is_of = |column: &String| column::is_of(column, *pools);
                !(is_of(&expect.column) && expect.part_of.iter().all(is_of))
            };
            if let Some((point, pools)) = at.chain(others).find(lacks) {
                let place = place(&point.settings);
                let found = format!("`{}` of `{}` at {place}", expect.column, expect.what);
                let wanted = match pools {
                    1 => "a column of a device with one pool: those of pools are left out".to_owned(),
                    some => format!("a column of a device with {some} pools, counted from 0"),
                };
                wrong.add(format!("{}: expect.column", self.path.display()), found, wanted);
            }
        }
        wrong.or_ok(()).map_err(Error::Config)
    }
}
