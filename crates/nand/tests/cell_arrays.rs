//! The cell model of a parameter set, called as chips call it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use wordline_kernel::snapshot::{Reader, State, Writer};
use wordline_kernel::{Bytes, Duration, Instant, Seed};
use wordline_nand::cell::{
    AgedCellsFile, Bit, CellArrays, CellProperties, CellSet, CellsFile, Condition, Effects, ProgramEffect,
    StoredBits, TwoBitCoding,
};
use wordline_nand::geometry::Layout;
use wordline_nand::part::{PartFile, SlcTiming};
use wordline_nand::physics::Work;
use wordline_nand::{
    BlockSetId, CellMode, DieId, LayerId, Layers, Outcome, Parameters, Part, Physics, PlaneBlock, Pools,
    Sensed, Stage,
};

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

/// Runs one array operation. Returns its time and outcome.
fn ask(
    cells: &mut CellArrays,
    stage: Stage,
    (die, block, page): (u32, u32, u32),
    parameters: &Parameters,
) -> (Duration, Outcome) {
    ask_in(cells, (stage, CellMode::Native), (die, block, page), parameters)
}

/// The part with the modes that its times allow.
fn part_with_modes(name: &str) -> Part {
    let mut file: PartFile = toml::from_str(&text("parts", name)).expect("well formed");
    let us = Duration::from_us;
    file.timing.slc = Some(SlcTiming { read: us(30), program: us(300), erase: us(5_000) });
    file.timing.reprogram = Some(us(2_705));
    file.check().expect("sound")
}

