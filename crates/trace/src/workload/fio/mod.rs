//! Job files of fio: which requests their jobs make, and when.
//!
//! [`JobFile::parse`] reads one; a key that it does not know is refused by name. [`JobFile::jobs`] gives the requests on a
//! device: every job, as often as `numjobs` says, is a lane that keeps up to `iodepth` requests outstanding, and
//! [`Jobs`] serves the lanes side by side. Sizes, times and rates are read as fio reads them (its HOWTO, version 3).

mod jobs;
mod keys;
mod lane;
mod parse;
mod places;
mod values;

#[cfg(test)]
mod tests;

pub use jobs::Jobs;

use std::collections::BTreeMap;

use wordline_kernel::{Bytes, Complaints, Seed};

use keys::Settings;
use lane::{Lane, Region};
use values::Amount;

/// The clones of all jobs together at most. Chosen: as many as a device has queues at most.
const MOST_LANES: u64 = 65_535;

/// A job file that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct JobFile {
    /// Its name in messages.
    name: String,
    jobs: Vec<Job>,
    /// Things that the user should know of it.
    pub notes: Vec<String>,
}

/// A section of a job file, the global ones before it included.
#[derive(Clone, Debug, PartialEq)]
struct Job {
    name: String,
    /// The line of its head.
    line: usize,
    /// The line of each of its keys, in its section or in a global one.
    lines: BTreeMap<String, usize>,
    settings: Settings,
}

impl JobFile {
    /// Reads the text of the job file called `name`.
    ///
    /// # Errors
    /// Everything that is wrong, each with file, line and key, what was found and what was wanted.
    pub fn parse(name: &str, text: &str) -> Result<Self, Complaints> {
        parse::parse(name, text)
    }

    /// Whether all of its jobs have a rate or think, so that a device that keeps up with them has time without any request.
    pub fn has_pauses(&self) -> bool {
        self.jobs.iter().all(|job| job.settings.pace.has_pauses())
    }

    /// The requests of its jobs on a device of `capacity`, at most `limit` of them if there is a limit.
    ///
    /// # Errors
    /// Jobs that go beyond the device, and too many of them.
    pub fn jobs(&self, seed: Seed, capacity: Bytes, limit: Option<u64>) -> Result<Jobs, Complaints> {
        let mut complaints = Complaints::default();
        let count: u64 = self.jobs.iter().map(|job| u64::from(job.settings.queue.clones)).sum();
        complaints.require(
            count <= MOST_LANES,
            &format!("{}: numjobs", self.name),
            count,
            format!("at most {MOST_LANES} jobs in all"),
        );
        complaints.or_ok(())?;
        let (mut complaints, mut files) = (Complaints::default(), 0);
        let (mut lanes, mut groups, mut names) = (Vec::new(), Vec::new(), Vec::new());
        for job in &self.jobs {
            if job.settings.stonewall || groups.is_empty() {
                groups.push(0..0);
            }
            let before = lanes.len();
            for clone in 0..job.settings.queue.clones {
                match job.region(clone, capacity, &mut files) {
                    Ok(region) => lanes.push(Lane::new(&job.settings, region, seed, lanes.len() as u64)),
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
        complaints.or_ok(())?;
        Ok(Jobs::new(lanes, groups, names, limit))
    }
}

impl Job {
    /// Where a key stands in the file `file`, as complaints say it; a key that it does not have is missing at its head.
    fn place(&self, file: &str, key: &str) -> String {
        let line = self.lines.get(key).unwrap_or(&self.line);
        format!("{file}:{line}: [{}] {key}", self.name)
    }

    /// The bytes that a clone goes to. Without a file name each clone has a file of its own, one behind the other, and `files` is
    /// where the next one begins. On failure the key, what was found and what was wanted.
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
                let wanted = format!("at most the {} of the device behind the offset", Bytes(behind));
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
            let wanted = format!("room for a request of {}", Bytes(largest));
            return Err(("size", Bytes(region.length).to_string(), wanted));
        }
        Ok(region)
    }
}

/// The files of jobs begin at multiples of this. Chosen: a block of most file systems.
const FILE_ALIGN: u64 = 4096;

fn shown(size: Option<Amount>) -> String {
    match size {
        None => "none".into(),
        Some(Amount::Bytes(bytes)) => Bytes(bytes).to_string(),
        Some(Amount::Percent(percent)) => format!("{percent}%"),
    }
}
