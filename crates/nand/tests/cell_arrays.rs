//! The cells of a parameter set behind arrays, asked as chips ask them.

use std::sync::Arc;

use wordline_kernel::snapshot::{Reader, State, Writer};
use wordline_kernel::{Duration, Instant, Seed};
use wordline_nand::cell::{CellArrays, CellSet, CellsFile, Condition};
use wordline_nand::part::PartFile;
use wordline_nand::physics::Work;
use wordline_nand::{CellMode, DieId, Outcome, Parameters, Part, Physics, PlaneBlock, Stage};

fn text(folder: &str, name: &str) -> String {
    let path = format!("{}/../../data/{folder}/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("the file is there")
}

fn part(name: &str) -> Part {
    let file: PartFile = toml::from_str(&text("parts", name)).expect("well formed");
    file.check().expect("sound")
}

fn set() -> Arc<CellSet> {
    let file: CellsFile = toml::from_str(&text("cells", "cubeftl-tlc")).expect("well formed");
    Arc::new(file.check().expect("sound"))
}

fn cells(condition: Condition) -> CellArrays {
    CellArrays::new(set(), &part("cubeftl-tlc"), 0..4, condition, Seed(1)).expect("the set fits the part")
}

/// What one array is asked: how long it works, and how that went.
fn ask(
    cells: &mut CellArrays,
    stage: Stage,
    (die, block, page): (u32, u32, u32),
    parameters: &Parameters,
) -> (Duration, Outcome) {
    let part = part("cubeftl-tlc");
    let data_sheet = Duration::from_us(match stage {
        Stage::Tin => 700,
        Stage::Ton => 80,
        _ => 10_000,
    });
    let work = Work {
        stage,
        part: &part,
        mode: CellMode::Native,
        page,
        blocks: &[PlaneBlock { die: DieId(die), block }],
        parameters,
        begin: Instant::from_ps(0),
        data_sheet,
    };
    let mut outcome = Outcome::default();
    let time = cells.work(&work, Some(&mut outcome));
    (time, outcome)
}

/// Bit errors of many reads of a page, on average.
fn errors(cells: &mut CellArrays, at: (u32, u32, u32), parameters: &Parameters) -> f64 {
    let read = |_| f64::from(ask(cells, Stage::Ton, at, parameters).1.bit_errors[0]);
    (0..200).map(read).sum::<f64>() / 200.0
}

const USUAL: Parameters = Parameters::DATA_SHEET;
const YEAR: Condition = Condition { cycles: 2_000.0, hours: 8_760.0, ..Condition::FRESH };

#[test]
fn a_program_takes_its_loops_and_says_which() {
    let mut cells = cells(Condition::FRESH);
    let (time, outcome) = ask(&mut cells, Stage::Tin, (0, 3, 0), &USUAL);
    assert_eq!((time, outcome.loops, outcome.verifies), (Duration::from_us(700), 10, 49));
    assert_eq!(
        (outcome.first_loops[..8].to_vec(), outcome.last_loops[6]),
        (vec![2, 3, 4, 5, 6, 7, 8, 0], 10)
    );
    assert!(outcome.erased_to_p1 > 0, "the erased state and P1 overlap");
    let mut skipping = USUAL;
    for state in 0..7 {
        skipping.skipped_verifies[state] = outcome.first_loops[state] - 1;
    }
    let (shorter, _) = ask(&mut cells, Stage::Tin, (0, 3, 3), &skipping);
    assert_eq!(time - shorter, Duration::from_ns(28 * 4_050));
}

#[test]
fn a_read_finds_more_errors_in_old_cells_and_fewer_with_better_levels() {
    let mut new = cells(Condition::FRESH);
    let mut old = cells(YEAR);
    // The middle page of the worst layer.
    let at = (0, 3, 32 * 12 + 1);
    assert_eq!(ask(&mut new, Stage::Ton, at, &USUAL).1.senses, 3);
    let (before, after) = (errors(&mut new, at, &USUAL), errors(&mut old, at, &USUAL));
    assert!(after > 100.0 * before, "{before} {after}");
    let mut moved = USUAL;
    moved.read_offsets[..7].copy_from_slice(&[-14, -3, -5, -7, -9, -11, -13]);
    let better = errors(&mut old, at, &moved);
    assert!(better < 0.7 * after, "{better} after {after}");
}

#[test]
fn skipping_beyond_what_is_safe_shows_when_the_word_line_is_read() {
    let mut cells = cells(Condition::FRESH);
    let mut reckless = USUAL;
    reckless.skipped_verifies[2] = 5;
    let (safe, spoilt) = ((0, 3, 0), (0, 3, 3));
    ask(&mut cells, Stage::Tin, safe, &USUAL);
    ask(&mut cells, Stage::Tin, spoilt, &reckless);
    let of = |cells: &mut CellArrays, (die, block, page): (u32, u32, u32)| {
        errors(cells, (die, block, page + 1), &USUAL)
    };
    assert!(of(&mut cells, spoilt) > of(&mut cells, safe) + 1_000.0, "same layer, same block");
}

#[test]
fn erases_count_the_cycles_of_their_block_alone() {
    let mut cells = cells(Condition { hours: 8_760.0, ..Condition::FRESH });
    let (worn, other) = ((1, 7, 385), (1, 8, 385));
    let before = [errors(&mut cells, worn, &USUAL), errors(&mut cells, other, &USUAL)];
    for _ in 0..1_500 {
        ask(&mut cells, Stage::Ber, (1, 7, 0), &USUAL);
    }
    let after = [errors(&mut cells, worn, &USUAL), errors(&mut cells, other, &USUAL)];
    assert!(after[0] > 3.0 * before[0].max(1.0), "{before:?} {after:?}");
    assert!((after[1] - before[1]).abs() < 0.3 * before[1] + 2.0, "{before:?} {after:?}");
}

#[test]
fn the_same_seed_gives_the_same_cells_and_a_snapshot_goes_on_where_it_was() {
    let mut cells = cells(YEAR);
    let page = |n: u32| (n % 4, 17 + n % 3, n * 7 % 576);
    let mut first = cells.clone();
    let play = |cells: &mut CellArrays, from: u32| -> Vec<u32> {
        (from..from + 40).map(|n| ask(cells, Stage::Ton, page(n), &USUAL).1.bit_errors[0]).collect()
    };
    let whole = [play(&mut first, 0), play(&mut first, 40)];
    assert_eq!(play(&mut cells, 0), whole[0]);
    let mut bytes = Vec::new();
    cells.save_state(&mut Writer::new(&mut bytes)).expect("a list takes everything");
    let mut again = self::cells(YEAR);
    again.load_state(&mut Reader::new(&mut bytes.as_slice())).expect("it was just written");
    assert_eq!(play(&mut again, 40), whole[1]);
}

#[test]
fn a_set_of_other_cells_than_the_part_has_is_refused() {
    let wrong =
        CellArrays::new(set(), &part("mqsim-mlc"), 0..1, Condition::FRESH, Seed(1)).expect_err("two bits");
    let keys: Vec<&str> = wrong.0.iter().map(|complaint| complaint.key.as_str()).collect();
    assert_eq!(keys, ["set"; 3], "bits, programs and layers");
}
