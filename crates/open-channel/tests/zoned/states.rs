//! State transitions: the effect of each action in each state, or its status if it is rejected.

use wordline_kernel::Bytes;
use wordline_nand::faults::{Fails, FaultFile};
use wordline_open_channel::OpenChannelFile;
use wordline_open_channel::zoned::{Action, Status, ZoneState, ZonesFile};

use super::host::Host;
use super::{managed, rule, zones};
use Status::{Full as IsFull, InvalidTransition as Invalid, Offline as IsOffline, ReadOnly as IsReadOnly};
use ZoneState::{Closed, Empty, ExplicitlyOpen, Full, ImplicitlyOpen, Offline, ReadOnly};

/// For each state: open, close, finish, reset, offline, and write or append.
#[rustfmt::skip]
const TABLE: [(ZoneState, [Result<ZoneState, Status>; 6]); 7] = [
    (Empty, [Ok(ExplicitlyOpen), Err(Invalid), Ok(Full), Ok(Empty), Err(Invalid), Ok(ImplicitlyOpen)]),
    (ImplicitlyOpen, [Ok(ExplicitlyOpen), Ok(Closed), Ok(Full), Ok(Empty), Err(Invalid), Ok(ImplicitlyOpen)]),
    (ExplicitlyOpen, [Ok(ExplicitlyOpen), Ok(Closed), Ok(Full), Ok(Empty), Err(Invalid), Ok(ExplicitlyOpen)]),
    (Closed, [Ok(ExplicitlyOpen), Ok(Closed), Ok(Full), Ok(Empty), Err(Invalid), Ok(ImplicitlyOpen)]),
    (Full, [Err(Invalid), Err(Invalid), Ok(Full), Ok(Empty), Err(Invalid), Err(IsFull)]),
    (ReadOnly, [Err(Invalid), Err(Invalid), Err(Invalid), Err(Invalid), Ok(Offline), Err(IsReadOnly)]),
    (Offline, [Err(Invalid), Err(Invalid), Err(Invalid), Err(Invalid), Ok(Offline), Err(IsOffline)]),
];

const ACTIONS: [Action; 5] = [Action::Open, Action::Close, Action::Finish, Action::Reset, Action::Offline];

/// Whether a state uses an active and an open resource.
fn resources(state: ZoneState) -> [u32; 2] {
    match state {
        ImplicitlyOpen | ExplicitlyOpen => [1, 1],
        Closed => [1, 0],
        Empty | Full | ReadOnly | Offline => [0, 0],
    }
}

/// Host whose zone 1 is in this state. For read-only and offline, chunks fail when the single reserve block
/// is used up.
fn with_zone_in(state: ZoneState) -> Host {
    let every = rule(Fails::Program);
    let faults = vec![FaultFile { every: Some(5), ..every }];
    let is_bad = matches!(state, ReadOnly | Offline);
    let file = OpenChannelFile { faults: if is_bad { faults } else { Vec::new() }, ..managed(0.05, false) };
    let mut host = Host::new(file, zones());
    match state {
        Empty => {}
        ImplicitlyOpen => drop(host.write(1, 3).expect("it is empty")),
        ExplicitlyOpen | Closed => {
            host.write(1, 3).expect("it is empty");
            host.manage(Action::Open, 1).expect("it is open");
            if state == Closed {
                host.manage(Action::Close, 1).expect("it is open");
            }
        }
        Full => host.manage(Action::Finish, 1).expect("it is empty"),
        ReadOnly | Offline => {
            while host.zone(1).state != ReadOnly {
                if host.write(1, 2) == Err(Status::Full) {
                    host.manage(Action::Reset, 1).expect("it is full");
                }
                host.run_down();
            }
            if state == Offline {
                host.manage(Action::Offline, 1).expect("it is read only");
            }
        }
    }
    host.run_down();
    assert_eq!(host.zone(1).state, state);
    host
}

#[test]
fn every_action_makes_of_every_state_what_the_table_says() {
    for (state, row) in TABLE {
        for (n, wanted) in row.into_iter().enumerate() {
            // The last column is for writes and for appends.
            for appends in [false, true] {
                let mut host = with_zone_in(state);
                assert_eq!(host.device.in_use(), resources(state));
                let found = match (ACTIONS.get(n), appends) {
                    (Some(action), _) => host.manage(*action, 1),
                    (None, false) => host.write(1, 1).map(drop),
                    (None, true) => host.append(1, 1).map(drop),
                };
                let after = host.zone(1).state;
                assert_eq!(found.map(|()| after), wanted, "column {n} of {state:?}");
                let left = wanted.unwrap_or(state);
                assert_eq!((after, host.device.in_use()), (left, resources(left)), "column {n} of {state:?}");
                host.run_down();
                host.audit();
            }
        }
    }
}

