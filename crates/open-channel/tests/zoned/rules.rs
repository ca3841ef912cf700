//! Single commands: padding, zones that become full, attributes, and configuration.

use wordline_device::{PhysicalDevice, physical_device};
use wordline_kernel::{Bytes, Duration};
use wordline_nand::DataTag;
use wordline_nand::faults::{Fails, FaultFile, NumberRange};
use wordline_open_channel::OpenChannelFile;
use wordline_open_channel::zoned::{Action, Attributes, Command, Status, ZoneState, ZonesFile, check_device};

use super::host::Host;
use super::{device, managed, rule, zones};

#[test]
fn data_short_of_a_program_unit_are_read_from_memory_and_padded_by_a_flush() {
    let mut host = Host::new(device(), zones());
    host.write(0, 3).expect("it is empty");
    host.run_down();
    assert_eq!((host.device.device().counts().blocks_written, host.device.counts().padding), (2, 0));
    host.read_all();
    host.flush();
    host.run_down();
    assert_eq!((host.device.device().counts().blocks_written, host.device.counts().padding), (4, 1));
    host.write(0, 3).expect("the write pointer is where it was");
    host.flush();
    host.cut_power(Duration::ZERO);
    host.read_all();
}

#[test]
fn a_protected_buffer_keeps_data_short_of_a_program_unit() {
    let mut host = Host::new(managed(0.2, true), zones());
    host.write(0, 3).expect("it is empty");
    host.flush();
    host.run_down();
    assert_eq!(host.device.counts().padding, 0);
    host.cut_power(Duration::ZERO);
    assert_eq!((host.zone(0).state, host.zone(0).write_pointer), (ZoneState::Closed, 3));
    host.read_all();
}

#[test]
fn data_buffered_behind_a_torn_program_are_lost_and_counted() {
    let mut host = Host::new(managed(0.2, true), zones());
    // The device below accepts 16 blocks at once. Two more fill a program, and the last one is gathered.
    host.write(0, 19).expect("it is empty");
    host.cut_power(Duration::ZERO);
    assert_eq!((host.zone(0).write_pointer, host.device.counts().blocks_lost), (16, 1));
    host.read_all();
}

#[test]
fn a_zone_without_room_for_padding_is_full() {
    let mut host = Host::new(device(), zones());
    // 8 of 64 logical blocks are spare for padding.
    for n in 1..=8 {
        host.write(0, 1).expect("there is room");
        host.flush();
        host.run_down();
        assert_eq!(host.zone(0).state, ZoneState::ImplicitlyOpen, "after {n}");
    }
    host.write(0, 1).expect("there is room");
    host.flush();
    host.run_down();
    let finished = Attributes { finished: true, ..Attributes::default() };
    assert_eq!((host.zone(0).state, host.zone(0).attributes), (ZoneState::Full, finished));
    assert_eq!(host.zone(0).attributes.byte(), 1);
    host.read_all();
    host.manage(Action::Reset, 0).expect("it is full");
    assert_eq!(host.zone(0).attributes, Attributes::default());
    host.read_all();
}

#[test]
fn concurrent_appends_complete_in_order_with_their_lbas() {
    let mut host = Host::new(device(), zones());
    let tags = [8, 3, 1, 7].map(|blocks| host.append(1, blocks).expect("it is empty"));
    assert_eq!(host.append(1, 9), Err(Status::InvalidField), "an append has at most 8");
    host.run_down();
    assert_eq!(tags.map(|tag| host.completion(tag).first - 64), [0, 8, 11, 12]);
    let tag = host.next_tag();
    let stamps = [DataTag { logical: 0, version: tag }];
    assert_eq!(host.submit(&Command::append(tag, 65, &stamps)), Err(Status::InvalidField));
    host.read_all();
}

#[test]
fn a_write_uses_all_chunks_of_a_zone_at_once() {
    let time = |width| {
        let mut host = Host::new(device(), ZonesFile { width: Some(width), capacity: None, ..zones() });
        let tag = host.write(0, 32).expect("it is empty");
        host.run_down();
        host.completion(tag).latency.ps() as f64
    };
    let (one, two, four) = (time(1), time(2), time(4));
    assert!((1.9..2.1).contains(&(one / two)) && (1.8..2.1).contains(&(two / four)), "{one} {two} {four}");
}

#[test]
fn a_failed_program_without_a_manager_ends_the_zone_and_its_reset_takes_it_offline() {
    let fails = FaultFile { nth: Some(3), ..rule(Fails::Program) };
    let mut host = Host::new(OpenChannelFile { faults: vec![fails], ..device() }, zones());
    let tag = host.write(0, 16).expect("it is empty");
    host.run_down();
    assert_eq!(host.completion(tag).status, Some(Status::WriteFault));
    assert_eq!((host.zone(0).state, host.zone(0).attributes.byte()), (ZoneState::Full, 1));
    host.read_all();
    host.manage(Action::Reset, 0).expect("it is full");
    host.run_down();
    assert_eq!((host.zone(0).state, host.device.counts().zones_lost), (ZoneState::Offline, 1));
    assert_eq!(host.read(0, 0, 1), Err(Status::Offline));
    assert_eq!(host.zone(1).state, ZoneState::Empty, "a zone of other chunks");
    host.audit();
}

