//! The search: parameters are varied until the simulated loads give what was measured.

use std::path::Path;
use std::sync::atomic::Ordering;

use libm::{exp, log};
use wordline_lab::Error;
use wordline_lab::observer::ContinueWhile;
use wordline_lab::sweep::{self, SweepOptions};

use crate::drive::Drive;
use crate::identify::{
    UNITS, free, identifies_bus, identifies_split, identifies_suspend, identifies_units, is_fastest_in_means,
    shortest_interval,
};
use crate::least_squares::{Minimum, minimum, squares};
use crate::load::Load;
use crate::measurement::Measurement;
use crate::simulate::{simulate, value, write_jobs};
use crate::twin::{BUSES, Link, Parameter, Twin};

/// Scale at which twins are simulated during the search. Chosen: a step takes a second, and a block still has
/// two layers. What the twin gives is simulated at its own scale at the end.
const SEARCHED: u32 = 64;

/// A twin after the search.
#[derive(Clone, Debug)]
pub struct Found {
    /// The twin.
    pub twin: Twin,
    /// The parameters that were varied, with their 95 % intervals.
    pub intervals: Vec<(Parameter, [f64; 2])>,
    /// Sums of squares by the number of units that were tried.
    pub units: Vec<(u32, f64)>,
    /// Sums of squares by the modes of the bus that were tried.
    pub buses: Vec<(u8, f64)>,
    /// Sum of squares up to which another choice fits as well, but for chance.
    pub limit: f64,
    /// Sums of squares with the read time of the fastest page free and tied to the middle page; `None` if
    /// percentiles tell it.
    pub fastest: Option<[f64; 2]>,
    /// The values of the twin for each measurement of the drive; `None` if no load of it is simulated.
    pub values: Vec<Option<f64>>,
    /// The measurements that were left out, because they contradict all others.
    pub left_out: Vec<usize>,
    /// Number of simulated loads.
    pub runs: usize,
}

/// Deviations from which a measurement may contradict the others, and their least factor over the root of the mean
/// square of the others. Chosen: a twin with a wrong mechanism is off in several measurements alike.
const CONTRADICTS: f64 = 8.0;
const BEYOND_OTHERS: f64 = 4.0;

/// Most measurements that are left out, and measurements among which one may be. Chosen: with fewer it cannot be told
/// which one is wrong.
const MOST_LEFT_OUT: usize = 2;
const LEAST_OTHERS: usize = 7;

/// Fall of the sum of squares that one more parameter reaches in 5 % of all fits, in units of their mean square: the
/// 95th percentile of chi-squared with one degree of freedom.
const BY_CHANCE: f64 = 3.84;

/// Suspend time, as a part of the program time, from which it is tried that nothing is suspended. Chosen: a read that
/// waits so long for a suspension gains little by it.
const LATE: f64 = 0.25;

/// A load with the twin as it sees it.
type SimulatedLoad = (Twin, Load);

/// A change of a twin that is tried.
type Choice = Box<dyn Fn(&Twin) -> Twin>;

/// The links that are tried: that of the drive, and those that the host's slot may make of it, a generation
/// slower or with packets of half the payload.
fn links(link: Link) -> Vec<Link> {
    let Link::Express { generation, lanes, payload } = link else { return vec![link] };
    let slower = (generation - 1).max(1);
    let mut links: Vec<Link> = [(generation, payload), (generation, 128), (slower, payload), (slower, 128)]
        .map(|(generation, payload)| Link::Express { generation, lanes, payload })
        .into();
    links.dedup();
    links
}

/// The twin with the least sum of squares, and what was tried.
struct Best {
    twin: Twin,
    found: Minimum,
    units: Vec<(u32, f64)>,
    buses: Vec<(u8, f64)>,
    fastest: Option<[f64; 2]>,
    /// The minima of all choices, with their twins.
    minima: Vec<(Twin, Minimum)>,
}

impl Best {
    fn sum(&self) -> f64 {
        squares(&self.found.residuals)
    }

