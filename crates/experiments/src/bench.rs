//! The bench, which executes the parts of an experiment.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wordline_host::{Pace, QueueMapping};
use wordline_kernel::{Bytes, Duration, Seed};

use crate::options::Options;
use crate::statistics::Finding;
use crate::sweep::volume::{VolumeRequests, covering};
use crate::sweep::{FileLoad, Point, Workload};
use crate::write_sizes::{self, WriteSizes};
use wordline_lab::arrivals::{PassSource, RequestSource};
use wordline_lab::change::Change;
use wordline_lab::error::{Error, Result};
use wordline_lab::job::Job;
use wordline_lab::load::{Load, PowerCutPoint, Start};
use wordline_lab::observer::ContinueWhile;
use wordline_lab::provenance::Provenance;
use wordline_lab::run::run_job;
use wordline_lab::summary::{Outcome, Source, SourceKind, Summary};
use wordline_lab::trace::workload::application::ZoneLayout;
use wordline_lab::trace::workload::arrival::Bursts;
use wordline_lab::trace::workload::profile::{Claim, Profile, RealOrProfile, resolve};
use wordline_lab::trace::{self, Fit, Op, OverZones, Request, Statistics, Unit};
use wordline_lab::workload::zone_layout;
use wordline_lab::{RunOptions, Settling, WarmUp};

/// Executes the parts of an experiment. Tests replace the simulator by a mock bench.
pub trait Bench: Sync {
    /// Runs a point of a sweep, until `stop` is set.
    fn simulate(&self, point: &Point, stop: &AtomicBool) -> Result<Summary>;
    /// Returns the volumes (`PAPER/VOLUME`) whose statistics a paper prints.
    fn volumes(&self, paper: &str) -> Result<Vec<String>>;
    /// Returns the published statistics of a volume, each with our value.
    fn statistics(&self, volume: &str, options: &Options) -> Result<Vec<Finding>>;
    /// Returns the write sizes of a volume.
    fn write_sizes(&self, volume: &str, options: &Options) -> Result<WriteSizes>;
}

/// The bench that simulates. A run that several experiments need is executed once.
#[derive(Debug, Default)]
pub struct Lab {
    /// Summaries of complete runs, keyed by all inputs of the run.
    known: Mutex<BTreeMap<String, Summary>>,
}

