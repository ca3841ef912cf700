//! Units that a trace does not state: which units were assumed, and whether another unit is far more
//! plausible for the requests.
//!
//! Every measure here is a count or a small table, so that a trace of any length is examined as a whole. The
//! requests are not changed: the user gets a note with the name of the option.

use wordline_kernel::{Bytes, Duration};

use super::Op;
use super::formats::{Format, TimeUnit, Units};
use super::options::Options;
use super::row::Row;

/// Units that were assumed, for time, address and size.
#[derive(Clone, Copy, Debug)]
pub(super) struct AssumedUnits {
    units: Units,
    /// Whether each unit was not given. The check may doubt such a unit.
    open: [bool; 3],
    /// Whether not even the format defines each unit. A note then says which unit was assumed.
    unsaid: [bool; 3],
}

const TIME: usize = 0;
const ADDRESS: usize = 1;
const SIZE: usize = 2;

impl AssumedUnits {
    /// Units of a binary format; no unit is assumed.
    pub(super) const fn none() -> Self {
        Self { units: Format::Blktrace.units(), open: [false; 3], unsaid: [false; 3] }
    }

    /// Units of a text in `format`.
    pub(super) fn of(format: Format, units: Units, options: &Options) -> Self {
        let sector = options.sector.is_some();
        let counts = |usual: Bytes| usual == Bytes(512) && sector;
        let usual = format.units();
        let named = [
            options.time_unit.is_some(),
            options.address_unit.is_some() || counts(usual.address),
            options.size_unit.is_some() || counts(usual.size),
        ];
        let open = named.map(|named| !named && format.has_open_units());
        // Three simulators and their users write the same five columns, each with different units.
        let shared = matches!(format, Format::Disksim | Format::Mqsim | Format::Ssdsim);
        Self { units, open, unsaid: open.map(|open| open && shared) }
    }

    /// Sets the unit of the time column of a CSV, and whether the column's name gives it.
    pub(super) const fn set_time(&mut self, unit: TimeUnit, is_said: bool) {
        self.units.time = unit;
        self.open[TIME] &= !is_said;
        self.unsaid[TIME] = self.open[TIME];
    }

    /// Sets the units of the address and size columns of a CSV, and whether the columns' names give them.
    pub(super) fn set_counts(&mut self, [address, size]: [(Bytes, bool); 2], sector: Option<Bytes>) {
        (self.units.address, self.units.size) = (address.0, size.0);
        for (place, (unit, is_said)) in [(ADDRESS, address), (SIZE, size)] {
            let in_sectors = unit == Bytes(512);
            self.open[place] &= !(is_said || in_sectors && sector.is_some());
            // Columns `offset` and `size` count bytes by the definition of Wordline's CSV.
            self.unsaid[place] = self.open[place] && in_sectors;
        }
    }

    /// Note on the units that were assumed, if any.
    fn note(&self) -> Option<String> {
        let Units { time, address, size } = self.units;
        let [of_time, of_address, of_size] = self.unsaid;
        let mut read = Vec::new();
        if of_time {
            read.push(format!("times as {}", time.name()));
        }
        if of_address && of_size && address == size {
            read.push(format!("addresses and sizes as units of {address}"));
        } else {
            read.extend(of_address.then(|| format!("addresses as units of {address}")));
            read.extend(of_size.then(|| format!("sizes as units of {size}")));
        }
        let options = [(of_time, "time_unit"), (of_address, "address_unit"), (of_size, "size_unit")];
        let options: Vec<&str> = options.iter().filter(|(open, _)| *open).map(|(_, name)| *name).collect();
        (!read.is_empty()).then(|| {
            format!(
                "the file does not state its units: {} were read (options {})",
                read.join(", "),
                options.join(", ")
            )
        })
    }
}

/// Minimum number of requests to judge a trace. Chosen: with a hundred requests, a share is known to a few
/// hundredths.
const MIN_REQUESTS: u64 = 100;

/// Requests over which a rate is averaged. Chosen: enough that a burst into a host's queues, which hold a few
/// hundred requests, does not count as the rate of a device.
const BLOCK: u64 = 1_000;

