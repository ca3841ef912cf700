//! Every time of the host within a cycle, on the pins of every interface. A cycle is rejected if the time is
//! a picosecond too short, and accepted otherwise.

use wordline_kernel::Duration;
use wordline_nand::interface::{BusFile, Interface, Parameter, Timings};
use wordline_nand::onfi::host_times::HOST_TIME_RULES;
use wordline_nand::onfi::rules::Edge;
use wordline_nand::onfi::{Bus, BusOptions, FailureKind, Status, Wiring};

use super::host::{bus, part_file, play, played, status};

fn on(interface: Interface, mode: u8) -> Bus {
    let mut file = part_file();
    file.bus = BusFile::new(interface, mode);
    let part = file.check().expect("the part is sound");
    Bus::new(&part, Wiring::default(), BusOptions::default()).expect("the wiring is sound")
}

/// The cycles before a cycle of this kind, and the cycle itself.
fn around(edge: Edge) -> (&'static str, &'static str) {
    match edge {
        Edge::Command => ("", "c00"),
        Edge::Address => ("c00", "a00"),
        Edge::DataIn => ("c80 a00.00.00.00.00", "i01.02"),
        Edge::DataOut => ("c00 a00.00.00.00.00 c30 rb", "o2"),
        Edge::RegisterOut => ("c70", "o1"),
        other => unreachable!("no cycle begins with {other:?}"),
    }
}

#[test]
fn each_time_within_a_cycle_is_held_to_the_picosecond() {
    let mut tried = 0;
    for (interface, mode) in
        [(Interface::Sdr, 0), (Interface::Sdr, 4), (Interface::NvDdr, 5), (Interface::NvDdr2, 7)]
    {
        let timings = Timings::of(interface, mode).expect("the mode exists");
        for (parameter, edges) in &HOST_TIME_RULES {
            let Some(least) = timings.min(*parameter).filter(|least| *least > Duration::ZERO) else {
                continue;
            };
            for edge in edges.iter().filter(|edge| **edge != Edge::Select) {
                let (before, cycle) = around(*edge);
                let mut exact = on(interface, mode);
                played(&mut exact, before);
                let mut short = exact.clone();
                exact.set_host_time(*parameter, Some(least)).expect("cycles have it");
                let what = format!("{interface} mode {mode}, {} of {cycle}", parameter.symbol());
                play(&mut exact, cycle).unwrap_or_else(|failure| panic!("{what}: {failure}"));
                let found = Duration::from_ps(least.ps() - 1);
                short.set_host_time(*parameter, Some(found)).expect("cycles have it");
                let wanted = FailureKind::Within { parameter: *parameter, found, least };
                let paced =
                    *parameter == Parameter::Wc && *edge == Edge::DataIn && interface != Interface::Sdr;
                match play(&mut short, cycle) {
                    Ok(_) => assert!(paced, "{what}"),
                    Err(refused) => assert_eq!(refused.kind, wanted, "{what}"),
                }
                tried += 1;
            }
        }
    }
    assert!(tried > 90, "{tried} are few");
}

#[test]
fn chip_enable_is_high_for_long_enough_between_two_targets() {
    let mut bus = bus();
    bus.set_host_time(Parameter::Ceh, Some(Duration::from_ps(19_999))).expect("it is before a fall");
    let refused = bus.select(0).expect_err("SDR asks for 20 ns");
    assert!(refused.to_string().contains("tCEH: found 19999ps, wanted at least 20ns"), "{refused}");
    bus.set_host_time(Parameter::Ceh, None).expect("it is before a fall");
    bus.select(0).expect("there is a target");
    assert_eq!(status(&mut bus), Status::IDLE);
}

#[test]
fn a_host_may_be_slower_than_the_part() {
    let mut usual = bus();
    let mut slow = bus();
    for (parameter, ns) in [(Parameter::Wc, 50), (Parameter::Rc, 40), (Parameter::Wp, 30)] {
        slow.set_host_time(parameter, Some(Duration::from_ns(ns))).expect("cycles have it");
    }
    for bus in [&mut usual, &mut slow] {
        played(bus, "c80 a00.00.00.00.00");
        bus.wait(Duration::from_us(1));
    }
    let took = |bus: &mut Bus, cycles: &str| {
        let begin = bus.now();
        played(bus, cycles);
        (bus.now() - begin).ns()
    };
    assert_eq!([took(&mut usual, "i01.02.03.04"), took(&mut slow, "i01.02.03.04")], [4 * 25, 4 * 50]);
    assert_eq!([took(&mut usual, "c10"), took(&mut slow, "c10")], [25, 50]);
    for bus in [&mut usual, &mut slow] {
        played(bus, "rb c00 a00.00.00.00.00 c30 rb");
        bus.wait(Duration::from_us(1));
    }
    assert_eq!([took(&mut usual, "o4"), took(&mut slow, "o4")], [4 * 25, 4 * 40]);
}

#[test]
fn a_wait_between_cycles_is_no_time_within_one() {
    let mut bus = bus();
    let refused = bus.set_host_time(Parameter::Adl, Some(Duration::ZERO)).expect_err("instants make it");
    assert!(refused.to_string().contains("tADL within a cycle"), "{refused}");
}
