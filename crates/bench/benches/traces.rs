//! Parsing of traces in memory, by format: the embedded trace, without the operations that a format lacks.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use wordline_lab::trace::{
    Compression, Op, Options, Request, TargetFormat, WriteOptions, embedded, read_bytes,
};

/// The requests as a file.
fn file(format: TargetFormat, compression: Compression, requests: &[Request]) -> Vec<u8> {
    let mut file = Vec::new();
    let options = WriteOptions { format, compression, generated: None, has_more: false };
    options.write(&mut file, requests.iter().copied().map(Ok)).expect("memory suffices");
    file
}

/// The requests as libCacheSim's oracleGeneral: seconds, object, size, next access; 24 bytes.
fn oracle_general(requests: &[Request]) -> Vec<u8> {
    let record = |request: &Request| {
        let mut record = [0xff; 24];
        record[..4].copy_from_slice(&((request.arrival.ps() / 1_000_000_000_000) as u32).to_le_bytes());
        record[4..12].copy_from_slice(&(request.offset.0 / 4096).to_le_bytes());
        record[12..16].copy_from_slice(&(request.size.0 as u32).to_le_bytes());
        record
    };
    requests.iter().flat_map(record).collect()
}

fn parse(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("parse");
    group.sample_size(10);
    let requests = embedded().requests;
    let requests: Vec<Request> =
        requests.into_iter().filter(|request| matches!(request.op, Op::Read | Op::Write)).collect();
    let plain = |format| (TargetFormat::name(format).to_owned(), file(format, Compression::Plain, &requests));
    let mut files: Vec<(String, Vec<u8>)> = TargetFormat::ALL.into_iter().map(plain).collect();
    files.push(("csv.zst".to_owned(), file(TargetFormat::Csv, Compression::Zstd, &requests)));
    files.push(("oracle-general".to_owned(), oracle_general(&requests)));
    for (name, file) in files {
        group.throughput(Throughput::Bytes(file.len() as u64));
        group.bench_function(BenchmarkId::from_parameter(&name), |bencher| {
            bencher.iter(|| {
                let trace = read_bytes(&name, &file, &Options::default()).expect("it was just written");
                assert_eq!(trace.requests.len(), requests.len());
                black_box(trace)
            });
        });
    }
    group.finish();
}

criterion_group!(benches, parse);
criterion_main!(benches);
