//! The concurrent jobs of a file: merges their requests.

use std::collections::{BTreeSet, VecDeque};

use wordline_kernel::{Duration, Instant};

use super::lane::{Lane, LaneAction};
use super::settings::Scope;
use super::shared::Shared;
use crate::Request;

/// Requests of all jobs. The caller reports the current time and the completions of each lane.
#[derive(Clone, Debug)]
pub struct Jobs {
    /// Names of the jobs, and the job of each lane.
    names: Vec<String>,
    lanes: Vec<Lane>,
    starts: Vec<Start>,
    shared: Shared,
    /// Lanes that have not started, in the order of the file.
    pending: Vec<u16>,
    /// Whether a pending lane may have to start.
    is_start_possible: bool,
    /// Lanes that may issue a request, in the order in which they became ready.
    ready: VecDeque<u16>,
    /// Lanes that issue nothing before a time.
    sleeping: BTreeSet<(Instant, u16)>,
    /// Lanes that wait for the shares of others.
    stalled: Vec<u16>,
    waits: Vec<Wait>,
    /// Lanes of each job that have not ended, or have outstanding requests.
    unfinished: Vec<usize>,
    now: Instant,
    /// Number of started lanes that may still issue requests.
    asking: usize,
    /// Number of started lanes that may still issue requests or have outstanding ones.
    alive: usize,
    /// Requests left.
    left: u64,
    /// Whether jobs end others when they end.
    ends: bool,
    /// Notes for the user on the traces that the jobs replay.
    pub notes: Vec<String>,
}

/// When a lane starts, and with whom it ends.
#[derive(Clone, Debug)]
pub(super) struct Start {
    pub job: u16,
    /// Time from the beginning of the run.
    pub delay: Duration,
    pub stonewall: bool,
    /// Job that has to end first.
    pub wait_for: Option<u16>,
    /// Numbers of the groups of results, and between `stonewall`s.
    pub group: u32,
    pub section: u32,
    pub scope: Scope,
}

/// State of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    Pending,
    /// Ready, or at rest until a time.
    Running,
    Completion,
    Others,
    Ended,
}

impl Jobs {
    /// Creates the jobs of these lanes.
    pub(super) fn new(
        lanes: Vec<Lane>,
        starts: Vec<Start>,
        names: Vec<String>,
        shared: Shared,
        limit: Option<u64>,
        ends: bool,
    ) -> Self {
        let mut unfinished = vec![0; names.len()];
        starts.iter().for_each(|start| unfinished[usize::from(start.job)] += 1);
        let mut jobs = Self {
            names,
            pending: (0..lanes.len() as u16).collect(),
            waits: vec![Wait::Pending; lanes.len()],
            lanes,
            starts,
            shared,
            is_start_possible: true,
            ready: VecDeque::new(),
            sleeping: BTreeSet::new(),
            stalled: Vec::new(),
            unfinished,
            now: Instant::ZERO,
            asking: 0,
            alive: 0,
            left: limit.unwrap_or(u64::MAX),
            ends,
            notes: Vec::new(),
        };
        jobs.start_pending();
        jobs
    }

    /// Names of the jobs, in the order of the file.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Job of a lane, as index into the names.
    #[inline]
    pub fn job_of(&self, lane: u16) -> u16 {
        self.starts[usize::from(lane)].job
    }

    /// Starts the lanes whose time has come. Returns whether it started one.
    fn start_pending(&mut self) -> bool {
        if !std::mem::take(&mut self.is_start_possible) {
            return false;
        }
        let before = self.pending.len();
        let mut is_blocked = false;
        for number in std::mem::take(&mut self.pending) {
            let start = &self.starts[usize::from(number)];
            let is_early = self.now.since(Instant::ZERO) < start.delay;
            // As in fio: a lane before its time does not hold the others up.
            is_blocked |= !is_early && start.stonewall && self.alive > 0;
            let waits = start.wait_for.is_some_and(|job| self.unfinished[usize::from(job)] > 0);
            if is_blocked || is_early || waits {
                self.pending.push(number);
                continue;
            }
            self.lanes[usize::from(number)].begin(self.now, &mut self.shared);
            self.waits[usize::from(number)] = Wait::Running;
            self.ready.push_back(number);
            self.asking += 1;
            self.alive += 1;
        }
        self.pending.len() < before
    }

    /// Earliest start of a lane that waits for its time.
    fn next_start(&self) -> Option<Instant> {
        let time = |number: &u16| Instant::ZERO + self.starts[usize::from(*number)].delay;
        self.pending.iter().map(time).filter(|time| *time > self.now).min()
    }

