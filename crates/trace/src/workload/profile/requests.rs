//! Requests of a profile, drawn without replacement from exact counts: the published numbers are met, and
//! only the order is random.

use wordline_kernel::{Bytes, Duration, Instant, Seed, Stream};

use super::bursts::{Bursts, Gaps};
use super::fit::{FirstTouch, OperationPlan, Plan};
use crate::stats::GRANULE;
use crate::{Op, Request};

/// Contiguous areas in which the data of a volume lie. Chosen: as many as the files that a server writes at a
/// time.
const LANES: usize = 50;
/// Number of hot lanes: a fifth, the share of addresses in ReSSD's figure 10.
const HOT_LANES: usize = LANES / 5;

/// Iterates over the requests of a [`Profile`](super::Profile).
///
/// Data lie in lanes, contiguous areas of the volume. A request that touches an address for the first time
/// goes to the end of the shorter of two randomly chosen lanes. Any other request goes to a random address
/// within the data of its lane. Reads and writes have separate lengths of the same lanes, so that reads touch
/// written data.
#[derive(Clone, Debug)]
pub struct Requests {
    reads: RequestUrn,
    writes: RequestUrn,
    hot_updates: f64,
    interval: Duration,
    /// Gaps that replace the interval if requests come in bursts.
    gaps: Option<Gaps>,
    /// Whether the last request was a read.
    was_read: Option<bool>,
    now: Instant,
    pitch: u64,
    order: Stream,
    address: Stream,
    time: Stream,
}

/// The remaining reads or writes.
#[derive(Clone, Debug)]
struct RequestUrn {
    /// Remaining requests of each size.
    sizes: Vec<(u64, u64)>,
    requests: u64,
    bytes: u64,
    /// Remaining share of `bytes` or `requests` that must touch an address for the first time.
    fresh: f64,
    by_bytes: bool,
    /// Alignment of addresses.
    align: u64,
    /// Length of each lane.
    lanes: [u64; LANES],
}

impl RequestUrn {
    fn new(side: &OperationPlan) -> Self {
        let (requests, bytes) = (side.requests(), side.bytes());
        let (fresh, by_bytes) = match side.fresh {
            FirstTouch::Bytes(share) => (share * bytes as f64, true),
            FirstTouch::Requests(share) => (share * requests as f64, false),
        };
        let whole = side.sizes.iter().all(|(size, _)| size.is_multiple_of(GRANULE));
        let align = if whole { GRANULE } else { 512 };
        Self { sizes: side.sizes.clone(), requests, bytes, fresh, by_bytes, align, lanes: [0; LANES] }
    }

    /// Bytes that will be touched for the first time.
    fn unique(&self) -> u64 {
        let mean = if self.by_bytes { 1.0 } else { self.bytes as f64 / self.requests.max(1) as f64 };
        (self.fresh * mean) as u64
    }

    /// Draws a size; every remaining request is equally likely.
    fn draw(&mut self, random: &mut Stream) -> u64 {
        let mut draw = random.below(self.requests);
        for (size, left) in &mut self.sizes {
            if draw < *left {
                *left -= 1;
                return *size;
            }
            draw -= *left;
        }
        unreachable!("the counts of the sizes add to the requests left")
    }

    /// Returns the address and size of the next request.
    fn next(&mut self, hot: f64, pitch: u64, order: &mut Stream, address: &mut Stream) -> (u64, u64) {
        let left = if self.by_bytes { self.bytes } else { self.requests } as f64;
        let size = self.draw(order);
        let cost = if self.by_bytes { size as f64 } else { 1.0 };
        let wants_fresh = order.unit() * left < self.fresh;
        let old = if wants_fresh { None } else { self.touched_address(size, hot, pitch, address) };
        self.requests -= 1;
        self.bytes -= size;
        let place = old.unwrap_or_else(|| {
            self.fresh = (self.fresh - cost).max(0.0);
            self.fresh_address(size, pitch, address)
        });
        (place, size)
    }