/// Fastest host link of one drive, in bytes per second: four lanes of PCIe 5.0 (32 GT/s each, 128b/130b)
/// carry 15.75 GB/s.
const MAX_BYTES_PER_SECOND: f64 = 16e9;

/// Requests per second that no drive reaches. Chosen: about three times the rating of the fastest NVMe
/// drives.
const MAX_REQUESTS_PER_SECOND: f64 = 10e6;

/// Range of plausible dates for a clock counted from 1970: 1995 to 2035, in seconds.
pub(super) const DATES: std::ops::Range<i128> = 788_918_400..2_051_222_400;

/// Seconds from 1601, the Windows epoch, to 1970.
const WINDOWS_EPOCH: i128 = 11_644_473_600;

/// Candidate units of sizes.
const SIZE_UNITS: [u64; 3] = [1, 512, 4096];

/// Request ends remembered for each unit. Chosen: enough to find concurrent streams, and the table fits a
/// cache.
const ENDS: usize = 1 << 12;

/// Counts of requests with properties that would make another unit plausible.
#[derive(Default)]
struct Counts {
    requests: u64,
    /// Addresses that are multiples of 512 units, and sizes that are.
    by_512: [u64; 2],
    /// Addresses that are multiples of 8 units, and sizes that are.
    by_8: [u64; 2],
    /// Sizes below 512 bytes, and above 1 MiB.
    below_sector: u64,
    above_mib: u64,
    units: u64,
    largest: u64,
    bytes: u128,
}

/// Examines every request of a trace.
pub(super) struct UnitCheck {
    assumed: AssumedUnits,
    counts: Counts,
    first: Option<i128>,
    span: i128,
    /// Current block: its first time, requests and bytes.
    block: (i128, u64, u64),
    blocks: u64,
    fast_blocks: u64,
    long_gaps: u64,
    /// Where a successor of each recent request would begin, by the unit of sizes.
    ends: Vec<[u64; SIZE_UNITS.len()]>,
    /// Number of requests that began there, by the unit of sizes.
    follows: [u64; SIZE_UNITS.len()],
}

impl UnitCheck {
    pub(super) fn new(assumed: AssumedUnits) -> Self {
        let ends = if assumed.open[SIZE] { vec![[u64::MAX; SIZE_UNITS.len()]; ENDS] } else { Vec::new() };
        Self {
            assumed,
            counts: Counts::default(),
            first: None,
            span: 0,
            block: (0, 0, 0),
            blocks: 0,
            fast_blocks: 0,
            long_gaps: 0,
            ends,
            follows: [0; SIZE_UNITS.len()],
        }
    }

    /// Sets the time of the first line.
    pub(super) fn set_start(&mut self, time: i128) {
        self.first.get_or_insert(time);
    }

    /// Adds the next request in order of time.
    #[inline]
    pub(super) fn add(&mut self, row: &Row) {
        if row.size == 0 || self.assumed.open == [false; 3] {
            return;
        }
        self.counts.requests += 1;
        self.counts.bytes += u128::from(row.size);
        if self.assumed.open[TIME] {
            self.add_time(row);
        }
        if (self.assumed.open[ADDRESS] || self.assumed.open[SIZE]) && row.op != Op::Discard {
            self.add_range(row);
        }
    }

    fn add_time(&mut self, row: &Row) {
        self.long_gaps += u64::from(row.time - self.span >= 1_000_000_000_000);
        self.span = row.time;
        let (begin, requests, bytes) = &mut self.block;
        *requests += 1;
        *bytes += row.size;
        if *requests == BLOCK {
            let seconds = (row.time - *begin) as f64 / 1e12;
            self.blocks += 1;
            self.fast_blocks += u64::from(is_too_fast(*requests, *bytes as f64, seconds));
            self.block = (row.time, 0, 0);
        }
    }

