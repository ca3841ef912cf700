//! The outcome of a fit: what was identified and what was not, and the twin beside the drive.

use schemars::JsonSchema;
use serde::Serialize;

use crate::drive::Drive;
use crate::identify::{BUSES, identifies_bus, identifies_units, write_latency};
use crate::measurement::{Load, Measurement, Quantity};
use crate::search::{Found, deviation};
use crate::twin::{Origin, Parameter, Twin};

/// Greatest half-width of an interval, relative to the value, of a parameter that counts as identified. Chosen.
const WIDEST: f64 = 0.5;

/// Standard deviations of a 95 % interval.
const SIGMAS: f64 = 1.96;

/// The outcome of a fit.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Fit {
    /// Name of the twin.
    pub name: String,
    /// Model of the drive.
    pub model: String,
    /// The parameters that the measurements identify.
    pub identified: Vec<Identified>,
    /// The parameters that the measurements do not identify.
    pub not_identified: Vec<NotIdentified>,
    /// The drive and the twin, for each measurement under a load.
    pub rows: Vec<Row>,
    /// Numbers of units that were tried last, each with its sum of squared deviations.
    pub units: Vec<Tried>,
    /// Rates of the flash bus that were tried, in MT/s, each with its sum of squared deviations.
    pub buses: Vec<Tried>,
    /// Number of simulated loads.
    pub runs: usize,
    /// The device, as a configuration.
    pub configuration: String,
}

/// A parameter that the measurements identify.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Identified {
    /// The parameter.
    pub parameter: String,
    /// Its value.
    pub value: f64,
    /// Its unit; empty for a number.
    pub unit: &'static str,
    /// The 95 % interval; null for a value that is read off.
    #[schemars(with = "[f64; 2]")]
    pub interval: Option<[f64; 2]>,
    /// The measurements that identify it.
    pub from: String,
}

/// A parameter that the measurements do not identify.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NotIdentified {
    /// The parameter.
    pub parameter: String,
    /// The measurement that would identify it, or the choice that was made.
    pub wanted: &'static str,
}

/// A measurement, and what the twin gives.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    /// The load.
    pub load: String,
    /// The quantity.
    pub quantity: String,
    /// The drive.
    pub measured: f64,
    /// The twin.
    pub twin: f64,
    /// The difference, in percent of the drive.
    pub difference: f64,
    /// The difference in standard deviations, by which the fit weighs it.
    pub deviations: f64,
    /// The origin of the measurement.
    pub source: String,
}

/// A choice that was tried.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Tried {
    /// The choice.
    pub value: u32,
    /// Its sum of squared deviations.
    pub squares: f64,
}

impl Fit {
    /// The outcome of a search. `source` names the measurements in the device.
    pub(crate) fn of(drive: &Drive, found: &Found, source: &str) -> Self {
        let twin = &found.twin;
        let (identified, not_identified) = parameters(drive, found);
        let row = |(one, value): (&Measurement, &Option<f64>)| {
            let twin = (*value)?;
            Some(Row {
                load: one.load.to_string(),
                quantity: one.quantity.to_string(),
                measured: one.value,
                twin,
                difference: (twin / one.value - 1.0) * 100.0,
                deviations: libm::log(twin / one.value) / deviation(one),
                source: one.source.clone(),
            })
        };
        let mut rows: Vec<(Load, Row)> = Vec::new();
        for (one, value) in drive.measured.iter().zip(&found.values) {
            rows.extend(row((one, value)).map(|row| (one.load, row)));
        }
        rows.sort_by_key(|(load, _)| *load);
        let note = |origin: Origin| note(origin, drive, found);
        Self {
            name: twin.name.clone(),
            model: twin.model.clone(),
            identified,
            not_identified,
            rows: rows.into_iter().map(|(_, row)| row).collect(),
            units: found
                .units
                .iter()
                .map(|(value, squares)| Tried { value: *value, squares: *squares })
                .collect(),
            buses: found
                .buses
                .iter()
                .map(|(bus, squares)| Tried { value: rate(*bus), squares: *squares })
                .collect(),
            runs: found.runs,
            configuration: twin.document(source, note),
        }
    }
}

/// The rate of a mode of the bus that is tried, in MT/s.
fn rate(mode: u8) -> u32 {
    BUSES.iter().find(|(bus, _)| *bus == mode).map_or(0, |(_, rate)| *rate as u32)
}

/// The parameters that were identified, and those that were not.
#[derive(Default)]
struct Sorted {
    identified: Vec<Identified>,
    missing: Vec<NotIdentified>,
}

