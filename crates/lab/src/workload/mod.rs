//! The description of a workload: its requests and their pace.

mod generated;
mod job_file;
mod requests;
#[cfg(test)]
mod tests;

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wordline_device::SECTOR;
use wordline_device::block_device::Shape;
use wordline_host::{Pace, QueueMapping};
use wordline_kernel::{Complaints, Duration, Seed};

use crate::arrivals::PassSource;
use crate::change::Change;
use crate::device::Device;
use crate::devices::Configured;
use crate::error::{Error, Result};
use crate::job::{Job, RunOptions};
use crate::load::{Load, Precondition, Start};
use crate::observer::{Observer, Unobserved};
use crate::output::is_standard;
use crate::timeline::Timeline;
use crate::trace::workload::arrival::{Bursts, LONGEST_PAUSE};
use crate::trace::{Fit, Options, Request};
use crate::transient::WarmUp;
use crate::until::Until;
use requests::{PreparedRequests, RequestDemand};

pub use generated::{Generated, from_toml};
pub use requests::{recorded_times, zone_layout};

/// The source of the requests.
#[derive(Clone, Debug, Default)]
pub enum Origin {
    /// The recorded trace that the program includes.
    #[default]
    Embedded,
    /// A trace file.
    Trace(PathBuf, Options),
    /// A name. It selects a named workload, the profile of a published trace (`paper/volume`), a workload
    /// file (`name.toml`), or a fio job file (`name.fio`).
    Named(String),
    /// A generator, with a name for the result.
    Generated(String, Generated),
    /// A list of requests, with a name for the result.
    Given(String, Arc<[Request]>),
    /// Requests that a session submits with [`Session::submit`](crate::Session::submit). A run cannot use it.
    Submitted,
}

/// Requests and their pace. A field that is `None` gets its value from the source of the requests.
///
/// ```
/// use wordline_lab::Workload;
/// use wordline_lab::trace::{Op, Request};
/// use wordline_kernel::Bytes;
///
/// let named = Workload { requests: Some(10_000), queue_depth: Some(8), ..Workload::named("randread-4k") };
/// let trace = Workload::trace("writes.csv");
/// let given = Workload::given("two reads", [0, 4096].map(|at| Request::new(Op::Read, Bytes(at), Bytes(4096))));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Workload {
    /// The source of the requests.
    pub origin: Origin,
    /// A folder with recorded traces. A trace in it replaces the profile of the same name.
    pub traces: Option<PathBuf>,
    /// The number of requests. For a trace it is the limit, for a generator the exact number.
    pub requests: Option<u64>,
    /// The treatment of requests that lie beyond the end of the device.
    pub fit: Fit,
    /// Factor on the times between requests, in an open loop.
    pub time_scale: Option<f64>,
    /// Number of outstanding requests in each queue, which makes a closed loop. A trace is then replayed
    /// without its times.
    pub queue_depth: Option<u32>,
    /// The pauses of a closed loop, if any.
    pub bursts: Option<Bursts>,
    /// The trace whose arrival times replace those of the requests; `embedded` is the embedded trace.
    pub times_of: Option<PathBuf>,
    /// Number of submission queues that the host uses. Default: one in a closed loop, otherwise all queues of
    /// the device.
    pub queues: Option<u16>,
    /// Namespace of the requests, from 1. Default: the first.
    pub namespace: Option<u16>,
    /// Time between a completion and the next submission, in a closed loop.
    pub think_time: Option<Duration>,
}

/// Name of the workload without requests, for an array that is rebuilt without host load.
pub const NO_LOAD: &str = "none";

impl From<Origin> for Workload {
    fn from(origin: Origin) -> Self {
        Self { origin, ..Self::default() }
    }
}

impl Workload {
    /// The workload of the embedded recorded trace.
    pub fn embedded() -> Self {
        Self::default()
    }

    /// The workload that `name` selects: a named workload, the profile of a published trace (`paper/volume`),
    /// a workload file (`name.toml`), or a fio job file (`name.fio`).
    pub fn named(name: &str) -> Self {
        Origin::Named(name.to_owned()).into()
    }

    /// The workload of the trace file at `path`, whose format is detected.
    pub fn trace(path: impl AsRef<Path>) -> Self {
        Origin::Trace(path.as_ref().to_owned(), Options::default()).into()
    }

    /// The workload of a generator, called `name` in the result.
    pub fn generated(name: &str, generated: Generated) -> Self {
        Origin::Generated(name.to_owned(), generated).into()
    }

    /// A workload of these requests in this order, called `name` in the result.
    pub fn given(name: &str, requests: impl IntoIterator<Item = Request>) -> Self {
        Origin::Given(name.to_owned(), requests.into_iter().collect()).into()
    }

    /// A workload whose requests a session submits with [`Session::submit`](crate::Session::submit).
    pub fn submitted() -> Self {
        Origin::Submitted.into()
    }

