//! A job of a job file, and where its keys are written.

use std::collections::BTreeMap;

use wordline_kernel::Complaints;

use super::settings::Settings;

/// Key, what was found, and what is wanted.
pub type Refusal = (&'static str, String, String);

/// A section of a job file, including the global sections before it.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Name of the job.
    pub name: String,
    /// Name of the section.
    pub section: String,
    /// File and line of its header.
    pub place: String,
    /// Of each key, in this section or in a global one: file and line, and the name that the user wrote.
    pub places: BTreeMap<String, (String, String)>,
    /// Values of its keys.
    pub settings: Settings,
}

impl Job {
    /// Position of a key for messages. A key that is not given is reported at the section header.
    pub fn place(&self, key: &str) -> String {
        let (place, key) = self.written(key).map_or((self.place.as_str(), key), |(place, key)| (place, key));
        format!("{place}: [{}] {key}", self.name)
    }

    /// Position of a key and the name that the user wrote. Three keys set the sizes, which are called `bs`.
    pub fn written(&self, key: &str) -> Option<&(String, String)> {
        let others: &[&str] = if key == "bs" { &["bsrange", "bssplit"] } else { &[] };
        std::iter::once(&key).chain(others).find_map(|key| self.places.get(*key))
    }

    /// Adds a refusal of one of its keys.
    pub fn complain(&self, complaints: &mut Complaints, (key, found, wanted): Refusal) {
        complaints.add(self.place(key), found, wanted);
    }
}
