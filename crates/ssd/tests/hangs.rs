//! All commands must complete, with any settings and any failures.

use proptest::prelude::*;
use wordline_device::watchdog::Watchdog;
use wordline_device::{BlockDevice, Operation};
use wordline_flash::scheduling::GcPriority;
use wordline_ftl::config::DiscardsAtCut;
use wordline_ftl::config::Scope;
use wordline_ftl::policy::balancer::{BalancerKind, Reach};
use wordline_ftl::policy::placement::PlacementKind;
use wordline_ftl::policy::relocator::RelocatorKind;
use wordline_ftl::policy::router::RouterKind;
use wordline_ftl::policy::victim::VictimKind;
use wordline_kernel::{Bytes, Duration, Energy, Instant};
use wordline_nand::faults::{Fails, FaultFile};
use wordline_ssd::DeviceFile;
use wordline_ssd::config::{BufferMode, Protection};

use crate::common::devices::{device, tight};
use crate::common::steps::{Start, Step, start, step};
use crate::common::{Rig, small};

/// Fault rule for a die, which fails after a number of commands or at a time.
fn lost_die() -> impl Strategy<Value = FaultFile> {
    prop_oneof![
        (1u64..=2_000).prop_map(|n| FaultFile { nth: Some(n), ..FaultFile::new(Fails::Die) }),
        (0u64..=500).prop_map(|ms| FaultFile {
            at: Some(Duration::from_ms(ms)),
            die: Some(0.into()),
            ..FaultFile::new(Fails::Die)
        }),
    ]
}

/// Executes commands in any order, many at once.
fn play(file: DeviceFile, steps: &[Step], depth: usize, start: Start) {
    let mut rig = Rig::new(file, 1);
    let per_page = rig.device.config().ftl.unit.0 / 512;
    let sectors = u64::from(rig.device.config().ftl.logical_pages) * per_page;
    start.prepare(&mut rig);
    for step in steps {
        rig.run_down_to(depth - 1);
        let range = if step.place % 4 == 0 { sectors } else { 96.min(sectors) };
        let sector = u64::from(step.place) * 7919 % range;
        let count = u64::from(step.sectors).min(sectors - sector);
        match step.kind {
            0..=11 => rig.submit(Operation::Write, step.fua, sector, count),
            12..=15 => rig.submit(Operation::Read, false, sector, count),
            16..=18 => rig.submit(Operation::Discard, step.fua, sector, count),
            19 => rig.submit(Operation::WriteZeroes, step.fua, sector, count),
            _ => rig.submit(Operation::Flush, false, 0, 0),
        }
    }
    rig.run_down_to(0);
    rig.audit();
}

/// Device with static allocation whose idle plane groups steal from each other, and whose GC yields to the
/// host whenever it can.
fn that_steals(file: DeviceFile, reach: Reach, fault: FaultFile) -> DeviceFile {
    let mut file = file;
    file.pools.clear();
    file.ftl.mapping.whole_units = false;
    file.ftl.mapping.sub_request = None;
    file.ftl.mapping.cache = None;
    file.ftl.placement = PlacementKind::Fixed { order: "CWDP".into() };
    file.ftl.balancer = BalancerKind::Stealing { reach, least: 1 };
    file.ftl.router = RouterKind::Host { streams: 2 };
    file.ftl.gc.steps_per_write = Some(1);
    file.ftl.scheduling.gc_priority = GcPriority::Low;
    file.ftl.recovery.discards = DiscardsAtCut::Kept;
    file.ftl.slc_cache = None;
    file.buffer.size = Bytes::kib(48).max(file.buffer.size);
    file.buffer.power_loss_protection = Protection::None;
    file.buffer.capacitors = Energy(0);
    file.faults = vec![fault];
    file
}

#[test]
fn a_stalled_command_is_detected_and_reported() {
    let mut rig = Rig::new(small(), 1);
    let ms = |ms| Instant::ZERO + Duration::from_ms(ms);
    let mut watchdog = Watchdog::with_limit(Duration::from_ms(1), ms(0));
    let looks = [1, 2, 3].map(|now| watchdog.look(&rig.device, ms(now)));
    assert_eq!(looks, [const { Ok(()) }; 3], "no command waits");
    rig.submit(Operation::Write, true, 0, 8);
    rig.submit(Operation::Write, false, 8, 8);
    assert_eq!(
        [4, 4].map(|now| watchdog.look(&rig.device, ms(now))),
        [const { Ok(()) }; 2],
        "it was not there before"
    );
    // No event is handled, so there is no progress.
    let told = watchdog.look(&rig.device, ms(5)).expect_err("it gets nowhere");
    for part in [
        "no progress in 1ms of simulated time",
        "commands: 2 outstanding, 2 of them started",
        "Write of 8 sectors from 0, durable, 5ms old: waits for 1 parts",
        "buffer: 2 of 16 pages in use",
        "die 0: busy",
        "plane group 0: 23 free of 24 good blocks",
    ] {
        assert!(told.contains(part), "{part} in {told}");
    }
    let mut watchdog = Watchdog::with_limit(Duration::from_ms(1), ms(5));
    rig.run_down_to(0);
    assert_eq!(watchdog.look(&rig.device, ms(7)), Ok(()));
}

/// Device with two plane groups, whose blocks have four program units each. Its GC collects random
/// superblocks.
fn super_blocks_at_random() -> DeviceFile {
    let mut file = small();
    (file.part.geometry.bits_per_cell, file.part.geometry.pages_per_block) = (2, 8);
    (file.layout.dies_per_package, file.layout.planes_per_row) = (1, Some(1));
    file.ftl.over_provisioning = 0.55;
    file.ftl.mapping.unit = Some(Bytes(1_024));
    file.ftl.gc.victim = VictimKind::Random {};
    file.ftl.gc.scope = Scope::SuperBlock;
    file.ftl.gc.relocator = RelocatorKind::Generations { streams: 1 };
    file.ftl.gc.copyback = true;
    (file.ftl.gc.start_below_free_blocks, file.ftl.gc.stop_at_free_blocks) = (3, 3);
    file.buffer.mode = BufferMode::WriteThrough;
    file.buffer.flush_interval = Duration::ZERO;
    file
}

#[test]
fn a_device_of_super_blocks_with_little_to_spare_is_aged_and_takes_writes() {
    let never = FaultFile { nth: Some(1 << 40), ..FaultFile::new(Fails::Die) };
    for depth in [None, Some(1), Some(2), Some(8)] {
        let alone = super_blocks_at_random();
        for file in [that_steals(alone.clone(), Reach::Die, never.clone()), alone] {
            let mut rig = Rig::new(tight(&file), 1);
            Start::Aged(depth).prepare(&mut rig);
            assert!(
                !rig.device.is_read_only(),
                "{depth:?}, {:?}",
                rig.device.describe_outstanding(Instant::ZERO)
            );
            rig.overwrite(2_000);
            assert!(!rig.device.is_read_only(), "{depth:?} after 2,000 writes more");
        }
    }
}

proptest! {
    #[test]
    fn commands_complete_where_plane_groups_steal_and_a_die_is_lost(
        file in device(),
        reach in prop::sample::select(vec![Reach::Die, Reach::Channel, Reach::Device]),
        fault in lost_die(),
        (steps, depth) in (prop::collection::vec(step(22, 0.2), 1..600), 1usize..16),
        start in start(),
        is_tight in any::<bool>(),
    ) {
        let file = that_steals(file, reach, fault);
        prop_assume!(file.clone().check().is_ok());
        play(if is_tight { tight(&file) } else { file }, &steps, depth, start);
    }
}
