//! Does each thread of an application wait for its own answers, and for nothing else?

use wordline_kernel::Stream;

use super::*;

fn threads(application: &Application, seed: u64, capacity: u64) -> Threads {
    application.threads(Seed(seed), Bytes(capacity)).expect("it has room")
}

/// Takes all requests that the threads make now, and notes which threads wait for their answers.
fn ask_all(threads: &mut Threads, waiting: &mut Vec<u16>) -> Vec<(u16, Request)> {
    let asked: Vec<(u16, Request)> = std::iter::from_fn(|| threads.ask()).collect();
    waiting.extend(asked.iter().map(|(thread, _)| *thread));
    asked
}

/// All requests of the threads on a device that answers a random one of those outstanding.
fn answered_at_random(mut threads: Threads, mut each: impl FnMut(&Threads, u16, Request)) -> Threads {
    let (mut random, mut waiting): (Stream, _) = (Seed(5).stream("answers", 0), Vec::new());
    loop {
        for (thread, request) in ask_all(&mut threads, &mut waiting) {
            each(&threads, thread, request);
        }
        if threads.is_over() {
            return threads;
        }
        let answered = waiting.swap_remove(random.below(waiting.len() as u64) as usize);
        threads.answered(answered);
    }
}

#[test]
fn whatever_is_answered_first_no_thread_has_two_requests_outstanding_and_all_requests_come() {
    for (name, keys) in CHANGED {
        let mut application = application(name, keys);
        application.requests = 10_000;
        let mut all = threads(&application, 7, 64 * MIB);
        let (mut random, mut waiting) = (Seed(5).stream("answers", 0), Vec::new());
        let (mut count, mut asked) = (0, vec![0u32; all.count() as usize]);
        while !all.is_over() {
            for (thread, _) in ask_all(&mut all, &mut waiting) {
                asked[usize::from(thread)] += 1;
                count += 1;
            }
            waiting.sort_unstable();
            assert!(waiting.windows(2).all(|pair| pair[0] < pair[1]), "{name} {keys}: {waiting:?}");
            all.answered(waiting.swap_remove(random.below(waiting.len() as u64) as usize));
        }
        assert!(count == 10_000 && all.ask().is_none(), "{name} {keys}: {count} requests");
        // The last one is the system, which has nothing to do without a journal and discards.
        let (_, of_threads) = asked.split_last().expect("a system");
        let idle = of_threads.iter().filter(|asked| **asked == 0).count();
        assert_eq!(idle, 0, "{name} {keys}: threads without a request");
    }
}

#[test]
fn whatever_is_answered_first_reads_are_of_what_was_written_and_not_discarded() {
    for (name, keys) in CHANGED {
        let mut application = application(name, keys);
        application.requests = 10_000;
        let all = threads(&application, 7, 64 * MIB);
        let (mut written, mut reads, mut number) = (all.work().audit(), 0, 0);
        let end = answered_at_random(all, |_, thread, request| {
            for block in request.offset.0 / 4096..(request.offset.0 + request.size.0) / 4096 {
                let block = block as usize;
                match request.op {
                    Op::Read => {
                        let what = format!("{name} {keys}: request {number} of thread {thread}");
                        assert!(written[block], "{what} reads block {block}");
                    }
                    Op::Write => written[block] = true,
                    _ => written[block] = false,
                }
            }
            reads += usize::from(request.op == Op::Read);
            number += 1;
        });
        end.work().audit();
        assert!(reads > 100, "{name} {keys}: {reads} reads");
    }
}

#[test]
fn equal_seeds_and_answers_give_equal_requests() {
    for name in names() {
        let digest = |seed| {
            let mut application = application(&name, "");
            application.requests = 10_000;
            let mut digest = Digest::default();
            answered_at_random(threads(&application, seed, 64 * MIB), |_, thread, request| {
                for value in [u64::from(thread), request.offset.0, request.op as u64] {
                    digest.add(value);
                }
            });
            digest.value()
        };
        assert_eq!(digest(3), digest(3), "{name}");
        assert_ne!(digest(3), digest(4), "{name}");
    }
}

#[test]
fn a_thread_without_an_answer_asks_for_nothing_and_holds_nobody_who_does_not_wait_for_it() {
    let mut application = application("mail", "");
    application.requests = 20_000;
    let mut all = threads(&application, 3, 64 * MIB);
    let (mut waiting, mut of_first) = (Vec::new(), 0);
    while !all.is_over() {
        let asked = ask_all(&mut all, &mut waiting);
        of_first += asked.iter().filter(|(thread, _)| *thread == 0).count();
        waiting.retain(|thread| *thread != 0);
        waiting.drain(..).for_each(|thread| all.answered(thread));
    }
    assert_eq!(of_first, 1);
}

#[test]
fn readers_wait_for_writers_that_have_no_answers() {
    let mut application = application("oltp", "page_cache = 0.0");
    application.requests = 100_000;
    let mut all = threads(&application, 3, 256 * MIB);
    let (mut waiting, mut reads) = (Vec::new(), 0);
    // Thread 0 writes the log, and those from 1 to 10 a database.
    let writes = |thread: &u16| (1..=10).contains(thread);
    loop {
        let asked = ask_all(&mut all, &mut waiting);
        reads +=
            asked.iter().filter(|(thread, _)| *thread > 10 && u32::from(*thread) + 1 < all.count()).count();
        let (held, answered): (Vec<u16>, Vec<u16>) = waiting.iter().partition(|thread| writes(thread));
        if answered.is_empty() {
            assert_eq!(held.len(), 10, "nothing else is outstanding");
            break;
        }
        waiting = held;
        answered.into_iter().for_each(|thread| all.answered(thread));
    }
    // 2,000 posts are pending at each writer, and 200 readers have their answer and cannot post.
    assert_eq!(reads, 2_200);
}
