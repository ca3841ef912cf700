use wordline_device::detail::{MemberDetail, PartCounts};
use wordline_kernel::Duration;
use wordline_nand::DieTimes;

use super::evidence::DieTimeShares;
use super::*;
use crate::sample;
use crate::summary::TimeShare;

const CLOSED: Pace = Pace::Closed { depth: 4, think: Duration::ZERO };

/// Dies that spend half of their time programming, and half on the bus.
const HALF: DieTimeShares = DieTimeShares { sensing: 0.0, programming: 0.5, erasing: 0.0, bus: 0.5 };
const MOSTLY_PROGRAMMING: DieTimeShares =
    DieTimeShares { programming: 0.8, bus: 0.15, sensing: 0.05, erasing: 0.0 };

/// A run of one second with these utilisations of dies, channels and link. `time` is the mean time of a
/// request in each stage, in microseconds. The last number is the number of outstanding requests.
fn run(
    busy: [f64; 3],
    die_time: DieTimeShares,
    stages: &[(&str, f64)],
    outstanding: f64,
) -> (Summary, Detail) {
    let [dies, channels, link] = busy;
    let time = |(name, us): &(&str, f64)| TimeShare { name: (*name).into(), read_us: *us, write_us: *us };
    let mut run = Summary {
        simulated_seconds: 1.0,
        die_utilisation: vec![dies * (1.0 - die_time.bus); 2],
        channel_utilisation: vec![channels],
        link_utilisation: vec![link],
        time: stages.iter().map(time).collect(),
        ..sample::mixed()
    };
    run.metrics.set("flash.gc_array_us", 0.0);
    let mean_us: f64 = stages.iter().map(|(_, us)| us).sum();
    run.host.iops = outstanding / (mean_us.max(1e-9) * 1e-6);
    let of = |share: f64| Duration::from_ps((dies * share * 1e12) as u64);
    let times = DieTimes {
        sensing: of(die_time.sensing),
        programming: of(die_time.programming),
        erasing: of(die_time.erasing),
        bus: of(die_time.bus),
        both: Duration::ZERO,
    };
    (run, Detail { dies: vec![times; 2], ..Detail::default() })
}

fn verdict((run, detail): &(Summary, Detail)) -> Verdict {
    of(run, CLOSED, detail).expect("it has parts")
}

/// Requests that wait for dies during half of their time.
const WAITING: [(&str, f64); 3] = [("array", 30.0), ("bus", 20.0), ("die_wait", 50.0)];

#[test]
fn the_only_part_that_is_full_binds() {
    let of = |busy| verdict(&run(busy, MOSTLY_PROGRAMMING, &WAITING, 100.0));
    let (buses, link, dies) = (of([0.5, 0.92, 0.2]), of([0.5, 0.3, 0.92]), of([0.92, 0.3, 0.2]));
    assert_eq!((buses.bound, buses.busiest, buses.busy), (Bound::Buses, Bound::Buses, 0.92));
    assert_eq!((link.bound, dies.bound, dies.busiest), (Bound::Link, Bound::Arrays, Bound::Arrays));
    assert!(dies.text.contains("busy (array or bus) 92.0 % of the run in the mean"), "{}", dies.text);
    assert!(dies.text.contains("80.0 % of that programming"), "{}", dies.text);
    let two = of([0.92, 0.92, 0.2]);
    assert_eq!(two.bound, Bound::Unknown);
    assert!(two.text.contains("see `wordline why`") && two.text.contains("wait for die"), "{}", two.text);
}

/// A member of an array with one die, whose host traffic is this number of writes.
fn member(writes: u64) -> MemberDetail {
    MemberDetail {
        role: String::new(),
        reads: 0,
        read_bytes: 0,
        writes,
        written_bytes: 0,
        parity_bytes: 0,
        parts: PartCounts { dies: 1, ..PartCounts::default() },
    }
}

