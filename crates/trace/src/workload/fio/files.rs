//! Files of jobs, and their places on the device.

use std::collections::BTreeMap;

use wordline_kernel::Bytes;

use super::cursor::Span;
use super::job::{Job, Refusal};
use super::settings::{Spread, ZoneMode};
use super::values::Amount;

/// Alignment of files. Chosen: a block of most file systems.
const FILE_ALIGN: u64 = 4096;

/// Zones of a device. Chosen: 128 MiB of write pointers.
const MAX_ZONES: u64 = 1 << 24;

/// Places of the files of all jobs.
#[derive(Debug)]
pub struct Layout {
    device: u64,
    /// Size of a zone; 0 if it is not known.
    zone: u64,
    /// Name of the file that is the whole device.
    whole: Option<String>,
    /// Place and length of each file.
    files: BTreeMap<String, (u64, u64)>,
    /// End of the last file.
    end: u64,
}

impl Layout {
    /// Creates the layout of jobs on a device of `device` bytes.
    pub fn new(jobs: &[Job], device: u64) -> Self {
        let zone = jobs.iter().map(|job| job.settings.zones.size).max().unwrap_or(0);
        Self { device, zone, whole: whole_device(jobs), files: BTreeMap::new(), end: 0 }
    }

    /// Places the files of a clone, so that each has room for every job. Files lie one behind the other.
    ///
    /// # Errors
    /// A file without a size, and an offset that is not one of a file.
    pub fn place(&mut self, job: &Job, clone: u64) -> Result<(), Refusal> {
        let names = job.files(clone);
        for (number, name) in names.iter().enumerate() {
            if self.whole.as_ref() == Some(name) {
                continue;
            }
            let offset = self.offset(job, clone, job.settings.place.file_size.unwrap_or(0))?;
            let length = self.length(job, names.len(), number)?;
            let end = job.settings.place.file_size.unwrap_or(offset.saturating_add(length));
            let file = self.files.entry(name.clone()).or_insert((0, 0));
            file.1 = file.1.max(end);
        }
        Ok(())
    }

    /// Sets the places of all files, in the order of their names in `order`.
    ///
    /// # Errors
    /// Files that do not fit on the device.
    pub fn finish(&mut self, order: &[String]) -> Result<(), Refusal> {
        for name in order {
            let Some((begin, length)) = self.files.get_mut(name) else { continue };
            *begin = self.end;
            let end = self.end.saturating_add(*length);
            self.end = end.checked_next_multiple_of(FILE_ALIGN).unwrap_or(u64::MAX);
        }
        if self.end > self.device {
            let found = format!("files of {} in all", Bytes(self.end));
            return Err(("size", found, format!("files within the device's {}", Bytes(self.device))));
        }
        Ok(())
    }

    /// Returns the parts of its files that a clone accesses.
    ///
    /// # Errors
    /// A part that does not lie within its file, or is smaller than a request.
    pub fn spans(&self, job: &Job, clone: u64) -> Result<Vec<Span>, Refusal> {
        let names = job.files(clone);
        let part = |(number, name): (usize, &String)| match self.files.get(name) {
            None => self.device_part(job, clone),
            Some((begin, file)) => {
                let offset = self.offset(job, clone, *file)?;
                let length = match job.settings.place.file_size {
                    Some(size) => share(job, size, size.saturating_sub(offset)),
                    None => self.length(job, names.len(), number)?,
                };
                self.check_start(offset, *file)?;
                Ok(Span { begin: *begin, offset, length, file: offset + length })
            }
        };
        let spans: Vec<Span> = names.iter().enumerate().map(part).collect::<Result<_, _>>()?;
        spans.into_iter().map(|span| self.checked(job, span)).collect()
    }

