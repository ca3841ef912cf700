//! Fits a trace to a device that is smaller than the address space on which it was recorded.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, counted};

use super::{Locator, Op, Request};
use crate::workload::application::ZoneLayout;
use crate::{Error, error::Result};

/// Alignment that is preserved when requests move: an offset keeps its remainder modulo 4 KiB, and therefore
/// modulo 512 B. Chosen: the largest alignment that file systems commonly keep.
const GRID: u64 = 4096;

/// Treatment of requests that end beyond the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fit {
    /// Moves a request that ends beyond the device to its offset modulo the device size, rounded down to 4
    /// KiB. If the request would still cross the end, moves it back until it ends there. Other requests are
    /// unchanged.
    #[default]
    Wrap,
    /// If any request ends beyond the device, scales all offsets in proportion and rounds them down to the 4
    /// KiB grid. Neighbouring requests may then overlap.
    Scale,
    /// A request beyond the device is an error.
    Refuse,
}

/// Changes made to fit a trace to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FitReport {
    /// End of the highest request before fitting.
    pub extent: Bytes,
    /// Requests whose offset changed.
    pub moved: u64,
    /// Requests longer than the device, which were shortened to it.
    pub shortened: u64,
}

impl FitReport {
    /// Sentence for the report, if requests changed.
    pub fn note(&self, fit: Fit, capacity: Bytes) -> Option<String> {
        let how = match fit {
            Fit::Wrap => "wrapped",
            Fit::Scale => "scaled",
            Fit::Refuse => "refused",
        };
        let changes = [(self.moved, how), (self.shortened, "shortened")];
        let changes = changes.into_iter().filter(|(count, _)| *count > 0);
        let changes: Vec<_> =
            changes.map(|(count, how)| format!("{} {how}", counted(count, "request"))).collect();
        (!changes.is_empty()).then(|| {
            format!(
                "the trace extends to {}, the device has {}: {}",
                formatted_size(self.extent),
                formatted_size(capacity),
                changes.join(", ")
            )
        })
    }
}

