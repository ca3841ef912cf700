//! Waiting time of reads at a die that programs and erases, with and without suspends; `docs/VALIDATION.md`
//! has the derivation.

use serde_json::Value as Json;
use wordline_kernel::Duration;
use wordline_nand::chain::BusPhase;

use crate::judge::column;
use crate::models::bisect::bisect;
use crate::models::bounds;
use crate::sweep::Point;
use wordline_lab::error::{Error, Result};
use wordline_lab::trace::workload::arrival::Arrival;

/// Work that a read can find at a die. It determines how long the read waits. Times are in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Work {
    /// Work that runs to its end. The read arrives at any time in it.
    Whole { time: f64 },
    /// A load over the bus, followed by work of the array. A suspend stops the array within `rest`, unless it
    /// ends before.
    Suspended { load: f64, array: f64, rest: f64 },
}

impl Work {
    fn time(self) -> f64 {
        match self {
            Self::Whole { time } => time,
            Self::Suspended { load, array, .. } => load + array,
        }
    }

    /// Fraction of the work's time in which an arriving read waits longer than `wait`.
    fn wait_exceeds(self, wait: f64) -> f64 {
        let part = match self {
            Self::Whole { time } => time - wait,
            Self::Suspended { load, array, rest } => {
                let loading = (load + rest.min(array) - wait).clamp(0.0, load);
                loading + if wait < rest.min(array) { array - wait } else { 0.0 }
            }
        };
        part.max(0.0) / self.time()
    }

    /// Mean wait of a read that arrives during the work.
    fn mean(self) -> f64 {
        match self {
            Self::Whole { time } => time / 2.0,
            Self::Suspended { load, array, rest } => {
                let rest = rest.min(array);
                (load * (load / 2.0 + rest) + array * rest - rest * rest / 2.0) / (load + array)
            }
        }
    }
}

/// Kinds of work of a die, each with its share of the time. In the remaining time the die is idle.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadWaits {
    work: Vec<(f64, Work)>,
    /// Latency of a read without waiting, in seconds.
    read: f64,
    /// Share of the time in which the die reads for the host.
    reads: f64,
}

impl ReadWaits {
    /// Latency in seconds at or below which the share `quantile` of the reads completes. Valid for reads that
    /// are so rare that they do not queue behind each other.
    pub fn quantile(&self, quantile: f64) -> f64 {
        let exceeds = |wait: f64| -> f64 {
            self.work.iter().map(|(share, work)| share * work.wait_exceeds(wait)).sum()
        };
        let most = self.work.iter().map(|(_, work)| work.time() + 1.0).fold(0.0, f64::max);
        if exceeds(0.0) <= 1.0 - quantile {
            return self.read;
        }
        self.read + bisect(0.0, most, |wait| exceeds(wait) <= 1.0 - quantile)
    }

    /// Mean latency in seconds. The wait is the residual work, divided by the share of time not spent on
    /// reads (Cobham 1954).
    pub fn mean(&self) -> f64 {
        let residual: f64 = self.work.iter().map(|(share, work)| share * work.mean()).sum();
        self.read + residual / (1.0 - self.reads)
    }

    /// Work of a run's single die, from the counts of the run.
    pub(crate) fn of(point: &Point, values: &Json) -> Result<Self> {
        let layout = &point.config().file.layout;
        let dies = layout.channels * layout.packages_per_channel * layout.dies_per_package;
        let refuse = |found: String| {
            let wanted =
                "one die with one plane, requests of a page with exponential times between them".to_owned();
            Err(Error::Argument { what: "model of reads behind programs".into(), found, wanted })
        };
        let Some(workload) = point.generated() else { return refuse("no generated workload".into()) };
        let (part, planes) = (point.config().ftl.part(), point.config().ftl.geometry().planes_per_row);
        let page = part.geometry.page_size;
        let (Arrival::Exponential { interval }, [one]) = (&workload.arrival, &workload.sizes[..]) else {
            return refuse("other arrivals, or several sizes".into());
        };
        if dies != 1 || planes * point.config().ftl.geometry().groups_per_die != 1 || one.size != page {
            return refuse(format!("{dies} dies, requests of {}", one.size));
        }
        let seconds = column::number(values, "simulated_seconds")?;
        let share = |name: &str, work: Work| -> Result<_> {
            Ok((column::number(values, name)? * work.time() / seconds, work))
        };
        let read = bounds::read_time(part, page);
        let reads = workload.read_share * read / interval.seconds();
        let [program, erase] = changes(point);
        let work = vec![
            share("flash.programs", program)?,
            share("flash.erases", erase)?,
            share("flash.gc_reads", Work::Whole { time: read })?,
            (reads, Work::Whole { time: read }),
        ];
        Ok(Self { work, read, reads })
    }
}