impl Lab {
    fn known(&self) -> MutexGuard<'_, BTreeMap<String, Summary>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Bench for Lab {
    fn simulate(&self, point: &Point, stop: &AtomicBool) -> Result<Summary> {
        let Point {
            config_text,
            workload,
            precondition,
            from_snapshot,
            covers_volume,
            power_cut_after,
            warm_up,
            until,
            traces,
            seed,
            ..
        } = point;
        let run = format!(
            "{config_text}{workload:?}{precondition:?}{from_snapshot:?}{covers_volume}{power_cut_after:?}{warm_up:?}{until:?}{traces:?}{seed}"
        );
        if let Some(summary) = self.known().get(&run) {
            return Ok(summary.clone());
        }
        let summary = simulate(point, || !stop.load(Ordering::Relaxed))?;
        if summary.outcome != Outcome::Interrupted {
            self.known().insert(run, summary.clone());
        }
        Ok(summary)
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

    fn write_sizes(&self, volume: &str, options: &Options) -> Result<WriteSizes> {
        write_sizes::measure(volume, options)
    }

    /// Measures the recorded trace if the user's folder has it, otherwise the profile.
    fn statistics(&self, volume: &str, options: &Options) -> Result<Vec<Finding>> {
        let profile = Profile::named(volume)?;
        let mut scale = options.scale(&profile);
        let (stats, origin, own_input) = match resolve(volume, options.traces.as_deref())? {
            RealOrProfile::Real(path) => {
                scale = 1.0;
                let trace = trace::read(&path, &trace::Options::default())?;
                (
                    Statistics::of(&trace.requests),
                    format!("{} {}", trace.source().recorded().kind.words(), path.display()),
                    false,
                )
            }
            RealOrProfile::Profile(profile) => {
                let requests = profile.generator(Seed(options.seed), scale);
                (Statistics::of(requests), "generated from the profile".to_owned(), true)
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
            own_input,
            contradiction: claim.contradiction.clone(),
        };
        Ok(profile.claims().into_iter().map(finding).collect())
    }
}

/// Runs a point of a sweep while `goes_on` returns true.
///
/// # Errors
/// The errors of a run, such as [`Error::Content`] of a trace that cannot be read.
pub fn simulate(point: &Point, goes_on: impl FnMut() -> bool) -> Result<Summary> {
    if let Workload::File(file) = &point.workload {
        return simulate_file(point, file, goes_on);
    }
    let (warm_up, beside) = point.warm_up();
    let PointLoad { source, requests, total, settling, pace, extent } = requests_of(point, beside)?;
    let (warm_up, beside) = match &settling {
        Some(settling) => (WarmUp::None, u64::from(settling.most) * settling.pass),
        None => (warm_up, beside),
    };
    let shape = point.device.shape();
    let precondition = match point.covers_volume {
        true => covering(point.precondition, extent, shape.capacity),
        false => point.precondition,
    };
    let load = Load {
        device_name: name_of(point),
        config_text: point.config_text.clone(),
        source,
        requests,
        total: Some(total).filter(|_| !point.is_endless()),
        warm_up,
        settling,
        beside,
        until: point.until.clone(),
        as_counted: point.as_counted,
        pace,
        spread: QueueMapping::default(),
        namespace: 0,
        stream: point.generated().map_or(0, |workload| workload.stream),
        seed: point.seed,
        change: Change::default(),
        log: None,
        slowest: None,
        timeline: None,
        save_snapshot: None,
        power_cut: point.power_cut_after.map(PowerCutPoint::Requests),
        notes: Vec::new(),
        provenance: Provenance::default(),
        trace_file: None,
        late_notes: trace::LateNotes::default(),
        locator: None,
        passes: passes_of(point),
    };
    let start = point.from_snapshot.clone().map_or(Start::Preconditioned(precondition), Start::Snapshot);
    let job = Job { device: Arc::clone(&point.device), start, load };
    run_job(job, &mut ContinueWhile(goes_on))
}

/// Runs a point whose workload is a file, as `wordline run` does.
fn simulate_file(point: &Point, file: &FileLoad, goes_on: impl FnMut() -> bool) -> Result<Summary> {
    let options = RunOptions {
        precondition: Some(point.precondition),
        warm_up: point.warm_up,
        until: point.until.clone(),
        as_counted: point.as_counted,
        from_snapshot: point.from_snapshot.clone(),
        power_cut: point.power_cut_after.map(PowerCutPoint::Requests),
        ..RunOptions::seed(point.seed)
    };
    let device = (&point.device, &*name_of(point), &*point.config_text);
    let mut observer = ContinueWhile(goes_on);
    let job = file.workload().job_on(device, &options, &mut observer)?;
    run_job(job, &mut observer)
}

/// Makes the requests of further passes, by which a workload ages the device. Each pass draws different requests
/// with the same popular addresses. `None` for a volume that settles the device by passes of its own.
fn passes_of(point: &Point) -> Option<PassSource> {
    if matches!(&point.workload, Workload::Volume(volume) if volume.settle.is_some()) {
        return None;
    }
    let (point, seed) = (point.clone(), point.seed);
    Some(Box::new(move |pass| {
        let drawn = Seed(seed).stream("experiment.pass", pass).below(u64::MAX);
        let again = Point { seed: drawn, ..point.clone() };
        Ok(requests_of(&again, 0)?.requests.in_order())
    }))
}

/// Name of a point's device: the name of its chips, or of its type.
fn name_of(point: &Point) -> String {
    let chips = point.device.chips().into_iter().next();
    chips.map_or_else(|| point.device.device_type().to_owned(), |chips| chips.part)
}

/// Load of a point: its requests and their pace.
struct PointLoad {
    source: Source,
    requests: RequestSource,
    /// Number of requests.
    total: u64,
    /// The passes that settle the device before the measured requests, if the volume has any.
    settling: Option<Settling>,
    /// The pace at which the requests are submitted.
    pace: Pace,
    /// Byte after the last one that the requests address, before addresses are wrapped into the device.
    extent: Bytes,
}

impl PointLoad {
    /// A load without passes that settle the device.
    fn unsettled(source: Source, requests: RequestSource, total: u64, pace: Pace, extent: Bytes) -> Self {
        Self { source, requests, total, settling: None, pace, extent }
    }

    /// The load with its addresses, which are those of writable bytes, moved into the capacities of zones.
    /// Jobs know zones by themselves.
    fn over(self, zones: ZoneLayout, beside: u64) -> Self {
        let requests = match self.requests {
            requests @ (RequestSource::InOrder(_) | RequestSource::Generated(_)) => {
                let placed = OverZones::new(requests.in_order(), zones);
                // Passes that settle the device come before the measured requests, and are not counted.
                RequestSource::InOrder(match self.settling {
                    Some(_) => Box::new(placed),
                    None => Box::new(placed.take(self.total.saturating_add(beside) as usize)),
                })
            }
            others => others,
        };
        Self { requests, ..self }
    }
}

/// The load of a point, at the addresses of its device.
fn requests_of(point: &Point, beside: u64) -> Result<PointLoad> {
    let load = load_of(point, beside)?;
    match zone_layout(&point.device.shape()).filter(ZoneLayout::has_gaps) {
        Some(zones) => Ok(load.over(zones, beside)),
        None => Ok(load),
    }
}

/// The load of a point on the bytes of its device that can be written.
fn load_of(point: &Point, beside: u64) -> Result<PointLoad> {
    let closed = |depth| Pace::Closed { depth, think: Duration::ZERO };
    let open = Pace::Open { time_scale: 1.0 };
    let shape = point.device.shape();
    let capacity = shape.capacity;
    match &point.workload {
        Workload::UniformWrites { drive_writes, queue_depth } => {
            let pages = capacity.0 / shape.logical_page.0;
            let total = (pages as f64 * drive_writes) as u64;
            let source = Source { name: "uniform page writes".into(), kind: SourceKind::Synthetic };
            let (requests, pace) = (
                RequestSource::generated(uniform_writes(point, pages, total.saturating_add(beside))),
                closed(*queue_depth),
            );
            Ok(PointLoad::unsettled(source, requests, total, pace, capacity))
        }
        Workload::Generated(workload) => {
            let generator = workload.generator(Seed(point.seed), capacity).map_err(Error::Config)?;
            let requests = RequestSource::generated(generator.with_more(beside));
            let source = Source { name: workload.description.clone(), kind: SourceKind::Synthetic };
            let pace = match (workload.arrival.queue_depth(), workload.bursts) {
                (Some(depth), Some(Bursts { on, off })) => Pace::Bursts { depth, on, off },
                (Some(depth), None) => {
                    Pace::Closed { depth, think: workload.think_time.unwrap_or(Duration::ZERO) }
                }
                (None, _) => open,
            };
            Ok(PointLoad::unsettled(source, requests, workload.requests, pace, capacity))
        }
        Workload::Named(named) => {
            let (requests, total, pace) = named.requests(Seed(point.seed), capacity, beside)?;
            let source = Source { name: named.name.clone(), kind: SourceKind::Synthetic };
            Ok(PointLoad::unsettled(source, requests, total, pace, capacity))
        }
        Workload::Clients(clients) => {
            let (requests, pace) = clients.requests(Seed(point.seed), capacity, beside)?;
            let source = Source { name: clients.description.clone(), kind: SourceKind::Synthetic };
            Ok(PointLoad::unsettled(source, requests, clients.requests, pace, capacity))
        }
        Workload::Replayed { trace: name, queue_depth, requests } => {
            let path = point.traces.as_deref().unwrap_or(Path::new("")).join(name);
            let mut trace = trace::read(&path, &trace::Options::default())?;
            let most = requests.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
            trace.requests.truncate(most);
            let source = trace.source();
            let extent = trace::fit(&mut trace.requests, capacity, Fit::Wrap)?.extent;
            let total = trace.requests.len() as u64;
            let pace = queue_depth.map_or(open, closed);
            let requests = RequestSource::generated(trace.requests.into_iter());
            Ok(PointLoad::unsettled(source, requests, total, pace, extent))
        }
        Workload::File(_) => unreachable!("a file has its own run"),
        Workload::Volume(volume) => {
            let found = volume.requests(point.traces.as_deref(), point.seed, capacity)?;
            let VolumeRequests { source, requests, total, settling, extent } = found;
            let requests = RequestSource::generated(requests);
            Ok(PointLoad { source, requests, total, settling, pace: volume.pace(), extent })
        }
    }
}

fn uniform_writes(point: &Point, pages: u64, total: u64) -> impl Iterator<Item = Request> + Send + use<> {
    let size = point.device.shape().logical_page;
    let mut random = Seed(point.seed).stream("experiment.uniform_writes", 0);
    (0..total).map(move |_| Request::new(Op::Write, size * random.below(pages), size))
}

/// Whether a statistic in this unit grows with the number of requests. Counts and volumes do, sizes and
/// shares do not.
fn grows_with_scale(unit: Unit) -> bool {
    match unit {
        Unit::Requests | Unit::Million | Unit::GiB => true,
        Unit::Percent | Unit::KiB => false,
    }
}
