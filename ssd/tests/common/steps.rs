//! What a host does, drawn at random.

use proptest::prelude::*;

/// A command of the host, with places as parts of 65,536 of the device. What the kinds mean is the test's.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub kind: u8,
    pub place: u16,
    pub sectors: u8,
    pub fua: bool,
}

/// A step of one of so many kinds.
pub fn step(kinds: u8, fua: f64) -> impl Strategy<Value = Step> {
    (0..kinds, any::<u16>(), 1u8..=40, prop::bool::weighted(fua))
        .prop_map(|(kind, place, sectors, fua)| Step { kind, place, sectors, fua })
}