/// A program and an erase, with the suspend settings of the scheduler.
fn changes(point: &Point) -> [Work; 2] {
    let (part, scheduling) = (point.config().ftl.part(), &point.config().file.ftl.scheduling);
    let work = |load: BusPhase, array: Duration, suspend: BusPhase, rest: Duration, suspends: bool| {
        let (load, array) = (load.total(part, 1).seconds(), array.seconds());
        match suspends {
            true => Work::Suspended { load, array, rest: (suspend.total(part, 1) + rest).seconds() },
            false => Work::Whole { time: load + array },
        }
    };
    let [program, erase] = part.timing.suspend;
    [
        work(
            BusPhase::Program,
            part.program_time(0),
            BusPhase::SuspendProgram,
            program,
            scheduling.suspend_programs,
        ),
        work(BusPhase::Erase, part.timing.erase, BusPhase::SuspendErase, erase, scheduling.suspend_erases),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::tests::close;

    fn meeting(work: Work, share: f64) -> ReadWaits {
        ReadWaits { work: vec![(share, work)], read: 1e-4, reads: 0.0 }
    }

    /// Waits of evenly spaced reads during a piece of work, measured on a time line. The method does not use
    /// the formulas.
    fn played(load: f64, array: f64, rest: Option<f64>, idle: f64) -> Vec<f64> {
        let whole = load + array + idle;
        let steps = 200_000;
        let wait = |step: i32| {
            let at = whole * (f64::from(step) + 0.5) / f64::from(steps);
            let end = load + array;
            let rested = rest.map_or(end, |rest| end.min(at.max(load) + rest));
            (rested - at).max(0.0)
        };
        let mut waits: Vec<f64> = (0..steps).map(wait).collect();
        waits.sort_by(f64::total_cmp);
        waits
    }

    #[test]
    fn the_formulas_are_those_of_reads_on_a_line() {
        for (load, array, rest) in [
            (0.0, 3.8e-3, None),
            (2.5e-5, 7.5e-4, None),
            (2.5e-5, 7.5e-4, Some(1e-4)),
            (1e-4, 2e-4, Some(3e-4)),
        ] {
            let idle = load + array;
            let waits = played(load, array, rest, idle);
            let work = match rest {
                None => Work::Whole { time: load + array },
                Some(rest) => Work::Suspended { load, array, rest },
            };
            let meeting = meeting(work, 0.5);
            close(meeting.mean() - 1e-4, waits.iter().sum::<f64>() / waits.len() as f64, 1e-3);
            for quantile in [0.4, 0.6, 0.75, 0.99, 0.999] {
                let found = waits[(quantile * waits.len() as f64) as usize];
                close(meeting.quantile(quantile), 1e-4 + found, 2e-3);
            }
        }
    }

    #[test]
    fn a_mean_over_two_classes_is_that_of_a_server_with_priorities() {
        // Cobham's formula: (sum of rate x second moment / 2) / (1 - load of the first class).
        let (rate, read, programs, program) = (500.0, 1e-4, 300.0, 1e-3);
        let (reads, busy) = (rate * read, programs * program);
        let work = vec![(reads, Work::Whole { time: read }), (busy, Work::Whole { time: program })];
        let residual = (rate * read * read + programs * program * program) / 2.0;
        close(ReadWaits { work, read, reads }.mean(), read + residual / (1.0 - reads), 1e-12);
    }
}
