//! The file of an experiment, and its validation into an [`Experiment`].

mod changes;
pub(crate) mod errors;
mod expect;
mod like;

use std::path::Path;

use serde::Deserialize;
use toml::Spanned;
use wordline_kernel::Complaints;

use crate::cells::CellsSweep;
use crate::chart::ChartFile;
use crate::embedded::text_of;
use crate::experiment::Experiment;
use crate::judge::expect::{Band, Expect};
use crate::kind::Kind;
use crate::known::KnownOutside;
use crate::map::MapFile;
use crate::nand::NandSweep;
use crate::sweep::Sweep;
use crate::sweep::axes::Axis;
use crate::write_sizes::Volumes;
use changes::Changes;
use errors::ErrorCollector;
use expect::{ExpectFile, check_claim, check_expect};
use like::{Like, resolve_inherited};
use wordline_lab::devices::Registry;
use wordline_lab::error::{Error, Result};
use wordline_lab::words::{found_and_wanted, key_at};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExperimentFile {
    title: String,
    source: String,
    claims: Vec<Spanned<String>>,
    #[serde(default)]
    left_open: Vec<String>,
    kind: Spanned<KindFile>,
    #[serde(default)]
    changes: Changes,
    #[serde(default)]
    expect: Vec<Spanned<ExpectFile>>,
    #[serde(default)]
    chart: Vec<Spanned<ChartFile>>,
    #[serde(default)]
    map: Vec<Spanned<MapFile>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum KindFile {
    TraceStatistics { paper: String, claim: Option<String>, within: String, derivation: String },
    WriteSizes(Volumes),
    Sweep(Box<Sweep>),
    Like(Like),
    Nand(Box<NandSweep>),
    Cells(Box<CellsSweep>),
}

impl Experiment {
    /// Parses the experiment `id` from the text of the file `path`. Experiments on which it is based are
    /// looked up in `folder`, then among the embedded experiments.
    ///
    /// # Errors
    /// [`Error::Config`] with every fault, each with file, line and key.
    pub fn parse(id: &str, path: &Path, text: &str, folder: Option<&Path>) -> Result<Self> {
        Self::parse_of(&Registry::default(), id, path, text, folder)
    }

    /// Parses an experiment whose devices have types of `registry`.
    ///
    /// # Errors
    /// Those of [`parse`](Self::parse).
    pub fn parse_of(
        registry: &Registry,
        id: &str,
        path: &Path,
        text: &str,
        folder: Option<&Path>,
    ) -> Result<Self> {
        let experiment = Self::read(registry, id, path, text, folder)?;
        experiment.check_devices()?;
        Ok(experiment)
    }

    /// Parses an experiment without creating its devices. The embedded experiments have many devices, which
    /// tests have validated.
    pub(crate) fn read(
        registry: &Registry,
        id: &str,
        path: &Path,
        text: &str,
        folder: Option<&Path>,
    ) -> Result<Self> {
        let mut wrong = ErrorCollector { registry, path, folder, text, all: Complaints::default() };
        let file: ExperimentFile = match toml::from_str(text) {
            Ok(file) => file,
            Err(error) => {
                let (found, wanted) = found_and_wanted(error.message(), "valid TOML");
                let at = error.span().map_or(0, |span| span.start);
                wrong.add(at, key_at(text, at), found, wanted);
                return Err(Error::Config(wrong.all));
            }
        };
        for claim in &file.claims {
            if !is_claim(claim.get_ref()) {
                wrong.add(claim.span().start, "claims", format!("`{}`", claim.get_ref()), CLAIM);
            }
        }
        let claims: Vec<String> = file.claims.into_iter().map(Spanned::into_inner).collect();
        let kind_at = file.kind.span().start;
        let Some(kind) = check_kind(file.kind.into_inner(), kind_at, &claims, &mut wrong) else {
            return Err(Error::Config(wrong.all));
        };
        let places: Vec<usize> = file.expect.iter().map(|entry| entry.span().start).collect();
        let entries = file.expect.into_iter();
        let expect: Vec<Option<Expect>> =
            entries.map(|entry| check_expect(entry, &kind, &claims, &mut wrong)).collect();
        let found: Vec<(usize, &Expect)> =
            places.into_iter().zip(&expect).filter_map(|(at, expect)| Some((at, expect.as_ref()?))).collect();
        changes::check(id, &file.changes, &found, &kind, &mut wrong);
        let expects: Vec<&Expect> = found.iter().map(|(_, expect)| *expect).collect();
        for map in &file.map {
            for (key, found, wanted) in map.get_ref().complaints(&expects, &kind.axes()) {
                wrong.add(map.span().start, &key, found, wanted);
            }
        }
        let maps = file.map.into_iter().map(Spanned::into_inner).collect();
        let expect = expect.into_iter().flatten().collect();
        let changes = file.changes.into_iter().map(|(name, keys)| (name.into_inner(), keys)).collect();
        for chart in &file.chart {
            for (key, found, wanted) in chart.get_ref().complaints(&kind) {
                wrong.add(chart.span().start, key, found, wanted);
            }
        }
        let charts = file.chart.into_iter().map(Spanned::into_inner).collect();
        let (title, source, left_open, path) = (file.title, file.source, file.left_open, path.to_owned());
        let (id, text, known) = (id.to_owned(), text.to_owned(), KnownOutside::default());
        let experiment = Self {
            id,
            path,
            text,
            title,
            source,
            claims,
            left_open,
            kind,
            changes,
            expect,
            charts,
            maps,
            known,
        };
        wrong.all.into_result(experiment).map_err(Error::Config)
    }
}

const CLAIM: &str = "the id of a claim: three capitals, `-`, F or N, and a number, such as `CEN-N1`";

/// Whether `text` is the ID of a claim, such as `CEN-N1`.
fn is_claim(text: &str) -> bool {
    let Some((paper, row)) = text.split_once('-') else { return false };
    let number = row.strip_prefix(['F', 'N']).unwrap_or_default();
    paper.len() == 3
        && paper.bytes().all(|byte| byte.is_ascii_uppercase())
        && !number.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit())
}

