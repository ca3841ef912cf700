//! The record of an outcome: the cells of its table as printed, and its key. `data/results` stores records of
//! each experiment. `tests/tables` makes the tables of the book from them, and compiles this file too.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wordline_kernel::{Digest, quoted};

use crate::judge::counts::Counts;
use crate::judge::map::Map;

/// Default number of seeds of an experiment. Chosen by the half-width of the 95 % interval: it is 1.24
/// standard deviations with five seeds (four degrees of freedom), 2.48 with three seeds, and 0.72 with ten
/// seeds.
pub const SEEDS: u32 = 5;

/// Note on the size of an experiment that is not scaled down.
pub const ONE_SIZE: &str = "at full size: it has no smaller one";

/// Title of the rows that come last in a table.
pub(crate) const FOLDED: &str = "Second readings, and rows under a change of the model";

/// Values of varied keys, by key, to which experiments are restricted.
pub type Only = BTreeMap<String, Vec<String>>;

/// Everything on which an outcome depends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// Digest of the program's behaviour; empty if the record is not stored.
    pub program: String,
    /// Digest of the experiment's file; empty if the record is not stored.
    pub experiment: String,
    /// Whether the experiment is scaled down.
    pub quick: bool,
    /// The first seed.
    pub seed: u64,
    /// The number of seeds.
    pub seeds: u32,
    /// Values of varied keys to which the experiment was restricted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub only: Only,
    /// Whether recorded traces were used. Such a record is not stored.
    #[serde(skip)]
    pub traces: bool,
}

impl Key {
    /// The command line that prints the table of the experiment `id`.
    pub fn command(&self, id: &str) -> String {
        let options = [
            self.quick.then(|| " --quick".to_owned()),
            (self.seed != 0).then(|| format!(" --seed {}", self.seed)),
            (self.seeds != SEEDS).then(|| format!(" --seeds {}", self.seeds)),
            self.traces.then(|| " --traces DIR".to_owned()),
        ];
        let options: String = options.into_iter().flatten().collect();
        let values = self.only.iter().flat_map(|(key, values)| values.iter().map(move |value| (key, value)));
        let only: String =
            values.map(|(key, value)| format!(" --only {}", quoted(&format!("{key}={value}")))).collect();
        format!("wordline repro {id}{options}{only} --markdown")
    }
}

/// The record of an outcome. Values that depend on the machine are left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Everything on which the outcome depends.
    pub key: Key,
    /// Digest of the rows of the table.
    pub digest: String,
    /// Digest of the rows of a table with the first seed only.
    pub first_digest: String,
    /// Titles of the columns.
    pub heads: Vec<String>,
    /// The cells of the rows.
    pub rows: Vec<Vec<String>>,
    /// The cells of rows of interpretation B, and of rows under a change of the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folded: Vec<Vec<String>>,
    /// The maps below the rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub maps: Vec<Map>,
    /// Counts of the rows by class and verdict.
    pub counts: Counts,
    /// Notes, such as on scaling.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Record {
    /// The rows and maps in Markdown.
    fn lines(&self) -> String {
        let heads = self.heads.join(" | ");
        let mut text = markdown_table(&heads, &self.rows);
        if !self.folded.is_empty() {
            let folded = markdown_table(&heads, &self.folded);
            let count = self.folded.len();
            text += &format!("\n<details>\n<summary>{FOLDED}: {count}</summary>\n\n{folded}\n</details>\n");
        }
        for map in &self.maps {
            let table = markdown_table(&map.heads.join(" | "), &map.lines);
            text += &format!("\n**{}**\n\n{table}\n{}\n", map.title, map.sentence());
        }
        text
    }

    /// Digest of the rows, computed from the cells.
    pub fn rows_digest(&self) -> String {
        let text = self.lines();
        let lines = text.split_inclusive('\n').filter(|line| line.starts_with('|'));
        digest(&lines.collect::<String>())
    }

    /// The table in Markdown. It has the command line, the digests of all rows and of the rows of the first
    /// seed, a note on scaling, and the counts by verdict.
    pub fn markdown(&self, id: &str) -> String {
        let Self { key, digest, first_digest, counts, notes, .. } = self;
        let command = key.command(id);
        let notes: String = notes.iter().map(|note| format!("* {note}\n")).collect();
        let notes = if notes.is_empty() { notes } else { notes + "\n" };
        let rows = self.lines();
        format!(
            "**{id}**: `{command}`, rows `{digest}`, of the first seed `{first_digest}`\n\n{rows}\n{counts}\n\n{notes}"
        )
    }
}

/// The digest of a text.
pub fn digest(text: &str) -> String {
    let mut digest = Digest::default();
    text.bytes().for_each(|byte| digest.add(byte.into()));
    digest.to_string()
}

/// A table in Markdown. `heads` are the column titles with ` | ` between them.
pub fn markdown_table(heads: &str, rows: &[Vec<String>]) -> String {
    let mut text = format!("| {heads} |\n|{}\n", "---|".repeat(heads.split(" | ").count()));
    for row in rows {
        let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|").replace('\n', " ")).collect();
        text += &format!("| {} |\n", cells.join(" | "));
    }
    text
}

#[test]
fn a_table_has_its_command_and_the_digest_of_its_rows() {
    let key = Key { quick: true, seed: 7, seeds: 3, ..Key::default() };
    assert_eq!(key.command("a/b"), "wordline repro a/b --quick --seed 7 --seeds 3 --markdown");
    assert_eq!(Key { seeds: SEEDS, ..Key::default() }.command("a/b"), "wordline repro a/b --markdown");
    let values = vec!["b c".to_owned(), "d".to_owned()];
    let part = Key { seeds: SEEDS, only: BTreeMap::from([("a".to_owned(), values)]), ..Key::default() };
    assert_eq!(part.command("a/b"), "wordline repro a/b --only 'a=b c' --only a=d --markdown");
    let rows = vec![vec!["A".into(), "b | c".into()]];
    let record = Record { key, heads: vec!["claim".into(), "what".into()], rows, ..Record::default() };
    let lines = "| claim | what |\n|---|---|\n| A | b \\| c |\n";
    assert_eq!(record.rows_digest(), digest(lines));
    assert!(record.markdown("a/b").contains(lines));
    let folded = Record { folded: record.rows.clone(), ..record.clone() };
    assert_ne!(folded.rows_digest(), record.rows_digest());
}
