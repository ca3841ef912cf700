//! Prepares the requests of a workload, from a name, a file or a list, to run on a device.

use std::path::Path;
use std::sync::{Arc, PoisonError};

use wordline_device::SECTOR;
use wordline_device::block_device::{Shape, ZoneShape};
use wordline_host::Pace;
use wordline_kernel::{Bytes, Complaints, Duration, Instant, Seed};

use super::generated::Generated;
use super::job_file::job_file;
use super::{NO_LOAD, Origin, Workload, refuse};
use crate::arrivals::{RequestSource, Submitted};
use crate::error::{Error, Result};
use crate::input;
use crate::job::RunOptions;
use crate::load::{Precondition, Start};
use crate::observer::{Observer, READING};
use crate::output::is_standard;
use crate::provenance::Fingerprint;
use crate::summary::{Source, SourceKind};
use crate::trace::workload::application::ZoneLayout;
use crate::trace::workload::arrival::Bursts;
use crate::trace::workload::fio::DeviceZones;
use crate::trace::workload::{self, Application, Profile, RealOrProfile, Times, Workload as Pattern};
use crate::trace::{
    self, Fit, Fitter, LateNotes, Locator, Options, OverZones, Prepared, Request, Requests, Zones,
};

/// Properties that the requests must have.
pub(super) struct RequestDemand {
    pub capacity: Bytes,
    /// Size of the device's sectors.
    pub sector: Bytes,
    /// Seed of the run.
    pub seed: u64,
    /// Seed of a generator.
    pub drawn: u64,
    /// Number of requests that a generator draws in addition to its own number.
    pub beside: u64,
    /// Zones of the device, if it is a zoned namespace.
    pub zones: Option<DeviceZones>,
    /// The same zones, for an application.
    pub layout: Option<ZoneLayout>,
}

/// Requests that are ready to run, with their settings.
pub(super) struct PreparedRequests {
    pub source: Source,
    pub requests: RequestSource,
    pub total: Option<u64>,
    /// Arrival time of the last request, if known.
    pub last: Option<Instant>,
    /// The pace, if the source of the requests defines it.
    pub own_pace: Option<Pace>,
    /// Queue depth of a closed loop, if the workload sets it.
    pub queue_depth: Option<u32>,
    /// Pauses of a closed loop, if the workload sets them.
    pub bursts: Option<Bursts>,
    /// Think time, if the workload sets it.
    pub think_time: Option<Duration>,
    /// Submission queues and stream, if the workload sets them.
    pub queues: Option<u16>,
    pub stream: u8,
    /// Whether the trace has the processor of each request.
    pub has_processors: bool,
    pub precondition: Precondition,
    /// Number of zones that have the data of the workload at the start, from the first on, if it writes zones.
    /// No other state of the device fits the requests.
    pub filled_zones: Option<u32>,
    pub notes: Vec<String>,
    pub trace_file: Option<Fingerprint>,
    pub late_notes: LateNotes,
    /// Looks up the lines of requests, if they come from a file that can be read again.
    pub locator: Option<Locator>,
}

/// The zones of a device, as workloads see them.
pub fn zone_layout(shape: &Shape) -> Option<ZoneLayout> {
    let ZoneShape { size, capacity, count, max_active } = shape.zones?;
    Some(ZoneLayout { size, capacity, count, max_active })
}

impl RequestDemand {
    /// The demand of a run on a device.
    pub fn on(shape: &Shape, capacity: Bytes, options: &RunOptions, beside: u64) -> Self {
        let layout = zone_layout(shape);
        let zones = layout.map(|zones| {
            let all = zones.writable().0;
            let filled = options.precondition.map_or(0.0, Precondition::filled);
            DeviceZones {
                size: zones.size,
                capacity: zones.capacity,
                filled: Bytes((all as f64 * filled) as u64),
            }
        });
        let (seed, sector) = (options.seed, shape.sector_size);
        Self { capacity, sector, seed, drawn: seed, beside, zones, layout }
    }

    /// Bytes in which a generator draws addresses: those that can be written.
    fn writable(&self) -> Bytes {
        self.layout.map_or(self.capacity, |zones| zones.writable())
    }

