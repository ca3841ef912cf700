use wordline_nand::PageId;

use super::*;
use Kind::{GcErase, GcProgram, GcRead, HostProgram, HostRead};

const DIE: DieId = DieId(0);

/// Kinds of tasks in these tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    HostRead,
    HostProgram,
    GcRead,
    GcProgram,
    GcErase,
}

impl Kind {
    fn class(self) -> Class {
        match self {
            HostRead => Class::Read,
            HostProgram => Class::Write,
            GcRead | GcProgram | GcErase => Class::Gc,
        }
    }

    fn operation(self) -> Operation {
        match self {
            HostRead | GcRead => Operation::Read,
            HostProgram | GcProgram => Operation::Program,
            GcErase => Operation::Erase,
        }
    }
}

fn at(us: u64) -> Instant {
    Instant::ZERO + Duration::from_us(us)
}

/// Queues task number `n`, with page `100 * n`.
fn push(queues: &mut Queues, kind: Kind, n: u32, since: u64) {
    let task = queues.push(DIE, at(since), Ticket::Table(n), kind.class());
    (task.operation, task.page) = (kind.operation(), PageId(n * 100));
}

fn number(task: &Task) -> u32 {
    let Ticket::Table(n) = task.ticket else { panic!("{task:?}") };
    n
}

/// Queues tasks, each with its time in microseconds. Returns the order in which an idle die takes them, one
/// every `every` microseconds from `now` on.
fn order(rules: &SchedulingFile, waiting: &[(Kind, u64)], now: u64, every: u64) -> Vec<Kind> {
    let mut queues = Queues::new(1, rules);
    waiting.iter().zip(0..).for_each(|((kind, since), n)| push(&mut queues, *kind, n, *since));
    let mut taken = Vec::new();
    while let Some(next) = queues.next(DIE, at(now + every * taken.len() as u64), &mut 0, |_, _| false) {
        taken.push(waiting[number(next) as usize].0);
        assert_eq!(finish(&mut queues, now).next_in_chain(), None, "nothing was merged");
    }
    assert_eq!(queues.outstanding(), 0);
    taken
}

/// Ends the die's work and returns its first task.
fn finish(queues: &mut Queues, now: u64) -> Task {
    let done = queues.finish(DIE, at(now)).expect("the die works");
    queues.release(DIE, done)
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
    assert_eq!(taken, waiting.map(|(kind, _)| kind), "first come, first served");
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
    // At 100 us the program has reached the limit; one picosecond less does not suffice.
    assert_eq!(order(&limit, &waiting, 99, 1), [HostRead, HostProgram, HostRead, HostRead]);
    assert_eq!(order(&limit, &waiting, 100, 1)[0], HostProgram);
    assert_eq!(order(&rules(|_| ()), &waiting, 100, 1)[3], HostProgram, "without a limit");
}

