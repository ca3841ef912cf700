//! Constraints across the keys of jobs, and notes on them.

use std::collections::{BTreeMap, BTreeSet};

use wordline_kernel::Complaints;

use super::files::is_device;
use super::job::Job;
use super::settings::{Ops, Settings, ZoneMode};
use super::values::Amount;

/// Checks constraints across keys and jobs.
pub fn check(jobs: &[Job], wrong: &mut Complaints) {
    for job in jobs {
        let mut inner = Complaints::default();
        check_job(&job.settings, &mut inner);
        for complaint in inner.0 {
            wrong.add(job.place(&complaint.key), complaint.found, complaint.wanted);
        }
    }
    check_files(jobs, wrong);
    check_order(jobs, wrong);
    check_zones(jobs, wrong);
}

fn check_job(settings: &Settings, wrong: &mut Complaints) {
    let aligned = |amount: Amount| !matches!(amount, Amount::Bytes(bytes) if !bytes.is_multiple_of(512));
    for (key, at) in [("offset", settings.place.offset), ("offset_increment", settings.place.increment)] {
        wrong.require(aligned(at), key, format!("{at:?}"), "a multiple of 512");
    }
    let zones = &settings.zones;
    let needs_size = zones.kind() == ZoneMode::Strided;
    wrong.require(!needs_size || zones.size > 0, "zonemode", "no zonesize", "a zonesize");
    if zones.kind() == ZoneMode::Zbd {
        let most = if zones.capacity > 0 { zones.capacity.min(zones.size) } else { zones.size };
        let wanted = format!("requests of at most a zone, {most} bytes");
        let largest = settings.largest();
        // Without a size in the job, the zones of the device count, which is not known yet.
        wrong.require(largest <= most || zones.has_usual_size, "bs", largest, wanted);
        let skips = zones.skip != Amount::Bytes(0) && zones.skip != Amount::Zones(0);
        wrong.require(
            !skips,
            "zoneskip",
            "a distance",
            "0 with zonemode=zbd: skipped zones are not simulated",
        );
        let wanted = "a job of reads, writes or trims: zones do not have trims and writes of one place";
        wrong.require(settings.mix.ops != Ops::TrimWrite, "rw", "trims and writes", wanted);
    }
    if let Some(Amount::Zones(count @ 1..)) = settings.total.bytes {
        wrong.require(zones.size > 0, "io_size", format!("{count}z"), "a zonesize, or a number of bytes");
    }
    let streams = &settings.streams;
    let wanted = "plids, which name the streams of the device, such as plids=0-3";
    wrong.require(!streams.is_on || !streams.ids.is_empty(), "fdp", "no plids", wanted);
}

/// Checks that at most one device is named, because one device is simulated.
fn check_files(jobs: &[Job], wrong: &mut Complaints) {
    let mut named = jobs.iter().flat_map(|job| job.settings.place.names.iter().map(move |name| (job, name)));
    let Some((_, first)) = named.clone().find(|(_, name)| is_device(name)) else { return };
    for (job, file) in named.by_ref().filter(|(_, file)| *file != first) {
        wrong.add(
            job.place("filename"),
            format!("`{file}`"),
            format!("`{first}` in all jobs: a run has one device"),
        );
    }
}

/// Checks that a job waits for one that exists and does not wait for it.
fn check_order(jobs: &[Job], wrong: &mut Complaints) {
    for (number, job) in jobs.iter().enumerate() {
        let Some(name) = &job.settings.order.wait_for else { continue };
        let is_before = jobs[..number].iter().any(|job| job.name == *name || job.section == *name);
        wrong.require(
            is_before,
            &job.place("wait_for"),
            format!("`{name}`"),
            "the name of a job before this one",
        );
    }
}

/// Checks that all jobs have the same zones, because one device is simulated.
fn check_zones(jobs: &[Job], wrong: &mut Complaints) {
    let mut zoned = jobs.iter().filter(|job| job.settings.zones.kind() == ZoneMode::Zbd);
    let Some(first) = zoned.next() else { return };
    for job in zoned {
        let (own, of_first) = (&job.settings.zones, &first.settings.zones);
        // As in fio, a job without a limit takes the first job's limit.
        let max_open = if own.max_open == 0 { of_first.max_open } else { own.max_open };
        let keys = [
            ("zonesize", own.size, of_first.size),
            ("zonecapacity", own.capacity, of_first.capacity),
            ("max_open_zones", max_open, of_first.max_open),
        ];
        for (key, found, wanted) in keys.into_iter().filter(|(_, found, wanted)| found != wanted) {
            let wanted = format!("{wanted}, as in [{}]: a run has one device", first.name);
            wrong.add(job.place(key), found, wanted);
        }
    }
}

/// Returns notes for the user on a parsed file.
pub fn notes(
    jobs: &[Job],
    silent: &BTreeSet<String>,
    noted: &BTreeMap<&'static str, BTreeSet<String>>,
) -> Vec<String> {
    let mut notes = Vec::new();
    let mut note_of = |is: &dyn Fn(&Settings) -> bool, text: &str| {
        let found: Vec<&str> =
            jobs.iter().filter(|job| is(&job.settings)).map(|job| job.name.as_str()).collect();
        if !found.is_empty() {
            notes.push(format!("{}: {text}", found.join(", ")));
        }
    };
    note_of(
        &|settings| settings.queue.depth > 1 && settings.depth() == 1,
        "iodepth counts as 1, since this ioengine (psync where none is named) waits for each completion",
    );
    note_of(
        &|settings| !settings.queue.is_direct,
        "requests go to the device as with direct=1: the page cache of buffered I/O is not simulated",
    );
    note_of(
        &|settings| settings.times.is_time_based && settings.times.runtime.is_none(),
        "time_based has no effect without a runtime, as in fio",
    );
    note_of(&|settings| settings.times.ramp.ps() > 0, "the time of ramp_time is part of the results");
    note_of(
        &|settings| settings.zones.kind() == ZoneMode::Zbd,
        "zones are written in order, and a full zone is written again from its start; on a zoned namespace it is reset \
         before",
    );
    note_of(
        &|settings| settings.zones.appends,
        "writes are zone appends on a zoned namespace, and writes at the write pointer elsewhere",
    );
    note_of(
        &|settings| settings.zones.has_usual_size,
        "zonesize is not given: zones have 256 MiB, or are those of a zoned namespace",
    );
    note_of(
        &|settings| settings.verify.is_on && settings.writes() && !settings.verify.skips_reads,
        "verify reads what was written; the contents are not compared",
    );
    let plids = jobs.iter().find_map(|job| job.written("plids")).map_or("plids", |(_, key)| key);
    note_of(
        &|settings| settings.streams.is_on,
        &format!(
            "writes name streams ({plids}), which a device with streams keeps apart and another ignores"
        ),
    );
    let mut instead: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for engine in jobs.iter().map(|job| job.settings.queue.engine) {
        if let Some(what) = engine.instead {
            instead.entry(what).or_default().insert(engine.name);
        }
    }
    for (what, engines) in instead {
        let engines: Vec<&str> = engines.into_iter().collect();
        notes.push(format!(
            "requests go to the simulated device; with ioengine={} fio has {what}",
            engines.join(", ")
        ));
    }
    notes.extend(noted.iter().map(|(text, keys)| format!("{}: {text}", joined(keys))));
    if !silent.is_empty() {
        notes.push(format!("keys that do not affect the requests: {}", joined(silent)));
    }
    notes
}

/// Names of keys for a message.
fn joined(keys: &BTreeSet<String>) -> String {
    keys.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}
