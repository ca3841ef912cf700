use wordline_kernel::{Bytes, Seed};

use super::*;
use crate::command::{Command, Operation};
use crate::config::{BufferFile, DeviceFile, FrontFile, FtlFile};
use crate::space::State;
use wordline_nand::geometry::Layout;
use wordline_nand::part::PartFile;

include!("../../../tests/common/small.rs");

/// Four rows of 256 blocks of 128 pages.
fn device() -> Device {
    let mut file = small();
    (file.part.geometry.blocks_per_plane, file.part.geometry.pages_per_block) = (256, 64);
    (file.ftl.gc.start_below_free_blocks, file.ftl.gc.stop_at_free_blocks) = (4, 6);
    Device::new(file.check().expect("a device"), Seed(1))
}

/// Ages a filled device with six drive writes of whole pages at random.
fn aged(depth: Option<u32>) -> Device {
    let mut device = device();
    device.fill(1.0);
    let pages = u64::from(device.config().logical_pages);
    let mut random = Seed(5).stream("test.age", 0);
    let mut given = 0;
    device.age(
        &mut |_| {
            given += 1;
            let sector = random.below(pages) * 8;
            let command = Command { operation: Operation::Write, sector, sectors: 8, ..Command::default() };
            (given <= 6 * pages).then(|| (Instant::ZERO + Duration::from_ms(1) * given, command))
        },
        depth,
    );
    device
}

/// Valid pages of every closed block, ascending.
fn valid(device: &Device) -> Vec<u32> {
    let closed = device
        .config()
        .pools
        .all_blocks()
        .filter(|block| device.core.base.space.state(*block) == State::Closed);
    let mut valid: Vec<u32> = closed.map(|block| device.core.base.space.valid(block)).collect();
    valid.sort_unstable();
    valid
}

/// Free blocks of all rows.
fn free(device: &Device) -> usize {
    (0..device.config().pools.rows()).map(|row| device.core.base.space.free(row)).sum()
}

/// The largest difference between the shares of values up to some value: the statistic of Kolmogorov and Smirnov.
fn distance(one: &[u32], other: &[u32]) -> f64 {
    let up_to = |all: &[u32], value: u32| all.partition_point(|it| *it <= value) as f64 / all.len() as f64;
    let differs = |value: &u32| (up_to(one, *value) - up_to(other, *value)).abs();
    one.iter().chain(other).map(differs).fold(0.0, f64::max)
}

#[test]
fn blocks_are_as_full_as_theory_has_them() {
    let mut from_theory = device();
    from_theory.fill_steady_to(Seed(1), 1.0);
    let [found, wanted] = [aged(None), from_theory].map(|device| valid(&device));
    // Two samples of a thousand blocks differ by more than 0.073 with probability 0.01 if they are of one distribution.
    let limit = 1.63 * (1.0 / found.len() as f64 + 1.0 / wanted.len() as f64).sqrt();
    let distance = distance(&found, &wanted);
    assert!(distance < limit, "{distance}, at most {limit}");
}

#[test]
fn by_the_times_of_the_workload_as_many_blocks_are_free_as_after_a_rest() {
    let mut rested = device();
    rested.fill_steady_to(Seed(1), 1.0);
    let (found, wanted) = (free(&aged(None)), free(&rested));
    let rows = rested.config().pools.rows() as usize;
    // A row is between the marks of its collector, wherever it was left.
    assert!(found.abs_diff(wanted) <= 2 * rows, "{found} and {wanted} free blocks");
}

#[test]
fn in_a_closed_loop_as_many_blocks_are_free_as_under_full_load() {
    let mut loaded = device();
    loaded.fill_steady(Seed(1));
    let (found, wanted) = (free(&aged(Some(16))), free(&loaded));
    let rows = loaded.config().pools.rows() as usize;
    assert!(found.abs_diff(wanted) <= rows, "{found} and {wanted} free blocks");
}
