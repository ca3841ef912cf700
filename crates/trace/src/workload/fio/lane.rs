//! A lane, that is, a clone of a job: when it issues its requests, its passes, and the flushes and reads
//! between them.

use wordline_kernel::{Bytes, Duration, Instant, Seed, Stream};

use super::clock::{Clock, later};
use super::cursor::Span;
use super::generator::{Draft, Generator};
use super::replay::ReplayedTrace;
use super::settings::{Durability, Ops, Settings, Verify, ZoneMode};
use super::shared::{Flow, Shared};
use super::values::Amount;
use super::written::Written;
use crate::{Op, Request};

/// Next action of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneAction {
    /// The lane issues this request.
    Issue(Request),
    /// The lane issues nothing before this time.
    WaitUntil(Instant),
    /// The lane issues nothing before a completion.
    WaitForCompletion,
    /// The lane issues nothing before another lane of its group has issued a request or ended.
    WaitForOthers,
    /// The lane has ended.
    Ended,
}

/// A clone of a job.
#[derive(Clone, Debug)]
pub struct Lane {
    number: u16,
    generator: Generator,
    limits: Limits,
    clock: Clock,
    rate: Stream,
    in_flight: InFlight,
    phase: Phase,
    durability: Durability,
    verify: Verify,
    written: Written,
    /// Reads of a batch of `verify_backlog` that are left.
    batch: u64,
    drains_for_batch: bool,
    flow: Option<Flow>,
    flow_sleep: Duration,
    drains_for_flow: bool,
    /// Whether a job that is ahead of its rate waits for its requests first.
    is_inline: bool,
    /// The trace that takes the place of generated requests.
    replay: Option<ReplayedTrace>,
}

/// Part of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Requests,
    /// The last flush and the reads of what was written.
    End {
        flushes: bool,
    },
    Over,
}

/// Bytes and requests of a lane, and of the current pass.
#[derive(Clone, Debug)]
struct Limits {
    /// Bytes of a pass; none for a pass without end.
    pass: Option<u64>,
    /// Bytes and requests of all passes; none without end.
    total: Option<u64>,
    requests: Option<u64>,
    /// Bytes after which no pass begins, once all loops are over.
    bytes: u64,
    loops: u64,
    /// Largest request: a rest below it does not begin a pass.
    largest: u64,
    /// Whether `io_size` is given, so that passes go on after the last file.
    has_io_size: bool,
    is_endless: bool,
    counts_writes_alone: bool,
    issued: u64,
    issued_requests: u64,
    issued_in_pass: u64,
    writes: u64,
    /// Whether the last request was a write.
    is_after_write: bool,
}

/// Outstanding requests.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    depth: u64,
    low: u64,
    reap: u64,
    outstanding: u64,
    /// Completions since the queue was full; `None` if it is not.
    reaped: Option<u64>,
    /// Kind of the next request, already drawn and not yet due.
    drawn: Option<usize>,
    /// Pause that begins once no request is outstanding.
    sleep: Option<Duration>,
    /// Request that begins once no other is outstanding.
    held: Option<Draft>,
}

impl Lane {
    /// Creates a clone of a job that accesses `spans`. It is number `number` of all clones.
    pub fn new(settings: &Settings, spans: Vec<Span>, seed: Seed, number: u64) -> Self {
        let limits = Limits::new(settings, &spans);
        let size = pass_size(&spans, settings);
        let queue = &settings.queue;
        let depth = settings.depth();
        let low = if queue.low == 0 || queue.low > depth { depth } else { queue.low };
        let order = &settings.order;
        let may_repeat =
            settings.mix.is_random && !settings.has_map() || settings.mix.step < 0 || spans.len() > 1;
        Self {
            number: number as u16,
            generator: Generator::new(settings, spans, seed, number, size, limits.bytes),
            clock: Clock::new(settings),
            rate: seed.stream("fio.rate", number),
            in_flight: InFlight {
                depth,
                low,
                reap: queue.reap.min(depth),
                outstanding: 0,
                reaped: None,
                drawn: None,
                sleep: None,
                held: None,
            },
            phase: Phase::Requests,
            durability: settings.durability,
            verify: settings.verify,
            written: Written::new(may_repeat || limits.bytes > size),
            limits,
            batch: 0,
            drains_for_batch: false,
            flow: Flow::new(order.flow_id, order.flow),
            flow_sleep: order.flow_sleep,
            drains_for_flow: settings.zones.kind() == ZoneMode::Zbd,
            is_inline: !queue.is_offloaded,
            replay: None,
        }
    }

    /// The lane with the requests of a trace.
    pub fn replaying(self, replay: ReplayedTrace) -> Self {
        Self { replay: Some(replay), ..self }
    }

