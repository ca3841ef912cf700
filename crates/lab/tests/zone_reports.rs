//! Tests the report of zones of a session: states, write pointers, and devices without zones.

use wordline_device::ZoneState::{self, Closed, Empty, ExplicitlyOpen, Full, ImplicitlyOpen};
use wordline_kernel::Bytes;
use wordline_lab::trace::{Op, Request};
use wordline_lab::{Device, Precondition, RunOptions, Selection, Session, StepTarget, Workload};

const SIZE: u64 = 16 << 20;
const SECTOR: u64 = 512;

/// `zns-tlc-raw` with zones of 9 MiB every 16 MiB, of which two may be open.
pub fn device() -> Device {
    let set = [
        "open_channel.part.geometry.blocks_per_plane=40",
        "open_channel.part.geometry.pages_per_block=48",
        "open_channel.part.geometry.layers=4",
        "open_channel.failures.reserve=0.2",
        "zones.capacity=9MiB",
        "zones.size=16MiB",
        "zones.max_active=14",
        "zones.max_open=2",
    ];
    let set = set.map(str::to_owned).to_vec();
    let selection = Selection { preset: Some("zns-tlc-raw".into()), set, ..Selection::default() };
    Device::load(&selection).unwrap_or_else(|error| panic!("{error}"))
}

fn open(device: &Device, precondition: Option<Precondition>) -> Session {
    let options = RunOptions { precondition, ..RunOptions::seed(1) };
    Session::open(device, &Workload::submitted(), &options).expect("it opens")
}

/// Executes one operation on a zone, `offset` bytes from its start.
fn execute(session: &mut Session, op: Op, zone: u64, offset: u64, size: u64) {
    let request = Request::new(op, Bytes(zone * SIZE + offset), Bytes(size));
    session.submit(&Request { arrival: session.now(), ..request }).expect("it is accepted");
    session.advance(StepTarget::Idle).expect("it goes on");
    assert!(session.completions().iter().all(|done| !done.failed), "{op:?} of zone {zone}");
}

/// State of a zone, and its write pointer in bytes from the start of the zone.
fn state(session: &mut Session, zone: u64) -> (ZoneState, Option<u64>) {
    let found = session.report_zones().expect("the device has zones")[zone as usize];
    (found.state, found.write_pointer.map(|sector| (sector - found.start) * SECTOR))
}

#[test]
fn a_report_has_the_state_and_the_write_pointer_after_each_operation() {
    let device = device();
    let mut session = open(&device, None);
    let zones = session.report_zones().expect("the device has zones");
    assert!(zones.len() > 20 && zones.iter().all(|zone| zone.state == Empty));
    assert_eq!((zones[3].start, zones[3].capacity), (3 * SIZE / SECTOR, (9 << 20) / SECTOR));
    assert_eq!(zones[3].write_pointer, Some(zones[3].start), "an empty zone is written from its start");
    for (op, offset, size, wanted) in [
        (Op::ZoneAppend, 0, 65_536, (ImplicitlyOpen, Some(65_536))),
        (Op::Write, 65_536, 4096, (ImplicitlyOpen, Some(69_632))),
        (Op::ZoneClose, 0, 0, (Closed, Some(69_632))),
        (Op::ZoneOpen, 0, 0, (ExplicitlyOpen, Some(69_632))),
        (Op::Read, 0, 4096, (ExplicitlyOpen, Some(69_632))),
        (Op::ZoneFinish, 0, 0, (Full, None)),
        (Op::ZoneReset, 0, 0, (Empty, Some(0))),
    ] {
        execute(&mut session, op, 5, offset, size);
        assert_eq!(state(&mut session, 5), wanted, "after {op:?}");
    }
    // A third zone closes the one that was opened first.
    for zone in 6..9 {
        execute(&mut session, Op::Write, zone, 0, 4096);
    }
    assert_eq!(state(&mut session, 6), (Closed, Some(4096)));
    assert_eq!(state(&mut session, 8), (ImplicitlyOpen, Some(4096)));
    // A zone that is written to its capacity is full.
    let piece = 1 << 20;
    for at in 0..9 {
        execute(&mut session, Op::Write, 9, at * piece, piece);
    }
    assert_eq!(state(&mut session, 9), (Full, None));
}

#[test]
fn a_filled_device_has_full_zones_and_a_report_changes_no_result() {
    let device = device();
    let mut session = open(&device, Some(Precondition::Filled(0.5)));
    let zones = session.report_zones().expect("the device has zones");
    let full = zones.iter().filter(|zone| zone.state == Full).count();
    assert!(full.abs_diff(zones.len() / 2) <= 1, "{full} of {}", zones.len());
    let digest = |reports: bool| {
        let mut session = open(&device, None);
        for at in 0..20 {
            execute(&mut session, Op::ZoneAppend, at % 3, 0, 65_536);
            if reports {
                session.report_zones().expect("the device has zones");
            }
        }
        session.finish().expect("it ends").digest
    };
    assert_eq!(digest(true), digest(false));
}

#[test]
fn a_device_without_zones_or_in_recovery_refuses_a_report() {
    let tiny = Device::preset("tiny").expect("a preset");
    let mut session = open(&tiny, None);
    let error = session.report_zones().expect_err("it has no zones").to_string();
    assert!(error.starts_with("the report of zones: found a device without zones, tiny"), "{error}");
    assert!(error.contains("zns-tlc-raw"), "{error}");
    session.advance(StepTarget::Idle).expect("the session is unchanged");
    let mut session = open(&device(), None);
    execute(&mut session, Op::Write, 0, 0, 1 << 20);
    session.cut_power().expect("it has power");
    let error = session.report_zones().expect_err("it recovers").to_string();
    assert!(error.contains("found one while the device recovers"), "{error}");
    session.advance(StepTarget::Idle).expect("it recovers");
    assert_eq!(state(&mut session, 0).0, Closed, "open zones are closed by a power loss");
}
