//! Applications: time to produce the next request, as in a run on 64 GiB. Threads wait for any completion, or
//! for their own.

use std::collections::VecDeque;
use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use wordline_kernel::{Bytes, Seed};
use wordline_lab::trace::workload::application::{self, Application, Threads};

/// Requests in one measurement.
const REQUESTS: u64 = 10_000;

/// The threads of an application.
fn threads_of(name: &str) -> Threads {
    let mut application = Application::named(name).expect("it is one of the names");
    application.requests = u64::MAX;
    application.threads(Seed(1), Bytes::gib(64)).expect("it has room")
}

fn any_answer(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("next request, any answer");
    group.throughput(Throughput::Elements(REQUESTS));
    for name in application::names() {
        group.bench_function(BenchmarkId::from_parameter(&name), |bencher| {
            let mut requests = threads_of(&name).in_turn();
            bencher.iter(|| {
                for _ in 0..REQUESTS {
                    black_box(requests.next());
                }
            });
        });
    }
    group.finish();
}

/// Threads issue requests until all of them wait. Then the oldest request completes.
fn own_answer(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("next request, own answer");
    group.throughput(Throughput::Elements(REQUESTS));
    for name in application::names() {
        group.bench_function(BenchmarkId::from_parameter(&name), |bencher| {
            let (mut threads, mut outstanding) = (threads_of(&name), VecDeque::new());
            bencher.iter(|| {
                for _ in 0..REQUESTS {
                    let (thread, request) = loop {
                        if let Some(asked) = threads.ask() {
                            break asked;
                        }
                        threads.completed(outstanding.pop_front().expect("a thread waits for an answer"));
                    };
                    outstanding.push_back(thread);
                    black_box(request);
                }
            });
        });
    }
    group.finish();
}

criterion_group!(benches, any_answer, own_answer);
criterion_main!(benches);
