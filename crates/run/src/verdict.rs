//! The verdict on a run: its bottleneck, as far as the run alone shows it.
//!
//! A single run does not show the effect of a change, but two laws of queueing networks limit it.
//!
//! - The utilisation law: a part with utilisation U limits the throughput to 1/U times the present
//!   throughput, for any number of outstanding requests (Denning and Buzen, "The operational analysis of
//!   queueing network models", ACM Computing Surveys 10(3), 1978).
//! - The balanced job bound: let requests have a total service time S, with a time D in the busiest part. N
//!   outstanding requests then complete at a rate of at least N / (S + (N - 1) D) (Zahorjan, Sevcik, Eager
//!   and Galler, "Balanced job bound analysis of queueing networks", Communications of the ACM 25(2), 1982).
//!
//! If neither law decides, the verdict is unknown, and [`why`](crate::why) finds the bottleneck by
//! experiments.

mod evidence;

use wordline_device::detail::Detail;
use wordline_host::Pace;

use crate::quantity::Quantity;
use crate::summary::{Bound, Summary, Verdict};
use evidence::{Evidence, Part};

/// Mean utilisation of a kind of part at or above which the kind is saturated: doubling the outstanding
/// requests then gains less than a fifth. The utilisation law gives 1 / 1.2 = 0.83 if the service demand does
/// not depend on the queue depth. Chosen higher, because the demand can fall by up to 8 % with deeper queues,
/// which coalesce more writes in the buffer and fill more pages of a program.
const FULL: f64 = 0.9;

/// Gain from doubling the outstanding requests at or above which the host is the bottleneck: a fifth.
const GAIN: f64 = 1.2;

/// Utilisation of a single part at or above which its kind is saturated. Chosen: among many parts, chance
/// makes one part busier than the other parts, but hardly this busy.
const ALMOST_ALWAYS: f64 = 0.95;

/// Difference by which a share must exceed another share to count as greater. Chosen: twice the usual
/// uncertainty of elasticities from 100,000 requests.
const LEAD: f64 = 0.1;

/// The host can be the bottleneck only if waits for limited resources take at most this share of the
/// requests' time. The resources are buffer space, a slot in the device, and GC. Chosen: with such a share
/// most requests do not wait.
const MOST_HELD_UP: f64 = 0.25;

/// Least wait for buses that is mentioned, as a fraction of the run. Chosen: visible in three digits.
const VISIBLE: f64 = 0.005;

/// Greatest mean latency at which the device counts as keeping up with an open loop, as a fraction of the
/// run. Chosen: a backlog that grows steadily has reached twice this latency at the end.
const KEPT_UP: f64 = 0.01;

impl Bound {
    /// The bottleneck in words.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Arrays => "arrays",
            Self::Buses => "buses",
            Self::Link => "link",
            Self::GarbageCollection => "garbage collection",
            Self::Host => "host",
            Self::Unknown => "not known",
        }
    }
}

/// The verdict on a run with this pace. `None` without completions, and for a device that has no parts which
/// can be busy.
pub(crate) fn of(run: &Summary, pace: Pace, detail: &Detail) -> Option<Verdict> {
    let evidence = Evidence::of(run, pace, detail);
    let (busiest, part) = evidence.busiest().filter(|_| run.host.requests > 0)?;
    let stage = longest(run);
    let mut verdict = Verdict {
        bound: bound(run, pace, &evidence),
        busiest,
        busy: part.most,
        mean_busy: part.mean,
        gc: evidence.gc,
        stage: stage.as_ref().map(|(name, _)| (*name).to_owned()),
        stage_share: stage.map_or(0.0, |(_, share)| share),
        text: String::new(),
    };
    verdict.text = sentence(&verdict, pace, &evidence);
    Some(verdict)
}

impl Part {
    /// Whether the part is saturated and limits the throughput.
    fn is_full(self) -> bool {
        self.mean >= FULL || self.most >= ALMOST_ALWAYS
    }
}

fn bound(run: &Summary, pace: Pace, evidence: &Evidence) -> Bound {
    let is_full = |part: Option<Part>| part.is_some_and(Part::is_full);
    let [dies, buses, link] = [evidence.dies, evidence.buses, evidence.link].map(is_full);
    match (dies || evidence.held >= FULL, buses, link) {
        (true, false, false) => bottleneck_of_dies(evidence),
        // Dies that are not saturated wait for saturated buses.
        (_, true, false) if !dies => Bound::Buses,
        (false, false, true) => Bound::Link,
        (false, false, false) if is_host(run, pace, evidence) => Bound::Host,
        _ => Bound::Unknown,
    }
}

