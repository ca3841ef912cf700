//! Checks the embedded experiments against their bands.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::docs::{root, stored};
use super::*;
use crate::known::{RowLists, lists};
use crate::show::record::Record;

/// Experiments that run only with `WORDLINE_LONG`, as in `make long`, and the sweeps of Centaur, which do so
/// too. Scaled down, each takes seconds of processor time, most more than five; `make test` runs the others.
/// Eleven that take less, about a second in the release program, took 40 % of the time of the rest.
/// The tables of the papers' volumes are here because tests of `trace` check the same statistics.
const LONG: [&str; 60] = [
    "centaur/fig05",
    "centaur/fig06",
    "centaur/fig07c",
    "centaur/table1",
    "cubeftl/ablations",
    "cubeftl/burst-lengths",
    "cubeftl/burst-reserves",
    "cubeftl/bursts",
    "cubeftl/clients",
    "cubeftl/fig06",
    "cubeftl/fig11",
    "cubeftl/fig14",
    "cubeftl/fig17",
    "cubeftl/fig17-bursts",
    "cubeftl/fig17-bursts-cells",
    "cubeftl/fig17-cells",
    "cubeftl/fig17-factors",
    "cubeftl/fig17-model",
    "cubeftl/fig17-threads",
    "cubeftl/ispp",
    "cubeftl/lost-pages",
    "cubeftl/mail",
    "cubeftl/read-levels",
    "cubeftl/retries",
    "cubeftl/sensitivity",
    "cubeftl/vertftl",
    "drives/beside-writes-zn540",
    "drives/read-sizes-980-pro",
    "drives/read-sizes-980-pro-warm",
    "drives/reads-980-pro-warm",
    "drives/skew-7450",
    "drives/skew-p5520",
    "drives/skew-pe8110",
    "ft-passd/fig05",
    "ft-passd/fig14",
    "ft-passd/fig15",
    "ft-passd/fig15-failures",
    "ft-passd/fig15-failures-by-page",
    "ft-passd/fig15-hosts",
    "ft-passd/fig15-map",
    "ft-passd/fig15-moments",
    "ft-passd/pblk-waf",
    "ft-passd/table1",
    "ft-passd/table5",
    "ft-passd/wear",
    "peers/mqsim-write-16g",
    "ressd/blocks",
    "ressd/fig10",
    "ressd/hotness",
    "ressd/latency-reading",
    "ressd/parity",
    "ressd/table5",
    "ressd/volumes",
    "validation/dftl",
    "validation/lifetime",
    "validation/suspend",
    "validation/waf-hot-cold",
    "validation/waf-super-blocks",
    "validation/waf-victims",
    "validation/waf-zipf",
];

/// Whether an experiment runs only with `WORDLINE_LONG`.
pub(super) fn is_long(id: &str) -> bool {
    ("centaur/fig11".."centaur/table1").contains(&id) || LONG.contains(&id)
}

/// Whether the test rewrites the documents.
pub(super) fn is_update() -> bool {
    std::env::var_os("UPDATE_DOCS").is_some()
}

/// Outcomes of the embedded experiments, scaled down, with the default seed only. With `WORDLINE_LONG`, the
/// default number of seeds is used, and long experiments are included. All tests share one run. Runs under
/// changes of the model are only made where whole tables are compared.
pub(super) fn outcomes() -> &'static [Outcome] {
    static OUTCOMES: OnceLock<Vec<Outcome>> = OnceLock::new();
    OUTCOMES.get_or_init(|| {
        let long = std::env::var_os("WORDLINE_LONG").is_some();
        let stop = AtomicBool::new(false);
        let conduct = SweepOptions { threads: 0, stop: &stop, progress: &|_, _| () };
        let (lab, library) = (Lab::default(), Library::open(None).expect("well formed"));
        let seeds = if long { SEEDS } else { 1 };
        let options = Options { quick: true, seeds, beside: long || is_update(), ..Options::default() };
        let experiments = library.iter().filter(|experiment| long || !is_long(&experiment.id));
        experiments.map(|experiment| run(experiment, &options, &lab, &conduct).expect("it runs")).collect()
    })
}

/// File with the list of rows outside.
const LIST: &str = "data/experiments/outside.toml";

/// Writes the rows outside of all outcomes to the list, in place of the present entries. With a single seed,
/// entries that depend on the seed are kept.
fn write_list() {
    change_list(|lists| {
        for outcome in outcomes() {
            let list = lists.entry(outcome.experiment.clone()).or_default();
            let mut rows = KnownOutside::of(&outcome.rows);
            if outcome.seeds == 1 {
                rows.changing = list.quick.take().unwrap_or_default().changing;
                rows.outside.retain(|name| !rows.changing.contains(name));
            }
            list.quick = Some(rows);
        }
    });
}

