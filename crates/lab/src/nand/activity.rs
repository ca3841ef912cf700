//! The activity of a die: when RDY and ARDY are low, and when its page registers are in use. It is derived
//! from the spans of the die; on the pins, RDY and ARDY are known.
//!
//! A bus grant that ends with a command cycle makes the die busy. Usually the array begins at once, and the
//! die is busy until the array ends. If data first move between the registers, the die is ready after that
//! transfer, and the array then works behind the cache register.

use wordline_kernel::{Duration, Instant};
use wordline_nand::onfi::BusyPeriod;
use wordline_nand::{Span, Stage};
use wordline_run::trace_event::is_on_bus;

/// Longest gap between a command and its array operation that counts as rounding to the clock of the dies. A
/// longer gap is a transfer between registers. Chosen: above the period of any clock domain, below the least
/// tRCBSY and tPCBSY (3 us).
const ROUNDING: Duration = Duration::from_ns(200);

/// A time interval in which a state lasts, caused by one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Interval {
    /// Begin of the interval.
    pub begin: Instant,
    /// End of the interval.
    pub end: Instant,
    /// Serial number of the operation.
    pub command: u32,
}

/// States of a die that its spans do not show directly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// RDY is low: the die accepts no command.
    pub not_ready: Vec<Interval>,
    /// ARDY is low: the array works.
    pub array_not_ready: Vec<Interval>,
    /// The cache register, or the only register, holds data between bus and array.
    pub cache_register: Vec<Interval>,
    /// The data register holds data between cache register and array.
    pub data_register: Vec<Interval>,
}

/// Consecutive stages on the bus without a gap.
struct BusGrant {
    begin: Instant,
    end: Instant,
    last: Stage,
    command: u32,
    /// The begin of the first data in, and the end of the last data out.
    data_in: Option<Instant>,
    data_out: Option<Instant>,
}

/// The time in which a die is busy after a command, as derived from the spans.
struct DerivedPeriod<'a> {
    hold: usize,
    ready: Instant,
    array_ready: Instant,
    /// Whether data moved between the registers first.
    has_transfer: bool,
    array: Option<&'a Span>,
}

impl Activity {
    /// Derives the activity from the `spans` of one die, which are in order of their beginnings.
    pub fn of(spans: &[Span]) -> Self {
        let bus_grants = bus_grants(spans);
        let arrays: Vec<&Span> = spans.iter().filter(|span| !is_on_bus(span.stage)).collect();
        let busy = busy(&bus_grants, &arrays);
        let mut activity = Self::default();
        for one in &busy {
            let BusGrant { end: begin, command, .. } = bus_grants[one.hold];
            activity.not_ready.push(Interval { begin, end: one.ready, command });
            activity.array_not_ready.push(Interval { begin, end: one.array_ready, command });
        }
        registers(&mut activity, &bus_grants, &busy);
        merge(&mut activity.not_ready);
        merge(&mut activity.array_not_ready);
        trim_overlaps(&mut activity.cache_register);
        trim_overlaps(&mut activity.data_register);
        activity
    }

    /// Replaces the derived times of RDY and ARDY by the known ones of the die, in the order of their commands.
    pub fn set_busy<'a>(&mut self, busy: impl Iterator<Item = &'a BusyPeriod>) {
        let periods = busy.map(|&BusyPeriod { begin, ready, array_ready, command, .. }| {
            [ready, array_ready].map(|end| Interval { begin, end, command })
        });
        (self.not_ready, self.array_not_ready) = periods.map(<(Interval, Interval)>::from).unzip();
        merge(&mut self.not_ready);
        merge(&mut self.array_not_ready);
    }
}

fn bus_grants(spans: &[Span]) -> Vec<BusGrant> {
    let mut bus_grants = Vec::<BusGrant>::new();
    for span in spans.iter().filter(|span| is_on_bus(span.stage)) {
        let data_in = (span.stage == Stage::Tir).then_some(span.begin);
        let data_out = (span.stage == Stage::Tor).then(|| span.end());
        match bus_grants.last_mut() {
            Some(last) if last.end == span.begin && last.command == span.command => {
                last.end = span.end();
                last.last = span.stage;
                last.data_in = last.data_in.or(data_in);
                last.data_out = data_out.or(last.data_out);
            }
            _ => bus_grants.push(BusGrant {
                begin: span.begin,
                end: span.end(),
                last: span.stage,
                command: span.command,
                data_in,
                data_out,
            }),
        }
    }
    bus_grants
}