fn check_kind(kind: KindFile, at: usize, claims: &[String], wrong: &mut ErrorCollector<'_>) -> Option<Kind> {
    let kind = match kind {
        KindFile::TraceStatistics { paper, claim, within, derivation } => {
            check_claim(claim.as_deref(), at, "kind.trace-statistics.claim", claims, wrong);
            let within = match within.parse() {
                Ok(Band::Relative(fraction)) => fraction,
                _ => {
                    let wanted = "a share above 0, such as \"2 %\"";
                    wrong.add(at, "kind.trace-statistics.within", format!("`{within}`"), wanted);
                    0.0
                }
            };
            Kind::TraceStatistics { paper, claim, within, derivation }
        }
        KindFile::WriteSizes(volumes) => {
            if let Some((key, found, wanted)) = volumes.complaint() {
                wrong.add(at, &format!("kind.write-sizes.{key}"), found, wanted);
            }
            Kind::WriteSizes(volumes)
        }
        KindFile::Sweep(sweep) => check_sweep("kind.sweep", resolve_inherited(*sweep), at, wrong)?,
        KindFile::Like(like) => {
            let other = other_sweep(&like.experiment, at, wrong)?;
            check_sweep("kind.like", like.apply(other), at, wrong)?
        }
        KindFile::Nand(sweep) => {
            let quick = sweep.quick.as_ref().map_or(&[][..], |quick| &quick.vary);
            check_axes("kind.nand", &sweep.vary, quick, at, wrong);
            Kind::Nand(sweep)
        }
        KindFile::Cells(sweep) => {
            check_axes("kind.cells", &sweep.vary, &[], at, wrong);
            Kind::Cells(sweep)
        }
    };
    Some(kind)
}

/// Longest chain of experiments that are based on one another. Chosen: no reader wants to follow a longer
/// one.
const MAX_LAYERS: usize = 4;

/// Returns the sweep of another experiment.
fn other_sweep(id: &str, at: usize, wrong: &mut ErrorCollector<'_>) -> Option<Sweep> {
    let sweep = sweep_of(id, wrong.folder, MAX_LAYERS);
    if sweep.is_none() {
        wrong.add(at, "kind.like.experiment", format!("`{id}`"), "an experiment that sweeps over devices");
    }
    sweep
}

fn sweep_of(id: &str, folder: Option<&Path>, layers: usize) -> Option<Sweep> {
    let file: ExperimentFile = toml::from_str(&text_of(id, folder)?).ok()?;
    match file.kind.into_inner() {
        KindFile::Sweep(sweep) => resolve_inherited(*sweep).ok(),
        KindFile::Like(like) if layers > 0 => {
            like.apply(sweep_of(&like.experiment, folder, layers - 1)?).ok()
        }
        _ => None,
    }
}

fn check_sweep(
    kind: &str,
    sweep: std::result::Result<Sweep, (&'static str, String, String)>,
    at: usize,
    wrong: &mut ErrorCollector<'_>,
) -> Option<Kind> {
    let sweep = match sweep {
        Ok(sweep) => Sweep { registry: wrong.registry.clone(), place: "kind.sweep.", ..sweep },
        Err((key, found, wanted)) => {
            wrong.add(at, &format!("{kind}.vary.{key}"), found, wanted);
            return None;
        }
    };
    for (key, found, wanted) in sweep.complaints() {
        wrong.add(at, &format!("{kind}.{key}"), found, wanted);
    }
    let quick = sweep.quick.as_ref().map_or(&[][..], |quick| &quick.vary);
    check_axes(kind, &sweep.vary, quick, at, wrong);
    Some(Kind::Sweep(Box::new(sweep)))
}

fn check_axes(kind: &str, axes: &[Axis], quick: &[Axis], at: usize, wrong: &mut ErrorCollector<'_>) {
    for (key, found, wanted) in axes.iter().filter_map(Axis::complaint) {
        wrong.add(at, &format!("{kind}.vary.{key}"), found, wanted);
    }
    for (key, found, wanted) in quick.iter().filter_map(|axis| axis.quick_complaint(axes)) {
        wrong.add(at, &format!("{kind}.quick.vary.{key}"), found, wanted);
    }
}
