//! The search: parameters are varied until the simulated loads give what was measured.

use std::path::Path;
use std::sync::atomic::Ordering;

use libm::{exp, log};
use wordline_lab::Error;
use wordline_lab::observer::ContinueWhile;
use wordline_lab::sweep::{self, SweepOptions};

use crate::drive::Drive;
use crate::identify::{BUSES, UNITS, free, identifies_bus, identifies_units};
use crate::least_squares::{Minimum, minimum, squares};
use crate::measurement::{Load, Measurement};
use crate::simulate::{simulate, value, write_jobs};
use crate::twin::{Link, Parameter, Twin};

/// Scale at which twins are simulated during the search. Chosen: a step takes a second, and a block still has
/// two layers. What the twin gives is simulated at its own scale at the end.
const SEARCHED: u32 = 64;

/// A twin after the search.
#[derive(Clone, Debug)]
pub struct Found {
    /// The twin.
    pub twin: Twin,
    /// The parameters that were varied, with the standard deviation of their logarithms.
    pub parameters: Vec<(Parameter, f64)>,
    /// Sums of squares by the number of units that were tried.
    pub units: Vec<(u32, f64)>,
    /// Sums of squares by the modes of the bus that were tried.
    pub buses: Vec<(u8, f64)>,
    /// The values of the twin for each measurement of the drive; `None` if no load of it is simulated.
    pub values: Vec<Option<f64>>,
    /// Number of simulated loads.
    pub runs: usize,
}

/// A load with the twin as it sees it.
type SimulatedLoad = (Twin, Load);

/// A change of a twin that is tried.
type Choice = Box<dyn Fn(&Twin) -> Twin>;

/// The links that are tried: that of the drive, and those that the host's slot may make of it, a generation
/// slower or with packets of half the payload.
fn links(link: Link) -> Vec<Link> {
    let slower = Link { generation: (link.generation - 1).max(1), ..link };
    let short = |link: Link| Link { payload: 128, ..link };
    let mut links = vec![link, short(link), slower, short(slower)];
    links.dedup();
    links
}

/// The search with its inputs.
pub struct Search<'a> {
    drive: &'a Drive,
    conduct: &'a SweepOptions<'a>,
    folder: &'a Path,
    runs: usize,
    /// The values of each simulated load for the measurements under it, with the twin as the load sees it.
    known: Vec<(SimulatedLoad, Vec<Option<f64>>)>,
}

impl<'a> Search<'a> {
    /// A search for a twin of `drive`. `folder` is for job files.
    pub fn new(drive: &'a Drive, conduct: &'a SweepOptions<'a>, folder: &'a Path) -> Self {
        Self { drive, conduct, folder, runs: 0, known: Vec::new() }
    }

    /// The twin whose loads give the least deviations, from a first guess.
    ///
    /// # Errors
    /// The errors of a run. [`Error::Stopped`] if the user stopped it.
    pub fn run(mut self, guess: &Twin) -> Result<Found, Error> {
        write_jobs(guess, &self.drive.loads(), self.folder)?;
        let scale = guess.scale;
        let guess = self.first(&Twin { scale: scale.max(SEARCHED), ..guess.clone() })?;
        let mut best = self.refined(guess)?;
        let mut units = vec![(best.0.units, squares(&best.1.residuals))];
        let mut buses = vec![(best.0.bus, squares(&best.1.residuals))];
        for choice in self.choices(&best.0) {
            let other = self.refined(choice(&best.0))?;
            let sum = squares(&other.1.residuals);
            if other.0.units != best.0.units {
                units.push((other.0.units, sum));
            }
            if other.0.bus != best.0.bus {
                buses.push((other.0.bus, sum));
            }
            if sum < squares(&best.1.residuals) {
                best = other;
            }
        }
        let (twin, found) = best;
        let twin = Twin { scale, ..twin };
        let values = self.values(&[&twin])?.remove(0);
        let parameters = free(self.drive, &twin).into_iter().zip(found.deviations).collect();
        Ok(Found { twin, parameters, units, buses, values, runs: self.runs })
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
    /// the bus, and where reads by depth identify them, the next numbers of units and other links.
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
            for link in links(best.link).into_iter().filter(|link| *link != best.link) {
                choices.push(Box::new(move |twin| Twin { link, ..twin.clone() }));
            }
        }
        choices
    }

    /// The twin with the least deviations around a guess, at its bus and its number of units.
    fn refined(&mut self, guess: Twin) -> Result<(Twin, Minimum), Error> {
        let parameters = free(self.drive, &guess);
        let start = parameters.iter().map(|parameter| log(parameter.get(&guess))).collect();
        let moved = |at: &[f64]| {
            let mut twin = guess.clone();
            for (parameter, at) in parameters.iter().zip(at) {
                parameter.set(&mut twin, exp(*at));
            }
            twin
        };
        let found = minimum(start, &mut |points| {
            let twins: Vec<Twin> = points.iter().map(|at| moved(at)).collect();
            self.residuals(&twins.iter().collect::<Vec<_>>())
        })?;
        Ok((moved(&found.at), found))
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
            let of = |(n, one): (usize, &Measurement)| known(twin, one.load).and_then(|values| values[n]);
            self.drive.measured.iter().enumerate().map(of).collect()
        };
        Ok(twins.iter().map(|twin| of_twin(twin)).collect())
    }

    /// The deviations of each twin from the measurements, in standard deviations.
    fn residuals(&mut self, twins: &[&Twin]) -> Result<Vec<Vec<f64>>, Error> {
        let measured = &self.drive.measured;
        let values = self.values(twins)?;
        let residual =
            |(one, value): (&Measurement, Option<f64>)| Some(log(value? / one.value) / deviation(one));
        Ok(values
            .into_iter()
            .map(|values| measured.iter().zip(values).filter_map(residual).collect())
            .collect())
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
        Load::Drive | Load::SteadyWrites | Load::Beside { .. } => {}
    }
    seen
}

/// Standard deviation of the logarithm of a measurement: its spread, but no less than what a twin can be right to.
pub fn deviation(one: &Measurement) -> f64 {
    one.spread.unwrap_or(0.0).max(one.quantity.resolution()).max(one.load.resolution())
}
