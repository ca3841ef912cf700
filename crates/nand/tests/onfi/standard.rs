//! Requirements of ONFI for registers, the first reset, optional commands, and interfaces with a strobe.

use wordline_kernel::Duration;
use wordline_nand::Interface;
use wordline_nand::interface::BusFile;
use wordline_nand::onfi::parameter_page::{OptionalCommands, ParameterPage};
use wordline_nand::onfi::{
    Bus, BusOptions, FailureKind, Fault, InjectedFailure, Limit, LunOptions, Row, Status, Wiring,
};

use super::host::{bus, bus_with, fault, part_file, play, played, refusal, status, two_luns};

/// A bus with LUNs of the small part, with another interface.
fn on(interface: Interface, mode: u8, luns: u32) -> Bus {
    let mut file = part_file();
    file.bus = BusFile::new(interface, mode);
    let part = file.check().expect("the part is sound");
    Bus::new(&part, Wiring { luns, ..Wiring::default() }, BusOptions::default()).expect("the wiring is sound")
}

#[test]
fn a_program_clears_the_registers_of_all_planes_and_luns() {
    let mut bus = two_luns();
    played(&mut bus, "c80 a00.00.00.00.00 i01 c10 rb c80 a00.00.08.01.00 i02 c10 rb");
    played(&mut bus, "c00 a00.00.00.00.00 c30 rb c00 a00.00.08.01.00 c30 rb");
    let both = "c06 a00.00.00.00.00 ce0 o1 c06 a00.00.08.01.00 ce0 o1";
    assert_eq!(played(&mut bus, both), [1, 2]);
    // Plane 1 of LUN 0: neither page is in its register.
    played(&mut bus, "c80 a00.00.08.00.00 i03 c10 rb");
    assert_eq!(played(&mut bus, both), [0xff, 0xff]);
}

#[test]
fn planes_that_wait_for_their_program_keep_their_data() {
    let mut bus = bus();
    played(&mut bus, "c80 a00.00.00.00.00 i01 c11 rb c80 a00.00.08.00.00 i02 c10 rb");
    assert_eq!(played(&mut bus, "c00 a00.00.00.00.00 c30 rb o1 c00 a00.00.08.00.00 c30 rb o1"), [1, 2]);
}

#[test]
fn nothing_but_a_reset_is_taken_after_the_power_came() {
    let options = BusOptions { power_on: true, ..BusOptions::default() };
    for first in ["c70", "c90", "cfc", "cef", "c00", "ce1"] {
        let mut bus = bus_with(Wiring::default(), options.clone());
        assert_eq!(fault(&mut bus, first), Fault::BeforeReset, "{first}");
        played(&mut bus, "cff rb");
        assert_eq!(status(&mut bus), Status::IDLE, "{first}");
    }
    let mut bus = bus_with(Wiring { targets: 2, ..Wiring::default() }, options);
    played(&mut bus, "cff rb c70 o1");
    bus.select(1).expect("there are two");
    assert_eq!(fault(&mut bus, "c70"), Fault::BeforeReset, "each target wants its own");
}

