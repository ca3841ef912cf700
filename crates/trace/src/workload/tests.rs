//! Do the generators draw what their configuration says?

use std::collections::BTreeMap;

use wordline_kernel::{Bytes, Complaints, Digest, Instant, Seed};

use super::*;
use crate::{Op, Request, Statistics};

const MIB: u64 = 1 << 20;

/// Parses a workload, with defaults for the fields that a test does not vary.
fn workload(extra: &str) -> Workload {
    let base = "description = \"a test\"\nprecondition = \"empty\"\n";
    let with = |key: &str, line: &str| if extra.contains(key) { String::new() } else { format!("{line}\n") };
    let text = [
        base.to_owned(),
        with("requests =", "requests = 100000"),
        with("read_share =", "read_share = 0.5"),
        with("sizes =", "sizes = [{ size = \"4KiB\", weight = 1 }]"),
        with("pattern =", "pattern = { kind = \"uniform\" }"),
        with("arrival =", "arrival = { kind = \"closed\", queue_depth = 1 }"),
        extra.to_owned(),
    ];
    read(&text.concat()).expect("the test's workload is right")
}

fn read(text: &str) -> Result<Workload, Complaints> {
    let workload: Workload = toml::from_str(text).expect("a workload in TOML");
    workload.check().map(|()| workload)
}

fn requests(workload: &Workload, capacity: u64) -> impl Iterator<Item = Request> {
    workload.generator(Seed(5), Bytes(capacity)).expect("the region holds a request")
}

fn hits(workload: &Workload, capacity: u64) -> BTreeMap<u64, u32> {
    let mut hits = BTreeMap::new();
    for request in requests(workload, capacity) {
        *hits.entry(request.offset.0 / 4096).or_insert(0) += 1;
    }
    hits
}

#[test]
fn uniform_addresses_are_equally_likely() {
    let hits = hits(&workload(""), 100 * 4096);
    let chi_squared: f64 = hits.values().map(|count| (f64::from(*count) - 1e3).powi(2) / 1e3).sum();
    // 99 degrees of freedom: chi-squared above 148 has probability 0.001.
    assert!(hits.len() == 100 && chi_squared < 148.0, "{} addresses, {chi_squared}", hits.len());
}

#[test]
fn sequential_requests_follow_each_other_and_start_over() {
    let w = workload(
        "requests = 6\nsizes = [{ size = \"8KiB\", weight = 1 }]\npattern = { kind = \"sequential\" }",
    );
    let offsets: Vec<u64> = requests(&w, 34 * 1024).map(|r| r.offset.0 / 1024).collect();
    assert_eq!(offsets, [0, 8, 16, 24, 0, 8]);
}

#[test]
fn zipf_gives_the_most_popular_address_its_share() {
    let w = workload("pattern = { kind = \"zipf\", theta = 0.99 }");
    let hits = hits(&w, 1000 * 4096);
    let all: f64 = (1..=1000).map(|rank| libm::pow(f64::from(rank), -0.99)).sum();
    let mut counts: Vec<u32> = hits.values().copied().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    for rank in [1usize, 2, 10] {
        let wanted = 1e5 * libm::pow(rank as f64, -0.99) / all;
        let found = f64::from(counts[rank - 1]);
        assert!((found - wanted).abs() < 5.0 * libm::sqrt(wanted), "rank {rank}: {found}, wanted {wanted}");
    }
    assert_eq!(hits.iter().max_by_key(|(_, count)| **count).map(|(slot, _)| *slot), Some(0));
}

#[test]
fn hot_addresses_get_their_share_of_accesses() {
    let w = workload("pattern = { kind = \"hot-cold\", hot_accesses = 0.8, hot_addresses = 0.2 }");
    let mut counts: Vec<u32> = hits(&w, 100 * 4096).into_values().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let hot: u32 = counts[..20].iter().sum();
    // 80,000 expected; the standard deviation of 100,000 draws is 126.
    assert!((f64::from(hot) - 8e4).abs() < 700.0, "{hot}");
}

#[test]
fn hot_addresses_get_their_share_of_the_accesses_of_every_size() {
    let pattern = "pattern = { kind = \"hot-cold\", hot_accesses = 0.8, hot_addresses = 0.2 }";
    let sizes = "sizes = [{ size = \"4KiB\", weight = 7 }, { size = \"64KiB\", weight = 3 }]";
    let w = workload(&format!("requests = 20_000\n{sizes}\n{pattern}"));
    let mut pages = vec![0; 6400];
    for request in requests(&w, 6400 * 4096) {
        let first = (request.offset.0 / 4096) as usize;
        pages[first..first + (request.size.0 / 4096) as usize].iter_mut().for_each(|hits| *hits += 1);
    }
    pages.sort_unstable_by(|a, b| b.cmp(a));
    let (all, hot): (u32, u32) = (pages.iter().sum(), pages[..1280].iter().sum());
    // The standard deviation of 20,000 draws is 57, of which 6,000 have nearly all pages: 1 % in all.
    assert!((f64::from(hot) / f64::from(all) - 0.8).abs() < 0.03, "{hot} of {all}");
}