    /// Starts the lane at `now`.
    pub fn begin(&mut self, now: Instant, shared: &mut Shared) {
        self.clock.start(now);
        self.replay.iter_mut().for_each(|replay| replay.begin(now));
        if let Some(flow) = &mut self.flow {
            flow.join(shared);
        }
    }

    /// Ends the lane before its time.
    pub fn terminate(&mut self) {
        self.phase = Phase::Over;
    }

    /// Returns the next action at `now`.
    pub fn step(&mut self, now: Instant, shared: &mut Shared) -> LaneAction {
        if now >= self.clock.end {
            self.phase = Phase::Over;
        }
        loop {
            if self.phase == Phase::Over {
                if let Some(mut flow) = self.flow.take() {
                    flow.leave(shared);
                }
                return LaneAction::Ended;
            }
            if self.replay.is_some() {
                if let Some(action) = self.replay_next(now) {
                    return action;
                }
                self.phase = Phase::Over;
                continue;
            }
            if let Some(action) = self.pause(now) {
                return action;
            }
            if self.in_flight.must_wait() {
                return LaneAction::WaitForCompletion;
            }
            if let Some(draft) = self.in_flight.held {
                if self.in_flight.outstanding > 0 {
                    return LaneAction::WaitForCompletion;
                }
                self.in_flight.held = None;
                return LaneAction::Issue(self.issue_after_reset(draft, now));
            }
            let action = match self.phase {
                Phase::Requests => self.request(now, shared),
                Phase::End { flushes } => self.end(flushes, now),
                Phase::Over => None,
            };
            if let Some(action) = action {
                return action;
            }
        }
    }

    /// Returns the next action of a lane that replays a trace; `None` at its end.
    fn replay_next(&mut self, now: Instant) -> Option<LaneAction> {
        let is_over = self.limits.requests.is_some_and(|requests| self.limits.issued_requests >= requests);
        let replay = self.replay.as_mut().filter(|_| !is_over)?;
        let (due, request) = replay.next(now)?;
        if due > now {
            return Some(LaneAction::WaitUntil(due.min(self.clock.end)));
        }
        if self.in_flight.outstanding >= self.in_flight.depth {
            return Some(LaneAction::WaitForCompletion);
        }
        replay.advance();
        self.limits.issued_requests += 1;
        Some(LaneAction::Issue(self.send(request, now)))
    }

    /// Reports a completion. Returns whether it was the last one of a lane that has ended.
    pub fn completed(&mut self) -> bool {
        self.in_flight.outstanding -= 1;
        if let Some(reaped) = &mut self.in_flight.reaped {
            *reaped += 1;
        }
        self.clock.completed();
        self.phase == Phase::Over && self.in_flight.outstanding == 0
    }

    /// Whether nothing is outstanding.
    pub fn is_idle(&self) -> bool {
        self.in_flight.outstanding == 0
    }

    /// Pauses for think time, or until the rate allows a request. `None` without a pause.
    fn pause(&mut self, now: Instant) -> Option<LaneAction> {
        if self.clock.wants_pause(now, self.in_flight.outstanding) {
            return Some(LaneAction::WaitForCompletion);
        }
        if let Some(sleep) = self.in_flight.sleep {
            if self.in_flight.outstanding > 0 {
                return Some(LaneAction::WaitForCompletion);
            }
            self.in_flight.sleep = None;
            self.clock.resume = self.clock.resume.max(later(now, sleep));
        }
        (now < self.clock.resume).then(|| LaneAction::WaitUntil(self.clock.resume.min(self.clock.end)))
    }

    /// Issues a request of the pass. `None` at its end.
    fn request(&mut self, now: Instant, shared: &mut Shared) -> Option<LaneAction> {
        if let Some(action) = self.read_back(now) {
            return Some(action);
        }
        if self.limits.is_reached() {
            self.end_pass();
            return None;
        }
        if self.limits.wants_flush(self.durability) {
            self.limits.is_after_write = false;
            return Some(LaneAction::Issue(self.flush(now)));
        }
        if let Some(action) = self.wait_for_share(now, shared) {
            return Some(action);
        }
        let kind = match self.due_kind(now) {
            Ok(kind) => kind,
            Err(action) => return Some(action),
        };
        let Some(draft) = self.generator.next(kind, &mut shared.zones) else {
            self.end_pass();
            return None;
        };
        if let Some(flow) = &mut self.flow {
            flow.count(shared);
        }
        self.limits.count(&draft);
        self.clock.count(kind, draft.size, &mut self.rate);
        self.remember(&draft);
        if draft.waits && self.in_flight.outstanding > 0 {
            self.in_flight.held = Some(draft);
            return Some(LaneAction::WaitForCompletion);
        }
        Some(LaneAction::Issue(self.issue_after_reset(draft, now)))
    }

