//! Speed: closed forms of the times of the part, and counts.

use wordline_device::PhysicalDevice;
use wordline_device::physical_device::{Chunk, LogicalBlock};
use wordline_kernel::Duration;
use wordline_nand::chain::BusPhase;
use wordline_nand::faults::{Fails, FaultFile};

use super::host::Host;
use super::{FIRST, device, rule, written};

/// Time until no event is pending.
fn takes<R>(host: &mut Host, what: impl FnOnce(&mut Host) -> R) -> Duration {
    host.run_down();
    let begin = host.elapsed();
    what(host);
    host.run_down();
    host.elapsed() - begin
}

#[test]
fn one_parallel_unit_is_written_as_fast_as_its_die_programs() {
    let mut host = Host::new(device(), 1);
    let part = host.device.config().pools.first().part.clone();
    // Both planes: their commands and 8 KiB over the bus, then 250 us in the array.
    let unit = BusPhase::Program.total(&part, 2) + Duration::from_us(250);
    assert_eq!(takes(&mut host, |host| host.write(&[(FIRST, 16)])), unit * 16);
    // Two chunks of a parallel unit share its die. Two parallel units of a group share only the bus.
    let chunk = |unit, chunk| Chunk { group: 0, unit, chunk };
    let same = takes(&mut host, |host| host.write(&[(chunk(0, 1), 8), (chunk(0, 2), 8)]));
    assert_eq!(same, unit * 16);
    let both = takes(&mut host, |host| host.write(&[(chunk(0, 3), 8), (chunk(1, 3), 8)]));
    assert_eq!(both, unit * 8 + BusPhase::Program.total(&part, 2), "the second begins when the bus is free");
    let reset = takes(&mut host, |host| host.reset(&[chunk(0, 3), chunk(1, 3)]));
    assert_eq!(reset, BusPhase::Erase.total(&part, 2) * 2 + Duration::from_us(1_500));
}

#[test]
fn pages_side_by_side_are_read_by_one_command() {
    let mut host = written(device(), 2);
    let part = host.device.config().pools.first().part.clone();
    let before = host.device.chips().counts();
    let blocks: Vec<LogicalBlock> = FIRST.range(0, 2).collect();
    let time = takes(&mut host, |host| host.read(&blocks));
    let both = BusPhase::Read.total(&part, 2) + Duration::from_us(25) + BusPhase::DataOut.total(&part, 2);
    assert_eq!(time, both);
    let counts = host.device.chips().counts();
    assert_eq!((counts.read_commands - before.read_commands, counts.pages_read - before.pages_read), (1, 2));
    // Pages of two word lines are sensed one after another.
    takes(&mut host, |host| host.read(&[FIRST.at(1), FIRST.at(2)]));
    assert_eq!(host.device.chips().counts().read_commands, counts.read_commands + 2);
}

/// Time of `reads` reads of a page each, which alternate between `units` parallel units of one group.
fn reads_of(units: u16, reads: u32) -> Duration {
    let mut file = device();
    (file.layout.channels, file.layout.dies_per_package) = (1, u32::from(units));
    file.layout.planes_per_row = Some(1);
    let mut host = Host::new(file, 1);
    let chunks: Vec<Chunk> = (0..units).map(|unit| Chunk { unit, ..FIRST }).collect();
    for chunk in &chunks {
        host.write(&[(*chunk, 16)]).expect("it is free");
    }
    let blocks: Vec<LogicalBlock> =
        (0..reads).map(|n| chunks[n as usize % chunks.len()].at(n / u32::from(units) % 16)).collect();
    takes(&mut host, |host| {
        for blocks in blocks.chunks(64) {
            host.read(blocks).expect("they are written");
        }
    })
}

#[test]
fn reads_scale_with_parallel_units_until_their_bus_is_full() {
    let file = device().check().expect("it is sound");
    let part = &file.pools.first().part;
    let turnaround = part.bus.t_rhw - part.bus.t_cs;
    let on_bus = turnaround + BusPhase::Read.total(part, 1) + BusPhase::DataOut.total(part, 1);
    let alone = on_bus + Duration::from_us(25);
    let reads = 960;
    for units in 1..=8u16 {
        let time = reads_of(units, reads).ps() as f64;
        let of_dies = alone.ps() as f64 * f64::from(reads) / f64::from(units);
        let of_bus = on_bus.ps() as f64 * f64::from(reads);
        // A single die does not wait for others. With four or more dies the bus is always busy: the 25 us of
        // tR are shorter than the 10.7 us of three other dies. With two or three, a die may wait for the bus,
        // at most for one transfer in each read.
        let bound = of_dies.max(of_bus);
        assert!(time >= bound * 0.999, "{units} units: {time} is faster than {bound} ps");
        let slack = if units == 1 || units >= 4 { 1.01 } else { 1.35 };
        assert!(time <= bound * slack, "{units} units: {time} instead of {bound} ps");
    }
}

#[test]
fn metrics_count_what_was_done() {
    let mut host = Host::new(device(), 1);
    let mark = host.device.mark(host.now());
    host.write(&[(FIRST, 16)]).expect("it is free");
    host.run_down();
    host.read_all();
    host.reset(&[FIRST]).expect("it is closed");
    host.run_down();
    let metrics = host.device.metrics(&mark, host.now());
    for (name, wanted) in [
        ("vector.writes", 1),
        ("vector.reads", 1),
        ("vector.resets", 1),
        ("vector.blocks_written", 32),
        ("flash.programs", 32),
        ("vector.pages_sensed", 32),
        ("flash.erases", 2),
        ("chunks.free", 96),
        ("chunks.closed", 0),
    ] {
        assert_eq!(metrics.count(name), wanted, "{name}");
    }
    assert!(metrics.number("energy_joules").expect("it has a value") > 0.0);
    let known: Vec<&str> = wordline_open_channel::device::metrics().map(|metric| metric.name).collect();
    assert!(metrics.iter().all(|(metric, _)| known.contains(&metric.name)));
    let detail = host.device.detail(&mark, host.now());
    assert_eq!((detail.buses.len(), detail.arrays.len(), detail.pools[0].worn.erases), (2, 4, 1));
}

#[test]
fn with_the_clock_off_commands_take_no_time_and_wear_nothing() {
    let mut file = device();
    file.faults = vec![FaultFile { every: Some(1), ..rule(Fails::Program) }];
    let mut host = Host::new(file, 1);
    host.device.stop_clock();
    for round in 0..3 {
        host.write(&[(FIRST, 16)]).expect("it is free");
        assert_eq!(host.report(FIRST).readable, 32, "round {round}");
        host.read(&FIRST.range(0, 32).collect::<Vec<_>>()).expect("it is written");
        host.reset(&[FIRST]).expect("it is closed");
    }
    host.write(&[(FIRST, 3)]).expect("it is free");
    assert_eq!((host.completions.len(), host.elapsed()), (10, Duration::ZERO));
    assert!(host.completions.iter().all(|completion| completion.failure.is_none()));
    host.device.start_clock();
    assert_eq!(host.device.chips().erases().iter().sum::<u32>(), 0);
    host.read_all();
    host.write(&[(FIRST, 1)]).expect("it is open");
    host.run_down();
    assert_eq!(host.report(FIRST).write_pointer, 6, "programs fail again");
}
