//! The requests of a run. The host's queue draws them one by one; each becomes a device command, or ends the
//! run.

use std::collections::{BTreeMap, VecDeque};

use wordline_host::{Arrival, Source};
use wordline_kernel::{Bytes, Complaints, Instant, Seed};

use crate::admission::Admission;
use crate::error::{Error, Result};
use crate::quantity::Quantity;
use wordline_trace::workload::application::{Application, Threads, WaitsFor};
use wordline_trace::workload::fio::Jobs;
use wordline_trace::{Locator, Request, Requests};

/// A function that returns the requests for one more pass over a workload. Passes are numbered from 1. A
/// generator draws new requests, a trace repeats its own.
pub type PassSource = Box<dyn Fn(u64) -> Result<Requests> + Send>;

/// The source of the requests of a run.
pub enum RequestSource {
    /// A sequence that does not depend on completions. A request that cannot be read ends the run with its
    /// error.
    InOrder(Requests),
    /// A sequence from a generator, which cannot fail. It does not depend on completions.
    Generated(Box<dyn Iterator<Item = Request> + Send>),
    /// The threads of an application. Each thread continues after the completion that it waits for.
    Threads(Box<Threads>),
    /// The jobs of a fio job file, each at its own pace.
    Jobs(Box<Jobs>),
    /// A session, which submits requests one by one.
    Submitted(Submitted),
}

/// Requests that were submitted to a session and that the host's queue has not drawn yet.
#[derive(Debug, Default)]
pub struct Submitted {
    requests: VecDeque<Request>,
    /// The number of requests submitted.
    count: u64,
    /// Arrival time of the last submitted request.
    last: Instant,
    /// Whether the session has ended, so that no request follows.
    is_over: bool,
}

impl RequestSource {
    /// Requests of a generator, which cannot fail.
    pub fn generated(requests: impl Iterator<Item = Request> + Send + 'static) -> Self {
        Self::Generated(Box::new(requests))
    }

    /// The requests of an application on a device of `capacity`, and the greatest number of outstanding
    /// requests. If the user sets a `queue_depth`, a thread continues after any completion.
    ///
    /// # Errors
    /// Everything that is wrong with the application, or a device that is too small.
    pub fn of(
        application: &Application,
        queue_depth: Option<u32>,
        seed: Seed,
        capacity: Bytes,
    ) -> std::result::Result<(Self, u32), Complaints> {
        application.threads(seed, capacity).map(|threads| Self::of_threads(threads, application, queue_depth))
    }

    /// As [`of`](Self::of), with the threads of the application.
    pub fn of_threads(threads: Threads, application: &Application, queue_depth: Option<u32>) -> (Self, u32) {
        let count = threads.count();
        match (application.waits_for, queue_depth) {
            // The operating system's own requests count as one more thread.
            (WaitsFor::OwnAnswer, None) => (Self::Threads(Box::new(threads)), count + 1),
            _ => (Self::generated(threads.in_turn()), count),
        }
    }

    /// The requests in a fixed order, for uses without a device. Threads take turns with one request each;
    /// jobs run as on a device with constant latency.
    pub fn in_order(self) -> Requests {
        match self {
            Self::InOrder(requests) => requests,
            Self::Generated(requests) => Box::new(requests.map(Ok)),
            Self::Threads(threads) => Box::new(threads.in_turn().map(Ok)),
            Self::Jobs(jobs) => Box::new(jobs.in_turn().map(Ok)),
            Self::Submitted(Submitted { requests, .. }) => Box::new(requests.into_iter().map(Ok)),
        }
    }
}

/// The reason why a run ends before its last request.
enum EarlyEnd {
    /// The device cannot take the next request.
    Rejected { found: String, wanted: String },
    /// The next request cannot be read.
    Failed(wordline_trace::Error),
    /// The reason was already reported to the caller.
    Reported,
}

/// The error of a request that a device cannot take. It names the line of the request if there is one.
pub(crate) fn rejected(
    number: u64,
    source: &str,
    locator: Option<&Locator>,
    (found, wanted): (String, String),
) -> Error {
    let located = locator.and_then(|locator| locator.error(number, &found, &wanted));
    if let Some(error) = located {
        return error.into();
    }
    Error::Argument { what: format!("request {number} of {source}"), found, wanted }
}

/// Draws requests from their source and turns them into commands for the device.
pub(crate) struct Arrivals {
    requests: RequestSource,
    admission: Admission,
    /// The tag of the next request.
    tag: u32,
    /// The number of requests drawn, and its limit.
    drawn: u64,
    most: u64,
    /// The thread or job that waits for the completion of a command, by the tag of the command. Empty for
    /// other sources.
    threads: BTreeMap<u32, u16>,
    /// The reason why no request follows, once a request could not be drawn.
    cut_short: Option<EarlyEnd>,
}

impl Arrivals {
    /// Arrivals from `requests`, within the limits of a device.
    pub fn new(requests: RequestSource, admission: Admission) -> Self {
        Self {
            requests,
            admission,
            tag: 0,
            drawn: 0,
            most: u64::MAX,
            threads: BTreeMap::new(),
            cut_short: None,
        }
    }

    /// Reports the error of the request that ended the run early, once. `submitted` requests of `source`
    /// preceded it. `locator` looks up the line of the request.
    pub fn check(&mut self, submitted: u64, source: &str, locator: Option<&Locator>) -> Result<()> {
        let Some(why) = self.cut_short.take() else { return Ok(()) };
        self.cut_short = Some(EarlyEnd::Reported);
        match why {
            EarlyEnd::Reported => Ok(()),
            EarlyEnd::Failed(error) => Err(error.into()),
            EarlyEnd::Rejected { found, wanted } => {
                Err(rejected(submitted + 1, source, locator, (found, wanted)))
            }
        }
    }