    /// Keeps a write that is read later. After `verify_backlog` of them a batch of reads begins.
    fn remember(&mut self, draft: &Draft) {
        if draft.kind != 1 || !self.verify.is_on || self.verify.skips_reads {
            return;
        }
        self.written.add(draft.address, draft.size);
        let Verify { backlog, batch, .. } = self.verify;
        if backlog > 0 && self.written.count().is_multiple_of(backlog) {
            self.batch = if batch > 0 { batch } else { backlog };
            self.drains_for_batch = true;
        }
    }

    fn end_pass(&mut self) {
        self.phase = Phase::End { flushes: self.durability.at_end && self.limits.writes > 0 };
        self.batch = 0;
    }

    /// Reads a batch of what was written, once the writes have completed.
    fn read_back(&mut self, now: Instant) -> Option<LaneAction> {
        if self.batch == 0 {
            return None;
        }
        if self.drains_for_batch && self.in_flight.outstanding > 0 {
            return Some(LaneAction::WaitForCompletion);
        }
        self.drains_for_batch = false;
        self.batch -= 1;
        let Some((address, size)) = self.written.pop() else {
            self.batch = 0;
            return None;
        };
        Some(LaneAction::Issue(self.issue(Draft::read(address, size), now)))
    }

    /// Waits while the lane has had more than its share of the requests.
    fn wait_for_share(&mut self, now: Instant, shared: &Shared) -> Option<LaneAction> {
        if !self.flow.as_ref().is_some_and(|flow| flow.is_ahead(shared)) {
            return None;
        }
        let sleeps = self.flow_sleep > Duration::ZERO;
        if (sleeps || self.drains_for_flow) && self.in_flight.outstanding > 0 {
            return Some(LaneAction::WaitForCompletion);
        }
        Some(match sleeps {
            true => LaneAction::WaitUntil(later(now, self.flow_sleep).min(self.clock.end)),
            false => LaneAction::WaitForOthers,
        })
    }

    /// Returns the kind of the next request, or the wait for its time.
    fn due_kind(&mut self, now: Instant) -> Result<usize, LaneAction> {
        let kind = match self.in_flight.drawn.take() {
            Some(kind) => kind,
            None => self.generator.draw_kind(),
        };
        let due = self.clock.due(kind);
        if due <= now {
            return Ok(kind);
        }
        self.in_flight.drawn = Some(kind);
        let others_due = if self.generator.is_mixed() { self.clock.due(1 - kind) } else { due };
        if others_due <= now {
            // If a kind is ahead of its rate, the other kind continues.
            return Ok(1 - kind);
        }
        let next = due.min(others_due);
        self.clock.holds();
        if self.is_inline && self.in_flight.outstanding > 0 {
            // fio waits for all completions, and then for as long as the rate asked for before.
            self.in_flight.sleep = Some(next.since(now));
            return Err(LaneAction::WaitForCompletion);
        }
        Err(LaneAction::WaitUntil(next.min(self.clock.end)))
    }

    /// Issues what follows the requests of a pass: a flush, and the reads of what was written. `None` if the
    /// next pass begins, or the lane is over.
    fn end(&mut self, flushes: bool, now: Instant) -> Option<LaneAction> {
        let reads = self.verify.is_on && self.written.count() > 0;
        let continues = self.limits.continues();
        if !flushes && !reads && !continues {
            self.phase = Phase::Over;
            return None;
        }
        if self.in_flight.outstanding > 0 && (flushes || !reads || self.batch == 0) {
            return Some(LaneAction::WaitForCompletion);
        }
        if flushes {
            self.phase = Phase::End { flushes: false };
            return Some(LaneAction::Issue(self.flush(now)));
        }
        if let Some((address, size)) = self.written.pop() {
            // The batch is the whole list, so that the reads do not wait for each other.
            self.batch = self.written.count();
            return Some(LaneAction::Issue(self.issue(Draft::read(address, size), now)));
        }
        self.generator.reset();
        self.limits.begin_pass();
        self.phase = Phase::Requests;
        None
    }

    fn flush(&mut self, now: Instant) -> Request {
        self.send(Request::new(Op::Flush, Bytes(0), Bytes(0)), now)
    }

    /// Issues the reset of the zone of a write, which then waits for it, or the request itself. A trim of a zone
    /// is its reset.
    fn issue_after_reset(&mut self, draft: Draft, now: Instant) -> Request {
        let Some(zone) = draft.reset else { return self.issue(draft, now) };
        if draft.kind == 1 {
            self.in_flight.held = Some(Draft { reset: None, ..draft });
        }
        self.send(Request::new(Op::ZoneReset, Bytes(zone), Bytes(0)), now)
    }

