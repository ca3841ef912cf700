//! The run that a user asks for, as a job: which requests, at what pace, on a device in which state.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wordline_host::{Pace, Spread};
use wordline_kernel::{Bytes, Complaints, Duration, Instant, Seed};
use wordline_ssd::SECTOR;
use wordline_ssd::block_device::Shape;

use crate::arrivals::Incoming;
use crate::config::{DEFAULT_PRESET, Device};
use crate::devices::Configured;
use crate::error::{Error, Result};
use crate::input;
use crate::output::is_standard;
use crate::power::CutAfter;
use crate::provenance::{Fingerprint, Provenance};
use crate::run::{Job, Load, Observer, Precondition, READING, Unobserved};
use crate::summary::{Source, SourceKind};
use crate::trace::{self, Fit, Fitting, LateNotes, Options, Prepared, Request, Requests};
use crate::warm_up::Passes;
use crate::workload::arrival::Bursts;
use crate::workload::{self, Application, Generated, Profile, RealOrProfile, Times, Workload};

/// Where the requests come from.
#[derive(Clone, Debug, Default)]
pub enum Origin {
    /// The recorded trace that the program carries.
    #[default]
    Embedded,
    /// A trace file.
    Trace(PathBuf, Options),
    /// A named workload, the profile of a published trace (`paper/volume`), or a workload file (`name.toml`).
    Named(String),
}

impl Origin {
    /// The preset on which these requests run where the user names no device: the device of the benchmarks for a
    /// workload, a current 3D TLC drive for a trace.
    pub const fn usual_preset(&self) -> &'static str {
        match self {
            Self::Named(_) => "bench-512g",
            Self::Embedded | Self::Trace(..) => DEFAULT_PRESET,
        }
    }
}

/// The run that a user asks for. A field that is `None` follows from the workload.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Where the requests come from.
    pub origin: Origin,
    /// A folder of recorded traces, which go before profiles of the same name.
    pub traces: Option<PathBuf>,
    /// How many requests: at most this many of a trace, exactly this many of a workload.
    pub requests: Option<u64>,
    /// The treatment of requests beyond the device.
    pub fit: Fit,
    /// Factor on the time between requests, in an open loop.
    pub time_scale: Option<f64>,
    /// Requests outstanding in each queue, in a closed loop. A trace is then replayed without its times.
    pub queue_depth: Option<u32>,
    /// The pauses of a closed loop, if it is to have any.
    pub bursts: Option<Bursts>,
    /// The trace whose times the requests take in place of their own; `embedded` is the one that the program carries.
    pub times_of: Option<PathBuf>,
    /// Submission queues that the host uses: in a closed loop one, else all of the device.
    pub queues: Option<u16>,
    /// The namespace that the requests are for, counted from 1 as its users do; the first.
    pub namespace: Option<u16>,
    /// Time between an answer and the next submission, in a closed loop.
    pub think_time: Option<Duration>,
    /// The state of the device before.
    pub precondition: Option<Precondition>,
    /// The seed of all random streams.
    pub seed: u64,
    /// Where every request is to be logged.
    pub log: Option<PathBuf>,
    /// When the power is cut, if at all.
    pub power_cut: Option<CutAfter>,
    /// The snapshot that the device is restored from, in place of a precondition.
    pub from_snapshot: Option<PathBuf>,
    /// Where the device is to be saved after the run.
    pub save_snapshot: Option<PathBuf>,
    /// The program that runs it, for the result.
    pub provenance: Provenance,
}

/// Requests that are ready to run, and what belongs to them.
struct Ready {
    source: Source,
    requests: Incoming,
    total: Option<u64>,
    /// When the last request arrives, where that is known.
    last: Option<Instant>,
    /// The queue depth of a closed loop, where the workload has one.
    queue_depth: Option<u32>,
    /// The pauses of a closed loop, where the workload has some.
    bursts: Option<Bursts>,
    /// Submission queues and stream, where the workload says so.
    queues: Option<u16>,
    stream: u8,
    /// Whether the trace says which processor a request came from.
    has_processors: bool,
    precondition: Precondition,
    notes: Vec<String>,
    trace_file: Option<Fingerprint>,
    late_notes: LateNotes,
}

impl std::str::FromStr for Precondition {
    type Err = String;

