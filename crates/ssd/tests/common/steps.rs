//! Random initial contents of a device, and random commands of a host.

use proptest::prelude::*;
use wordline_device::{BlockDevice, Command, Operation};
use wordline_ftl::map::LogicalPage;
use wordline_kernel::{Duration, Instant, Seed};

use super::Rig;

/// Host command. `place` is its address in parts of 65,536 of the device. Each test defines the meaning of
/// `kind`.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub kind: u8,
    pub place: u16,
    pub sectors: u8,
    pub fua: bool,
}

/// Step of one of `kinds` kinds.
pub fn step(kinds: u8, fua: f64) -> impl Strategy<Value = Step> {
    (0..kinds, any::<u16>(), 1u8..=40, prop::bool::weighted(fua))
        .prop_map(|(kind, place, sectors, fua)| Step { kind, place, sectors, fua })
}

/// Contents of a device before the first step.
#[derive(Clone, Copy, Debug)]
pub enum Start {
    Empty,
    Filled,
    Steady,
    /// Filled, then aged without flash times: with this queue depth, or in an open loop.
    Aged(Option<u32>),
}

/// Any initial contents.
pub fn start() -> impl Strategy<Value = Start> {
    let aged = prop::option::of(1u32..9).prop_map(Start::Aged);
    prop_oneof![Just(Start::Empty), Just(Start::Filled), Just(Start::Steady), aged]
}

impl Start {
    /// Brings a new device into this state. Returns the version of each written page.
    pub fn prepare(self, rig: &mut Rig) -> Vec<(u32, u32)> {
        match self {
            Self::Empty => return Vec::new(),
            Self::Filled => rig.device.fill(1.0),
            Self::Steady => drop(rig.device.fill_steady(Seed(1))),
            Self::Aged(depth) => {
                rig.device.fill(1.0);
                age(rig, depth);
            }
        }
        rig.audit();
        let pages = 0..rig.device.config().ftl.logical_pages;
        let version = |page| rig.device.version(LogicalPage(page)).expect("every page is written");
        pages.map(|page| (page, version(page))).collect()
    }
}

/// Ages a device with random writes, reads and flushes, once its capacity. Half of them go to the first
/// quarter of the device.
fn age(rig: &mut Rig, depth: Option<u32>) {
    let sectors: u64 = rig.device.config().ftl.capacity().0 / 512;
    let mut random = Seed(7).stream("test.age", 0);
    let (mut left, mut time) = (sectors, Instant::ZERO);
    let mut next = |_| {
        let count = (1 + random.below(40)).min(sectors);
        left = left.checked_sub(count)?;
        time += Duration::from_us(random.below(2_000));
        let range = if random.below(2) == 0 { sectors } else { (sectors / 4).max(count) };
        let sector = random.below(range - count + 1);
        let (operation, fua) = match random.below(16) {
            0 => (Operation::Flush, false),
            1 | 2 => (Operation::Read, false),
            3 => (Operation::Write, true),
            _ => (Operation::Write, false),
        };
        let (sector, count) = if operation == Operation::Flush { (0, 0) } else { (sector, count) };
        Some((time, Command { operation, fua, sector, sectors: count, ..Command::default() }))
    };
    let agenda = rig.device.age(&mut next, depth).expect("it has flash");
    rig.calendar = agenda.calendar(|event| event);
}

/// Fixed sequence of commands that overwrites, discards and flushes.
pub fn mixed(count: u32) -> Vec<Step> {
    let mut state = 12_345u32;
    let mut draw = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 8
    };
    (0..count)
        .map(|_| Step {
            kind: (draw() % 20) as u8,
            place: draw() as u16,
            sectors: (draw() % 24 + 1) as u8,
            fua: draw() % 8 == 0,
        })
        .collect()
}
