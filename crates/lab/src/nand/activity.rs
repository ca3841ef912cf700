//! The activity of a die, derived from its spans: when RDY and ARDY are low, and what its page registers hold.
//!
//! A hold of the bus that ends with a command cycle makes the die busy. Where its array begins as soon as it can, the
//! die is busy to the array's end; where a page moves between the registers first, the die is ready once that is over
//! and its array works on behind the cache register.

use wordline_kernel::{Duration, Instant};
use wordline_nand::{Span, Stage};

use crate::trace_event::is_on_bus;

/// A gap between the end of a command and its array's work that is rounding to the dies' clock and no hand-over
/// between registers. Chosen: beyond the period of any clock domain, below the least tRCBSY and tPCBSY (3 us).
const ROUNDING: Duration = Duration::from_ns(200);

/// A time in which something is the case, for an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct During {
    /// It begins.
    pub begin: Instant,
    /// It ends.
    pub end: Instant,
    /// Serial number of the operation.
    pub command: u32,
}

/// The activity of a die beside its spans.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// RDY is low: the die takes no command.
    pub not_ready: Vec<During>,
    /// ARDY is low: the array works.
    pub array_not_ready: Vec<During>,
    /// The cache register (or the only one) holds data on their way from or to the bus.
    pub cache_register: Vec<During>,
    /// The data register holds data on their way from or to the array.
    pub data_register: Vec<During>,
}

/// Stages on the bus that follow each other without a gap.
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
    /// Data went from one register to the other first.
    turned: bool,
    array: Option<&'a Span>,
}

impl Activity {
    /// The activity that follows from `spans`, which are all of one die and in the order of their beginning.
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

/// A hand-over after which the array rests (3F) shows in no span: it takes as long as the shortest one that does,
/// and is over when the die is on the bus again.
fn ends_of_sequences(all: &mut [Busy<'_>], holds: &[Hold], arrays: &[&Span]) {
    let gap = |busy: &Busy<'_>| {
        let begin = busy.array.filter(|_| busy.turned)?.begin;
        let before = arrays.iter().take_while(|array| array.begin < begin).map(|array| array.end()).max();
        Some(begin.since(holds[busy.hold].end.max(before.unwrap_or_default())))
    };
    // Each look at all arrays before is only for the first few: the shortest of them is that of all.
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

/// When sensed data leave the data register: at the end of the sensing, or once they are handed over in a sequence of
/// cache reads, or when a copyback writes them.
fn handed_over(holds: &[Hold], sensed: &Busy<'_>, next: Option<&Busy<'_>>, end: Instant) -> Instant {
    let Some(next) = next else { return end };
    match next.array.map(|array| (array.stage, array.begin)) {
        None | Some((Stage::Ton, _)) if next.turned => next.ready,
        Some((Stage::Tin, begin)) if !next.turned && copies(holds, sensed, next) => begin,
        _ => end,
    }
}

/// Whether no data crossed the bus between a sensing and a program: the second writes what the first read.
fn copies(holds: &[Hold], sensed: &Busy<'_>, written: &Busy<'_>) -> bool {
    holds[sensed.hold + 1..=written.hold].iter().all(|hold| hold.data_in.is_none() && hold.data_out.is_none())
}

/// Joins what overlaps or touches.
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

/// Lets none begin before the end of the one before it.
fn part(all: &mut Vec<During>) {
    all.sort();
    let mut free = Instant::ZERO;
    for during in all.iter_mut() {
        during.begin = during.begin.max(free);
        free = free.max(during.end);
    }
    all.retain(|during| during.begin < during.end);
}
