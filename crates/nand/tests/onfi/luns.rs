//! Several LUNs, targets and volumes on one bus.

use wordline_nand::DieId;
use wordline_nand::onfi::{BusOptions, FailureKind, Fault, Limit, Status, Wiring};

use super::host::{bus_with, fault, play, played, refusal, status, two_luns};

#[test]
fn after_two_luns_worked_at_once_one_must_be_selected() {
    let mut bus = two_luns();
    played(&mut bus, "c80 a00.00.00.00.00 i01 c10 c80 a00.00.00.01.00 i02 c10");
    assert_eq!(fault(&mut bus, "c70"), Fault::LunNotSelected);
    played(&mut bus, "cff rb c80 a00.00.08.00.00 i01 c10 c80 a00.00.08.01.00 i02 c10");
    assert_eq!(played(&mut bus, "c78 a08.01.00 o1"), [0x80]);
    assert_eq!(status(&mut bus), Status::BUSY, "70h follows 78h");
    played(&mut bus, "rb");
    assert_eq!(played(&mut bus, "c00 a00.00.08.00.00 c30 rb o1 c00 a00.00.08.01.00 c30 rb o1"), [1, 2]);
}

#[test]
fn a_program_stays_in_its_lun() {
    let mut bus = two_luns();
    let refused = fault(&mut bus, "c80 a00.00.00.01.00 i01 c85 a00.00.00.00.00");
    assert_eq!(refused, Fault::OtherLun { found: 0, wanted: 1 });
}

#[test]
fn r_b_is_low_while_any_lun_is_busy() {
    let mut bus = two_luns();
    played(&mut bus, "c60 a00.00.00 cd0 c00 a00.00.00.01.00 c30");
    let sensed = bus.lun(DieId(1)).pipeline().ready_at;
    bus.wait_until(sensed);
    assert!(!bus.ready(), "LUN 0 erases");
    bus.wait_ready();
    assert_eq!(bus.now(), bus.lun(DieId(0)).pipeline().ready_at);
}

#[test]
fn data_of_several_luns_come_after_a_selection() {
    let mut bus = two_luns();
    played(&mut bus, "c80 a00.00.00.00.00 i01 c10 rb c80 a00.00.00.01.00 i02 c10 rb");
    played(&mut bus, "c00 a00.00.00.00.00 c30 c00 a00.00.00.01.00 c30 rb");
    assert_eq!(played(&mut bus, "c78 a00.00.00 o1 c00 o1"), [0xe0, 1]);
    assert_eq!(played(&mut bus, "c78 a00.01.00 c05 a00.00 ce0 o1"), [2]);
    played(&mut bus, "c00 a00.00.00.00.00 c30 c00 a00.00.00.01.00 c30 rb");
    assert_eq!(fault(&mut bus, "o1"), Fault::LunNotSelected);
    played(&mut bus, "cff rb c00 a00.00.00.00.00 c30 c00 a00.00.00.01.00 c30 rb");
    assert_eq!(played(&mut bus, "c06 a00.00.00.00.00 ce0 o1 c06 a00.00.00.01.00 ce0 o1"), [1, 2]);
}

#[test]
fn commands_to_the_target_wait_for_every_lun() {
    for cycles in ["c90", "cec", "ced", "cee", "cef"] {
        let mut bus = two_luns();
        played(&mut bus, "c60 a00.01.00 cd0");
        assert!(matches!(refusal(&mut bus, cycles), FailureKind::Busy { die: DieId(1), .. }), "{cycles}");
    }
}

#[test]
fn one_lun_is_reset_while_the_other_goes_on() {
    let mut bus = two_luns();
    played(&mut bus, "c60 a00.00.00 cd0 c60 a00.01.00 cd0");
    let other = bus.lun(DieId(1)).pipeline().ready_at;
    played(&mut bus, "cfa a00.00.00");
    assert!(bus.lun(DieId(0)).pipeline().ready_at < other);
    assert_eq!(bus.lun(DieId(1)).pipeline().ready_at, other);
    assert_eq!(played(&mut bus, "c78 a00.01.00 o1 c70 o1"), [0x80, 0x80]);
    played(&mut bus, "cff rb c60 a00.00.00 cd0 c60 a00.01.00 cd0 cfa a00.00.00");
    assert_eq!(fault(&mut bus, "c70"), Fault::LunNotSelected);
}

#[test]
fn a_vendor_status_names_its_lun() {
    let mut bus = two_luns();
    played(&mut bus, "c60 a00.01.00 cd0");
    assert_eq!(played(&mut bus, "cf2 o1 cf3 o1"), [0xe0, 0x80]);
    assert!(matches!(refusal(&mut bus, "cf4"), FailureKind::Limit(Limit::NoSuchLun { lun: 2, luns: 2 })));
}

#[test]
fn targets_have_their_own_pins() {
    let wiring = Wiring { targets: 2, ..Wiring::default() };
    let mut bus = bus_with(wiring, BusOptions::default());
    played(&mut bus, "c60 a00.00.00 cd0");
    bus.select(1).expect("there are two");
    assert!(bus.ready());
    played(&mut bus, "c80 a00.00.00.00.00 i07 c10 rb");
    assert_eq!(status(&mut bus), Status::IDLE);
    bus.select(0).expect("there are two");
    assert_eq!(status(&mut bus), Status::BUSY);
    let refused = bus.select(2).expect_err("there are two");
    assert!(refused.to_string().contains("found target 2, wanted less than 2"), "{refused}");
}

#[test]
fn volumes_share_a_chip_enable() {
    let wiring = Wiring { volumes: 2, ..Wiring::default() };
    let mut bus = bus_with(wiring, BusOptions::default());
    played(&mut bus, "c80 a00.00.00.00.00 i01 c10 ce1 a01 c80 a00.00.00.00.00 i02 c10 rb");
    assert_eq!(played(&mut bus, "c00 a00.00.00.00.00 c30 rb o1"), [2]);
    assert_eq!(played(&mut bus, "ce1 a00 c00 a00.00.00.00.00 c30 rb o1"), [1]);
    assert!(play(&mut bus, "ce1 a07").is_err());
}