    /// The job that runs this workload on `device`. The observer sees the progress of reading a trace.
    ///
    /// # Errors
    /// A file that cannot be read or does not exist, and settings that do not fit together.
    pub fn job(&self, device: &Device, options: &RunOptions, observer: &mut dyn Observer) -> Result<Job> {
        self.job_on((&device.configured, &device.name, &device.text), options, observer)
    }

    /// As [`job`](Self::job), for a device with a name and the text of its configuration.
    ///
    /// # Errors
    /// As for [`job`](Self::job).
    pub fn job_on(
        &self,
        (configured, name, text): (&Arc<dyn Configured>, &str, &str),
        options: &RunOptions,
        observer: &mut dyn Observer,
    ) -> Result<Job> {
        let shape = configured.shape();
        let namespace = self.namespace_of(&shape)?;
        let capacity = SECTOR * shape.namespaces[usize::from(namespace)];
        self.check_load(options)?;
        let warm_up = self.warm_up(options)?;
        let beside = if self.is_generated() { warm_up.beside() } else { 0 };
        let is_endless =
            options.until == Some(Until::Rebuilt) && self.is_generated() && self.requests.is_none();
        let beside = if is_endless { WarmUp::ENDLESS } else { beside };
        let wanted = RequestDemand::on(&shape, capacity, options, beside);
        let mut ready = self.ready(&wanted, observer)?;
        let pace = match ready.own_pace {
            Some(pace) => self.own_pace(pace)?,
            None => self.pace(ready.queue_depth, ready.bursts, ready.think_time)?,
        };
        ready.check_times(pace)?;
        let spread = self.spread(&ready, pace, &**configured)?;
        let start = ready.start(options, &shape)?;
        let is_empty = start == Start::Preconditioned(Precondition::Empty);
        let usual = WarmUp::usual(options.until.as_ref(), self.is_generated(), is_empty);
        let load = Load {
            settling: None,
            as_counted: options.as_counted,
            warm_up: options.warm_up.unwrap_or(usual),
            beside,
            until: options.until.clone(),
            device_name: name.to_owned(),
            config_text: text.to_owned(),
            pace,
            spread,
            namespace,
            stream: ready.stream,
            source: ready.source,
            requests: ready.requests,
            total: if is_endless { None } else { ready.total },
            seed: options.seed,
            log: options.log.clone(),
            slowest: options.slowest,
            timeline: options.timeline.as_ref().map(Timeline::times).transpose()?,
            save_snapshot: options.save_snapshot.clone(),
            power_cut: options.power_cut,
            notes: ready.notes,
            late_notes: ready.late_notes,
            locator: ready.locator,
            provenance: options.provenance.clone(),
            trace_file: ready.trace_file,
            change: Change::default(),
            passes: if ready.filled_zones.is_none() { self.passes(&wanted) } else { None },
        };
        Ok(Job { device: Arc::clone(configured), start, load })
    }

    /// Refuses to run without requests, except until an array is rebuilt.
    fn check_load(&self, options: &RunOptions) -> Result<()> {
        let is_none = matches!(&self.origin, Origin::Named(name) if name == NO_LOAD);
        if !is_none || options.until == Some(Until::Rebuilt) {
            return Ok(());
        }
        refuse("workload", &NO_LOAD, "a workload, or the end of a rebuild to wait for: --until rebuilt")
    }

    /// The warm-up for a device that is not empty.
    fn warm_up(&self, options: &RunOptions) -> Result<WarmUp> {
        match options.warm_up {
            Some(asked) if asked != WarmUp::None && matches!(self.origin, Origin::Submitted) => {
                refuse("warm-up", &String::from(asked), "none: a session decides which requests it submits")
            }
            Some(asked) => Ok(asked),
            None => Ok(WarmUp::usual(options.until.as_ref(), self.is_generated(), false)),
        }
    }

    /// Whether the requests come from a generator, which can continue without end.
    fn is_generated(&self) -> bool {
        match &self.origin {
            Origin::Generated(..) => true,
            Origin::Named(name) => {
                let is_file = name.ends_with(".toml") || is_standard(Path::new(name));
                is_file || Generated::named(name).is_some()
            }
            Origin::Embedded | Origin::Trace(..) | Origin::Given(..) | Origin::Submitted => false,
        }
    }

    /// Makes the requests of further passes after the `first`. `None` if the requests come from standard input
    /// or are submitted.
    fn passes(&self, first: &RequestDemand) -> Option<PassSource> {
        if self.is_read_once() {
            return None;
        }
        let again = self.clone();
        let RequestDemand { capacity, sector, seed, zones, layout, .. } = *first;
        Some(Box::new(move |pass| {
            // The popular addresses do not depend on this seed, so a pass draws different requests with the
            // same distribution.
            let drawn = Seed(seed).stream("lab.pass", pass).below(u64::MAX);
            let wanted = RequestDemand { capacity, sector, seed, drawn, beside: 0, zones, layout };
            Ok(again.ready(&wanted, &mut Unobserved)?.requests.in_order())
        }))
    }

