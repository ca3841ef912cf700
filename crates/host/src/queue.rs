//! Command queues: when the next request of a workload is submitted.
//!
//! In an *open loop* requests come at the times that the trace gives, whatever the device does; in a *bounded* one no more than a
//! fixed number of them is outstanding, and the others wait in the host. In a *closed loop* a
//! fixed number of requests is outstanding, and an answer lets the next one in, after the think time. A closed loop in bursts
//! pauses again and again: then outstanding commands are answered, and none is submitted. A source that keeps the time itself, such as
//! jobs with depths and rates of their own, gives its requests when they are due.

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
    /// At the times of the trace, and at most this many outstanding at once in each queue: a request whose time has come waits in the host until
    /// there is room, and its latency counts from its submission.
    Bounded {
        /// Requests outstanding in a queue at most.
        depth: u32,
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
    /// As soon as the source has them: it keeps the time and the number outstanding itself.
    BySource {
        /// Whether it leaves a device that keeps up with it time without any request.
        pauses: bool,
    },
}

impl Pace {
    /// Whether the host leaves a device that keeps up with it time without any request: by the times of a trace, between bursts, and while it
    /// thinks.
    pub fn has_pauses(&self) -> bool {
        match self {
            Self::Open { .. } | Self::Bounded { .. } | Self::Bursts { .. } => true,
            Self::Closed { think, .. } => *think > Duration::ZERO,
            Self::BySource { pauses } => *pauses,
        }
    }

    /// Whether the arrival is submitted by `time`, as far as the trace decides that.
    pub fn submits_by(&self, arrival: &Arrival, time: Instant) -> bool {
        match self {
            Self::Open { time_scale } | Self::Bounded { time_scale, .. } => {
                scaled(arrival.time, *time_scale) <= time
            }
            Self::Closed { .. } | Self::Bursts { .. } | Self::BySource { .. } => true,
        }
    }