/// Runs one array operation in a cell mode. Returns its time and outcome.
fn ask_in(
    cells: &mut CellArrays,
    (stage, mode): (Stage, CellMode),
    (die, block, page): (u32, u32, u32),
    parameters: &Parameters,
) -> (Duration, Outcome) {
    let part = part_with_modes("cubeftl-tlc").in_mode(mode).expect("it has the mode");
    let data_sheet = Duration::from_us(match stage {
        Stage::Tin => 700,
        Stage::Ton => 80,
        _ => 10_000,
    });
    let work = Work {
        stage,
        part: &part,
        mode,
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

#[test]
fn a_program_in_slc_mode_takes_the_loops_of_its_one_state() {
    let mut cells = cells(YEAR);
    // P4 passes in loops 5 to 7, and P1 in 2 to 4. VStart is three loops higher, so four loops are left.
    let (time, outcome) = ask_in(&mut cells, (Stage::Tin, CellMode::Slc), (0, 3, 2), &USUAL);
    assert_eq!((outcome.loops, outcome.verifies), (4, 4));
    assert_eq!(time, Duration::from_ns(4 * (50_155 + 4_050)), "the data sheet says something else");
    assert_eq!((outcome.first_loops[..2].to_vec(), outcome.last_loops[0]), (vec![2, 0], 4));
    assert_eq!(outcome.erased_to_p1, 0, "what lies between is far from both");
    let skipping = Parameters { skipped_verifies: [1; 31], ..USUAL };
    let (shorter, _) = ask_in(&mut cells, (Stage::Tin, CellMode::Slc), (0, 3, 3), &skipping);
    assert_eq!(time - shorter, Duration::from_ns(4_050));
}

#[test]
fn two_bits_and_their_rewrites_take_the_loops_of_their_states() {
    let mut cells = cells(YEAR);
    let loops = |cells: &mut CellArrays, mode, page| {
        let (time, outcome) = ask_in(cells, (Stage::Tin, mode), (0, 3, page), &USUAL);
        let whole = Duration::from_ns(50_155) * u64::from(outcome.loops);
        assert_eq!(time, whole + Duration::from_ns(4_050) * u64::from(outcome.verifies));
        (outcome.loops, outcome.verifies)
    };
    // P1 to P3 pass up to loop 6. P2 to P5 pass in loops 3 to 8, and P3 to P6 in 4 to 9; the program begins
    // with the first loop of P2 or P3.
    assert_eq!(loops(&mut cells, CellMode::Mlc, 0), (6, 4 + 5 + 6));
    assert_eq!(loops(&mut cells, CellMode::Reprogrammed(1), 0), (7, 4 + 5 + 6 + 7));
    assert_eq!(loops(&mut cells, CellMode::Reprogrammed(2), 1), (7, 4 + 5 + 6 + 7));
}

#[test]
fn one_bit_a_cell_holds_a_year_that_three_bits_do_not() {
    let mut cells = cells(YEAR);
    let errors = |cells: &mut CellArrays, mode, page| {
        ask_in(cells, (Stage::Tin, mode), (0, 3, page), &USUAL);
        let read = |_| ask_in(cells, (Stage::Ton, mode), (0, 3, page), &USUAL).1;
        let reads: Vec<Outcome> = (0..50).map(read).collect();
        (reads[0].senses, reads.iter().map(|read| read.bit_errors[0]).sum::<u32>())
    };
    let (senses, native) = errors(&mut cells, CellMode::Native, 32 * 12);
    assert_eq!(senses, 2);
    let (senses, slc) = errors(&mut cells, CellMode::Slc, 32 * 4 + 1);
    assert_eq!(senses, 1);
    assert!(native > 50 * 100 && slc < 50, "{native} {slc}");
    // After an erase the block accepts another mode.
    ask(&mut cells, Stage::Ber, (0, 3, 0), &USUAL);
    let (senses, low) = errors(&mut cells, CellMode::Mlc, 32 * 8);
    assert_eq!(senses, 1, "the low bit lies between P1 and P2");
    assert!(low > 0 && low < native, "{low} of {native}");
}

#[test]
fn a_higher_start_widens_the_lowest_programmed_state_of_every_mode() {
    let set = set();
    let written = ProgramEffect { start_margin: 100.0, ..ProgramEffect::default() };
    for (held, lowest) in [
        (StoredBits::Native, 1),
        (StoredBits::Slc, 1),
        (StoredBits::of(CellMode::Mlc), 1),
        (StoredBits::of(CellMode::Reprogrammed(2)), 0),
    ] {
        let levels = |written| {
            set.used(held).levels(&set, &CellProperties::USUAL, &Condition::FRESH, written).states.into_iter()
        };
        let both = levels(&ProgramEffect::default()).zip(levels(&written));
        let wider: Vec<bool> = both.map(|(usual, now)| now.deviation > usual.deviation).collect();
        assert!(
            (0..).zip(&wider).all(|(state, is_wider)| *is_wider == (state == lowest)),
            "{held:?}: {wider:?}"
        );
    }
}

#[test]
fn margins_that_leave_no_window_are_beyond_the_part() {
    let mut file: PartFile = toml::from_str(&text("parts", "cubeftl-tlc")).expect("well formed");
    let set: CellsFile = toml::from_str(&text("cells", "cubeftl-tlc")).expect("well formed");
    file.cells = Some(Box::new(AgedCellsFile {
        set: Box::new(set),
        cycles: 0.0,
        hours: 0.0,
        retention_passes: false,
        celsius: 30.0,
        mixture: Vec::new(),
        surges: Vec::new(),
    }));
    let part = file.check().expect("sound");
    let beyond = |start_margin| part.beyond(&Parameters { start_margin, final_margin: 620, ..USUAL });
    assert_eq!(beyond(999), None);
    let (found, wanted) = beyond(1_000).expect("the window is 1,620 mV");
    assert_eq!(found, "margins of 1000 and 620 mV");
    assert_eq!(wanted, "less than the window of 1620 mV together");
}

/// The bit error rate of a page in MLC mode with these rewrites, by the states of the set.
fn rate_of(set: &CellSet, history: &[Bit], page: u32, ahead: f64) -> f64 {
    let coding = TwoBitCoding::of_history(history).expect("so many fit");
    let condition = Condition { again: history.len() as f64, ahead, ..Condition::FRESH };
    let levels = set.levels(&CellProperties::USUAL, &condition, Effects::ALL, &ProgramEffect::default());
    let base = coding.base();
    levels.part(base, coding.coding()).page_error(page, &set.references[base..base + 3])
}

/// The set of ReSSD's first chip as a cell model, without layers, so that all word lines are equal.
fn of_ressd() -> Arc<CellSet> {
    let mut file: CellsFile = toml::from_str(&text("cells", "ressd-b17a-a")).expect("well formed");
    let reading: CellsFile = toml::from_str(&text("cells", "cubeftl-tlc")).expect("well formed");
    (file.variation, file.read) = (None, reading.read);
    Arc::new(file.check().expect("sound"))
}

/// The outcome of one operation on a word line in MLC mode, of ReSSD's part.
fn ask_two_bits(cells: &mut CellArrays, stage: Stage, times: u8, page: u32) -> Outcome {
    let mode = if times == 0 { CellMode::Mlc } else { CellMode::Reprogrammed(times) };
    let part = part_with_modes("ressd-tlc").in_mode(mode).expect("it has the mode");
    let work = Work {
        stage,
        part: &part,
        mode,
        page,
        blocks: &[PlaneBlock { die: DieId(0), block: 5 }],
        parameters: &USUAL,
        begin: Instant::from_ps(0),
        data_sheet: Duration::from_us(2_705),
    };
    let mut outcome = Outcome::default();
    assert_eq!(cells.work(&work, Some(&mut outcome)), Duration::from_us(2_705), "the set has no loops");
    outcome
}

#[test]
fn rewritten_bits_are_read_where_their_history_put_them() {
    let set = of_ressd();
    for history in [&[][..], &[Bit::Low], &[Bit::High], &[Bit::Low, Bit::High], &[Bit::High, Bit::High]] {
        let mut cells =
            CellArrays::new(set.clone(), &part_with_modes("ressd-tlc"), 0..1, Condition::FRESH, Seed(1))
                .expect("the set fits the part");
        ask_two_bits(&mut cells, Stage::Tin, 0, 40);
        for (bit, times) in history.iter().zip(1..) {
            ask_two_bits(&mut cells, Stage::Tin, times, if *bit == Bit::Low { 40 } else { 41 });
        }
        for page in 0..2 {
            let read = |_| ask_two_bits(&mut cells, Stage::Ton, history.len() as u8, 40 + page).bit_errors[0];
            let found = f64::from((0..100).map(read).sum::<u32>()) / 100.0;
            let wanted = rate_of(&set, history, page, 0.0) * f64::from(16 << 13);
            let spread = 5.0 * (wanted / 100.0).sqrt();
            assert!((found - wanted).abs() < spread, "{history:?}, page {page}: {found} and {wanted}");
        }
    }
}

#[test]
fn cells_that_were_behind_those_above_them_are_left_behind_further() {
    let set = of_ressd();
    let mut cells =
        CellArrays::new(set.clone(), &part_with_modes("ressd-tlc"), 0..1, Condition::FRESH, Seed(1))
            .expect("the set fits the part");
    // 128 word lines in 64 layers are two in each layer. Page 44 therefore lies in the string of page 40, a
    // layer above.
    for page in [40, 42, 44, 46] {
        ask_two_bits(&mut cells, Stage::Tin, 0, page);
    }
    for (page, times) in [(44, 1), (40, 1), (44, 2), (40, 2)] {
        ask_two_bits(&mut cells, Stage::Tin, times, page);
    }
    let mut errors = |page| {
        let read = |_| ask_two_bits(&mut cells, Stage::Ton, 2, page).bit_errors[0];
        f64::from((0..200).map(read).sum::<u32>()) / 200.0
    };
    let history = [Bit::Low, Bit::Low];
    for (page, ahead) in [(40, 2.0), (44, 0.0)] {
        let wanted = rate_of(&set, &history, 0, ahead) * f64::from(16 << 13);
        let found = errors(page);
        assert!((found - wanted).abs() < 5.0 * (wanted / 200.0).sqrt(), "{page}: {found} and {wanted}");
    }
}

/// A page that is sensed at the nominal voltages and transferred as a whole.
fn sensed(at: PlaneBlock, word_line: u32, page_type: u32) -> Sensed {
    let (mode, bytes) = (CellMode::Native, Bytes::kib(16));
    Sensed { at, word_line, page_type, mode, level: 0, bytes, now: Instant::ZERO }
}

#[test]
fn a_read_of_fewer_frames_fails_as_often_as_one_of_them_has_too_many_errors() {
    // Without layers, all word lines are equal.
    let mut file: CellsFile = toml::from_str(&text("cells", "cubeftl-tlc")).expect("well formed");
    file.variation = None;
    let set = Arc::new(file.check().expect("sound"));
    let frame = u64::from(set.reading.as_ref().expect("it is read").ecc.frame) / 8;
    const PAGES: u32 = 6_000;
    let old = Condition { cycles: 2_000.0, hours: 5_000.0, ..Condition::FRESH };
    let mut cells =
        CellArrays::new(set, &part("cubeftl-tlc"), 0..4, old, Seed(1)).expect("the set fits the part");
    let mut share = |frames| {
        let at = |n| PlaneBlock { die: DieId(n % 4), block: n / 4 % 428 };
        let read = |n| Sensed { bytes: Bytes(frames * frame), ..sensed(at(n), n / (4 * 428), 1) };
        (0..PAGES).filter(|n| cells.is_uncorrectable(&read(*n))).count() as f64 / f64::from(PAGES)
    };
    // A page has 16 frames, which fail independently of one another.
    let all = share(16);
    assert!((0.25..0.4).contains(&all), "{all}");
    for fewer in [1, 4] {
        let wanted = 1.0 - libm::pow(1.0 - all, fewer as f64 / 16.0);
        let (found, spread) = (share(fewer), 5.0 * (wanted / f64::from(PAGES)).sqrt());
        assert!((found - wanted).abs() < spread, "{fewer} of 16 frames: {found} and {wanted}");
    }
}

#[test]
fn word_lines_that_do_not_divide_by_layers_have_the_cells_of_the_layer_that_tuners_know() {
    let mut file: PartFile = toml::from_str(&text("parts", "cubeftl-tlc")).expect("well formed");
    file.geometry.pages_per_block = 300;
    let part = file.check().expect("100 word lines in 48 layers are sound");
    let geometry = Layout::on_one_channel(1, None).check(&part).expect("the layout is sound");
    let layers = Layers::of(&Pools::of_pages(part.clone(), geometry));
    let mut cells = CellArrays::new(set(), &part, 0..1, YEAR, Seed(1)).expect("the set fits the part");
    // The last loop is needed by layers that program slowly.
    let narrow = Parameters { final_margin: 80, outcome: true, ..USUAL };
    let mut of_layers: BTreeMap<LayerId, BTreeSet<u32>> = BTreeMap::new();
    for word_line in 0..100 {
        let page = geometry.page(BlockSetId(0), 3 * word_line);
        let (_, outcome) = ask(&mut cells, Stage::Tin, (0, 0, 3 * word_line), &narrow);
        of_layers.entry(layers.layer_of(page, CellMode::Native)).or_default().insert(outcome.loops);
    }
    assert_eq!(of_layers.len(), 34);
    assert!(of_layers.values().all(|loops| loops.len() == 1), "{of_layers:?}");
    assert_eq!(of_layers.into_values().flatten().collect::<BTreeSet<u32>>().len(), 2);
}

#[test]
fn reads_disturb_their_block_until_it_is_erased() {
    let mut file: CellsFile = toml::from_str(&text("cells", "cubeftl-tlc")).expect("well formed");
    file.disturb = Some(toml::from_str("rise = 60000\nexponent = 1").expect("well formed"));
    let set = Arc::new(file.check().expect("sound"));
    let worn = Condition { cycles: 1_000.0, ..Condition::FRESH };
    let made = |seed| {
        CellArrays::new(set.clone(), &part("cubeftl-tlc"), 0..1, worn, seed).expect("the set fits the part")
    };
    let unread = |cells: &mut CellArrays, block, reads| {
        let page = |n: u32| sensed(PlaneBlock { die: DieId(0), block }, n % 192, n % 3);
        (0..reads).filter(|n| cells.is_uncorrectable(&page(*n))).count()
    };
    let mut cells = made(Seed(1));
    assert_eq!([3, 4].map(|block| unread(&mut cells, block, 90)), [0, 0]);
    unread(&mut cells, 3, 10_000);
    let mut bytes = Vec::new();
    cells.save_state(&mut Writer::new(&mut bytes)).expect("a list takes everything");
    let mut again = made(Seed(2));
    again.load_state(&mut Reader::new(&mut bytes.as_slice())).expect("it was just written");
    for cells in [&mut cells, &mut again] {
        let (disturbed, other) = (unread(cells, 3, 90), unread(cells, 4, 90));
        assert!(disturbed >= 30 && other == 0, "{disturbed} and {other} of 90");
        ask(cells, Stage::Ber, (0, 3, 0), &USUAL);
        assert_eq!(unread(cells, 3, 90), 0);
    }
}

#[test]
fn a_page_in_slc_mode_is_read_at_the_first_try_where_a_native_one_is_not() {
    let mut cells = cells(YEAR);
    let at = PlaneBlock { die: DieId(0), block: 3 };
    let unread = |cells: &mut CellArrays, mode, word_line| {
        let sensed = Sensed { mode, ..sensed(at, word_line, 0) };
        (0..50).filter(|_| cells.is_uncorrectable(&sensed)).count()
    };
    assert!(unread(&mut cells, CellMode::Native, 128) > 45);
    assert_eq!(unread(&mut cells, CellMode::Slc, 129), 0);
}

#[test]
fn a_page_that_is_read_twice_needs_about_the_same_entry_of_the_table() {
    let mut cells = cells(Condition { cycles: 2_000.0, hours: 2_000.0, ..Condition::FRESH });
    let entry = |cells: &mut CellArrays, block, word_line| {
        let at = PlaneBlock { die: DieId(1), block };
        let sensed = sensed(at, word_line, 1);
        let is_read = |level: &u8| !cells.is_uncorrectable(&Sensed { level: *level, ..sensed });
        f64::from((0..27).find(is_read).unwrap_or(27))
    };
    // The word lines of one layer of one block differ only by the random part of a page.
    let lines: Vec<u32> = (0..4).map(|line| 31 * 4 + line).collect();
    let (mut within, mut between) = (0.0, 0.0);
    for block in 0..100 {
        let first: Vec<f64> = lines.iter().map(|line| entry(&mut cells, block, *line)).collect();
        let again: Vec<f64> = lines.iter().map(|line| entry(&mut cells, block, *line)).collect();
        for n in 0..4 {
            within += (first[n] - again[n]).powi(2);
            between += (first[n] - again[(n + 1) % 4]).powi(2);
        }
    }
    assert!(between > 100.0 && within < 0.5 * between, "{within} of {between}");
    // After an erase the block has other pages.
    let old: Vec<f64> = (0..100).map(|block| entry(&mut cells, block, 124)).collect();
    (0..100).for_each(|block| _ = ask(&mut cells, Stage::Ber, (1, block, 0), &USUAL));
    let moved = (0..100).filter(|block| entry(&mut cells, *block, 124) != old[*block as usize]);
    assert!(moved.count() > 20);
}

/// Memory pages of the process.
#[cfg(target_os = "linux")]
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").expect("the system says it");
    text.split(' ').nth(1).expect("it is the second number").parse().expect("a number")
}

/// 1 TiB has 267 dies of 428 blocks. State by block and word line is allocated after a program with
/// parameters other than the data sheet's. State of reads is allocated after reads over the whole device.
#[test]
#[cfg(target_os = "linux")]
fn the_tables_of_a_tebibyte_take_less_than_200_megabytes() {
    let part = part("cubeftl-tlc");
    let before = resident();
    let mut cells = CellArrays::new(set(), &part, 0..267, YEAR, Seed(1)).expect("the set fits the part");
    let skipping = Parameters { skipped_verifies: [1; 31], outcome: true, ..USUAL };
    for (die, block) in (0..267).flat_map(|die| (0..428).map(move |block| (die, block))) {
        let word_line = (die * 428 + block) % 192;
        let at = PlaneBlock { die: DieId(die), block };
        let work = Work {
            stage: Stage::Tin,
            part: &part,
            mode: CellMode::Native,
            page: word_line * 3,
            blocks: &[at],
            parameters: if block % 2 == 0 { &skipping } else { &USUAL },
            begin: Instant::ZERO,
            data_sheet: Duration::from_us(700),
        };
        cells.work(&work, Some(&mut Outcome::default()));
        cells.is_uncorrectable(&sensed(at, word_line, 1));
    }
    let megabytes = (resident() - before) * 4_096 / 1_000_000;
    assert!((20..200).contains(&megabytes), "{megabytes} MB");
}
