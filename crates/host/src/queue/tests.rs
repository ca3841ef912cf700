//! Submission times and queues of requests in open and closed loops.

use super::*;

fn arrivals(times: &[u64]) -> impl Iterator<Item = Arrival> {
    times.iter().enumerate().map(|(n, us)| Arrival {
        time: Instant::ZERO + Duration::from_us(*us),
        command: Command { sectors: 8, tag: n as u32, ..Command::default() },
    })
}

/// A command in this queue.
fn of(queue: u16) -> Command {
    Command { queue, ..Command::default() }
}

fn at(us: u64) -> Instant {
    Instant::ZERO + Duration::from_us(us)
}

#[test]
fn an_open_loop_follows_the_scaled_times() {
    let mut queue = HostQueue::new(arrivals(&[0, 10]), Pace::Open { time_scale: 0.5 });
    assert!(matches!(queue.next(at(0)), Submission::Submit(_)));
    assert_eq!(queue.next(at(0)), Submission::RetryAt(at(5)));
    assert!(matches!(queue.next(at(5)), Submission::Submit(_)));
    assert_eq!(queue.next(at(5)), Submission::End);
}

#[test]
fn the_times_of_an_open_loop_count_from_its_beginning() {
    let mut queue = HostQueue::new(arrivals(&[0, 10]), Pace::Open { time_scale: 0.5 }).starting_at(at(7));
    assert_eq!(queue.next(at(0)), Submission::RetryAt(at(7)));
    assert!(matches!(queue.next(at(7)), Submission::Submit(_)));
    assert_eq!(queue.next(at(7)), Submission::RetryAt(at(12)));
}

#[test]
fn a_bounded_loop_follows_the_scaled_times_and_keeps_to_its_depth() {
    let mut queue = HostQueue::new(arrivals(&[0, 4, 6, 100]), Pace::Bounded { depth: 2, time_scale: 0.5 });
    assert!(matches!(queue.next(at(0)), Submission::Submit(_)));
    assert_eq!(queue.next(at(0)), Submission::RetryAt(at(2)), "there is room, and it is too early");
    assert!(matches!(queue.next(at(2)), Submission::Submit(_)));
    assert_eq!(queue.next(at(3)), Submission::Wait, "its time has come, and there is no room");
    queue.completed(at(9), &of(0));
    assert!(matches!(queue.next(at(9)), Submission::Submit(_)));
    queue.completed(at(10), &of(0));
    assert_eq!(queue.next(at(10)), Submission::RetryAt(at(50)));
}

#[test]
fn queues_of_a_bounded_loop_have_a_depth_each() {
    let spread = QueueMapping { queues: 2, is_bound: false };
    let mut queue = HostQueue::spread(arrivals(&[0; 5]), Pace::Bounded { depth: 2, time_scale: 1.0 }, spread);
    assert_eq!(queues_of(&mut queue, at(0)), [0, 1, 0, 1]);
    queue.completed(at(1), &of(1));
    assert_eq!(queues_of(&mut queue, at(1)), [1]);
}

#[test]
fn the_next_two_requests_can_be_looked_at() {
    let mut queue = HostQueue::new(arrivals(&[0; 3]), Pace::Closed { depth: 3, think: Duration::ZERO });
    for wanted in [[Some(0), Some(1)], [Some(1), Some(2)], [Some(2), None], [None; 2]] {
        assert_eq!(queue.upcoming().map(|command| command.map(|command| command.tag)), wanted);
        queue.next(at(0));
    }
}

#[test]
fn a_closed_loop_keeps_its_depth_and_thinks() {
    let pace = Pace::Closed { depth: 2, think: Duration::from_us(3) };
    let mut queue = HostQueue::new(arrivals(&[0; 4]), pace);
    assert!(matches!(queue.next(at(0)), Submission::Submit(_)));
    assert!(matches!(queue.next(at(0)), Submission::Submit(_)));
    assert_eq!(queue.next(at(0)), Submission::Wait);
    queue.completed(at(7), &of(0));
    assert_eq!(queue.next(at(7)), Submission::RetryAt(at(10)));
    assert!(matches!(queue.next(at(10)), Submission::Submit(_)));
    assert_eq!(queue.outstanding(), 2);
}

