//! The activity of a die, derived from its spans: when RDY and ARDY are low, and when its page registers are
//! in use.
//!
//! A bus grant that ends with a command cycle makes the die busy. If its array begins at once, the die is
//! busy until the array ends; if data first move between the registers, the die is ready after the move, and
//! the array continues behind the cache register.

use wordline_kernel::{Duration, Instant};
use wordline_nand::{Span, Stage};

use crate::trace_event::is_on_bus;

/// A gap between the end of a command and its array operation up to this is rounding to the clock of the
/// dies, not a transfer between registers. Chosen: beyond the period of any clock domain, below the least
/// tRCBSY and tPCBSY (3 us).
const ROUNDING: Duration = Duration::from_ns(200);

/// A time interval in which a state holds for an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct During {
    /// Its beginning.
    pub begin: Instant,
    /// Its end.
    pub end: Instant,
    /// Serial number of the operation.
    pub command: u32,
}

/// The activity of a die beyond its spans.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// RDY is low: the die accepts no command.
    pub not_ready: Vec<During>,
    /// ARDY is low: the array works.
    pub array_not_ready: Vec<During>,
    /// The cache register (or the only one) holds data between bus and array.
    pub cache_register: Vec<During>,
    /// The data register holds data between cache register and array.
    pub data_register: Vec<During>,
}

/// Consecutive stages on the bus without a gap.
struct Hold {
    begin: Instant,
    end: Instant,
    last: Stage,
    command: u32,
    /// The first data in, and the end of the last data out.
    data_in: Option<Instant>,
    data_out: Option<Instant>,
}

/// The busy time of a die after a command.
struct Busy<'a> {
    hold: usize,
    ready: Instant,
    rests: Instant,
    /// Whether data first moved between the registers.
    turned: bool,
    array: Option<&'a Span>,
}

impl Activity {
    /// Derives the activity from `spans` of one die, in order of their beginning.
    pub fn of(spans: &[Span]) -> Self {
        let holds = holds(spans);
        let arrays: Vec<&Span> = spans.iter().filter(|span| !is_on_bus(span.stage)).collect();
        let busy = busy(&holds, &arrays);
        let mut activity = Self::default();
        for one in &busy {
            let Hold { end: begin, command, .. } = holds[one.hold];
            activity.not_ready.push(During { begin, end: one.ready, command });
            activity.array_not_ready.push(During { begin, end: one.rests, command });
        }
        registers(&mut activity, &holds, &busy);
        merge(&mut activity.not_ready);
        merge(&mut activity.array_not_ready);
        part(&mut activity.cache_register);
        part(&mut activity.data_register);
        activity
    }
}

fn holds(spans: &[Span]) -> Vec<Hold> {
    let mut holds = Vec::<Hold>::new();
    for span in spans.iter().filter(|span| is_on_bus(span.stage)) {
        let data_in = (span.stage == Stage::Tir).then_some(span.begin);
        let data_out = (span.stage == Stage::Tor).then(|| span.end());
        match holds.last_mut() {
            Some(last) if last.end == span.begin && last.command == span.command => {
                last.end = span.end();
                last.last = span.stage;
                last.data_in = last.data_in.or(data_in);
                last.data_out = data_out.or(last.data_out);
            }
            _ => holds.push(Hold {
                begin: span.begin,
                end: span.end(),
                last: span.stage,
                command: span.command,
                data_in,
                data_out,
            }),
        }
    }
    holds
}

fn busy<'a>(holds: &[Hold], arrays: &[&'a Span]) -> Vec<Busy<'a>> {
    let confirmed: Vec<usize> = (0..holds.len()).filter(|n| holds[*n].last == Stage::Cle).collect();
    let mut all = Vec::with_capacity(confirmed.len());
    let (mut at, mut before) = (0, Instant::ZERO);
    for (n, &hold) in confirmed.iter().enumerate() {
        let end = holds[hold].end;
        while arrays.get(at).is_some_and(|array| array.begin < end) {
            before = before.max(arrays[at].end());
            at += 1;
        }
        let next = confirmed.get(n + 1).map_or(Instant::MAX, |&next| holds[next].end);
        let rested = before.max(end);
        let busy = match arrays.get(at).filter(|array| array.begin < next) {
            Some(&array) => {
                let turned = array.begin.since(rested) > ROUNDING;
                let ready = if turned { array.begin } else { array.end() };
                Busy { hold, ready, rests: array.end(), turned, array: Some(array) }
            }
            None => Busy { hold, ready: rested, rests: rested, turned: true, array: None },
        };
        all.push(busy);
    }
    ends_of_sequences(&mut all, holds, arrays);
    all
}