    /// Fall of the sum that one more parameter may reach by chance.
    fn chance(&self) -> f64 {
        BY_CHANCE * self.unit()
    }

    /// The mean square of the deviations, but no less than one: the unit in which sums are compared.
    fn unit(&self) -> f64 {
        (self.sum() / self.found.residuals.len().max(1) as f64).max(1.0)
    }

    /// The 95 % intervals of the parameters that were varied: the values whose sum of squares is above the least by no
    /// more than chance, whatever is chosen. Measurements that hardly tell the rates of the bus apart do not tell the
    /// read time better than the difference of the transfers.
    fn intervals(&self, drive: &Drive) -> Vec<(Parameter, [f64; 2])> {
        let mut intervals: Vec<(Parameter, [f64; 2])> =
            free(drive, &self.twin).into_iter().map(|parameter| (parameter, [f64::INFINITY, 0.0])).collect();
        for (twin, found) in &self.minima {
            let above = (squares(&found.residuals) - self.sum()) / self.unit();
            let sigmas = (BY_CHANCE - above.max(0.0)).max(0.0).sqrt();
            for (parameter, deviation) in free(drive, twin).into_iter().zip(&found.deviations) {
                let same = intervals.iter_mut().find(|(of, _)| *of == parameter);
                let Some((_, [low, high])) = same.filter(|_| sigmas > 0.0) else { continue };
                let value = parameter.get(twin);
                *low = low.min(value * exp(-sigmas * deviation));
                *high = high.max(value * exp(sigmas * deviation));
            }
        }
        intervals
    }
}

/// The search with its inputs.
pub struct Search<'a> {
    drive: &'a Drive,
    conduct: &'a SweepOptions<'a>,
    folder: &'a Path,
    runs: usize,
    /// The values of each simulated load for the measurements under it, with the twin as the load sees it.
    known: Vec<(SimulatedLoad, Vec<Option<f64>>)>,
    /// Measurements that do not count, by their place.
    left_out: Vec<usize>,
}

impl<'a> Search<'a> {
    /// A search for a twin of `drive`. `folder` is for job files.
    pub fn new(drive: &'a Drive, conduct: &'a SweepOptions<'a>, folder: &'a Path) -> Self {
        Self { drive, conduct, folder, runs: 0, known: Vec::new(), left_out: Vec::new() }
    }

    /// The twin whose loads give the least deviations, from a first guess.
    ///
    /// # Errors
    /// The errors of a run. [`Error::Stopped`] if the user stopped it.
    pub fn run(mut self, guess: &Twin) -> Result<Found, Error> {
        write_jobs(guess, &self.drive.loads(), self.folder)?;
        let scale = guess.scale;
        let guess = Twin { scale: scale.max(SEARCHED), ..guess.clone() };
        let mut best = self.best(&guess)?;
        while self.left_out.len() < MOST_LEFT_OUT {
            let Some(place) = self.contradicting(&best.found.residuals) else { break };
            self.left_out.push(place);
            best = self.best(&guess)?;
        }
        let (intervals, limit) = (best.intervals(self.drive), best.sum() + best.chance());
        let Best { twin, units, buses, fastest, .. } = best;
        let twin = Twin { scale, ..twin };
        let values = self.values(&[&twin])?.remove(0);
        Ok(Found {
            twin,
            intervals,
            units,
            buses,
            limit,
            fastest,
            values,
            left_out: self.left_out,
            runs: self.runs,
        })
    }