#[test]
fn spares_that_an_array_does_not_use_do_not_change_its_verdict() {
    let (run, mut detail) = run([0.92, 0.3, 0.2], MOSTLY_PROGRAMMING, &WAITING, 100.0);
    detail.members = vec![member(1), member(1)];
    let without = verdict(&(run.clone(), detail.clone()));
    assert_eq!(without.bound, Bound::Arrays);
    detail.members.push(member(0));
    detail.dies.push(DieTimes::default());
    assert_eq!(verdict(&(run.clone(), detail.clone())), without);
    detail.members[2] = member(1);
    assert_eq!(verdict(&(run, detail)).bound, Bound::Unknown, "a member that takes writes is a part of it");
}

#[test]
fn a_die_that_programs_without_a_pause_is_full_though_its_array_rests_while_data_come() {
    // A program on `bench-tlc` spends 85 % of its time in the array and 15 % on the bus.
    let of_program = DieTimeShares { sensing: 0.0, programming: 0.849, erasing: 0.0, bus: 0.151 };
    assert_eq!(verdict(&run([0.99, 0.6, 0.1], of_program, &WAITING, 32.0)).bound, Bound::Arrays);
}

#[test]
fn full_dies_are_bound_by_what_takes_most_of_their_time_if_that_leads() {
    let of_gc = |part: f64, spend: DieTimeShares| {
        let mut run = run([0.95, 0.3, 0.2], spend, &WAITING, 100.0);
        let arrays: f64 = run.0.die_utilisation.iter().sum();
        run.0.metrics.set("flash.gc_array_us", part * arrays * 1e6);
        // Garbage collection has the same share of the bus data as of the array time. Each page is read and
        // programmed.
        for name in ["rmw_reads", "read_ahead_reads", "translation_reads", "host_programs", "unit_programs"]
            .into_iter()
            .chain(["translation_programs", "padding", "gc_copied"])
        {
            run.0.metrics.set(&format!("flash.{name}"), 0.0);
        }
        run.0.metrics.set("flash.gc_programs", part / 2.0 * 1e6);
        run.0.metrics.set("flash.host_reads", (1.0 - part) * 1e6);
        let verdict = verdict(&run);
        let share = verdict.gc.expect("there is GC");
        assert!((share - part).abs() < 1e-6, "{share}");
        verdict.bound
    };
    let mixed = DieTimeShares { sensing: 0.4, programming: 0.45, erasing: 0.05, bus: 0.1 };
    assert_eq!(of_gc(0.9, mixed), Bound::GarbageCollection);
    assert_eq!(of_gc(0.5, mixed), Bound::Arrays);
    assert_eq!(of_gc(0.85, MOSTLY_PROGRAMMING), Bound::Arrays, "programs take as much, whoever they are for");
    assert_eq!(of_gc(0.0, HALF), Bound::Unknown);
    let of_bus = DieTimeShares { sensing: 0.2, programming: 0.0, erasing: 0.0, bus: 0.8 };
    assert_eq!((of_gc(0.0, of_bus), of_gc(0.75, of_bus)), (Bound::Buses, Bound::Unknown));
}

#[test]
fn waits_for_the_bus_keep_a_die_from_other_commands_and_are_the_time_of_the_bus() {
    let of_waits = |busy: [f64; 3], spend: DieTimeShares, waits_ms: u64| {
        let mut run = run(busy, spend, &[("array", 10.0)], 1.0);
        run.1.bus_waits = Duration::from_ms(2 * waits_ms);
        verdict(&run)
    };
    assert_eq!(of_waits([0.6, 0.7, 0.1], HALF, 0).bound, Bound::Unknown);
    assert_eq!(of_waits([0.6, 0.7, 0.1], HALF, 350).bound, Bound::Buses);
    // As `pageftl` under `proxy`: programs, reads, and the bus with its waits have about equal effects.
    let thirds = DieTimeShares { sensing: 0.35, programming: 0.45, erasing: 0.0, bus: 0.2 };
    let none_leads = of_waits([0.89, 0.6, 0.1], thirds, 100);
    assert_eq!(none_leads.bound, Bound::Unknown);
    assert!(none_leads.text.contains("99.0 % with waits for their buses"), "{}", none_leads.text);
    assert_eq!(of_waits([0.7, 0.95, 0.1], HALF, 290).bound, Bound::Buses, "the buses have no time left");
}

