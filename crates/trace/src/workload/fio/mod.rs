//! fio job files: the requests of their jobs, and their times.
//!
//! [`JobFile::parse`] parses a job file; a key that is not simulated is an error. [`JobFile::jobs`] returns the
//! requests on a device. Every job is cloned `numjobs` times, and each clone is a lane that keeps up to
//! `iodepth` requests outstanding. [`Jobs`] serves the lanes concurrently. Sizes, times, rates and addresses
//! are those of fio (its HOWTO and source, version 3.42).

mod addresses;
mod check;
mod clock;
mod cursor;
mod engines;
mod files;
mod generator;
mod job;
mod jobs;
mod keys;
mod lane;
mod lines;
mod map;
mod parse;
mod replay;
mod settings;
mod shared;
mod simulated;
mod table;
mod values;
mod written;
mod zones;

#[cfg(test)]
mod tests;

pub use jobs::Jobs;
pub use lines::Surroundings;

use wordline_kernel::{Bytes, Complaints, Seed};

use cursor::Span;
use files::Layout;
use job::Job;
use jobs::Start;
use lane::Lane;
use replay::ReplayedTrace;
use settings::{ZoneMode, ZoneSettings};
use shared::Shared;
use zones::Zones;

/// Zones of a zoned namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceZones {
    /// Bytes from the start of a zone to the start of the next one.
    pub size: Bytes,
    /// Writable bytes of a zone.
    pub capacity: Bytes,
    /// Bytes written before the jobs start, zone by zone from the first on.
    pub filled: Bytes,
}

/// Upper bound on clones of all jobs together. Chosen: the maximum number of queues of a device.
const MAX_LANES: u64 = 65_535;

/// A parsed job file.
#[derive(Clone, Debug, PartialEq)]
pub struct JobFile {
    /// Name of the file in messages.
    name: String,
    jobs: Vec<Job>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

impl JobFile {
    /// Parses the text of the job file called `name`, which refers to no other file and to no variable of the
    /// environment.
    ///
    /// # Errors
    /// All errors, each with file, line and key, what was found and what was expected.
    pub fn parse(name: &str, text: &str) -> Result<Self, Complaints> {
        let include = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        Self::parse_within(name, text, Surroundings { include: &include, variable: &|_| None })
    }

    /// Parses the text of the job file called `name` in its surroundings.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn parse_within(name: &str, text: &str, around: Surroundings<'_>) -> Result<Self, Complaints> {
        let (jobs, notes) = parse::parse(name, text, around)?;
        Ok(Self { name: name.into(), jobs, notes })
    }

    /// Lets its jobs submit requests by their rates, whatever is outstanding: as `io_submit_mode=offload`.
    #[must_use]
    pub fn offloaded(mut self) -> Self {
        self.jobs.iter_mut().for_each(|job| job.settings.queue.is_offloaded = true);
        self
    }

    /// Whether all of its jobs have a rate or think time, so that a fast enough device is idle at times.
    pub fn has_pauses(&self) -> bool {
        self.jobs.iter().all(|job| job.settings.replay.is_some() || job.settings.pace.has_pauses())
    }

    /// Paths of the traces that its jobs replay.
    pub fn traces(&self) -> impl Iterator<Item = &str> {
        self.jobs.iter().filter_map(|job| job.settings.replay.as_deref())
    }

    /// Returns the requests of its jobs on a device of `capacity`, at most `limit` of them if there is a
    /// limit.
    ///
    /// # Errors
    /// Jobs that extend beyond the device, or too many jobs.
    pub fn jobs(&self, seed: Seed, capacity: Bytes, limit: Option<u64>) -> Result<Jobs, Complaints> {
        self.jobs_on(seed, capacity, None, limit)
    }