/// A transfer between registers with no array operation after it (3F) has no span. It takes as long as the
/// shortest one that has, and ends at the latest when the die is on the bus again.
fn ends_of_sequences(all: &mut [Busy<'_>], holds: &[Hold], arrays: &[&Span]) {
    let gap = |busy: &Busy<'_>| {
        let begin = busy.array.filter(|_| busy.turned)?.begin;
        let before = arrays.iter().take_while(|array| array.begin < begin).map(|array| array.end()).max();
        Some(begin.since(holds[busy.hold].end.max(before.unwrap_or_default())))
    };
    // The first few are enough, which saves searching all arrays: the shortest of them is the same for all.
    let turn = all.iter().filter_map(gap).take(4).min().unwrap_or_default();
    for busy in all.iter_mut().filter(|busy| busy.array.is_none()) {
        let again = holds.get(busy.hold + 1).map_or(Instant::MAX, |hold| hold.begin);
        busy.ready = (busy.ready + turn).min(again);
        busy.rests = busy.ready;
    }
}

fn registers(activity: &mut Activity, holds: &[Hold], busy: &[Busy<'_>]) {
    for (n, one) in busy.iter().enumerate() {
        let Some(array) = one.array else { continue };
        let (begin, end, command) = (array.begin, array.end(), array.command);
        match array.stage {
            Stage::Tin => {
                let filled = holds[one.hold].data_in;
                activity.cache_register.extend(filled.map(|from| During {
                    begin: from,
                    end: begin,
                    command,
                }));
                activity.data_register.push(During { begin, end, command });
            }
            Stage::Ton => {
                let handed = handed_over(holds, one, busy.get(n + 1), end);
                activity.data_register.push(During { begin, end: handed, command });
                let from = holds.partition_point(|hold| hold.begin < handed);
                let after = busy.partition_point(|busy| busy.hold < from);
                let until = busy.get(after).map_or(holds.len(), |busy| busy.hold);
                let out = holds[from..until].iter().filter_map(|hold| hold.data_out).max();
                activity.cache_register.extend(out.map(|end| During { begin: handed, end, command }));
            }
            _ => {}
        }
    }
}

/// The time at which read data leave the data register: at the end of the sensing, after the transfer in a
/// sequence of cache reads, or when a copyback programs them.
fn handed_over(holds: &[Hold], sensed: &Busy<'_>, next: Option<&Busy<'_>>, end: Instant) -> Instant {
    let Some(next) = next else { return end };
    match next.array.map(|array| (array.stage, array.begin)) {
        None | Some((Stage::Ton, _)) if next.turned => next.ready,
        Some((Stage::Tin, begin)) if !next.turned && copies(holds, sensed, next) => begin,
        _ => end,
    }
}

/// Whether no data crossed the bus between a read and a program, so that the program is a copyback.
fn copies(holds: &[Hold], sensed: &Busy<'_>, written: &Busy<'_>) -> bool {
    holds[sensed.hold + 1..=written.hold].iter().all(|hold| hold.data_in.is_none() && hold.data_out.is_none())
}

/// Merges intervals that overlap or touch.
fn merge(all: &mut Vec<During>) {
    all.retain(|during| during.begin < during.end);
    all.dedup_by(|next, last| {
        let touches = next.begin <= last.end;
        if touches {
            last.end = last.end.max(next.end);
        }
        touches
    });
}

/// Trims each interval to begin after the end of the one before it.
fn part(all: &mut Vec<During>) {
    all.sort();
    let mut free = Instant::ZERO;
    for during in all.iter_mut() {
        during.begin = during.begin.max(free);
        free = free.max(during.end);
    }
    all.retain(|during| during.begin < during.end);
}
