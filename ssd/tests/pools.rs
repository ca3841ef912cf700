//! Two pools in one device: a small one with a page a program beside one of which a program writes a whole unit of pages.

mod common;

use common::{Rig, small};
use wordline_kernel::{Bytes, Duration};
use wordline_nand::part::ArrayTiming;
use wordline_ssd::ftl::mapping::LogicalPage;
use wordline_ssd::policy::router::RouterKind;
use wordline_ssd::pools::{ChannelsFile, PoolFile};
use wordline_ssd::{DeviceFile, Operation};

/// TLC programmed by word lines of two planes, six pages of 4 KiB, beside SLC of which the planes work by themselves. Pieces of
/// a unit of at least `least` bytes go to the first.
fn two_pools(least: u64) -> DeviceFile {
    let mut file = small();
    let us = Duration::from_us;
    let mut slc = file.part.clone();
    slc.timing = ArrayTiming::new(us(15), us(90), us(700), Duration::from_ns(500));
    let geometry = &mut file.part.geometry;
    (geometry.bits_per_cell, geometry.one_shot, geometry.pages_per_block) = (3, true, 24);
    file.ftl.mapping.whole_units = true;
    file.ftl.router = RouterKind::BySize { least: Bytes(least) };
    file.ftl.over_provisioning = 0.55;
    file.buffer.size = Bytes::kib(128);
    let mut layout = file.layout;
    layout.planes_per_row = Some(1);
    file.pools = vec![PoolFile {
        part: slc,
        layout,
        channels: ChannelsFile::Shared,
        start_below_free_blocks: None,
        stop_at_free_blocks: None,
    }];
    file
}

const PAGE: u64 = 8;
const UNIT: u64 = 6 * PAGE;

#[test]
fn large_pieces_go_to_the_first_pool_and_small_ones_to_the_second() {
    let mut rig = Rig::new(two_pools(16_384), 1);
    rig.alone(Operation::Write, true, 0, UNIT);
    rig.alone(Operation::Write, true, UNIT, PAGE);
    rig.settle();
    rig.audit();
    let states = rig.device.pool_states();
    assert_eq!([states[0].fullness.valid, states[1].fullness.valid], [6, 1]);
    assert_eq!(rig.device.version_in_flash(LogicalPage(6)), Some(1));
}

/// Overwrites the device with writes of one to twelve pages at random places.
fn overwrite(file: DeviceFile, writes: u64) -> Rig {
    let mut rig = Rig::new(file, 1);
    let pages = u64::from(rig.device.config().logical_pages);
    let mut random = wordline_kernel::Seed(7).stream("test.pools", 0);
    for n in 0..writes {
        rig.run_down_to(7);
        let count = 1 + random.below(12);
        let first = random.below(pages - count);
        rig.submit(Operation::Write, n % 50 == 0, first * PAGE, count * PAGE);
        if n % 100 == 0 {
            rig.audit();
        }
    }
    rig.alone(Operation::Flush, false, 0, 0);
    rig.audit();
    rig
}

#[test]
fn a_device_with_two_pools_is_overwritten_many_times() {
    for least in [0, 8_192, 16_384, 24_576, 1 << 20] {
        let rig = overwrite(two_pools(least), 20_000);
        let counts = rig.device.sub_requests().expect("there are two pools");
        println!("{least}: {counts:?} {:?} {:?}", rig.device.pool_states(), rig.device.totals());
    }
}
