//! What carries out the parts of an experiment.

use std::sync::atomic::{AtomicBool, Ordering};

use serde::Deserialize;
use wordline_host::Pace;
use wordline_kernel::{Duration, Instant, Seed};
use wordline_ssd::Config;

use super::Options;
use super::statistics::Finding;
use crate::error::{Error, Result};
use crate::run::{self, Job, Observer, Precondition};
use crate::summary::{Source, SourceKind, Summary};
use crate::trace::{Op, Request};

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
    /// Whether the point has these values of varied keys.
    pub fn lies_at(&self, at: &toml::Table) -> bool {
        at.iter().all(|(key, value)| self.settings.get(key) == Some(value))
    }
}

/// Carries out the parts of an experiment. Tests put a made-up bench in the place of the simulator.
pub trait Bench: Sync {
    /// Runs a point of a sweep, until `stop` is set.
    fn simulate(&self, point: &Point, stop: &AtomicBool) -> Result<Summary>;
    /// The volumes whose statistics a paper prints, in the paper's order.
    fn volumes(&self, paper: &str) -> Result<Vec<String>>;
    /// The published statistics of a volume and ours.
    fn statistics(&self, paper: &str, volume: &str, options: &Options) -> Result<Vec<Finding>>;
}

/// The bench that simulates.
pub struct Lab;

impl Bench for Lab {
    fn simulate(&self, point: &Point, stop: &AtomicBool) -> Result<Summary> {
        let Workload::UniformWrites { drive_writes, queue_depth } = point.workload;
        let pages = u64::from(point.config.logical_pages);
        let total = (pages as f64 * drive_writes) as u64;
        let size = point.config.geometry.page_size;
        let mut random = Seed(point.seed).stream("experiment.uniform_writes", 0);
        let request = move |_| Request {
            arrival: Instant::ZERO,
            op: Op::Write,
            fua: false,
            device: 0,
            offset: size * random.below(pages),
            size,
            response: None,
        };
        let job = Job {
            device_name: point.config.file.part.name.clone(),
            config: point.config.clone(),
            config_text: point.config_text.clone(),
            source: Source { name: "uniform page writes".into(), kind: SourceKind::Synthetic },
            requests: Box::new((0..total).map(request)),
            total: Some(total),
            pace: Pace::Closed { depth: queue_depth, think: Duration::ZERO },
            precondition: point.precondition,
            seed: point.seed,
            log: None,
            notes: Vec::new(),
        };
        run::run(job, &mut UntilStopped(stop))
    }

    fn volumes(&self, paper: &str) -> Result<Vec<String>> {
        Err(no_profiles(paper))
    }

    fn statistics(&self, paper: &str, _: &str, _: &Options) -> Result<Vec<Finding>> {
        Err(no_profiles(paper))
    }
}

fn no_profiles(paper: &str) -> Error {
    Error::Argument {
        what: "paper of the trace statistics".into(),
        found: format!("`{paper}`"),
        wanted: "a paper with profiles".into(),
    }
}

struct UntilStopped<'a>(&'a AtomicBool);

impl Observer for UntilStopped<'_> {
    fn progress(&mut self, _: u64) -> bool {
        !self.0.load(Ordering::Relaxed)
    }
}