    /// Part of the whole device.
    fn device_part(&self, job: &Job, clone: u64) -> Result<Span, Refusal> {
        let place = &job.settings.place;
        let offset = self.offset(job, clone, self.device)?;
        self.check_start(offset, self.device)?;
        let behind = self.device - offset;
        let whole = place.file_size.map_or(behind, |size| size.saturating_sub(offset));
        let length = match place.size {
            Some(size @ (Amount::Bytes(_) | Amount::Zones(_))) if place.file_size.is_none() => {
                self.bytes("size", size)?
            }
            _ => share(job, whole.saturating_add(offset), whole),
        };
        if length > behind {
            let wanted = format!("at most the {} of the device after the offset", Bytes(behind));
            return Err(("size", Bytes(length).to_string(), wanted));
        }
        Ok(Span { begin: 0, offset, length, file: self.device })
    }

    fn check_start(&self, offset: u64, file: u64) -> Result<(), Refusal> {
        let what = if file == self.device { "the device's" } else { "the file's" };
        let wanted = || format!("less than {what} {}", Bytes(file));
        if offset < file { Ok(()) } else { Err(("offset", offset.to_string(), wanted())) }
    }

    /// Checks a part, and cuts it to whole zones if they are written in order.
    fn checked(&self, job: &Job, span: Span) -> Result<Span, Refusal> {
        let (settings, mut span) = (&job.settings, span);
        let least = settings.largest();
        if span.length < least {
            let wanted = format!("at least the size of a request, {}", Bytes(least));
            return Err(("size", Bytes(span.length).to_string(), wanted));
        }
        if settings.zones.kind() == ZoneMode::Zbd {
            if self.device / self.zone > MAX_ZONES {
                let wanted =
                    format!("at least {}, for at most {MAX_ZONES} zones", Bytes(self.device / MAX_ZONES));
                return Err(("zonesize", Bytes(self.zone).to_string(), wanted));
            }
            if least > self.zone {
                let wanted = format!("requests of at most a zone, {}", Bytes(self.zone));
                return Err(("bs", Bytes(least).to_string(), wanted));
            }
            let end = (span.begin + span.offset + span.length) / self.zone * self.zone;
            let begin = (span.begin + span.offset).next_multiple_of(self.zone);
            if begin >= end {
                let wanted = format!("at least a whole zone of {}", Bytes(self.zone));
                return Err(("size", Bytes(span.length).to_string(), wanted));
            }
            (span.offset, span.length) = (begin - span.begin, end - begin);
            span.file = span.file.min(span.offset + span.length);
        }
        for spread in &settings.place.spread {
            let Spread::AbsoluteZones(zones) = spread else { continue };
            let all: u64 = zones.iter().map(|(_, size)| *size).sum();
            if all > span.length {
                let wanted = format!("zones within the {} of the region", Bytes(span.length));
                return Err(("random_distribution", format!("zones of {} in all", Bytes(all)), wanted));
            }
        }
        Ok(span)
    }