    /// Reads `empty`, `filled`, `steady-state`, `steady-state:` and the fraction that it is of, `workload`, `workload:` and the
    /// number of drive writes, or the fraction that is filled.
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let steady_to = text.strip_prefix("steady-state:").map(str::parse::<f64>);
        if let Some(drives) = text.strip_prefix("workload:") {
            let drives = drives.parse::<f64>().ok().filter(|drives| *drives > 0.0 && *drives <= 1_000.0);
            return drives.map(|drives| Self::Workload(Some(drives))).ok_or_else(|| refused(text));
        }
        match (text, steady_to, text.parse::<f64>()) {
            ("empty", ..) => Ok(Self::Empty),
            ("filled", ..) => Ok(Self::Filled(1.0)),
            ("steady-state", ..) => Ok(Self::Steady),
            ("workload", ..) => Ok(Self::Workload(None)),
            (_, Some(Ok(fraction)), _) if fraction > 0.0 && fraction <= 1.0 => Ok(Self::SteadyTo(fraction)),
            (_, None, Ok(fraction)) if (0.0..=1.0).contains(&fraction) => Ok(Self::Filled(fraction)),
            _ => Err(refused(text)),
        }
    }
}

fn refused(text: &str) -> String {
    format!(
        "found \"{text}\", wanted empty, filled, steady-state, steady-state:0.5 of a fraction above 0, workload, workload:3 for \
         3 drive writes, at most 1000, or the fraction to fill, from 0 to 1"
    )
}

impl From<workload::Precondition> for Precondition {
    fn from(wished: workload::Precondition) -> Self {
        match wished {
            workload::Precondition::Empty => Self::Empty,
            workload::Precondition::Filled => Self::Filled(1.0),
            workload::Precondition::SteadyState => Self::Steady,
            workload::Precondition::Workload => Self::Workload(None),
        }
    }
}

impl Plan {
    /// The job of running this on `device`.
    ///
    /// # Errors
    /// A file that cannot be read or does not exist, and settings that do not fit together.
    pub fn job(&self, device: &Device) -> Result<Job> {
        self.job_watched(device, &mut Unobserved)
    }

    /// The same, with an observer that is told how far a trace has been read.
    ///
    /// # Errors
    /// As for [`job`](Self::job).
    pub fn job_watched(&self, device: &Device, observer: &mut dyn Observer) -> Result<Job> {
        let shape = device.configured.shape();
        let namespace = self.namespace_of(&shape)?;
        let capacity = SECTOR * shape.namespaces[usize::from(namespace)];
        let ready = self.ready(capacity, self.seed, observer)?;
        let pace = self.pace(ready.queue_depth, ready.bursts)?;
        check_times(pace, &ready)?;
        let spread = self.spread(&ready, pace, &*device.configured)?;
        let load = Load {
            device_name: device.name.clone(),
            config_text: device.text.clone(),
            pace,
            spread,
            namespace,
            stream: ready.stream,
            source: ready.source,
            requests: ready.requests,
            total: ready.total,
            seed: self.seed,
            log: self.log.clone(),
            power_cut: self.power_cut,
            notes: ready.notes,
            late_notes: ready.late_notes,
            provenance: self.provenance.clone(),
            trace_file: ready.trace_file,
            passes: self.passes(capacity),
        };
        Ok(Job {
            device: Arc::clone(&device.configured),
            precondition: self.precondition.unwrap_or(ready.precondition),
            from_snapshot: self.from_snapshot.clone(),
            save_snapshot: self.save_snapshot.clone(),
            load,
        })
    }

    /// The requests, for a namespace of this capacity; those of a generator are drawn with `seed`.
    fn ready(&self, capacity: Bytes, seed: u64, observer: &mut dyn Observer) -> Result<Ready> {
        let ready = match &self.origin {
            Origin::Embedded => self.replayed(trace::prepare_embedded(self.requests)?, capacity),
            Origin::Trace(path, options) => self.read(path, options, capacity, observer),
            Origin::Named(name) => self.named(name, capacity, seed, observer),
        }?;
        let Some(of) = &self.times_of else { return Ok(ready) };
        let times = recorded_times(Some(of))?;
        Ok(Ready {
            requests: Incoming::InOrder(times.pace(ready.requests.in_order())),
            last: None,
            queue_depth: None,
            bursts: None,
            ..ready
        })
    }