    /// The best twin of all. If only means tell the fastest page, its read time is searched free and tied, and free
    /// from where the tied search ended: with one parameter more a search alone may end in a worse minimum.
    fn best(&mut self, guess: &Twin) -> Result<Best, Error> {
        let guess = self.first(guess)?;
        if !is_fastest_in_means(self.drive) {
            return self.best_choice(guess);
        }
        let mut tied = self.best_choice(Twin { tied: true, ..guess.clone() })?;
        let mut free = self.best_choice(guess)?;
        let (twin, found) = self.refined(Twin { tied: false, ..tied.twin.clone() })?;
        let mut minima = [std::mem::take(&mut tied.minima), std::mem::take(&mut free.minima)].concat();
        minima.push((twin.clone(), found.clone()));
        if squares(&found.residuals) < free.sum() {
            (free.twin, free.found) = (twin, found);
        }
        let fastest = Some([free.sum(), tied.sum()]);
        let best = if free.sum() < tied.sum() { free } else { tied };
        Ok(Best { fastest, minima, ..best })
    }

    /// The best twin of all choices, from a guess.
    fn best_choice(&mut self, guess: Twin) -> Result<Best, Error> {
        let (twin, found) = self.refined(guess)?;
        let sum = squares(&found.residuals);
        let mut best = Best {
            units: vec![(twin.units, sum)],
            buses: vec![(twin.bus, sum)],
            fastest: None,
            minima: vec![(twin.clone(), found.clone())],
            twin,
            found,
        };
        for choice in self.choices(&best.twin) {
            let (twin, found) = self.refined(choice(&best.twin))?;
            let sum = squares(&found.residuals);
            best.minima.push((twin.clone(), found.clone()));
            if twin.units != best.twin.units {
                best.units.push((twin.units, sum));
            }
            if twin.bus != best.twin.bus {
                best.buses.push((twin.bus, sum));
            }
            let is_limited = twin.interval.is_some() && best.twin.interval.is_none();
            if sum < best.sum() - if is_limited { best.chance() } else { 0.0 } {
                (best.twin, best.found) = (twin, found);
            }
        }
        Ok(best)
    }

    /// The place of the measurement whose deviation is far beyond those of all others; `None` if there is none, or
    /// if it cannot be told from few.
    fn contradicting(&self, residuals: &[f64]) -> Option<usize> {
        let counted: Vec<usize> =
            (0..self.drive.measured.len()).filter(|place| self.counts(*place)).collect();
        if counted.len() != residuals.len() || residuals.len() <= LEAST_OTHERS {
            return None;
        }
        let worst =
            (0..residuals.len()).max_by(|a, b| residuals[*a].abs().total_cmp(&residuals[*b].abs()))?;
        let others =
            (squares(residuals) - residuals[worst] * residuals[worst]) / (residuals.len() - 1) as f64;
        let limit = CONTRADICTS.max(BEYOND_OTHERS * others.max(0.0).sqrt());
        (residuals[worst].abs() > limit).then_some(counted[worst])
    }

    /// Whether the measurement at a place counts in the sum of squares.
    fn counts(&self, place: usize) -> bool {
        self.drive.measured[place].is_weighed() && !self.left_out.contains(&place)
    }

    /// The guess, with the number of units whose deviations are least.
    fn first(&mut self, guess: &Twin) -> Result<Twin, Error> {
        if !identifies_units(self.drive) {
            return Ok(guess.clone());
        }
        let twins = UNITS.map(|count| guess.with_units(count));
        let residuals = self.residuals(&twins.each_ref())?;
        let sums: Vec<f64> = residuals.iter().map(|residuals| squares(residuals)).collect();
        let least = (0..twins.len()).min_by(|a, b| sums[*a].total_cmp(&sums[*b])).unwrap_or(0);
        Ok(twins[least].clone())
    }

