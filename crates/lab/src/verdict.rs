//! The verdict on a run: what bound it, and how near to its bound it came.

use wordline_host::Pace;

use crate::report::Quantity;
use crate::summary::{Bound, Summary, Verdict, WriteBack};

/// The fraction of a run from which on a part of the device that was busy is what bound it. Chosen: a queue in front of a part that is
/// busy for less than this is short.
const FULL: f64 = 0.85;

/// The part of the time of the arrays from which on cleaning is what they were busy with. Chosen: more than all else.
const MOSTLY: f64 = 0.5;

/// The verdict on a run at a pace; none where nothing was answered, and of a device that has no parts that can be busy.
pub(crate) fn of(run: &Summary, pace: Pace) -> Option<Verdict> {
    let kinds = [
        (Bound::Arrays, &run.die_utilisation),
        (Bound::Buses, &run.channel_utilisation),
        (Bound::Link, &run.link_utilisation),
    ];
    let busy = |parts: &[f64]| parts.iter().copied().fold(0.0, f64::max);
    let (busiest, parts) = kinds
        .into_iter()
        .filter(|(_, parts)| !parts.is_empty())
        .max_by(|a, b| busy(a.1).total_cmp(&busy(b.1)))
        .filter(|_| run.host.requests > 0)?;
    let stage = longest(run);
    let mut verdict = Verdict {
        bound: Bound::Host,
        busiest,
        busy: busy(parts),
        mean_busy: parts.iter().sum::<f64>() / parts.len() as f64,
        cleaning: cleaning(run),
        stage: stage.as_ref().map(|(name, _)| (*name).to_owned()),
        stage_share: stage.map_or(0.0, |(_, share)| share),
        text: String::new(),
    };
    verdict.bound = bound(run, &verdict);
    verdict.text = sentence(&verdict, pace);
    Some(verdict)
}

fn bound(run: &Summary, verdict: &Verdict) -> Bound {
    let cleans = verdict.cleaning.is_some_and(|share| share >= MOSTLY);
    match verdict.busiest {
        _ if verdict.busy < FULL && waits_for_cleaning(run, verdict) => Bound::Cleaning,
        _ if verdict.busy < FULL => Bound::Host,
        Bound::Arrays if cleans => Bound::Cleaning,
        busiest => busiest,
    }
}

/// Whether requests spent most of their time waiting for garbage collection: themselves, or for room in the buffer, whose pages did.
fn waits_for_cleaning(run: &Summary, verdict: &Verdict) -> bool {
    let of_buffer = |times: &WriteBack| {
        let program = &times.program;
        let others = [program.mapping_us, program.die_wait_us, program.bus_us, program.array_us];
        program.commands > 0 && others.iter().all(|other| program.gc_wait_us > *other)
    };
    match verdict.stage.as_deref() {
        Some("gc_wait") => true,
        Some("buffer") => run.write_back.iter().any(of_buffer),
        _ => false,
    }
}

/// The stage in which requests spent most of their time, and its part of it.
fn longest(run: &Summary) -> Option<(&str, f64)> {
    let (reads, writes) = (run.host.reads as f64, run.host.writes as f64);
    let times = run.time.iter().map(|share| (&*share.name, share.read_us * reads + share.write_us * writes));
    let all: f64 = times.clone().map(|(_, time)| time).sum();
    let longest = times.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|_| all > 0.0)?;
    Some((longest.0, longest.1 / all))
}

/// The part of the time of the arrays that went into garbage collection.
fn cleaning(run: &Summary) -> Option<f64> {
    let collected = run.metrics.number("flash.gc_array_us")? * 1e-6;
    let all = run.die_utilisation.iter().sum::<f64>() * run.simulated_seconds;
    // The time of each command of the collector is rounded to a microsecond.
    (all > 0.0).then(|| (collected / all).min(1.0))
}

