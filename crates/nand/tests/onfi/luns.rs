//! Several LUNs on one bus.

use wordline_nand::DieId;
use wordline_nand::onfi::FailureKind;

use super::host::{played, refusal, two_luns};

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
fn commands_to_the_target_wait_for_every_lun() {
    for cycles in ["c90", "cec", "ced", "cee", "cef"] {
        let mut bus = two_luns();
        played(&mut bus, "c60 a00.01.00 cd0");
        assert!(matches!(refusal(&mut bus, cycles), FailureKind::Busy { die: DieId(1), .. }), "{cycles}");
    }
}