    /// Requests of a generator on the [`writable`](Self::writable) bytes, at the addresses of the device.
    /// `total` is their number.
    fn placed(&self, requests: Requests, total: Option<u64>) -> Requests {
        let Some(zones) = self.layout.filter(ZoneLayout::has_gaps) else { return requests };
        let total = total.and_then(|total| usize::try_from(total).ok()).unwrap_or(usize::MAX);
        Box::new(OverZones::new(requests, zones).take(total))
    }
}

impl PreparedRequests {
    /// The state of the device before the first request. A workload that writes zones determines it.
    pub fn start(&mut self, options: &RunOptions, shape: &Shape) -> Result<Start> {
        let (Some(filled), Some(zones)) = (self.filled_zones, shape.zones) else {
            return Ok(options.start(self.precondition.usual_on(shape)));
        };
        let name = &self.source.name;
        if options.from_snapshot.is_some() {
            let wanted = "none: the workload begins with tables of its own in the zones";
            return refuse(&format!("from-snapshot of {name}"), &"a snapshot", wanted);
        }
        if options.precondition.is_some() {
            self.notes.push(format!(
                "the zones begin with the tables of {name}, and the others empty: the precondition has no effect"
            ));
        }
        // A quarter of a kilobyte more, so that rounding leaves no block out.
        let written = (u64::from(filled) * zones.capacity.0) as f64 + 256.0;
        let all = (u64::from(zones.count) * zones.capacity.0) as f64;
        Ok(Start::Preconditioned(Precondition::Filled(written / all)))
    }

    /// Checks that the trace stays within the limit of simulated time, before it runs.
    pub fn check_times(&self, pace: Pace) -> Result<()> {
        let (Pace::Open { time_scale } | Pace::Bounded { time_scale, .. }) = pace else { return Ok(()) };
        let last = self.last.map_or(0.0, |last| last.seconds() * time_scale);
        if last <= Duration::LIMIT.seconds() {
            return Ok(());
        }
        Err(Error::Argument {
            what: self.source.name.clone(),
            found: format!("a last request after {:.1} days of simulated time", last / 86_400.0),
            wanted: "at most 106 days (see --time-scale)".into(),
        })
    }
}

impl Workload {
    /// Prepares the requests.
    pub(super) fn ready(
        &self,
        wanted: &RequestDemand,
        observer: &mut dyn Observer,
    ) -> Result<PreparedRequests> {
        let ready = match &self.origin {
            Origin::Embedded if wanted.zones.is_some() => refuse(
                "workload",
                &"none",
                "one that writes zones in order, such as rocks: the trace of a run that names no load writes at any address",
            ),
            Origin::Embedded => {
                let trace = in_whole_sectors(trace::prepare_embedded(self.requests)?, wanted.sector);
                Ok(PreparedRequests { precondition: IN_USE, ..self.replayed(trace, wanted)?.recorded() })
            }
            Origin::Trace(path, options) => {
                let usual = if wanted.zones.is_some() { Zones::Keep } else { Zones::Map };
                let options = Options { zones: options.zones.or(Some(usual)), ..options.clone() };
                self.read(path, &options, wanted, observer)
            }
            Origin::Named(name) => self.of_name(name, wanted, observer),
            Origin::Generated(name, generated) => self.drawn(name, generated.clone(), wanted),
            Origin::Given(name, requests) => self.of_list(name, Arc::clone(requests), wanted),
            Origin::Submitted => self.of_session(),
        }?;
        let Some(of) = &self.times_of else { return Ok(ready) };
        let times = recorded_times(Some(of))?;
        Ok(PreparedRequests {
            requests: RequestSource::InOrder(times.pace(ready.requests.in_order())),
            last: None,
            own_pace: None,
            queue_depth: None,
            bursts: None,
            think_time: None,
            ..ready
        })
    }

    /// The requests of a trace file. Its digest is computed in the background.
    fn read(
        &self,
        path: &Path,
        options: &Options,
        wanted: &RequestDemand,
        observer: &mut dyn Observer,
    ) -> Result<PreparedRequests> {
        let trace_file = Fingerprint::of(path);
        let mut begun = false;
        let trace = trace::prepare(path, options, self.requests, &mut |progress| {
            if !std::mem::replace(&mut begun, true) {
                // If the number of requests is limited, the size of the trace file is not the amount of work.
                observer.phase(READING, progress.of.filter(|_| self.requests.is_none()));
            }
            observer.phase_progress(progress.bytes);
        })?;
        Ok(PreparedRequests { trace_file, ..self.replayed(trace, wanted)? })
    }

