//! The available experiments: the experiments embedded in the program, and the experiments of a folder, which
//! take precedence.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::embedded::EMBEDDED;
use crate::experiment::Experiment;
use crate::known;
use wordline_lab::config::one_of;
use wordline_lab::devices::Registry;
use wordline_lab::error::{Error, Result};

/// Experiments by ID.
#[derive(Clone, Debug)]
pub struct Library {
    experiments: BTreeMap<String, Experiment>,
}

/// An experiment in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// `PAPER/NAME`.
    pub id: String,
    /// IDs of the claims in the validation ledger to which the experiment belongs.
    pub claims: Vec<String>,
    /// Title.
    pub title: String,
}

impl Library {
    /// Opens the embedded experiments and the experiments of `folder` (`PAPER/NAME/experiment.toml`).
    /// Experiments of the folder extend or replace the embedded ones.
    ///
    /// # Errors
    /// [`Error::File`] if the folder cannot be read, [`Error::Config`] if an experiment is invalid.
    pub fn open(folder: Option<&Path>) -> Result<Self> {
        Self::open_of(&Registry::default(), folder)
    }

    /// Opens experiments whose devices have types of `registry`.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn open_of(registry: &Registry, folder: Option<&Path>) -> Result<Self> {
        let mut experiments = BTreeMap::new();
        for (id, text) in EMBEDDED {
            let path = Path::new("data/experiments").join(id).join("experiment.toml");
            experiments.insert((*id).to_owned(), Experiment::read(registry, id, &path, text, None)?);
        }
        for (paper, inside) in folder.map_or_else(|| Ok(Vec::new()), folders)? {
            for (name, inside) in folders(&inside)? {
                let path = inside.join("experiment.toml");
                let id = format!("{paper}/{name}");
                let text = wordline_lab::input::text(&path, "an experiment")?;
                let experiment = Experiment::parse_of(registry, &id, &path, &text, folder)?;
                experiments.insert(id, experiment);
            }
        }
        for (id, known) in known::lists(folder)? {
            if let Some(experiment) = experiments.get_mut(&id) {
                experiment.known = known;
            }
        }
        Ok(Self { experiments })
    }

    /// All experiments in order of their IDs.
    pub fn iter(&self) -> impl Iterator<Item = &Experiment> {
        self.experiments.values()
    }

    /// Returns the experiment `id`, or all experiments of the paper `id`.
    ///
    /// # Errors
    /// [`Error::Argument`] with the valid IDs.
    pub fn find(&self, id: &str) -> Result<Vec<&Experiment>> {
        let is_wanted = |all: &&Experiment| all.id == id || paper(&all.id) == id;
        let found: Vec<&Experiment> = self.iter().filter(is_wanted).collect();
        if !found.is_empty() {
            return Ok(found);
        }
        let mut papers: Vec<&str> = self.experiments.keys().map(|id| paper(id)).collect();
        papers.dedup();
        let ids: Vec<&str> = self.experiments.keys().map(String::as_str).collect();
        Err(Error::Argument {
            what: "experiment".into(),
            found: format!("`{id}`"),
            wanted: one_of(id, &[ids, papers].concat()),
        })
    }

    /// Returns the list for `wordline repro list`.
    pub fn list(&self) -> Vec<Entry> {
        let entry =
            |e: &Experiment| Entry { id: e.id.clone(), claims: e.claims.clone(), title: e.title.clone() };
        self.iter().map(entry).collect()
    }
}

/// The paper of an experiment, from its ID.
fn paper(id: &str) -> &str {
    id.split_once('/').map_or(id, |(paper, _)| paper)
}

/// The folders inside `folder`, each with its name.
fn folders(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    let failed = |reason| Error::File { path: folder.to_owned(), action: "read", reason };
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if let (true, Some(name)) = (path.is_dir(), path.file_name()) {
            all.push((name.to_string_lossy().into_owned(), path.clone()));
        }
    }
    all.sort();
    Ok(all)
}
