//! The cell model against published threshold voltages, against its Monte Carlo form, and against invalid
//! inputs.

use wordline_kernel::Seed;
use wordline_nand::cell::*;

fn file(name: &str) -> CellsFile {
    let path = format!("{}/../../data/cells/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    toml::from_str(&std::fs::read_to_string(path).expect("the set is there")).expect("the set is sound")
}

fn set(name: &str) -> CellSet {
    file(name).check().unwrap_or_else(|wrong| panic!("{name}: {wrong}"))
}

/// Values from the tables of Cai et al., one row for each age:
///
/// * the age in hours;
/// * the mean page error rate with the references of the first day;
/// * the mean page error rate with the optimal references;
/// * the share of cells misread at the lowest boundary with the optimal reference.
const CAI: [(f64, f64, f64, f64); 5] = [
    (24.0, 3.86e-4, 3.86e-4, 5.73e-4),
    (168.0, 1.09e-3, 9.92e-4, 6.89e-4),
    (720.0, 1.75e-3, 1.49e-3, 8.50e-4),
    (2_190.0, 3.28e-3, 2.42e-3, 1.06e-3),
    (8_760.0, 6.18e-3, 3.77e-3, 1.34e-3),
];

#[test]
fn published_levels_give_their_error_rates() {
    let set = set("cai-tlc-2017");
    let of = |hours| {
        let condition = Condition { cycles: 2_000.0, hours, ..Condition::FRESH };
        set.levels(&CellProperties::USUAL, &condition, Effects::ALL, &ProgramEffect::default())
    };
    for (at, wanted) in [35.5, 97.4, 160.5, 223.6, 286.9, 350.6, 416.8].into_iter().enumerate() {
        assert!((set.references[at] - wanted).abs() < 0.06, "reference {at}: {}", set.references[at]);
    }
    for (hours, default, optimal, lowest) in CAI {
        let levels = of(hours);
        let best = levels.optimal_references();
        let near =
            |found: f64, wanted: f64| assert!((found / wanted - 1.0).abs() < 0.01, "{hours} h: {found}");
        near(levels.mean_error(&set.references), default);
        near(levels.mean_error(&best), optimal);
        near(levels.boundary_error(0, best[0]), lowest);
    }
    let shift = of(8_760.0).optimal_references();
    for (at, wanted) in [4.4, 8.4, 4.7, 1.7, -1.2, -3.3, -6.7].into_iter().enumerate() {
        assert!((shift[at] - set.references[at] - wanted).abs() < 0.11, "drift of reference {at}");
    }
}

#[test]
fn between_two_ages_levels_lie_between_theirs() {
    let Base::Measured(ages) = set("cai-tlc-2017").base else { panic!("the set is a table of ages") };
    let at = |hours: f64| ages.at(hours)[7].mean;
    assert_eq!((at(1.0), at(24.0), at(1e6)), (448.1, 448.1, 440.8));
    let between = at((24.0f64 * 168.0).sqrt());
    assert!((between - f64::midpoint(448.1, 444.9)).abs() < 1e-9, "half-way in the logarithm of time");
}

/// A set with every term; its numbers are drawn.
fn drawn(case: u64) -> (CellSet, CellProperties, Condition) {
    let mut random = Seed(case).stream("drawn sets", 0);
    let mut from = |low: f64, high: f64| low + (high - low) * random.unit();
    let bits = 1 + (case % 3) as u32;
    let states = 1usize << bits;
    let gap = 64.0;
    let level = |state: usize, from: &mut dyn FnMut(f64, f64) -> f64| Level {
        mean: gap * state as f64 + from(-3.0, 3.0),
        deviation: from(9.0, 14.0),
        left: LeftTail::default(),
    };
    let levels: Vec<Level> = (0..states).map(|state| level(state, &mut from)).collect();
    let drift = (0..states).map(|state| 3.0 - 4.5 * state as f64 / (states - 1) as f64).collect();
    let coding = Coding::usual(bits);
    let shape = if case % 5 == 4 { Shape::Student { freedom: 6 } } else { Shape::Gaussian };
    let new = Levels { states: levels.clone(), shape, coding: coding.clone(), over: Vec::new() };
    let set = CellSet {
        name: format!("case {case}"),
        source: String::new(),
        references: new.optimal_references(),
        base: Base::Programmed(levels),
        shape,
        coding,
        cycles: Some(Cycles {
            widening: from(1.0, 5.0),
            erased_rise: from(1.0, 8.0),
            exponent: from(0.4, 0.9),
        }),
        retention: Some(Retention {
            drift,
            widening: from(5.0, 20.0),
            cycles: 2_000.0,
            exponent: 0.5,
            unworn: 0.2,
            onset: 1.0,
            energy: 1.1,
            celsius: 30.0,
        }),
        disturb: Some(Disturb { rise: from(1.0, 6.0), exponent: 0.8 }),
        interference: Some(Interference { rise: from(0.2, 1.0), widening: from(2.0, 6.0) }),
        background: Some(Background { share: from(0.001, 0.01), power: 1.5, drop: 30.0 }),
        variation: None,
        ispp: Some(Ispp {
            window: 1_620.0,
            step: 162.0,
            pulse: wordline_kernel::Duration::from_us(50),
            verify: wordline_kernel::Duration::from_us(4),
            loops: (1..states as u32).map(|state| Loops { first: state + 1, last: state + 3 }).collect(),
        }),
        margins: Margins { start: 0.02, last: 0.02 },
        reading: None,
        factors: None,
    };
    let strength = CellProperties { width: from(1.0, 1.2), stress: from(0.8, 1.5), faster: from(0.0, 1.0) };
    let condition = Condition {
        cycles: from(0.0, 3_000.0),
        hours: from(0.0, 9_000.0),
        celsius: from(20.0, 45.0),
        reads: from(0.0, 1e6),
        again: from(0.0, 4.0).floor(),
        ahead: from(0.0, 4.0).floor(),
    };
    (set, strength, condition)
}

/// Error rates of a random set in both forms: the analytic rate, and the rate of drawn cells.
fn both_forms(case: u64, cells: u64) -> (f64, f64) {
    let (set, strength, condition) = drawn(case);
    let skipped: Vec<u8> =
        if case.is_multiple_of(4) { vec![(case % 3) as u8 + 2; set.states() - 1] } else { vec![] };
    let how = ProgramParameters {
        start_margin: if case.is_multiple_of(3) { 60.0 } else { 0.0 },
        final_margin: if case.is_multiple_of(5) { 90.0 } else { 0.0 },
        skipped: &skipped,
        early: 0,
        faster: strength.faster,
    };
    let ispp = set.ispp.as_ref().expect("it programs");
    let written = ProgramEffect::of(&how, &ispp.program(&how));
    let page = (case % u64::from(set.coding.bits())) as u32;
    let levels = set.levels(&strength, &condition, Effects::ALL, &written);
    let population = Population::new(&set, &strength, &condition, Effects::ALL, how);
    let mut random = Seed(case).stream("cells drawn", 0);
    let errors = population.bit_errors(page, &set.references, cells, &mut random);
    (levels.page_error(page, &set.references), errors as f64 / cells as f64)
}

/// Tests 200 sets, with ten million cells each if `WORDLINE_LONG` is set, else 20,000.
#[test]
fn the_analytic_rate_lies_within_four_standard_errors_of_drawn_cells() {
    let cells = if std::env::var_os("WORDLINE_LONG").is_some() { 10_000_000 } else { 20_000 };
    for case in 0..200 {
        let (analytic, drawn) = both_forms(case, cells);
        // States alternate, so the variance is at most the variance of independent cells.
        let error = (analytic * (1.0 - analytic) / cells as f64).sqrt();
        assert!((analytic - drawn).abs() <= 4.0 * error, "case {case}: {analytic} {drawn} +- {error}");
    }
}

/// The claim is true as long as states keep their order. The draws stay far from where the states would
/// cross.
#[test]
fn a_cause_that_grows_never_gives_fewer_errors_at_the_references_that_were_optimal() {
    for case in 0..100 {
        let (set, strength, before) = drawn(case);
        let errors = |condition: &Condition, references: &[f64]| {
            let levels = set.levels(&strength, condition, Effects::ALL, &ProgramEffect::default());
            (0..references.len()).map(|at| levels.boundary_error(at, references[at])).sum::<f64>()
        };
        let levels = set.levels(&strength, &before, Effects::ALL, &ProgramEffect::default());
        let references = levels.optimal_references();
        let least = errors(&before, &references);
        let grown = [
            ("cycles", Condition { cycles: before.cycles * 1.5 + 50.0, ..before }),
            ("time", Condition { hours: before.hours * 2.0 + 10.0, ..before }),
            ("heat", Condition { celsius: before.celsius + 15.0, ..before }),
            ("reads", Condition { reads: before.reads * 2.0 + 1e4, ..before }),
            ("neighbours", Condition { again: before.again + 1.0, ..before }),
            ("cells ahead", Condition { ahead: before.ahead + 1.0, ..before }),
        ];
        for (cause, after) in grown {
            let found = errors(&after, &references);
            assert!(found >= least * (1.0 - 1e-9), "case {case}, {cause}: {found} after {least}");
        }
    }
}

#[test]
fn what_is_left_out_changes_nothing() {
    let (set, strength, condition) = drawn(7);
    let new = set.levels(&strength, &Condition::FRESH, Effects::ALL, &ProgramEffect::default());
    let none = Effects::ALL
        .without(Effect::Cycles)
        .without(Effect::Retention)
        .without(Effect::Disturb)
        .without(Effect::Interference)
        .without(Effect::Background);
    assert_eq!(set.levels(&strength, &condition, none, &ProgramEffect::default()), new);
    for effect in [Effect::Cycles, Effect::Retention, Effect::Disturb, Effect::Interference] {
        let rest = set.terms(&strength, &condition, Effects::ALL.without(effect));
        assert!(rest.len() == 3 && rest.iter().all(|term| term.effect != effect), "{effect:?}");
    }
    let how = ProgramParameters::default();
    let ispp = set.ispp.as_ref().expect("it programs");
    let written = ProgramEffect::of(&how, &ispp.program(&how));
    assert_eq!(
        set.levels(&strength, &condition, Effects::ALL, &written).over,
        vec![Vec::<f64>::new(); set.states() - 1]
    );
}

/// A set of two bits with every table. A test replaces one of its values.
const WHOLE: &str = r#"
name = "n"
source = "s"
levels = { coding = [3, 1, 0, 2], mean = [0.0, 64.0, 128.0, 192.0], deviation = [10.0, 9.0, 9.0, 9.0], references = [30.0, 96.0, 160.0] }
cycles = { widening = 2.0, erased_rise = 3.0, exponent = 0.6 }
retention = { drift = [3.0, 1.0, 0.0, -2.0], widening = 9.0, cycles = 2000.0, exponent = 0.5, unworn = 0.2, onset_hours = 1.0, activation_energy = 1.1, celsius = 30.0 }
variation = { layers = 48, word_lines = 4, block = 0.1, chip = 0.1, roles = { beta = { layer = 16, width = 1.0, stress = 1.0 } } }
ispp = { window = 600.0, step = 100.0, pulse = "50us", verify = "4us", first = [1, 2, 3], last = [3, 4, 6] }
read = { level_step = 1.0, ecc_bits = 72, ecc_frame = "1KiB", decode = "10us", decode_soft = "50us", soft_gain = 1.5 }
"#;

#[test]
fn each_impossible_value_is_refused_by_its_key() {
    let whole: CellsFile = toml::from_str(WHOLE).expect("well formed");
    whole.check().expect("it is sound");
    for (old, new, key) in [
        ("[3, 1, 0, 2]", "[3, 0, 1, 2]", "levels.coding"),
        ("[3, 1, 0, 2]", "[3, 1, 1, 2]", "levels.coding"),
        ("64.0, 128.0", "128.0, 64.0", "levels.mean"),
        ("[10.0, 9.0", "[0.0, 9.0", "levels.deviation"),
        ("[10.0, 9.0", "[10.0, nan", "levels.deviation"),
        ("[30.0, 96.0", "[96.0, 96.0", "levels.references"),
        ("[3.0, 1.0, 0.0", "[3.0, 4.0, 0.0", "retention.drift"),
        ("cycles = 2000.0", "cycles = -1.0", "retention.cycles"),
        ("onset_hours = 1.0", "onset_hours = -1.0", "retention.onset_hours"),
        ("celsius = 30.0", "celsius = -300.0", "retention.celsius"),
        ("beta = {", "gamma = {", "variation.roles.gamma"),
        ("layer = 16", "layer = 48", "variation.roles.beta.layer"),
        ("window = 600.0", "window = 0.0", "ispp.window"),
        ("first = [1, 2, 3]", "first = [1, 5, 3]", "ispp.first"),
        ("last = [3, 4, 6]", "last = [3, 4, 7]", "ispp.last"),
        ("first = [1, 2, 3]", "first = [1, 2]", "ispp.first"),
        ("soft_gain = 1.5", "soft_gain = 0.5", "read.soft_gain"),
    ] {
        assert!(WHOLE.contains(old), "the test changes {old}");
        let file: CellsFile = toml::from_str(&WHOLE.replacen(old, new, 1)).expect("well formed");
        let wrong = file.check().expect_err(new);
        assert!(wrong.0.iter().any(|complaint| complaint.key == key), "{new}: {wrong}");
    }
}

/// The raw error rate, as hard decisions see it, up to which a channel transmits at `rate`. `capacity` gives
/// the bits per symbol that the channel transmits at each noise.
fn limit(rate: f64, capacity: impl Fn(f64) -> f64) -> f64 {
    let (mut least, mut most) = (0.1, 2.0);
    for _ in 0..60 {
        let noise = (least + most) / 2.0;
        if capacity(noise) > rate { least = noise } else { most = noise }
    }
    error_rate(least)
}

/// The share of symbols 1 and -1 that are taken for the other one, with Gaussian noise of this deviation.
fn error_rate(noise: f64) -> f64 {
    0.5 * libm::erfc(std::f64::consts::FRAC_1_SQRT_2 / noise)
}

#[test]
fn soft_decisions_gain_what_the_limits_of_the_channel_say() {
    let reading = set("cubeftl-tlc").reading.expect("it says how it is read");
    // A BCH code over frames of 2^13 bits needs 14 bits of parity for each bit that it corrects.
    let rate = 8_192.0 / (8_192.0 + 14.0 * f64::from(reading.ecc.bits));
    let hard = |noise| {
        let wrong = error_rate(noise);
        1.0 + wrong * libm::log2(wrong) + (1.0 - wrong) * libm::log2(1.0 - wrong)
    };
    let soft = |noise: f64| {
        let (steps, width) = (4_000, 20.0 * noise / 4_000.0);
        let lost = (0..steps).map(|n| {
            let seen = 1.0 - 10.0 * noise + (f64::from(n) + 0.5) * width;
            let off = (seen - 1.0) / noise;
            let density = libm::exp(-off * off / 2.0) / (std::f64::consts::TAU.sqrt() * noise);
            density * libm::log1p(libm::exp(-2.0 * seen / (noise * noise))) / std::f64::consts::LN_2 * width
        });
        1.0 - lost.sum::<f64>()
    };
    let (hard, soft) = (limit(rate, hard), limit(rate, soft));
    assert!((hard - 0.0145).abs() < 1e-4 && (soft - 0.0289).abs() < 1e-4, "{hard} and {soft}");
    assert!((reading.ecc.soft_gain - soft / hard).abs() < 0.01, "{}", soft / hard);
}

#[test]
fn a_higher_start_brings_a_fast_word_line_forward_by_the_loops_that_its_own_window_loses() {
    let ispp = set("cubeftl-tlc").ispp.expect("the set says how cells are programmed");
    let loops = |faster: f64, steps: f64| {
        ispp.loops_under(&ProgramParameters {
            faster,
            start_margin: steps * ispp.step,
            ..ProgramParameters::default()
        })
    };
    // The window has 9.75 steps, thus ten loops. With 0.3 steps less there are still ten loops, with 0.8
    // steps less nine.
    assert_eq!(loops(0.25, 0.3), loops(0.0, 0.0));
    let earlier = |state: &Loops| Loops { first: (state.first - 1).max(1), last: state.last - 1 };
    assert_eq!(loops(0.25, 0.8), loops(0.0, 0.0).iter().map(earlier).collect::<Vec<_>>());
}
