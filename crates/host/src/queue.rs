//! Command queues: decide when the next request of a workload is submitted.
//!
//! - *Open loop*: requests are submitted at the times of the trace, whatever the device does.
//! - *Bounded loop*: as an open loop, but with at most a fixed number of requests outstanding. The other
//!   requests wait in the host.
//! - *Closed loop*: a fixed number of requests is outstanding. Each completion allows the next submission,
//!   after the think time.
//! - *Closed loop in bursts*: a closed loop with periodic pauses. During a pause outstanding commands
//!   complete, and none is submitted.
//! - *Source-paced*: the source keeps the time itself, and hands over its requests when they are due. An
//!   example is a set of jobs that each have a queue depth and a rate.

use std::collections::VecDeque;

use wordline_device::Command;
use wordline_kernel::{Duration, Instant};

/// The rule that decides when requests are submitted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// Submits requests at the times of the trace, stretched by a factor: 0.5 is twice as fast.
    Open {
        /// Factor on the time between requests.
        time_scale: f64,
    },
    /// Submits requests at the times of the trace, with at most `depth` outstanding in each queue. A request
    /// that is due while the queue is full waits in the host. Its latency counts from its submission.
    Bounded {
        /// Most requests outstanding in a queue.
        depth: u32,
        /// Factor on the time between requests.
        time_scale: f64,
    },
    /// Keeps `depth` requests outstanding in each queue.
    Closed {
        /// Requests outstanding in a queue.
        depth: u32,
        /// Think time: from a completion to the submission that it allows.
        think: Duration,
    },
    /// Keeps `depth` requests outstanding in each queue, in bursts with pauses between them.
    Bursts {
        /// Requests outstanding in a queue.
        depth: u32,
        /// Length of a burst, above zero.
        on: Duration,
        /// Length of the pause after a burst.
        off: Duration,
    },
    /// Submits requests as soon as the source has them. The source keeps the time and the queue depth itself.
    SourcePaced {
        /// Whether the source has times without a request, if the device keeps up.
        pauses: bool,
    },
}

impl Pace {
    /// Whether the host has times without a request, if the device keeps up: between the times of a trace,
    /// between bursts, or during think times.
    pub fn has_pauses(&self) -> bool {
        match self {
            Self::Open { .. } | Self::Bounded { .. } | Self::Bursts { .. } => true,
            Self::Closed { think, .. } => *think > Duration::ZERO,
            Self::SourcePaced { pauses } => *pauses,
        }
    }

    /// Whether the trace allows the submission of the arrival at `time` or earlier. Always true in closed
    /// loops.
    pub fn is_due_by(&self, arrival: &Arrival, time: Instant) -> bool {
        match self {
            Self::Open { time_scale } | Self::Bounded { time_scale, .. } => {
                scaled(arrival.time, *time_scale) <= time
            }
            Self::Closed { .. } | Self::Bursts { .. } | Self::SourcePaced { .. } => true,
        }
    }

    /// Whether the trace requires the submission of the arrival before `time`. Always false in closed loops.
    pub fn is_due_before(&self, arrival: &Arrival, time: Instant) -> bool {
        match self {
            Self::Open { time_scale } | Self::Bounded { time_scale, .. } => {
                scaled(arrival.time, *time_scale) < time
            }
            Self::Closed { .. } | Self::Bursts { .. } | Self::SourcePaced { .. } => false,
        }
    }

    /// Remaining time of a pause between bursts, at `since` after the begin of the workload; `None` during a
    /// burst.
    fn pause(&self, since: Duration) -> Option<Duration> {
        let Self::Bursts { on, off, .. } = self else { return None };
        let whole = *on + *off;
        let into = Duration::from_ps(since.ps() % whole.ps());
        (into >= *on).then(|| Duration::from_ps(whole.ps() - into.ps()))
    }
}

/// Assignment of requests to the submission queues of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueMapping {
    /// Queues that the host uses, at least one.
    pub queues: u16,
    /// Whether a request stays in the queue that its command names, modulo the number of queues, as operating
    /// systems assign a queue to each processor. Otherwise requests are spread round robin; in a closed loop
    /// the queues take turns as slots become free.
    pub is_bound: bool,
}

impl Default for QueueMapping {
    /// A single queue.
    fn default() -> Self {
        Self { queues: 1, is_bound: false }
    }
}

/// A request of a trace or a generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Arrival time in the clock of the trace; closed loops ignore it.
    pub time: Instant,
    /// The command to submit.
    pub command: Command,
}

/// The next action of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submission {
    /// Submit this command now.
    Submit(Command),
    /// Call again at this time.
    RetryAt(Instant),
    /// Submit nothing before the next completion.
    Wait,
    /// Submit nothing more: the workload has ended.
    End,
}

/// A source of requests: the workload. Every iterator over arrivals is a source.
pub trait Source {
    /// The next request. `None` at the end of the workload, or while the source waits for a completion. A
    /// call after the end returns `None`.
    fn next(&mut self) -> Option<Arrival>;

