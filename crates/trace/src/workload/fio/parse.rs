//! Text of a job file: its sections and their keys, and the global keys.

use std::collections::{BTreeMap, BTreeSet};

use wordline_kernel::{Complaints, nearest};

use super::check;
use super::job::Job;
use super::keys::Given;
use super::lines::{Entry, Section, Surroundings, sections};
use super::settings::Settings;
use super::table::{Treatment, find, names};
use super::values::Units;

/// Parses the text of the job file called `name`. Returns its jobs, and notes for the user.
pub(super) fn parse(
    name: &str,
    text: &str,
    around: Surroundings<'_>,
) -> Result<(Vec<Job>, Vec<String>), Complaints> {
    let mut wrong = Complaints::default();
    let sections = sections(name, text, around, &mut wrong);
    let mut reader = Reader { wrong, silent: BTreeSet::new(), noted: BTreeMap::new() };
    let (nowhere, none) = (String::new(), String::new());
    let mut global = Job {
        name: "global".into(),
        section: none,
        place: nowhere,
        places: BTreeMap::new(),
        settings: Settings::default(),
    };
    let (mut jobs, mut units) = (Vec::<Job>::new(), Units::default());
    for section in &sections {
        if section.is_global {
            units = reader.section(section, units, &mut global);
            continue;
        }
        let mut job = Job {
            name: section.name.clone(),
            section: section.name.clone(),
            place: section.place.clone(),
            ..global.clone()
        };
        reader.section(section, units, &mut job);
        job.settings.zones.complete();
        jobs.push(job);
    }
    let Reader { mut wrong, silent, noted } = reader;
    if jobs.is_empty() && wrong.0.is_empty() {
        wrong.add(name, "no job", "a section for each job, such as [job]");
    }
    check::check(&jobs, &mut wrong);
    let notes = check::notes(&jobs, &silent, &noted);
    wrong.into_result((jobs, notes))
}

struct Reader {
    wrong: Complaints,
    /// Keys that do not affect the requests, by the names that the user wrote.
    silent: BTreeSet<String>,
    /// Keys of each note.
    noted: BTreeMap<&'static str, BTreeSet<String>>,
}

impl Reader {
    /// Parses the lines of a section. Returns the units of its numbers.
    fn section(&mut self, section: &Section, units: Units, job: &mut Job) -> Units {
        // fio takes this key first.
        let base = section.entries.iter().rev().find(|entry| entry.key == "kb_base");
        let units = match base.map(|entry| (entry, Units::of_base(entry.value.as_deref().unwrap_or("")))) {
            None => units,
            Some((_, Some(units))) => units,
            Some((entry, None)) => {
                self.complain(entry, &shown(entry), "1024 or 1000");
                units
            }
        };
        for entry in &section.entries {
            self.entry(entry, units, job);
        }
        units
    }

    /// Parses a line with a key.
    fn entry(&mut self, entry: &Entry, units: Units, job: &mut Job) {
        let Some(key) = find(&entry.key) else {
            let near = nearest(&entry.key, &names()).unwrap_or("rw");
            return self.complain(
                entry,
                "a key that fio does not have",
                &format!("{near}, or another key of fio"),
            );
        };
        let value = entry.value.as_deref();
        match key.treatment {
            Treatment::Simulated(_) => {
                let set = job.settings.set(key.name, Given { text: value, units });
                if let Err(wanted) = set.expect("the settings have all simulated keys") {
                    return self.complain(entry, &shown(entry), &wanted);
                }
                for name in std::iter::once(key.name).chain(key.alias) {
                    job.places.insert(name.to_owned(), (entry.place.clone(), entry.key.clone()));
                }
            }
            Treatment::Harmless(_) => self.harmless(entry, job),
            Treatment::HarmlessAt(values, wanted) => {
                if !values.split(' ').any(|known| known == value.unwrap_or("1")) {
                    let found = format!("{}, which is not simulated", shown(entry));
                    return self.complain(entry, &found, wanted);
                }
                self.silent.insert(entry.key.clone());
            }
            Treatment::Noted(text) => {
                if value != Some("0") && value != Some("none") {
                    self.noted.entry(text).or_default().insert(entry.key.clone());
                }
            }
            Treatment::Refused(wanted) => self.complain(entry, "a key that is not simulated", wanted),
        }
    }

    fn harmless(&mut self, entry: &Entry, job: &mut Job) {
        // A name in a global section would be that of all jobs.
        let value = entry.value.as_deref();
        if let ("name", Some(name), false) = (entry.key.as_str(), value, job.section.is_empty()) {
            job.name = name.to_owned();
        }
        self.silent.insert(entry.key.clone());
    }

    fn complain(&mut self, entry: &Entry, found: &str, wanted: &str) {
        self.wrong.add(format!("{}: {}", entry.place, entry.key), found, wanted);
    }
}

fn shown(entry: &Entry) -> String {
    entry.value.as_ref().map_or_else(|| "no value".into(), |value| format!("`{value}`"))
}