#[test]
fn pages_that_are_hard_to_read_recommend_a_finish_then_a_reset() {
    let retries = Some(NumberRange { least: 3, most: 3 });
    let hard = FaultFile { probability: Some(1.0), retries, ..rule(Fails::Read) };
    let mut host = Host::new(OpenChannelFile { faults: vec![hard], ..device() }, zones());
    host.write(0, 8).expect("it is empty");
    host.run_down();
    host.read_all();
    assert_eq!(host.zone(0).attributes.byte(), 2);
    host.manage(Action::Finish, 0).expect("it is open");
    host.read_all();
    assert_eq!(host.zone(0).attributes.byte(), 6);
}

#[test]
fn a_chunk_that_is_out_of_use_from_the_beginning_takes_its_zone_offline() {
    let bad = FaultFile { probability: Some(0.1), ..rule(Fails::FactoryBad) };
    let host = Host::new(OpenChannelFile { faults: vec![bad], ..device() }, zones());
    let (count, found) = host.device.report_zones(0, 7, 100).expect("they are there");
    assert!((2..30).contains(&count) && found.iter().all(|zone| zone.state == ZoneState::Offline), "{count}");
}

#[test]
fn a_command_before_the_recovery_is_over_is_refused() {
    let mut host = Host::new(device(), zones());
    host.write(0, 8).expect("it is empty");
    let now = wordline_kernel::Schedule::now(&host.calendar);
    host.device.power_cut(now);
    let refused = host.device.submit(&Command::flush(9), &mut host.calendar);
    assert_eq!(refused.map_err(Status::code), Err(0x082));
}

#[test]
fn to_a_host_of_chunks_a_zone_is_a_chunk() {
    let host = Host::new(device(), zones());
    let geometry = host.device.geometry();
    assert_eq!((geometry.units(), geometry.chunks(), geometry.blocks_per_chunk), (2, 48, 56));
    assert_eq!((geometry.ws_min, geometry.ws_opt, geometry.max_open), (2, 8, 5));
    let report = host.device.report(physical_device::Chunk::default());
    assert_eq!((report.state, report.readable), (physical_device::ChunkState::Free, 0));
}

#[test]
fn a_host_of_chunks_reads_what_it_wrote() {
    let Host { mut device, mut calendar, .. } = Host::new(device(), zones());
    let blocks: Vec<_> = device.geometry().chunk(5).range(0, 4).collect();
    let stamps: Vec<_> = (0..4).map(|logical| DataTag { logical, version: 1 }).collect();
    let commands =
        [physical_device::Command::write(1, &blocks, &stamps), physical_device::Command::read(2, &blocks)];
    for command in commands {
        PhysicalDevice::submit(&mut device, &command, &mut calendar).expect("it is sound");
        while let Some(event) = calendar.advance() {
            device.handle(event, &mut calendar);
        }
    }
    let found: Vec<_> =
        device.completions().iter().map(|completion| (completion.tag, &completion.found[..])).collect();
    assert_eq!(found, [(1, &[][..]), (2, &stamps[..])]);
}

#[test]
fn zones_that_do_not_fit_are_refused_by_their_keys() {
    let told = |file: OpenChannelFile, zones: ZonesFile| {
        let config = file.clone().check().unwrap_or_else(|wrong| panic!("{wrong}"));
        zones.check(&file, &config.geometry).map_err(|wrong| wrong.to_string())
    };
    assert!(told(device(), zones()).is_ok());
    assert!(told(device(), ZonesFile::default()).is_ok());
    let kib = |kib| Some(Bytes::kib(kib));
    for (wrong, key) in [
        (ZonesFile { max_open: Some(0), ..zones() }, "max_open: found 0"),
        (ZonesFile { max_open: Some(6), ..zones() }, "max_open: found 6"),
        (ZonesFile { max_active: Some(0), max_open: None, ..zones() }, "max_active: found 0"),
        (ZonesFile { width: Some(3), ..zones() }, "width: found 3"),
        (ZonesFile { width: Some(0), ..zones() }, "width: found 0"),
        (ZonesFile { stripe: Some(3), ..zones() }, "stripe: found 3"),
        (ZonesFile { stripe: Some(12), ..zones() }, "stripe: found 12"),
        (ZonesFile { capacity: kib(4 * 68), ..zones() }, "capacity: found 272KiB"),
        (ZonesFile { capacity: kib(4 * 54), ..zones() }, "capacity: found 216KiB"),
        (ZonesFile { size: kib(4 * 52), ..zones() }, "size: found 208KiB"),
        (ZonesFile { append_limit: kib(24), ..zones() }, "append_limit: found 24KiB"),
        (ZonesFile { append_limit: kib(8), ..zones() }, "append_limit: found 8KiB"),
    ] {
        let found = told(device(), wrong).expect_err("it does not fit");
        assert!(found.starts_with(key) && found.lines().count() == 1, "{found}");
    }
    for (wrong, key) in [
        (OpenChannelFile { mw_cunits: 3, ..device() }, "mw_cunits: found 3"),
        (OpenChannelFile { max_open: Some(3), ..device() }, "max_open: found 3"),
        (OpenChannelFile { max_open_per_unit: Some(1), ..device() }, "max_open_per_unit: found 1"),
        (OpenChannelFile { early_resets: false, ..device() }, "early_resets: found false"),
    ] {
        let found = check_device(&wrong).expect_err("it does not fit").to_string();
        assert!(found.starts_with(key) && found.lines().count() == 1, "{found}");
    }
    assert!(check_device(&device()).is_ok());
}
