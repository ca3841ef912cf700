//! An experiment that was parsed and validated.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;

use wordline_kernel::Complaints;

use crate::cells::CellsSweep;
use crate::judge::column;
use crate::judge::expect::{Expect, place};
use crate::known::KnownOutside;
use crate::map::MapFile;
use crate::nand::{NandSummary, NandSweep};
use crate::options::Options;
use crate::show::chart::ChartFile;
use crate::sweep::axes::{Axis, Points, matches_settings};
use crate::sweep::{Point, Sweep};
use crate::write_sizes::{Volumes, WriteSizes};
use wordline_lab::cells::Evaluation;
use wordline_lab::error::{Error, Result};

/// A published figure or table as data.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// `PAPER/NAME`.
    pub id: String,
    /// Path of the file, for messages.
    pub path: PathBuf,
    /// Text of the file.
    pub text: String,
    /// Title.
    pub title: String,
    /// Figure or table of the source that it reproduces.
    pub source: String,
    /// IDs of the claims in the validation ledger (the list of the papers' claims) to which the experiment
    /// belongs.
    pub claims: Vec<String>,
    /// Parameters that the source does not give, with the values chosen here.
    pub left_open: Vec<String>,
    /// Runs of the experiment.
    pub kind: Kind,
    /// Changes of the model by name, each with the keys that it sets at every point. An expected value names
    /// the change under which it must fail.
    pub changes: BTreeMap<String, toml::Table>,
    /// Expected values.
    pub expect: Vec<Expect>,
    /// Charts.
    pub charts: Vec<ChartFile>,
    /// Maps.
    pub maps: Vec<MapFile>,
    /// Rows of the experiment that are known to be outside their bands.
    pub known: KnownOutside,
}

/// Runs of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Statistics of the volumes in a paper's trace table. The published values are stored with the profiles.
    TraceStatistics {
        /// Paper whose profiles are measured.
        paper: String,
        /// ID of the claim in the validation ledger to which the rows belong.
        claim: Option<String>,
        /// Greatest deviation of a statistic from the published one, as a fraction.
        within: f64,
        /// Reason for that deviation.
        derivation: String,
    },
    /// Write sizes of volumes. The names of the volumes are the values of the key `volume`.
    WriteSizes(Volumes),
    /// One run for each combination of varied keys.
    Sweep(Box<Sweep>),
    /// One run of a logical unit for each combination of varied keys.
    Nand(Box<NandSweep>),
    /// One query to a parameter set of flash cells for each combination of varied keys.
    Cells(Box<CellsSweep>),
}

impl Kind {
    /// Varied keys.
    pub fn axes(&self) -> Cow<'_, [Axis]> {
        match self {
            Self::TraceStatistics { .. } => Cow::default(),
            Self::WriteSizes(volumes) => vec![volumes.axis()].into(),
            Self::Sweep(sweep) => sweep.vary.as_slice().into(),
            Self::Nand(sweep) => sweep.vary.as_slice().into(),
            Self::Cells(sweep) => sweep.vary.as_slice().into(),
        }
    }

    /// Returns the valid names, if the results do not have `column` as a number (as a text if `is_text`).
    /// Returns `None` if they have it.
    pub(crate) fn unknown_column(&self, column: &str, is_text: bool) -> Option<String> {
        match self {
            Self::TraceStatistics { .. } => Some("nothing: the profiles hold what is expected".to_owned()),
            Self::Sweep(_) if is_text => {
                Some("a number: the summary of a device is compared by numbers".to_owned())
            }
            Self::Sweep(sweep) => sweep.unknown_column(column),
            Self::WriteSizes(_) => column::unknown_column(&WriteSizes::default(), column, is_text),
            Self::Nand(_) => column::unknown_column(&NandSummary::default(), column, is_text),
            Self::Cells(_) => column::unknown_column(&Evaluation::shape(), column, is_text),
        }
    }

    /// Description of the scaled-down experiment. `None` if the experiment has no smaller size.
    pub fn quick_description(&self) -> Option<&str> {
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
    /// Creates every device of the experiment, at full scale and scaled down, to validate it.
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

    /// Rejects columns of pools that a device does not have. They would otherwise be found only after the run
    /// of the device.
    fn check_pools(&self, points: &[Point]) -> Result<()> {
        let mut wrong = Complaints::default();
        let points: Vec<(&Point, usize)> = points.iter().map(|point| (point, point.pools())).collect();
        for expect in &self.expect {
            let at = points.iter().filter(|(point, _)| matches_settings(&point.settings, &expect.at));
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
        wrong.into_result(()).map_err(Error::Config)
    }
}
