//! The concurrent jobs of a file: merges their requests.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

use wordline_kernel::{Duration, Instant};

use super::lane::{Lane, LaneAction};
use crate::Request;

/// Requests of all jobs. The caller reports the current time and the completions of each lane.
#[derive(Clone, Debug)]
pub struct Jobs {
    /// Names of the jobs, and the job of each lane.
    names: Vec<String>,
    of_lane: Vec<u16>,
    lanes: Vec<Lane>,
    /// Groups not yet started. A group begins when all jobs of the previous group have ended.
    groups: VecDeque<Range<usize>>,
    /// Lanes that may issue a request, in the order in which they became ready.
    ready: VecDeque<u16>,
    /// Lanes that issue nothing before a time.
    sleeping: BTreeSet<(Instant, u16)>,
    /// Lanes that issue nothing before a completion.
    is_waiting: Vec<bool>,
    now: Instant,
    /// Number of lanes of the current group that may still issue requests.
    asking: usize,
    /// Number of lanes that may still issue requests or have outstanding ones.
    alive: usize,
    /// Requests left.
    left: u64,
}

impl Jobs {
    /// Creates the jobs of the lanes in `groups`. `names` has the name of each job and its number of
    /// consecutive lanes.
    pub(super) fn new(
        lanes: Vec<Lane>,
        groups: Vec<Range<usize>>,
        names: Vec<(String, usize)>,
        limit: Option<u64>,
    ) -> Self {
        let of_lane =
            (0..).zip(&names).flat_map(|(job, (_, lanes))| std::iter::repeat_n(job, *lanes)).collect();
        let mut jobs = Self {
            names: names.into_iter().map(|(name, _)| name).collect(),
            of_lane,
            is_waiting: vec![false; lanes.len()],
            lanes,
            groups: groups.into(),
            ready: VecDeque::new(),
            sleeping: BTreeSet::new(),
            now: Instant::ZERO,
            asking: 0,
            alive: 0,
            left: limit.unwrap_or(u64::MAX),
        };
        jobs.start_next_group();
        jobs
    }

    /// Names of the jobs, in the order of the file.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Job of a lane, as index into the names.
    #[inline]
    pub fn job_of(&self, lane: u16) -> u16 {
        self.of_lane[usize::from(lane)]
    }

    /// Begins the next group, if one is left.
    fn start_next_group(&mut self) {
        let Some(group) = self.groups.pop_front() else { return };
        (self.asking, self.alive) = (group.len(), group.len());
        for number in group {
            self.lanes[number].begin(self.now);
            self.ready.push_back(number as u16);
        }
    }

    /// Advances the time to `now`, counted from the beginning of the run.
    pub fn advance_to(&mut self, now: Instant) {
        self.now = now;
        while let Some((_, number)) = self.sleeping.first().copied().filter(|(time, _)| *time <= now) {
            self.sleeping.pop_first();
            self.ready.push_back(number);
        }
    }

    /// Returns the next request and the number of its lane; `None` until the next due time or completion, and
    /// at the end.
    pub fn ask(&mut self) -> Option<(u16, Request)> {
        if self.left == 0 {
            return None;
        }
        loop {
            let Some(number) = self.ready.pop_front() else {
                if self.alive > 0 || self.groups.is_empty() {
                    return None;
                }
                self.start_next_group();
                continue;
            };
            let lane = &mut self.lanes[usize::from(number)];
            match lane.step(self.now) {
                LaneAction::Issue(request) => {
                    self.ready.push_back(number);
                    self.left -= u64::from(self.left < u64::MAX);
                    return Some((number, request));
                }
                LaneAction::WaitUntil(time) => {
                    self.sleeping.insert((time, number));
                }
                LaneAction::WaitForCompletion => self.is_waiting[usize::from(number)] = true,
                LaneAction::Ended => {
                    self.asking -= 1;
                    self.alive -= usize::from(lane.is_idle());
                }
            }
        }
    }

    /// Earliest time at which a lane becomes ready without a completion.
    pub fn due(&self) -> Option<Instant> {
        if self.left == 0 { None } else { self.sleeping.first().map(|(time, _)| *time) }
    }

    /// Reports a completion of this lane.
    pub fn completed(&mut self, number: u16) {
        let index = usize::from(number);
        if self.lanes[index].completed() {
            self.alive -= 1;
        } else if std::mem::take(&mut self.is_waiting[index]) {
            self.ready.push_back(number);
        }
    }

    /// Whether no request is left.
    pub fn is_over(&self) -> bool {
        self.left == 0 || self.asking == 0 && self.groups.is_empty()
    }

    /// Returns the remaining requests in an order that does not depend on a device: as if each request
    /// completed 100 us after its submission.
    pub fn in_turn(self) -> impl Iterator<Item = Request> + Send {
        FixedLatencyRequests { jobs: self, under_way: VecDeque::new() }
    }
}

/// Latency of requests without a device. Chosen: about the latency of a flash read.
const ASSUMED_LATENCY: Duration = Duration::from_us(100);

struct FixedLatencyRequests {
    jobs: Jobs,
    /// Completion time and lane of each outstanding request.
    under_way: VecDeque<(Instant, u16)>,
}

impl Iterator for FixedLatencyRequests {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        loop {
            if let Some((number, request)) = self.jobs.ask() {
                let now = self.jobs.now;
                let answer = Instant::from_ps(now.ps().saturating_add(ASSUMED_LATENCY.ps()));
                self.under_way.push_back((answer, number));
                return Some(request);
            }
            if self.jobs.is_over() {
                return None;
            }
            let answer = self.under_way.front().map(|(time, _)| *time);
            let next = [answer, self.jobs.due()].into_iter().flatten().min()?;
            while let Some((_, number)) = self.under_way.front().copied().filter(|(time, _)| *time <= next) {
                self.under_way.pop_front();
                self.jobs.completed(number);
            }
            self.jobs.advance_to(next);
        }
    }
}
