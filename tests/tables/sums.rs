//! Parts of the book that are built from the store: tables of results, sums of verdicts by paper, and lists
//! from the files of the experiments. Rows that are compared with printed numbers, with closed forms and with
//! other sources are never added up together.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::judge::class::Class;
use crate::judge::counts::{VerdictCounts, list_counts};
#[cfg(test)]
use crate::show::record::Key;
use crate::show::record::{ONE_SIZE, Record, markdown_table};
use crate::store::{by_id, entries, experiment, now, stored, text};

/// The papers that have a page, with their names.
pub const PAPERS: [(&str, &str); 5] = [
    ("nandflashsim", "NANDFlashSim"),
    ("centaur", "Centaur"),
    ("ressd", "ReSSD"),
    ("ft-passd", "FT-PASSD"),
    ("cubeftl", "cubeFTL"),
];

/// Text above a record whose key is not the present key.
const OLD: &str = "*Measured with an earlier program, or an earlier form of the experiment.*\n\n";

/// The records that the book shows: for each experiment the record of the largest size with the most seeds.
pub struct Store {
    root: PathBuf,
    records: BTreeMap<String, Record>,
    /// By experiment: the page that has its table.
    pages: BTreeMap<String, String>,
}

/// The verdicts on the rows of a record, as the text of a cell.
fn cell(stand: VerdictCounts) -> String {
    let VerdictCounts { judged, within, direction, outside, explained, contradicted, unsure } = stand;
    let how = list_counts(&[
        (within, "within"),
        (direction, "direction"),
        (outside, "outside"),
        (explained, "explained"),
        (contradicted, "contradicted"),
        (unsure, "with ?"),
    ]);
    if judged == 0 { String::new() } else { format!("{judged}: {how}") }
}

/// Size and seeds of a record as text. An experiment of one size is of full size, also with `--quick`.
fn how(Record { key, notes, .. }: &Record) -> String {
    let is_small = key.quick && !notes.iter().any(|note| note == ONE_SIZE);
    let size = match (is_small, key.only.is_empty()) {
        (true, _) => "scaled down",
        (false, true) => "full size",
        (false, false) => "full size, a part",
    };
    match key.seeds {
        1 => format!("{size}, seed {}", key.seed),
        seeds => format!("{size}, {seeds} seeds"),
    }
}

/// The paper, or the group of checks, of an experiment.
fn paper(id: &str) -> &str {
    id.split('/').next().unwrap_or_default()
}

/// Anchor of an experiment's table in a page.
fn anchor(id: &str) -> String {
    id.replace('/', "-")
}

