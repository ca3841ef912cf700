//! An experiment that was parsed and validated.

use std::collections::BTreeMap;
use std::path::PathBuf;

use wordline_kernel::Complaints;

use crate::chart::ChartFile;
use crate::judge::column;
use crate::judge::expect::{Expect, place};
use crate::kind::Kind;
use crate::known::KnownOutside;
use crate::map::MapFile;
use crate::options::Options;
use crate::sweep::Point;
use crate::sweep::axes::{Points, matches_settings};
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
