//! A background scrubber beside a host: it reads the whole drive in order, as fast as the host's read latency
//! permits.
//!
//! The host reads at random, one request each [`HOST_INTERVAL`]. The scrubber has one read outstanding, and
//! pauses after each read. After each host completion it adjusts the pause, like congestion control: it
//! doubles the pause if the latency exceeded the target, and shortens it a little otherwise. Each decision
//! follows from the last host latency, so neither a trace nor a queue depth can replace the scrubber.

use wordline_kernel::{Bytes, Duration, Instant, Seed, Stream};
use wordline_lab::trace::{Op, Request};
use wordline_lab::{CompletedRequest, Device, Error, RunOptions, Session, StepTarget, Summary, Workload};

/// Time between two host requests. Chosen: a small drive is busy, but not saturated.
pub const HOST_INTERVAL: Duration = Duration::from_us(100);
/// Size of a host request.
const HOST_SIZE: Bytes = Bytes::kib(4);
/// Size of a scrubber request.
const SCRUB_SIZE: Bytes = Bytes::kib(64);
/// Decrease of the scrubber's pause after a fast host completion. Chosen.
const STEP: Duration = Duration::from_us(10);
/// The shortest and the longest pause. Chosen.
const PAUSES: [Duration; 2] = [Duration::from_us(10), Duration::from_ms(5)];

/// The results of scrubbing beside a host.
#[derive(Debug)]
pub struct Outcome {
    /// Bytes read by the scrubber.
    pub scrubbed: Bytes,
    /// Share of host reads that exceeded the target latency.
    pub slow: f64,
    /// The result of the session, host and scrubber together.
    pub summary: Summary,
}

/// The scrubber: its position on the drive, and the time of its next read.
struct Scrubber {
    capacity: Bytes,
    at: Bytes,
    pause: Duration,
    next: Instant,
    /// Number of the outstanding read of the scrubber.
    outstanding: Option<u64>,
}

impl Scrubber {
    /// The next read, if one is due at `now`.
    fn request(&mut self, now: Instant) -> Option<Request> {
        if self.outstanding.is_some() || now < self.next {
            return None;
        }
        let request = Request { arrival: now, ..Request::new(Op::Read, self.at, SCRUB_SIZE) };
        self.at = Bytes((self.at.0 + SCRUB_SIZE.0) % (self.capacity.0 - SCRUB_SIZE.0));
        Some(request)
    }

    /// Completes a read of the scrubber, and pauses.
    fn complete_read(&mut self, now: Instant) {
        self.outstanding = None;
        self.next = now + self.pause;
    }

    /// Adjusts the pause after a host completion.
    fn note_host_completion(&mut self, is_slow: bool) {
        let pause = if is_slow { self.pause * 2 } else { self.pause.saturating_sub(STEP) };
        self.pause = pause.clamp(PAUSES[0], PAUSES[1]);
    }
}

/// Runs `requests` host reads beside a scrubber that keeps their latency within `target`. Without a target
/// there is no scrubber.
///
/// # Errors
/// Errors of the session.
pub fn scrub(device: &Device, requests: u64, target: Option<Duration>, seed: u64) -> Result<Outcome, Error> {
    let mut session = Session::open(device, &Workload::submitted(), &RunOptions::seed(seed))?;
    let capacity = device.capacity();
    let mut random = Seed(seed).stream("examples.session", 0);
    let mut host_next = session.now();
    let mut scrubber =
        Scrubber { capacity, at: Bytes(0), pause: PAUSES[0], next: host_next, outstanding: None };
    let (mut asked, mut slow, mut scrubbed) = (0, 0_u64, Bytes(0));
    while asked < requests {
        let now = session.now();
        if now >= host_next {
            session.submit(&read_of_host(now, capacity, &mut random))?;
            (asked, host_next) = (asked + 1, now + HOST_INTERVAL);
        }
        if target.is_some()
            && let Some(request) = scrubber.request(now)
        {
            scrubber.outstanding = Some(session.submit(&request)?);
        }
        let waits = target.is_some() && scrubber.outstanding.is_none();
        session.advance(StepTarget::CompletionBy(if waits {
            host_next.min(scrubber.next)
        } else {
            host_next
        }))?;
        for CompletedRequest { number, size, time, latency, .. } in session.completions() {
            if scrubber.outstanding == Some(u64::from(number)) {
                scrubbed += size;
                scrubber.complete_read(time);
            } else if let Some(target) = target {
                scrubber.note_host_completion(latency > target);
                slow += u64::from(latency > target);
            }
        }
    }
    let summary = session.finish()?;
    Ok(Outcome { scrubbed, slow: slow as f64 / requests as f64, summary })
}

/// A host read at a random address.
fn read_of_host(now: Instant, capacity: Bytes, random: &mut Stream) -> Request {
    let page = random.below(capacity.0 / HOST_SIZE.0);
    Request { arrival: now, ..Request::new(Op::Read, HOST_SIZE * page, HOST_SIZE) }
}
