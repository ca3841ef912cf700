//! Command queues: when the next request of a workload is submitted.
//!
//! In an *open loop* requests come at the times that the trace gives, whatever the device does. In a *closed loop* a
//! fixed number of requests is outstanding, and an answer lets the next one in, after the think time. A closed loop in bursts
//! pauses again and again: then outstanding commands are answered, and none is submitted.

use std::collections::VecDeque;

use wordline_kernel::{Duration, Instant};
use wordline_ssd::Command;

/// How requests are paced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// At the times of the trace, stretched by a factor: 0.5 is twice as fast.
    Open {
        /// Factor on the time between requests.
        time_scale: f64,
    },
    /// This many outstanding at once in each queue.
    Closed {
        /// Requests outstanding in a queue.
        depth: u32,
        /// Time between an answer and the submission that it allows.
        think: Duration,
    },
    /// This many outstanding at once in each queue, in bursts with pauses between them.
    Bursts {
        /// Requests outstanding in a queue.
        depth: u32,
        /// How long requests are submitted, above zero.
        on: Duration,
        /// How long none is submitted then.
        off: Duration,
    },
}

impl Pace {
    /// Whether the arrival is submitted by `time`, as far as the trace decides that.
    pub fn submits_by(&self, arrival: &Arrival, time: Instant) -> bool {
        match self {
            Self::Open { time_scale } => scaled(arrival.time, *time_scale) <= time,
            Self::Closed { .. } | Self::Bursts { .. } => true,
        }
    }

    /// When requests are submitted again, if there is a pause so long after the beginning.
    fn pause(&self, since: Duration) -> Option<Duration> {
        let Self::Bursts { on, off, .. } = self else { return None };
        let whole = *on + *off;
        let into = Duration::from_ps(since.ps() % whole.ps());
        (into >= *on).then(|| Duration::from_ps(whole.ps() - into.ps()))
    }
}

/// Which of the device's submission queues a request goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// Queues that the host uses, at least one.
    pub queues: u16,
    /// A request stays in the queue that its command names (by the processor that made it, as operating systems do),
    /// modulo their number. Else the queues have their turn, in a closed loop as they have room.
    pub is_bound: bool,
}

impl Default for Spread {
    /// A single queue.
    fn default() -> Self {
        Self { queues: 1, is_bound: false }
    }
}

/// A request as it comes from a trace or a generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When, in the trace's own time; a closed loop does not look at it.
    pub time: Instant,
    /// What.
    pub command: Command,
}

/// The next action of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submission {
    /// Submit this command now.
    Now(Command),
    /// Ask again at this time.
    At(Instant),
    /// Nothing before the next answer.
    Wait,
    /// Nothing ever again: the workload is at its end.
    End,
}

/// Room in the queues of a closed loop.
enum Room {
    /// How many requests fit into the only queue.
    One(u32),
    /// How many requests fit into each queue.
    Each(Vec<u32>),
    /// The queues that a request fits into, once for each, in the order in which they came to have room.
    Any(VecDeque<u16>),
}

impl Room {
    fn new(pace: Pace, spread: Spread) -> Self {
        let depth = match pace {
            Pace::Closed { depth, .. } | Pace::Bursts { depth, .. } => depth,
            Pace::Open { .. } => 0,
        };
        if spread.queues == 1 {
            return Self::One(depth);
        }
        if spread.is_bound {
            return Self::Each(vec![depth; usize::from(spread.queues)]);
        }
        Self::Any((0..depth).flat_map(|_| 0..spread.queues).collect())
    }

    /// Takes room for a request that belongs into `queue`; which queue it is to go to, `None` if there is no room.
    fn take(&mut self, queue: u16) -> Option<u16> {
        match self {
            Self::One(free) => {
                *free = free.checked_sub(1)?;
                Some(0)
            }
            Self::Each(free) => {
                let free = &mut free[usize::from(queue)];
                *free = free.checked_sub(1)?;
                Some(queue)
            }
            Self::Any(free) => free.pop_front(),
        }
    }

    fn give(&mut self, queue: u16) {
        match self {
            Self::One(free) => *free += 1,
            Self::Each(free) => free[usize::from(queue)] += 1,
            Self::Any(free) => free.push_back(queue),
        }
    }
}

/// The queues between a workload and a device.
pub struct HostQueue<S> {
    /// When the workload begins: the times of the trace count from here.
    begin: Instant,
    source: S,
    pace: Pace,
    spread: Spread,
    /// The next request and the one after it, or the other way round if the second of them is next.
    ahead: [Option<Arrival>; 2],
    second_is_next: bool,
    submitted: u64,
    answered: u64,
    lost: u64,
    /// Closed loop with think time: when there is room again, in order, and in which queue.
    thinking: VecDeque<(Instant, u16)>,
    room: Room,
}

