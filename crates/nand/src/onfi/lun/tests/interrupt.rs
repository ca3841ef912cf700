use super::*;
use crate::onfi::LunTimes;
use crate::pairing::Pairing;

const START: ProgramKind = ProgramKind::Start;
const SUSPEND_PROGRAM: Duration = Duration::from_us(100);
const SUSPEND_ERASE: Duration = Duration::from_us(700);

fn with_resume(resume: Duration) -> Lun {
    let part = part(|_| ());
    let times = LunTimes { resume, ..LunTimes::of(&part) };
    Lun::new(&part, DieId(0), LunOptions { times: Some(times), ..LunOptions::default() })
}

#[test]
fn a_suspended_program_keeps_the_time_that_was_left() {
    let resume = Duration::from_us(11);
    let mut lun = with_resume(resume);
    put(&mut lun, row(2, 0), 0x77);
    let start = lun.pipeline().ready_at;
    lun.settle(start);
    lun.spans();
    program(&mut lun, row(0, 0), 0x42, START, start).expect("legal");
    let (done, pause) = (Duration::from_us(200), Duration::from_us(1_000));
    let rests = lun.suspend(start + done).expect("it works").ready_at;
    assert_eq!(rests, start + done + SUSPEND_PROGRAM);
    assert!(lun.is_suspended());
    assert_eq!(lun.status(rests).byte(), 0xe0);
    assert_eq!(get(&mut lun, row(2, 0)), 0x77);
    let again = start + done + pause;
    let end = lun.resume(again).expect("something is suspended");
    assert_eq!(end.ready_at, again + resume + (PROGRAM - done));
    assert_eq!(get(&mut lun, row(0, 0)), 0x42, "a read in between does not reach the suspended data");
    let working: Vec<_> = lun.spans().into_iter().filter(|span| span.stage == Stage::Tin).collect();
    let lengths: Vec<_> = working.iter().map(|span| (span.begin, span.length)).collect();
    assert_eq!(lengths, [(start, done + SUSPEND_PROGRAM), (again, resume + (PROGRAM - done))]);
}

#[test]
fn an_erase_is_suspended_as_often_as_it_must() {
    let mut lun = with_resume(Duration::ZERO);
    put(&mut lun, row(0, 0), 0);
    let start = lun.pipeline().ready_at;
    lun.erase(row(0, 0), false, start).expect("legal");
    let mut now = start;
    let slice = Duration::from_us(500);
    for _ in 0..3 {
        let rests = lun.suspend(now + slice).expect("it works").ready_at;
        assert_eq!(rests, now + slice + SUSPEND_ERASE);
        let end = lun.resume(rests).expect("something is suspended");
        now = rests;
        assert!(end.ready_at > now);
    }
    let left = ERASE - slice * 3;
    assert_eq!(lun.pipeline().ready_at, now + left);
    assert_eq!(get(&mut lun, row(0, 0)), 0xff);
    assert_eq!(lun.contents().erases(0), 1);
}

#[test]
fn what_would_end_first_is_not_suspended() {
    let mut lun = lun();
    let end = program(&mut lun, row(0, 0), 1, START, at(0)).expect("legal").ready_at;
    let late = Instant::from_ps((end - Instant::ZERO - SUSPEND_PROGRAM).ps());
    assert_eq!(lun.suspend(late).expect("it works").ready_at, end);
    assert!(!lun.is_suspended());
    let mut lun = super::lun();
    program(&mut lun, row(0, 0), 1, START, at(0)).expect("legal");
    lun.suspend(Instant::from_ps(late.ps() - 1)).expect("it works");
    assert!(lun.is_suspended());
}

#[test]
fn a_suspended_cache_program_takes_what_waits_behind_it_along() {
    let mut lun = lun();
    let first = program(&mut lun, row(0, 0), 1, ProgramKind::Cache, at(0)).expect("legal");
    program(&mut lun, row(0, 1), 2, ProgramKind::Cache, first.ready_at).expect("legal");
    let now = first.ready_at + Duration::from_us(50);
    lun.suspend(now).expect("the first one works");
    let again = now + Duration::from_us(400);
    let end = lun.resume(again).expect("something is suspended");
    let begin = again + (PROGRAM - Duration::from_us(50)) + TURN;
    assert_eq!(end, Busy { ready_at: begin, array_ready_at: begin + PROGRAM });
    assert_eq!([get(&mut lun, row(0, 0)), get(&mut lun, row(0, 1))], [1, 2]);
}