    /// The requests once more, as often as is wanted; none of what is read from standard input.
    fn passes(&self, capacity: Bytes) -> Option<Passes> {
        let again = self.clone();
        let comes_once = |path: &Path| is_standard(path) || !path.is_file();
        match &self.origin {
            Origin::Trace(path, _) if comes_once(path) => None,
            Origin::Named(name) if is_standard(Path::new(name)) => None,
            _ => Some(Box::new(move |pass| {
                // The popular addresses do not follow from the seed: a pass draws other requests of the same kind.
                let seed = Seed(again.seed).stream("lab.pass", pass).below(u64::MAX);
                Ok(again.ready(capacity, seed, &mut Unobserved)?.requests.in_order())
            })),
        }
    }

    /// The requests of a trace file, of which the bytes are hashed beside.
    fn read(
        &self,
        path: &Path,
        options: &Options,
        capacity: Bytes,
        observer: &mut dyn Observer,
    ) -> Result<Ready> {
        let trace_file = Fingerprint::of(path);
        let mut begun = false;
        let trace = trace::prepare(path, options, self.requests, &mut |progress| {
            if !std::mem::replace(&mut begun, true) {
                // With a limit on the number of requests, the whole trace is not the measure of progress.
                observer.phase(READING, progress.of.filter(|_| self.requests.is_none()));
            }
            observer.goes_on(progress.bytes);
        })?;
        Ok(Ready { trace_file, ..self.replayed(trace, capacity)? })
    }

    /// The requests of a trace, fitted to the device. It runs on a filled device, so that reads find data.
    fn replayed(&self, trace: Prepared, capacity: Bytes) -> Result<Ready> {
        let (source, survey) = (trace.source(), trace.survey);
        let Prepared { notes, late_notes, requests, .. } = trace;
        let fits = survey.is_whole && survey.extent <= capacity;
        if !survey.is_whole && self.fit == Fit::Scale {
            return Err(Error::Argument {
                what: "fit".into(),
                found: format!(
                    "scale, for a trace of more than {} requests that cannot be read twice",
                    trace::HELD
                ),
                wanted: "a file, or fit = wrap or refuse".into(),
            });
        }
        let extent = survey.is_whole.then_some(survey.extent);
        let requests: Requests = if fits {
            requests
        } else {
            let fitting = Fitting::new(self.fit, capacity, extent);
            if survey.is_whole && self.fit == Fit::Refuse {
                return Err(first_refusal(requests, fitting));
            }
            Box::new(Fitted { requests, fitting, late_notes: late_notes.clone() })
        };
        Ok(Ready {
            source,
            total: survey.is_whole.then_some(survey.requests),
            last: survey.is_whole.then_some(survey.last),
            requests: Incoming::InOrder(requests),
            queue_depth: None,
            bursts: None,
            queues: None,
            stream: 0,
            has_processors: survey.has_processors,
            precondition: Precondition::Filled(1.0),
            notes,
            late_notes,
            trace_file: None,
        })
    }

    fn named(&self, name: &str, capacity: Bytes, seed: u64, observer: &mut dyn Observer) -> Result<Ready> {
        if name.ends_with(".toml") || is_standard(Path::new(name)) {
            let (path, shown) = (Path::new(name), input::shown(Path::new(name)));
            return self.generated(&shown.to_string_lossy(), read_workload(path)?, capacity, seed);
        }
        if let Some(generated) = Generated::named(name) {
            return self.generated(name, generated, capacity, seed);
        }
        if !Profile::names().iter().any(|known| known == name) {
            return Err(Error::Argument {
                what: "workload".into(),
                found: format!("`{name}`"),
                wanted: format!(
                    "a workload, a profile or a file that ends in .toml: {}",
                    workload::one_of_all(name)
                ),
            });
        }
        match workload::resolve(name, self.traces.as_deref())? {
            RealOrProfile::Real(path) => self.read(&path, &Options::default(), capacity, observer),
            RealOrProfile::Profile(profile) => self.profile(&profile, capacity),
        }
    }

    fn generated(&self, name: &str, generated: Generated, capacity: Bytes, seed: u64) -> Result<Ready> {
        match generated {
            Generated::Pattern(pattern) => self.pattern(name, *pattern, capacity, seed),
            Generated::Application(application) => self.application(name, *application, capacity, seed),
        }
    }