fn busy<'a>(bus_grants: &[BusGrant], arrays: &[&'a Span]) -> Vec<DerivedPeriod<'a>> {
    let confirmed: Vec<usize> = (0..bus_grants.len()).filter(|n| bus_grants[*n].last == Stage::Cle).collect();
    let mut all = Vec::with_capacity(confirmed.len());
    let (mut at, mut before) = (0, Instant::ZERO);
    for (n, &hold) in confirmed.iter().enumerate() {
        let end = bus_grants[hold].end;
        while arrays.get(at).is_some_and(|array| array.begin < end) {
            before = before.max(arrays[at].end());
            at += 1;
        }
        let next = confirmed.get(n + 1).map_or(Instant::MAX, |&next| bus_grants[next].end);
        let rested = before.max(end);
        let busy = match arrays.get(at).filter(|array| array.begin < next) {
            Some(&array) => {
                let has_transfer = array.begin.since(rested) > ROUNDING;
                let ready = if has_transfer { array.begin } else { array.end() };
                DerivedPeriod { hold, ready, array_ready: array.end(), has_transfer, array: Some(array) }
            }
            None => {
                DerivedPeriod { hold, ready: rested, array_ready: rested, has_transfer: true, array: None }
            }
        };
        all.push(busy);
    }
    add_final_transfers(&mut all, bus_grants, arrays);
    all
}

/// Sets the end of register transfers without an array operation (3F), for which there is no span. Such a
/// transfer is assumed to take as long as the shortest transfer before an array operation. It ends at the
/// latest when the die uses the bus again.
fn add_final_transfers(all: &mut [DerivedPeriod<'_>], bus_grants: &[BusGrant], arrays: &[&Span]) {
    let gap = |busy: &DerivedPeriod<'_>| {
        let begin = busy.array.filter(|_| busy.has_transfer)?.begin;
        let before = arrays.iter().take_while(|array| array.begin < begin).map(|array| array.end()).max();
        Some(begin.since(bus_grants[busy.hold].end.max(before.unwrap_or_default())))
    };
    // The first transfers suffice: the shortest one takes the same time everywhere. This avoids a search of
    // all arrays.
    let turn = all.iter().filter_map(gap).take(4).min().unwrap_or_default();
    for busy in all.iter_mut().filter(|busy| busy.array.is_none()) {
        let again = bus_grants.get(busy.hold + 1).map_or(Instant::MAX, |hold| hold.begin);
        busy.ready = (busy.ready + turn).min(again);
        busy.array_ready = busy.ready;
    }
}

fn registers(activity: &mut Activity, bus_grants: &[BusGrant], busy: &[DerivedPeriod<'_>]) {
    for (n, one) in busy.iter().enumerate() {
        let Some(array) = one.array else { continue };
        let (begin, end, command) = (array.begin, array.end(), array.command);
        match array.stage {
            Stage::Tin => {
                let filled = bus_grants[one.hold].data_in;
                activity.cache_register.extend(filled.map(|from| Interval {
                    begin: from,
                    end: begin,
                    command,
                }));
                activity.data_register.push(Interval { begin, end, command });
            }
            Stage::Ton => {
                let handed = transfer_time(bus_grants, one, busy.get(n + 1), end);
                activity.data_register.push(Interval { begin, end: handed, command });
                let from = bus_grants.partition_point(|hold| hold.begin < handed);
                let after = busy.partition_point(|busy| busy.hold < from);
                let until = busy.get(after).map_or(bus_grants.len(), |busy| busy.hold);
                let out = bus_grants[from..until].iter().filter_map(|hold| hold.data_out).max();
                activity.cache_register.extend(out.map(|end| Interval { begin: handed, end, command }));
            }
            _ => {}
        }
    }
}

/// The time at which read data leave the data register. This is the end of the sensing. In a sequence of
/// cache reads it is the end of the transfer, and in a copyback the beginning of the program.
fn transfer_time(
    bus_grants: &[BusGrant],
    sensed: &DerivedPeriod<'_>,
    next: Option<&DerivedPeriod<'_>>,
    end: Instant,
) -> Instant {
    let Some(next) = next else { return end };
    match next.array.map(|array| (array.stage, array.begin)) {
        None | Some((Stage::Ton, _)) if next.has_transfer => next.ready,
        Some((Stage::Tin, begin)) if !next.has_transfer && is_copyback(bus_grants, sensed, next) => begin,
        _ => end,
    }
}

/// Whether no data crossed the bus between a read and a program, so that the program is a copyback.
fn is_copyback(bus_grants: &[BusGrant], sensed: &DerivedPeriod<'_>, written: &DerivedPeriod<'_>) -> bool {
    bus_grants[sensed.hold + 1..=written.hold]
        .iter()
        .all(|hold| hold.data_in.is_none() && hold.data_out.is_none())
}

/// Merges intervals that overlap or touch.
fn merge(all: &mut Vec<Interval>) {
    all.retain(|during| during.begin < during.end);
    all.dedup_by(|next, last| {
        let touches = next.begin <= last.end;
        if touches {
            last.end = last.end.max(next.end);
        }
        touches
    });
}

/// Makes each interval begin at or after the end of the previous one.
fn trim_overlaps(all: &mut Vec<Interval>) {
    all.sort();
    let mut free = Instant::ZERO;
    for during in all.iter_mut() {
        during.begin = during.begin.max(free);
        free = free.max(during.end);
    }
    all.retain(|during| during.begin < during.end);
}