#[test]
fn a_suspended_operation_keeps_its_cells_to_itself() {
    let mut lun = lun();
    lun.erase(row(0, 0), false, at(0)).expect("legal");
    let now = lun.suspend(at(100)).expect("it works").ready_at;
    let inside = Err(Limit::Suspended { row: row(0, 3) });
    assert_eq!(lun.read(row(0, 3), ReadKind::Plain, now), inside);
    assert_eq!(lun.program(row(0, 3), START, false, now), inside);
    assert_eq!(lun.erase(row(5, 0), false, now), Err(Limit::Suspended { row: row(5, 0) }));
    assert_eq!(lun.suspend(now), Err(Limit::NothingToSuspend));
    put(&mut lun, row(4, 0), 0x99);
    let now = lun.pipeline().ready_at;
    lun.resume(now).expect("something is suspended");
    assert_eq!(get(&mut lun, row(4, 0)), 0x99);

    let mut lun = super::lun();
    program(&mut lun, row(0, 0), 1, START, at(0)).expect("legal");
    let now = lun.suspend(at(100)).expect("it works").ready_at;
    assert_eq!(lun.read(row(0, 0), ReadKind::Plain, now), Err(Limit::Suspended { row: row(0, 0) }));
    assert_eq!(lun.program(row(4, 0), START, false, now), Err(Limit::Suspended { row: row(4, 0) }));
    let before = row(2, 0);
    let read = lun.read(before, ReadKind::Plain, now).expect("another block").ready_at;
    lun.cache_read_next(read).expect("the page after it is free");
}

#[test]
fn a_cache_read_does_not_run_into_a_suspended_program() {
    let mut lun = lun();
    program(&mut lun, row(0, 1), 1, START, at(0)).expect("legal");
    let now = lun.suspend(at(100)).expect("it works").ready_at;
    let read = lun.read(row(0, 0), ReadKind::Plain, now).expect("the page below is free").ready_at;
    assert_eq!(lun.cache_read_next(read), Err(Limit::Suspended { row: row(0, 1) }));
    lun.cache_read_end(read).expect("the page that was sensed is there still");
}

#[test]
fn reads_are_not_suspended_and_nothing_resumes_twice() {
    let mut lun = lun();
    lun.read(row(0, 0), ReadKind::Plain, at(0)).expect("legal");
    assert_eq!(lun.suspend(at(1)), Err(Limit::NothingToSuspend));
    program(&mut lun, row(0, 0), 1, START, at(100)).expect("legal");
    let rests = lun.suspend(at(200)).expect("it works").ready_at;
    assert_eq!(lun.resume(at(200)), Err(Limit::Busy { until: rests }));
    lun.resume(rests).expect("it rests");
    assert_eq!(lun.resume(rests), Err(Limit::NothingToResume));
}

#[test]
fn a_reset_takes_as_long_as_what_it_breaks_off() {
    let us = Duration::from_us;
    let times = |start: &dyn Fn(&mut Lun)| {
        let mut lun = lun();
        start(&mut lun);
        lun.reset(at(5)).ready_at - at(5)
    };
    assert_eq!(times(&|_| ()), us(5));
    assert_eq!(
        times(&|lun| {
            lun.read(row(0, 0), ReadKind::Plain, at(0)).expect("legal");
        }),
        us(5)
    );
    assert_eq!(
        times(&|lun| {
            lun.program(row(0, 0), START, false, at(0)).expect("legal");
        }),
        us(10)
    );
    assert_eq!(
        times(&|lun| {
            lun.erase(row(0, 0), false, at(0)).expect("legal");
        }),
        us(500)
    );
}

#[test]
fn a_reset_tears_what_was_being_programmed_and_keeps_the_rest() {
    let mut lun = lun();
    put(&mut lun, row(0, 1), 0x18);
    let start = put(&mut lun, row(2, 0), 0x19);
    program(&mut lun, row(0, 2), 0x1a, START, start).expect("legal");
    let reset = lun.reset(start + Duration::from_us(749));
    assert_eq!(lun.status(reset.ready_at).byte(), 0xe0);
    assert!(lun.contents().is_torn(row(0, 2)) && !lun.contents().is_torn(row(0, 1)));
    assert_eq!([get(&mut lun, row(0, 1)), get(&mut lun, row(2, 0))], [0x18, 0x19]);
    let noise = read_whole(&mut lun, row(0, 2));
    assert_eq!(read_whole(&mut lun, row(0, 2)), noise, "noise reads the same every time");
    let ones: u32 = noise.iter().map(|byte| byte.count_ones()).sum();
    // Half of 69,120 bits, within five standard deviations (131 bits each).
    assert!((34_560 - 660..34_560 + 660).contains(&ones), "{ones} bits of noise are 1");
    let span = lun.spans().into_iter().rfind(|span| span.stage == Stage::Tin);
    assert_eq!(span.map(|span| span.length), Some(Duration::from_us(749)));
}

