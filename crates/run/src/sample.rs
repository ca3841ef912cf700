//! Invented runs for tests of reports: plausible ones, and extreme ones.

use wordline_device::detail::of_pool;
use wordline_flash::faults::Faults;
use wordline_kernel::Metrics;
use wordline_kernel::metrics::{Unit, Value};
use wordline_ssd::metrics::all;

use crate::course::{Course, DieMap};
use crate::provenance::Provenance;
use crate::summary::{
    Bound, CommandTime, DieWear, Drift, Host, Latency, MemberUse, Outcome, PoolUse, Share, Simulator, Source,
    SourceKind, Summary, TimeShare, Verdict, Wear, Window, Windows, WriteBack,
};
use crate::tail::{LatencyRange, LongestCommand, SlowRequest, Slowest, Tail, TailDie, TailPart};

/// A mixed run on a drive with 8 channels and 64 dies. GC begins in its second half.
pub fn mixed() -> Summary {
    Summary {
        device: "nvme-tlc-512g".to_owned(),
        workload: Source { name: "mixed-70-30".to_owned(), kind: SourceKind::Synthetic },
        trace_file: None,
        provenance: Provenance::of(Some("0123456789ab"), Vec::new()),
        configuration: "[device]\n".to_owned(),
        seed: 1,
        digest: "5f2b9c0e7d1a4468".to_owned(),
        outcome: Outcome::Complete,
        simulated_seconds: 9.63,
        recovery_seconds: 0.0,
        simulator: Simulator {
            wall_seconds: 2.1,
            precondition_seconds: 0.84,
            requests_per_second: 571_428.0,
        },
        verdict: Some(verdict()),
        host: host(),
        metrics: busy(&[]),
        write_amplification: Some(1.72),
        drift: Some(Drift { third_quarter: 3.02, last_quarter: 3.05 }),
        energy_by_stage: shares(&[("TIN", 0.6), ("TON", 21.3), ("BER", 4.1), ("TIR", 0.2), ("idle", 35.2)]),
        time: time(),
        tail: Some(tail()),
        write_back: vec![write_back(41_000)],
        link_utilisation: Vec::new(),
        channel_utilisation: (0..8).map(|channel| 0.31 + 0.02 * f64::from(channel % 3)).collect(),
        die_utilisation: (0..64).map(|die| 0.42 + 0.3 * wave(die)).collect(),
        wear: wear(64, 256),
        members: Vec::new(),
        jobs: Vec::new(),
        fairness: None,
        power_cuts: Vec::new(),
        charts: Vec::new(),
        pools: Vec::new(),
        notes: vec!["3 requests went beyond the device and were wrapped".to_owned()],
        unknown: Vec::new(),
        warm_up: None,
        precision: None,
        rebuild: None,
        windows: windows(300, 9.63 / 300.0),
    }
}

fn verdict() -> Verdict {
    Verdict {
        bound: Bound::Host,
        busiest: Bound::Arrays,
        busy: 0.72,
        mean_busy: 0.42,
        gc: Some(0.31),
        stage: Some("array".to_owned()),
        stage_share: 0.6,
        text: "the host: the dies had nothing to do for more than half of the run".to_owned(),
    }
}

/// The mixed run on an array of this many devices. Device 1 has failed.
pub fn array(devices: u32) -> Summary {
    let pool = pooled().pools[1].clone();
    let role = |number| if number == 1 { "member 1, failed".to_owned() } else { format!("member {number}") };
    let member = |number: u32| MemberUse {
        role: role(number),
        part: pool.part.clone(),
        writes: 1_000_000,
        written_bytes: 80 << 30,
        parity_bytes: 20 << 30,
        erases_per_block: 0.5 * f64::from(number),
        most_worn: number,
        ..MemberUse::default()
    };
    let counts = [
        ("raid5.members", u64::from(devices)),
        ("raid5.data_writes", 4_000),
        ("raid5.parity_writes", 3_000),
        ("raid5.read_modify_writes", 0),
        ("raid5.rebuilt", 0),
    ];
    let mut run = mixed();
    for metric in wordline_host::raid5::metrics() {
        let value = counts.iter().find(|(name, _)| *name == metric.name).map_or(0, |(_, count)| *count);
        run.metrics.add(*metric, value);
    }
    run.wear = wear(8 * devices, 40);
    run.die_utilisation = (0..8 * devices).map(|die| 0.42 + 0.3 * wave(die)).collect();
    run.pools = (0..devices).map(|_| pool.clone()).collect();
    run.members = (0..devices).map(member).collect();
    run
}

