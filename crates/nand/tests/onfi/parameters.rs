//! Parameter sets on the pins: feature 92h selects the set of the following operations.

use wordline_kernel::Duration;
use wordline_nand::onfi::{Bus, FailureKind, Limit};
use wordline_nand::{DataSheet, DieId, Outcome};

use super::host::{bus, play, played, refusal};
use crate::cells::{Odd, parameters};

const PROGRAM: &str = "c80 a00.00.00.00.00 i01 c10";
const CHOOSE: &str = "cef a92 i01.00.00.00 rb";

/// The time for which the array programs.
fn programming(bus: &mut Bus) -> Duration {
    played(bus, PROGRAM);
    let begin = bus.now() + bus.timing().t_wb;
    bus.wait_ready() - begin
}

#[test]
fn a_feature_chooses_the_parameters_that_operations_go_by_until_a_reset() {
    let mut bus = bus();
    assert!(play(&mut bus, CHOOSE).is_err(), "nobody has set any");
    played(&mut bus, "cff rb");
    bus.set_parameters(1, &parameters());
    bus.set_physics(&DataSheet {});
    let us = Duration::from_us;
    assert_eq!(programming(&mut bus), us(200));
    assert_eq!(bus.lun(DieId(0)).outcome(), None, "set 0 asks nothing");
    played(&mut bus, CHOOSE);
    assert_eq!(programming(&mut bus), us(200) + parameters().setting);
    assert_eq!(bus.lun(DieId(0)).outcome(), Some(&Outcome::default()), "the data sheet knows no loops");
    played(&mut bus, "c00 a00.00.00.00.00 c30 rb o1");
    assert_eq!(bus.lun(DieId(0)).outcome(), Some(&Outcome { senses: 1, ..Outcome::default() }));
    played(&mut bus, "cff rb");
    assert_eq!(programming(&mut bus), us(200), "a reset takes the choice back");
}

#[test]
fn a_set_that_was_never_set_is_refused_by_the_operation() {
    let mut bus = bus();
    bus.set_parameters(1, &parameters());
    let refused = refusal(&mut bus, "cef a92 i02.00.00.00 rb c80 a00.00.00.00.00 i01 c10");
    assert!(matches!(refused, FailureKind::Limit(Limit::Unsupported { .. })), "{refused:?}");
}

#[test]
fn cells_say_how_long_the_array_works_and_how_that_went() {
    let mut bus = bus();
    bus.set_physics(&Odd::default());
    bus.set_parameters(1, &parameters());
    let plain = programming(&mut bus);
    played(&mut bus, CHOOSE);
    let chosen = programming(&mut bus);
    assert!(plain != chosen && plain != Duration::from_us(200), "{plain} {chosen}");
    let outcome = bus.lun(DieId(0)).outcome().expect("the set asks for it");
    assert!(outcome.loops + outcome.verifies > 0);
}
