//! Devices with a volatile write cache: the flushes of the FTL, and the losses on a device that does not
//! recover program failures.

use std::panic::{AssertUnwindSafe, catch_unwind};

use wordline_device::physical_device::ChunkState;
use wordline_device::{BlockDevice, Operation, PhysicalDevice};
use wordline_kernel::{Schedule, Seed};
use wordline_nand::faults::{Fails, FaultFile, NumberRange};

use super::rig::{Host, Kind, build, file, medium, tiny, with};

/// Writes, flushes and reads, with GC. Then cuts the power and reads everything.
fn use_and_cut(host: &mut Host) {
    host.fill();
    for n in 0..3 * host.pages() {
        host.run_down_to(5);
        host.submit(Operation::Write, false, n * 13, 1 + n % 3);
        if n % 20 == 19 {
            host.submit(Operation::Flush, false, 0, 0);
        }
    }
    host.submit(Operation::Flush, false, 0, 0);
    host.run_down_to(0);
    host.cut_power();
    host.read_all();
}

#[test]
fn flushes_go_to_devices_that_would_lose_data_and_to_no_others() {
    for kind in Kind::ALL {
        let mut host = Host::new(kind.below(medium(), 6, 4));
        use_and_cut(&mut host);
        let answers_early = matches!(kind, Kind::Shift | Kind::Copies | Kind::Unreliable);
        assert_eq!(host.device.counts().flushes > 0, answers_early, "{kind:?}: {:?}", host.device.counts());
        assert_eq!(host.device.counts().rejected, 0, "{kind:?}");
    }
}

#[test]
fn a_flush_waits_until_the_data_are_in_flash() {
    for kind in [Kind::Synchronous, Kind::Shift] {
        let mut host = Host::new(kind.below(tiny(), 6, 4));
        host.write(0);
        host.submit(Operation::Flush, false, 0, 0);
        host.run_down_to(0);
        let program = host.device.device().geometry().times.write[0];
        // Smeta and the page go to two parallel units. A device with a volatile cache programs them
        // concurrently.
        let programs = if kind == Kind::Shift { 1 } else { 2 };
        let took = host.calendar.now().ps();
        let least = program.ps() * programs;
        assert!((least..least + program.ps()).contains(&took), "{kind:?}: {took} ps");
    }
}

/// A device of this kind whose programs may fail.
fn failing(kind: Kind, probability: f64) -> Host {
    let rule = FaultFile { probability: Some(probability), ..FaultFile::new(Fails::Program) };
    Host::new(with(kind.below(medium(), 6, 14), vec![rule]))
}

#[test]
fn the_oracle_catches_what_an_unreliable_device_loses_and_the_device_counts_it() {
    let caught = catch_unwind(AssertUnwindSafe(|| {
        let mut host = failing(Kind::Unreliable, 0.02);
        host.may_fail = false;
        use_and_cut(&mut host);
    }));
    assert!(caught.is_err(), "answered writes were lost");
    // The same run with an oracle that allows failed commands. The losses are counted.
    let mut host = failing(Kind::Unreliable, 0.02);
    for n in 0..200 {
        host.run_down_to(5);
        host.submit(Operation::Write, false, n * 13, 2);
    }
    host.submit(Operation::Flush, false, 0, 0);
    host.run_down_to(0);
    let lost = host.device.device().counts().blocks_lost;
    assert!(lost > 0, "the device lost nothing");
    for page in 0..host.pages() {
        host.submit(Operation::Read, false, page, 1);
    }
    host.run_down_to(0);
    let counts = host.device.counts();
    assert!(host.failed > 0 || counts.lost_pages > 0, "nothing failed though {lost} were lost: {counts:?}");
    assert!(counts.rejected > 0, "commands were refused: {counts:?}");
    host.audit();
}

#[test]
fn a_chunk_that_is_closed_early_does_not_end_its_line() {
    let free_chunks = |faults| {
        let mut host = Host::new(with(Kind::Unreliable.below(medium(), 6, 4), faults));
        (0..40).for_each(|page| host.write(page));
        while host.go_on(1) {}
        assert_eq!(host.device.outstanding(), 0);
        (host.device.free_chunks(), host.device.device().counts().blocks_lost > 0)
    };
    let rule = FaultFile { nth: Some(10), ..FaultFile::new(Fails::Program) };
    let (free, _) = free_chunks(Vec::new());
    assert_eq!(free_chunks(vec![rule]), (free, true));
}