/// Changes the list on disk and keeps its header comment. One test at a time does so.
fn change_list(change: impl FnOnce(&mut BTreeMap<String, KnownOutside>)) {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let path = root().join(LIST);
    let text = std::fs::read_to_string(&path).expect("the list can be read");
    let head: String =
        text.lines().take_while(|line| line.starts_with('#')).map(|line| format!("{line}\n")).collect();
    let mut all = lists(path.parent()).expect("the list is well formed");
    change(&mut all);
    let all = toml::to_string_pretty(&all).expect("it is TOML");
    std::fs::write(path, format!("{head}\n{all}")).expect("the list can be written");
}

/// Prints the table of every outcome. The rows outside must be exactly those in the list. `UPDATE_DOCS=1`
/// rewrites the list.
#[test]
fn every_embedded_experiment_has_the_rows_outside_that_the_list_names() {
    if is_update() {
        write_list();
        return;
    }
    let mut missed = Vec::new();
    for outcome in outcomes() {
        println!("{}", table(outcome, 140));
        missed.extend(outcome.surprises.iter().map(|said| format!("{}: {said}", outcome.experiment)));
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

/// The rows outside of an experiment at full scale, from its record. Experiments without such a record are
/// left out.
fn listed_by_records() -> BTreeMap<String, RowLists> {
    let rows = |record: &Record| {
        let of = |is: fn(&str) -> bool| -> Vec<String> {
            let rows = record
                .rows
                .iter()
                .chain(&record.folded)
                .map(|row| (&row[1], row[row.len() - 1].to_lowercase()));
            let counted = rows.filter(|(_, verdict)| !verdict.ends_with("not counted"));
            counted.filter(|(_, verdict)| is(verdict)).map(|(name, _)| name.clone()).collect()
        };
        let is_outside = |verdict: &str| verdict.starts_with("outside") && !verdict.contains('?');
        RowLists { outside: of(is_outside), changing: of(|verdict| verdict.contains('?')) }
    };
    let full =
        stored().into_iter().filter(|(_, records)| !records[0].key.quick && records[0].key.only.is_empty());
    full.map(|(id, records)| (id, rows(&records[0]))).collect()
}

/// Full-scale runs are recorded as tables, so the list of their rows outside must follow from these tables.
#[test]
fn the_list_names_the_rows_outside_of_the_records_at_full_size() {
    let records = listed_by_records();
    if is_update() {
        return change_list(|all| {
            for (id, rows) in records {
                all.entry(id).or_default().full = Some(rows);
            }
        });
    }
    let all = lists(None).expect("the list is well formed");
    for (id, rows) in records {
        assert_eq!(
            all.get(&id).and_then(|list| list.full.as_ref()),
            Some(&rows),
            "{id}: UPDATE_DOCS=1 writes it"
        );
    }
}

/// A listed name without a row would stay in the list forever.
#[test]
fn every_row_that_the_list_names_is_there() {
    let lists = lists(None).expect("the list is well formed");
    let mut gone = Vec::new();
    for outcome in outcomes() {
        let list = lists.get(&outcome.experiment).and_then(|list| list.quick.as_ref());
        let named = list.iter().flat_map(|list| list.outside.iter().chain(&list.changing));
        let is_gone = |name: &&String| !outcome.rows.iter().any(|row| row.shown_what() == **name);
        gone.extend(named.filter(is_gone).map(|name| format!("{}: {name}", outcome.experiment)));
    }
    assert!(gone.is_empty(), "{}", gone.join("\n"));
}

/// A change that removes a reason is only useful if there is a reason.
#[test]
fn rows_that_are_explained_until_a_change_have_a_reason_where_they_lie_outside() {
    let library = Library::open(None).expect("well formed");
    let mut looked_at = 0;
    for outcome in outcomes() {
        let experiment = library.iter().find(|experiment| experiment.id == outcome.experiment).expect("one");
        for expect in experiment.expect.iter().filter(|expect| expect.explained_until.is_some()) {
            let rows: Vec<&Row> =
                outcome.rows.iter().filter(|row| row.under.is_none() && expect.is_of(row)).collect();
            let has_reason = |row: &&Row| row.verdict != Verdict::Outside || !row.note.is_empty();
            assert!(!rows.is_empty() && rows.iter().all(has_reason), "{}: {rows:#?}", experiment.id);
            looked_at += 1;
        }
    }
    assert!(looked_at > 5, "{looked_at} expected values");
}
