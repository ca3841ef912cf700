//! Reads that one event queues for one flash page share its sense, whatever queued them, and count as one page.

use wordline_device::{Completion, Operation};
use wordline_flash::policy::failure::FailureKind;
use wordline_ftl::map::LogicalPage;
use wordline_kernel::{Bytes, Duration};
use wordline_nand::faults::{Fails, FaultFile};
use wordline_ssd::DeviceFile;
use wordline_ssd::config::BufferMode;

use crate::common::{Rig, small};

/// Sectors of a mapping unit.
const UNIT: u64 = 2;

/// Mapping units of a page, and of the two pages of a multi-plane page.
const OF_PAGE: u64 = 4;
const OF_ROW: u64 = 8;

/// One die with two planes, and four mapping units in a page of 4 KiB.
fn fine(rules: &[FaultFile]) -> DeviceFile {
    let mut file = small();
    (file.layout.channels, file.layout.dies_per_package) = (1, 1);
    file.ftl.mapping.unit = Some(Bytes::kib(1));
    file.ftl.over_provisioning = 0.5;
    (file.ftl.gc.start_below_free_blocks, file.ftl.gc.stop_at_free_blocks) = (4, 4);
    file.buffer.flush_interval = Duration::ZERO;
    file.faults = rules.to_vec();
    file
}

/// A filled device that reads a multi-plane page ahead.
fn reading_ahead(read_cache: Bytes) -> Rig {
    let mut file = fine(&[]);
    (file.buffer.read_cache, file.buffer.read_ahead) = (read_cache, OF_ROW as u32);
    Rig::filled(file)
}

fn senses(rig: &Rig) -> u64 {
    rig.device.chips().counts().read_commands
}

/// The first read of a page fails, and its retries up to `retries`, or all of them.
fn first_read_fails(retries: Option<u32>) -> FaultFile {
    FaultFile { nth: Some(1), retries: retries.map(Into::into), ..FaultFile::new(Fails::Read) }
}

#[test]
fn units_of_a_page_that_waited_for_the_map_share_a_sense() {
    let mut file = fine(&[]);
    file.ftl.mapping.cache = Some(Bytes(8 * 16));
    let mut rig = Rig::filled(file);
    rig.alone(Operation::Read, false, 200 * UNIT, UNIT);
    let before = (senses(&rig), rig.device.totals().host_reads);
    rig.alone(Operation::Read, false, 0, OF_ROW * UNIT);
    let (sensed, pages) = (senses(&rig) - before.0, rig.device.totals().host_reads - before.1);
    assert_eq!((sensed, pages), (2, 2), "a translation page, and both planes in one command");
}

#[test]
fn pages_that_waited_for_the_map_are_written_in_their_order() {
    let mut file = fine(&[]);
    file.ftl.mapping.cache = Some(Bytes(8 * 64));
    let mut rig = Rig::filled(file);
    rig.submit(Operation::Write, false, 0, OF_ROW * UNIT);
    rig.alone(Operation::Flush, false, 0, 0);
    let at: Vec<u32> = (0..OF_ROW as u32)
        .map(|page| rig.device.map().get(LogicalPage(page)).expect("it was written").0)
        .collect();
    assert!(at.is_sorted(), "{at:?}");
}

#[test]
fn units_of_a_page_that_are_read_ahead_share_a_sense() {
    let mut rig = reading_ahead(Bytes::kib(32));
    for unit in 0..2 {
        rig.alone(Operation::Read, false, unit * OF_PAGE * UNIT, OF_PAGE * UNIT);
    }
    rig.settle();
    let totals = rig.device.totals();
    assert_eq!((senses(&rig), totals.host_reads, totals.read_ahead_reads), (3, 2, 2));
    assert_eq!(totals.read_ahead_pages, OF_ROW);
}

#[test]
fn a_page_that_was_overwritten_while_it_was_read_ahead_is_not_counted_as_used() {
    let mut rig = reading_ahead(Bytes::kib(16));
    rig.submit(Operation::Read, false, 0, UNIT);
    rig.submit(Operation::Read, false, UNIT, UNIT);
    rig.run_down_to(0);
    rig.submit(Operation::Write, false, 2 * UNIT, OF_ROW * UNIT);
    rig.run_down_to(0);
    rig.settle();
    for _ in 0..2 {
        for unit in 0..12 {
            rig.alone(Operation::Read, false, (200 + 7 * unit) * UNIT, UNIT);
        }
    }
    let totals = rig.device.totals();
    assert_eq!((totals.read_ahead_pages, totals.read_ahead_used), (OF_ROW, 0));
}

#[test]
fn units_of_a_page_are_retried_together() {
    let mut rig = Rig::filled(fine(&[first_read_fails(Some(1))]));
    rig.alone(Operation::Read, false, 0, 2 * UNIT);
    assert_eq!((senses(&rig), rig.device.ftl().flash.counts().read_retries), (2, 1));
    assert_eq!(rig.device.totals().host_reads, 1);
}

#[test]
fn an_unreadable_page_counts_once_whatever_was_read_of_it() {
    let mut file = fine(&[first_read_fails(None)]);
    file.ftl.failure = FailureKind::Tolerate { programs: 1, reads: 2 };
    let mut rig = Rig::filled(file);
    rig.alone(Operation::Read, false, 0, 2 * UNIT);
    let totals = rig.device.totals();
    assert_eq!((totals.unreadable_pages, totals.lost_pages, totals.grown_bad_blocks), (1, OF_PAGE, 0));
    assert_eq!(rig.device.ftl().flash.counts().read_retries, 7);
}

#[test]
fn the_die_does_nothing_else_between_the_senses_of_a_retry() {
    // Reads and writes wait for the die while a page is retried. A program takes 250 us.
    let latency = |time, others: u64| {
        let mut file = fine(&[first_read_fails(Some(3))]);
        file.ftl.read_retry.time = time;
        file.buffer.mode = BufferMode::WriteThrough;
        let mut rig = Rig::filled(file);
        rig.submit(Operation::Read, false, 0, UNIT);
        for row in 1..=others {
            let operation = if row % 2 == 0 { Operation::Read } else { Operation::Write };
            rig.submit(operation, false, row * OF_ROW * UNIT, OF_ROW * UNIT);
        }
        rig.run_down_to(0);
        let of_row = |done: &Completion| done.command.sector == 0;
        let (_, read) = rig.completions.iter().find(|(_, done)| of_row(done)).expect("it was answered");
        read.latency
    };
    let alone = latency(Duration::ZERO, 0);
    assert_eq!(latency(Duration::ZERO, 8), alone);
    assert_eq!(latency(Duration::from_us(1), 8), alone + Duration::from_us(3));
}