    /// Returns an address whose data were touched before, or `None` while no lane is long enough.
    fn touched_address(&self, size: u64, hot: f64, pitch: u64, address: &mut Stream) -> Option<u64> {
        let is_hot = address.unit() < hot;
        let lanes = if is_hot { 0..HOT_LANES } else { HOT_LANES..LANES };
        let (first, count) = (lanes.start, lanes.len());
        let start = address.below(count as u64) as usize;
        let fits = |lane: &usize| self.lanes[*lane] >= size;
        let lane =
            (0..count).map(|n| first + (start + n) % count).find(fits).or_else(|| (0..LANES).find(fits))?;
        let slots = (self.lanes[lane] - size) / self.align + 1;
        Some(lane as u64 * pitch + address.below(slots) * self.align)
    }

    /// Returns the end of the shorter of two lanes.
    fn fresh_address(&mut self, size: u64, pitch: u64, address: &mut Stream) -> u64 {
        let mut pick = || address.below(LANES as u64) as usize;
        let (one, other) = (pick(), pick());
        let mut lane = if self.lanes[one] <= self.lanes[other] { one } else { other };
        if self.lanes[lane] + size > pitch {
            lane = (0..LANES).min_by_key(|lane| self.lanes[*lane]).expect("there are lanes");
        }
        let place = lane as u64 * pitch + self.lanes[lane];
        self.lanes[lane] += size;
        place
    }
}

impl Requests {
    pub(super) fn new(plan: &Plan, bursts: Option<Bursts>, seed: Seed) -> Self {
        let (reads, writes) = (RequestUrn::new(&plan.reads), RequestUrn::new(&plan.writes));
        let largest = plan.reads.sizes.iter().chain(&plan.writes.sizes).map(|(size, _)| *size).max();
        // Space of a lane: the mean length of the lanes, a margin of a twentieth, and four of the largest
        // requests. If a chosen lane is full, the shortest lane is used, which is never longer than the mean.
        // So the margin is needed only for updates that are drawn before there is anything to update.
        let longest = reads.unique().max(writes.unique()) / LANES as u64;
        let pitch = (longest + longest / 20 + 4 * largest.unwrap_or(0)).next_multiple_of(1 << 20);
        Self {
            reads,
            writes,
            hot_updates: plan.hot_updates,
            interval: plan.interval,
            gaps: bursts.map(|bursts| Gaps::new(bursts, plan.interval, seed.stream("profile.bursts", 0))),
            was_read: None,
            now: Instant::ZERO,
            pitch,
            order: seed.stream("profile.order", 0),
            address: seed.stream("profile.address", 0),
            time: seed.stream("profile.time", 0),
        }
    }

    /// Whether the next of the `left` requests is a read.
    fn is_read(&mut self, left: u64) -> bool {
        if let (Some(gaps), Some(was_read)) = (&mut self.gaps, self.was_read) {
            let same = if was_read { &self.reads } else { &self.writes };
            if gaps.repeats_operation() && same.requests > 0 {
                return was_read;
            }
        }
        let is_read = self.order.below(left) < self.reads.requests;
        self.was_read = Some(is_read);
        is_read
    }

    /// Byte after the last that any request can touch.
    pub fn span(&self) -> Bytes {
        Bytes(self.pitch * LANES as u64)
    }
}

impl Iterator for Requests {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        let left = self.reads.requests + self.writes.requests;
        if left == 0 {
            return None;
        }
        let is_read = self.is_read(left);
        // A fifth of the reads goes to the hot fifth of the data, as no published table says more about
        // reads.
        let (op, urn, hot) = if is_read {
            (Op::Read, &mut self.reads, 0.2)
        } else {
            (Op::Write, &mut self.writes, self.hot_updates)
        };
        let (offset, size) = urn.next(hot, self.pitch, &mut self.order, &mut self.address);
        let arrival = self.now;
        if self.interval > Duration::ZERO {
            self.now += match &mut self.gaps {
                Some(gaps) => gaps.next(),
                None => Duration::from_ps((self.interval.ps() as f64 * self.time.exponential()) as u64),
            };
        }
        Some(Request { arrival, ..Request::new(op, Bytes(offset), Bytes(size)) })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.reads.requests + self.writes.requests) as usize;
        (left, Some(left))
    }
}