/// The mixed run on a device with more dies and shorter waits.
pub fn faster() -> Summary {
    let mut run = mixed();
    run.device = "nvme-tlc-1t <script>alert('&')</script>".to_owned();
    run.digest = "c0ffee0012345678".to_owned();
    run.host.read_latency_us = latency(61.0, 0.8);
    run.host.write_latency_us = latency(14.0, 1.1);
    run.host.iops *= 1.41;
    run.simulated_seconds /= 1.41;
    run.windows.width_seconds /= 1.41;
    run.write_amplification = Some(1.31);
    run.metrics.set("programs_per_host_program", 1.29);
    run.time.iter_mut().for_each(|share| share.read_us *= 0.7);
    run.die_utilisation = (0..128).map(|die| 0.25 + 0.2 * wave(die)).collect();
    run.wear = wear(128, 512);
    run
}

/// The mixed run on a device with two pools.
pub fn pooled() -> Summary {
    let pool = |part: &str, bytes, programs, erases, endurance_used, wear_values| PoolUse {
        part: part.to_owned(),
        dies: 8,
        bytes,
        programs,
        programmed_bytes: programs * 8_192,
        erases,
        erases_per_block: erases as f64 / 11_496.0,
        endurance_used,
        valid_share: 0.61,
        dies_busy: endurance_used * 1e5,
        least_worn: 1,
        most_worn: 9,
        bad_blocks: 2,
        wear_values,
        metrics: {
            let mut metrics = Metrics::default();
            Faults { program_failures: erases / 100, ..Faults::default() }.add_to(&mut metrics);
            metrics.add(*of_pool().last().expect("its energy"), endurance_used * 1e6);
            metrics
        },
    };
    Summary {
        device: "centaur".to_owned(),
        pools: vec![
            pool("centaur-tlc-3d", 253 << 30, 116_280, 101, 1.8e-6, 800),
            pool("centaur-slc-2d", 32 << 30, 38_760, 303, 4.4e-7, 320),
        ],
        write_back: vec![write_back(9_690), write_back(38_760)],
        metrics: busy(&[
            ("sub_requests.to_first", 9_120.into()),
            ("sub_requests.to_first_bytes", (9_120 * 83_000).into()),
            ("sub_requests.to_first_mean_bytes", 83_000.0.into()),
            ("sub_requests.to_others", 31_007.into()),
            ("sub_requests.to_others_bytes", (31_007 * 6_144).into()),
            ("sub_requests.to_others_mean_bytes", 6_144.0.into()),
            ("sub_requests.redirected", 12.into()),
            ("sub_requests.stolen", 345.into()),
            ("sub_requests.migrated_units", 67.into()),
            ("sub_requests.migrated_pages", 804.into()),
            ("sub_requests.condition_bytes", (70 << 10).into()),
        ]),
        die_utilisation: (0..16).map(|die| 0.42 + 0.3 * wave(die)).collect(),
        wear: wear(16, 70),
        ..mixed()
    }
}

/// A run without requests.
pub fn empty() -> Summary {
    Summary {
        simulated_seconds: 0.0,
        simulator: Simulator { requests_per_second: 0.0, ..mixed().simulator },
        host: Host {
            requests: 0,
            reads: 0,
            writes: 0,
            discards: 0,
            flushes: 0,
            write_zeroes: 0,
            compares: 0,
            failed: 0,
            read_bytes: 0,
            written_bytes: 0,
            iops: 0.0,
            read_latency_us: Latency::default(),
            write_latency_us: Latency::default(),
            discard_latency_us: Latency::default(),
            flush_latency_us: Latency::default(),
            write_zeroes_latency_us: Latency::default(),
            compare_latency_us: Latency::default(),
            zones: None,
        },
        metrics: metrics(&[("flash.effective_spare", 0.11.into()), ("flash.valid_share", 0.89.into())]),
        write_amplification: None,
        energy_by_stage: Vec::new(),
        time: time().into_iter().map(|share| TimeShare { read_us: 0.0, write_us: 0.0, ..share }).collect(),
        write_back: vec![write_back(0)],
        channel_utilisation: vec![0.0; 8],
        die_utilisation: vec![0.0; 64],
        wear: unworn(),
        pools: Vec::new(),
        windows: Windows { width_seconds: 1e-6, ..Windows::default() },
        notes: Vec::new(),
        unknown: Vec::new(),
        warm_up: None,
        precision: None,
        rebuild: None,
        ..mixed()
    }
}