    /// Offset of a clone in a file of `file` bytes. An offset in percent is rounded up.
    fn offset(&self, job: &Job, clone: u64, file: u64) -> Result<u64, Refusal> {
        let place = &job.settings.place;
        let part = |key: &'static str, amount: Amount| match amount {
            Amount::Percent(_) => Ok(amount.of(file, 0)),
            _ => self.bytes(key, amount),
        };
        let increment = part("offset_increment", place.increment)?;
        let offset = part("offset", place.offset)?.saturating_add(increment.saturating_mul(clone));
        let is_part =
            [place.offset, place.increment].iter().any(|amount| matches!(amount, Amount::Percent(1..)));
        let align = if place.offset_align > 0 { place.offset_align } else { job.settings.smallest() };
        Ok(if is_part { offset.checked_next_multiple_of(align).unwrap_or(u64::MAX) } else { offset })
    }

    /// Length that a job accesses in one of its files.
    fn length(&self, job: &Job, files: usize, number: usize) -> Result<u64, Refusal> {
        let place = &job.settings.place;
        if let Some(size) = place.file_size {
            return Ok(share(job, size, size));
        }
        let size = match place.size {
            Some(size @ (Amount::Bytes(_) | Amount::Zones(_))) => self.bytes("size", size)?,
            other => {
                let found = other.map_or_else(|| "none".into(), |size| shown(&size));
                let wanted = "bytes: without `filename` each job has a file of its own".into();
                return Err(("size", found, wanted));
            }
        };
        // The rest of an uneven division makes the first files larger.
        let (count, least) = (files as u64, job.settings.smallest());
        let each = size / count;
        let more = (size - each * count) / least;
        Ok(each + if (number as u64) < more { least } else { 0 })
    }

    /// Bytes of an amount that is not a share.
    fn bytes(&self, key: &'static str, amount: Amount) -> Result<u64, Refusal> {
        match amount {
            Amount::Zones(1..) if self.zone == 0 => {
                Err((key, shown(&amount), "a zonesize, or a number of bytes".into()))
            }
            _ => Ok(amount.of(0, self.zone)),
        }
    }
}

/// Share of a file that `size` asks for, in percent, cut to whole requests. Without it, all of `behind`.
fn share(job: &Job, file: u64, behind: u64) -> u64 {
    match job.settings.place.size {
        Some(Amount::Percent(percent)) if percent < 100 => {
            let length = Amount::Percent(percent).of(file, 0).min(behind);
            length - length % job.settings.smallest()
        }
        _ => behind,
    }
}

/// Name of the file that is the whole device: a device, or the only name of all jobs.
fn whole_device(jobs: &[Job]) -> Option<String> {
    let named = || jobs.iter().flat_map(|job| job.files(0));
    if let Some(device) = named().find(|name| is_device(name)) {
        return Some(device);
    }
    let first = jobs.first()?.files(0).into_iter().next()?;
    let has_name = |job: &Job| !job.settings.place.names.is_empty() || job.settings.queue.engine.has_volume;
    let has_names = jobs.iter().all(has_name);
    (has_names && named().all(|name| name == first)).then_some(first)
}

/// Whether a name is a device's. `/dev/null` and the like are not drives.
pub fn is_device(name: &str) -> bool {
    let rest = name.strip_prefix("/dev/");
    let is_pseudo = |rest: &str| {
        ["null", "zero", "full", "random", "urandom"].contains(&rest) || rest.starts_with("shm/")
    };
    rest.is_some_and(|rest| !is_pseudo(rest)) || name.starts_with("\\\\.\\")
}

fn shown(amount: &Amount) -> String {
    match amount {
        Amount::Bytes(bytes) => Bytes(*bytes).to_string(),
        Amount::Percent(percent) => format!("{percent}%"),
        Amount::Zones(zones) => format!("{zones}z"),
    }
}

impl Job {
    /// Names of the files of a clone.
    pub fn files(&self, clone: u64) -> Vec<String> {
        let place = &self.settings.place;
        let folders: Vec<&str> = place.folder.split(':').filter(|folder| !folder.is_empty()).collect();
        let folder = folders.get(clone as usize % folders.len().max(1));
        let within = |name: String| match folder {
            Some(folder) if !is_device(&name) => format!("{folder}/{name}"),
            _ => name,
        };
        if !place.names.is_empty() {
            let count = place.files.map_or(usize::MAX, |files| files as usize);
            return place.names.iter().take(count).map(|name| within(name.clone())).collect();
        }
        let one = |number: u64| {
            let name = place.format.replace("$jobname", &self.section);
            let name = name.replace("$jobnum", &clone.to_string()).replace("$clientuid", "");
            within(name.replace("$filenum", &number.to_string()))
        };
        if self.settings.queue.engine.has_volume {
            return vec![self.settings.queue.engine.name.to_owned()];
        }
        (0..place.files.unwrap_or(1)).map(one).collect()
    }
}
