//! The calendar: schedules an event and takes the first one, with a given number of pending events.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use wordline_kernel::{Calendar, Duration, Schedule, Seed};

/// Events taken and rescheduled in one measurement.
const EVENTS: u64 = 10_000;

/// Pending events: a device with 64 dies has some hundred, a device with a thousand dies has some thousand.
const PENDING: [u64; 3] = [32, 256, 4_096];

fn calendar(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("calendar");
    group.throughput(Throughput::Elements(EVENTS));
    for pending in PENDING {
        group.bench_function(BenchmarkId::new("pop and push", pending), |bencher| {
            let mut calendar = Calendar::new();
            let mut random = Seed(1).stream("bench.calendar", 0);
            // Delays up to tPROG, like the delays that dies schedule.
            let mut delay = move || Duration::from_ns(1 + random.below(750_000));
            for event in 0..pending {
                calendar.after(delay(), event);
            }
            bencher.iter(|| {
                for _ in 0..EVENTS {
                    let event = calendar.advance().expect("as many are pending as before");
                    calendar.after(delay(), black_box(event));
                }
            });
        });
    }
    group.finish();
}

criterion_group!(benches, calendar);
criterion_main!(benches);