    /// The changes of a twin that are tried one after the other, each with a search of its own: other rates of
    /// the bus, and where reads by depth identify them, the next numbers of units, a limit of commands a second, and
    /// other links.
    fn choices(&self, best: &Twin) -> Vec<Choice> {
        let mut choices: Vec<Choice> = Vec::new();
        if identifies_units(self.drive) {
            let place = UNITS.iter().position(|count| *count == best.units).unwrap_or(0);
            for count in
                [place.checked_sub(1), Some(place + 1)].into_iter().flatten().filter_map(|n| UNITS.get(n))
            {
                choices.push(Box::new(move |twin| twin.with_units(*count)));
            }
        }
        if identifies_bus(self.drive) {
            for (bus, _) in BUSES.into_iter().filter(|(bus, _)| *bus != best.bus) {
                choices.push(Box::new(move |twin| Twin { bus, ..twin.clone() }));
            }
        }
        if identifies_units(self.drive) {
            let (least, most) = Parameter::Interval.bounds();
            if let Some(interval) = shortest_interval(self.drive) {
                let interval = Some(interval.clamp(least, most));
                choices.push(Box::new(move |twin| Twin { interval, ..twin.clone() }));
            }
            for link in links(best.link).into_iter().filter(|link| *link != best.link) {
                choices.push(Box::new(move |twin| Twin { link, ..twin.clone() }));
            }
        }
        if identifies_split(self.drive) && best.planes() == 4 && best.zones.is_none() {
            for split in [2, 4] {
                choices.push(Box::new(move |twin| twin.with_split(split)));
            }
        }
        if identifies_suspend(self.drive) && best.suspend > LATE * best.program {
            choices.push(Box::new(|twin| Twin { suspends: false, ..twin.clone() }));
        }
        choices
    }

    /// The twin with the least deviations around a guess, at its bus and its number of units.
    fn refined(&mut self, guess: Twin) -> Result<(Twin, Minimum), Error> {
        let parameters = free(self.drive, &guess);
        let start = parameters.iter().map(|parameter| log(parameter.get(&guess))).collect();
        let found = minimum(start, &mut |points| {
            let twins: Vec<Twin> = points.iter().map(|at| guess.moved(&parameters, at)).collect();
            self.residuals(&twins.iter().collect::<Vec<_>>())
        })?;
        Ok((guess.moved(&parameters, &found.at), found))
    }

    /// The values of each twin for each measurement.
    fn values(&mut self, twins: &[&Twin]) -> Result<Vec<Vec<Option<f64>>>, Error> {
        let loads = self.drive.loads();
        let all = twins.iter().flat_map(|twin| loads.iter().map(|load| (seen_by(*load, twin), *load)));
        let mut points: Vec<(Twin, Load)> = Vec::new();
        for point in all {
            if !points.contains(&point) && !self.known.iter().any(|(known, _)| *known == point) {
                points.push(point);
            }
        }
        let stop = self.conduct.stop;
        let results = sweep::run(&points, self.conduct, |(twin, load)| {
            let mut observer = ContinueWhile(|| !stop.load(Ordering::Relaxed));
            let summary = simulate(twin, *load, self.folder, &mut observer)?;
            let of = |one: &Measurement| value(&summary, *load, one.quantity).filter(|_| one.load == *load);
            Ok(self.drive.measured.iter().map(of).collect::<Vec<_>>())
        })?;
        self.runs += points.len();
        for (point, result) in points.into_iter().zip(results) {
            self.known.push((point, result.ok_or(Error::Stopped)?));
        }
        let known = |twin: &Twin, load: Load| {
            let point = (seen_by(load, twin), load);
            self.known.iter().find(|(known, _)| *known == point).map(|(_, values)| values)
        };
        let of_twin = |twin: &Twin| {
            let of = |(n, one): (usize, &Measurement)| {
                known(twin, one.load).and_then(|values| values[n]).or_else(|| twin.zone_time(one.load))
            };
            self.drive.measured.iter().enumerate().map(of).collect()
        };
        Ok(twins.iter().map(|twin| of_twin(twin)).collect())
    }

    /// The deviations of each twin from the measurements, in standard deviations.
    fn residuals(&mut self, twins: &[&Twin]) -> Result<Vec<Vec<f64>>, Error> {
        let values = self.values(twins)?;
        let measured = &self.drive.measured;
        let residual = |(place, value): (usize, Option<f64>)| {
            let one = &measured[place];
            let value = value.filter(|_| self.counts(place))?;
            Some(bounded(log(value / one.value) / deviation(one)))
        };
        let of_twin =
            |values: Vec<Option<f64>>| values.into_iter().enumerate().filter_map(residual).collect();
        Ok(values.into_iter().map(of_twin).collect())
    }
}