#[test]
fn a_part_refuses_what_its_parameter_page_does_not_offer() {
    use Interface::{NvDdr, NvDdr2, NvDdr3, NvLpddr4, Sdr};
    use OptionalCommands as C;
    for (interface, mode, odt, zq) in [
        (Sdr, 5, false, false),
        (NvDdr, 5, false, false),
        (NvDdr2, 7, true, false),
        (NvDdr3, 12, true, true),
        (NvLpddr4, 0, true, true),
    ] {
        for luns in [1, 2] {
            let fresh = || on(interface, mode, luns);
            let page =
                ParameterPage::decode(&played(&mut fresh(), "cec a00 rb o256")).expect("the page is whole");
            for (offered, bit, cycles) in [
                (odt, C::ODT_CONFIGURE, "ce2 a00 i01.00.00.00"),
                (zq, C::ZQ_CALIBRATION, "cf9 a00"),
                (zq, C::ZQ_CALIBRATION, "cd9 a00"),
                (luns > 1, C::RESET_LUN, "cfa a00.00.00"),
            ] {
                let what = format!("{interface}, {luns} LUNs, {cycles}");
                assert_eq!(page.optional_commands.has(bit), offered, "{what}");
                match play(&mut fresh(), cycles) {
                    Ok(_) => assert!(offered, "{what}"),
                    Err(failure) => {
                        assert!(!offered, "{what}: {failure}");
                        assert!(matches!(failure.kind, FailureKind::Unsupported { .. }), "{what}: {failure}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_page_named_twice_for_one_program_is_refused() {
    // ONFI calls it a small data move, which the parameter page does not offer.
    let row = Row { lun: 0, block: 0, page: 0 };
    let twice = Limit::PlaneRule { first: row, second: row };
    let mut bus = bus();
    let cycles = "c80 a00.00.00.00.00 i01 c11 rb c80 a04.00.00.00.00 i02 c10";
    assert_eq!(refusal(&mut bus, cycles), FailureKind::Limit(twice));
}

#[test]
fn a_byte_of_a_register_goes_twice_where_the_rate_is_double() {
    let mut sdr = on(Interface::Sdr, 5, 1);
    let mut ddr = on(Interface::NvDdr, 5, 1);
    let data = |bus: &mut Bus, cycles: &str, last: &str| {
        played(bus, cycles);
        bus.wait(Duration::from_us(1));
        let begin = bus.now();
        played(bus, last);
        (bus.now() - begin).ps() - bus.timing().t_rpre.ps() - bus.timing().t_dqsre.ps()
    };
    for (cycles, last, bytes) in [
        ("c70", "o1", 1),
        ("c78 a00.00.00", "o2", 2),
        ("c90 a20", "o4", 4),
        ("cee a10 rb", "o4", 4),
        ("cec a00 rb", "o256", 256),
        ("c00 a00.00.00.00.00 c30 rb", "o8", 8),
    ] {
        assert_eq!(data(&mut sdr, cycles, last), bytes * 20_000, "{cycles}");
        let transfers = if cycles.starts_with("c00") { bytes } else { 2 * bytes };
        assert_eq!(data(&mut ddr, cycles, last), transfers * 5_000, "{cycles}");
    }
}

#[test]
fn pages_are_moved_in_even_numbers_where_the_rate_is_double() {
    const READ: &str = "c00 a00.00.00.00.00 c30 rb";
    for (cycles, what, found) in [
        ("c80 a01.00.00.00.00".to_string(), "column", 1),
        ("c80 a00.00.00.00.00 i01.02.03".to_string(), "bytes of data in", 3),
        ("c80 a00.00.00.00.00 c85 a03.00 i01.02".to_string(), "column", 3),
        ("c00 a05.00.00.00.00 c30".to_string(), "column", 5),
        (format!("{READ} o3"), "bytes of data out", 3),
        (format!("{READ} c05 a07.00 ce0"), "column", 7),
        (format!("{READ} c06 a09.00.00.00.00 ce0"), "column", 9),
    ] {
        for (interface, mode) in [(Interface::NvDdr, 4), (Interface::NvDdr2, 7), (Interface::NvDdr3, 12)] {
            assert_eq!(fault(&mut on(interface, mode, 1), &cycles), Fault::Odd { what, found }, "{cycles}");
        }
        played(&mut on(Interface::Sdr, 5, 1), &cycles);
    }
}

#[test]
fn the_timing_mode_of_a_lun_is_that_of_its_bus() {
    let mut bus = two_luns();
    played(&mut bus, "cd5 a01.01 i02.00.00.00 rb");
    bus.wait(Duration::from_us(2));
    assert_eq!(bus.timing().t_wc, Duration::from_ns(35), "SDR mode 2");
    for lun in ["00", "01"] {
        assert_eq!(played(&mut bus, &format!("cd4 a{lun}.01 rb o4")), [2, 0, 0, 0]);
    }
    // All LUNs must be idle, because the bus would change.
    played(&mut bus, "c60 a00.01.00 cd0");
    assert!(matches!(refusal(&mut bus, "cd5 a00.01 i03.00.00.00"), FailureKind::Busy { .. }));
}

#[test]
fn a_suspend_keeps_what_the_status_said_before() {
    let fails = InjectedFailure { row: Row { lun: 0, block: 0, page: 0 }, erase: false, nth: 1 };
    let lun = LunOptions { failures: vec![fails], ..LunOptions::default() };
    let mut bus = bus_with(Wiring::default(), BusOptions { lun, ..BusOptions::default() });
    played(&mut bus, "c80 a00.00.00.00.00 i01 c15 rb c80 a00.00.01.00.00 i02 c10");
    // The first page fails after 203 us, when the second program has begun.
    bus.wait(Duration::from_us(220));
    played(&mut bus, "c84 a01.00.00 rb");
    assert_eq!(status(&mut bus), Status(0xe2));
    played(&mut bus, "c00 a00.00.08.00.00 c30 rb");
    assert_eq!(status(&mut bus), Status::IDLE, "a read has a status of its own");
    played(&mut bus, "c13 a01.00.00 rb");
    assert_eq!(status(&mut bus), Status(0xe2), "the page before the last failed");
}

#[test]
fn every_plane_that_was_read_with_others_is_selected() {
    const BOTH: &str = "c00 a00.00.00.00.00 c32 rb c00 a00.00.08.00.00 c30 rb";
    for next in ["o1", "c05 a00.00 ce0", "c31 rb o1", "c31 rb c3f rb o1", "c70 o1 c00 o1"] {
        let mut bus = bus();
        assert_eq!(fault(&mut bus, &format!("{BOTH} {next}")), Fault::PlaneNotSelected, "{next}");
    }
    let mut bus = bus();
    played(&mut bus, BOTH);
    played(&mut bus, "c06 a00.00.08.00.00 ce0 o1 c05 a08.00 ce0 o1");
    played(&mut bus, &format!("{BOTH} c00 a00.00.00.00.00 c30 rb o1"));
}

#[test]
fn a_column_needs_something_that_was_read() {
    assert_eq!(fault(&mut bus(), "c05 a00.00 ce0"), Fault::OutputOfNothing);
    assert_eq!(fault(&mut bus(), "c70 o1 c05 a00.00 ce0"), Fault::OutputOfNothing);
    played(&mut bus(), "c00 a00.00.00.00.00 c30 rb c05 a00.00 ce0 o1");
}

#[test]
fn fail_shows_in_the_lun_that_the_refused_cycle_concerns() {
    for (cycles, [first, second]) in [
        // The cycles: a wrong second byte for block 0 of LUN 1 (60h-10h, then 80h-D0h); a wrong second byte
        // for LUN 0; an unknown command, which concerns no particular LUN; and an unknown feature of LUN 1.
        ("c60 a00.01.00 c10", [0xe0, 0xe1]),
        ("c80 a00.00.00.01.00 i00 cd0", [0xe0, 0xe1]),
        ("c60 a00.00.00 c10", [0xe1, 0xe0]),
        ("c07", [0xe1, 0xe0]),
        ("cd4 a01.33", [0xe0, 0xe1]),
    ] {
        let mut bus = two_luns();
        refusal(&mut bus, cycles);
        assert_eq!(played(&mut bus, "c78 a00.00.00 o1 c78 a00.01.00 o1"), [first, second], "{cycles}");
    }
}
