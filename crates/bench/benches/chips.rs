//! Chips alone, without an FTL: pages read and programmed on eight dies of one bus.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use wordline_kernel::Seed;
use wordline_lab::config;
use wordline_nand::LogicalUnit;
use wordline_nand::unit::{Access, UnitFile};

/// Page accesses of one measurement.
const PAGES: u32 = 4_096;

fn unit() -> LogicalUnit {
    let part = config::part("mqsim-mlc").expect("the part is embedded");
    LogicalUnit::new(&part, &UnitFile::legacy(8), Seed(1)).expect("eight dies are few")
}

fn chips(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("chips");
    group.throughput(Throughput::Elements(u64::from(PAGES)));
    let programs = || (0..PAGES).map(|page| Access::Write { page, count: 1 });
    group.bench_function("program", |bencher| {
        let run = |mut unit: LogicalUnit| {
            unit.run(programs()).expect("pages in order are legal");
            unit
        };
        bencher.iter_batched(unit, run, BatchSize::LargeInput);
    });
    group.bench_function("read", |bencher| {
        let mut unit = unit();
        unit.run(programs()).expect("pages in order are legal");
        bencher.iter(|| unit.run((0..PAGES).map(|page| Access::Read { page, count: 1 })));
    });
    group.finish();
}

criterion_group!(benches, chips);
criterion_main!(benches);