#[test]
fn a_closed_loop_in_bursts_submits_nothing_in_its_pauses() {
    let pace = Pace::Bursts { depth: 1, on: Duration::from_us(10), off: Duration::from_us(30) };
    let mut queue = HostQueue::new(arrivals(&[0; 4]), pace).starting_at(at(5));
    assert!(matches!(queue.next(at(5)), Submission::Submit(_)));
    queue.completed(at(9), &of(0));
    assert!(matches!(queue.next(at(9)), Submission::Submit(_)));
    assert_eq!(queue.next(at(14)), Submission::Wait);
    queue.completed(at(20), &of(0));
    assert_eq!(queue.next(at(20)), Submission::RetryAt(at(45)));
    assert!(matches!(queue.next(at(45)), Submission::Submit(_)));
    queue.completed(at(54), &of(0));
    assert!(matches!(queue.next(at(54)), Submission::Submit(_)), "the burst is not over");
    queue.completed(at(55), &of(0));
    assert_eq!(queue.next(at(55)), Submission::End);
}

/// The queues of the next requests that may be submitted at `now`.
fn queues_of(queue: &mut HostQueue<impl Source>, now: Instant) -> Vec<u16> {
    let submitted = std::iter::from_fn(|| match queue.next(now) {
        Submission::Submit(command) => Some(command.queue),
        _ => None,
    });
    submitted.collect()
}

/// Requests of processors 0, 5, 0, 5, and so on.
fn of_two_processors(count: usize) -> impl Iterator<Item = Arrival> {
    arrivals(&[0; 64]).take(count).enumerate().map(|(n, arrival)| {
        let command = Command { queue: if n % 2 == 0 { 0 } else { 5 }, ..arrival.command };
        Arrival { command, ..arrival }
    })
}

#[test]
fn queues_of_a_closed_loop_have_a_depth_each_and_refill_as_they_empty() {
    let pace = Pace::Closed { depth: 2, think: Duration::ZERO };
    let spread = QueueMapping { queues: 3, is_bound: false };
    let mut queue = HostQueue::spread(arrivals(&[0; 64]), pace, spread);
    assert_eq!(queues_of(&mut queue, at(0)), [0, 1, 2, 0, 1, 2]);
    [2, 2, 0].into_iter().for_each(|from| queue.completed(at(1), &of(from)));
    assert_eq!(queues_of(&mut queue, at(1)), [2, 2, 0]);
}

#[test]
fn a_bound_request_waits_for_its_own_queue() {
    let pace = Pace::Closed { depth: 1, think: Duration::from_us(2) };
    let mut queue = HostQueue::spread(of_two_processors(5), pace, QueueMapping { queues: 4, is_bound: true });
    assert_eq!(queues_of(&mut queue, at(0)), [0, 1]);
    queue.completed(at(0), &of(1));
    assert!(queues_of(&mut queue, at(5)).is_empty(), "the next request belongs into queue 0");
    queue.completed(at(6), &of(0));
    assert_eq!(queues_of(&mut queue, at(8)), [0, 1]);
}

#[test]
fn requests_that_come_by_their_times_go_to_the_queues_in_turn_or_by_processor() {
    let pace = Pace::Open { time_scale: 1.0 };
    let spread = |is_bound| QueueMapping { queues: 3, is_bound };
    let mut in_turn = HostQueue::spread(of_two_processors(4), pace, spread(false));
    assert_eq!(queues_of(&mut in_turn, at(0)), [0, 1, 2, 0]);
    let mut bound = HostQueue::spread(of_two_processors(4), pace, spread(true));
    assert_eq!(queues_of(&mut bound, at(0)), [0, 2, 0, 2]);
}

/// Two threads with one request each. The tag of a request is the number of its thread.
struct TwoThreads {
    ready: Vec<u32>,
    left: u32,
}

impl Source for TwoThreads {
    fn next(&mut self) -> Option<Arrival> {
        let tag = if self.left > 0 { self.ready.pop()? } else { return None };
        self.left -= 1;
        Some(Arrival { time: at(0), command: Command { sectors: 8, tag, ..Command::default() } })
    }

    fn has_more(&self) -> bool {
        self.left > 0
    }

    fn completed(&mut self, tag: u32) {
        self.ready.push(tag);
    }
}

