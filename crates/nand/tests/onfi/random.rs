//! Random cycles: nothing panics, time advances, stages do not overlap, and pages that no cycle addresses are
//! unchanged.

use proptest::prelude::*;
use wordline_kernel::{Duration, Instant};
use wordline_nand::onfi::command::COMMANDS;
use wordline_nand::onfi::{Bus, BusOptions, FailureKind, LunOptions, Pace, Status, Wiring};
use wordline_nand::{Span, Stage};

use super::host::{bus_with, played};

#[derive(Clone, Debug)]
enum Cycle {
    Command(u8),
    Address(Vec<u8>),
    DataIn(usize),
    DataOut(u32),
    WaitReady,
    WaitArray,
    Wait(u64),
    Select(u32),
    /// A sequence that is legal if the LUN is free.
    Sequence(&'static str),
}

const SEQUENCES: [&str; 14] = [
    "c00 a00.00.00.00.00 c30",
    "c00 a00.00.09.01.00 c30",
    "c31",
    "c3f",
    "c80 a00.00.01.00.00 i01.02 c10",
    "c80 a05.00.09.00.00 i03 c11",
    "c80 a00.00.01.01.00 i01.02 c15",
    "c60 a08.00.00 cd0",
    "c60 a00.01.00 cd1",
    "c00 a00.00.00.00.00 c35 rb c85 a00.00.10.00.00 c10",
    "c05 a00.00 ce0 o4",
    "c06 a00.00.00.01.00 ce0 o4",
    "cef a01 i03.00.00.00",
    "cff",
];

fn cycle() -> impl Strategy<Value = Cycle> {
    let known = (0..COMMANDS.len(), any::<bool>())
        .prop_map(|(n, second)| COMMANDS[n].second.filter(|_| second).unwrap_or(COMMANDS[n].first));
    // Blocks 0 to 15 of both LUNs, or of a LUN that does not exist.
    let row = (any::<u8>(), 0u8..3, any::<bool>())
        .prop_map(|(low, lun, odd)| [low & 0x7f, lun, u8::from(odd && lun == 2)]);
    let address = (0u8..=2, row, 0usize..=6).prop_map(|(column, row, len)| {
        let full = [column, column & 1, row[0], row[1], row[2], 0];
        if len == 3 { row.to_vec() } else { full[..len].to_vec() }
    });
    prop_oneof![
        6 => known.prop_map(Cycle::Command),
        1 => any::<u8>().prop_map(Cycle::Command),
        6 => address.prop_map(Cycle::Address),
        2 => (0usize..600).prop_map(Cycle::DataIn),
        2 => (0u32..600).prop_map(Cycle::DataOut),
        3 => Just(Cycle::WaitReady),
        1 => Just(Cycle::WaitArray),
        1 => (0u64..2_000_000_000).prop_map(Cycle::Wait),
        1 => (0u32..3).prop_map(Cycle::Select),
        8 => prop::sample::select(SEQUENCES.to_vec()).prop_map(Cycle::Sequence),
    ]
}

/// Plays a cycle. Returns the failure if it is rejected.
fn play(bus: &mut Bus, cycle: &Cycle) -> Option<FailureKind> {
    let failed = match cycle {
        Cycle::Command(code) => bus.command(*code).err(),
        Cycle::Address(bytes) => bus.address(bytes).err(),
        Cycle::DataIn(len) => bus.data_in(&vec![0x5a; *len]).err(),
        Cycle::DataOut(len) => bus.data_out(*len).err(),
        Cycle::WaitReady => {
            bus.wait_ready();
            None
        }
        Cycle::WaitArray => {
            bus.wait_array_ready();
            None
        }
        Cycle::Wait(ps) => {
            bus.wait(Duration::from_ps(*ps));
            None
        }
        Cycle::Select(target) => bus.select(*target).err(),
        Cycle::Sequence(cycles) => super::host::play(bus, cycles).err(),
    };
    failed.map(|failure| failure.kind)
}

/// Asserts that the stages of the bus do not overlap, and neither do the stages of each plane.
fn assert_apart(spans: &[Span]) {
    let mut free = [Instant::ZERO; 1 + 4 * 2];
    for span in spans {
        let places = if span.planes == 0 { 1 } else { u32::from(span.planes) << (1 + 2 * span.die.0) };
        for place in (0..free.len()).filter(|n| places & (1 << n) != 0) {
            assert!(free[place] <= span.begin, "{span:?} overlaps what ends at {:?}", free[place]);
            free[place] = span.end();
        }
        assert!(span.stage != Stage::Idle);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_cycles_break_nothing(
        cycles in prop::collection::vec(cycle(), 1..80),
        exact in any::<bool>(),
        fatal in any::<bool>(),
        compatible in any::<bool>(),
    ) {
        let lun = LunOptions { fatal, ..LunOptions::default() };
        let options = BusOptions { compatible, lun, ..BusOptions::default() };
        let mut bus = bus_with(Wiring { targets: 2, volumes: 1, luns: 2 }, options);
        // Block 30 of every LUN, which no cycle below addresses.
        for target in 0..2 {
            bus.select(target).expect("there are two");
            played(&mut bus, "c80 a00.00.f0.00.00 i11 c10 rb c80 a00.00.f0.01.00 i22 c10 rb");
        }
        if exact {
            bus.set_pace(Pace::Exact);
        }
        let mut refused = [false; 2];
        let mut target = 1;
        for cycle in &cycles {
            let before = bus.now();
            let failure = play(&mut bus, cycle);
            prop_assert!(bus.now() >= before);
            match (cycle, &failure) {
                (Cycle::Select(n), None) => target = *n as usize,
                (Cycle::Select(_), Some(_)) => {}
                (Cycle::WaitReady | Cycle::WaitArray | Cycle::Wait(_), _) => {}
                (_, failure) => refused[target] = failure.is_some(),
            }
        }
        bus.set_pace(Pace::Earliest);
        for target in 0..2 {
            bus.select(target).expect("there are two");
            if refused[target as usize] {
                let luns = played(&mut bus, "rb c78 a00.00.00 o1 c78 a00.01.00 o1");
                let has = |bits| move |status: &u8| Status(*status).has(bits);
                prop_assert!(luns.iter().all(has(Status::READY | Status::UNPROTECTED)));
                prop_assert!(luns.iter().any(has(Status::FAIL)));
            }
            played(&mut bus, "cff rb");
            prop_assert_eq!(played(&mut bus, "c78 a00.00.00 o1 c78 a00.01.00 o1"), [0xe0, 0xe0]);
            let kept = played(&mut bus, "c00 a00.00.f0.00.00 c30 rb o1 c00 a00.00.f0.01.00 c30 rb o1");
            prop_assert_eq!(kept, [0x11, 0x22]);
        }
        assert_apart(&bus.spans());
    }
}