    /// The requests of a trace, fitted to the size of the device. The device is filled, so that reads find
    /// data.
    fn replayed(&self, trace: Prepared, wanted: &RequestDemand) -> Result<PreparedRequests> {
        let capacity = wanted.capacity;
        let (source, survey) = (trace.source(), trace.survey);
        let Prepared { name, notes, late_notes, requests, locator, .. } = trace;
        let fits = survey.is_whole && survey.extent <= capacity;
        if !survey.is_whole && self.fit == Fit::Scale {
            return Err(Error::Argument {
                what: "fit".into(),
                found: format!(
                    "scale, for a trace of more than {} requests that cannot be read twice",
                    trace::MAX_HELD_REQUESTS
                ),
                wanted: "a file, or wrap or refuse".into(),
            });
        }
        let extent = survey.is_whole.then_some(survey.extent);
        let requests: Requests = if fits {
            requests
        } else {
            let fitting = Fitter::new(self.fit, capacity, extent).over(wanted.layout);
            let fitting = fitting.of(&name).in_file(locator.clone());
            if survey.is_whole && self.fit == Fit::Refuse {
                return Err(first_refusal(requests, fitting));
            }
            fit_all(requests, fitting, &late_notes)
        };
        Ok(PreparedRequests {
            last: survey.is_whole.then_some(survey.last),
            requests: RequestSource::InOrder(requests),
            has_processors: survey.has_processors,
            notes,
            late_notes,
            locator,
            ..without_settings(&source.name, source.kind, survey.is_whole.then_some(survey.requests))
        })
    }

    fn of_name(
        &self,
        name: &str,
        wanted: &RequestDemand,
        observer: &mut dyn Observer,
    ) -> Result<PreparedRequests> {
        if name.ends_with(".toml") || is_standard(Path::new(name)) {
            let (path, shown) = (Path::new(name), input::shown(Path::new(name)));
            return self.drawn(&shown.to_string_lossy(), read_workload(path)?, wanted);
        }
        if name.ends_with(".fio") {
            return self.jobs(Path::new(name), wanted);
        }
        if name == NO_LOAD {
            return Ok(without_settings(name, SourceKind::Synthetic, Some(0)));
        }
        if let Some(generated) = Generated::named(name) {
            return self.drawn(name, generated, wanted);
        }
        if !Profile::names().iter().any(|known| known == name) {
            return Err(Error::Argument {
                what: "workload".into(),
                found: format!("`{name}`"),
                wanted: format!(
                    "a workload, a profile or a file that ends in .toml or .fio: {}",
                    workload::list_all_names(name)
                ),
            });
        }
        match workload::resolve(name, self.traces.as_deref())? {
            RealOrProfile::Real(path) => {
                let read = self.read(&path, &Options::default(), wanted, observer)?;
                Ok(read.recorded())
            }
            RealOrProfile::Profile(profile) => self.profile(&profile, wanted),
        }
    }

    fn drawn(&self, name: &str, generated: Generated, wanted: &RequestDemand) -> Result<PreparedRequests> {
        match generated {
            Generated::Pattern(pattern) => self.pattern(name, *pattern, wanted),
            Generated::Application(application) => self.application(name, *application, wanted),
        }
    }

    fn pattern(&self, name: &str, mut workload: Pattern, wanted: &RequestDemand) -> Result<PreparedRequests> {
        workload.requests = self.requests.unwrap_or(workload.requests);
        let complain = |complaints| Error::Config(with_name(name, &complaints));
        let generator = workload.generator(Seed(wanted.drawn), wanted.writable()).map_err(complain)?;
        let generator = generator.with_more(wanted.beside);
        let requests = match wanted.layout {
            None => RequestSource::generated(generator),
            Some(_) => {
                let total = workload.requests.saturating_add(wanted.beside);
                RequestSource::InOrder(wanted.placed(Box::new(generator.map(Ok)), Some(total)))
            }
        };
        Ok(PreparedRequests {
            queue_depth: workload.arrival.queue_depth(),
            bursts: workload.bursts,
            think_time: workload.think_time,
            queues: workload.queues,
            stream: workload.stream,
            precondition: workload.precondition.into(),
            ..synthetic(name, requests, workload.requests)
        })
    }