#[test]
fn a_thread_goes_on_after_its_own_answer_and_think_time_whatever_room_there_is() {
    let tags = |think, completions: [u64; 2]| {
        let pace = Pace::Closed { depth: 4, think: Duration::from_us(think) };
        let mut queue = HostQueue::new(TwoThreads { ready: vec![1, 0], left: 5 }, pace);
        let mut seen = Vec::new();
        for now in 0..40 {
            let mut next = || match queue.next(at(now)) {
                Submission::Submit(command) => Some((now, command.tag)),
                _ => None,
            };
            seen.extend(std::iter::from_fn(&mut next));
            for (thread, time) in (0..).zip(completions) {
                if now == time {
                    queue.completed(at(now), &Command { tag: thread, ..Command::default() });
                }
            }
        }
        seen
    };
    // Both threads submit at first. Then each submits after its own completion, in the order of the
    // completions.
    assert_eq!(tags(0, [20, 10]), [(0, 0), (0, 1), (11, 1), (21, 0)]);
    assert_eq!(tags(3, [20, 10]), [(0, 0), (0, 1), (13, 1), (23, 0)]);
}

#[test]
fn what_a_source_has_again_after_it_waited_is_the_first_that_can_be_looked_at() {
    let pace = Pace::Closed { depth: 4, think: Duration::ZERO };
    let mut queue = HostQueue::new(TwoThreads { ready: vec![1, 0], left: 5 }, pace);
    let tags = |queue: &HostQueue<TwoThreads>| queue.upcoming().map(|command| command.map(|c| c.tag));
    // The source has no request for the place of thread 0. So thread 0 is polled for the place of thread 1.
    queue.next(at(0));
    queue.completed(at(1), &Command { tag: 0, ..Command::default() });
    queue.next(at(1));
    assert_eq!(tags(&queue), [Some(0), None]);
    assert!(matches!(queue.next(at(1)), Submission::Submit(Command { tag: 0, .. })));
    assert_eq!(tags(&queue), [None; 2]);
}

#[test]
fn a_source_that_waits_is_not_at_its_end_and_says_when_its_think_time_is_over() {
    let pace = Pace::Closed { depth: 4, think: Duration::from_us(3) };
    let mut queue = HostQueue::new(TwoThreads { ready: vec![7], left: 2 }, pace);
    assert!(matches!(queue.next(at(0)), Submission::Submit(_)));
    assert_eq!(queue.next(at(0)), Submission::Wait);
    let command = Command { tag: 7, ..Command::default() };
    queue.completed(at(2), &command);
    assert_eq!(queue.next(at(2)), Submission::RetryAt(at(5)));
    assert!(matches!(queue.next(at(5)), Submission::Submit(_)));
    assert_eq!(queue.next(at(5)), Submission::End);
    queue.lost(at(6), &command);
    assert_eq!((queue.outstanding(), queue.next(at(9))), (0, Submission::End));
}

/// Jobs with a clock of their own: one request each 10 us, and one request after each completion.
struct Clocked {
    now: Instant,
    next: Instant,
    after_answer: u32,
    left: u32,
}

impl Source for Clocked {
    fn next(&mut self) -> Option<Arrival> {
        if self.left == 0 || self.after_answer == 0 && self.next > self.now {
            return None;
        }
        if self.after_answer > 0 {
            self.after_answer -= 1;
        } else {
            self.next += Duration::from_us(10);
        }
        self.left -= 1;
        Some(Arrival { time: self.now, command: Command { sectors: 8, queue: 5, ..Command::default() } })
    }

    fn has_more(&self) -> bool {
        self.left > 0
    }

    fn advance_to(&mut self, now: Instant) {
        self.now = now;
    }

    fn due(&self) -> Option<Instant> {
        (self.left > 0).then_some(self.next)
    }

    fn completed(&mut self, _: u32) {
        self.after_answer += 1;
    }
}

#[test]
fn a_source_that_keeps_the_time_is_asked_when_it_is_due_and_after_answers() {
    let source = Clocked { now: at(0), next: at(0), after_answer: 0, left: 4 };
    let spread = QueueMapping { queues: 4, is_bound: true };
    let mut queue =
        HostQueue::spread(source, Pace::SourcePaced { pauses: false }, spread).starting_at(at(100));
    assert_eq!(queues_of(&mut queue, at(100)), [1]);
    assert_eq!(queue.next(at(100)), Submission::RetryAt(at(110)));
    queue.completed(at(104), &of(1));
    assert_eq!(queues_of(&mut queue, at(104)), [1], "an answer lets one in before the time");
    assert_eq!(queue.next(at(104)), Submission::RetryAt(at(110)));
    assert_eq!(queues_of(&mut queue, at(110)), [1]);
    assert_eq!(queues_of(&mut queue, at(120)), [1]);
    assert_eq!(queue.next(at(120)), Submission::End);
    assert_eq!(queue.outstanding(), 3);
}
