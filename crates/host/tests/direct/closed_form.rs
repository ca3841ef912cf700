//! Small cases with hand-computed results.

use wordline_device::{Operation, PhysicalDevice};
use wordline_host::direct::Spread;
use wordline_kernel::{Bytes, Duration, Schedule};
use wordline_nand::faults::{Fails, FaultFile};

use super::{build, file};
use crate::pblk::rig::{Host, Kind};

/// Upper bound of the transfer of a page. A page of 4 KiB and its spare bytes take some 10.6 us at 400 MT/s.
/// Interface waits take less than 1 us.
const TRANSFER: Duration = Duration::from_us(12);

/// The time of a write of this many pages on an idle device, and the time of a program.
fn time_of(kind: Kind, programs: u64, spread: Spread, pages: u32) -> [Duration; 2] {
    let mut file = file([12, 32, 1, 2, 2], kind, programs);
    file.spread = spread;
    let mut host = Host::of(build(file, 1), false);
    host.submit(Operation::Write, false, 0, pages);
    host.run_down_to(0);
    let program = host.device.device().geometry().times.write[0];
    [Duration::from_ps(host.calendar.now().ps()), program]
}

#[test]
fn a_write_waits_for_the_programs_of_one_parallel_unit() {
    let [took, program] = time_of(Kind::Synchronous, 1, Spread::Requests, 8);
    let least = program * 8;
    assert!((least..least + TRANSFER * 8).contains(&took), "{took}");
    let [took, program] = time_of(Kind::Synchronous, 1, Spread::Programs, 8);
    let least = program * 2;
    assert!((least..least + TRANSFER * 8).contains(&took), "eight programs on four dies: {took}");
}

#[test]
fn commands_take_their_time_once_a_device_was_filled() {
    let mut host = Host::of(build(file([12, 32, 1, 2, 2], Kind::Synchronous, 1), 1), false);
    host.fill();
    let read = host.device.device().geometry().times.read[0];
    host.submit(Operation::Read, false, 0, 1);
    host.run_down_to(0);
    let took = Duration::from_ps(host.calendar.now().ps());
    assert!((read..read + TRANSFER).contains(&took), "{took}");
}

#[test]
fn a_read_of_more_blocks_than_a_command_takes_is_divided() {
    let mut host = Host::of(build(file([12, 32, 1, 2, 2], Kind::Synchronous, 1), 1), false);
    host.fill();
    for (pages, commands) in [(64, 1), (65, 2), (128, 2), (150, 3)] {
        let before = host.device.device().counts().reads;
        host.submit(Operation::Read, false, 0, pages);
        host.run_down_to(0);
        assert_eq!(host.device.device().counts().reads - before, commands, "{pages} pages");
    }
}

#[test]
fn a_buffer_takes_off_as_many_programs_as_it_holds() {
    for programs in [1, 3, 7] {
        let [took, program] = time_of(Kind::Shift, programs, Spread::Requests, 8);
        let least = program * (8 - programs);
        assert!((least..least + TRANSFER * 8).contains(&took), "{programs} are buffered: {took}");
    }
    let [took, _] = time_of(Kind::Shift, 8, Spread::Requests, 8);
    assert!(took < TRANSFER, "all of it fits: {took}");
    let [through, program] = time_of(Kind::WriteThrough, 4, Spread::Requests, 8);
    assert!(through >= program * 8, "a write-through buffer takes nothing off: {through}");
}

#[test]
fn writes_go_to_one_parallel_unit_after_the_other() {
    let mut host = Host::of(build(file([12, 32, 1, 2, 2], Kind::Synchronous, 1), 1), false);
    let program = host.device.device().geometry().times.write[0];
    (0..4).for_each(|n| host.submit(Operation::Write, false, 8 * n, 8));
    host.run_down_to(0);
    let took = Duration::from_ps(host.calendar.now().ps());
    let least = program * 8;
    assert!((least..least + TRANSFER * 32).contains(&took), "four at the same time: {took}");
    let geometry = host.device.device().geometry();
    let written =
        geometry.all_chunks().filter(|chunk| host.device.device().report(*chunk).write_pointer == 8);
    let units: Vec<_> = written.map(|chunk| (chunk.group, chunk.unit)).collect();
    assert_eq!(units, [(0, 0), (0, 1), (1, 0), (1, 1)]);
}

#[test]
fn a_write_that_fails_is_made_again_or_reported() {
    for retry in [true, false] {
        let mut file = file([12, 32, 1, 2, 2], Kind::Synchronous, 1);
        file.retry = retry;
        file.open_channel.faults = vec![FaultFile { nth: Some(3), ..FaultFile::new(Fails::Program) }];
        let mut host = Host::of(build(file, 1), true);
        host.submit(Operation::Write, false, 0, 8);
        host.run_down_to(0);
        assert_eq!((host.failed, host.device.counts().resubmitted > 0), (u32::from(!retry), retry));
        host.read_all();
    }
}

#[test]
fn a_host_that_overwrites_in_order_never_runs_out_of_chunks_and_one_that_scatters_may() {
    let mut host = Host::of(build(file([12, 8, 1, 2, 2], Kind::Shift, 4), 1), false);
    host.fill();
    for n in 0..6 * host.pages() / 8 {
        host.run_down_to(2);
        host.submit(Operation::Write, false, n * 8, 8);
    }
    host.run_down_to(0);
    assert!(host.device.counts().resets > 20, "{:?}", host.device.counts());
    host.read_all();
    let mut host = Host::of(build(file([12, 8, 1, 2, 2], Kind::Shift, 4), 1), true);
    host.fill();
    for n in 0..2 * host.pages() {
        host.run_down_to(2);
        host.submit(Operation::Write, false, n * 13, 1);
    }
    host.run_down_to(0);
    assert!(host.failed > 0 && host.device.counts().out_of_chunks > 0, "{:?}", host.device.counts());
    host.read_all();
}

#[test]
fn keys_that_do_not_fit_are_named() {
    let wrong = |change: &dyn Fn(&mut wordline_host::direct::DirectFile)| {
        let mut file = file([12, 8, 1, 2, 2], Kind::Shift, 4);
        change(&mut file);
        file.check().map(drop).expect_err("it is wrong").to_string()
    };
    for (key, text) in [
        ("open_channel.mw_cunits", wrong(&|file| file.open_channel.mw_cunits = 2)),
        ("open_channel.max_open", wrong(&|file| file.open_channel.max_open = Some(3))),
        ("over_provisioning", wrong(&|file| file.over_provisioning = 1.0)),
        (
            "open_channel.failures.reserve",
            wrong(&|file| {
                file.open_channel.failures.as_mut().expect("it has a manager").reserve = 0.0;
            }),
        ),
        (
            "open_channel.buffer.size",
            wrong(&|file| {
                file.open_channel.buffer.as_mut().expect("it has one").size = Bytes(512);
            }),
        ),
        ("open_channel.buffer.completion", wrong(&|file| file.open_channel.failures = None)),
        (
            "open_channel.failures.shift",
            wrong(&|file| {
                file.open_channel.failures.as_mut().expect("it has a manager").block_map = false;
            }),
        ),
        ("open_channel.ws_opt", wrong(&|file| file.open_channel.ws_opt = Some(0))),
        (
            "open_channel.max_open_per_unit",
            wrong(&|file| {
                (file.open_channel.max_open, file.open_channel.max_open_per_unit) = (Some(4), Some(5));
            }),
        ),
    ] {
        assert!(text.contains(key), "{key}: {text}");
    }
}