    /// The names of the jobs of a job file; empty for other sources.
    pub fn jobs(&self) -> &[String] {
        match &self.requests {
            RequestSource::Jobs(jobs) => jobs.names(),
            _ => &[],
        }
    }

    /// The job that submitted the outstanding request with this tag, as an index into [`jobs`](Self::jobs).
    #[inline]
    pub fn job_of(&self, tag: u32) -> Option<u16> {
        match &self.requests {
            RequestSource::Jobs(jobs) => self.threads.get(&tag).map(|lane| jobs.job_of(*lane)),
            _ => None,
        }
    }

    /// Whether the requests come from a session.
    pub fn accepts_requests(&self) -> bool {
        matches!(self.requests, RequestSource::Submitted(_))
    }

    /// Queues a request of a session. `now` counts from the beginning of the session. Returns the number of
    /// the request, from 0.
    ///
    /// # Errors
    /// [`Error::Argument`] if the device cannot take it, its arrival is in the past, or the requests come
    /// from `source`.
    pub fn enqueue(&mut self, request: &Request, now: Instant, source: &str) -> Result<u64> {
        let arrival = self.admission.arrival(request, 0);
        let RequestSource::Submitted(given) = &mut self.requests else {
            return Err(Error::Argument {
                what: "a request of a session".into(),
                found: format!("one in addition to the requests of {source}"),
                wanted: "a session whose requests are submitted".into(),
            });
        };
        let number = given.count + 1;
        if !self.admission.accepts(&arrival) {
            return Err(rejected(number, source, None, self.admission.rejection(request, &arrival)));
        }
        let late = [
            (self.admission.is_late(&arrival, now), now, "the present of the session"),
            (self.admission.is_before(&arrival, given.last), given.last, "the request before it"),
        ];
        if let Some((_, earliest, what)) = late.into_iter().find(|(is_late, ..)| *is_late) {
            let [found, wanted] = [request.arrival, earliest].map(|time| Quantity::Seconds(time.seconds()));
            let wanted = format!("one from {wanted} on, {what}");
            return Err(rejected(number, source, None, (format!("an arrival at {found}"), wanted)));
        }
        given.requests.push_back(*request);
        (given.count, given.last) = (number, arrival.time);
        Ok(number - 1)
    }

    /// Ends the requests of a session.
    pub fn end(&mut self) {
        if let RequestSource::Submitted(given) = &mut self.requests {
            given.is_over = true;
        }
    }

    /// Limits the total number of requests, including those already drawn.
    pub fn limit_to(&mut self, most: u64) {
        self.most = most;
    }

    /// The number of requests that were submitted and are not drawn yet.
    pub fn pending(&self) -> u64 {
        match &self.requests {
            RequestSource::Submitted(given) => given.requests.len() as u64,
            _ => 0,
        }
    }
}

impl Source for Arrivals {
    #[inline]
    fn next(&mut self) -> Option<Arrival> {
        if self.cut_short.is_some() || self.drawn >= self.most {
            return None;
        }
        let (request, thread) = match &mut self.requests {
            RequestSource::Generated(requests) => (requests.next()?, None),
            RequestSource::InOrder(requests) => match requests.next()? {
                Ok(request) => (request, None),
                Err(error) => {
                    self.cut_short = Some(EarlyEnd::Failed(error));
                    return None;
                }
            },
            RequestSource::Threads(threads) => {
                let (thread, request) = threads.ask()?;
                (request, Some(thread))
            }
            RequestSource::Jobs(jobs) => {
                let (job, request) = jobs.ask()?;
                (request, Some(job))
            }
            RequestSource::Submitted(given) => (given.requests.pop_front()?, None),
        };
        let arrival = self.admission.arrival(&request, self.tag);
        if !self.admission.accepts(&arrival) {
            let (found, wanted) = self.admission.rejection(&request, &arrival);
            self.cut_short = Some(EarlyEnd::Rejected { found, wanted });
            return None;
        }
        if let Some(thread) = thread {
            self.threads.insert(self.tag, thread);
        }
        self.tag = self.tag.wrapping_add(1);
        self.drawn += 1;
        Some(arrival)
    }

    #[inline]
    fn has_more(&self) -> bool {
        let more = match &self.requests {
            RequestSource::Threads(threads) => !threads.is_over(),
            RequestSource::Jobs(jobs) => !jobs.is_over(),
            RequestSource::Submitted(given) => !given.is_over || !given.requests.is_empty(),
            RequestSource::InOrder(_) | RequestSource::Generated(_) => false,
        };
        more && self.cut_short.is_none() && self.drawn < self.most
    }

    #[inline]
    fn advance_to(&mut self, now: Instant) {
        if let RequestSource::Jobs(jobs) = &mut self.requests {
            jobs.advance_to(now);
        }
    }

    #[inline]
    fn due(&self) -> Option<Instant> {
        match &self.requests {
            RequestSource::Jobs(jobs) if self.cut_short.is_none() => jobs.due(),
            _ => None,
        }
    }

    #[inline]
    fn completed(&mut self, tag: u32) {
        let mut who = || self.threads.remove(&tag).expect("a thread waits for each completion");
        match &mut self.requests {
            RequestSource::Threads(threads) => threads.completed(who()),
            RequestSource::Jobs(jobs) => jobs.completed(who()),
            RequestSource::InOrder(_) | RequestSource::Generated(_) | RequestSource::Submitted(_) => {}
        }
    }
}
