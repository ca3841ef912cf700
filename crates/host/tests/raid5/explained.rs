//! Latency breakdown of array commands: does it add up to the latency?

use wordline_device::ageing::Ages;
use wordline_device::tail::{RequestBreakdown, Tail, UpperStage};
use wordline_device::{BlockDevice, Operation};
use wordline_kernel::{Bytes, Duration, Seed};
use wordline_ssd::{Device, contract};

use super::{Bench, PAGE, md, null};
use wordline_host::raid5::ArrayFile;

/// An array of four filled SSDs, with attribution on.
fn ssds(file: ArrayFile) -> Bench<Device> {
    let config = contract::small().check().expect("it is sound");
    let devices = (0..4).map(|seed| Device::new(config.clone(), Seed(seed))).collect();
    let mut bench = Bench::new(devices, 4, file);
    assert!(bench.array.fill_while(1.0, &mut |_| true));
    bench.array.explain(Tail::keeping_slowest(1_000));
    bench
}

fn sum(parts: &[Duration]) -> Duration {
    parts.iter().copied().sum()
}

/// Checks that the breakdown of each of the slowest commands adds up to its latency. Returns the number of
/// these commands.
pub fn check<D: Ages>(bench: &Bench<D>) -> usize {
    let slowest = bench.array.tail().expect("its members explain their commands").slowest();
    for slow in &slowest {
        let parts = sum(&slow.above) + sum(&slow.parts);
        assert_eq!(parts, slow.completion.latency, "{slow:?}");
    }
    slowest.len()
}

/// The only explained command of an array.
fn only<D: Ages>(bench: &Bench<D>) -> RequestBreakdown {
    assert_eq!(check(bench), 1);
    bench.array.tail().expect("it is explained").slowest()[0].clone()
}

#[test]
fn a_read_takes_what_its_member_took() {
    let mut bench = ssds(md());
    let latency = bench.time(Operation::Read, 0, PAGE);
    let read = only(&bench);
    assert_eq!((sum(&read.above), sum(&read.parts)), (Duration::ZERO, latency));
    assert_eq!(read.device, Some(0), "left-symmetric: the first chunk of data is on the first member");
}

#[test]
fn a_small_write_reads_before_it_writes() {
    let mut bench = ssds(md());
    let latency = bench.time(Operation::Write, 0, PAGE);
    let write = only(&bench);
    // The old data and the old parity are read concurrently, each in the time of this read on an equal array.
    let read = ssds(md()).time(Operation::Read, 0, PAGE);
    assert_eq!(write.above[UpperStage::Reads as usize], read);
    assert_eq!(write.above[UpperStage::Wait as usize], Duration::ZERO, "nothing else is going on");
    assert_eq!(sum(&write.parts), latency - read, "the rest is the slower of two writes");
}

#[test]
fn the_entry_of_the_parity_log_is_a_part() {
    let mut bench = ssds(ArrayFile { parity_log: Some(Bytes::kib(128)), ..md() });
    bench.time(Operation::Write, 0, PAGE);
    let write = only(&bench);
    assert!(write.above[UpperStage::Log as usize] > Duration::ZERO);
}

#[test]
fn a_read_of_a_member_that_failed_takes_what_the_slowest_of_the_others_took() {
    let mut bench = ssds(md());
    bench.fail(0);
    let latency = bench.time(Operation::Read, 0, PAGE);
    let read = only(&bench);
    assert_eq!((sum(&read.above), sum(&read.parts)), (Duration::ZERO, latency));
    assert_ne!(read.device, Some(0));
}

#[test]
fn a_write_to_a_row_at_work_waits_for_it() {
    let mut bench = ssds(md());
    bench.submit(Operation::Write, 0, PAGE);
    while bench.array.devices()[0].outstanding() == 0 {
        bench.step();
    }
    let latency = bench.time(Operation::Write, 0, PAGE);
    assert_eq!(check(&bench), 2);
    let tail = bench.array.tail().expect("it is explained");
    let second =
        tail.slowest().into_iter().find(|slow| slow.completion.latency == latency).expect("it is kept");
    assert!(second.above[UpperStage::Wait as usize] > Duration::ZERO, "{second:?}");
}

#[test]
fn an_array_of_devices_that_explain_nothing_explains_nothing() {
    let mut bench = null(3, 0, Bytes::mib(4), md());
    bench.array.explain(Tail::keeping_slowest(10));
    bench.time(Operation::Read, 0, PAGE);
    assert!(bench.array.tail().is_none());
}

/// The hundred slowest of 12,000 reads of an array whose tail keeps this many.
fn slowest(keep: usize) -> Vec<String> {
    let mut bench = ssds(md());
    bench.array.explain(Tail::keeping_slowest(keep));
    let pages = bench.array.shape().namespaces[0] / PAGE;
    for n in 0..12_000 {
        bench.submit(Operation::Read, n * 7_919 % pages * PAGE, PAGE);
        while bench.array.outstanding() > 7 && bench.step() {}
        bench.completions();
    }
    bench.run();
    let tail = bench.array.tail().expect("its members explain their commands");
    tail.slowest().into_iter().take(100).map(|slow| format!("{slow:?}")).collect()
}

#[test]
fn a_breakdown_does_not_depend_on_how_many_are_kept() {
    let all = slowest(12_000);
    assert_eq!(slowest(100), all);
    assert!(all.iter().any(|slow| slow.contains("behind: Some")) && all.len() == 100);
}