#[test]
fn a_write_to_the_capacity_makes_a_zone_full() {
    for state in [Empty, ImplicitlyOpen, ExplicitlyOpen, Closed] {
        let mut host = with_zone_in(state);
        let written = if state == Empty { 0 } else { 3 };
        assert_eq!(host.write(1, 57 - written), Err(Status::Boundary));
        assert_eq!(host.append(1, 57 - written), Err(Status::Boundary));
        host.write(1, 56 - written).expect("it is the rest");
        assert_eq!((host.zone(1).state, host.zone(1).write_pointer), (Full, u64::MAX));
        assert_eq!(host.device.in_use(), [0, 0]);
        host.read_all();
    }
}

#[test]
fn states_and_attributes_have_the_codes_of_nvme() {
    let codes = ZoneState::ALL.map(ZoneState::code);
    assert_eq!(codes, [0x1, 0x2, 0x3, 0x4, 0xe, 0xd, 0xf]);
    assert_eq!(Action::ALL.map(Action::code), [1, 2, 3, 4, 5]);
    let host = with_zone_in(ReadOnly);
    assert_eq!((host.zone(1).attributes.byte(), host.zone(1).write_pointer), (0, u64::MAX));
}

/// At most three zones may be open, and five active.
#[test]
fn the_zone_that_a_write_opened_first_is_closed_for_another_one() {
    let mut host = Host::new(managed(0.2, false), zones());
    for zone in 0..3 {
        host.write(zone, 1).expect("there is room");
    }
    host.write(0, 1).expect("it is open");
    host.write(3, 1).expect("the oldest makes room");
    let states = |host: &Host| [0, 1, 2, 3].map(|zone| host.zone(zone).state);
    assert_eq!(states(&host), [Closed, ImplicitlyOpen, ImplicitlyOpen, ImplicitlyOpen]);
    host.manage(Action::Open, 4).expect("the oldest makes room");
    assert_eq!(states(&host), [Closed, Closed, ImplicitlyOpen, ImplicitlyOpen]);
    assert_eq!(host.write(5, 1), Err(Status::TooManyActive), "the active limit comes first");
    for zone in [2, 3] {
        host.manage(Action::Open, zone).expect("it is open");
    }
    assert_eq!(
        host.write(0, 1),
        Err(Status::TooManyOpen),
        "no zone that the host opened is closed for another"
    );
    assert_eq!(host.manage(Action::Open, 0), Err(Status::TooManyOpen));
    host.manage(Action::Finish, 0).expect("it is closed");
    assert_eq!(host.write(5, 1), Err(Status::TooManyOpen));
    host.manage(Action::Close, 2).expect("it is open");
    host.write(5, 1).expect("a zone gave back both resources");
    host.run_down();
    assert_eq!(host.device.in_use(), [5, 3]);
    host.read_all();
}

#[test]
fn a_change_of_all_zones_is_for_those_that_it_can_be_for() {
    let new = || {
        let mut host = Host::new(managed(0.2, false), zones());
        for zone in 0..4 {
            host.write(zone, 1).expect("there is room");
        }
        host.manage(Action::Open, 2).expect("it is open");
        host.manage(Action::Finish, 5).expect("it is empty");
        host
    };
    let states = |host: &Host| [0, 1, 2, 3, 4, 5].map(|zone| host.zone(zone).state);
    let (io, eo) = (ImplicitlyOpen, ExplicitlyOpen);
    assert_eq!(states(&new()), [Closed, io, eo, io, Empty, Full]);
    for (action, wanted) in [
        (Action::Open, [eo, Closed, eo, io, Empty, Full]),
        (Action::Close, [Closed, Closed, Closed, Closed, Empty, Full]),
        (Action::Finish, [Full, Full, Full, Full, Empty, Full]),
        (Action::Reset, [Empty; 6]),
        (Action::Offline, [Closed, io, eo, io, Empty, Full]),
    ] {
        let mut host = new();
        host.manage_all(action).expect("there is room");
        assert_eq!(states(&host), wanted, "{action:?}");
        host.read_all();
    }
    let mut host = new();
    host.manage_all(Action::Close).expect("nothing forbids it");
    let before = states(&host);
    assert_eq!(host.manage_all(Action::Open), Err(Status::TooManyOpen), "four are closed, three may be open");
    assert_eq!(states(&host), before);
}

#[test]
fn without_limits_all_zones_may_be_open() {
    let unlimited = ZonesFile { max_active: None, max_open: None, ..zones() };
    let mut host = Host::new(managed(0.2, false), unlimited);
    for zone in 0..40 {
        host.write(zone, 1).expect("there is no limit");
    }
    assert_eq!(host.device.in_use(), [40, 40]);
    let limited = ZonesFile { max_active: Some(2), max_open: None, size: Some(Bytes::mib(1)), ..zones() };
    let mut host = Host::new(managed(0.2, false), limited);
    for zone in 0..2 {
        host.write(zone, 1).expect("two may be active");
    }
    assert_eq!((host.write(2, 1), host.start(1)), (Err(Status::TooManyActive), 256));
}