    fn pattern(&self, name: &str, mut workload: Workload, capacity: Bytes, seed: u64) -> Result<Ready> {
        workload.requests = self.requests.unwrap_or(workload.requests);
        let complain = |complaints| Error::Config(under(name, &complaints));
        let generator = workload.generator(Seed(seed), capacity).map_err(complain)?;
        Ok(Ready {
            queue_depth: workload.arrival.queue_depth(),
            bursts: workload.bursts,
            queues: workload.queues,
            stream: workload.stream,
            precondition: workload.precondition.into(),
            ..synthetic(name, Incoming::generated(generator), workload.requests)
        })
    }

    fn application(&self, name: &str, mut asked: Application, capacity: Bytes, seed: u64) -> Result<Ready> {
        asked.requests = self.requests.unwrap_or(asked.requests);
        let complain = |complaints| Error::Config(under(name, &complaints));
        let (requests, depth) =
            Incoming::of(&asked, self.queue_depth, Seed(seed), capacity).map_err(complain)?;
        Ok(Ready {
            queue_depth: Some(depth),
            bursts: asked.bursts,
            queues: asked.queues,
            stream: asked.stream,
            precondition: asked.precondition.into(),
            ..synthetic(name, requests, asked.requests)
        })
    }

    /// Generated to published statistics. Where the volume is larger than the device, its requests are fitted.
    fn profile(&self, profile: &Profile, capacity: Bytes) -> Result<Ready> {
        let generator = profile.generator(Seed(self.seed), 1.0);
        let notes = vec![format!("generated to the statistics of {}: not a recorded trace", profile.source)];
        let late_notes = LateNotes::default();
        let (too_large, limit) = (generator.span() > capacity, self.requests.unwrap_or(u64::MAX));
        let generator = generator.take(usize::try_from(limit).unwrap_or(usize::MAX));
        let requests: Requests = if too_large {
            let end = |request: Request| request.offset.0.saturating_add(request.size.0);
            let extent = Bytes(generator.clone().map(end).max().unwrap_or(0));
            let fitting = Fitting::new(self.fit, capacity, Some(extent));
            let requests: Requests = Box::new(generator.map(Ok));
            if self.fit == Fit::Refuse && extent > capacity {
                return Err(first_refusal(requests, fitting));
            }
            Box::new(Fitted { requests, fitting, late_notes: late_notes.clone() })
        } else {
            Box::new(generator.map(Ok))
        };
        Ok(Ready {
            source: Source { name: profile.name.clone(), kind: SourceKind::Profile },
            requests: Incoming::InOrder(requests),
            total: self.requests,
            last: None,
            queue_depth: profile.chosen.duration.is_none().then_some(TIMELESS_DEPTH),
            bursts: None,
            queues: None,
            stream: 0,
            has_processors: false,
            precondition: Precondition::Filled(1.0),
            notes,
            late_notes,
            trace_file: None,
        })
    }

    /// The namespace of the requests, counted from 0.
    fn namespace_of(&self, shape: &Shape) -> Result<u16> {
        let (number, count) = (self.namespace.unwrap_or(1), shape.namespaces.len());
        if (1..=count).contains(&usize::from(number)) {
            return Ok(number - 1);
        }
        Err(Error::Argument {
            what: "namespace".into(),
            found: number.to_string(),
            wanted: format!("from 1 to {count}, the namespaces of the device"),
        })
    }

    /// Over which submission queues the requests go.
    fn spread(&self, ready: &Ready, pace: Pace, device: &dyn Configured) -> Result<Spread> {
        let of_device = device.queues();
        let usual = if matches!(pace, Pace::Open { .. }) { of_device } else { 1 };
        let queues = self.queues.or(ready.queues).unwrap_or(usual);
        if queues == 0 || queues > of_device {
            return Err(Error::Argument {
                what: "queues".into(),
                found: queues.to_string(),
                wanted: format!("from 1 to {of_device}, the submission queues of the device's interface"),
            });
        }
        Ok(Spread { queues, is_bound: ready.has_processors })
    }