    fn add_range(&mut self, row: &Row) {
        let Units { address, size, .. } = self.assumed.units;
        let (at, length) = (divided(row.offset, address.0), divided(row.size, size.0));
        let counts = &mut self.counts;
        for (place, value) in [at, length].into_iter().enumerate() {
            counts.by_512[place] += u64::from(value.is_multiple_of(512));
            counts.by_8[place] += u64::from(value.is_multiple_of(8));
        }
        counts.below_sector += u64::from(row.size < 512);
        counts.above_mib += u64::from(row.size > 1 << 20);
        counts.units = counts.units.saturating_add(length);
        counts.largest = counts.largest.max(row.size);
        if self.ends.is_empty() {
            return;
        }
        let here = self.ends[place(row.offset)];
        for (n, unit) in SIZE_UNITS.into_iter().enumerate() {
            self.follows[n] += u64::from(here[n] == row.offset);
            let end = row.offset.wrapping_add(length.wrapping_mul(unit));
            self.ends[place(end)][n] = end;
        }
    }

    /// Notes for the user on the units: assumed units, and more plausible ones.
    pub(super) fn notes(&self) -> Vec<String> {
        let judged = self.counts.requests >= MIN_REQUESTS;
        let of_ranges = self.check_sizes(judged);
        // If the size unit is in doubt, the rate of bytes is in doubt, too.
        let of_rates = || self.check_rates().filter(|_| judged && of_ranges.is_none());
        let of_times = self.check_dates().or_else(of_rates);
        self.assumed.note().into_iter().chain(of_times).chain(of_ranges).collect()
    }

    /// Note on a clock that would be a plausible date in another unit.
    fn check_dates(&self) -> Option<String> {
        let unit = self.assumed.units.time;
        let (first, span) = (self.first? / unit.ps(), self.span / unit.ps());
        let is_date = |other: TimeUnit| {
            let seconds = first.checked_mul(other.ps()).map(|ps| ps / TimeUnit::S.ps());
            let since_1970 = seconds
                .map(|seconds| if other == TimeUnit::HundredNs { seconds - WINDOWS_EPOCH } else { seconds });
            let fits = span.checked_mul(other.ps()).is_some_and(|ps| ps <= i128::from(Duration::LIMIT.ps()));
            since_1970.is_some_and(|seconds| DATES.contains(&seconds)) && fits
        };
        let dated = TimeUnit::ALL.into_iter().find(|other| is_date(*other))?;
        (self.assumed.open[TIME] && dated != unit && !is_date(unit)).then(|| {
            let name = dated.name();
            format!(
                "the first time, {first}, is a date in the years 1995 to 2035 if it counts {name}: if it does, set the \
                 option time_unit={name}; it was read as {}",
                unit.name()
            )
        })
    }

    /// Note on rates that no drive reaches, or on requests that never follow each other within a second.
    fn check_rates(&self) -> Option<String> {
        let unit = self.assumed.units.time;
        let Counts { requests, bytes, .. } = self.counts;
        let seconds = self.span as f64 / 1e12;
        let too_fast = match self.blocks {
            0 => is_too_fast(requests, bytes as f64, seconds),
            blocks => self.fast_blocks * 2 > blocks,
        };
        if !self.assumed.open[TIME] || self.span == 0 {
            return None;
        }
        let slower = |other: &TimeUnit| {
            let seconds = seconds * other.ps() as f64 / unit.ps() as f64;
            other.ps() > unit.ps()
                && *other != TimeUnit::HundredNs
                && !is_too_fast(requests, bytes as f64, seconds)
                && seconds <= Duration::LIMIT.seconds()
        };
        if too_fast {
            let other = TimeUnit::ALL.into_iter().find(slower)?.name();
            let rate = bytes as f64 / seconds / 1e9;
            return Some(format!(
                "{requests} requests within {seconds:.3} s, {rate:.1} GB/s, are more than one drive does: times were read \
                 as {}; if they count {other}, set the option time_unit={other}",
                unit.name()
            ));
        }
        // Requests come in bursts. In no known trace are so many requests so far apart.
        let too_slow = self.long_gaps * 100 > requests * 99 && unit.ps() >= TimeUnit::Ms.ps();
        too_slow.then(|| {
            format!(
                "99 of 100 requests come a second or more after the one before: times were read as {}; if they count a \
                 smaller unit, set the option time_unit",
                unit.name()
            )
        })
    }

