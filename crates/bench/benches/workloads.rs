//! Applications: to ask for the next request, as a run on 64 GiB does.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use wordline_kernel::{Bytes, Seed};
use wordline_lab::workload::{Application, application};

/// Requests in one measurement.
const REQUESTS: u64 = 10_000;

fn applications(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("next request");
    group.throughput(Throughput::Elements(REQUESTS));
    for name in application::names() {
        group.bench_function(BenchmarkId::from_parameter(&name), |bencher| {
            let mut application = Application::named(&name).expect("it is one of the names");
            application.requests = u64::MAX;
            let mut requests = application.generator(Seed(1), Bytes::gib(64)).expect("it has room");
            bencher.iter(|| {
                for _ in 0..REQUESTS {
                    black_box(requests.next());
                }
            });
        });
    }
    group.finish();
}

criterion_group!(benches, applications);
criterion_main!(benches);