    fn application(
        &self,
        name: &str,
        mut asked: Application,
        wanted: &RequestDemand,
    ) -> Result<PreparedRequests> {
        asked.requests = self.requests.unwrap_or(asked.requests);
        let complain = |complaints| Error::Config(with_name(name, &complaints));
        let total = asked.requests;
        asked.requests = total.saturating_add(wanted.beside);
        let threads =
            asked.threads_on(Seed(wanted.drawn), wanted.capacity, wanted.layout).map_err(complain)?;
        let filled_zones = threads.filled_zones();
        let (requests, depth) = RequestSource::of_threads(threads, &asked, self.queue_depth);
        Ok(PreparedRequests {
            filled_zones,
            queue_depth: Some(depth),
            bursts: asked.bursts,
            queues: asked.queues,
            stream: asked.stream,
            precondition: asked.precondition.into(),
            ..synthetic(name, requests, total)
        })
    }

    /// The jobs of a fio job file. The device is filled, so that reads find data.
    fn jobs(&self, path: &Path, wanted: &RequestDemand) -> Result<PreparedRequests> {
        let name = input::shown(path).display().to_string();
        let file = job_file(path)?;
        let mut jobs = file
            .jobs_on(Seed(wanted.drawn), wanted.capacity, wanted.zones, self.requests)
            .map_err(Error::Config)?;
        let notes = [file.notes.clone(), std::mem::take(&mut jobs.notes)].concat();
        Ok(PreparedRequests {
            requests: RequestSource::Jobs(Box::new(jobs)),
            own_pace: Some(Pace::SourcePaced { pauses: file.has_pauses() }),
            has_processors: true,
            notes,
            ..without_settings(&name, SourceKind::Synthetic, None)
        })
    }

    /// Requests generated from published statistics. They are fitted if the volume is larger than the device.
    fn profile(&self, profile: &Profile, wanted: &RequestDemand) -> Result<PreparedRequests> {
        let (generator, capacity) = (profile.generator(Seed(wanted.seed), 1.0), wanted.writable());
        let notes = vec![format!("generated to the statistics of {}: not a recorded trace", profile.source)];
        let late_notes = LateNotes::default();
        let (too_large, limit) = (generator.span() > capacity, self.requests.unwrap_or(u64::MAX));
        let generator = generator.take(usize::try_from(limit).unwrap_or(usize::MAX));
        let requests: Requests = if too_large {
            let extent = generator.clone().map(|request| request.end()).max().unwrap_or_default();
            let fitting = Fitter::new(self.fit, capacity, Some(extent));
            let requests: Requests = Box::new(generator.map(Ok));
            if self.fit == Fit::Refuse && extent > capacity {
                return Err(first_refusal(requests, fitting));
            }
            fit_all(requests, fitting, &late_notes)
        } else {
            Box::new(generator.map(Ok))
        };
        Ok(PreparedRequests {
            requests: RequestSource::InOrder(wanted.placed(requests, self.requests)),
            queue_depth: profile.chosen.duration.is_none().then_some(TIMELESS_DEPTH),
            notes,
            late_notes,
            ..without_settings(&profile.name, SourceKind::Profile, self.requests)
        })
    }

    /// Requests from a list, fitted to the device like those of a trace.
    fn of_list(
        &self,
        name: &str,
        requests: Arc<[Request]>,
        wanted: &RequestDemand,
    ) -> Result<PreparedRequests> {
        let limit = self.requests.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
        let count = requests.len().min(limit);
        let all = (0..count).map(move |n| requests[n]);
        let extent = all.clone().map(|request| request.end()).max().unwrap_or_default();
        let last = all.clone().map(|request| request.arrival).max();
        let late_notes = LateNotes::default();
        Ok(PreparedRequests {
            requests: RequestSource::InOrder(self.fitted(
                Box::new(all.map(Ok)),
                extent,
                wanted,
                &late_notes,
            )?),
            last,
            late_notes,
            ..without_settings(name, SourceKind::Given, Some(count as u64))
        })
    }

    /// Requests that reach up to the byte `extent`. They are fitted to the device if they exceed it.
    fn fitted(
        &self,
        requests: Requests,
        extent: Bytes,
        wanted: &RequestDemand,
        late_notes: &LateNotes,
    ) -> Result<Requests> {
        if extent <= wanted.capacity {
            return Ok(requests);
        }
        let fitting = Fitter::new(self.fit, wanted.capacity, Some(extent)).over(wanted.layout);
        if self.fit == Fit::Refuse {
            return Err(first_refusal(requests, fitting));
        }
        Ok(fit_all(requests, fitting, late_notes))
    }