#[test]
fn kinds_and_sizes_come_in_their_shares() {
    let w = workload(
        "read_share = 0.6\ndiscard_share = 0.1\nsizes = [{ size = \"4KiB\", weight = 3 }, { size = \"64KiB\", weight = 1 }]",
    );
    let all: Vec<Request> = requests(&w, 64 * MIB).collect();
    let near = |count: usize, wanted: f64| (count as f64 - wanted).abs() < 800.0; // 5 deviations of 158
    let count = |op| all.iter().filter(|r| r.op == op).count();
    assert!(near(count(Op::Read), 6e4) && near(count(Op::Discard), 1e4) && near(count(Op::Write), 3e4));
    assert!(near(all.iter().filter(|r| r.size == Bytes::kib(4)).count(), 7.5e4));
    let w = workload("read_share = 0.2\nwrite_zeroes_share = 0.3\ncompare_share = 0.4");
    let others: Vec<Request> = requests(&w, 64 * MIB).collect();
    let count = |op| others.iter().filter(|r| r.op == op).count();
    assert!(
        near(count(Op::WriteZeroes), 3e4) && near(count(Op::Compare), 4e4) && near(count(Op::Write), 1e4)
    );
    assert!(all.iter().all(|r| r.offset.0 + r.size.0 <= 64 * MIB && r.offset.0.is_multiple_of(4096)));
}

#[test]
fn requests_arrive_as_configured() {
    let arrivals = |arrival: &str, n| -> Vec<u64> {
        let w = workload(&format!("requests = {n}\narrival = {arrival}"));
        requests(&w, MIB).map(|r| r.arrival.ps() / 1_000_000).collect()
    };
    assert_eq!(arrivals("{ kind = \"closed\", queue_depth = 8 }", 3), [0, 0, 0]);
    assert_eq!(arrivals("{ kind = \"fixed\", interval = \"7us\" }", 3), [0, 7, 14]);
    let bursts = "{ kind = \"bursts\", on = \"20us\", off = \"100us\", interval = \"10us\" }";
    assert_eq!(arrivals(bursts, 5), [0, 10, 120, 130, 240]);
    let last =
        *arrivals("{ kind = \"exponential\", interval = \"10us\" }", 100_000).last().expect("not empty");
    // 10^6 us expected; the standard deviation of the sum is 3,162 us.
    assert!(last.abs_diff(1_000_000) < 16_000, "{last}");
}

#[test]
fn a_region_bounds_the_addresses() {
    let stats = Statistics::of(requests(&workload("region = 0.25"), 100 * MIB));
    assert!(stats.highest_byte <= 25 * MIB && stats.highest_byte > 24 * MIB, "{}", stats.highest_byte);
}

#[test]
fn equal_seeds_give_equal_requests_and_the_size_moves_no_address() {
    let digest = |seed, extra: &str| {
        let mut digest = Digest::default();
        for r in workload(extra).generator(Seed(seed), Bytes(64 * MIB)).expect("it fits") {
            [r.offset.0, r.op as u64, r.arrival.ps()].into_iter().for_each(|value| digest.add(value));
        }
        digest.value()
    };
    assert_eq!(digest(1, ""), digest(1, ""));
    assert_ne!(digest(1, ""), digest(2, ""));
    let two = |weights: [u32; 2]| {
        let [a, b] = weights;
        format!("sizes = [{{ size = \"4KiB\", weight = {a} }}, {{ size = \"8KiB\", weight = {b} }}]")
    };
    assert_eq!(digest(1, &two([1, 1])), digest(1, &two([1, 9])));
}

#[test]
fn every_named_workload_is_right_and_runs() {
    for name in [
        "randread-4k",
        "randwrite-4k-steady",
        "seqread-128k",
        "seqwrite-128k",
        "mixed-70-30",
        "zipf-read-write",
    ] {
        assert!(names().iter().any(|n| n == name), "{name}");
    }
    for name in names() {
        let workload = Workload::named(&name).expect("the embedded workloads are right");
        let share = Statistics::of(requests(&workload, 1 << 39).take(20_000)).reads as f64 / 2e4;
        assert!((share - workload.read_share).abs() < 0.02, "{name}: {share}");
    }
    let error = Workload::named("randraed-4k").expect_err("a misspelt name").to_string();
    assert!(error.contains("`randraed-4k`") && error.contains("randread-4k"), "{error}");
}

#[test]
fn the_requests_of_a_workload_may_take_as_long_as_the_limit_of_time() {
    let of = |requests: u64, arrival: &str| {
        let text = format!(
            "description = \"a test\"\nrequests = {requests}\nread_share = 0.5\nsizes = [{{ size = \"4KiB\", weight = 1 }}]\n\
             pattern = {{ kind = \"uniform\" }}\narrival = {arrival}\nprecondition = \"empty\"\n"
        );
        read(&text).map_err(|complaints| complaints.to_string())
    };
    let last = |workload: Workload| requests(&workload, MIB).map(|r| r.arrival).last();
    let daily = "{ kind = \"fixed\", interval = \"1d\" }";
    assert_eq!(last(of(107, daily).expect("106 days")), Some(Instant::LIMIT));
    let refusal = of(108, daily).expect_err("107 days");
    assert!(refusal.contains("wanted all requests within 106d"), "{refusal}");
    // A thousand requests per burst: few requests have a day of pause before them.
    let bursts = "{ kind = \"bursts\", on = \"1s\", off = \"1d\", interval = \"1ms\" }";
    assert!(last(of(100_000, bursts).expect("a hundred bursts")).is_some_and(|last| last < Instant::LIMIT));
    assert!(of(107_001, bursts).is_err());
}

#[test]
fn a_region_too_small_for_a_request_is_refused() {
    let error = workload("").generator(Seed(1), Bytes(4095)).expect_err("no room for 4 KiB").to_string();
    assert_eq!(error, "region: found 4095B, wanted at least one request of 4KiB");
}