/// The bottleneck of saturated dies: the greatest share of their time, if it leads by `LEAD`. Waits for the
/// bus count as bus time, because they shrink with it.
fn bottleneck_of_dies(evidence: &Evidence) -> Bound {
    let shares = evidence.die_time;
    let array = shares.sensing.max(shares.programming).max(shares.erasing);
    // `shares.bus` has the bus waits once; here they count twice more. Less bus time shortens the waits by
    // more than the bus time saved, and dies with faster arrays wait longer. Chosen: each effect is at most as
    // large as the waits.
    let waits = evidence.dies.map_or(0.0, |dies| (evidence.held - dies.mean).max(0.0));
    let bus = shares.bus + 2.0 * waits;
    let gc = evidence.gc.unwrap_or(0.0) * (1.0 - shares.bus) + evidence.moved * shares.bus;
    let leads = |share: f64, others: [f64; 2]| others.iter().all(|other| share > other + LEAD);
    match () {
        () if leads(gc, [array, bus]) => Bound::GarbageCollection,
        () if leads(array, [bus, 0.0]) => Bound::Arrays,
        () if leads(shares.bus, [array, gc]) => Bound::Buses,
        () => Bound::Unknown,
    }
}

/// Whether the host is certainly the bottleneck, given that the device has no saturated part.
fn is_host(run: &Summary, pace: Pace, evidence: &Evidence) -> bool {
    let Some(stages) = &evidence.stages else { return false };
    if let Pace::Open { .. } | Pace::Bounded { .. } = pace {
        return stages.mean_seconds <= KEPT_UP * run.simulated_seconds;
    }
    let outstanding = (run.host.iops * stages.mean_seconds).max(1.0);
    let most = evidence.parts().map(|(_, part)| part.most).fold(evidence.held, f64::max);
    let gain = 2.0 / (stages.service + (2.0 - 1.0 / outstanding) * most);
    stages.blocked <= MOST_HELD_UP && gain >= GAIN && libm::log2(gain) > stages.longest_service
}

/// The stage in which requests spent most time, and its fraction.
fn longest(run: &Summary) -> Option<(&str, f64)> {
    let (reads, writes) = (run.host.reads as f64, run.host.writes as f64);
    let times = run.time.iter().map(|share| (&*share.name, share.read_us * reads + share.write_us * writes));
    let all: f64 = times.clone().map(|(_, time)| time).sum();
    let longest = times.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|_| all > 0.0)?;
    Some((longest.0, longest.1 / all))
}

fn sentence(verdict: &Verdict, pace: Pace, evidence: &Evidence) -> String {
    let gc = verdict.gc.filter(|share| *share > 0.0).map_or_else(String::new, |share| {
        format!("; {} of flash array time went to GC", Quantity::Fraction(share))
    });
    let how = |kind: Bound| format!("{}{gc}", describe_utilisation(kind, evidence));
    match verdict.bound {
        Bound::Host => {
            let why = match pace {
                Pace::Open { .. } | Pace::Bounded { .. } => "whose requests came at their own times",
                Pace::SourcePaced { .. } => "whose jobs did not ask for more",
                Pace::Closed { .. } | Pace::Bursts { .. } => "which had no more requests outstanding",
            };
            let (part, busy) = match verdict.busiest {
                Bound::Buses => ("a channel's bus", verdict.busy),
                Bound::Link => ("the link to the host", verdict.busy),
                _ => ("a die", verdict.busy),
            };
            let busy = Quantity::Fraction(busy);
            format!("the host, {why}: the busiest part of the device, {part}, was busy {busy} of the run{gc}")
        }
        Bound::GarbageCollection => format!("garbage collection: {}", how(Bound::Arrays)),
        Bound::Arrays => format!("the arrays of the dies: {}", how(Bound::Arrays)),
        Bound::Buses => format!("the buses of the channels: {}", how(Bound::Buses)),
        Bound::Link => format!("the link to the host: {}", how(Bound::Link)),
        Bound::Unknown => {
            format!(
                "not known from this run, see `wordline why`: {}{}",
                how(verdict.busiest),
                describe_stage(verdict)
            )
        }
    }
}

/// A clause about the utilisation of a kind of part.
fn describe_utilisation(kind: Bound, evidence: &Evidence) -> String {
    let Some((_, part)) = evidence.parts().find(|(of, _)| *of == kind) else { return String::new() };
    let [most, mean] = [part.most, part.mean].map(Quantity::Fraction);
    match kind {
        Bound::Link => format!("it was busy {most} of the run"),
        Bound::Buses => format!("the buses were busy {mean} of the run in the mean, the busiest {most}"),
        _ => {
            let (work, share) = evidence.die_time.longest();
            let (share, held) = (Quantity::Fraction(share), Quantity::Fraction(evidence.held));
            let waits = evidence.held - part.mean > VISIBLE;
            let held = if waits { format!(", {held} with waits for their buses") } else { String::new() };
            format!(
                "the dies were busy (array or bus) {mean} of the run in the mean, the busiest {most}{held}, and {share} of that {work}"
            )
        }
    }
}

/// A clause about the stage in which requests spent most time, for a run without a known bottleneck.
fn describe_stage(verdict: &Verdict) -> String {
    verdict.stage.as_ref().map_or_else(String::new, |stage| {
        let share = Quantity::Fraction(verdict.stage_share);
        format!("; requests spent {share} of their time on: {}", crate::stage::stage(stage))
    })
}

#[cfg(test)]
mod tests;
