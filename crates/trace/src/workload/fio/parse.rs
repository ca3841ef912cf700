//! Text of a job file: its sections and their keys, and the global keys.

use std::collections::{BTreeMap, BTreeSet};

use wordline_kernel::{Complaints, one_of};

use super::keys::{InvalidKey, KEYS, KeyEffect, REFUSED, Settings};
use super::{Job, JobFile};

/// Parses the text of the job file called `name`.
pub(super) fn parse(name: &str, text: &str) -> Result<JobFile, Complaints> {
    let mut reader = Reader { name, wrong: Complaints::default(), silent: BTreeSet::new() };
    let mut global =
        Job { name: "global".into(), line: 0, lines: BTreeMap::new(), settings: Settings::default() };
    let (mut jobs, mut inside) = (Vec::<Job>::new(), Inside::Nothing);
    for (number, line) in text.lines().enumerate() {
        let (number, line) = (number + 1, line.trim());
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(head) = line.strip_prefix('[') {
            let section = head.strip_suffix(']').map_or("", str::trim);
            inside = match section {
                "" => {
                    reader.complain(number, "", line, "a section, such as [job]");
                    Inside::Nothing
                }
                "global" => Inside::Global,
                section => {
                    jobs.push(Job { name: section.into(), line: number, ..global.clone() });
                    Inside::Job
                }
            };
            continue;
        }
        let job = match (inside, jobs.last_mut()) {
            (Inside::Global, _) => &mut global,
            (Inside::Job, Some(job)) => job,
            _ => {
                reader.complain(
                    number,
                    "",
                    &format!("`{line}`"),
                    "a section before it, [global] or one of a job",
                );
                continue;
            }
        };
        reader.key(number, line, job);
    }
    if jobs.is_empty() && reader.wrong.0.is_empty() {
        reader.wrong.add(name, "no job", "a section for each job, such as [job]");
    }
    for job in &jobs {
        let mut inner = Complaints::default();
        job.settings.check(&mut inner);
        for complaint in inner.0 {
            let key = job.place(name, &complaint.key);
            reader.wrong.add(key, complaint.found, complaint.wanted);
        }
    }
    check_files(name, &jobs, &mut reader.wrong);
    let Reader { wrong, silent, .. } = reader;
    let notes = notes(&jobs, &silent);
    wrong.into_result(JobFile { name: name.into(), jobs, notes })
}

/// Section of the current line.
#[derive(Clone, Copy)]
enum Inside {
    Nothing,
    Global,
    Job,
}

struct Reader<'a> {
    name: &'a str,
    wrong: Complaints,
    /// Keys that do not affect the requests.
    silent: BTreeSet<&'static str>,
}

impl Reader<'_> {
    /// Parses a line with a key.
    fn key(&mut self, number: usize, line: &str, job: &mut Job) {
        let (key, value) = match line.split_once('=') {
            Some((key, value)) => (key.trim(), Some(value.trim())),
            None => (line, None),
        };
        match job.settings.set(key, value) {
            Ok(KeyEffect::Requests) => {
                job.lines.insert(key.to_owned(), number);
            }
            Ok(KeyEffect::Ignored(key)) => {
                self.silent.insert(key);
            }
            Err(InvalidKey::Key) => {
                let wanted = match REFUSED.iter().find(|(refused, _)| *refused == key) {
                    Some((_, why)) => (*why).to_owned(),
                    None => one_of(key, &KEYS),
                };
                self.complain(number, key, "a key that is not simulated", &wanted);
            }
            Err(InvalidKey::Value(wanted)) => {
                let found = value.map_or_else(|| "no value".into(), |value| format!("`{value}`"));
                self.complain(number, key, &found, wanted);
            }
        }
    }

    fn complain(&mut self, line: usize, key: &str, found: &str, wanted: &str) {
        let place = format!("{}:{line}", self.name);
        self.wrong.add(if key.is_empty() { place } else { format!("{place}: {key}") }, found, wanted);
    }
}

/// Checks that at most one file is named, because one device is simulated.
fn check_files(name: &str, jobs: &[Job], wrong: &mut Complaints) {
    let mut named = jobs.iter().filter_map(|job| Some((job, job.settings.place.file.as_deref()?)));
    let Some((_, first)) = named.next() else { return };
    for (job, file) in named.filter(|(_, file)| *file != first) {
        wrong.add(
            job.place(name, "filename"),
            format!("`{file}`"),
            format!("`{first}`, as the job before: a run has one device"),
        );
    }
}

/// Returns notes for the user on a parsed file.
fn notes(jobs: &[Job], silent: &BTreeSet<&'static str>) -> Vec<String> {
    let mut notes = Vec::new();
    let mut note_of = |is: &dyn Fn(&Settings) -> bool, text: &str| {
        let found: Vec<&str> =
            jobs.iter().filter(|job| is(&job.settings)).map(|job| job.name.as_str()).collect();
        if !found.is_empty() {
            notes.push(format!("{}: {text}", found.join(", ")));
        }
    };
    note_of(
        &|settings| settings.queue.depth > 1 && !settings.queue.is_asynchronous,
        "iodepth counts as 1, since this ioengine (psync where none is named) waits for each completion",
    );
    note_of(
        &|settings| !settings.queue.is_direct,
        "requests go to the device as with direct=1: the page cache of buffered I/O is not simulated",
    );
    note_of(
        &|settings| settings.may_repeat(),
        "with several block sizes a block may be accessed twice before all were accessed: fio's map of random blocks is not kept",
    );
    note_of(&|settings| settings.times.ramp.ps() > 0, "the time of ramp_time is part of the results");
    if !silent.is_empty() {
        let listed: Vec<&str> = silent.iter().copied().collect();
        notes.push(format!("keys that do not affect the requests: {}", listed.join(", ")));
    }
    notes
}