    /// Note on sizes and alignments that fit another unit.
    fn check_sizes(&self, judged: bool) -> Option<String> {
        let Units { address, size, .. } = self.assumed.units;
        let [of_address, of_size] = [self.assumed.open[ADDRESS], self.assumed.open[SIZE]];
        let counts = &self.counts;
        let nearly_all = |count: u64| count * 100 >= counts.requests * 99;
        let half = |count: u64| count * 2 >= counts.requests;
        let [addresses_by_512, sizes_by_512] = counts.by_512.map(nearly_all);
        let largest = Bytes(counts.largest);
        if of_address && of_size && address == Bytes(512) && size == Bytes(512) {
            let huge = (judged && half(counts.above_mib)) || counts.largest > MAX_PLAUSIBLE_REQUEST;
            if addresses_by_512 && sizes_by_512 && huge {
                return Some(format!(
                    "addresses and sizes were read as sectors, the largest request as {largest}, but nearly all are \
                     multiples of 512: if the file counts bytes, set the options address_unit=1B and size_unit=1B"
                ));
            }
        }
        if !judged {
            return None;
        }
        if let Some(unit) = self.unit_of_successors().filter(|_| of_size) {
            return Some(format!(
                "sizes were read as units of {size}, but requests begin where others end if sizes count {unit}: if they \
                 do, set the option size_unit={unit}"
            ));
        }
        if of_address && address == Bytes(512) && addresses_by_512 && !half(counts.by_512[1]) {
            return Some(
                "addresses were read as sectors, but nearly all are multiples of 512, as sizes are not: if they count \
                 bytes, set the option address_unit=1B"
                    .into(),
            );
        }
        if of_size && size == Bytes(1) && nearly_all(counts.below_sector) {
            let also = if addresses_by_512 { "" } else { " and address_unit=512B" };
            return Some(format!(
                "nearly all sizes, read as bytes, are below 512: if they count sectors, set the option size_unit=512B{also}"
            ));
        }
        let in_pages = counts.units < 4 * counts.requests && counts.by_8[1] * 10 < counts.requests;
        (of_address && of_size && size == Bytes(512) && in_pages && !half(counts.by_8[0])).then(|| {
            "addresses and sizes were read as sectors, but hardly any size is a whole page of 4 KiB: if the file counts \
             pages, set the options address_unit=4KiB and size_unit=4KiB"
                .into()
        })
    }

    /// Returns the unit of sizes in which requests follow one another, if it differs from the unit in use and
    /// far more requests do.
    fn unit_of_successors(&self) -> Option<Bytes> {
        let read = SIZE_UNITS.iter().position(|unit| Bytes(*unit) == self.assumed.units.size)?;
        let (unit, follows) = SIZE_UNITS.into_iter().zip(self.follows).max_by_key(|(_, follows)| *follows)?;
        // Chosen, from the traces at hand. In the right unit at least a fifth of the requests are successors;
        // another unit has at most one and a half times as many. A wrong unit has at most a tenth of the
        // successors of the right one.
        let far_more = follows * 5 >= self.counts.requests && follows > 4 * self.follows[read];
        far_more.then_some(Bytes(unit))
    }
}

/// Largest plausible request if the unit is in doubt. Chosen: above the size that hosts send at once (Linux:
/// at most 1280 KiB by default), and below 32 MiB, which is 64 KiB read as sectors.
const MAX_PLAUSIBLE_REQUEST: u64 = 16 << 20;

/// Computes `bytes / unit`, fast for the usual units.
fn divided(bytes: u64, unit: u64) -> u64 {
    match unit {
        1 => bytes,
        512 => bytes >> 9,
        other => bytes / other,
    }
}

/// Returns the index of an address in the table of ends.
fn place(at: u64) -> usize {
    // Fibonacci hashing: the multiplier is 2^64 divided by the golden ratio (Knuth, volume 3, section 6.4).
    (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - ENDS.trailing_zeros())) as usize
}

fn is_too_fast(requests: u64, bytes: f64, seconds: f64) -> bool {
    bytes > MAX_BYTES_PER_SECOND * seconds || requests as f64 > MAX_REQUESTS_PER_SECOND * seconds
}