impl<S: Iterator<Item = Arrival>> HostQueue<S> {
    /// A single queue that draws from `source`.
    pub fn new(source: S, pace: Pace) -> Self {
        Self::spread(source, pace, Spread::default())
    }

    /// Queues that draw from `source`.
    pub fn spread(mut source: S, pace: Pace, spread: Spread) -> Self {
        assert!(spread.queues > 0, "a host has a queue");
        let ahead = [source.next(), source.next()];
        let room = Room::new(pace, spread);
        Self {
            begin: Instant::ZERO,
            source,
            pace,
            spread,
            ahead,
            second_is_next: false,
            submitted: 0,
            answered: 0,
            lost: 0,
            thinking: VecDeque::new(),
            room,
        }
    }

    /// The same for a workload that begins at `begin`, on a device that has worked before.
    #[must_use]
    pub fn beginning(self, begin: Instant) -> Self {
        Self { begin, ..self }
    }

    /// The action at `now`. The caller does it and asks again until told to wait.
    #[inline]
    pub fn next(&mut self, now: Instant) -> Submission {
        let next = usize::from(self.second_is_next);
        let Some(arrival) = &mut self.ahead[next] else { return Submission::End };
        let bound = if self.spread.queues == 1 { 0 } else { arrival.command.queue % self.spread.queues };
        let queue = match self.pace {
            Pace::Open { time_scale } => {
                let time = self.begin + (scaled(arrival.time, time_scale) - Instant::ZERO);
                if time > now {
                    return Submission::At(time);
                }
                let turn = (self.submitted % u64::from(self.spread.queues)) as u16;
                if self.spread.is_bound { bound } else { turn }
            }
            Pace::Closed { .. } | Pace::Bursts { .. } => {
                if let Some(pause) = self.pace.pause(now - self.begin) {
                    return Submission::At(now + pause);
                }
                while let Some((_, queue)) = self.thinking.front().filter(|(time, _)| *time <= now) {
                    self.room.give(*queue);
                    self.thinking.pop_front();
                }
                let Some(queue) = self.room.take(bound) else {
                    return self.thinking.front().map_or(Submission::Wait, |(time, _)| Submission::At(*time));
                };
                queue
            }
        };
        arrival.command.queue = queue;
        let command = arrival.command;
        self.ahead[next] = self.source.next();
        self.second_is_next = !self.second_is_next;
        self.submitted += 1;
        Submission::Now(command)
    }

    /// The request that is submitted next, and the one after it.
    #[inline]
    pub fn upcoming(&self) -> [Option<&Command>; 2] {
        let [first, second] = &self.ahead;
        let (next, later) = if self.second_is_next { (second, first) } else { (first, second) };
        [next, later].map(|arrival| arrival.as_ref().map(|arrival| &arrival.command))
    }

    /// Notes an answer to a command of `queue`.
    #[inline]
    pub fn answered(&mut self, now: Instant, queue: u16) {
        self.answered += 1;
        self.make_room(now, queue);
    }

    /// Notes that a command of `queue` will never be answered.
    pub fn lost(&mut self, now: Instant, queue: u16) {
        self.lost += 1;
        self.make_room(now, queue);
    }

    #[inline]
    fn make_room(&mut self, now: Instant, queue: u16) {
        match self.pace {
            Pace::Open { .. } => {}
            Pace::Closed { think, .. } if think > Duration::ZERO => {
                self.thinking.push_back((now + think, queue));
            }
            Pace::Closed { .. } | Pace::Bursts { .. } => self.room.give(queue),
        }
    }

    /// Requests submitted that may still be answered.
    pub fn outstanding(&self) -> u64 {
        self.submitted - self.answered - self.lost
    }

    /// Requests answered.
    pub fn total_answered(&self) -> u64 {
        self.answered
    }

    /// Requests submitted.
    pub fn total_submitted(&self) -> u64 {
        self.submitted
    }
}