    /// Whether more requests may follow after a completion.
    #[inline]
    fn has_more(&self) -> bool {
        false
    }

    /// Advances the clock of the source to `now`, counted from the begin of the workload. Called only with
    /// the pace [`Pace::SourcePaced`].
    #[inline]
    fn advance_to(&mut self, _now: Instant) {}

    /// Time of the next request that does not depend on a completion, counted from the begin of the workload.
    #[inline]
    fn due(&self) -> Option<Instant> {
        None
    }

    /// Notifies the source that the command with this tag has completed and that its think time is over. Also
    /// called for a command that will never complete.
    #[inline]
    fn completed(&mut self, _tag: u32) {}
}

impl<I: Iterator<Item = Arrival>> Source for I {
    #[inline]
    fn next(&mut self) -> Option<Arrival> {
        Iterator::next(self)
    }
}

/// Free slots in the queues of a closed or bounded loop.
enum FreeSlots {
    /// Free slots of the only queue.
    One(u32),
    /// Free slots of each queue.
    Each(Vec<u32>),
    /// One entry for each free slot: the queue of the slot, in the order in which the slots became free.
    Any(VecDeque<u16>),
}

impl FreeSlots {
    fn new(pace: Pace, spread: QueueMapping) -> Self {
        let depth = match pace {
            Pace::Closed { depth, .. } | Pace::Bursts { depth, .. } | Pace::Bounded { depth, .. } => depth,
            Pace::Open { .. } | Pace::SourcePaced { .. } => 0,
        };
        if spread.queues == 1 {
            return Self::One(depth);
        }
        if spread.is_bound {
            return Self::Each(vec![depth; usize::from(spread.queues)]);
        }
        Self::Any((0..depth).flat_map(|_| 0..spread.queues).collect())
    }

    /// Takes a slot for a request that is bound to `queue`. Returns the queue to use, or `None` if no slot is
    /// free.
    #[inline]
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

    #[inline]
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
    /// Begin of the workload. The times of the trace count from here.
    begin: Instant,
    source: S,
    pace: Pace,
    spread: QueueMapping,
    /// The next two requests of the source. The first is next unless `second_is_next`.
    ahead: [Option<Arrival>; 2],
    second_is_next: bool,
    submitted: u64,
    completed: u64,
    lost: u64,
    /// Think times in progress, in the order of their ends: the end, the queue and the tag of the completed
    /// command. Only for a closed loop with a think time.
    thinking: VecDeque<(Instant, u16, u32)>,
    room: FreeSlots,
}

impl<S: Source> HostQueue<S> {
    /// A single queue fed by `source`.
    pub fn new(source: S, pace: Pace) -> Self {
        Self::spread(source, pace, QueueMapping::default())
    }

    /// Queues fed by `source`.
    pub fn spread(mut source: S, pace: Pace, spread: QueueMapping) -> Self {
        assert!(spread.queues > 0, "a host has a queue");
        let ahead = [source.next(), source.next()];
        let room = FreeSlots::new(pace, spread);
        Self {
            begin: Instant::ZERO,
            source,
            pace,
            spread,
            ahead,
            second_is_next: false,
            submitted: 0,
            completed: 0,
            lost: 0,
            thinking: VecDeque::new(),
            room,
        }
    }

    /// Sets the begin of the workload. Needed for a device that has run before.
    #[must_use]
    pub fn starting_at(self, begin: Instant) -> Self {
        Self { begin, ..self }
    }

    /// The action at `now`. The caller carries it out and calls again until it gets [`Submission::Wait`].
    #[inline]
    pub fn next(&mut self, now: Instant) -> Submission {
        if self.is_full() { Submission::Wait } else { self.next_with_slot(now) }
    }

    /// Whether the only queue of a closed or bounded loop is full: the next request has to wait for a
    /// completion.
    #[inline]
    fn is_full(&self) -> bool {
        matches!(self.room, FreeSlots::One(0))
            && matches!(self.pace, Pace::Closed { .. } | Pace::Bounded { .. })
            && self.thinking.is_empty()
            && self.ahead[usize::from(self.second_is_next)].is_some()
    }