    /// When requests are submitted: in a closed loop where the user or the workload says so, else by their times.
    fn pace(&self, usual_depth: Option<u32>, usual_bursts: Option<Bursts>) -> Result<Pace> {
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
        match (self.bursts.or(usual_bursts), self.think_time) {
            (Some(_), Some(think)) => refuse("think time", &think, "none in a closed loop with bursts"),
            (Some(bursts), None) => {
                let mut complaints = Complaints::default();
                bursts.check(&mut complaints);
                complaints
                    .or_ok(Pace::Bursts { depth, on: bursts.on, off: bursts.off })
                    .map_err(Error::Config)
            }
            (None, Some(think)) if think > Duration::from_ms(3_600_000) => {
                refuse("think time", &think, "at most 1h")
            }
            (None, think) => Ok(Pace::Closed { depth, think: think.unwrap_or(Duration::ZERO) }),
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

/// The times of a trace: those of the one that the program carries where there is no path, or it is `embedded`.
///
/// # Errors
/// Those of reading the trace, and [`Error::Argument`] if its requests have no times.
pub fn recorded_times(of: Option<&Path>) -> Result<Times> {
    let trace = match of.filter(|path| *path != Path::new("embedded")) {
        Some(path) => trace::prepare(path, &Options::default(), None, &mut |_| {})?,
        None => trace::prepare_embedded(None)?,
    };
    let name = trace.name.clone();
    match Times::of(trace.requests)? {
        Some(times) => Ok(times),
        None => refuse(&format!("times of {name}"), &"none", "a trace whose requests have times"),
    }
}

/// Requests on their way into a device that is smaller than their addresses.
struct Fitted {
    requests: Requests,
    fitting: Fitting,
    late_notes: LateNotes,
}

impl Iterator for Fitted {
    type Item = trace::Result<Request>;

    fn next(&mut self) -> Option<trace::Result<Request>> {
        let next = self.requests.next();
        match next {
            Some(Ok(mut request)) => Some(self.fitting.apply(&mut request).map(|()| request)),
            None => {
                self.late_notes.extend(self.fitting.note());
                self.fitting = Fitting::new(Fit::Wrap, Bytes(0), None);
                None
            }
            error => error,
        }
    }
}

/// The error of the first request that is beyond the device.
fn first_refusal(mut requests: Requests, mut fitting: Fitting) -> Error {
    let refusal =
        requests.find_map(|request| request.and_then(|mut request| fitting.apply(&mut request)).err());
    refusal.expect("a request ends where the highest does").into()
}

/// A trace that takes longer than there is time is refused before it runs.
fn check_times(pace: Pace, ready: &Ready) -> Result<()> {
    let Pace::Open { time_scale } = pace else { return Ok(()) };
    let last = ready.last.map_or(0.0, |last| last.seconds() * time_scale);
    if last <= Duration::LIMIT.seconds() {
        return Ok(());
    }
    Err(Error::Argument {
        what: ready.source.name.clone(),
        found: format!("a last request after {:.1} days of simulated time", last / 86_400.0),
        wanted: "at most 106 days (see --time-scale)".into(),
    })
}

/// Requests outstanding for a profile of a trace whose duration is not published. Chosen: as the named workloads.
const TIMELESS_DEPTH: u32 = 32;

/// Generated requests, of which nothing more is said.
fn synthetic(name: &str, requests: Incoming, total: u64) -> Ready {
    Ready {
        source: Source { name: name.into(), kind: SourceKind::Synthetic },
        requests,
        total: Some(total),
        last: None,
        queue_depth: None,
        bursts: None,
        queues: None,
        stream: 0,
        has_processors: false,
        precondition: Precondition::Filled(1.0),
        notes: Vec::new(),
        trace_file: None,
        late_notes: LateNotes::default(),
    }
}

/// A workload from a file of the user's.
fn read_workload(path: &Path) -> Result<Generated> {
    let shown = input::shown(path).display().to_string();
    let text = input::text(path, "a workload in TOML")?;
    Generated::from_toml(&shown, &text).map_err(Error::Config)
}

/// The complaints with the name of what they are about before their keys.
fn under(name: &str, complaints: &Complaints) -> Complaints {
    let mut named = Complaints::default();
    for complaint in &complaints.0 {
        named.add(format!("{name}: {}", complaint.key), &complaint.found, complaint.wanted.clone());
    }
    named
}

#[cfg(test)]
mod tests;
