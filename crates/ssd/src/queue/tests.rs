use super::*;
use Purpose::{GcErase, GcProgram, GcRead, HostProgram, HostRead};

const DIE: DieId = DieId(0);

fn at(us: u64) -> Instant {
    Instant::ZERO + Duration::from_us(us)
}

/// Queues transactions with the time of each, in microseconds; the order in which an idle die takes them from `now` on,
/// each before the next one by `every`.
fn order(rules: &SchedulingFile, waiting: &[(Purpose, u64)], now: u64, every: u64) -> Vec<Purpose> {
    let mut queues = Queues::new(1, rules);
    for (n, (purpose, since)) in waiting.iter().enumerate() {
        queues.push(DIE, at(*since), *purpose, 0, PageId(n as u32 * 100));
    }
    let mut taken = Vec::new();
    while let Some(next) = queues.next(DIE, at(now + every * taken.len() as u64), |_, _| false) {
        taken.push(next.purpose);
        let done = queues.finish(DIE, at(now)).expect("the die works");
        assert_eq!(queues.release(done).following(), None, "nothing was merged");
    }
    assert_eq!(queues.outstanding(), 0);
    taken
}

fn rules(change: impl FnOnce(&mut SchedulingFile)) -> SchedulingFile {
    let mut file = SchedulingFile::default();
    change(&mut file);
    file
}

#[test]
fn reads_go_first_where_they_have_priority() {
    let waiting = [(GcRead, 0), (HostProgram, 1), (HostRead, 2), (GcErase, 3), (HostRead, 4)];
    let taken = order(&rules(|_| ()), &waiting, 5, 0);
    assert_eq!(taken, [HostRead, HostRead, GcRead, HostProgram, GcErase]);
    let taken = order(&rules(|file| file.read_priority = false), &waiting, 5, 0);
    assert_eq!(taken, waiting.map(|(purpose, _)| purpose), "first come, first served");
}

#[test]
fn a_program_goes_after_so_many_reads() {
    let waiting = [(HostProgram, 0), (HostProgram, 0), (HostRead, 1), (HostRead, 1), (HostRead, 1)];
    let taken = order(&rules(|file| file.reads_in_a_row = 2), &waiting, 5, 0);
    assert_eq!(taken, [HostRead, HostRead, HostProgram, HostRead, HostProgram]);
    let taken = order(&rules(|file| file.reads_in_a_row = 1), &waiting, 5, 0);
    assert_eq!(taken, [HostRead, HostProgram, HostRead, HostProgram, HostRead]);
}

#[test]
fn what_has_waited_too_long_goes_before_reads() {
    let waiting = [(HostProgram, 0), (HostRead, 1), (HostRead, 1), (HostRead, 1)];
    let limit = rules(|file| file.age_limit = Duration::from_us(100));
    // A picosecond counts: at 100 us the program has waited as long as it may.
    assert_eq!(order(&limit, &waiting, 99, 1), [HostRead, HostProgram, HostRead, HostRead]);
    assert_eq!(order(&limit, &waiting, 100, 1)[0], HostProgram);
    assert_eq!(order(&rules(|_| ()), &waiting, 100, 1)[3], HostProgram, "without a limit");
}

#[test]
fn programs_of_the_host_and_the_collector_go_by_priority() {
    let waiting = [(GcProgram, 0), (HostProgram, 1), (GcRead, 2), (HostProgram, 3)];
    let by = |priority| rules(|file| file.gc_priority = priority);
    assert_eq!(order(&by(GcPriority::Equal), &waiting, 5, 0), waiting.map(|(purpose, _)| purpose));
    let low = [HostProgram, HostProgram, GcProgram, GcRead];
    assert_eq!(order(&by(GcPriority::Low), &waiting, 5, 0), low);
    let high = [GcProgram, GcRead, HostProgram, HostProgram];
    assert_eq!(order(&by(GcPriority::High), &waiting, 5, 0), high);
}

#[test]
fn the_older_one_goes_first_when_both_have_waited_too_long() {
    let waiting = [(GcProgram, 0), (HostProgram, 1)];
    let low = rules(|file| {
        file.gc_priority = GcPriority::Low;
        file.age_limit = Duration::from_us(50);
    });
    assert_eq!(order(&low, &waiting, 20, 0), [HostProgram, GcProgram]);
    assert_eq!(order(&low, &waiting, 60, 0), [GcProgram, HostProgram]);
}