    /// Advances the time to `now`, counted from the beginning of the run.
    pub fn advance_to(&mut self, now: Instant) {
        if !self.pending.is_empty() && self.next_start().is_some_and(|time| time <= now) {
            self.is_start_possible = true;
        }
        self.now = now;
        while let Some((_, number)) = self.sleeping.first().copied().filter(|(time, _)| *time <= now) {
            self.sleeping.pop_first();
            self.ready.push_back(number);
        }
        self.start_pending();
    }

    /// Returns the next request and the number of its lane; `None` until the next due time or completion, and
    /// at the end.
    pub fn ask(&mut self) -> Option<(u16, Request)> {
        if self.left == 0 {
            return None;
        }
        loop {
            let Some(number) = self.ready.pop_front() else {
                if self.start_pending() {
                    continue;
                }
                return None;
            };
            let index = usize::from(number);
            if self.waits[index] == Wait::Ended {
                continue;
            }
            match self.lanes[index].step(self.now, &mut self.shared) {
                LaneAction::Issue(request) => {
                    self.ready.push_back(number);
                    self.wake_stalled();
                    self.left -= u64::from(self.left < u64::MAX);
                    return Some((number, request));
                }
                LaneAction::WaitUntil(time) => {
                    self.sleeping.insert((time, number));
                }
                LaneAction::WaitForCompletion => self.waits[index] = Wait::Completion,
                LaneAction::WaitForOthers => {
                    self.waits[index] = Wait::Others;
                    self.stalled.push(number);
                }
                LaneAction::Ended => {
                    self.waits[index] = Wait::Ended;
                    self.asking -= 1;
                    self.wake_stalled();
                    if self.lanes[index].is_idle() {
                        self.finished(number);
                    }
                }
            }
        }
    }

    /// Lets lanes look at their share again.
    fn wake_stalled(&mut self) {
        for number in std::mem::take(&mut self.stalled) {
            if self.waits[usize::from(number)] == Wait::Others {
                self.waits[usize::from(number)] = Wait::Running;
                self.ready.push_back(number);
            }
        }
    }

    /// Notes that a lane has ended and has no outstanding request.
    fn finished(&mut self, number: u16) {
        self.alive -= 1;
        self.unfinished[usize::from(self.starts[usize::from(number)].job)] -= 1;
        self.is_start_possible = true;
        if self.ends {
            self.end_others(number);
        }
    }

    /// Ends the jobs in the scope of a lane that has ended.
    fn end_others(&mut self, number: u16) {
        let ended = self.starts[usize::from(number)].clone();
        let is_in_scope = |other: &Start| match ended.scope {
            Scope::Group => other.group == ended.group,
            Scope::Stonewall => other.section == ended.section,
            Scope::All => true,
        };
        for other in 0..self.lanes.len() {
            if !is_in_scope(&self.starts[other]) {
                continue;
            }
            match self.waits[other] {
                Wait::Ended => continue,
                Wait::Pending => {
                    self.unfinished[usize::from(self.starts[other].job)] -= 1;
                    self.waits[other] = Wait::Ended;
                    continue;
                }
                Wait::Running | Wait::Completion | Wait::Others => {}
            }
            self.lanes[other].terminate();
            self.sleeping.retain(|(_, sleeper)| usize::from(*sleeper) != other);
            if self.waits[other] != Wait::Running || !self.ready.contains(&(other as u16)) {
                self.ready.push_back(other as u16);
            }
            self.waits[other] = Wait::Running;
        }
        let waits = &self.waits;
        self.pending.retain(|number| waits[usize::from(*number)] == Wait::Pending);
    }

    /// Earliest time at which a lane becomes ready without a completion.
    pub fn due(&self) -> Option<Instant> {
        if self.left == 0 {
            return None;
        }
        let sleeper = self.sleeping.first().map(|(time, _)| *time);
        if self.pending.is_empty() {
            sleeper
        } else {
            [sleeper, self.next_start()].into_iter().flatten().min()
        }
    }

    /// Reports a completion of this lane.
    pub fn completed(&mut self, number: u16) {
        let index = usize::from(number);
        if self.lanes[index].completed() {
            if self.waits[index] == Wait::Ended {
                self.finished(number);
            }
        } else if self.waits[index] == Wait::Completion {
            self.waits[index] = Wait::Running;
            self.ready.push_back(number);
        }
    }

    /// Whether no request is left.
    pub fn is_over(&self) -> bool {
        self.left == 0 || self.asking == 0 && self.pending.is_empty()
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