#[test]
fn programs_of_the_host_and_the_collector_go_by_priority() {
    let waiting = [(GcProgram, 0), (HostProgram, 1), (GcRead, 2), (HostProgram, 3)];
    let by = |priority| rules(|file| file.gc_priority = priority);
    assert_eq!(order(&by(GcPriority::Equal), &waiting, 5, 0), waiting.map(|(kind, _)| kind));
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
fn without_a_limit_no_class_waits_for_another_for_ever() {
    let long = DEADLINE.ps() / Duration::from_us(1).ps();
    for (priority, behind, before) in
        [(GcPriority::Low, GcProgram, HostProgram), (GcPriority::High, HostRead, GcProgram)]
    {
        let file = rules(|file| {
            file.gc_priority = priority;
            file.read_priority = false;
        });
        let first = |now| {
            let (mut queues, mut deadline_promotions) = (Queues::new(1, &file), 0);
            push(&mut queues, behind, 0, 0);
            push(&mut queues, before, 1, 1);
            let next = queues.next(DIE, at(now), &mut deadline_promotions, |_, _| false).map(number);
            (next, deadline_promotions)
        };
        assert_eq!(first(long - 1), (Some(1), 0), "{priority:?}");
        assert_eq!(first(long), (Some(0), 1), "{priority:?}: it has reached the age limit, and is counted");
    }
}

#[test]
fn while_something_is_suspended_only_reads_are_taken_and_so_many_in_a_row() {
    let file = rules(|file| {
        file.suspend_erases = true;
        file.reads_in_a_row = 2;
    });
    let mut queues = Queues::new(1, &file);
    let never = |_: &Task, _: &Task| false;
    let next = |queues: &mut Queues, now| queues.next(DIE, at(now), &mut 0, never).map(number);
    push(&mut queues, GcErase, 0, 1);
    assert_eq!(next(&mut queues, 1), Some(0));
    assert!(!queues.wants_suspend(DIE, at(1)), "no read waits");
    push(&mut queues, HostProgram, 1, 1);
    (2..5).for_each(|n| push(&mut queues, HostRead, n, 1));
    assert!(queues.wants_suspend(DIE, at(1)));
    queues.suspend(DIE, at(11));
    let ten = Duration::from_us(10).ps();
    assert_eq!(queues.gc_time(DIE, at(50)), ten, "the die cleans nothing meanwhile");
    for n in 2..4 {
        assert_eq!(next(&mut queues, 12), Some(n));
        finish(&mut queues, 13);
    }
    assert_eq!(next(&mut queues, 14), None, "two reads in a row");
    queues.resume(DIE, at(20));
    assert_eq!(queues.gc_time(DIE, at(25)), Duration::from_us(15).ps());
    assert_eq!(finish(&mut queues, 30).operation, Operation::Erase);
    assert_eq!(next(&mut queues, 31), Some(4));
    assert!(!queues.wants_suspend(DIE, at(31)), "a read is not suspended");
}

#[test]
fn an_old_command_is_not_suspended() {
    let file = rules(|file| {
        file.suspend_programs = true;
        file.age_limit = Duration::from_us(100);
    });
    let mut queues = Queues::new(1, &file);
    push(&mut queues, HostProgram, 0, 0);
    assert!(queues.next(DIE, at(1), &mut 0, |_, _| false).is_some());
    push(&mut queues, HostRead, 1, 1);
    assert!(queues.wants_suspend(DIE, at(99)));
    assert!(!queues.wants_suspend(DIE, at(100)));
    queues.suspend(DIE, at(99));
    assert!(queues.next(DIE, at(100), &mut 0, |_, _| false).is_none(), "it goes on before the read");
}

#[test]
fn a_read_that_nobody_waits_for_goes_as_programs_do_until_somebody_comes() {
    let first = |hurries: bool, rules: &SchedulingFile| {
        let mut queues = Queues::new(1, rules);
        push(&mut queues, HostProgram, 0, 0);
        for (n, page) in [(7, PageId(100)), (8, PageId(200))] {
            queues.push(DIE, at(1), Ticket::Table(n), Class::Background).page = page;
        }
        push(&mut queues, HostRead, 3, 2);
        if hurries {
            let eight = |read: &Task| number(read) == 8;
            assert_eq!(queues.promote(DIE, eight), rules.read_priority);
            assert!(!queues.promote(DIE, eight), "it does not wait behind any more");
        }
        assert_eq!(queues.has_background(), rules.read_priority);
        let mut taken = Vec::new();
        while let Some(next) = queues.next(DIE, at(3), &mut 0, |_, _| false) {
            taken.push(number(next));
            finish(&mut queues, 3);
        }
        assert!(!queues.has_background());
        taken
    };
    let [program, read, seven, eight] = [0, 3, 7, 8];
    assert_eq!(first(false, &rules(|_| ())), [read, program, seven, eight]);
    assert_eq!(first(true, &rules(|_| ())), [read, eight, program, seven]);
    for hurries in [false, true] {
        let in_order = rules(|file| file.read_priority = false);
        assert_eq!(first(hurries, &in_order), [program, seven, eight, read], "first come, first served");
    }
}

#[test]
fn a_read_that_an_erase_waits_for_goes_as_gc_does() {
    let rules = rules(|file| {
        file.gc_priority = GcPriority::High;
        file.read_priority = false;
    });
    let mut queues = Queues::new(1, &rules);
    assert!(queues.gc_passes_reads());
    let kinds = [HostRead, HostProgram, HostRead, GcRead, GcRead];
    kinds.into_iter().zip(0..).for_each(|(kind, n)| push(&mut queues, kind, n, n.into()));
    queues.raise_to_gc(DIE, |read| read.page == PageId(200));
    let mut taken = Vec::new();
    while let Some(next) = queues.next(DIE, at(9), &mut 0, |_, _| false) {
        taken.push(number(next));
        finish(&mut queues, 9);
    }
    assert_eq!(taken, [3, 4, 2, 0, 1]);
}

/// Takes the next chain of tasks and ends it. Tasks 0 and 1, 2 and 3, and so on share a command.
fn take_pair(queues: &mut Queues) -> Vec<Task> {
    let mut tasks = Vec::new();
    queues.next(DIE, at(1), &mut 0, |before, after| number(before) / 2 == number(after) / 2);
    let mut next = queues.finish(DIE, at(1));
    while let Some(id) = next {
        tasks.push(queues.release(DIE, id));
        next = tasks.last().and_then(Task::next_in_chain);
    }
    tasks
}

#[test]
fn retries_go_before_other_tasks_of_their_rank_in_the_order_of_their_chains() {
    for class in [Class::Read, Class::Background, Class::Gc] {
        let mut queues = Queues::new(1, &rules(|_| ()));
        for n in 0..6 {
            queues.push(DIE, at(0), Ticket::Table(n), class);
        }
        // With a decoder, a die takes its next chain before the first one fails.
        let failed = [take_pair(&mut queues), take_pair(&mut queues)].concat();
        failed.iter().for_each(|task| queues.queue_again(DIE, Task { tries: 1, ..*task }));
        queues.promote(DIE, |_| true);
        let mut order = Vec::new();
        while queues.has_work(DIE) {
            order.push(take_pair(&mut queues).iter().map(number).collect::<Vec<_>>());
        }
        match class {
            Class::Gc => assert_eq!(order.concat(), [0, 1, 2, 3, 4, 5], "GC reads are not merged"),
            _ => assert_eq!(order, [[0, 1], [2, 3], [4, 5]], "{class:?}"),
        }
    }
}
