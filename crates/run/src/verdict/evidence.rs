//! Evidence of a run for its bottleneck: utilisation of the parts of the device, and the latency breakdown.

use wordline_device::detail::{Detail, PartCounts};
use wordline_host::Pace;
use wordline_kernel::Duration;
use wordline_nand::DieTimes;

use crate::summary::{Bound, Summary};

/// Utilisation of the parts of a kind, as fractions of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// The busiest.
    pub most: f64,
    /// The mean.
    pub mean: f64,
}

impl Part {
    /// The utilisation from these fractions, scaled to the time in which the host is active; none without
    /// parts.
    fn of(fractions: &[f64], factor: f64) -> Option<Self> {
        let mean = fractions.iter().sum::<f64>() / fractions.len().max(1) as f64;
        let most = fractions.iter().copied().fold(0.0, f64::max);
        let whole = |fraction: f64| (fraction * factor).min(1.0);
        (!fractions.is_empty()).then(|| Self { most: whole(most), mean: whole(mean) })
    }
}

/// Utilisation of those parts of a kind that the array uses. A spare or a failed member, which got no command
/// in the run, is no part of it. A device that is no array uses all its parts.
fn in_use(detail: &Detail, utilisation: &[f64], count: fn(&PartCounts) -> usize) -> Vec<f64> {
    if detail.members.is_empty() {
        return utilisation.to_vec();
    }
    let of_members = detail
        .members
        .iter()
        .flat_map(|member| std::iter::repeat_n(member.reads + member.writes > 0, count(&member.parts)));
    utilisation.iter().zip(of_members).filter(|(_, is_used)| *is_used).map(|(of, _)| *of).collect()
}

/// Shares of the time in which dies cannot accept another command, because they work or wait for the bus.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DieTimeShares {
    pub sensing: f64,
    pub programming: f64,
    pub erasing: f64,
    /// Including waits for the bus.
    pub bus: f64,
}

impl DieTimeShares {
    fn of(dies: &[DieTimes], bus_waits: Duration) -> Self {
        let all: DieTimes = dies.iter().copied().sum();
        let held = (all.busy() + bus_waits).seconds().max(1e-12);
        let share = |time: Duration| time.seconds() / held;
        Self {
            sensing: share(all.sensing),
            programming: share(all.programming),
            erasing: share(all.erasing),
            bus: share(all.bus + bus_waits),
        }
    }

    /// The array work that took longest, and its share.
    pub fn longest(&self) -> (&'static str, f64) {
        let work = [("sensing", self.sensing), ("programming", self.programming), ("erasing", self.erasing)];
        work.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or_default()
    }
}

/// The latency breakdown, by shares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stages {
    /// The mean time of a request, in seconds.
    pub mean_seconds: f64,
    /// Waits for limited resources: a slot in the device, room in the buffer, garbage collection, a stripe.
    pub blocked: f64,
    /// Everything except waits for dies: the upper limit of service.
    pub service: f64,
    /// The greatest share of a stage that serves requests, including waits counted in it.
    pub longest_service: f64,
}

/// Stages that serve requests, though requests may wait in them as well.
const SERVING: [&str; 7] = ["link", "controller", "mapping", "bus", "array", "decoding", "retries"];

impl Stages {
    /// None without a latency breakdown.
    fn of(run: &Summary) -> Option<Self> {
        let (reads, writes) = (run.host.reads as f64, run.host.writes as f64);
        let time = |read_us: f64, write_us: f64| read_us * reads + write_us * writes;
        let of: Vec<(&str, f64)> =
            run.time.iter().map(|share| (&*share.name, time(share.read_us, share.write_us))).collect();
        let all: f64 = of.iter().map(|(_, time)| time).sum();
        if all <= 0.0 {
            return None;
        }
        let serving = || of.iter().filter(|(name, _)| SERVING.contains(name)).map(|(_, time)| time / all);
        let for_dies: f64 =
            of.iter().filter(|(name, _)| *name == "die_wait").map(|(_, time)| time / all).sum();
        let served: f64 = serving().sum();
        Some(Self {
            mean_seconds: all / (reads + writes).max(1.0) * 1e-6,
            blocked: (1.0 - served - for_dies).max(0.0),
            service: 1.0 - for_dies,
            longest_service: serving().fold(0.0, f64::max),
        })
    }
}