impl Store {
    /// The store of a repository.
    ///
    /// # Errors
    /// A file that cannot be read, or is not well formed.
    pub fn open(root: &Path) -> Result<Self, String> {
        let mut pages = BTreeMap::new();
        for path in entries(&root.join("docs/validation"))? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let text = text(&path)?;
            let marks =
                text.lines().filter_map(|line| line.strip_prefix("<!-- repro: ")?.strip_suffix(" -->"));
            pages.extend(marks.map(|id| (id.to_owned(), name.clone())));
        }
        let records = stored(root)?.into_iter().filter_map(|(id, all)| Some((id, all.into_iter().next()?)));
        Ok(Self { root: root.to_owned(), records: records.collect(), pages })
    }

    /// The text that replaces a mark. `None` for a comment that is not a mark.
    ///
    /// # Errors
    /// An experiment or a paper that does not exist, or whose files are not well formed.
    pub fn block(&self, mark: &str) -> Result<Option<String>, String> {
        Ok(Some(match mark.split_once(": ").unwrap_or((mark, "")) {
            ("repro", id) => self.table(id)?,
            ("verdict", paper) => self.verdict(paper)?,
            ("printed", paper) => self.parameters(paper)?,
            ("readings", "") => self.readings()?,
            ("results", "") => self.sums(),
            ("printed numbers", "") => self.headline(),
            _ => return Ok(None),
        }))
    }

    /// The table of an experiment, after an anchor for links.
    fn table(&self, id: &str) -> Result<String, String> {
        let record = self.records.get(id).ok_or_else(|| format!("{id}: no record in the store"))?;
        let old = if now(&self.root, id, &record.key)? == record.key { "" } else { OLD };
        Ok(format!("<a id=\"{}\"></a>\n\n{old}{}", anchor(id), record.markdown(id)))
    }

    fn of_paper<'a>(&'a self, wanted: &'a str) -> impl Iterator<Item = (&'a String, &'a Record)> {
        self.records.iter().filter(move |(id, _)| paper(id) == wanted)
    }

    /// The table of a paper: a row for each of its records, and the sums of each class.
    fn verdict(&self, paper: &str) -> Result<String, String> {
        let shown = || Class::ALL.into_iter().filter(|class| class.is_judged());
        let classes: Vec<String> = shown().map(|class| class.to_string()).collect();
        let heads = format!("figure | what | size, seeds | {}", classes.join(" | "));
        let (mut rows, mut sums) = (Vec::new(), BTreeMap::<Class, VerdictCounts>::new());
        for (id, record) in self.of_paper(paper) {
            let file = experiment(&self.root, id)?;
            let title = file.get("title").and_then(toml::Value::as_str).unwrap_or_default();
            let figure = id.split('/').next_back().unwrap_or_default();
            let page = self.pages.get(id).ok_or_else(|| format!("{id}: no page has its table"))?;
            let mut row = vec![
                format!("[{figure}](../validation/{page}#{})", anchor(id)),
                title.to_owned(),
                how(record),
            ];
            for class in shown() {
                let stand = record.counts.class(class);
                row.push(cell(stand));
                *sums.entry(class).or_default() += stand;
            }
            rows.push(row);
        }
        let sums = sums.into_iter().filter(|(_, sum)| sum.judged > 0);
        let sums: Vec<String> = sums.map(|(class, sum)| format!("* {class}: {}\n", cell(sum))).collect();
        Ok(markdown_table(&heads, &rows) + "\nIn all:\n\n" + &sums.concat())
    }

    /// By paper: the printed numbers that are judged, and their verdicts, all in interpretation A.
    pub fn headline(&self) -> String {
        let heads = "paper | printed numbers judged | within | direction only | outside, shown why | contradicted by the paper | outside";
        let row = |(paper, name): (&str, &str)| {
            let mut sum = VerdictCounts::default();
            self.of_paper(paper).for_each(|(_, record)| sum += record.counts.printed);
            let VerdictCounts { judged, within, direction, explained, contradicted, .. } = sum;
            let numbers =
                [judged, within, direction, explained, contradicted, sum.without_demonstrated_cause()];
            [name.to_owned()].into_iter().chain(numbers.map(|number| number.to_string())).collect()
        };
        markdown_table(heads, &PAPERS.map(row))
    }

    /// The verdicts on the rows of all records, by paper, class, size and number of seeds.
    fn sums(&self) -> String {
        let mut all: BTreeMap<(&str, Class, String), VerdictCounts> = BTreeMap::new();
        for (id, record) in &self.records {
            for (class, stand) in record.counts.by_class() {
                *all.entry((paper(id), class, how(record))).or_default() += stand;
            }
        }
        let heads = "paper | compared with | size and seeds | judged | within | direction | outside | explained | contradicted | no reason shown | with a question mark";
        let row = |((paper, class, how), stand): ((&str, Class, String), VerdictCounts)| {
            let VerdictCounts { judged, within, direction, outside, explained, contradicted, unsure } = stand;
            let unexplained = stand.without_demonstrated_cause();
            let numbers = [judged, within, direction, outside, explained, contradicted, unexplained, unsure];
            let words = [paper.to_owned(), class.to_string(), how];
            words.into_iter().chain(numbers.map(|number| number.to_string())).collect()
        };
        markdown_table(heads, &all.into_iter().map(row).collect::<Vec<_>>())
    }

    /// The parameters that a paper prints, and the place of each in the repository.
    fn parameters(&self, paper: &str) -> Result<String, String> {
        let path = self.root.join("data/experiments/printed.toml");
        let file: toml::Table =
            text(&path)?.parse().map_err(|error| format!("{}: {error}", path.display()))?;
        let all = file.get(paper).and_then(toml::Value::as_array);
        let row = |parameter: &toml::Value| {
            let of =
                |key: &str| parameter.get(key).and_then(toml::Value::as_str).unwrap_or_default().to_owned();
            let preset = format!("preset `{}`, `{}`", of("preset"), of("key"));
            let held = if parameter.get("held").is_some() { of("held") } else { preset };
            vec![of("what"), of("printed"), of("source"), held]
        };
        let rows: Vec<_> =
            all.ok_or_else(|| format!("{paper}: no printed parameters"))?.iter().map(row).collect();
        Ok(markdown_table("parameter | printed | where | here", &rows))
    }

    /// The experiments with an interpretation B, the reason for it, and the number of expected values that it
    /// concerns.
    fn readings(&self) -> Result<String, String> {
        let mut counts: BTreeMap<[String; 2], usize> = BTreeMap::new();
        for (id, _) in by_id(&self.root.join("data/experiments"))? {
            let file = experiment(&self.root, &id)?;
            let expected = file.get("expect").and_then(toml::Value::as_array).into_iter().flatten();
            for reason in expected.filter_map(|expect| expect.get("second_reading")?.as_str()) {
                *counts.entry([id.clone(), reason.to_owned()]).or_default() += 1;
            }
        }
        let row = |([id, reason], count): ([String; 2], usize)| vec![id, count.to_string(), reason];
        let rows: Vec<_> = counts.into_iter().map(row).collect();
        Ok(markdown_table("experiment | expected values | why they are read a second time", &rows))
    }
}

#[test]
fn a_cell_says_how_rows_stand_and_nothing_of_what_there_is_none() {
    let stand = VerdictCounts {
        judged: 9,
        within: 4,
        direction: 2,
        outside: 3,
        explained: 2,
        ..VerdictCounts::default()
    };
    assert_eq!(cell(stand), "9: 4 within, 2 direction, 3 outside, 2 explained");
    assert_eq!(cell(VerdictCounts::default()), "");
}

#[test]
fn a_record_of_another_program_is_told_from_one_of_this() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a folder of the repository");
    let mut store = Store::open(root).expect("it is well formed");
    let id = "nandflashsim/fig12";
    let mut is_old = |change: fn(&mut Key)| {
        let record = store.records.get_mut(id).expect("a record");
        record.key = now(root, id, &record.key).expect("its file");
        change(&mut record.key);
        store.table(id).expect("a table").contains(OLD)
    };
    assert!(!is_old(|_| ()));
    assert!(is_old(|key| key.program.push('0')) && is_old(|key| key.experiment.push('0')));
}

#[test]
fn a_record_of_an_experiment_of_one_size_is_of_full_size() {
    let key = Key { quick: true, seeds: 5, ..Key::default() };
    let small = Record { key, ..Record::default() };
    assert_eq!(how(&small), "scaled down, 5 seeds");
    assert_eq!(how(&Record { notes: vec![ONE_SIZE.to_owned()], ..small }), "full size, 5 seeds");
}