#[test]
fn devices_with_a_manager_lose_nothing_in_the_same_run() {
    for kind in [Kind::Shift, Kind::Copies] {
        let mut host = failing(kind, 0.002);
        use_and_cut(&mut host);
        let repaired = host.device.device().counts().recovered;
        assert!(repaired > 0, "{kind:?}: programs failed");
        assert_eq!(host.device.counts().resubmitted, 0, "{kind:?}: the host knows nothing of it");
    }
}

#[test]
fn a_chunk_that_goes_offline_is_read_and_its_line_retired() {
    // Each die has one block besides the journal, which recovers only the first failure.
    let rule =
        |nth| FaultFile { nth: Some(nth), die: Some(NumberRange::from(0)), ..FaultFile::new(Fails::Program) };
    for kind in [Kind::Shift, Kind::Copies] {
        let mut host = Host::new(with(kind.below(medium(), 6, 3), [10, 30, 70].map(rule).to_vec()));
        for n in 0..400 {
            host.run_down_to(3);
            host.submit(Operation::Write, false, n * 13, 2);
            if n % 7 == 0 {
                host.submit(Operation::Flush, false, 0, 0);
            }
        }
        host.submit(Operation::Flush, false, 0, 0);
        host.run_down_to(0);
        let device = host.device.device();
        let is_offline = |chunk: &_| device.report(*chunk).state == ChunkState::Offline;
        assert_eq!(device.geometry().all_chunks().filter(is_offline).count(), 2, "{kind:?}");
        assert_eq!(host.failed, 0, "{kind:?}: enough chunks are left");
        assert_eq!(host.device.device().counts().blocks_lost, 0, "{kind:?}");
        host.read_all();
        // Everything that the flush covered is in flash.
        host.cut_power();
        host.read_all();
        assert_eq!(host.device.recovery().expect("it is over").lost, 0, "{kind:?}");
    }
}

#[test]
fn relocation_from_an_offline_chunk_finds_lines_that_need_no_flush() {
    // The reserve of each die recovers one failure. Each later failure takes a chunk offline, while GC
    // collects other lines.
    for seed in 0..4 {
        let rule = FaultFile { probability: Some(0.004), ..FaultFile::new(Fails::Program) };
        let file = with(Kind::Shift.below(file([40, 32, 1, 2, 1], 32, 0.5), 8, 3), vec![rule]);
        let mut host = Host::of(build(file, seed), true);
        host.fill();
        let mut random = Seed(seed).stream("pages", 0);
        while host.failed == 0 {
            host.run_down_to(3);
            let page = random.below(u64::from(host.pages())) as u32;
            host.submit(Operation::Write, false, page, 1);
        }
        // The limiter stops the host, whose two windows need half of the power of two above `high` each.
        let (free, layout) = (host.device.free_chunks(), *host.device.layout());
        let least = (layout.high.next_power_of_two() / 2).max(layout.reserved + 1);
        let mark = host.device.mark(host.calendar.now());
        let open = host.device.metrics(&mark, host.calendar.now()).count("lines.open");
        assert!(free < least && open <= 6, "seed {seed}: {free} chunks are free, {open} lines open");
        host.run_down_to(0);
        host.audit();
    }
}

#[test]
fn programmed_bytes_are_those_of_all_programs_of_the_drive() {
    for kind in [Kind::Shift, Kind::Copies] {
        let mut host = failing(kind, 0.002);
        host.fill();
        let (mark, before) = (host.device.mark(host.calendar.now()), host.device.programmed());
        for n in 0..3 * host.pages() {
            host.run_down_to(5);
            host.submit(Operation::Write, false, n * 13, 1 + n % 3);
        }
        host.submit(Operation::Flush, false, 0, 0);
        while host.go_on(1) {}
        let (metrics, after) = (host.device.metrics(&mark, host.calendar.now()), host.device.programmed());
        // A page has 4 KiB, and is a logical block.
        let programs = metrics.count("flash.programs");
        assert_eq!(metrics.count("flash.programmed_bytes"), programs * 4_096, "{kind:?}");
        assert_eq!(after.host - before.host + after.other - before.other, programs, "{kind:?}");
        assert!(metrics.count("flash.device_bytes") > 0, "{kind:?}: programs failed");
        assert_eq!(metrics.count("flash.gc_programs"), metrics.count("pblk.moved_pages"));
    }
}