/// All the evidence of a run.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// Dies with a command in the array or on the bus, without waits for the bus.
    pub dies: Option<Part>,
    /// The mean fraction of time in which a die cannot accept another command, with waits for the bus.
    pub held: f64,
    pub buses: Option<Part>,
    pub link: Option<Part>,
    pub die_time: DieTimeShares,
    /// Fraction of the busy time of the arrays spent on garbage collection; none where they were idle.
    pub gc: Option<f64>,
    /// Fraction of the data on the buses read and programmed by garbage collection, in pages.
    pub moved: f64,
    /// None without a latency breakdown.
    pub stages: Option<Stages>,
}

impl Evidence {
    pub fn of(run: &Summary, pace: Pace, detail: &Detail) -> Self {
        // During pauses of the host, no part works for the host.
        let factor = match pace {
            Pace::Bursts { on, off, .. } => (on + off).seconds() / on.seconds(),
            _ => 1.0,
        };
        let seconds = run.simulated_seconds.max(1e-12);
        let dies: Vec<f64> = detail.dies.iter().map(|die| die.busy().seconds() / seconds).collect();
        let dies = in_use(detail, &dies, |parts| parts.dies);
        let buses = in_use(detail, &run.channel_utilisation, |parts| parts.buses);
        let links = in_use(detail, &run.link_utilisation, |parts| parts.links);
        let waits = detail.bus_waits.seconds() / seconds / dies.len().max(1) as f64;
        let part = Part::of(&dies, factor);
        Self {
            held: part.map_or(0.0, |part| (part.mean + waits * factor).min(1.0)),
            dies: part,
            buses: Part::of(&buses, factor),
            link: Part::of(&links, factor),
            die_time: DieTimeShares::of(&detail.dies, detail.bus_waits),
            gc: gc(run),
            moved: moved(run),
            stages: Stages::of(run),
        }
    }

    /// The kinds of parts of the device.
    pub fn parts(&self) -> impl Iterator<Item = (Bound, Part)> + '_ {
        let kinds = [(Bound::Arrays, self.dies), (Bound::Buses, self.buses), (Bound::Link, self.link)];
        kinds.into_iter().filter_map(|(bound, part)| Some((bound, part?)))
    }

    /// The kind with the busiest part.
    pub fn busiest(&self) -> Option<(Bound, Part)> {
        self.parts().max_by(|a, b| a.1.most.total_cmp(&b.1.most))
    }
}

/// Fraction of the busy time of the arrays spent on garbage collection.
fn gc(run: &Summary) -> Option<f64> {
    let collected = run.metrics.number("flash.gc_array_us")? * 1e-6;
    let all = run.die_utilisation.iter().sum::<f64>() * run.simulated_seconds;
    // The time of each GC command is rounded to a microsecond.
    (all > 0.0).then(|| (collected / all).min(1.0))
}

/// Pages transferred on the buses for purposes other than garbage collection, by the names of their metrics.
const OTHERS: [&str; 8] = [
    "flash.host_reads",
    "flash.rmw_reads",
    "flash.read_ahead_reads",
    "flash.translation_reads",
    "flash.host_programs",
    "flash.unit_programs",
    "flash.translation_programs",
    "flash.padding",
];

/// The fraction of pages on the buses read and programmed by garbage collection; pages copied within their
/// chips do not count.
fn moved(run: &Summary) -> f64 {
    let count = |name: &str| run.metrics.number(name).unwrap_or(0.0);
    // Each relocated page crosses the bus twice: for its read and for its program.
    let moved = 2.0 * (count("flash.gc_programs") - count("flash.gc_copied"));
    let others: f64 = OTHERS.iter().map(|name| count(name)).sum();
    moved.max(0.0) / (moved.max(0.0) + others).max(1.0)
}