/// The wear of 64 blocks that were never erased.
fn unworn() -> Wear {
    Wear {
        erases: vec![0.0; 64],
        min: 0,
        max: 0,
        mean: 0.0,
        variation: None,
        bad_blocks: 0,
        spare: 0.07,
        terabytes_written: 0.0,
        drive_writes: 0.0,
        terabytes_expected: None,
        years_expected: None,
        drive_writes_per_day: None,
        endurance_used: 0.0,
        run_erases: 0.0,
        dies: vec![DieWear::default()],
    }
}

/// A run of reads on a device with one die of 65,536 blocks. The run is so short that it has one window.
pub fn only_reads() -> Summary {
    let mut run = mixed();
    run.workload = Source { name: "randread-4k".to_owned(), kind: SourceKind::Synthetic };
    run.host = Host {
        writes: 0,
        requests: run.host.reads,
        written_bytes: 0,
        write_latency_us: Latency::default(),
        ..run.host
    };
    run.write_amplification = None;
    run.metrics.set("programs_per_host_program", Value::Absent);
    run.time.iter_mut().for_each(|share| share.write_us = 0.0);
    run.channel_utilisation.truncate(1);
    run.die_utilisation.truncate(1);
    run.wear = wear(1, 65_536);
    run.windows = windows(1, 12.0);
    let only = &mut run.windows.windows[0];
    (only.written_bytes, only.host_programs, only.other_programs, only.programmed_bytes) = (0, 0, 0, 0);
    (only.writes, only.write_latency_us) = (0, 0.0);
    run
}

/// A run of five days with a trace of writes, on a drive that reached the end of its life.
pub fn only_writes() -> Summary {
    let mut run = mixed();
    run.workload = Source { name: "web_0".to_owned(), kind: SourceKind::RealTrace };
    run.outcome = Outcome::ReadOnly;
    run.host = Host { reads: 0, read_bytes: 0, read_latency_us: Latency::default(), failed: 12, ..run.host };
    run.simulated_seconds = 432_000.0;
    run.windows = windows(410, 432_000.0 / 409.7);
    for window in &mut run.windows.windows {
        (window.reads, window.read_bytes, window.read_latency_us) = (0, 0, 0.0);
    }
    run
}

fn host() -> Host {
    Host {
        requests: 1_200_000,
        reads: 839_412,
        writes: 360_500,
        discards: 80,
        flushes: 8,
        write_zeroes: 0,
        compares: 0,
        failed: 0,
        read_bytes: 839_412 * 4_096,
        written_bytes: 360_500 * 4_096,
        iops: 124_610.6,
        read_latency_us: latency(88.0, 1.0),
        write_latency_us: latency(16.0, 1.3),
        discard_latency_us: latency(9.0, 0.4),
        flush_latency_us: latency(900.0, 1.6),
        write_zeroes_latency_us: Latency::default(),
        compare_latency_us: Latency::default(),
        zones: None,
    }
}

/// The metrics of a device. Metrics that `values` does not list are 0 or absent. The metrics of pools exist
/// if `values` has any, and there are no metrics of guesses.
fn metrics(values: &[(&str, Value)]) -> Metrics {
    let of_pools = |name: &str| name.starts_with("sub_requests.");
    let has_pools = values.iter().any(|(name, _)| of_pools(name));
    let mut metrics = Metrics::default();
    let exists = |name: &str| !name.starts_with("map_guesses.") && (has_pools || !of_pools(name));
    for metric in all().filter(|metric| exists(metric.name)) {
        let value = values.iter().find(|(name, _)| *name == metric.name).map(|(_, value)| *value);
        let none = match metric.unit {
            _ if metric.can_be_absent() => Value::Absent,
            Unit::Ratio | Unit::Fraction | Unit::Microseconds | Unit::Joules => Value::Number(0.0),
            _ => Value::Count(0),
        };
        metrics.add(*metric, value.unwrap_or(none));
    }
    metrics
}

