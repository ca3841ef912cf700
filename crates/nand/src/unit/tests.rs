use super::*;
use crate::Stage;
use crate::chain::BusPhase;
use crate::part::tests::mqsim_file;

/// SLC part of two planes; every page takes the same time.
fn slc() -> Part {
    let mut file = mqsim_file();
    file.geometry.bits_per_cell = 1;
    file.check().expect("the part is sound")
}

fn run(part: &Part, file: &UnitFile, accesses: impl IntoIterator<Item = Access>) -> UnitReport {
    let mut unit = LogicalUnit::new(part, file, Seed(1)).expect("the unit is sound");
    unit.run(accesses).expect("limits are counted only");
    unit.report()
}

fn pages(count: u32, access: impl Fn(u32) -> Access) -> Vec<Access> {
    (0..count).map(access).collect()
}

fn read(page: u32) -> Access {
    Access::Read { page, count: 1 }
}

fn write(page: u32) -> Access {
    Access::Write { page, count: 1 }
}

/// Wait of a command latch for the turnaround of the bus after data out, beyond chip enable.
fn turnaround(part: &Part) -> Duration {
    part.bus.t_rhw - part.bus.t_cs
}

fn modes(dies: u32, multi_plane: bool, cache: bool) -> UnitFile {
    UnitFile { multi_plane, cache, ..UnitFile::legacy(dies) }
}

#[test]
fn legacy_pages_of_one_die_follow_each_other() {
    let part = slc();
    let reads = run(&part, &modes(1, false, false), pages(8, read));
    let cycle = BusPhase::Read.total(&part, 1) + part.read_time(0) + BusPhase::DataOut.total(&part, 1);
    assert_eq!(reads.elapsed, cycle * 8 + turnaround(&part) * 7);
    let writes = run(&part, &modes(1, false, false), pages(8, write));
    let cycle = BusPhase::Program.total(&part, 1) + part.program_time(0) + BusPhase::Status.total(&part, 1);
    assert_eq!(writes.elapsed, cycle * 8 + turnaround(&part) * 7);
    assert_eq!(writes.violations.total(), 0);
}

#[test]
fn cache_programs_follow_each_other_in_the_array() {
    let part = slc();
    let report = run(&part, &modes(1, false, true), pages(8, write));
    // While one page is programmed the next one is loaded. The array waits only for the transfer between
    // registers, which the last page does not need.
    let load = BusPhase::ProgramCache.total(&part, 1) + part.timing.cache_busy;
    let turns = part.timing.cache_busy * 6;
    assert_eq!(report.elapsed, load + part.program_time(0) * 8 + turns + BusPhase::Status.total(&part, 1));
    assert_eq!(report.counts.pages_programmed, 8);
}

#[test]
fn cache_reads_sense_the_next_page_behind_the_data() {
    let part = slc();
    let report = run(&part, &modes(1, false, true), pages(8, read));
    // Legacy striping over two planes puts the next page into the other plane, so that 00-31 addresses it.
    let turn = part.timing.cache_busy;
    let out = BusPhase::DataOut.total(&part, 1);
    let random = BusPhase::CacheReadRandom.total(&part, 1);
    // Sensing (75 us) hides the bus time (25 us) in every step but the last.
    assert!(out + random < part.read_time(0));
    let sensed = BusPhase::Read.total(&part, 1) + part.read_time(0) + random + turn;
    assert_eq!(report.elapsed, sensed + (part.read_time(0) + turn) * 6 + part.read_time(0) + turn + out);
}

#[test]
fn planes_of_one_command_work_side_by_side() {
    let part = slc();
    let legacy = run(&part, &modes(1, false, false), pages(16, write));
    let both = run(&part, &modes(1, true, false), pages(16, write));
    assert_eq!(both.counts.program_commands, 8);
    assert_eq!(both.counts.pages_programmed, 16);
    let cycle = BusPhase::Program.total(&part, 2) + part.program_time(0) + BusPhase::Status.total(&part, 1);
    assert_eq!(both.elapsed, cycle * 8 + turnaround(&part) * 7);
    assert!(legacy.elapsed > both.elapsed);
}

#[test]
fn a_copy_moves_no_data_over_the_bus() {
    let part = slc();
    let copies = |n| Access::Copy { page: n, to: n + 16, count: 1 };
    let report = run(&part, &modes(1, true, false), pages(8, copies));
    assert_eq!(report.counts.program_commands, 4);
    assert_eq!(report.stages.ps(Stage::Tir), 0);
    let each = BusPhase::CopybackRead.total(&part, 2)
        + part.read_time(0)
        + BusPhase::CopybackProgram.total(&part, 2)
        + part.program_time(0)
        + BusPhase::Status.total(&part, 1);
    assert_eq!(report.elapsed, each * 4 + turnaround(&part) * 3);
}

#[test]
fn a_page_for_an_idle_die_waits_only_where_order_is_kept() {
    let part = slc();
    // Two accesses for die 0, then one for die 1.
    let accesses = [read(0), read(1), read(2)];
    let with = |scheduler| run(&part, &UnitFile { scheduler, ..modes(2, false, false) }, accesses).elapsed;
    assert!(with(SchedulerKind::OutOfOrder {}) < with(SchedulerKind::PlaneFirst {}));
}

