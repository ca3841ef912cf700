//! Times of zone commands of `zns-tlc-raw`, beside those of the WD Ultrastar DC ZN540 (SPDK programs of
//! Krien/NVMeBenchmarks 01f40f1c, means of 1,806 commands, one at a time). The preset has the times of resets of an
//! empty and of a full zone; it was fitted to nothing below. The page docs/validation/drives.md has the results.

use wordline_kernel::Bytes;
use wordline_lab::trace::{Op, Request};
use wordline_lab::{Device, RunOptions, Session, StepTarget, Workload};

/// Logical blocks of a write that fills a zone. Chosen: any size does.
const AT_ONCE: u64 = 64;
const BLOCK: u64 = 4096;
/// Distance of zones, as in the preset.
const ZONE: u64 = 2 << 30;

/// A measurement of an operation after this many blocks were written to a zone, which was finished before or not.
struct Row {
    op: Op,
    blocks: u64,
    is_finished: bool,
    /// Mean of the drive in microseconds.
    measured: f64,
    /// Largest deviation, as a part of it. Chosen before the first run: 20 %, the wider of the bounds for zone
    /// commands; 30 % for commands without flash work, whose time is that of host and firmware.
    band: f64,
}

const fn row(op: Op, blocks: u64, is_finished: bool, measured: f64, band: f64) -> Row {
    Row { op, blocks, is_finished, measured, band }
}

const ROWS: [Row; 22] = [
    row(Op::ZoneReset, 1, false, 1_699.3, 0.2),
    row(Op::ZoneReset, 17_232, false, 5_162.1, 0.2),
    row(Op::ZoneReset, 34_464, false, 6_047.6, 0.2),
    row(Op::ZoneReset, 68_928, false, 7_880.4, 0.2),
    row(Op::ZoneReset, 137_856, false, 11_316.4, 0.2),
    row(Op::ZoneReset, 1, true, 1_655.3, 0.2),
    row(Op::ZoneReset, 17_232, true, 2_489.6, 0.2),
    row(Op::ZoneReset, 34_464, true, 3_335.9, 0.2),
    row(Op::ZoneReset, 68_928, true, 5_052.3, 0.2),
    row(Op::ZoneReset, 137_856, true, 8_491.9, 0.2),
    row(Op::ZoneReset, 275_711, true, 15_363.3, 0.2),
    row(Op::ZoneFinish, 0, false, 13.5, 0.3),
    row(Op::ZoneFinish, 1, false, 907_443.0, 0.2),
    row(Op::ZoneFinish, 17_232, false, 848_157.6, 0.2),
    row(Op::ZoneFinish, 34_464, false, 792_295.6, 0.2),
    row(Op::ZoneFinish, 68_928, false, 680_822.1, 0.2),
    row(Op::ZoneFinish, 137_856, false, 456_650.1, 0.2),
    row(Op::ZoneFinish, 275_711, false, 2_582.2, 0.2),
    row(Op::ZoneClose, 1, false, 15.2, 0.3),
    row(Op::ZoneAppend, 1, false, 14.7, 0.3),
    row(Op::Write, 1, false, 11.6, 0.3),
    row(Op::ZoneAppend, 0, false, 17.5, 0.3),
];

/// Rows outside their bands.
const OUTSIDE: [usize; 10] = [1, 2, 3, 4, 11, 17, 18, 19, 20, 21];

/// Executes a request alone. Returns its latency in microseconds.
fn execute(session: &mut Session, op: Op, offset: u64, size: u64) -> f64 {
    let request = Request { arrival: session.now(), ..Request::new(op, Bytes(offset), Bytes(size)) };
    session.submit(&request).expect("the device takes it");
    session.advance(StepTarget::Idle).expect("it completes");
    let completions = session.completions();
    let [done] = completions[..] else { panic!("{op:?} at {offset}: {completions:?}") };
    assert!(!done.failed, "{op:?} at {offset}");
    done.latency.us()
}

#[test]
fn zone_commands_take_the_times_of_a_drive_or_are_known_to_differ() {
    let device = Device::preset("zns-tlc-raw").expect("a preset");
    let mut session =
        Session::open(&device, &Workload::submitted(), &RunOptions::seed(1)).expect("a session");
    let (mut outside, mut lines) = (Vec::new(), Vec::new());
    for (number, row) in ROWS.iter().enumerate() {
        let start = number as u64 * ZONE;
        let mut at = 0;
        while at < row.blocks {
            let blocks = AT_ONCE.min(row.blocks - at);
            execute(&mut session, Op::Write, start + at * BLOCK, blocks * BLOCK);
            at += blocks;
        }
        if row.is_finished {
            execute(&mut session, Op::ZoneFinish, start, 0);
        }
        let (offset, size) = match row.op {
            Op::Write => (start + at * BLOCK, BLOCK),
            Op::ZoneAppend => (start, BLOCK),
            _ => (start, 0),
        };
        let ours = execute(&mut session, row.op, offset, size);
        let off = ours / row.measured - 1.0;
        let Row { op, blocks, is_finished, measured, .. } = row;
        let after = if *is_finished { "a finish" } else { "writes" };
        lines.push(format!(
            "{op:?} after {blocks} blocks, {after}: {measured} us, ours {ours:.1} us ({:+.1} %)",
            100.0 * off
        ));
        if off.abs() > row.band {
            outside.push(number);
        }
    }
    println!("{}", lines.join("\n"));
    assert_eq!(outside, OUTSIDE, "rows outside their bands:\n{}", lines.join("\n"));
}