#[test]
fn the_host_binds_where_the_least_that_a_doubling_brings_beats_every_share_of_the_time() {
    let serving = [("array", 60.0), ("bus", 30.0), ("link", 10.0)];
    let host = |busy, stages: &[_], outstanding| verdict(&run(busy, HALF, stages, outstanding)).bound;
    // One request at a time uses one of ten dies. Doubling gives at least 2 / (1 + 0.1), which is more than
    // the share of the array, 60 %, allows.
    assert_eq!(host([0.1, 0.05, 0.01], &serving, 1.0), Bound::Host);
    // Many requests at a time spend half of their time on a die each. Doubling gives 2 / (1 + 2 * 0.5), which
    // is no gain.
    assert_eq!(host([0.5, 0.05, 0.01], &serving, 100.0), Bound::Unknown);
    let blocked = [("array", 30.0), ("bus", 20.0), ("link", 20.0), ("buffer", 30.0)];
    assert_eq!(host([0.1, 0.05, 0.01], &blocked, 1.0), Bound::Unknown);
    assert_eq!(
        host([0.1, 0.05, 0.01], &[], 1.0),
        Bound::Unknown,
        "where requests spent their time is not known"
    );
    let alone = [("array", 95.0), ("bus", 5.0)];
    assert_eq!(host([0.1, 0.05, 0.01], &alone, 1.0), Bound::Unknown, "a faster array would bring as much");
}

#[test]
fn no_part_that_is_full_leaves_the_host_as_the_bound() {
    for percent in 90..=100 {
        let busy = f64::from(percent) / 100.0;
        for part in 0..3 {
            let mut of = [0.05; 3];
            of[part] = busy;
            let run = run(of, HALF, &[("array", 30.0), ("bus", 30.0), ("link", 40.0)], 1.0);
            assert_ne!(verdict(&run).bound, Bound::Host, "{of:?}");
            let open = super::of(&run.0, Pace::Open { time_scale: 1.0 }, &run.1).expect("it has parts");
            assert_ne!(open.bound, Bound::Host, "{of:?}");
        }
    }
}

#[test]
fn the_times_of_requests_bind_a_device_that_keeps_up_with_them() {
    let open = |us: f64| {
        let (run, detail) = run([0.5, 0.4, 0.3], HALF, &[("buffer", us)], 1.0);
        of(&run, Pace::Open { time_scale: 1.0 }, &detail).expect("it has parts")
    };
    let kept_up = open(500.0);
    assert!(kept_up.text.starts_with("the host, whose requests came at their own times"), "{}", kept_up.text);
    assert_eq!(open(50_000.0).bound, Bound::Unknown, "the last ones came late");
}

#[test]
fn pauses_between_bursts_do_not_count_as_rest() {
    let (on, off) = (Duration::from_ms(1), Duration::from_ms(1));
    let (run, detail) = run([0.2, 0.46, 0.01], HALF, &WAITING, 1.0);
    let bursts = of(&run, Pace::Bursts { depth: 4, on, off }, &detail).expect("it has parts");
    assert_eq!((bursts.bound, bursts.busy), (Bound::Buses, 0.92));
}

#[test]
fn a_device_without_parts_and_a_run_without_requests_have_none() {
    let without = Summary {
        die_utilisation: Vec::new(),
        channel_utilisation: Vec::new(),
        link_utilisation: Vec::new(),
        ..sample::mixed()
    };
    assert_eq!(of(&without, CLOSED, &Detail::default()), None);
    let (mut idle, detail) = run([0.1, 0.1, 0.1], HALF, &WAITING, 1.0);
    idle.host.requests = 0;
    assert_eq!(of(&idle, CLOSED, &detail), None);
}