fn sentence(verdict: &Verdict, pace: Pace) -> String {
    let (parts, part) = match verdict.busiest {
        Bound::Buses => ("the buses of the channels", "a channel's bus"),
        Bound::Link => ("the link to the host", "the link to the host"),
        _ => ("the arrays of the dies", "a die's array"),
    };
    let [busy, mean] = [verdict.busy, verdict.mean_busy].map(Quantity::Fraction);
    let how_busy = match verdict.busiest {
        Bound::Link => format!("busy {busy} of the run"),
        _ => format!("busy {mean} of the run in the mean, the busiest {busy}"),
    };
    let cleaning = verdict.cleaning.filter(|share| *share > 0.0).map_or_else(String::new, |share| {
        format!("; {} of the time of the arrays went into cleaning", Quantity::Fraction(share))
    });
    match verdict.bound {
        Bound::Host => {
            let why = match pace {
                Pace::Open { .. } => "whose requests came at their own times",
                Pace::BySource => "whose jobs did not ask for more",
                Pace::Closed { .. } | Pace::Bursts { .. } => "which had no more requests outstanding",
            };
            format!(
                "the host, {why}: the busiest part of the device, {part}, was busy {busy} of the run{cleaning}"
            )
        }
        Bound::Cleaning if verdict.busy < FULL => {
            format!("cleaning, which requests waited for: {parts} were {how_busy}{cleaning}")
        }
        Bound::Cleaning => format!("cleaning: {parts} were {how_busy}{cleaning}"),
        Bound::Link => format!("{parts}: it was {how_busy}{cleaning}"),
        Bound::Arrays | Bound::Buses => format!("{parts}: they were {how_busy}{cleaning}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;
    use crate::summary::TimeShare;

    const CLOSED: Pace = Pace::Closed { depth: 4, think: wordline_kernel::Duration::ZERO };

    /// A run with these utilisations of dies, channels and link, and this part of the time in each stage.
    fn run(busy: [f64; 3], stages: &[(&str, f64)]) -> Summary {
        let [dies, channels, link] = busy;
        let time = |(name, us): &(&str, f64)| TimeShare { name: (*name).into(), read_us: *us, write_us: *us };
        Summary {
            die_utilisation: vec![dies / 2.0, dies],
            channel_utilisation: vec![channels],
            link_utilisation: vec![link],
            time: stages.iter().map(time).collect(),
            ..sample::mixed()
        }
    }

    fn bound_of(run: &Summary) -> Bound {
        of(run, CLOSED).expect("it has parts").bound
    }

    #[test]
    fn a_part_that_is_full_binds_and_else_the_host() {
        let stages = [("array", 10.0), ("bus", 30.0)];
        let verdict = of(&run([0.9, 0.95, 0.2], &stages), CLOSED).expect("it has parts");
        assert_eq!((verdict.bound, verdict.busiest, verdict.busy), (Bound::Buses, Bound::Buses, 0.95));
        assert_eq!((verdict.stage.as_deref(), verdict.stage_share), (Some("bus"), 0.75));
        assert_eq!(bound_of(&run([0.2, 0.1, 0.9], &stages)), Bound::Link);
        let verdict = of(&run([0.8, 0.1, 0.2], &stages), CLOSED).expect("it has parts");
        assert_eq!((verdict.bound, verdict.busiest), (Bound::Host, Bound::Arrays));
        assert!((verdict.mean_busy - 0.6).abs() < 1e-9);
        assert!(
            verdict.text.starts_with("the host, which had no more requests outstanding"),
            "{}",
            verdict.text
        );
        let open = of(&run([0.8, 0.1, 0.2], &stages), Pace::Open { time_scale: 1.0 }).expect("it has parts");
        assert!(open.text.contains("came at their own times"), "{}", open.text);
    }

    #[test]
    fn arrays_that_mostly_clean_are_bound_by_cleaning_and_so_are_requests_that_wait_for_it() {
        let stages = [("array", 10.0), ("gc_wait", 5.0)];
        let mut full = run([0.9, 0.1, 0.1], &stages);
        full.metrics.set("flash.gc_array_us", 1e6);
        // So long that the time of the collector is this part of that of the arrays.
        let cleaned = |part: f64| {
            let collected = full.metrics.number("flash.gc_array_us").expect("a metric") * 1e-6;
            let simulated_seconds = collected / part / full.die_utilisation.iter().sum::<f64>();
            of(&Summary { simulated_seconds, ..full.clone() }, CLOSED).expect("it has parts")
        };
        let share = |verdict: &Verdict| verdict.cleaning.expect("it cleans");
        assert!((share(&cleaned(0.3)) - 0.3).abs() < 1e-9);
        assert_eq!((cleaned(0.49).bound, cleaned(0.51).bound), (Bound::Arrays, Bound::Cleaning));
        assert_eq!(bound_of(&run([0.3, 0.1, 0.1], &[("array", 10.0), ("gc_wait", 15.0)])), Bound::Cleaning);
        assert_eq!(bound_of(&run([0.3, 0.1, 0.1], &[("array", 20.0), ("gc_wait", 15.0)])), Bound::Host);
    }

    #[test]
    fn a_device_without_parts_and_a_run_without_requests_have_none() {
        let without = Summary {
            die_utilisation: Vec::new(),
            channel_utilisation: Vec::new(),
            link_utilisation: Vec::new(),
            ..sample::mixed()
        };
        assert_eq!(of(&without, CLOSED), None);
        let mut idle = sample::mixed();
        idle.host.requests = 0;
        assert_eq!(of(&idle, CLOSED), None);
    }
}
