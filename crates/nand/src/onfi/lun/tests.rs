//! Operations of a LUN: contents, overlap, status and limits.

mod interrupt;
mod limits;
mod modes;
mod program;
mod random;
mod read;
mod status;

use wordline_kernel::{Duration, Instant, Seed};

use super::*;
use crate::Stage;
use crate::part::tests::mqsim_file;
use crate::part::{PartFile, SlcTiming};

/// MQSim's default part: two planes of sixteen blocks with eight MLC pages each, programmed one by one.
const READ: Duration = Duration::from_us(75);
const PROGRAM: Duration = Duration::from_us(750);
const ERASE: Duration = Duration::from_us(3_800);
const PLANE: Duration = Duration::from_ns(500);
const TURN: Duration = Duration::from_us(3);

const SLC: SlcTiming = SlcTiming {
    read: Duration::from_us(40),
    program: Duration::from_us(500),
    erase: Duration::from_us(3_000),
};
const REPROGRAM: Duration = Duration::from_us(2_705);

fn part(change: impl FnOnce(&mut PartFile)) -> Part {
    let mut file = mqsim_file();
    change(&mut file);
    file.check().expect("the part is sound")
}

fn lun() -> Lun {
    Lun::new(&part(|_| ()), DieId(0), LunOptions::default())
}

/// A LUN that counts exceeded limits and executes the operations.
fn lenient() -> Lun {
    Lun::new(&part(|_| ()), DieId(0), LunOptions { fatal: false, ..LunOptions::default() })
}

/// Two planes of one-shot TLC with nine pages a block.
fn tlc(options: LunOptions) -> Lun {
    let part = part(|file| {
        file.geometry.bits_per_cell = 3;
        file.geometry.pages_per_block = 9;
        file.geometry.one_shot = true;
        file.timing.slc = Some(SLC);
        file.timing.reprogram = Some(REPROGRAM);
    });
    Lun::new(&part, DieId(0), options)
}

fn at(us: u64) -> Instant {
    Instant::ZERO + Duration::from_us(us)
}

fn row(block: u32, page: u32) -> Row {
    Row { lun: 0, block, page }
}

/// Loads a page full of `byte` and starts the program.
fn program(lun: &mut Lun, row: Row, byte: u8, kind: ProgramKind, now: Instant) -> Result<Busy, Limit> {
    lun.settle(now);
    lun.begin_load(row, true);
    lun.load(0, &vec![byte; lun.register_size() as usize]);
    lun.program(row, kind, false, now)
}

/// Programs a page full of `byte` after all previous operations. Returns its end.
fn put(lun: &mut Lun, row: Row, byte: u8) -> Instant {
    let now = lun.pipeline().array_ready_at;
    program(lun, row, byte, ProgramKind::Start, now).expect("the program is legal").array_ready_at
}

/// The first byte of a page, read after all previous operations.
fn get(lun: &mut Lun, row: Row) -> u8 {
    let now = lun.pipeline().array_ready_at;
    let end = lun.read(row, ReadKind::Plain, now).expect("the read is legal").ready_at;
    lun.settle(end);
    let page = lun.output(0, lun.register_size());
    assert!(page.iter().all(|byte| *byte == page[0]), "{row} is not uniform");
    page[0]
}