    #[inline(never)]
    fn next_with_slot(&mut self, now: Instant) -> Submission {
        if !self.thinking.is_empty() {
            self.end_think_times(now);
        }
        if matches!(self.pace, Pace::SourcePaced { .. }) {
            self.source.advance_to(Instant::ZERO + (now - self.begin));
        }
        let Some(next) = self.next_ahead() else { return self.action_without_request() };
        let arrival = self.ahead[next].as_mut().expect("it is there");
        let bound = if self.spread.queues == 1 { 0 } else { arrival.command.queue % self.spread.queues };
        let (submitted, spread) = (self.submitted, self.spread);
        let in_turn = || if spread.is_bound { bound } else { (submitted % u64::from(spread.queues)) as u16 };
        let queue = match self.pace {
            Pace::SourcePaced { .. } => in_turn(),
            Pace::Open { time_scale } | Pace::Bounded { time_scale, .. } => {
                let time = self.begin + (scaled(arrival.time, time_scale) - Instant::ZERO);
                if time > now {
                    return Submission::RetryAt(time);
                }
                let is_open = matches!(self.pace, Pace::Open { .. });
                let queue = if is_open { Some(in_turn()) } else { self.room.take(bound) };
                let Some(queue) = queue else { return self.wait_for_slot() };
                queue
            }
            Pace::Closed { .. } | Pace::Bursts { .. } => {
                if let Some(pause) = self.pace.pause(now - self.begin) {
                    return Submission::RetryAt(now + pause);
                }
                let Some(queue) = self.room.take(bound) else { return self.wait_for_slot() };
                queue
            }
        };
        arrival.command.queue = queue;
        let command = arrival.command;
        self.ahead[next] = self.source.next();
        self.second_is_next = !self.second_is_next;
        self.submitted += 1;
        Submission::Submit(command)
    }

    /// Frees the slots of commands whose think time is over.
    fn end_think_times(&mut self, now: Instant) {
        while let Some((_, queue, tag)) = self.thinking.front().copied().filter(|(time, ..)| *time <= now) {
            self.thinking.pop_front();
            self.room.give(queue);
            self.source.completed(tag);
        }
    }

    /// Index of the next request in `ahead`.
    #[inline]
    fn next_ahead(&mut self) -> Option<usize> {
        let next = usize::from(self.second_is_next);
        if self.ahead[next].is_some() { Some(next) } else { self.poll_source(next) }
    }

    /// Index of the next request in `ahead`, if the entry `next` is empty: the other entry if it has a
    /// request. Otherwise asks the source again.
    fn poll_source(&mut self, next: usize) -> Option<usize> {
        if self.ahead[1 - next].is_some() {
            self.second_is_next = !self.second_is_next;
            return Some(1 - next);
        }
        if self.source.has_more() {
            self.ahead[next] = self.source.next();
        }
        self.ahead[next].is_some().then_some(next)
    }

    /// The action when there is no next request.
    fn action_without_request(&self) -> Submission {
        match self.source.due() {
            Some(due) => Submission::RetryAt(self.begin + (due - Instant::ZERO)),
            None if self.source.has_more() => self.wait_for_slot(),
            None => Submission::End,
        }
    }

    /// The action when nothing can be submitted before a slot becomes free.
    fn wait_for_slot(&self) -> Submission {
        self.thinking.front().map_or(Submission::Wait, |(time, ..)| Submission::RetryAt(*time))
    }

    /// The next request to submit, and the request after it.
    #[inline]
    pub fn upcoming(&self) -> [Option<&Command>; 2] {
        let [first, second] = &self.ahead;
        let (next, later) = if self.second_is_next { (second, first) } else { (first, second) };
        // `next` is empty if the source had no request at its last call.
        let (next, later) = if next.is_none() { (later, &None) } else { (next, later) };
        [next, later].map(|arrival| arrival.as_ref().map(|arrival| &arrival.command))
    }

    /// Notes the completion of a command.
    #[inline]
    pub fn completed(&mut self, now: Instant, command: &Command) {
        self.completed += 1;
        self.release_slot(now, command);
    }

    /// Notes that a command will never complete.
    pub fn lost(&mut self, now: Instant, command: &Command) {
        self.lost += 1;
        self.release_slot(now, command);
    }

    #[inline]
    fn release_slot(&mut self, now: Instant, command: &Command) {
        let Command { queue, tag, .. } = *command;
        match self.pace {
            Pace::Open { .. } => {}
            Pace::Closed { think, .. } if think > Duration::ZERO => {
                self.thinking.push_back((now + think, queue, tag));
            }
            Pace::Closed { .. } | Pace::Bursts { .. } | Pace::Bounded { .. } => {
                self.room.give(queue);
                self.source.completed(tag);
            }
            Pace::SourcePaced { .. } => self.source.completed(tag),
        }
    }

    /// The source.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// The source, mutable. A source that [`has_more`](Source::has_more) can be given more requests.
    pub fn source_mut(&mut self) -> &mut S {
        &mut self.source
    }

    /// Submitted requests that may still complete.
    pub fn outstanding(&self) -> u64 {
        self.submitted - self.completed - self.lost
    }

    /// Requests completed.
    pub fn total_completed(&self) -> u64 {
        self.completed
    }

    /// Requests submitted.
    pub fn total_submitted(&self) -> u64 {
        self.submitted
    }
}

/// `time` multiplied by `scale`, rounded down to a picosecond.
fn scaled(time: Instant, scale: f64) -> Instant {
    if scale == 1.0 { time } else { Instant::from_ps((time.ps() as f64 * scale) as u64) }
}

#[cfg(test)]
mod tests;