/// The metrics of a run with reads and writes, and those in `more`.
fn busy(more: &[(&str, Value)]) -> Metrics {
    let usual = [
        ("flash.reads", 1_004_113.into()),
        ("flash.programs", 155_040.into()),
        ("flash.erases", 404.into()),
        ("flash.rmw_reads", 90_125.into()),
        ("flash.gc_reads", 64_901.into()),
        ("flash.gc_programs", 64_901.into()),
        ("flash.padding", 14.into()),
        ("flash.host_bytes", (90_125 * 16_384).into()),
        ("flash.gc_bytes", (64_901 * 16_384).into()),
        ("flash.padding_bytes", (14 * 16_384).into()),
        ("flash.effective_spare", 0.11.into()),
        ("flash.valid_share", 0.89.into()),
        ("faults.program_failures", 2.into()),
        ("faults.read_retries", 41.into()),
        ("faults.grown_bad_blocks", 4.into()),
        ("programs_per_host_program", 1.70.into()),
        ("energy_joules", 61.4.into()),
    ];
    metrics(&[&usual, more].concat())
}

/// A latency distribution with most values near `typical`, and a long tail.
fn latency(typical: f64, tail: f64) -> Latency {
    let at = |fraction: f64| {
        let slow = (-libm::log10(1.0 - fraction)).max(0.0);
        typical * (0.7 + 0.4 * fraction + 0.25 * tail * slow * slow * slow)
    };
    let mut cumulative: Vec<(f64, f64)> = (0..400)
        .map(|step| 1.0 - libm::pow(10.0, -f64::from(step) * 5.5 / 400.0))
        .map(|fraction| (at(fraction), fraction))
        .collect();
    let max = at(1.0 - 1e-6);
    cumulative.push((max, 1.0));
    Latency {
        mean: at(0.6),
        min: at(0.0),
        p50: Some(at(0.5)),
        p80: Some(at(0.8)),
        p90: Some(at(0.9)),
        p95: Some(at(0.95)),
        p99: Some(at(0.99)),
        p999: Some(at(0.999)),
        p9999: Some(at(0.999_9)),
        p99999: Some(at(0.999_99)),
        max,
        cumulative,
    }
}

fn write_back(programs: u64) -> WriteBack {
    let time = |commands, gc_wait_us, die_wait_us, bus_us, array_us| {
        let scale = if commands == 0 { 0.0 } else { 1.0 };
        let [gc_wait_us, die_wait_us, bus_us, array_us] =
            [gc_wait_us, die_wait_us, bus_us, array_us].map(|us: f64| scale * us);
        let total_us = gc_wait_us + die_wait_us + bus_us + array_us;
        let [mapping_us, decoding_us, retries_us] = [0.0; 3];
        CommandTime {
            commands,
            mapping_us,
            gc_wait_us,
            die_wait_us,
            bus_us,
            array_us,
            decoding_us,
            retries_us,
            total_us,
        }
    };
    WriteBack {
        program: time(programs, 210.0, 85.5, 21.2, 701.0),
        fill: time(programs / 3, 95.0, 60.1, 9.4, 58.0),
    }
}

/// A tail attribution whose slowest requests wait behind GC.
fn tail() -> Tail {
    let part = |(name, us): (&str, f64)| TailPart { name: name.to_owned(), us };
    let of = |parts: &[(&str, f64)]| parts.iter().copied().map(part).collect::<Vec<_>>();
    let slow = [
        ("controller", 3.0),
        ("behind_gc_program", 1_400.0),
        ("behind_erase", 3_100.0),
        ("bus", 11.0),
        ("array", 61.0),
    ];
    let range = |from, to, requests, time: &[(&str, f64)]| LatencyRange {
        operation: "read".to_owned(),
        from_percentile: from,
        to_percentile: to,
        requests,
        latency_us: time.iter().map(|(_, us)| us).sum(),
        time: of(time),
        buffer_while: Vec::new(),
    };
    let longest =
        LongestCommand { work: "erase".to_owned(), device: None, die: 17, block: 4_711, us: 3_000.0 };
    Tail {
        ranges: vec![
            range(0.0, 50.0, 5_000, &[("controller", 3.0), ("bus", 10.0), ("array", 60.0)]),
            range(99.9, 100.0, 10, &slow),
        ],
        slowest: Some(Slowest {
            requests: 1_000,
            reads: 1_000,
            writes: 0,
            least_us: 4_200.0,
            most_us: 5_100.0,
            time: of(&slow),
            buffer_while: Vec::new(),
            dies: [(17, 0.6), (3, 0.2), (4, 0.1), (5, 0.06), (6, 0.04)]
                .map(|(die, part)| TailDie { device: None, die, part })
                .to_vec(),
        }),
        requests: vec![SlowRequest {
            operation: "read".to_owned(),
            offset: 81_920,
            bytes: 16_384,
            submitted_seconds: 4.2,
            latency_us: 5_100.0,
            time: of(&slow),
            buffer_while: Vec::new(),
            longest: Some(longest),
        }],
    }
}

