//! Every rule between cycles, on the pins: a cycle is rejected a picosecond early and accepted on time.

use wordline_kernel::{Duration, Instant};
use wordline_nand::onfi::rules::{Edge, RULES, Wait};
use wordline_nand::onfi::{Bus, BusOptions, FailureKind, Pace, Wiring};

use super::host::{bus, part_file, play, played, refusal};

/// A wait that outlasts all others.
const LONG: Duration = Duration::from_ns(1_000);
/// The host's cycle.
const CYCLE: Duration = Duration::from_ns(2);

/// Sets `wait` to `LONG` and all other waits of the bus to 1 ns.
fn stretch(bus: &mut Bus, wait: Wait) {
    for other in Wait::ALL {
        bus.set_wait(*other, if *other == wait { LONG } else { Duration::from_ns(1) });
    }
    bus.set_host_cycle(CYCLE);
}

/// Cycles whose last event is the edge, and a cycle that the rule of the edge forbids for a while.
fn around(edge: Edge) -> (&'static str, &'static str) {
    match edge {
        Edge::Select | Edge::Protect => ("", "c70"),
        Edge::Volume => ("ce1 a00", "c70"),
        Edge::LatchBegin => ("c00", "a00"),
        Edge::Command => ("c70", "o1"),
        Edge::Address => ("c90 a00", "o1"),
        Edge::Confirm => ("c60 a00.00.00 cd0", "c70"),
        Edge::LoadAddress => ("c80 a00.00.00.00.00", "i00"),
        Edge::WriteColumn => ("c80 a00.00.00.00.00 i00 c85 a01.00", "i00"),
        Edge::ReadColumn => ("c00 a00.00.00.00.00 c30 rb c05 a00.00 ce0", "o1"),
        Edge::Register => ("c70", "o1"),
        Edge::ReturnToData => ("c00 a00.00.00.00.00 c30 rb c70 o1 c00", "o1"),
        Edge::DataIn => ("c80 a00.00.00.00.00 i00", "c10"),
        Edge::DataOut => ("c00 a00.00.00.00.00 c30 rb o1", "c70"),
        Edge::RegisterOut => ("c70 o1", "c70"),
        Edge::Ready => ("c00 a00.00.00.00.00 c30 rb", "o1"),
        Edge::Interface => ("cef a01 i04.00.00.00", "c70"),
    }
}

#[test]
fn each_rule_refuses_a_picosecond_early_and_accepts_on_time() {
    for rule in &RULES {
        let (before, next) = around(rule.from);
        let mut bus = bus();
        stretch(&mut bus, rule.wait);
        bus.wait(LONG);
        played(&mut bus, before);
        match rule.from {
            Edge::Select => bus.select(0).expect("there is a target"),
            Edge::Protect => bus.set_write_protect(true),
            // The new mode has its own waits, which must be set again.
            Edge::Interface => stretch(&mut bus, rule.wait),
            _ => {}
        }
        let edge = if rule.from == Edge::LatchBegin { CYCLE } else { Duration::ZERO };
        let earliest = Instant::from_ps(bus.now().ps() - edge.ps()) + LONG;

        let mut early = bus.clone();
        early.set_pace(Pace::Exact);
        early.wait_until(Instant::from_ps(earliest.ps() - 1));
        let refused = play(&mut early, next).expect_err(rule.name());
        assert_eq!(refused.kind, FailureKind::Timing { rule, earliest }, "{}", rule.name());
        assert!(refused.to_string().contains(rule.name()), "{refused}");

        let mut punctual = bus.clone();
        punctual.set_pace(Pace::Exact);
        punctual.wait_until(earliest);
        played(&mut punctual, next);

        let mut patient = bus;
        played(&mut patient, next);
        assert_eq!(patient.now(), punctual.now(), "{}: the bus waits no longer than it must", rule.name());
    }
}

#[test]
fn a_host_that_is_faster_than_the_part_breaks_its_cycle() {
    let mut bus = bus();
    bus.set_pace(Pace::Exact);
    bus.set_host_cycle(Duration::from_ns(20));
    bus.wait(Duration::from_us(1));
    let refused = play(&mut bus, "c00 a00").expect_err("the part wants 25 ns");
    assert!(refused.to_string().contains("tWC"), "{refused}");
}

fn wide(power_on: bool) -> Bus {
    let mut file = part_file();
    file.bus.width = Some(16);
    let part = file.check().expect("the part is sound");
    let options = BusOptions { power_on, ..BusOptions::default() };
    Bus::new(&part, Wiring::default(), options).expect("the wiring is sound")
}

/// The time of `last`, played a microsecond after `cycles`.
fn burst(bus: &mut Bus, cycles: &str, last: &str) -> Duration {
    played(bus, cycles);
    bus.wait(Duration::from_us(1));
    let begin = bus.now();
    played(bus, last);
    bus.now() - begin
}

#[test]
fn sixteen_lines_move_two_bytes_of_a_page_but_one_of_a_register_or_feature() {
    let mut bus = wide(false);
    let t_rc = Duration::from_ns(25);
    assert_eq!(burst(&mut bus, "c00 a00.00.00.00.00 c30 rb", "o8"), t_rc * 4);
    assert_eq!(burst(&mut bus, "c90 a20", "o4"), t_rc * 4);
    assert_eq!(burst(&mut bus, "cee a10 rb", "o4"), t_rc * 4);
    assert_eq!(burst(&mut bus, "cec a00 rb", "o256"), t_rc * 256);
    assert_eq!(burst(&mut bus, "c70", "o2"), t_rc * 2);
    assert_eq!(burst(&mut bus, "cef a10", "i01.00.00.00"), Duration::from_ns(25) * 4);
}

#[test]
fn sixteen_lines_stay_in_the_mode_of_power_on() {
    let mut bus = wide(true);
    played(&mut bus, "cff rb");
    assert_eq!(burst(&mut bus, "c00 a00.00.00.00.00 c30 rb", "o8"), Duration::from_ns(100) * 4);
}

#[test]
fn columns_over_sixteen_lines_count_pairs_of_bytes() {
    let mut bus = wide(false);
    played(&mut bus, "c80 a02.00.00.00.00 i01.02 c85 a04.00 i03.04 c10 rb");
    assert_eq!(played(&mut bus, "c00 a02.00.00.00.00 c30 rb o6"), [1, 2, 0xff, 0xff, 3, 4]);
    assert_eq!(played(&mut bus, "c05 a04.00 ce0 o2"), [3, 4]);
    assert_eq!(played(&mut bus, "c06 a02.00.00.00.00 ce0 o2"), [1, 2]);
    // 528 bytes of a page are 264 columns.
    assert!(matches!(refusal(&mut bus, "c05 a08.01 ce0"), FailureKind::Address { what: "column", .. }));
}
