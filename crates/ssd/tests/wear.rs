//! Lifetime of a device, and what extends it.

use wordline_device::{BlockDevice, Operation};
use wordline_ftl::blocks::wear::Allocation;
use wordline_ftl::config::WearFile;
use wordline_ftl::policy::router::RouterKind;
use wordline_ftl::policy::victim::VictimKind;
use wordline_ftl::policy::wear::WearKind;
use wordline_kernel::{Bytes, Duration, Seed};
use wordline_ssd::DeviceFile;

use crate::common::{Rig, drive_writes, small};

/// Device with a low endurance, one die, and program units of one page.
fn frail(endurance: u32) -> DeviceFile {
    let mut file = small();
    file.layout.channels = 1;
    file.layout.dies_per_package = 1;
    file.layout.planes_per_row = Some(1);
    file.part.geometry.blocks_per_plane = 64;
    file.part.endurance = endurance;
    file
}

/// Overwrites whole pages until the device rejects a write. Of ten writes, `hot` go to the first tenth of the
/// pages, the others to all pages. Returns the number of pages that the host wrote.
fn run_to_death(rig: &mut Rig, hot: u64) -> u64 {
    rig.device.fill(1.0);
    let pages = u64::from(rig.device.config().ftl.logical_pages);
    let mut random = Seed(6).stream("test.death", 0);
    while !rig.device.is_read_only() {
        rig.run_down_to(7);
        let range = if random.below(10) < hot { pages / 10 } else { pages };
        rig.submit(Operation::Write, false, random.below(range) * 8, 8);
    }
    rig.run_down_to(0);
    rig.audit();
    rig.device.totals().host_programs
}

/// Erases of the most worn block over the mean.
fn unevenness(rig: &Rig) -> f64 {
    let erases: Vec<u32> = rig.device.chips().erases().iter().copied().collect();
    let mean = f64::from(erases.iter().sum::<u32>()) / erases.len() as f64;
    f64::from(*erases.iter().max().expect("a device has blocks")) / mean
}

#[test]
fn a_device_writes_its_capacity_times_its_endurance_over_its_write_amplification() {
    let endurance = 40;
    let mut rig = Rig::new(frail(endurance), 1);
    let written = run_to_death(&mut rig, 0);
    let totals = rig.device.totals();
    let programmed = totals.host_programs + totals.gc_programs + totals.padding;
    let amplification = programmed as f64 / totals.host_programs as f64;
    // Each page can be programmed once more than its block can be erased, but the initial fill is not
    // counted. A device dies when a plane group has no spare blocks left, while other plane groups still have
    // erases left. With uniform writes and dynamic wear levelling these are at most a fifth of all erases.
    let pages = f64::from(rig.device.config().ftl.locations().count());
    let most = pages * f64::from(endurance) / amplification;
    let share = written as f64 / most;
    assert!((0.8..=1.03).contains(&share), "{share} of capacity x endurance / write amplification");
}

#[test]
fn static_levelling_lets_a_device_with_cold_data_live_longer() {
    let life = |levelling: WearKind, allocation| {
        let mut file = frail(40);
        file.ftl.wear = WearFile { levelling, allocation };
        let mut rig = Rig::new(file, 1);
        (run_to_death(&mut rig, 10), unevenness(&rig))
    };
    let (plain, uneven) = life(WearKind::None {}, Allocation::LeastWorn);
    for allocation in [Allocation::LeastWorn, Allocation::ByStream] {
        let (levelled, even) = life(WearKind::Bet { k: 0, threshold: 8 }, allocation);
        assert!(levelled > plain * 5 / 4, "{levelled} pages with levelling, {plain} without, {allocation:?}");
        assert!(even < uneven, "{even} with levelling, {uneven} without, {allocation:?}");
    }
}

#[test]
fn every_way_to_level_survives_many_drive_writes_at_seven_percent() {
    for levelling in [WearKind::Bet { k: 0, threshold: 2 }, WearKind::Bet { k: 3, threshold: 16 }] {
        for allocation in [Allocation::LeastWorn, Allocation::ByStream] {
            for router in [RouterKind::Single {}, RouterKind::HotCold { window: 0.1 }] {
                let mut file = frail(100_000);
                file.part.geometry.blocks_per_plane = 100;
                file.part.geometry.pages_per_block = 8;
                file.ftl.over_provisioning = 0.07;
                file.ftl.router = router;
                file.ftl.wear = WearFile { levelling: levelling.clone(), allocation };
                file.buffer.size = Bytes::kib(64);
                let mut rig = Rig::new(file, 1);
                rig.device.fill(1.0);
                let pages = u64::from(rig.device.config().ftl.logical_pages);
                let mut random = Seed(3).stream("test.overwrite", 0);
                for n in 0..drive_writes() * pages {
                    rig.run_down_to(15);
                    let range = if n % 10 < 9 { pages / 10 } else { pages };
                    rig.submit(Operation::Write, false, random.below(range) * 8, 8);
                }
                rig.run_down_to(0);
                rig.audit();
                assert!(
                    rig.completions.iter().all(|(_, completion)| !completion.failed),
                    "{levelling:?} {allocation:?}"
                );
            }
        }
    }
}

#[test]
fn separating_hot_pages_from_cold_ones_makes_gc_cheaper() {
    let moved = |router| {
        let mut file = frail(100_000);
        file.part.geometry.blocks_per_plane = 160;
        (file.ftl.gc.start_below_free_blocks, file.ftl.gc.stop_at_free_blocks) = (6, 6);
        file.ftl.gc.victim = VictimKind::CostBenefit {};
        file.ftl.router = router;
        let mut rig = Rig::new(file, 1);
        rig.device.fill(1.0);
        let pages = u64::from(rig.device.config().ftl.logical_pages);
        let mut random = Seed(3).stream("test.hot", 0);
        for n in 0..20 * pages {
            rig.run_down_to(7);
            // Idle time lets GC catch up: streams share blocks in a plane group with only the blocks reserved
            // for GC.
            if n % 16 == 0 {
                rig.rest(Duration::from_ms(50));
            }
            let range = if n % 10 < 5 { pages / 10 } else { pages };
            rig.submit(Operation::Write, false, random.below(range) * 8, 8);
        }
        rig.run_down_to(0);
        rig.device.totals().gc_programs
    };
    let (apart, together) = (moved(RouterKind::HotCold { window: 0.6 }), moved(RouterKind::Single {}));
    assert!(apart * 20 < together * 19, "{apart} pages moved, {together} with one stream");
}