    /// Whether the requests can be read only once, because they come from standard input, a pipe, or a
    /// caller.
    pub(crate) fn is_read_once(&self) -> bool {
        let comes_once = |path: &Path| is_standard(path) || path.exists() && !path.is_file();
        match &self.origin {
            Origin::Submitted => true,
            Origin::Trace(path, _) => comes_once(path),
            Origin::Named(name) => is_standard(Path::new(name)),
            _ => false,
        }
    }

    /// The namespace of the requests, from 0.
    fn namespace_of(&self, shape: &Shape) -> Result<u16> {
        let (number, count) = (self.namespace.unwrap_or(1), shape.namespaces.len());
        if (1..=count).contains(&usize::from(number)) {
            return Ok(number - 1);
        }
        Err(Error::Argument {
            what: "namespace".into(),
            found: number.to_string(),
            wanted: match count {
                1 => "1: the device has one namespace".into(),
                _ => format!("from 1 to {count}, the namespaces of the device"),
            },
        })
    }

    /// The mapping of requests to submission queues.
    fn spread(&self, ready: &PreparedRequests, pace: Pace, device: &dyn Configured) -> Result<QueueMapping> {
        let of_device = device.queues();
        let usual = if matches!(pace, Pace::Open { .. } | Pace::SourcePaced { .. }) { of_device } else { 1 };
        let queues = self.queues.or(ready.queues).unwrap_or(usual);
        if queues == 0 || queues > of_device {
            return Err(Error::Argument {
                what: "queues".into(),
                found: queues.to_string(),
                wanted: match of_device {
                    1 => "1: the device's interface has one submission queue".into(),
                    _ => format!("from 1 to {of_device}, the submission queues of the device's interface"),
                },
            });
        }
        Ok(QueueMapping { queues, is_bound: ready.has_processors })
    }

    /// The pace of submission: a closed loop if the user or the workload asks for one, otherwise the arrival
    /// times of the requests.
    fn pace(
        &self,
        usual_depth: Option<u32>,
        usual_bursts: Option<Bursts>,
        usual_think: Option<Duration>,
    ) -> Result<Pace> {
        if let (Some(_), Some(depth)) = (&self.times_of, self.queue_depth) {
            return refuse("queue depth", &depth, "none beside the times of a trace");
        }
        let Some(depth) = self.queue_depth.or(usual_depth) else { return self.open_pace() };
        if depth == 0 {
            return refuse("queue depth", &0, "at least 1");
        }
        if let Some(scale) = self.time_scale {
            return refuse("time scale", &scale, "none: in a closed loop requests have no times to scale");
        }
        let usual_think = usual_think.filter(|_| self.bursts.is_none());
        match (self.bursts.or(usual_bursts), self.think_time.or(usual_think)) {
            (Some(_), Some(think)) => refuse("think time", &think, "none in a closed loop with bursts"),
            (Some(bursts), None) => {
                let mut complaints = Complaints::default();
                bursts.check(&mut complaints);
                complaints
                    .into_result(Pace::Bursts { depth, on: bursts.on, off: bursts.off })
                    .map_err(Error::Config)
            }
            (None, Some(think)) if think > LONGEST_PAUSE => refuse("think time", &think, "at most 1h"),
            (None, think) => Ok(Pace::Closed { depth, think: think.unwrap_or(Duration::ZERO) }),
        }
    }

    /// The pace of jobs, which the job file defines. Settings that would change it are an error.
    fn own_pace(&self, pace: Pace) -> Result<Pace> {
        let wanted = "none beside a job file, whose jobs have it themselves";
        if let Some(depth) = self.queue_depth {
            return refuse("queue depth", &depth, wanted);
        }
        if let Some(think) = self.think_time {
            return refuse("think time", &think, wanted);
        }
        if let Some(bursts) = self.bursts {
            return refuse("bursts", &bursts.on, wanted);
        }
        match self.time_scale {
            Some(scale) => refuse("time scale", &scale, wanted),
            None => Ok(pace),
        }
    }

    fn open_pace(&self) -> Result<Pace> {
        if let Some(think) = self.think_time {
            return refuse(
                "think time",
                &think,
                "none without a queue depth: requests arrive by their times",
            );
        }
        if let Some(bursts) = self.bursts {
            return refuse(
                "bursts",
                &bursts.on,
                "none without a queue depth: requests arrive by their times",
            );
        }
        match self.time_scale.unwrap_or(1.0) {
            scale if scale.is_finite() && scale >= 0.0 => Ok(Pace::Open { time_scale: scale }),
            scale => refuse("time scale", &scale, "a factor of at least 0, such as 0.5 for twice as fast"),
        }
    }
}

fn refuse<T>(what: &str, found: &dyn Display, wanted: &str) -> Result<T> {
    Err(Error::Argument { what: what.into(), found: found.to_string(), wanted: wanted.into() })
}
