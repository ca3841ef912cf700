//! Cell model: outcomes for a tebibyte that was stored for a year, and for cells that are programmed one by
//! one.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use wordline_kernel::{Bytes, Duration, Instant, Seed};
use wordline_lab::{cells, config};
use wordline_nand::cell::*;
use wordline_nand::physics::Work;
use wordline_nand::{CellMode, DieId, Outcome, Parameters, Part, Physics, PlaneBlock, Sensed, Stage};

/// Outcomes of one measurement.
const ANSWERS: u32 = 65_536;
/// Dies of a tebibyte, blocks of a die and word lines of a block.
const SHAPE: [u32; 3] = [267, 428, 192];

fn set() -> CellSet {
    cells::set("cubeftl-tlc").expect("the set is embedded")
}

fn arrays(part: &Part) -> CellArrays {
    let year = Condition { cycles: 2_000.0, hours: 8_760.0, ..Condition::FRESH };
    CellArrays::new(Arc::new(set()), part, 0..SHAPE[0], year, Seed(1)).expect("the set fits the part")
}

/// Word lines spread over the device.
fn place(n: u32) -> (PlaneBlock, u32) {
    let [dies, blocks, word_lines] = SHAPE;
    (PlaneBlock { die: DieId(n % dies), block: n * 7 % blocks }, n * 13 % word_lines)
}

/// The outcome of a program or a read of a word line.
fn outcome(arrays: &mut CellArrays, part: &Part, stage: Stage, n: u32) -> u32 {
    let parameters = Parameters { outcome: true, ..Parameters::DATA_SHEET };
    let (at, word_line) = place(n);
    let work = Work {
        stage,
        part,
        mode: CellMode::Native,
        page: word_line * 3,
        blocks: &[at],
        parameters: &parameters,
        begin: Instant::ZERO,
        data_sheet: Duration::from_us(700),
    };
    let mut outcome = Outcome::default();
    arrays.work(&work, Some(&mut outcome));
    outcome.erased_to_p1 + outcome.bit_errors[0]
}

/// Whether a page is unreadable with an entry of the retry table.
fn is_uncorrectable(arrays: &mut CellArrays, n: u32) -> u32 {
    let ((at, word_line), level) = (place(n), (n % 28) as u8);
    let (mode, bytes, now) = (CellMode::Native, Bytes::kib(16), Instant::ZERO);
    let sensed = Sensed { at, word_line, page_type: n % 3, mode, level, bytes, now };
    u32::from(arrays.is_uncorrectable(&sensed))
}

type Group<'a> = BenchmarkGroup<'a, criterion::measurement::WallTime>;

/// Measures outcomes. The first outcome of a class is computed, the others are cached. Every word line has
/// been queried before the measurement.
fn measure(
    group: &mut Group<'_>,
    name: &str,
    arrays: &mut CellArrays,
    completion: impl Fn(&mut CellArrays, u32) -> u32,
) {
    let all = SHAPE.iter().product::<u32>() / 12;
    (0..all).for_each(|n| _ = black_box(completion(arrays, n)));
    let mut from = 0;
    group.bench_function(name, |bencher| {
        bencher.iter(|| {
            from += ANSWERS;
            (from..from + ANSWERS).map(|n| completion(arrays, n % all)).sum::<u32>()
        });
    });
}

fn completions(criterion: &mut Criterion) {
    let part = config::part("cubeftl-tlc").expect("the part is embedded");
    let mut group = criterion.benchmark_group("cells");
    group.bench_function("tables of a tebibyte", |bencher| bencher.iter(|| arrays(&part)));
    group.throughput(Throughput::Elements(u64::from(ANSWERS)));
    let mut cells = arrays(&part);
    measure(&mut group, "outcome of a program", &mut cells, |cells, n| outcome(cells, &part, Stage::Tin, n));
    measure(&mut group, "outcome of a read", &mut cells, |cells, n| outcome(cells, &part, Stage::Ton, n));
    measure(&mut group, "whether a page is read", &mut cells, is_uncorrectable);
    group.finish();
}

fn programs(criterion: &mut Criterion) {
    let set = set();
    let skipped = [2, 3, 4, 5, 6, 7, 8];
    let how = ProgramParameters { skipped: &skipped, ..ProgramParameters::default() };
    let cells = Population::new(&set, &CellProperties::USUAL, &Condition::FRESH, Effects::ALL, how);
    let mut group = criterion.benchmark_group("cells one by one");
    group.throughput(Throughput::Elements(u64::from(ANSWERS)));
    group.bench_function("program", |bencher| {
        let draw = |mut random| (0..ANSWERS as usize).map(|n| cells.draw(n % 8, &mut random)).sum::<f64>();
        bencher.iter_batched(|| Seed(1).stream("cells drawn", 0), draw, BatchSize::LargeInput);
    });
    group.finish();
}

criterion_group!(benches, completions, programs);
criterion_main!(benches);
