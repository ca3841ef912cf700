//! What a device holds at first and what a host does then, drawn at random.

use proptest::prelude::*;
use wordline_kernel::Seed;
use wordline_ssd::ftl::mapping::LogicalPage;

use super::Rig;

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

/// What a device holds before the first step.
#[derive(Clone, Copy, Debug)]
pub enum Start {
    Empty,
    Filled,
    Steady,
}

/// Any of them.
pub fn start() -> impl Strategy<Value = Start> {
    prop_oneof![Just(Start::Empty), Just(Start::Filled), Just(Start::Steady)]
}

impl Start {
    /// Brings a new device there. Returns the version of each page that is written.
    pub fn prepare(self, rig: &mut Rig) -> Vec<(u32, u32)> {
        match self {
            Self::Empty => return Vec::new(),
            Self::Filled => rig.device.fill(1.0),
            Self::Steady => drop(rig.device.fill_steady(Seed(1))),
        }
        let pages = 0..rig.device.config().logical_pages;
        let version = |page| rig.device.version(LogicalPage(page)).expect("every page is written");
        pages.map(|page| (page, version(page))).collect()
    }
}
