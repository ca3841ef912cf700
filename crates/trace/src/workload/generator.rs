//! Requests of a workload, one by one.

use wordline_kernel::{Bytes, Complaints, Seed, Stream};

use super::address::Addresses;
use super::arrival::Clock;
use super::config::Workload;
use crate::{Op, Request};

/// Iterates over the requests of a [`Workload`]. Address, offset in a cell of addresses, size, kind and time have
/// a random stream each, so that a change of one does not affect the others.
#[derive(Clone, Debug)]
pub struct Generator {
    left: u64,
    align: u64,
    /// Slots at which every size fits into the region.
    slots: u64,
    addresses: Addresses,
    clock: Clock,
    /// Slots of a request, and the cumulative weight up to it.
    sizes: Vec<(u64, u64)>,
    /// Thresholds for 53-bit draws: a read below the first, a discard from there to below the second, and so
    /// on.
    read_below: f64,
    discard_below: f64,
    zero_below: f64,
    compare_below: f64,
    address: Stream,
    offset: Stream,
    size: Stream,
    op: Stream,
    time: Stream,
}

impl Workload {
    /// Returns the requests of this workload on a device of `capacity` logical bytes.
    ///
    /// # Errors
    /// The complaints of [`check`](Self::check), or a region smaller than the largest request.
    pub fn generator(&self, seed: Seed, capacity: Bytes) -> Result<Generator, Complaints> {
        self.check()?;
        let region = Bytes((capacity.0 as f64 * self.region) as u64);
        let largest = self.sizes.iter().map(|share| share.size).max().unwrap_or_default();
        let mut complaints = Complaints::default();
        complaints.require(largest <= region, "region", region, format!("at least one request of {largest}"));
        complaints.into_result(())?;
        Ok(Generator::new(self, seed, region, largest))
    }
}

impl Generator {
    fn new(workload: &Workload, seed: Seed, region: Bytes, largest: Bytes) -> Self {
        let align = workload.alignment().0;
        let slots = (region.0 - largest.0) / align + 1;
        let mut sum = 0;
        let sizes = workload.sizes.iter().map(|share| {
            sum += u64::from(share.weight);
            (share.size.0 / align, sum)
        });
        Self {
            left: workload.requests,
            align,
            slots,
            addresses: Addresses::new(&workload.pattern, slots, largest.0 / align),
            sizes: sizes.collect(),
            clock: Clock::new(workload.arrival.clone()),
            read_below: workload.read_share,
            discard_below: workload.read_share + workload.discard_share,
            zero_below: workload.read_share + workload.discard_share + workload.write_zeroes_share,
            compare_below: workload.read_share
                + workload.discard_share
                + workload.write_zeroes_share
                + workload.compare_share,
            address: seed.stream("workload.address", 0),
            offset: seed.stream("workload.offset", 0),
            size: seed.stream("workload.size", 0),
            op: seed.stream("workload.op", 0),
            time: seed.stream("workload.time", 0),
        }
    }

    /// Adds more requests at the end.
    #[must_use]
    pub fn with_more(self, requests: u64) -> Self {
        Self { left: self.left.saturating_add(requests), ..self }
    }

    #[inline]
    fn op(&mut self) -> Op {
        // Two shares that sum to 1 leave no writes, whatever the rounding of the sum.
        if self.read_below >= 1.0 {
            return Op::Read;
        }
        let draw = self.op.unit();
        if draw < self.read_below {
            Op::Read
        } else if draw < self.discard_below {
            Op::Discard
        } else if draw < self.zero_below {
            Op::WriteZeroes
        } else if draw < self.compare_below {
            Op::Compare
        } else {
            Op::Write
        }
    }

    /// Returns the length of the next request in slots.
    #[inline]
    fn length(&mut self) -> u64 {
        if let [(length, _)] = self.sizes[..] {
            return length;
        }
        let (_, all) = *self.sizes.last().expect("a checked workload has a size");
        let draw = self.size.below(all);
        self.sizes.iter().find(|(_, below)| draw < *below).expect("the draw is below the sum").0
    }
}

impl Iterator for Generator {
    type Item = Request;

    #[inline]
    fn next(&mut self) -> Option<Request> {
        self.left = self.left.checked_sub(1)?;
        let length = self.length();
        let slot = self.addresses.next(self.slots, length, &mut self.address, &mut self.offset);
        Some(Request {
            arrival: self.clock.next(&mut self.time),
            ..Request::new(self.op(), Bytes(slot * self.align), Bytes(length * self.align))
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}