#[test]
fn every_stage_of_every_die_adds_up_to_the_time_that_passed() {
    let part = slc();
    for (multi_plane, cache) in [(false, false), (true, false), (false, true), (true, true)] {
        for scheduler in SchedulerKind::ALL {
            let file = UnitFile { scheduler, ..modes(3, multi_plane, cache) };
            let mix = (0..200).map(|n| if n % 7 < 4 { write(n % 90) } else { read(n * 13 % 90) });
            let report = run(&part, &file, mix);
            assert_eq!(report.accesses, 200);
            let by_kind: u128 = report.stages_by_kind.iter().map(|stages| stages.active_ps()).sum();
            assert_eq!(by_kind, report.stages.active_ps());
            assert_eq!(report.counts.pages_read + report.counts.pages_programmed, 200);
        }
    }
}

#[test]
fn a_broken_limit_is_counted_or_ends_the_run() {
    let part = slc();
    let file = modes(1, false, false);
    // Pages 4 and 0 of plane 0 are out of order. The fifth program of page 0 exceeds the limit.
    let accesses: Vec<Access> = [8, 0, 0, 0, 0, 0].map(write).into();
    let report = run(&part, &file, accesses.clone());
    assert_eq!((report.violations.order, report.violations.programs), (5, 1));
    let mut unit = LogicalUnit::new(&part, &UnitFile { fatal_limits: true, queue_depth: 1, ..file }, Seed(1))
        .expect("the unit is sound");
    let Err(UnitError::Limit(broken)) = unit.run(accesses) else {
        panic!("the second write is out of order")
    };
    assert_eq!((broken.access, broken.limits.order), (1, 1));
}

#[test]
fn erased_blocks_are_programmed_anew() {
    let part = slc();
    let erase = Access::Erase { page: 0, count: 2 };
    let first = pages(4, write);
    let report =
        run(&part, &modes(1, true, false), first.iter().copied().chain([erase]).chain(first.clone()));
    assert_eq!(report.violations.total(), 0);
    assert_eq!(report.counts.block_sets_erased, 1, "two planes in one command");
}

/// TLC part of two planes whose word lines are programmed at once.
fn one_shot() -> Part {
    let mut file = mqsim_file();
    (file.geometry.bits_per_cell, file.geometry.one_shot, file.geometry.pages_per_block) = (3, true, 12);
    file.check().expect("the part is sound")
}

#[test]
fn a_word_line_is_loaded_once_the_array_has_done_with_the_one_before() {
    let part = one_shot();
    let report = run(&part, &modes(1, false, true), [0, 2].map(write));
    let load = |hold: BusPhase| hold.total(&part, 1);
    let turn = part.timing.cache_busy;
    let program = part.program_time(0);
    let wanted = load(BusPhase::ProgramCache)
        + turn
        + program
        + load(BusPhase::Program)
        + program
        + load(BusPhase::Status);
    assert_eq!(report.elapsed, wanted);
}

#[test]
fn a_word_line_that_is_programmed_again_breaks_the_number_of_programs_alone() {
    let report = run(&one_shot(), &modes(1, false, false), [0, 0].map(write));
    assert_eq!((report.violations.order, report.violations.programs), (0, 3));
}

#[test]
fn a_copy_to_another_plane_or_die_is_a_broken_limit() {
    let copy = |page, to| Access::Copy { page, to, count: 1 };
    // Two planes of two dies side by side: 0 and 4 lie in one plane, 1 in the other, 2 in the other die.
    for (to, wanted) in [(4, 0), (1, 1), (2, 1)] {
        let report = run(&slc(), &modes(2, false, false), [copy(0, to)]);
        assert_eq!(report.violations.copyback, wanted, "to {to}");
    }
    let fatal = UnitFile { fatal_limits: true, ..modes(2, false, false) };
    let mut unit = LogicalUnit::new(&slc(), &fatal, Seed(1)).expect("the unit is sound");
    let broken = unit.run([copy(0, 1)]).expect_err("the copy leaves its plane");
    assert!(broken.to_string().ends_with("copyback across planes 1)"), "{broken}");
}

#[test]
fn an_access_beyond_the_unit_is_refused_and_those_before_it_are_over() {
    let part = slc();
    let mut unit = LogicalUnit::new(&part, &modes(2, true, false), Seed(1)).expect("the unit is sound");
    let pages = unit.pages();
    let last = pages - 1;
    unit.run([read(last), Access::Erase { page: last, count: 1 }]).expect("the last page is there");
    for (page, count, access) in [
        (pages, 1, Access::Read { page: pages, count: 1 }),
        (last, 2, Access::Write { page: last, count: 2 }),
        (u32::MAX, 2, Access::Erase { page: u32::MAX, count: 2 }),
        (0, u32::MAX, Access::Read { page: 0, count: u32::MAX }),
        (last, 2, Access::Copy { page: 0, to: last, count: 2 }),
    ] {
        let before = unit.report().accesses;
        let refused = unit.run([read(0), access, read(1)]).expect_err("the unit has no such pages");
        assert_eq!(refused, UnitError::OutOfRange { access: before + 1, page, count, pages }, "{access:?}");
        assert_eq!(unit.report().accesses, before + 1, "{access:?}");
    }
}

#[test]
fn rates_are_what_was_moved_in_the_time_that_it_took() {
    let report = run(&slc(), &modes(1, false, false), pages(8, read));
    let seconds = report.elapsed.seconds();
    assert_eq!((report.accesses, report.bytes), (8, wordline_kernel::Bytes::kib(64)));
    assert!((report.megabytes_per_second() * seconds / 0.065_536 - 1.0).abs() < 1e-9);
    assert!((report.accesses_per_second() * seconds / 8.0 - 1.0).abs() < 1e-9);
}