/// Formats a size for people, with two decimals.
fn formatted_size(size: Bytes) -> String {
    let units = [(1_u64 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let unit = units.into_iter().find(|(unit, _)| size.0 >= *unit);
    unit.map_or_else(|| size.to_string(), |(unit, name)| format!("{:.2} {name}", size.0 as f64 / unit as f64))
}

/// Moves the requests of a stream so that all end within a device.
#[derive(Clone, Debug)]
pub struct Fitter {
    /// Name of the trace, for errors.
    name: String,
    fit: Fit,
    capacity: Bytes,
    /// Zones of the device, if only a part of each can be written.
    zones: Option<ZoneLayout>,
    /// End of the highest request of the whole trace, if known: scaling needs it.
    extent: Option<Bytes>,
    seen: u64,
    report: FitReport,
    /// Looks up the line of a request, for errors.
    locator: Option<Box<Locator>>,
}

impl Fitter {
    /// Creates a fitter for a device of `capacity`.
    pub const fn new(fit: Fit, capacity: Bytes, extent: Option<Bytes>) -> Self {
        let report = FitReport { extent: Bytes(0), moved: 0, shortened: 0 };
        Self { name: String::new(), fit, capacity, zones: None, extent, seen: 0, report, locator: None }
    }

    /// Sets the name of the trace for error messages.
    #[must_use]
    pub fn of(self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self }
    }

    /// Sets the zones of the device. Requests are moved to addresses within their capacities.
    #[must_use]
    pub fn over(self, zones: Option<ZoneLayout>) -> Self {
        Self { zones, ..self }
    }

    /// Sets the file in which errors look up the line of a request.
    #[must_use]
    pub fn in_file(self, locator: Option<Locator>) -> Self {
        Self { locator: locator.map(Box::new), ..self }
    }

    /// Returns the changes so far.
    pub const fn report(&self) -> FitReport {
        self.report
    }

    /// Sentence for the report, if requests changed.
    pub fn note(&self) -> Option<String> {
        self.report.note(self.fit, self.capacity)
    }

    /// Moves the next request.
    ///
    /// # Errors
    /// A request ends beyond a device that is too small for wrapping, or [`Fit::Refuse`] applies.
    #[inline]
    pub fn apply(&mut self, request: &mut Request) -> Result<()> {
        self.seen += 1;
        if request.op == Op::Flush {
            return Ok(());
        }
        let end = request.end().0;
        self.report.extent.0 = self.report.extent.0.max(end);
        let extent = self.extent.unwrap_or(Bytes(end)).0.max(end);
        let is_beyond = end > self.capacity.0;
        if is_beyond || (self.fit == Fit::Scale && extent > self.capacity.0) {
            self.fit(request, extent)
        } else {
            Ok(())
        }
    }

    fn fit(&mut self, request: &mut Request, extent: u64) -> Result<()> {
        let room = usable_capacity(self.zones.map_or(self.capacity, |zones| zones.writable()));
        if room == 0 || self.fit == Fit::Refuse {
            let wanted = if room == 0 {
                "a device of at least 4KiB"
            } else {
                "all within the device, or --fit wrap or scale"
            };
            let at = format!("a request up to byte {}", request.end().0);
            let on =
                format!("{wanted}: the device has {}, the trace extends to byte {extent}", self.capacity);
            let located = self.locator.as_ref().and_then(|locator| locator.error(self.seen, &at, &on));
            if let Some(error) = located {
                return Err(error);
            }
            let name = if self.name.is_empty() { "trace" } else { &self.name };
            return Err(Error::Argument {
                what: format!("{name} on a device of {}", self.capacity),
                found: format!("requests up to byte {extent}, the first too far is number {}", self.seen),
                wanted: wanted.into(),
            });
        }
        let most = self.zones.map_or(room, |zones| zones.capacity.0.min(room));
        if request.size.0 > most {
            request.size = Bytes(most);
            self.report.shortened += 1;
        }
        let before = request.offset;
        let size = request.size.0;
        let moved = match self.fit {
            Fit::Scale => scaled(before.0, size, extent, room),
            _ => wrapped(request, self.capacity, room),
        };
        request.offset = match self.zones {
            Some(zones) => {
                let (address, left) = zones.locate(moved);
                Bytes(address - size.saturating_sub(left).next_multiple_of(GRID).min(address % zones.size.0))
            }
            None => Bytes(moved),
        };
        self.report.moved += u64::from(request.offset != before);
        Ok(())
    }
}

/// Moves the requests of a trace so that all end within `capacity`. Requests keep their order, times and
/// sizes, but a request longer than the whole device is shortened to the device.
pub fn fit(requests: &mut [Request], capacity: Bytes, fit: Fit) -> Result<FitReport> {
    let extent = requests.iter().map(Request::end).max().unwrap_or_default();
    let mut fitting = Fitter::new(fit, capacity, Some(extent));
    requests.iter_mut().try_for_each(|request| fitting.apply(request))?;
    Ok(fitting.report())
}

/// Moves one request, which is no longer than the device, as [`Fit::Wrap`] does.
pub fn wrap(request: &mut Request, capacity: Bytes) {
    request.offset = Bytes(wrapped(request, capacity, usable_capacity(capacity)));
}

/// The offset of a request that wraps at `capacity`, of which `room` bytes are for moved requests.
fn wrapped(request: &Request, capacity: Bytes, room: u64) -> u64 {
    match request.end() > capacity {
        true => within(request.offset.0 % room, request.size.0, room),
        false => request.offset.0,
    }
}

/// Capacity available to moved requests: the device capacity, rounded down to the grid.
fn usable_capacity(capacity: Bytes) -> u64 {
    capacity.0 / GRID * GRID
}

/// Scales the offset, rounds it down to the grid and restores its remainder modulo the grid.
fn scaled(offset: u64, size: u64, extent: u64, room: u64) -> u64 {
    let in_proportion = (u128::from(offset) * u128::from(room) / u128::from(extent)) as u64;
    within(in_proportion / GRID * GRID + offset % GRID, size, room)
}

/// Returns `offset` if a request of `size` bytes at this offset ends within `room`. Otherwise returns the
/// last offset at which the request ends within `room` and that has the same remainder modulo the grid.
/// Returns zero if there is none.
fn within(offset: u64, size: u64, room: u64) -> u64 {
    if offset + size <= room {
        return offset;
    }
    let last = room - size;
    let remainder = offset % GRID;
    if last < remainder {
        return 0;
    }
    (last - remainder) / GRID * GRID + remainder
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn request(offset: u64, size: u64) -> Request {
        Request::new(Op::Write, Bytes(offset), Bytes(size))
    }

    fn offsets(requests: &[Request]) -> Vec<u64> {
        requests.iter().map(|request| request.offset.0).collect()
    }

    #[test]
    fn a_trace_that_fits_is_left_alone() {
        for how in [Fit::Wrap, Fit::Scale, Fit::Refuse] {
            let mut requests = [request(512, 512), request(1 << 20, 4096)];
            let report = fit(&mut requests, Bytes((1 << 20) + 4096), how).expect("it fits");
            assert_eq!((report.moved, offsets(&requests)), (0, vec![512, 1 << 20]));
            assert_eq!(report.note(how, Bytes::mib(1)), None);
        }
    }

    #[test]
    fn wrapping_moves_only_what_lies_beyond_the_device() {
        let mut requests =
            [request(4096, 4096), request((1 << 20) + 8704, 512), request((2 << 20) - 4096, 8192)];
        let report = fit(&mut requests, Bytes::mib(1), Fit::Wrap).expect("wrapped");
        assert_eq!(offsets(&requests), [4096, 8704, (1 << 20) - 8192]);
        assert_eq!((report.moved, report.extent), (2, Bytes((2 << 20) + 4096)));
        assert_eq!(
            report.note(Fit::Wrap, Bytes::mib(1)).expect("moved"),
            "the trace extends to 2.00 MiB, the device has 1.00 MiB: 2 requests wrapped"
        );
    }

    #[test]
    fn scaling_shrinks_all_offsets_in_proportion() {
        let mut requests = [request(0, 4096), request(1 << 20, 4096), request((4 << 20) - 4096, 4096)];
        let report = fit(&mut requests, Bytes::mib(1), Fit::Scale).expect("scaled");
        assert_eq!(offsets(&requests), [0, 256 << 10, (1 << 20) - 4096]);
        assert_eq!(report.moved, 2);
    }

    #[test]
    fn refusing_names_the_first_request_too_far() {
        let mut requests = [request(0, 4096), request(1 << 20, 4096)];
        let error = fit(&mut requests, Bytes::mib(1), Fit::Refuse).expect_err("too far");
        assert_eq!(
            error.to_string(),
            "trace on a device of 1MiB: found requests up to byte 1052672, the first too far is number 2, \
             wanted all within the device, or --fit wrap or scale"
        );
    }

    #[test]
    fn a_request_longer_than_the_device_is_shortened() {
        let mut requests = [request(8192, 8 << 20)];
        let report = fit(&mut requests, Bytes::mib(1), Fit::Wrap).expect("shortened");
        assert_eq!((requests[0].offset, requests[0].size, report.shortened), (Bytes(0), Bytes::mib(1), 1));
        let note = |offset| {
            let mut requests = [request(offset, 8 << 20)];
            let report = fit(&mut requests, Bytes::mib(1), Fit::Wrap).expect("shortened");
            report.note(Fit::Wrap, Bytes::mib(1)).expect("it changed")
        };
        assert!(note(8192).ends_with("the device has 1.00 MiB: 1 request wrapped, 1 request shortened"));
        assert!(note(0).ends_with("the device has 1.00 MiB: 1 request shortened"));
    }

    proptest! {
        #[test]
        fn fitted_requests_end_within_the_device_and_keep_their_alignment(
            sectors in prop::collection::vec((0_u64..1 << 40, 1_u64..4096), 1..40),
            capacity in 4096_u64..1 << 40,
            scale: bool,
        ) {
            let mut requests: Vec<Request> =
                sectors.iter().map(|(at, count)| request(at * 512, count * 512)).collect();
            let how = if scale { Fit::Scale } else { Fit::Wrap };
            let mut one_by_one = requests.clone();
            fit(&mut requests, Bytes(capacity), how).expect("only refusing fails");
            for request in &requests {
                prop_assert!(request.offset.0 + request.size.0 <= capacity);
                prop_assert!(request.size.0 > 0 && request.offset.0.is_multiple_of(512));
            }
            one_by_one.retain(|request| request.size.0 <= capacity / 4096 * 4096);
            one_by_one.iter_mut().for_each(|request| wrap(request, Bytes(capacity)));
            if !scale && one_by_one.len() == requests.len() {
                prop_assert_eq!(offsets(&one_by_one), offsets(&requests));
            }
        }
    }
}
