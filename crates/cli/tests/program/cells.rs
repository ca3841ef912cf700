//! Tests `wordline cells`.

use crate::{Folder, wordline};

#[test]
fn cells_are_shown_as_a_table_and_as_json() {
    let sets = wordline(&["cells", "list"]).success();
    assert!(sets.contains("cai-tlc-2017") && sets.contains("cubeftl-tlc"), "{sets}");
    let table =
        wordline(&["cells", "show", "cubeftl-tlc", "cycles=2000", "hours=8760", "layer=kappa"]).success();
    for text in ["cubeftl-tlc, 1 place\n", "P7", "700.0 us", "safe margins", "retried reads"] {
        assert!(table.contains(text), "{table}");
    }
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    let answer = wordline(&["cells", "show", "cai-tlc-2017", "hours=8760", "--json"]).json();
    let rate = answer["error_rate"].as_f64().expect("a number");
    assert!((rate / 6.18e-3 - 1.0).abs() < 0.01, "{rate}");
}

#[test]
fn a_curve_has_a_line_for_each_value() {
    let arguments =
        ["cells", "curve", "cubeftl-tlc", "layer=alpha,beta,kappa,omega", "cycles=2000", "hours=8760"];
    let table = wordline(&arguments).success();
    assert_eq!(table.lines().count(), 5, "{table}");
    let points = wordline(&[&arguments[..], &["--json"]].concat()).json();
    let rate = |n: usize| points[n]["answer"]["error_rate"].as_f64().expect("a number");
    assert!(rate(2) > rate(0) && rate(0) > rate(1), "kappa is the worst layer, beta the best");
}

#[test]
fn a_curve_is_drawn_and_its_states_are_written_as_parquet() {
    let folder = Folder::new();
    let (report, log) = (folder.path("out"), folder.path("states.parquet"));
    let arguments = ["cells", "curve", "ressd-b17a-a", "history=-,L,LL", "--report", &report, "--log", &log];
    wordline(&arguments).success();
    let page = std::fs::read_to_string(format!("{report}/report.html")).expect("there is a page");
    assert!(page.contains("chart-states") && page.contains("chart-errors") && page.contains("history"));
    let states = std::fs::read_to_string(format!("{report}/charts/states.vl.json")).expect("a chart");
    assert!(states.contains("\"P7\"") && states.contains("\"ER\""), "from ER to P3 up to P4 to P7");
    let log = std::fs::read(log).expect("there is a log");
    assert_eq!((&log[..4], &log[log.len() - 4..]), (&b"PAR1"[..], &b"PAR1"[..]));
}

#[test]
fn what_cannot_be_asked_is_refused_by_its_key() {
    for (argument, text) in [
        ("cycles=-1", "cycles: found -1, wanted a number from 0 on"),
        ("layer=gamma", "layer: found `gamma`, wanted alpha, beta, kappa, omega, or a number from 0 to 47"),
        ("reads=5", "reads: found a key without effect"),
        ("cycels=5", "cycels"),
        ("cycles", "wanted KEY=VALUE"),
    ] {
        let refusal = wordline(&["cells", "show", "cubeftl-tlc", argument]).refusal();
        assert!(refusal.contains(text), "{argument}: {refusal}");
    }
    let refusal = wordline(&["cells", "show", "cubftl-tlc"]).refusal();
    assert!(refusal.contains("cubeftl-tlc, or another of"), "{refusal}");
    let folder = Folder::new();
    let text = include_str!("../../../../data/cells/cai-tlc-2017.toml");
    let path = folder.with("mine.toml", text.replace("[7, 6, 4,", "[7, 6, 5,"));
    let refusal = wordline(&["cells", "show", &path]).refusal();
    assert!(refusal.contains("mine.toml:6: levels.coding"), "{refusal}");
}