fn time() -> Vec<TimeShare> {
    let shares = [
        ("queue", 3.1, 1.2),
        ("buffer", 0.4, 9.5),
        ("mapping", 0.8, 0.8),
        ("gc_wait", 6.7, 3.9),
        ("die_wait", 18.2, 0.0),
        ("bus", 7.9, 0.0),
        ("array", 52.4, 0.0),
        ("controller", 2.0, 2.0),
    ];
    let share =
        |(name, read_us, write_us): (&str, f64, f64)| TimeShare { name: name.to_owned(), read_us, write_us };
    shares.map(share).to_vec()
}

fn shares(amounts: &[(&str, f64)]) -> Vec<Share> {
    amounts.iter().map(|(name, amount)| Share { name: (*name).to_owned(), amount: *amount }).collect()
}

/// A pseudo-random value between 0 and 1, derived from a number.
fn wave(number: u32) -> f64 {
    f64::from(number.wrapping_mul(2_654_435_761) >> 16) / 65_536.0
}

fn wear(dies: u32, blocks: u32) -> Wear {
    let erases: Vec<f64> = (0..dies * blocks)
        .map(|block| (2.0 + 6.0 * wave(block) + if block % blocks < blocks / 8 { 9.0 } else { 0.0 }).floor())
        .collect();
    let mean = erases.iter().sum::<f64>() / erases.len() as f64;
    let most = erases.iter().copied().fold(0.0, f64::max);
    let per_die = erases.chunks(blocks as usize);
    let of_die = |die: &[f64]| DieWear { erases: die.iter().sum::<f64>() / die.len() as f64, bad_blocks: 0 };
    let dies = per_die.map(of_die).collect();
    Wear {
        erases,
        min: 2,
        max: most as u32,
        mean,
        variation: Some(0.41),
        bad_blocks: 3,
        spare: 0.0694,
        terabytes_written: 1.25,
        drive_writes: 2.4,
        terabytes_expected: Some(613.0),
        years_expected: Some(0.15),
        drive_writes_per_day: Some(21_500.0),
        endurance_used: 1.25 / 613.0,
        run_erases: 0.41,
        dies,
    }
}

fn windows(count: u32, width_seconds: f64) -> Windows {
    let window = |index: u32| {
        let late = index > count / 2;
        let busy = 0.8 + 0.2 * wave(index) - if late { 0.25 } else { 0.0 };
        let requests = (width_seconds * 124_610.0 * busy) as u64;
        Window {
            requests,
            reads: requests * 7 / 10,
            writes: requests * 3 / 10,
            read_bytes: requests * 7 / 10 * 4_096,
            written_bytes: requests * 3 / 10 * 4_096,
            read_latency_us: 70.0 / busy,
            write_latency_us: 12.0 / busy + if late { 6.0 } else { 0.0 },
            max_latency_us: 900.0 / busy + 4_000.0 * wave(index * 7) * f64::from(u8::from(late)),
            host_programs: requests * 3 / 40,
            other_programs: if late { requests * 3 / 40 } else { 0 },
            programmed_bytes: requests * 3 / 40 * if late { 2 } else { 1 } * 16_384,
        }
    };
    Windows { width_seconds, windows: (0..count).map(window).collect(), course: course(count) }
}

/// Time series in which free blocks decrease for half of the run, then stay constant because of GC.
fn course(count: u32) -> Course {
    let is_late = |index: u32| index > count / 2;
    let part = |value: f64| (value * 1e3).round() / 1e3;
    let free = |index: u32| {
        if is_late(index) { 0.02 } else { part(0.3 - 0.28 * f64::from(2 * index) / f64::from(count)) }
    };
    let valid = |index: u32| if is_late(index) { (1e3 * (0.4 + 0.1 * wave(index))) as u64 } else { 0 };
    let busy = |die: u32| {
        let of = |index: u32| {
            (100.0 * (0.5 + 0.3 * wave(index + die) + if is_late(index) { 0.2 } else { 0.0 })) as u8
        };
        (0..count).step_by(2).map(of).collect()
    };
    Course {
        free: (0..count).map(free).collect(),
        victim_pages: (0..count).map(|index| if is_late(index) { 1_000 } else { 0 }).collect(),
        victim_valid_pages: (0..count).map(valid).collect(),
        dies: DieMap { dies_a_row: 4, windows_a_column: 2, busy_percent: (0..16).map(busy).collect() },
    }
}
