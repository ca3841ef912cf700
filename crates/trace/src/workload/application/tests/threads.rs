//! Does each thread of an application wait for its own completions, and for nothing else?

use wordline_kernel::Stream;

use super::*;

/// Returns the threads of the named application, with changed model keys, on `mib` MiB.
fn threads_of(name: &str, keys: &str, seed: u64, requests: u64, mib: u64) -> Threads {
    let application = Application { requests, ..application(name, keys) };
    application.threads(Seed(seed), Bytes(mib * MIB)).expect("it has room")
}

/// Takes all requests that the threads issue now, and records which threads wait for completions.
fn ask_all(threads: &mut Threads, waiting: &mut Vec<u16>) -> Vec<(u16, Request)> {
    let asked: Vec<(u16, Request)> = std::iter::from_fn(|| threads.ask()).collect();
    waiting.extend(asked.iter().map(|(thread, _)| *thread));
    asked
}

/// Runs the threads on a device that completes outstanding requests in random order. Asserts that no thread
/// has two.
fn answered_at_random(mut threads: Threads, mut each: impl FnMut(u16, Request)) -> Threads {
    let (mut random, mut waiting): (Stream, _) = (Seed(5).stream("answers", 0), Vec::new());
    loop {
        for (thread, request) in ask_all(&mut threads, &mut waiting) {
            each(thread, request);
        }
        if threads.is_over() {
            return threads;
        }
        waiting.sort_unstable();
        assert!(waiting.windows(2).all(|pair| pair[0] < pair[1]), "{waiting:?}");
        threads.completed(waiting.swap_remove(random.below(waiting.len() as u64) as usize));
    }
}

/// Asserts that `requests` requests come, and returns how many each thread issued. The last entry is the
/// system.
fn asked_by_each(threads: Threads, requests: u64, what: &str) -> Vec<u64> {
    let mut asked = vec![0; threads.count() as usize + 1];
    let mut end = answered_at_random(threads, |thread, _| asked[usize::from(thread)] += 1);
    let count: u64 = asked.iter().sum();
    assert!(count == requests && end.ask().is_none(), "{what}: {count} requests");
    asked
}

#[test]
fn whatever_is_answered_first_no_thread_has_two_requests_outstanding_and_all_requests_come() {
    for (name, keys) in CHANGED {
        let asked = asked_by_each(threads_of(name, keys, 7, 10_000, 64), 10_000, &format!("{name} {keys}"));
        // The system is left out: without a journal and discards it has no work.
        let (_, of_threads) = asked.split_last().expect("a system");
        let idle = of_threads.iter().filter(|asked| **asked == 0).count();
        assert_eq!(idle, 0, "{name} {keys}: threads without a request");
    }
}

#[test]
fn threads_that_find_nothing_to_ask_for_hold_nobody() {
    let open_and = |step| format!("loop = [{{ op = \"open\" }}, {{ op = \"{step} }}, {{ op = \"close\" }}]");
    // No thread deletes, so that the threads that append run out of space.
    let keys = format!(
        "fill = 0.9\npage_cache = 0.0\nthreads = [{{ name = \"a\", count = 2, {} }}, {{ name = \"b\", count = 2, {} }}]",
        open_and("append\", up_to = \"16KiB\""),
        open_and("read-whole\"")
    );
    let asked = |requests| asked_by_each(threads_of("mail", &keys, 7, requests, 4), requests, &keys);
    let (early, late) = (asked(1_500), asked(1_600));
    assert_eq!(early[..2], late[..2], "the file system is not full");
    assert!((2..4).all(|thread| late[thread] > early[thread]), "{early:?}, {late:?}");
}

#[test]
fn a_post_wakes_the_threads_that_it_names_alone() {
    let keys = r#"
        page_cache = 0.0
        threads = [
            { name = "log", count = 1, loop = [{ op = "write-log", size = "4KiB" }, { op = "wait", posts = 1 }] },
            { name = "writer", count = 1, loop = [{ op = "write-part", size = "2KiB" }, { op = "wait", posts = 1 }] },
            { name = "reader", count = 1, loop = [{ op = "read-part", size = "2KiB" }, { op = "post", to = "writer" }] },
        ]"#;
    let asked = asked_by_each(threads_of("oltp", keys, 7, 1_000, 64), 1_000, "one that posts");
    // The log is written once before its thread waits.
    assert!(asked[0] < 5 && asked[1] > 300, "{asked:?}");
}

#[test]
fn whatever_is_answered_first_reads_are_of_what_was_written_and_not_discarded() {
    for (name, keys) in CHANGED {
        let all = threads_of(name, keys, 7, 10_000, 64);
        let (mut written, mut reads, mut number) = (all.work().audit(), 0, 0);
        let end = answered_at_random(all, |thread, request| {
            note(&mut written, &request, &|| format!("{name} {keys}: request {number} of thread {thread}"));
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
            let mut digest = Digest::default();
            answered_at_random(threads_of(&name, "", seed, 10_000, 64), |thread, request| {
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
    let mut all = threads_of("mail", "", 3, 20_000, 64);
    let (mut waiting, mut of_first) = (Vec::new(), 0);
    while !all.is_over() {
        let asked = ask_all(&mut all, &mut waiting);
        of_first += asked.iter().filter(|(thread, _)| *thread == 0).count();
        waiting.retain(|thread| *thread != 0);
        waiting.drain(..).for_each(|thread| all.completed(thread));
    }
    assert_eq!(of_first, 1);
}

#[test]
fn readers_wait_for_writers_that_have_no_answers() {
    let mut all = threads_of("oltp", "page_cache = 0.0", 3, 100_000, 256);
    let (mut waiting, mut reads) = (Vec::new(), 0);
    // Thread 0 writes the log, and threads 1 to 10 a database.
    let writes = |thread: &u16| (1..=10).contains(thread);
    loop {
        let asked = ask_all(&mut all, &mut waiting);
        reads += asked.iter().filter(|(thread, _)| *thread > 10 && u32::from(*thread) < all.count()).count();
        let (held, completed): (Vec<u16>, Vec<u16>) = waiting.iter().partition(|thread| writes(thread));
        if completed.is_empty() {
            assert_eq!(held.len(), 10, "nothing else is outstanding");
            break;
        }
        waiting = held;
        completed.into_iter().for_each(|thread| all.completed(thread));
    }
    // Each writer has 2,000 pending posts. The 200 readers have a completion, and cannot post.
    assert_eq!(reads, 2_200);
}
