//! Latency breakdown of requests: does it depend on how many are kept?

use wordline_device::tail::Tail;
use wordline_device::{BlockDevice, Operation};

use super::{build, file};
use crate::pblk::rig::{Host, Kind};

/// The hundred slowest of 12,000 requests, a fifth of them `writes` or none, of a host whose tail keeps this many.
fn slowest(kind: Kind, writes: bool, keep: usize) -> Vec<String> {
    let mut host = Host::of(build(file([12, 32, 1, 2, 2], kind, 3), 1), false);
    host.fill();
    host.device.explain(Tail::keeping_slowest(keep));
    for n in 0..12_000 {
        // Writes are in order of address, so that whole chunks become free.
        match n % 5 {
            0 if writes => host.submit(Operation::Write, n % 35 == 0, n / 5, 1),
            _ => host.submit(Operation::Read, false, n * 7_919, 1 + n % 3),
        }
        host.run_down_to(7);
    }
    host.run_down_to(0);
    let tail = host.device.tail().expect("the device reports the times of commands");
    tail.slowest().into_iter().take(100).map(|slow| format!("{slow:?}")).collect()
}

#[test]
fn a_breakdown_does_not_depend_on_how_many_are_kept() {
    for (kind, writes) in [(Kind::Synchronous, false), (Kind::Synchronous, true), (Kind::Shift, true)] {
        let all = slowest(kind, writes, 12_000);
        assert_eq!(slowest(kind, writes, 100), all);
        assert!(all.len() == 100 && (writes || all.iter().all(|slow| slow.contains("behind: Some"))));
    }
}
