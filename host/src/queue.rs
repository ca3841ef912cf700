//! Command queues: when the next request of a workload is submitted.
//!
//! In an *open loop* requests come at the times that the trace gives, whatever the device does. In a *closed loop* a
//! fixed number of requests is outstanding, and an answer lets the next one in, after the think time.

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
    /// So many outstanding at once.
    Closed {
        /// Requests outstanding.
        depth: u32,
        /// Time between an answer and the submission that it allows.
        think: Duration,
    },
}

impl Pace {
    /// Whether the arrival is submitted by `time`, as far as the trace decides that.
    pub fn submits_by(&self, arrival: &Arrival, time: Instant) -> bool {
        match self {
            Self::Open { time_scale } => scaled(arrival.time, *time_scale) <= time,
            Self::Closed { .. } => true,
        }
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

/// What the queue wants done.
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

/// The queue between a workload and a device.
pub struct HostQueue<S> {
    source: S,
    pace: Pace,
    next: Option<Arrival>,
    submitted: u64,
    answered: u64,
    /// Closed loop with think time: when slots become free again, in order.
    thinking: std::collections::VecDeque<Instant>,
    free: u32,
}

impl<S: Iterator<Item = Arrival>> HostQueue<S> {
    /// A queue that draws from `source`.
    pub fn new(mut source: S, pace: Pace) -> Self {
        let next = source.next();
        let free = if let Pace::Closed { depth, .. } = pace { depth } else { 0 };
        Self { source, pace, next, submitted: 0, answered: 0, thinking: Default::default(), free }
    }

    /// What to do at `now`. The caller does it and asks again until told to wait.
    #[inline]
    pub fn next(&mut self, now: Instant) -> Submission {
        let Some(arrival) = self.next else { return Submission::End };
        match self.pace {
            Pace::Open { time_scale } => {
                let time = scaled(arrival.time, time_scale);
                if time > now {
                    return Submission::At(time);
                }
            }
            Pace::Closed { .. } => {
                while self.thinking.front().is_some_and(|time| *time <= now) {
                    self.thinking.pop_front();
                    self.free += 1;
                }
                if self.free == 0 {
                    return self.thinking.front().map_or(Submission::Wait, |time| Submission::At(*time));
                }
                self.free -= 1;
            }
        }
        self.next = self.source.next();
        self.submitted += 1;
        Submission::Now(arrival.command)
    }

    /// Notes an answer.
    #[inline]
    pub fn answered(&mut self, now: Instant) {
        self.answered += 1;
        if let Pace::Closed { think, .. } = self.pace {
            if think == Duration::ZERO {
                self.free += 1;
            } else {
                self.thinking.push_back(now + think);
            }
        }
    }

    /// Requests submitted and not answered.
    pub fn outstanding(&self) -> u64 {
        self.submitted - self.answered
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
    fn a_closed_loop_keeps_its_depth_and_thinks() {
        let pace = Pace::Closed { depth: 2, think: Duration::from_us(3) };
        let mut queue = HostQueue::new(arrivals(&[0; 4]), pace);
        assert!(matches!(queue.next(at(0)), Submission::Now(_)));
        assert!(matches!(queue.next(at(0)), Submission::Now(_)));
        assert_eq!(queue.next(at(0)), Submission::Wait);
        queue.answered(at(7));
        assert_eq!(queue.next(at(7)), Submission::At(at(10)));
        assert!(matches!(queue.next(at(10)), Submission::Now(_)));
        assert_eq!(queue.outstanding(), 2);
    }
}
