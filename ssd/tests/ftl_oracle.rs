//! Does any sequence of host commands leave what a plain map would, on any small device?

mod common;

use std::collections::BTreeMap;

use common::Rig;
use common::devices::device;
use proptest::prelude::*;
use wordline_kernel::Duration;
use wordline_ssd::ftl::mapping::LogicalPage;
use wordline_ssd::{DeviceFile, Operation};

/// What a command of the host does, with places as parts of 65,536 of the device.
#[derive(Clone, Copy, Debug)]
struct Step {
    kind: u8,
    place: u16,
    sectors: u8,
    fua: bool,
}

fn step() -> impl Strategy<Value = Step> {
    (0u8..23, any::<u16>(), 1u8..=40, prop::bool::weighted(0.1))
        .prop_map(|(kind, place, sectors, fua)| Step { kind, place, sectors, fua })
}

/// Versions as the host counts them.
#[derive(Default)]
struct Model {
    written: BTreeMap<u32, u32>,
    present: BTreeMap<u32, u32>,
}

impl Model {
    fn write(&mut self, page: u32) {
        let version = self.written.entry(page).or_insert(0);
        *version += 1;
        self.present.insert(page, *version);
    }

    /// Sectors from `from` to `to` read as zeroes: a whole page is forgotten, a part of one is written.
    fn zero(&mut self, page: u32, (from, to): (u64, u64), per_page: u64) {
        let start = u64::from(page) * per_page;
        if start >= from && start + per_page <= to {
            self.present.remove(&page);
        } else {
            self.write(page);
        }
    }
}

fn play(file: DeviceFile, steps: &[Step], depth: usize, filled: bool) {
    let mut rig = Rig::new(file, 1);
    let pages = rig.device.config().logical_pages;
    let per_page = rig.device.config().slots.size.0 / 512;
    let sectors = u64::from(pages) * per_page;
    let mut model = Model::default();
    if filled {
        rig.device.fill(1.0);
        (0..pages).for_each(|page| model.write(page));
    }
    for (n, step) in steps.iter().enumerate() {
        rig.run_down_to(depth - 1);
        // Most commands go to a small part of the device, so that they meet each other.
        let range = if step.place % 4 == 0 { sectors } else { 96.min(sectors) };
        let sector = u64::from(step.place) * 7919 % range;
        let count = u64::from(step.sectors).min(sectors - sector);
        let (first, last) = ((sector / per_page) as u32, ((sector + count - 1) / per_page) as u32);
        match step.kind {
            0..=9 => {
                rig.submit(Operation::Write, step.fua, sector, count);
                // Commands of one page that are under way at once may be carried out in any order, but the device
                // begins them in the order of submission when it does not hold them back: its versions count.
                (first..=last).for_each(|page| model.write(page));
            }
            10..=16 => rig.submit(Operation::Read, false, sector, count),
            17..=18 => {
                rig.run_down_to(0);
                rig.submit(Operation::Discard, false, sector, count);
                rig.run_down_to(0);
                for page in sector.div_ceil(per_page) as u32..((sector + count) / per_page) as u32 {
                    model.present.remove(&page);
                }
            }
            19 => {
                rig.submit(Operation::WriteZeroes, step.fua, sector, count);
                (first..=last).for_each(|page| model.zero(page, (sector, sector + count), per_page));
            }
            20 => {
                rig.run_down_to(0);
                let expected = model.present.get(&first).copied().unwrap_or(0);
                rig.compare(u64::from(first) * per_page, per_page, expected);
            }
            21 => rig.rest(Duration::from_us(20 * u64::from(step.sectors))),
            _ => rig.submit(Operation::Flush, false, 0, 0),
        }
        if n % 50 == 0 {
            rig.audit();
        }
    }
    rig.run_down_to(0);
    rig.audit();
    assert!(!rig.device.is_read_only(), "the device has room");
    for page in 0..pages {
        assert_eq!(rig.device.version(LogicalPage(page)), model.present.get(&page).copied(), "page {page}");
    }
    rig.alone(Operation::Flush, false, 0, 0);
    let waits =
        |page: &u32| rig.device.version_in_flash(LogicalPage(*page)) != model.present.get(page).copied();
    let left = (0..pages).filter(waits).count();
    assert!(left <= rig.device.protected_pages() as usize, "{left} pages are not in flash after a flush");
    rig.alone(Operation::Read, false, 0, sectors);
    assert!(rig.answers.iter().all(|(_, answer)| !answer.failed), "nothing is refused");
}

proptest! {
    #[test]
    fn a_device_holds_what_a_map_would(
        file in device(),
        steps in prop::collection::vec(step(), 1..600),
        depth in 1usize..12,
        filled in any::<bool>(),
    ) {
        play(file, &steps, depth, filled);
    }
}