/// The twin without the parameters that do not matter to a load, so that it is not simulated again when they
/// change. Reads of a filled drive meet no program, and writes of a drive without GC no read.
fn seen_by(load: Load, twin: &Twin) -> Twin {
    let usual = |parameter: Parameter| parameter.bounds().1;
    let mut seen = twin.clone();
    match load {
        Load::RandomReads { .. } | Load::TrimmedReads { .. } => {
            for parameter in [Parameter::Program, Parameter::SlcProgram, Parameter::Suspend] {
                parameter.set(&mut seen, usual(parameter));
            }
        }
        Load::Writes { .. }
        | Load::IdleWrites
        | Load::FreshWrites
        | Load::CacheWrites
        | Load::NativeWrites => {
            for parameter in
                [Parameter::SlowRead, Parameter::MiddleRead, Parameter::FastRead, Parameter::Suspend]
            {
                parameter.set(&mut seen, usual(parameter));
            }
        }
        _ => {}
    }
    // No load here shows the zones, nor how the twin is searched.
    seen.zones = None;
    seen.tied = false;
    seen
}

/// A deviation whose square grows in proportion to it beyond those that contradict others (Huber's function), so that
/// one wrong value does not carry the twin away.
fn bounded(deviation: f64) -> f64 {
    match deviation.abs() {
        size if size <= CONTRADICTS => deviation,
        size => (CONTRADICTS * (2.0 * size - CONTRADICTS)).sqrt().copysign(deviation),
    }
}

/// Standard deviation of the logarithm of a measurement: its spread, but no less than what a twin can be right to.
pub fn deviation(one: &Measurement) -> f64 {
    one.spread.unwrap_or(0.0).max(one.quantity.resolution()).max(one.load.resolution())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviations_beyond_a_limit_grow_with_their_root() {
        assert_eq!(bounded(-7.5), -7.5);
        assert!((bounded(CONTRADICTS) - CONTRADICTS).abs() < 1e-9);
        // The square grows by 2 x limit for each deviation more.
        let slope = bounded(-101.0) * bounded(-101.0) - bounded(-100.0) * bounded(-100.0);
        assert!((slope - 2.0 * CONTRADICTS).abs() < 1e-9, "{slope}");
        assert!(bounded(-100.0) < 0.0);
    }

    #[test]
    fn the_measurement_far_beyond_all_others_contradicts_them() {
        let one = |rank| Measurement {
            quantity: crate::measurement::Quantity::Read(crate::measurement::Statistic::Percentile(rank)),
            load: Load::SteadyWrites,
            value: 1.0,
            spread: None,
            source: String::new(),
        };
        let drive = Drive { measured: (0..9).map(|rank| one(f64::from(rank))).collect(), ..Drive::default() };
        let stop = std::sync::atomic::AtomicBool::new(false);
        let conduct = SweepOptions { threads: 1, stop: &stop, progress: &|_, _| () };
        let mut search = Search::new(&drive, &conduct, Path::new("."));
        let mut residuals = vec![1.0, -2.0, 1.5, 0.0, 20.0, 1.0, -1.0, 0.5, 2.0];
        assert_eq!(search.contradicting(&residuals), Some(4));
        // Others are off as well: the twin lacks a mechanism.
        residuals[1] = 15.0;
        assert_eq!(search.contradicting(&residuals), None);
        // Places count all measurements, also those that were left out.
        search.left_out.push(0);
        assert_eq!(search.contradicting(&[1.0, 1.0, 0.0, 30.0, 1.0, 1.0, 1.0, 1.0]), Some(4));
        // Seven others are too few.
        search.left_out.push(1);
        assert_eq!(search.contradicting(&[1.0, 0.0, 30.0, 1.0, 1.0, 1.0, 1.0]), None);
    }
}
