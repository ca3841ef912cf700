//! The requests of a run, as the host's queue draws them: each is a command of the device, or ends the run.

use std::collections::BTreeMap;

use wordline_host::{Arrival, Source};
use wordline_kernel::{Bytes, Complaints, Seed};

use crate::admission::Admission;
use crate::error::{Error, Result};
use crate::trace::{self, Request, Requests};
use crate::workload::application::{Application, Threads, WaitsFor};

/// Where the requests of a run come from.
pub enum Incoming {
    /// One after the other, whatever the device does. One that cannot be had ends the run with its error.
    InOrder(Requests),
    /// The same of a generator, whose requests can all be had.
    Generated(Box<dyn Iterator<Item = Request> + Send>),
    /// From the threads of an application, each of which goes on when it has its answer.
    ByThread(Box<Threads>),
}

impl Incoming {
    /// Requests that can all be had, one after the other.
    pub fn generated(requests: impl Iterator<Item = Request> + Send + 'static) -> Self {
        Self::Generated(Box::new(requests))
    }

    /// Those of an application on a device of `capacity`, and how many are outstanding at most. Where the user wants a `queue_depth` of
    /// requests, threads wait for any answer.
    ///
    /// # Errors
    /// Everything that is wrong with the application, and a device that is too small.
    pub fn of(
        application: &Application,
        queue_depth: Option<u32>,
        seed: Seed,
        capacity: Bytes,
    ) -> std::result::Result<(Self, u32), Complaints> {
        let threads = application.threads(seed, capacity)?;
        let count = threads.count();
        Ok(match (application.waits_for, queue_depth) {
            // The system is one more.
            (WaitsFor::OwnAnswer, None) => (Self::ByThread(Box::new(threads)), count + 1),
            _ => (Self::generated(threads.in_turn()), count),
        })
    }

    /// Without answers: of threads one request in the turn of each.
    pub fn in_order(self) -> Requests {
        match self {
            Self::InOrder(requests) => requests,
            Self::Generated(requests) => Box::new(requests.map(Ok)),
            Self::ByThread(threads) => Box::new(threads.in_turn().map(Ok)),
        }
    }
}

/// Why the requests of a run end before their time.
enum CutShort {
    /// The device cannot take the next one.
    Refused { found: String, wanted: String },
    /// The next one cannot be read.
    Failed(trace::Error),
}

/// Requests on their way to a device.
pub(crate) struct Arrivals {
    requests: Incoming,
    admission: Admission,
    /// The tag of the next one.
    tag: u32,
    /// Where requests come from threads, which thread waits for the answer to which tag.
    threads: BTreeMap<u32, u16>,
    /// Set once a request cannot be had; none comes after it.
    cut_short: Option<CutShort>,
}

impl Arrivals {
    /// To a device with these limits.
    pub fn new(requests: Incoming, admission: Admission) -> Self {
        Self { requests, admission, tag: 0, threads: BTreeMap::new(), cut_short: None }
    }

    /// The error of the request that ended the run before its time, if one did; `submitted` came before it, from `source`.
    pub fn check(self, submitted: u64, source: &str) -> Result<()> {
        match self.cut_short {
            None => Ok(()),
            Some(CutShort::Failed(error)) => Err(error.into()),
            Some(CutShort::Refused { found, wanted }) => {
                Err(Error::Argument { what: format!("request {} of {source}", submitted + 1), found, wanted })
            }
        }
    }
}

impl Source for Arrivals {
    #[inline]
    fn next(&mut self) -> Option<Arrival> {
        if self.cut_short.is_some() {
            return None;
        }
        let (request, thread) = match &mut self.requests {
            Incoming::Generated(requests) => (requests.next()?, None),
            Incoming::InOrder(requests) => match requests.next()? {
                Ok(request) => (request, None),
                Err(error) => {
                    self.cut_short = Some(CutShort::Failed(error));
                    return None;
                }
            },
            Incoming::ByThread(threads) => {
                let (thread, request) = threads.ask()?;
                (request, Some(thread))
            }
        };
        let arrival = self.admission.arrival(&request, self.tag);
        if !self.admission.takes(&arrival) {
            let (found, wanted) = self.admission.refusal(&request, &arrival);
            self.cut_short = Some(CutShort::Refused { found, wanted });
            return None;
        }
        if let Some(thread) = thread {
            self.threads.insert(self.tag, thread);
        }
        self.tag = self.tag.wrapping_add(1);
        Some(arrival)
    }

    #[inline]
    fn waits(&self) -> bool {
        matches!(&self.requests, Incoming::ByThread(threads) if !threads.is_over())
            && self.cut_short.is_none()
    }

    #[inline]
    fn answered(&mut self, tag: u32) {
        if let Incoming::ByThread(threads) = &mut self.requests {
            let thread = self.threads.remove(&tag).expect("a thread waits for each answer");
            threads.answered(thread);
        }
    }
}