    fn issue(&mut self, draft: Draft, now: Instant) -> Request {
        let op = [Op::Read, if draft.appends { Op::ZoneAppend } else { Op::Write }, Op::Discard][draft.kind];
        let request = Request {
            fua: draft.kind == 1 && (self.durability.is_sync || self.durability.fua),
            stream: draft.stream,
            ..Request::new(op, Bytes(draft.address), Bytes(draft.size))
        };
        self.send(request, now)
    }

    /// Counts a request that is issued at `now` as outstanding.
    fn send(&mut self, request: Request, now: Instant) -> Request {
        self.in_flight.outstanding += 1;
        Request { arrival: now, cpu: Some(self.number), ..request }
    }
}

impl InFlight {
    /// Whether the queue is full, or was full and is not refilled yet.
    fn must_wait(&mut self) -> bool {
        if self.outstanding >= self.depth && self.reaped.is_none() {
            self.reaped = Some(0);
        }
        if self.reaped.is_some_and(|reaped| reaped >= self.reap) && self.outstanding <= self.low {
            self.reaped = None;
        }
        self.reaped.is_some() || self.outstanding >= self.depth
    }
}

impl Limits {
    fn new(settings: &Settings, spans: &[Span]) -> Self {
        let whole: u64 = spans.iter().map(|span| span.length).sum();
        let io_size = settings.total.bytes.map(|bytes| bytes.of(whole, settings.zones.size));
        let is_trim_write = settings.mix.ops == Ops::TrimWrite;
        let is_endless = settings.is_endless();
        let mut limits = Self {
            pass: None,
            total: None,
            requests: None,
            bytes: 0,
            loops: settings.total.loops,
            largest: settings.largest(),
            has_io_size: io_size.is_some(),
            is_endless,
            counts_writes_alone: is_trim_write,
            issued: 0,
            issued_requests: 0,
            issued_in_pass: 0,
            writes: 0,
            is_after_write: false,
        };
        let size = pass_size(spans, settings);
        limits.bytes = io_size.unwrap_or(size);
        // A job that writes at random without a map, or in order, goes on in the same pass.
        let goes_on = settings.writes() && (!settings.mix.is_random || !settings.place.has_map);
        let mut pass = if goes_on { size.max(limits.bytes) } else { size };
        if is_trim_write {
            pass = pass.saturating_add(limits.bytes);
        }
        if settings.verify.is_on && settings.verify.backlog > 0 && settings.writes() {
            pass = pass.saturating_add(size);
        }
        limits.pass = (!is_endless || settings.verify.is_on).then_some(pass);
        limits.total = (!is_endless).then(|| limits.bytes.saturating_mul(limits.loops));
        let each = settings.total.requests.filter(|_| !is_endless);
        limits.requests = each.map(|requests| {
            let twice = if is_trim_write { 2 } else { 1 };
            requests.saturating_mul(twice).saturating_mul(limits.loops)
        });
        limits
    }

    fn count(&mut self, draft: &Draft) {
        self.issued_in_pass = self.issued_in_pass.saturating_add(draft.size);
        self.issued_requests += 1;
        if draft.kind == 1 || !self.counts_writes_alone {
            self.issued = self.issued.saturating_add(draft.size);
        }
        self.is_after_write = draft.kind == 1;
        self.writes += u64::from(self.is_after_write);
    }

    /// Whether the pass has had its bytes or requests.
    fn is_reached(&self) -> bool {
        let is = |limit: Option<u64>, count: u64| limit.is_some_and(|limit| count >= limit);
        is(self.total, self.issued)
            || is(self.requests, self.issued_requests)
            || is(self.pass, self.issued_in_pass)
    }

    /// Whether a flush follows the last write.
    fn wants_flush(&self, durability: Durability) -> bool {
        let is_due = |every: u64| every > 0 && self.writes.is_multiple_of(every);
        self.is_after_write && (is_due(durability.fsync) || is_due(durability.fdatasync))
    }

    /// Whether another pass begins after this one.
    fn continues(&self) -> bool {
        if self.issued_in_pass == 0 {
            return false;
        }
        if self.is_endless {
            return true;
        }
        if self.total.is_some_and(|total| self.issued >= total)
            || self.requests.is_some_and(|requests| self.issued_requests >= requests)
        {
            return false;
        }
        // A rest below a request does not begin a pass. Without io_size, the end of the files is the end.
        let rest = self.bytes.saturating_sub(self.issued);
        self.loops > 1 || self.has_io_size && rest >= self.largest
    }

    fn begin_pass(&mut self) {
        self.loops = self.loops.saturating_sub(1).max(1);
        self.issued_in_pass = 0;
    }
}

/// Bytes of a pass over the files: `size`, if it is given in bytes and is not beyond them.
fn pass_size(spans: &[Span], settings: &Settings) -> u64 {
    let whole: u64 = spans.iter().map(|span| span.length).sum();
    match settings.place.size {
        Some(Amount::Bytes(size)) => size.min(whole),
        _ => whole,
    }
}