    /// Whether the trace has the arrival submitted before `time`.
    pub fn submits_before(&self, arrival: &Arrival, time: Instant) -> bool {
        match self {
            Self::Open { time_scale } | Self::Bounded { time_scale, .. } => {
                scaled(arrival.time, *time_scale) < time
            }
            Self::Closed { .. } | Self::Bursts { .. } | Self::BySource { .. } => false,
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
    /// When, in the trace's own time; a closed loop ignores it.
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

/// The requests of a workload. Any iterator is one.
pub trait Source {
    /// The next request; none at the end, and where it waits for an answer. It is asked again after the end, and has none then either.
    fn next(&mut self) -> Option<Arrival>;

    /// Whether there will be more, once something is answered.
    #[inline]
    fn waits(&self) -> bool {
        false
    }

    /// Notes that it is `now`, since the beginning of the workload. Told where the pace is [`Pace::BySource`].
    #[inline]
    fn pass(&mut self, _now: Instant) {}

    /// When it will have a request that waits for no answer, since the beginning of the workload.
    #[inline]
    fn due(&self) -> Option<Instant> {
        None
    }

    /// Notes that the host has the answer to the command with this tag, and that its think time is over; or that there will be none.
    #[inline]
    fn answered(&mut self, _tag: u32) {}
}

impl<I: Iterator<Item = Arrival>> Source for I {
    #[inline]
    fn next(&mut self) -> Option<Arrival> {
        Iterator::next(self)
    }
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
            Pace::Closed { depth, .. } | Pace::Bursts { depth, .. } | Pace::Bounded { depth, .. } => depth,
            Pace::Open { .. } | Pace::BySource { .. } => 0,
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
    /// Closed loop with think time: when there is room again, in order, in which queue, and the tag of the command that left it.
    thinking: VecDeque<(Instant, u16, u32)>,
    room: Room,
}

impl<S: Source> HostQueue<S> {
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
        if self.is_full() { Submission::Wait } else { self.next_with_room(now) }
    }

    /// Whether the only queue of a closed or bounded loop has no room before the next answer for the request that is next.
    #[inline]
    fn is_full(&self) -> bool {
        matches!(self.room, Room::One(0))
            && matches!(self.pace, Pace::Closed { .. } | Pace::Bounded { .. })
            && self.thinking.is_empty()
            && self.ahead[usize::from(self.second_is_next)].is_some()
    }

    #[inline(never)]
    fn next_with_room(&mut self, now: Instant) -> Submission {
        if !self.thinking.is_empty() {
            self.wake(now);
        }
        if matches!(self.pace, Pace::BySource { .. }) {
            self.source.pass(Instant::ZERO + (now - self.begin));
        }
        let Some(next) = self.next_ahead() else { return self.without_next() };
        let arrival = self.ahead[next].as_mut().expect("it is there");
        let bound = if self.spread.queues == 1 { 0 } else { arrival.command.queue % self.spread.queues };
        let (submitted, spread) = (self.submitted, self.spread);
        let in_turn = || if spread.is_bound { bound } else { (submitted % u64::from(spread.queues)) as u16 };
        let queue = match self.pace {
            Pace::BySource { .. } => in_turn(),
            Pace::Open { time_scale } | Pace::Bounded { time_scale, .. } => {
                let time = self.begin + (scaled(arrival.time, time_scale) - Instant::ZERO);
                if time > now {
                    return Submission::At(time);
                }
                let is_open = matches!(self.pace, Pace::Open { .. });
                let queue = if is_open { Some(in_turn()) } else { self.room.take(bound) };
                let Some(queue) = queue else { return self.until_room() };
                queue
            }
            Pace::Closed { .. } | Pace::Bursts { .. } => {
                if let Some(pause) = self.pace.pause(now - self.begin) {
                    return Submission::At(now + pause);
                }
                let Some(queue) = self.room.take(bound) else { return self.until_room() };
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

    /// Gives room to the requests whose think time is over.
    fn wake(&mut self, now: Instant) {
        while let Some((_, queue, tag)) = self.thinking.front().copied().filter(|(time, ..)| *time <= now) {
            self.thinking.pop_front();
            self.room.give(queue);
            self.source.answered(tag);
        }
    }

    /// Where the next request is in `ahead`.
    #[inline]
    fn next_ahead(&mut self) -> Option<usize> {
        let next = usize::from(self.second_is_next);
        if self.ahead[next].is_some() { Some(next) } else { self.next_of_waiting(next) }
    }

    /// The same where the source had none for the place of the next request when it was asked last.
    fn next_of_waiting(&mut self, next: usize) -> Option<usize> {
        if self.ahead[1 - next].is_some() {
            self.second_is_next = !self.second_is_next;
            return Some(1 - next);
        }
        if self.source.waits() {
            self.ahead[next] = self.source.next();
        }
        self.ahead[next].is_some().then_some(next)
    }

    /// The action where there is no next request.
    fn without_next(&self) -> Submission {
        match self.source.due() {
            Some(due) => Submission::At(self.begin + (due - Instant::ZERO)),
            None if self.source.waits() => self.until_room(),
            None => Submission::End,
        }
    }

    /// The action where nothing is submitted before there is room.
    fn until_room(&self) -> Submission {
        self.thinking.front().map_or(Submission::Wait, |(time, ..)| Submission::At(*time))
    }

    /// The request that is submitted next, and the one after it.
    #[inline]
    pub fn upcoming(&self) -> [Option<&Command>; 2] {
        let [first, second] = &self.ahead;
        let (next, later) = if self.second_is_next { (second, first) } else { (first, second) };
        // The source had none for the place of the next request when it was asked last.
        let (next, later) = if next.is_none() { (later, &None) } else { (next, later) };
        [next, later].map(|arrival| arrival.as_ref().map(|arrival| &arrival.command))
    }

    /// Notes an answer to a command.
    #[inline]
    pub fn answered(&mut self, now: Instant, command: &Command) {
        self.answered += 1;
        self.make_room(now, command);
    }

    /// Notes that a command will never be answered.
    pub fn lost(&mut self, now: Instant, command: &Command) {
        self.lost += 1;
        self.make_room(now, command);
    }

    #[inline]
    fn make_room(&mut self, now: Instant, command: &Command) {
        let Command { queue, tag, .. } = *command;
        match self.pace {
            Pace::Open { .. } => {}
            Pace::Closed { think, .. } if think > Duration::ZERO => {
                self.thinking.push_back((now + think, queue, tag));
            }
            Pace::Closed { .. } | Pace::Bursts { .. } | Pace::Bounded { .. } => {
                self.room.give(queue);
                self.source.answered(tag);
            }
            Pace::BySource { .. } => self.source.answered(tag),
        }
    }

    /// The source.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// The source, to which requests can be added that it said it would have later ([`Source::waits`]).
    pub fn source_mut(&mut self) -> &mut S {
        &mut self.source
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
mod tests;