impl Sorted {
    /// Adds a parameter that is read off a measurement, if it was made.
    fn read_off(
        &mut self,
        parameter: &str,
        value: (f64, &'static str),
        from: Option<&str>,
        wanted: &'static str,
    ) {
        let parameter = parameter.to_owned();
        let (value, unit) = value;
        match from {
            Some(from) => {
                let from = from.to_owned();
                self.identified.push(Identified { parameter, value, unit, interval: None, from });
            }
            None => self.missing.push(NotIdentified { parameter, wanted }),
        }
    }

    /// Adds the parameters that are read off measurements.
    fn add_read_off(&mut self, drive: &Drive, twin: &Twin) {
        self.read_off(
            "space behind the capacity",
            (twin.space / 1e9, "GB"),
            drive.property(Quantity::Space).map(|_| "bytes to the first fall of random writes"),
            "saturating random writes on a full drive until they fall (job S2)",
        );
        self.read_off(
            "units that read independently",
            (f64::from(twin.units), ""),
            identifies_units(drive).then_some("random reads by depth"),
            "random reads of depths from 1 to 256 (job R1)",
        );
        self.read_off(
            "rate of the flash bus",
            (f64::from(rate(twin.bus)), "MT/s"),
            identifies_bus(drive).then_some("delays of reads; one of three rates"),
            "latencies of random reads (jobs R1, R2 and P1)",
        );
        self.read_off(
            "firmware time of a command",
            (twin.command, "us"),
            write_latency(drive).map(|_| "the lowest median latency of writes"),
            "latencies of single writes (job W1)",
        );
        self.read_off(
            "SLC cache",
            (twin.cache.map_or(0.0, |cache| cache.size / 1e9), "GB"),
            twin.cache.map(|_| "bytes to the first fall of sequential writes"),
            "sequential writes of the whole erased drive (job S1); the twin has none",
        );
    }
}

/// Parameters that no measurement identifies.
const NEVER_IDENTIFIED: [(&str, &str); 4] = [
    ("size of the write buffer", "no load that the fit simulates shows it; 16 MiB is chosen"),
    ("erase time", "erases are suspended, so latencies hardly show it; the erase time of the part is chosen"),
    (
        "split of the program rate into dies, planes and tPROG",
        "only the product shows; dies of 512 Gb are chosen",
    ),
    ("victim policy of GC", "uniform writes do not show it; greedy is chosen"),
];

/// The parameters that were identified, and those that were not.
fn parameters(drive: &Drive, found: &Found) -> (Vec<Identified>, Vec<NotIdentified>) {
    let twin = &found.twin;
    let mut sorted = Sorted::default();
    sorted.add_read_off(drive, twin);
    for parameter in [
        Parameter::FastRead,
        Parameter::MiddleRead,
        Parameter::SlowRead,
        Parameter::Program,
        Parameter::SlcProgram,
        Parameter::Suspend,
    ] {
        let name = parameter.name().to_owned();
        match interval(parameter, found) {
            Some(interval) => sorted.identified.push(Identified {
                parameter: name,
                value: parameter.get(twin),
                unit: "us",
                interval: Some(interval),
                from: identified_by(parameter).into(),
            }),
            None if parameter == Parameter::SlcProgram && twin.cache.is_none() => (),
            None => sorted.missing.push(NotIdentified { parameter: name, wanted: identified_by(parameter) }),
        }
    }
    for (parameter, wanted) in NEVER_IDENTIFIED {
        sorted.missing.push(NotIdentified { parameter: parameter.into(), wanted });
    }
    (sorted.identified, sorted.missing)
}

/// The measurements that identify a parameter.
const fn identified_by(parameter: Parameter) -> &'static str {
    match parameter {
        Parameter::Read | Parameter::FastRead | Parameter::MiddleRead | Parameter::SlowRead => {
            "percentiles of random reads (jobs R1, R3 and P1)"
        }
        Parameter::Program => "rates of writes (jobs S1 and S2)",
        Parameter::SlcProgram => "the rate of writes into the SLC cache (job S1)",
        Parameter::Suspend => "latencies of reads beside writes (job P1)",
    }
}

/// The 95 % interval of a parameter; `None` if it was not varied, or is too wide.
fn interval(parameter: Parameter, found: &Found) -> Option<[f64; 2]> {
    let varied = |of: Parameter| found.parameters.iter().find(|(varied, _)| *varied == of);
    let is_middle = parameter == Parameter::MiddleRead;
    let (_, deviation) =
        varied(parameter).or_else(|| is_middle.then(|| varied(Parameter::Read)).flatten())?;
    let half = SIGMAS * deviation;
    let value = parameter.get(&found.twin);
    (half < WIDEST).then(|| [value * libm::exp(-half), value * libm::exp(half)])
}

/// The comment at the key of a parameter: what it is from, with its interval.
fn note(origin: Origin, drive: &Drive, found: &Found) -> Option<String> {
    let times = |parameters: &[Parameter]| {
        let known: Vec<String> = parameters
            .iter()
            .filter_map(|parameter| {
                let [low, high] = interval(*parameter, found)?;
                Some(format!("{} {low:.0} to {high:.0} us", parameter.name()))
            })
            .collect();
        let is_varied =
            parameters.iter().any(|parameter| found.parameters.iter().any(|(varied, _)| varied == parameter));
        match (known.is_empty(), is_varied) {
            (false, _) => Some(format!("fitted: {}", known.join(", "))),
            (true, true) => Some("fitted, but the measurements hardly identify it".to_owned()),
            (true, false) => None,
        }
    };
    match origin {
        Origin::Read => {
            times(&[Parameter::FastRead, Parameter::MiddleRead, Parameter::SlowRead, Parameter::Read])
        }
        Origin::Program => times(&[Parameter::Program]),
        Origin::SlcProgram => times(&[Parameter::SlcProgram]),
        Origin::Suspend => times(&[Parameter::Suspend]),
        Origin::Units => identifies_units(drive).then(|| "fitted: reads by depth".into()),
        Origin::Bus => {
            identifies_bus(drive).then(|| format!("fitted: {} MT/s, one of three", rate(found.twin.bus)))
        }
        Origin::Command => {
            write_latency(drive).map(|_| "measured: the lowest median latency of writes".into())
        }
        Origin::Link => drive.property(Quantity::LinkGeneration).map(|described| {
            let link = found.twin.link;
            match (described as u32 == link.generation, link.payload) {
                (true, 256) => "as the drive is described",
                (true, _) => "fitted: packets of half the usual payload",
                (false, _) => {
                    "fitted: reads end at the rate of a slot that is a generation slower than the drive"
                }
            }
            .into()
        }),
        Origin::Space => {
            drive.property(Quantity::Space).map(|space| format!("measured: {space:.0} GB to the first fall"))
        }
        Origin::SlcCache => {
            found.twin.cache.map(|cache| format!("measured: {:.0} GB to the first fall", cache.size / 1e9))
        }
    }
}
