//! Requests on the writable bytes of zones. Between the capacity and the size of a zone the addresses have a
//! gap, in which nothing can be stored.

use wordline_kernel::Bytes;

use crate::workload::application::ZoneLayout;
use crate::{Request, Result};

impl ZoneLayout {
    /// Whether the addresses have gaps between the zones.
    pub fn has_gaps(&self) -> bool {
        self.capacity < self.size
    }

    /// The writable bytes of all zones.
    pub fn writable(&self) -> Bytes {
        self.capacity * u64::from(self.count)
    }

    /// The address of a writable byte, numbered without the gaps, and the writable bytes from there to the end
    /// of its zone.
    pub(super) fn locate(&self, place: u64) -> (u64, u64) {
        let (zone, at) = (place / self.capacity.0, place % self.capacity.0);
        (zone * self.size.0 + at, self.capacity.0 - at)
    }
}

/// Requests with offsets in the writable bytes, at their addresses. A request that crosses the end of a zone
/// becomes one for each zone.
#[derive(Clone, Debug)]
pub struct OverZones<R> {
    requests: R,
    zones: ZoneLayout,
    /// The rest of the last request, without the gaps.
    rest: Option<Request>,
}

impl<R: Iterator<Item = Result<Request>>> OverZones<R> {
    /// Requests whose offsets are in the writable bytes of `zones`.
    pub fn new(requests: R, zones: ZoneLayout) -> Self {
        Self { requests, zones, rest: None }
    }
}

impl<R: Iterator<Item = Result<Request>>> Iterator for OverZones<R> {
    type Item = Result<Request>;

    fn next(&mut self) -> Option<Result<Request>> {
        let request = match self.rest.take().map_or_else(|| self.requests.next(), |rest| Some(Ok(rest)))? {
            Ok(request) => request,
            failed => return Some(failed),
        };
        let (address, room) = self.zones.locate(request.offset.0);
        let size = request.size.0.min(room);
        if size < request.size.0 {
            let (offset, size) = (Bytes(request.offset.0 + size), Bytes(request.size.0 - size));
            self.rest = Some(Request { offset, size, ..request });
        }
        Some(Ok(Request { offset: Bytes(address), size: Bytes(size), ..request }))
    }
}

#[cfg(test)]
mod tests {
    use wordline_kernel::Seed;

    use super::*;
    use crate::workload::Workload;
    use crate::{Fit, Fitter, Op};

    const ZONES: ZoneLayout =
        ZoneLayout { size: Bytes::mib(1), capacity: Bytes::kib(576), count: 4, max_active: None };

    #[test]
    fn a_generated_workload_writes_each_zone_to_its_capacity_and_goes_on_in_the_next() {
        let workload = Workload::named("seqwrite-128k").expect("a named workload");
        let generator = workload.generator(Seed(1), ZONES.writable()).expect("it has room");
        let requests = OverZones::new(generator.map(Ok), ZONES).map(|request| request.expect("drawn"));
        let mut next = 0;
        // Four and a half requests of 128 KiB fill a zone; the fifth goes on in the next one.
        for request in requests.take(20) {
            assert_eq!(request.offset.0, next);
            next = request.end().0;
            let in_zone = next % ZONES.size.0;
            assert!((1..=ZONES.capacity.0).contains(&in_zone), "{request:?}");
            if in_zone == ZONES.capacity.0 {
                next = next.next_multiple_of(ZONES.size.0) % (4 * ZONES.size.0);
            }
        }
        assert_eq!(next, 0, "all zones are written");
    }

    #[test]
    fn a_request_that_is_moved_to_fit_lies_within_the_capacity_of_a_zone() {
        for (fit, untouched) in [(Fit::Wrap, 1), (Fit::Scale, 0)] {
            let extent = Bytes::mib(64);
            let mut fitter = Fitter::new(fit, Bytes::mib(4), Some(extent)).over(Some(ZONES));
            // The first lies in a gap of the namespace. It is not moved by wrapping.
            let offsets = [900, 5_000, 9_500, 30_004, 65_472];
            let mut requests = offsets.map(|kib| Request::new(Op::Read, Bytes::kib(kib), Bytes::kib(64)));
            for request in &mut requests {
                fitter.apply(request).expect("it is moved");
            }
            let in_gap = requests
                .iter()
                .filter(|request| request.offset.0 % ZONES.size.0 + request.size.0 > ZONES.capacity.0);
            assert_eq!(in_gap.count(), untouched, "{fit:?}: {requests:?}");
        }
    }
}
