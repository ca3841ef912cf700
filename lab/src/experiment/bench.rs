//! What carries out the parts of an experiment.

use std::sync::atomic::{AtomicBool, Ordering};

use serde::Deserialize;
use wordline_host::{Pace, Spread};
use wordline_kernel::{Duration, Instant, Seed};
use wordline_ssd::Config;

use super::Options;
use super::analytic::Space;
use super::statistics::Finding;
use crate::error::{Error, Result};
use crate::run::{self, Job, Observer, Precondition};
use crate::summary::{Source, SourceKind, Summary};
use crate::trace::{self, Op, Request, Statistics, Unit};
use crate::workload::profile::{Claim, Profile, RealOrProfile, resolve};

/// What a point of a sweep asks of its device.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Workload {
    /// Pages written whole, each logical page equally likely.
    UniformWrites {
        /// How often the logical capacity is written.
        drive_writes: f64,
        /// Requests outstanding.
        queue_depth: u32,
    },
}

/// One run of a sweep.
#[derive(Clone, Debug)]
pub struct Point {
    /// The varied keys with their values here.
    pub settings: toml::Table,
    /// The device, checked.
    pub config: Config,
    /// The device as text, for a reproducer.
    pub config_text: String,
    /// What it is asked to do.
    pub workload: Workload,
    /// Its state before.
    pub precondition: Precondition,
    /// The seed of all random streams.
    pub seed: u64,
}

impl Point {
    /// The space in which the collector works: it keeps `ftl.gc.stop_at_free_blocks` blocks of each row free.
    pub(super) fn space(&self) -> Space {
        let geometry = &self.config.geometry;
        let pages_per_block = self.config.slots.per_block();
        let blocks = geometry.blocks_per_plane.saturating_sub(self.config.file.ftl.gc.stop_at_free_blocks);
        Space {
            pages_per_block,
            logical_pages: f64::from(self.config.logical_pages),
            physical_pages: f64::from(blocks) * f64::from(geometry.rows()) * f64::from(pages_per_block),
        }
    }
}

/// Carries out the parts of an experiment. Tests put a made-up bench in the place of the simulator.
pub trait Bench: Sync {
    /// Runs a point of a sweep, until `stop` is set.
    fn simulate(&self, point: &Point, stop: &AtomicBool) -> Result<Summary>;
    /// The volumes (`PAPER/VOLUME`) whose statistics a paper prints.
    fn volumes(&self, paper: &str) -> Result<Vec<String>>;
    /// The published statistics of a volume and ours.
    fn statistics(&self, volume: &str, options: &Options) -> Result<Vec<Finding>>;
}

/// Requests of a profile in a scaled-down experiment, at the most. Chosen: few enough for a second, many enough
/// that the rarest kind of request still meets its mean size.
const QUICK_REQUESTS: f64 = 1e6;

/// What a profile is shrunk to in a scaled-down experiment, where the paper prints its counts; else it is whole.
fn quick_scale(profile: &Profile) -> f64 {
    let count = |claim: Claim| claim.paper * claim.unit.size();
    let counts =
        profile.claims().into_iter().filter(|claim| matches!(claim.unit, Unit::Requests | Unit::Million));
    let requests: f64 = counts.map(count).sum();
    if requests > QUICK_REQUESTS { QUICK_REQUESTS / requests } else { 1.0 }
}

/// The bench that simulates.
pub struct Lab;

impl Bench for Lab {
    fn simulate(&self, point: &Point, stop: &AtomicBool) -> Result<Summary> {
        let Workload::UniformWrites { drive_writes, queue_depth } = point.workload;
        let pages = u64::from(point.config.logical_pages);
        let total = (pages as f64 * drive_writes) as u64;
        let size = point.config.slots.size;
        let mut random = Seed(point.seed).stream("experiment.uniform_writes", 0);
        let request = move |_| Request {
            arrival: Instant::ZERO,
            op: Op::Write,
            fua: false,
            device: 0,
            offset: size * random.below(pages),
            size,
            response: None,
            cpu: None,
            stream: 0,
        };
        let job = Job {
            device_name: point.config.file.part.name.clone(),
            config: point.config.clone(),
            config_text: point.config_text.clone(),
            source: Source { name: "uniform page writes".into(), kind: SourceKind::Synthetic },
            requests: Box::new((0..total).map(request)),
            total: Some(total),
            pace: Pace::Closed { depth: queue_depth, think: Duration::ZERO },
            spread: Spread::default(),
            namespace: 0,
            stream: 0,
            design: |parts| parts,
            precondition: point.precondition,
            seed: point.seed,
            log: None,
            notes: Vec::new(),
        };
        run::run(job, &mut UntilStopped(stop))
    }

    fn volumes(&self, paper: &str) -> Result<Vec<String>> {
        let of_paper = |name: &String| name.split_once('/').is_some_and(|(first, _)| first == paper);
        let names: Vec<String> = Profile::names().into_iter().filter(of_paper).collect();
        if names.is_empty() {
            return Err(Error::Argument {
                what: "paper of the trace statistics".into(),
                found: format!("`{paper}`"),
                wanted: format!("the paper of one of the profiles {}", Profile::names().join(", ")),
            });
        }
        Ok(names)
    }

    /// Of the real trace where the user's folder has it, of the profile elsewhere.
    fn statistics(&self, volume: &str, options: &Options) -> Result<Vec<Finding>> {
        let profile = Profile::named(volume)?;
        let mut scale = if options.quick { quick_scale(&profile) } else { 1.0 };
        let (stats, origin) = match resolve(volume, options.traces.as_deref())? {
            RealOrProfile::Real(path) => {
                scale = 1.0;
                let trace = trace::read(&path, &trace::Options::default())?;
                (
                    Statistics::of(&trace.requests),
                    format!("{} {}", trace.source().kind.words(), path.display()),
                )
            }
            RealOrProfile::Profile(profile) => {
                let requests = profile.generator(Seed(options.seed), scale);
                (Statistics::of(requests), "generated from the profile".to_owned())
            }
        };
        let finding = |claim: Claim| Finding {
            volume: volume.to_owned(),
            statistic: claim.statistic.name().replace('_', " "),
            paper: claim.paper,
            ours: claim.ours(&stats) / if grows_with_scale(claim.unit) { scale } else { 1.0 },
            unit: claim.unit.name().to_owned(),
            source: claim.source.clone(),
            origin: origin.clone(),
            contradiction: claim.contradiction.clone(),
        };
        Ok(profile.claims().into_iter().map(finding).collect())
    }
}

/// Whether a statistic in this unit grows with the number of requests: counts and volumes do, sizes and shares not.
fn grows_with_scale(unit: Unit) -> bool {
    match unit {
        Unit::Requests | Unit::Million | Unit::GiB => true,
        Unit::Percent | Unit::KiB => false,
    }
}

struct UntilStopped<'a>(&'a AtomicBool);

impl Observer for UntilStopped<'_> {
    fn progress(&mut self, _: u64) -> bool {
        !self.0.load(Ordering::Relaxed)
    }
}
