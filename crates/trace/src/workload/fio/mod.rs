//! fio job files: the requests of their jobs, and their times.
//!
//! [`JobFile::parse`] parses a job file; an unknown key is an error. [`JobFile::jobs`] returns the requests
//! on a device. Every job is cloned `numjobs` times, and each clone is a lane that keeps up to `iodepth`
//! requests outstanding. [`Jobs`] serves the lanes concurrently. Sizes, times and rates are interpreted as
//! fio does (its HOWTO, version 3).

mod addresses;
mod jobs;
mod keys;
mod lane;
mod parse;
mod replay;
mod values;

#[cfg(test)]
mod tests;

pub use jobs::Jobs;

use std::collections::BTreeMap;

use wordline_kernel::{Bytes, Complaints, Seed};

use keys::Settings;
use lane::{Lane, Region};
use values::Amount;

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

/// A section of a job file, including the global sections before it.
#[derive(Clone, Debug, PartialEq)]
struct Job {
    name: String,
    /// Line of its header.
    line: usize,
    /// Line of each key, in this section or in a global one.
    lines: BTreeMap<String, usize>,
    settings: Settings,
}

impl JobFile {
    /// Parses the text of the job file called `name`.
    ///
    /// # Errors
    /// All errors, each with file, line and key, what was found and what was expected.
    pub fn parse(name: &str, text: &str) -> Result<Self, Complaints> {
        parse::parse(name, text)
    }

    /// Whether all of its jobs have a rate or think time, so that a fast enough device is idle at times.
    pub fn has_pauses(&self) -> bool {
        self.jobs.iter().all(|job| job.settings.has_pauses())
    }

    /// Paths of the traces that its jobs replay.
    pub fn traces(&self) -> impl Iterator<Item = &str> {
        self.jobs.iter().filter_map(|job| job.settings.replay.log.as_deref())
    }

    /// Returns the requests of its jobs on a device of `capacity`, at most `limit` of them if there is a
    /// limit.
    ///
    /// # Errors
    /// Jobs that extend beyond the device, or too many jobs.
    pub fn jobs(&self, seed: Seed, capacity: Bytes, limit: Option<u64>) -> Result<Jobs, Complaints> {
        let mut complaints = Complaints::default();
        let count: u64 = self.jobs.iter().map(|job| u64::from(job.settings.queue.clones)).sum();
        complaints.require(
            count <= MAX_LANES,
            &format!("{}: numjobs", self.name),
            count,
            format!("at most {MAX_LANES} jobs in all"),
        );
        complaints.into_result(())?;
        let (mut complaints, mut files) = (Complaints::default(), 0);
        let (mut lanes, mut groups, mut names) = (Vec::new(), Vec::new(), Vec::new());
        for job in &self.jobs {
            if job.settings.stonewall || groups.is_empty() {
                groups.push(0..0);
            }
            let before = lanes.len();
            let trace = match job.settings.replay.log.as_deref().map(replay::read).transpose() {
                Ok(trace) => trace,
                Err((found, wanted)) => {
                    complaints.add(job.place(&self.name, "read_iolog"), found, wanted);
                    continue;
                }
            };
            for clone in 0..job.settings.queue.clones {
                match job.region(clone, capacity, &mut files) {
                    Ok(region) => {
                        let lane = Lane::new(&job.settings, region, seed, lanes.len() as u64);
                        lanes.push(lane.replaying(trace.as_deref(), region, job.settings.replay.loops));
                    }
                    Err((key, found, wanted)) => {
                        complaints.add(job.place(&self.name, key), found, wanted);
                        break;
                    }
                }
            }
            names.push((job.name.clone(), lanes.len() - before));
            let begin = groups.len().checked_sub(2).map_or(0, |before: usize| groups[before].end);
            *groups.last_mut().expect("one was pushed") = begin..lanes.len();
        }
        complaints.into_result(())?;
        Ok(Jobs::new(lanes, groups, names, limit))
    }
}

impl Job {
    /// Position of a key in the file `file` for messages. A key that is not given is reported at the section
    /// header.
    fn place(&self, file: &str, key: &str) -> String {
        let line = self.lines.get(key).unwrap_or(&self.line);
        format!("{file}:{line}: [{}] {key}", self.name)
    }

    /// Returns the byte range of a clone. Without a file name each clone has its own file, one after another,
    /// and `files` is the start of the next file. On failure returns the key, what was found and what was
    /// expected.
    fn region(
        &self,
        clone: u32,
        capacity: Bytes,
        files: &mut u64,
    ) -> Result<Region, (&'static str, String, String)> {
        let place = &self.settings.place;
        let align = self.settings.alignment();
        let largest = self.settings.largest();
        let offset = place.offset.of(capacity.0, align);
        let offset =
            offset.saturating_add(place.increment.of(capacity.0, align).saturating_mul(clone.into()));
        let region = if place.file.is_some() {
            let behind = capacity.0.saturating_sub(offset);
            let length = place.size.map_or(behind, |size| size.of(capacity.0, 1));
            if offset >= capacity.0 {
                return Err(("offset", offset.to_string(), format!("less than the device's {capacity}")));
            }
            if length > behind {
                let wanted = format!("at most the {} of the device after the offset", Bytes(behind));
                return Err(("size", shown(place.size), wanted));
            }
            Region { begin: offset, length }
        } else {
            let Some(Amount::Bytes(length)) = place.size else {
                let wanted = "bytes: without `filename` each job has a file of its own".into();
                return Err(("size", shown(place.size), wanted));
            };
            let begin = *files;
            *files = files.saturating_add(offset).saturating_add(length).next_multiple_of(FILE_ALIGN);
            if *files > capacity.0 {
                let found = format!("files of {} in all", Bytes(*files));
                return Err(("size", found, format!("files within the device's {capacity}")));
            }
            Region { begin: begin + offset, length }
        };
        if region.length < largest {
            let wanted = format!("at least the size of a request, {}", Bytes(largest));
            return Err(("size", Bytes(region.length).to_string(), wanted));
        }
        Ok(region)
    }
}

/// Alignment of the files of jobs. Chosen: a block of most file systems.
const FILE_ALIGN: u64 = 4096;

fn shown(size: Option<Amount>) -> String {
    match size {
        None => "none".into(),
        Some(Amount::Bytes(bytes)) => Bytes(bytes).to_string(),
        Some(Amount::Percent(percent)) => format!("{percent}%"),
    }
}