#[test]
fn breaking_off_an_upper_page_tears_the_lower_page_of_its_cells() {
    let mut lun = lun();
    let start = put(&mut lun, row(0, 2), 0x18);
    program(&mut lun, row(0, 3), 0x1a, START, start).expect("legal");
    lun.reset(start + Duration::from_us(1));
    assert!(lun.contents().is_torn(row(0, 2)) && lun.contents().is_torn(row(0, 3)));
}

/// In a pairing with two low pages first, page 4 is the upper page of the cells of page 1 (NANDFlashSim,
/// section 7.2).
#[test]
fn the_pairing_of_the_part_says_which_page_is_torn_along() {
    let part = part(|file| file.geometry.pairing = Pairing::TwoThenSingles);
    let mut lun = Lun::new(&part, DieId(0), LunOptions::default());
    for page in 0..4 {
        put(&mut lun, row(0, page), page as u8);
    }
    let start = lun.pipeline().ready_at;
    program(&mut lun, row(0, 4), 4, START, start).expect("legal");
    lun.reset(start + Duration::from_us(1));
    let torn: Vec<u32> = (0..8).filter(|page| lun.contents().is_torn(row(0, *page))).collect();
    assert_eq!(torn, [1, 4]);
}

#[test]
fn a_page_that_waits_behind_another_is_not_touched_by_a_reset() {
    let mut lun = lun();
    let first = program(&mut lun, row(0, 0), 1, ProgramKind::Cache, at(0)).expect("legal");
    program(&mut lun, row(2, 0), 2, ProgramKind::Cache, first.ready_at).expect("legal");
    lun.reset(first.ready_at + Duration::from_us(1));
    assert!(lun.contents().is_torn(row(0, 0)) && !lun.contents().is_programmed(row(2, 0)));
    put(&mut lun, row(2, 0), 3);
    assert_eq!(get(&mut lun, row(2, 0)), 3);
}

#[test]
fn a_torn_block_reads_noise_until_it_is_erased() {
    let mut lun = lun();
    let start = put(&mut lun, row(0, 0), 0);
    lun.erase(row(0, 0), false, start).expect("legal");
    lun.cut_power(start + Duration::from_us(1));
    assert_eq!(lun.output(0, 4), [0xff; 4], "registers lose what they held");
    assert_ne!(read_whole(&mut lun, row(0, 0)), read_whole(&mut lun, row(0, 1)));
    let now = lun.pipeline().ready_at;
    lun.erase(row(0, 0), false, now).expect("legal");
    assert_eq!(get(&mut lun, row(0, 0)), 0xff);
    assert_eq!(lun.contents().erases(0), 2);
}

#[test]
fn a_reset_forgets_queues_and_what_is_suspended() {
    let mut lun = lun();
    program(&mut lun, row(0, 0), 1, START, at(0)).expect("legal");
    lun.suspend(at(1)).expect("it works");
    let reset = lun.reset(at(300));
    assert!(!lun.is_suspended() && lun.contents().is_torn(row(0, 0)));
    let queued = program(&mut lun, row(1, 0), 1, ProgramKind::Queue, reset.ready_at).expect("legal");
    let reset = lun.reset(queued.ready_at);
    program(&mut lun, row(3, 0), 1, START, reset.ready_at).expect("the queue is empty");
    assert!(!lun.contents().is_programmed(row(1, 0)));
}

#[test]
fn noise_differs_by_seed_and_die() {
    let noise = |seed, die| {
        let mut lun =
            Lun::new(&part(|_| ()), DieId(die), LunOptions { seed: Seed(seed), ..LunOptions::default() });
        program(&mut lun, row(0, 0), 1, START, at(0)).expect("legal");
        lun.reset(at(1));
        read_whole(&mut lun, row(0, 0))
    };
    assert_ne!(noise(1, 0), noise(2, 0));
    assert_ne!(noise(1, 0), noise(1, 1));
    assert_eq!(noise(1, 1), noise(1, 1));
}

fn read_whole(lun: &mut Lun, row: Row) -> Vec<u8> {
    let now = lun.pipeline().array_ready_at;
    let end = lun.read(row, ReadKind::Plain, now).expect("legal").ready_at;
    lun.settle(end);
    lun.output(0, lun.register_size())
}