    /// Requests that a session submits.
    fn of_session(&self) -> Result<PreparedRequests> {
        if let Some(count) = self.requests {
            return refuse("requests", &count, "none: a session submits them");
        }
        if self.times_of.is_some() {
            return refuse("times", &"those of a trace", "none: a session says when a request arrives");
        }
        let requests = RequestSource::Submitted(Submitted::default());
        Ok(PreparedRequests { requests, ..without_settings("submitted requests", SourceKind::Given, None) })
    }
}

/// The arrival times of the trace at a path. Without a path, or with the path `embedded`, it is the embedded
/// trace.
///
/// # Errors
/// The errors of reading the trace. [`Error::Argument`] if its requests have no times.
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

/// Fits requests to a device that is smaller than their address range. The changes are a note of the end.
fn fit_all(requests: Requests, fitting: Fitter, late_notes: &LateNotes) -> Requests {
    let fitting = late_notes.add(fitting, |fitting| fitting.note().into_iter().collect());
    Box::new(requests.map(move |request| -> trace::Result<Request> {
        let mut request = request?;
        fitting.lock().unwrap_or_else(PoisonError::into_inner).apply(&mut request)?;
        Ok(request)
    }))
}

impl PreparedRequests {
    /// Marks the source as a recording.
    fn recorded(self) -> Self {
        Self { source: self.source.recorded(), ..self }
    }
}

/// The error of the first request that lies beyond the device.
fn first_refusal(mut requests: Requests, mut fitting: Fitter) -> Error {
    let refusal =
        requests.find_map(|request| request.and_then(|mut request| fitting.apply(&mut request)).err());
    refusal.expect("a request ends where the highest does").into()
}

/// The trace with its requests extended to whole sectors, as the file system would make them on a device with larger
/// sectors.
fn in_whole_sectors(mut trace: Prepared, sector: Bytes) -> Prepared {
    if sector > SECTOR {
        trace.notes.push(format!(
            "the trace was recorded on a device with sectors of {SECTOR}: its requests are extended to whole sectors of \
             {sector}"
        ));
        trace.requests = Box::new(trace.requests.map(move |request| {
            let request = request?;
            let end = (request.offset.0 + request.size.0).next_multiple_of(sector.0);
            let offset = request.offset.0 / sector.0 * sector.0;
            Ok(Request { offset: Bytes(offset), size: Bytes(end - offset), ..request })
        }));
    }
    trace
}

/// The state of the drive before the embedded trace. Chosen: a database drive that is 85 % full and long in
/// use, so that the replay includes GC.
const IN_USE: Precondition = Precondition::SteadyTo(0.85);

/// Queue depth for a profile of a trace whose duration is not published. Chosen: as for the named workloads.
const TIMELESS_DEPTH: u32 = 32;

/// Requests of a generator, with default settings.
fn synthetic(name: &str, requests: RequestSource, total: u64) -> PreparedRequests {
    PreparedRequests { requests, ..without_settings(name, SourceKind::Synthetic, Some(total)) }
}

/// Default settings, still without requests: open loop, on a filled device.
fn without_settings(name: &str, kind: SourceKind, total: Option<u64>) -> PreparedRequests {
    PreparedRequests {
        source: Source { name: name.into(), kind },
        requests: RequestSource::generated(std::iter::empty()),
        total,
        last: None,
        own_pace: None,
        queue_depth: None,
        bursts: None,
        think_time: None,
        queues: None,
        stream: 0,
        has_processors: false,
        precondition: Precondition::Filled(1.0),
        filled_zones: None,
        notes: Vec::new(),
        trace_file: None,
        late_notes: LateNotes::default(),
        locator: None,
    }
}

/// Reads a workload file of the user.
fn read_workload(path: &Path) -> Result<Generated> {
    let shown = input::shown(path).display().to_string();
    let text = input::text(path, "a workload in TOML")?;
    Generated::from_toml(&shown, &text).map_err(Error::Config)
}

/// The complaints, with a name in front of their keys.
fn with_name(name: &str, complaints: &Complaints) -> Complaints {
    let mut named = Complaints::default();
    for complaint in &complaints.0 {
        named.add(format!("{name}: {}", complaint.key), &complaint.found, complaint.wanted.clone());
    }
    named
}