#[test]
fn while_something_is_suspended_only_reads_are_taken_and_so_many_in_a_row() {
    let file = rules(|file| {
        file.suspend_erases = true;
        file.reads_in_a_row = 2;
    });
    let mut queues = Queues::new(1, &file);
    let push = |queues: &mut Queues, purpose| {
        queues.push(DIE, at(1), purpose, 0, PageId(7));
    };
    push(&mut queues, GcErase);
    let never = |_: &Transaction, _: &Transaction| false;
    assert_eq!(queues.next(DIE, at(1), never).map(|next| next.purpose), Some(GcErase));
    assert!(!queues.wants_suspend(DIE, at(1)), "no read waits");
    push(&mut queues, HostProgram);
    (0..3).for_each(|_| push(&mut queues, HostRead));
    assert!(queues.wants_suspend(DIE, at(1)));
    queues.park(DIE, at(11));
    assert_eq!(queues.gc_time(DIE, at(50)), Duration::from_us(10).ps(), "the die collects nothing meanwhile");
    for _ in 0..2 {
        assert_eq!(queues.next(DIE, at(12), never).map(|next| next.purpose), Some(HostRead));
        let done = queues.finish(DIE, at(13)).expect("a read");
        queues.release(done);
    }
    assert!(queues.next(DIE, at(14), never).is_none(), "two reads in a row");
    queues.unpark(DIE, at(20));
    assert_eq!(queues.gc_time(DIE, at(25)), Duration::from_us(15).ps());
    let done = queues.finish(DIE, at(30)).expect("the erase");
    assert_eq!(queues.release(done).purpose, GcErase);
    assert_eq!(queues.next(DIE, at(31), never).map(|next| next.purpose), Some(HostRead));
    assert!(!queues.wants_suspend(DIE, at(31)), "a read is not suspended");
}

#[test]
fn an_old_command_is_not_suspended() {
    let file = rules(|file| {
        file.suspend_programs = true;
        file.age_limit = Duration::from_us(100);
    });
    let mut queues = Queues::new(1, &file);
    queues.push(DIE, at(0), HostProgram, 0, PageId(0));
    assert!(queues.next(DIE, at(1), |_, _| false).is_some());
    queues.push(DIE, at(1), HostRead, 0, PageId(9));
    assert!(queues.wants_suspend(DIE, at(99)));
    assert!(!queues.wants_suspend(DIE, at(100)));
    queues.park(DIE, at(99));
    assert!(queues.next(DIE, at(100), |_, _| false).is_none(), "it goes on before the read");
}

#[test]
fn a_read_that_nobody_waits_for_goes_as_programs_do_until_somebody_comes() {
    let first = |hurries: bool, rules: &SchedulingFile| {
        let mut queues = Queues::new(1, rules);
        queues.push(DIE, at(0), HostProgram, 0, PageId(0));
        queues.push_behind(DIE, at(1), Purpose::Fill, 7, PageId(100));
        queues.push_behind(DIE, at(1), Purpose::Fill, 8, PageId(200));
        queues.push(DIE, at(2), HostRead, 0, PageId(300));
        if hurries {
            assert_eq!(queues.hurry(DIE, |read| read.owner == 8), rules.read_priority);
            assert!(!queues.hurry(DIE, |read| read.owner == 8), "it does not wait behind any more");
        }
        assert_eq!(queues.has_background(), rules.read_priority);
        let mut taken = Vec::new();
        while let Some(next) = queues.next(DIE, at(3), |_, _| false) {
            taken.push((next.purpose, next.owner));
            let done = queues.finish(DIE, at(3)).expect("the die works");
            queues.release(done);
        }
        assert!(!queues.has_background());
        taken
    };
    let [program, read] = [(HostProgram, 0), (HostRead, 0)];
    let [seven, eight] = [7, 8].map(|owner| (Purpose::Fill, owner));
    assert_eq!(first(false, &rules(|_| ())), [read, program, seven, eight]);
    assert_eq!(first(true, &rules(|_| ())), [read, eight, program, seven]);
    for hurries in [false, true] {
        let in_order = rules(|file| file.read_priority = false);
        assert_eq!(first(hurries, &in_order), [program, seven, eight, read], "first come, first served");
    }
}

#[test]
fn a_read_that_an_erase_waits_for_goes_as_the_collector_does() {
    let rules = rules(|file| {
        file.gc_priority = GcPriority::High;
        file.read_priority = false;
    });
    let mut queues = Queues::new(1, &rules);
    assert!(queues.collector_passes_reads());
    [HostRead, HostProgram, HostRead, GcRead, GcRead].into_iter().zip(0..).for_each(|(purpose, n)| {
        queues.push(DIE, at(n), purpose, n as u32, PageId(n as u32 * 100));
    });
    queues.inherit(DIE, |read| read.page == PageId(200));
    let mut taken = Vec::new();
    while let Some(next) = queues.next(DIE, at(9), |_, _| false) {
        taken.push(next.owner);
        let done = queues.finish(DIE, at(9)).expect("the die works");
        queues.release(done);
    }
    assert_eq!(taken, [3, 4, 2, 0, 1]);
}