    /// As [`jobs`](Self::jobs), on a zoned namespace with these `zones`.
    ///
    /// # Errors
    /// As [`jobs`](Self::jobs), and zones that are not those of the device.
    pub fn jobs_on(
        &self,
        seed: Seed,
        capacity: Bytes,
        zones: Option<DeviceZones>,
        limit: Option<u64>,
    ) -> Result<Jobs, Complaints> {
        if let Some(device) = zones
            && self.jobs.iter().any(|job| job.settings.zones.has_usual_size)
        {
            return self.with_zones_of(device).jobs_on(seed, capacity, zones, limit);
        }
        let mut complaints = Complaints::default();
        let count: u64 = self.jobs.iter().map(|job| job.settings.queue.clones).sum();
        complaints.require(
            count <= MAX_LANES,
            &format!("{}: numjobs", self.name),
            count,
            format!("at most {MAX_LANES} jobs in all"),
        );
        complaints.into_result(())?;
        let layout = self.layout(capacity)?;
        let mut complaints = Complaints::default();
        let (mut lanes, mut starts, mut notes) = (Vec::new(), Vec::new(), Vec::new());
        for (job, first) in self.jobs.iter().zip(self.starts()) {
            let trace = match job.settings.replay.as_deref().map(replay::read).transpose() {
                Ok(trace) => trace.map(|trace| {
                    notes.extend(trace.notes);
                    trace.requests
                }),
                Err((found, wanted)) => {
                    complaints.add(job.place("read_iolog"), found, wanted);
                    continue;
                }
            };
            let mut replayed: Option<(Span, ReplayedTrace)> = None;
            for clone in 0..job.settings.queue.clones {
                match layout.spans(job, clone) {
                    Ok(spans) => {
                        let span = spans[0];
                        let lane = Lane::new(&job.settings, spans, seed, lanes.len() as u64);
                        let new = |trace| (span, ReplayedTrace::new(trace, &span, job.settings.total.loops));
                        let known = replayed.take().filter(|(known, _)| *known == span);
                        replayed = trace.as_deref().map(|trace| known.unwrap_or_else(|| new(trace)));
                        lanes.push(match &replayed {
                            Some((_, replay)) => lane.replaying(replay.clone()),
                            None => lane,
                        });
                    }
                    Err(refusal) => {
                        job.complain(&mut complaints, refusal);
                        break;
                    }
                }
                // The clones of a job start with its first one.
                starts.push(Start { stonewall: first.stonewall && clone == 0, ..first.clone() });
            }
        }
        complaints.into_result(())?;
        let shared = Shared::new(self.zones(capacity, zones)?);
        let names = self.jobs.iter().map(|job| job.name.clone()).collect();
        let ends = self.jobs.iter().any(|job| job.settings.order.ends);
        let mut jobs = Jobs::new(lanes, starts, names, shared, limit, ends);
        jobs.notes = unique(notes);
        Ok(jobs)
    }

    /// The same jobs; those that do not give their zones have those of the device.
    fn with_zones_of(&self, device: DeviceZones) -> Self {
        let mut own = self.clone();
        for zones in own.jobs.iter_mut().map(|job| &mut job.settings.zones) {
            if zones.has_usual_size {
                (zones.size, zones.has_usual_size) = (device.size.0, false);
            }
        }
        own
    }

    /// Places the files of all jobs.
    fn layout(&self, capacity: Bytes) -> Result<Layout, Complaints> {
        let mut complaints = Complaints::default();
        let mut layout = Layout::new(&self.jobs, capacity.0);
        let mut order = Vec::new();
        for job in &self.jobs {
            for clone in 0..job.settings.queue.clones {
                if let Err(refusal) = layout.place(job, clone) {
                    job.complain(&mut complaints, refusal);
                    break;
                }
                order.extend(job.files(clone));
            }
        }
        if let (Err(refusal), Some(job)) = (layout.finish(&unique(order)), self.jobs.last()) {
            job.complain(&mut complaints, refusal);
        }
        complaints.into_result(layout)
    }

    /// Returns the start of each job.
    fn starts(&self) -> Vec<Start> {
        let (mut group, mut section) = (0, 0);
        let start = |(number, job): (usize, &Job)| {
            let order = &job.settings.order;
            let is_later = number > 0;
            group += u32::from(is_later && (order.stonewall || order.new_group));
            section += u32::from(is_later && order.stonewall);
            let named =
                |name: &String| self.jobs.iter().position(|job| job.name == *name || job.section == *name);
            let wait_for = order.wait_for.as_ref().and_then(named).map(|job| job as u16);
            Start {
                job: number as u16,
                delay: job.settings.times.delay,
                stonewall: order.stonewall,
                wait_for,
                group,
                section,
                scope: order.scope,
            }
        };
        self.jobs.iter().enumerate().map(start).collect()
    }

    /// Zones that jobs write in order; `None` if no job does.
    fn zones(&self, capacity: Bytes, device: Option<DeviceZones>) -> Result<Option<Zones>, Complaints> {
        let mut zoned = self.jobs.iter().filter(|job| job.settings.zones.kind() == ZoneMode::Zbd);
        let Some(job) = zoned.next() else { return Ok(None) };
        let ZoneSettings { size, capacity: writable, max_open, .. } = job.settings.zones;
        let mut complaints = Complaints::default();
        if let Some(device) = device {
            let wanted = format!("{}, the zones of the device, or none", device.size);
            complaints.require(size == device.size.0, &job.place("zonesize"), Bytes(size), wanted);
            let wanted = format!("{}, the capacity of the zones of the device, or none", device.capacity);
            let is_own = writable == 0 || writable == device.capacity.0;
            complaints.require(is_own, &job.place("zonecapacity"), Bytes(writable), wanted);
        }
        complaints.into_result(())?;
        let (size, writable) = device.map_or((size, writable), |own| (own.size.0, own.capacity.0));
        let filled = device.map(|own| own.filled.0);
        Ok(Some(Zones::new(capacity.0, size, writable, max_open, filled)))
    }
}

/// The texts, each at its first place only.
fn unique(mut texts: Vec<String>) -> Vec<String> {
    let mut seen = std::collections::BTreeSet::new();
    texts.retain(|text| seen.insert(text.clone()));
    texts
}
