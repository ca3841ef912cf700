//! What answers of cells cost: held to their limits in optimised programs where `WORDLINE_LONG` is set.

#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "it measures the program and not the model"
)]

use std::sync::Arc;
use std::time::Instant as Clock;

use wordline_kernel::{Duration, Instant, Seed};
use wordline_nand::cell::*;
use wordline_nand::part::PartFile;
use wordline_nand::physics::Work;
use wordline_nand::{CellMode, DieId, Outcome, Parameters, Part, Physics, PlaneBlock, Sensed, Stage};

fn text(folder: &str, name: &str) -> String {
    let path = format!("{}/../../data/{folder}/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("the file is there")
}

fn part() -> Part {
    let file: PartFile = toml::from_str(&text("parts", "cubeftl-tlc")).expect("well formed");
    file.check().expect("sound")
}

fn set() -> CellSet {
    let file: CellsFile = toml::from_str(&text("cells", "cubeftl-tlc")).expect("well formed");
    file.check().expect("sound")
}

/// A tebibyte of the part, held for a year.
fn arrays() -> CellArrays {
    let year = Condition { cycles: 2_000.0, hours: 8_760.0, ..Condition::FRESH };
    CellArrays::new(Arc::new(set()), &part(), 0..267, year, Seed(1)).expect("the set fits the part")
}

/// Seconds that `work` takes.
fn seconds(work: impl FnOnce()) -> f64 {
    let begin = Clock::now();
    work();
    begin.elapsed().as_secs_f64()
}

/// Whether times mean anything, and somebody waits for them.
fn is_measured() -> bool {
    !cfg!(debug_assertions) && std::env::var_os("WORDLINE_LONG").is_some()
}

/// Asks for the outcome of work on pages all over the device.
fn outcomes(arrays: &mut CellArrays, stage: Stage, count: u32) -> u64 {
    let (part, parameters) = (part(), Parameters { outcome: true, ..Parameters::DATA_SHEET });
    let mut sum = 0;
    for n in 0..count {
        let at = PlaneBlock { die: DieId(n % 267), block: n * 7 % 428 };
        let work = Work {
            stage,
            part: &part,
            mode: CellMode::Native,
            page: n * 13 % 192 * 3,
            blocks: &[at],
            parameters: &parameters,
            begin: Instant::ZERO,
            data_sheet: Duration::from_us(700),
        };
        let mut outcome = Outcome::default();
        arrays.work(&work, Some(&mut outcome));
        sum += u64::from(outcome.erased_to_p1 + outcome.bit_errors[0]);
    }
    sum
}

/// Asks whether pages all over the device are read.
fn unread(arrays: &mut CellArrays, count: u32) -> u64 {
    let sensed = |n: u32| Sensed {
        at: PlaneBlock { die: DieId(n % 267), block: n * 7 % 428 },
        word_line: n * 13 % 192,
        page_type: n % 3,
        mode: CellMode::Native,
        level: (n % 28) as u8,
    };
    (0..count).filter(|n| arrays.is_unread(&sensed(*n))).count() as u64
}

#[test]
fn an_answer_takes_sixty_nanoseconds_and_the_tables_a_second() {
    if !is_measured() {
        return;
    }
    let mut made = None;
    let tables = seconds(|| made = Some(arrays()));
    assert!(tables < 1.0, "{tables} s for the tables of a tebibyte");
    let mut arrays = made.expect("they were made");
    // The first answer of a class is calculated; what follows is looked up.
    let warm_up = 400_000;
    let mut sum = outcomes(&mut arrays, Stage::Tin, warm_up) + outcomes(&mut arrays, Stage::Ton, warm_up);
    sum += unread(&mut arrays, 28 * warm_up);
    let count = 4_000_000;
    for (what, spent) in [
        ("a program", seconds(|| sum += outcomes(&mut arrays, Stage::Tin, count))),
        ("a read", seconds(|| sum += outcomes(&mut arrays, Stage::Ton, count))),
        ("whether a page is read", seconds(|| sum += unread(&mut arrays, count))),
    ] {
        let each = spent * 1e9 / f64::from(count);
        println!("{what}: {each:.0} ns");
        assert!(each <= 60.0, "{what}: {each:.0} ns");
    }
    assert!(sum > 0, "something was asked");
}

#[test]
fn ten_million_cells_are_programmed_in_a_tenth_of_two_minutes() {
    if !is_measured() {
        return;
    }
    let set = set();
    let skipped = [2, 3, 4, 5, 6, 7, 8];
    let how = How { skipped: &skipped, ..How::default() };
    let cells = Population::new(&set, &Strength::USUAL, &Condition::FRESH, Effects::ALL, how);
    let (mut random, mut high) = (Seed(1).stream("cells drawn", 0), 0.0);
    let spent = seconds(|| high = (0..10_000_000).map(|n| cells.draw(n % 8, &mut random)).sum::<f64>());
    println!("a cell: {:.0} ns", spent * 100.0);
    // A hundred million on two cores in 60 s.
    assert!(spent <= 12.0 && high > 0.0, "{spent} s");
}