/// `time` stretched by `scale`, to the picosecond below.
fn scaled(time: Instant, scale: f64) -> Instant {
    if scale == 1.0 { time } else { Instant::from_ps((time.ps() as f64 * scale) as u64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(times: &[u64]) -> impl Iterator<Item = Arrival> {
        times.iter().enumerate().map(|(n, us)| Arrival {
            time: Instant::ZERO + Duration::from_us(*us),
            command: Command { sectors: 8, tag: n as u32, ..Command::default() },
        })
    }

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_us(us)
    }

    #[test]
    fn an_open_loop_follows_the_scaled_times() {
        let mut queue = HostQueue::new(arrivals(&[0, 10]), Pace::Open { time_scale: 0.5 });
        assert!(matches!(queue.next(at(0)), Submission::Now(_)));
        assert_eq!(queue.next(at(0)), Submission::At(at(5)));
        assert!(matches!(queue.next(at(5)), Submission::Now(_)));
        assert_eq!(queue.next(at(5)), Submission::End);
    }

    #[test]
    fn the_times_of_an_open_loop_count_from_its_beginning() {
        let mut queue = HostQueue::new(arrivals(&[0, 10]), Pace::Open { time_scale: 0.5 }).beginning(at(7));
        assert_eq!(queue.next(at(0)), Submission::At(at(7)));
        assert!(matches!(queue.next(at(7)), Submission::Now(_)));
        assert_eq!(queue.next(at(7)), Submission::At(at(12)));
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
        assert!(matches!(queue.next(at(0)), Submission::Now(_)));
        assert!(matches!(queue.next(at(0)), Submission::Now(_)));
        assert_eq!(queue.next(at(0)), Submission::Wait);
        queue.answered(at(7), 0);
        assert_eq!(queue.next(at(7)), Submission::At(at(10)));
        assert!(matches!(queue.next(at(10)), Submission::Now(_)));
        assert_eq!(queue.outstanding(), 2);
    }

    #[test]
    fn a_closed_loop_in_bursts_submits_nothing_in_its_pauses() {
        let pace = Pace::Bursts { depth: 1, on: Duration::from_us(10), off: Duration::from_us(30) };
        let mut queue = HostQueue::new(arrivals(&[0; 4]), pace).beginning(at(5));
        assert!(matches!(queue.next(at(5)), Submission::Now(_)));
        queue.answered(at(9), 0);
        assert!(matches!(queue.next(at(9)), Submission::Now(_)));
        assert_eq!(queue.next(at(14)), Submission::Wait);
        queue.answered(at(20), 0);
        assert_eq!(queue.next(at(20)), Submission::At(at(45)));
        assert!(matches!(queue.next(at(45)), Submission::Now(_)));
        queue.answered(at(54), 0);
        assert!(matches!(queue.next(at(54)), Submission::Now(_)), "the burst is not over");
        queue.answered(at(55), 0);
        assert_eq!(queue.next(at(55)), Submission::End);
    }

    /// The queues of the next requests that may be submitted at `now`.
    fn queues_of(queue: &mut HostQueue<impl Iterator<Item = Arrival>>, now: Instant) -> Vec<u16> {
        let submitted = std::iter::from_fn(|| match queue.next(now) {
            Submission::Now(command) => Some(command.queue),
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
        let spread = Spread { queues: 3, is_bound: false };
        let mut queue = HostQueue::spread(arrivals(&[0; 64]), pace, spread);
        assert_eq!(queues_of(&mut queue, at(0)), [0, 1, 2, 0, 1, 2]);
        [2, 2, 0].into_iter().for_each(|from| queue.answered(at(1), from));
        assert_eq!(queues_of(&mut queue, at(1)), [2, 2, 0]);
    }

    #[test]
    fn a_bound_request_waits_for_its_own_queue() {
        let pace = Pace::Closed { depth: 1, think: Duration::from_us(2) };
        let mut queue = HostQueue::spread(of_two_processors(5), pace, Spread { queues: 4, is_bound: true });
        assert_eq!(queues_of(&mut queue, at(0)), [0, 1]);
        queue.answered(at(0), 1);
        assert!(queues_of(&mut queue, at(5)).is_empty(), "the next request belongs into queue 0");
        queue.answered(at(6), 0);
        assert_eq!(queues_of(&mut queue, at(8)), [0, 1]);
    }

    #[test]
    fn requests_that_come_by_their_times_go_to_the_queues_in_turn_or_by_processor() {
        let pace = Pace::Open { time_scale: 1.0 };
        let spread = |is_bound| Spread { queues: 3, is_bound };
        let mut in_turn = HostQueue::spread(of_two_processors(4), pace, spread(false));
        assert_eq!(queues_of(&mut in_turn, at(0)), [0, 1, 2, 0]);
        let mut bound = HostQueue::spread(of_two_processors(4), pace, spread(true));
        assert_eq!(queues_of(&mut bound, at(0)), [0, 2, 0, 2]);
    }
}
