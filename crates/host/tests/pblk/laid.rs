//! Directly preconditioned devices, compared with devices after many writes.

use wordline_device::block_device::Programmed;
use wordline_device::snapshot::Agenda;
use wordline_device::{BlockDevice, Command, Operation};
use wordline_host::pblk::PblkFile;
use wordline_kernel::{Duration, Instant, Seed, Stream};
use wordline_nand::faults::{Fails, FaultFile};

use super::rig::{Host, Kind, SECTORS, build, file, medium, with};
use crate::zones;

/// A device with 640 lines of 64 pages. The host has filled a fraction of its pages.
#[derive(Clone, Copy, Debug)]
struct Size {
    ring: u64,
    over_provisioning: f64,
    filled: f64,
}

/// Sizes at which the number of free lines settles in different ranges of the rate limiter: where the host
/// loses its last window, where the shares of the ring are steady, and where GC stops.
const SIZES: [Size; 3] = [
    Size { ring: 16, over_provisioning: 0.25, filled: 1.0 },
    Size { ring: 64, over_provisioning: 0.3, filled: 1.0 },
    Size { ring: 64, over_provisioning: 0.3, filled: 0.4 },
];

fn file_of(size: Size) -> PblkFile {
    file([640, 16, 1, 2, 2], size.ring, size.over_provisioning)
}

fn of_size(size: Size) -> Host {
    Host::new(file_of(size))
}

/// Overwrites the first `pages` pages at random, `times` times, with the clock of the device off.
fn age(host: &mut Host, pages: u64, times: u64, random: &mut Stream) {
    let mut given = 0;
    let next = &mut |_| {
        given += 1;
        let sector = random.below(pages) * SECTORS;
        let command = Command { operation: Operation::Write, sector, sectors: SECTORS, ..Command::default() };
        (given <= times * pages).then_some((Instant::ZERO, command))
    };
    assert!(host.device.age(next, Some(16)).is_some());
}

/// Overwrites the first `pages` pages at random, `count` pages in all, with the clock on. Returns the
/// programs for each host page.
fn run(host: &mut Host, pages: u64, count: u64, random: &mut Stream) -> f64 {
    let before = host.device.programmed();
    for _ in 0..count {
        host.run_down_to(15);
        host.write_any(random.below(pages) as u32);
    }
    amplification(before, host.device.programmed())
}

fn amplification(before: Programmed, after: Programmed) -> f64 {
    1.0 + (after.other - before.other) as f64 / (after.host - before.host) as f64
}

/// The largest difference between two empirical distributions: the Kolmogorov-Smirnov statistic.
fn distance(one: &[u32], other: &[u32]) -> f64 {
    let up_to =
        |all: &[u32], value: u32| all.iter().filter(|it| **it <= value).count() as f64 / all.len() as f64;
    let differs = |value: &u32| (up_to(one, *value) - up_to(other, *value)).abs();
    one.iter().chain(other).map(differs).fold(0.0, f64::max)
}

/// Compares with three drive writes on each of three devices. This takes some two seconds.
#[test]
fn what_is_laid_is_what_writing_for_long_leaves() {
    for size in SIZES {
        let random = &mut Seed(5).stream("test.laid", 0);
        let mut long = of_size(size);
        let pages = (f64::from(long.pages()) * size.filled) as u64;
        assert!(long.device.fill_while(size.filled, &mut |_| true));
        age(&mut long, pages, 3, random);
        let mut laid = of_size(size);
        let steady = laid.fill_steady(size.filled);
        assert!(steady.overwritten < pages / 2, "{size:?}: {steady:?}");
        let [valid, wanted] =
            [&laid, &long].map(|host| host.device.closed_lines().map(|[valid, _]| valid).collect::<Vec<_>>());
        // The distance of two samples of these sizes from one distribution exceeds this limit with
        // probability 0.01.
        let limit = 1.63 * (1.0 / valid.len() as f64 + 1.0 / wanted.len() as f64).sqrt();
        let distance = distance(&valid, &wanted);
        assert!(distance < limit, "{size:?}: the lines differ by {distance}, at most {limit}");
        // GC collects four lines concurrently, and one line is open.
        let [free, wanted] = [&laid, &long].map(|host| host.device.free_chunks());
        assert!(free.abs_diff(wanted) <= 5 * 4, "{size:?}: {free} free chunks, {wanted} after long writing");
        let [found, wanted] = [&mut laid, &mut long].map(|host| run(host, pages, pages / 2, random));
        let difference = (found / wanted - 1.0).abs();
        assert!(difference < 0.03, "{size:?}: {found} programs a page, {wanted} after long writing");
        laid.audit();
    }
}

#[test]
fn a_cut_finds_all_that_was_laid_by_the_lists_of_its_lines() {
    for kind in Kind::RELIABLE {
        let mut host = Host::new(kind.below(file_of(SIZES[1]), 4, 6));
        host.fill_steady(1.0);
        let layout = *host.device.layout();
        host.cut_power();
        let recovered = host.device.recovery().expect("it is over");
        assert_eq!((recovered.lost, recovered.returned), (0, 0), "{kind:?}");
        // Smeta and emeta of each line, and the pages of lines without them: the open line, and lines that
        // wait for emeta.
        let lists = u64::from((layout.smeta + layout.emeta) * layout.strip * layout.lines);
        let most = lists + 5 * u64::from(layout.per_line());
        assert!(
            recovered.pages_read <= most,
            "{kind:?}: {} pages read, at most {most}",
            recovered.pages_read
        );
        host.read_all();
    }
}

#[test]
fn zones_are_laid_as_chunks_are() {
    for (width, spare) in [(4, 3), (2, 0)] {
        let mut host = zones::host(zones::file([40, 16, 1, 2, 2], Kind::Shift, 4, width, spare));
        host.fill_steady(1.0);
        host.read_all();
        host.cut_power();
        host.read_all();
    }
}

#[test]
fn lines_without_some_of_their_chunks_are_laid_with_the_others() {
    let block = |text: &str| Some(text.parse().expect("a range"));
    let bad = |die: u32, blocks: &str| FaultFile {
        die: Some(die.into()),
        block: block(blocks),
        ..FaultFile::new(Fails::FactoryBad)
    };
    let mut host = Host::new(with(medium(), vec![bad(0, "3..6"), bad(1, "5..9"), bad(2, "20")]));
    host.fill_steady(1.0);
    host.read_all();
    host.cut_power();
    host.read_all();
}

#[test]
fn a_state_that_was_laid_is_saved_and_read() {
    let mut host = Host::new(Kind::Shift.below(medium(), 4, 6));
    host.fill_steady(1.0);
    let mut bytes = Vec::new();
    host.device.save(&Agenda::of(&host.calendar), &mut bytes).expect("a list takes everything");
    let mut again = build(Kind::Shift.below(medium(), 4, 6), 9);
    again.load(&mut bytes.as_slice()).expect("it was just written");
    again.audit(Duration::ZERO);
    assert_eq!(again.digest(), host.device.digest());
    assert!(again.closed_lines().eq(host.device.closed_lines()));
}
