//! The experiments that there are: embedded in the program, and those of a folder, which take precedence.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::file::Experiment;
use wordline_lab::config::one_of;
use wordline_lab::devices::Registry;
use wordline_lab::error::{Error, Result};

macro_rules! embedded {
    ($($id:literal),* $(,)?) => {
        /// The embedded experiments: id and text.
        pub(super) const EMBEDDED: &[(&str, &str)] =
            &[$(($id, include_str!(concat!("../../../data/experiments/", $id, "/experiment.toml")))),*];
    };
}

embedded![
    "centaur/fig05",
    "centaur/fig06",
    "centaur/fig07c",
    "centaur/fig11",
    "centaur/fig12",
    "centaur/fig13",
    "centaur/fig14",
    "centaur/fig15",
    "centaur/fig16",
    "centaur/fig17",
    "centaur/fig18",
    "centaur/fig19",
    "centaur/fig20",
    "centaur/fig21",
    "centaur/fig22",
    "centaur/fig23",
    "centaur/fig24",
    "centaur/recorded",
    "centaur/sec54",
    "centaur/table1",
    "cubeftl/ablations",
    "cubeftl/bursts",
    "cubeftl/fig05",
    "cubeftl/fig06",
    "cubeftl/fig08",
    "cubeftl/fig10",
    "cubeftl/fig11",
    "cubeftl/fig13",
    "cubeftl/fig14",
    "cubeftl/fig17",
    "cubeftl/fig17-bursts",
    "cubeftl/fig17-bursts-cells",
    "cubeftl/fig17-cells",
    "cubeftl/fig17-factors",
    "cubeftl/fig17-model",
    "cubeftl/fig17-threads",
    "cubeftl/fig18",
    "cubeftl/ispp",
    "cubeftl/overhead",
    "cubeftl/retries",
    "cubeftl/sensitivity",
    "cubeftl/split",
    "cubeftl/thresholds",
    "cubeftl/tprog",
    "ft-passd/table5",
    "nandflashsim/fig03",
    "nandflashsim/fig10",
    "nandflashsim/fig11",
    "nandflashsim/fig12",
    "nandflashsim/fig13",
    "nandflashsim/fig14",
    "nandflashsim/fig15",
    "nandflashsim/fig16",
    "nandflashsim/fig17",
    "nandflashsim/fig18",
    "nandflashsim/fig19",
    "nandflashsim/fig20",
    "nandflashsim/fig21",
    "nandflashsim/fig22",
    "nandflashsim/fig23",
    "nandflashsim/fig24",
    "nandflashsim/fig25",
    "nandflashsim/speed",
    "nandflashsim/tables2-4",
    "peers/flashsim",
    "peers/mqsim-read",
    "peers/mqsim-shipped",
    "peers/mqsim-traces",
    "peers/mqsim-write",
    "peers/mqsim-write-16g",
    "peers/simplessd-read",
    "peers/ssdsim-read",
    "peers/ssdsim-write",
    "ressd/fig03",
    "ressd/fig05",
    "ressd/fig06",
    "ressd/table1",
    "ressd/table2",
    "ressd/table2-two-moves",
    "ressd/table3",
    "ressd/table5",
    "validation/block-map",
    "validation/bounds",
    "validation/dftl",
    "validation/dftl-writes",
    "validation/faults",
    "validation/lifetime",
    "validation/queueing",
    "validation/read-levels",
    "validation/suspend",
    "validation/waf-hot-cold",
    "validation/waf-super-blocks",
    "validation/waf-uniform",
    "validation/waf-victims",
    "validation/waf-zipf",
];

/// The experiments by id.
#[derive(Clone, Debug)]
pub struct Library {
    experiments: BTreeMap<String, Experiment>,
}

/// An experiment in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// `PAPER/NAME`.
    pub id: String,
    /// The claims of the ledger that it belongs to.
    pub claims: Vec<String>,
    /// Its title.
    pub title: String,
}

impl Library {
    /// The embedded experiments, and those of `folder` (`PAPER/NAME/experiment.toml`) in addition or instead.
    ///
    /// # Errors
    /// [`Error::File`] if the folder cannot be read, [`Error::Config`] if an experiment is not well formed.
    pub fn open(folder: Option<&Path>) -> Result<Self> {
        Self::open_of(&Registry::default(), folder)
    }

    /// The same where the devices may be of any type of a registry.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
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
        Ok(Self { experiments })
    }

    /// All experiments in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = &Experiment> {
        self.experiments.values()
    }

    /// The experiment `id`, or all of the paper of that name.
    ///
    /// # Errors
    /// [`Error::Argument`] with the ids that there are.
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

    /// The list that `wordline repro list` prints.
    pub fn list(&self) -> Vec<Entry> {
        let entry =
            |e: &Experiment| Entry { id: e.id.clone(), claims: e.claims.clone(), title: e.title.clone() };
        self.iter().map(entry).collect()
    }
}

/// The paper of an experiment.
fn paper(id: &str) -> &str {
    id.split_once('/').map_or(id, |(paper, _)| paper)
}

/// The text of an experiment of `folder`, or else of an embedded one.
pub(super) fn text_of(id: &str, folder: Option<&Path>) -> Option<Cow<'static, str>> {
    let file = folder.map(|folder| folder.join(id).join("experiment.toml"));
    let own = file.and_then(|file| wordline_lab::input::text(&file, "an experiment").ok());
    let embedded = || EMBEDDED.iter().find(|(other, _)| *other == id).map(|(_, text)| Cow::Borrowed(*text));
    own.map(Cow::Owned).or_else(embedded)
}

/// The folders in `folder`, by name.
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
