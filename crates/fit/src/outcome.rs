//! The outcome of a fit: what was identified and what was not, and the twin beside the drive.

use schemars::JsonSchema;
use serde::Serialize;

use crate::drive::Drive;
use crate::identify::{
    identifies_bus, identifies_split, identifies_suspend, identifies_units, write_latency,
};
use crate::load::Load;
use crate::measurement::{Measurement, Quantity};
use crate::search::{Found, deviation};
use crate::twin::{Link, Origin, Parameter, bus_rate};

/// Greatest half-width of an interval, relative to the value, of a parameter that counts as identified. Chosen.
const WIDEST: f64 = 0.5;

/// Times below it have digits behind the point, in microseconds. Chosen.
const FEW: f64 = 10.0;

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
    /// Measurements that were left out, with the reason.
    pub left_out: Vec<String>,
    /// Numbers of units that were tried last, each with its sum of squared deviations.
    pub units: Vec<Tried>,
    /// Rates of the flash bus that were tried, in MT/s, each with its sum of squared deviations.
    pub buses: Vec<Tried>,
    /// The two searches for the read time of the fastest page; null if percentiles tell it.
    #[schemars(with = "FastestPage")]
    pub fastest_page: Option<FastestPage>,
    /// Number of simulated loads.
    pub runs: usize,
    /// The device, as a configuration.
    pub configuration: String,
    /// The device with zones, as a configuration; null if the drive is not zoned.
    #[schemars(with = "String")]
    pub zoned: Option<String>,
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
    /// The difference in standard deviations, by which the fit weighs it; null if it does not.
    #[schemars(with = "f64")]
    pub deviations: Option<f64>,
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

/// Sums of squared deviations of the two searches for the read time of the fastest page, where only means of reads
/// tell it. The twin has the smaller sum.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FastestPage {
    /// With a read time of its own.
    pub free: f64,
    /// As a fixed part of the middle page's read time.
    pub tied: f64,
}

impl FastestPage {
    /// The result of both searches, as a sentence.
    pub(crate) fn sentence(self) -> String {
        let Self { free, tied } = self;
        let [what, other] = match free < tied {
            true => ["fitted", "tied to the middle page"],
            false => ["tied to the middle page", "fitted"],
        };
        let [least, most] = if free < tied { [free, tied] } else { [tied, free] };
        format!(
            "The read time of the fastest page is {what}: a sum of squares of {least:.1}, and of {most:.1} if it is {other}."
        )
    }
}

impl Fit {
    /// The outcome of a search. `source` names the measurements in the device.
    pub(crate) fn of(drive: &Drive, found: &Found, source: &str) -> Self {
        let twin = &found.twin;
        let (identified, not_identified) = parameters(drive, found);
        let row = |place: usize| {
            let one = &drive.measured[place];
            let is_counted = one.is_weighed() && !found.left_out.contains(&place);
            let value = &found.values[place];
            let twin = (*value)?;
            Some(Row {
                load: one.load.to_string(),
                quantity: one.quantity.to_string(),
                measured: one.value,
                twin,
                difference: (twin / one.value - 1.0) * 100.0,
                deviations: is_counted.then(|| libm::log(twin / one.value) / deviation(one)),
                source: one.source.clone(),
            })
        };
        let mut rows: Vec<(Load, Row)> = Vec::new();
        for (place, one) in drive.measured.iter().enumerate() {
            rows.extend(row(place).map(|row| (one.load, row)));
        }
        rows.sort_by_key(|(load, _)| *load);
        let note = |origin: Origin| note(origin, drive, found);
        Self {
            name: twin.name.clone(),
            model: twin.model.clone(),
            identified,
            not_identified,
            rows: rows.into_iter().map(|(_, row)| row).collect(),
            left_out: found.left_out.iter().map(|place| left_out(drive, found, *place)).collect(),
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
            fastest_page: found.fastest.map(|[free, tied]| FastestPage { free, tied }),
            runs: found.runs,
            configuration: twin.document(source, note),
            zoned: twin.zoned_document(source, note),
        }
    }
}

/// A measurement that was left out, with its origin and what the twin gives.
fn left_out(drive: &Drive, found: &Found, place: usize) -> String {
    let one = &drive.measured[place];
    let twin = found.values[place].map_or_else(String::new, |value| format!(": the twin has {value:.4}"));
    let Measurement { source, quantity, value, load, .. } = one;
    format!("{source}: {quantity} of {value} under {load}, which contradicts all others{twin}")
}

/// The rate of a mode of the bus that is tried, in MT/s.
fn rate(mode: u8) -> u32 {
    bus_rate(mode) as u32
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

    /// Adds a parameter of which several values were tried, as [`Self::read_off`] does, unless others fit as well.
    fn tried(
        &mut self,
        parameter: &str,
        value: (f64, &'static str),
        others_fit: bool,
        from: Option<&str>,
        wanted: &'static str,
    ) {
        if others_fit {
            let wanted = "measured, but not precisely enough: other values fit as well";
            self.missing.push(NotIdentified { parameter: parameter.into(), wanted });
        } else {
            self.read_off(parameter, value, from, wanted);
        }
    }

    /// Adds the parameters that are read off measurements.
    fn add_read_off(&mut self, drive: &Drive, found: &Found) {
        let twin = &found.twin;
        self.read_off(
            "space behind the capacity",
            (twin.space / 1e9, "GB"),
            drive.property(Quantity::Space).map(|_| "bytes to the first fall of random writes"),
            "saturating random writes on a full drive until they fall (job S2)",
        );
        self.tried(
            "units that read independently",
            (f64::from(twin.units), ""),
            !fitting_others(&found.units, twin.units, found.limit).is_empty(),
            identifies_units(drive).then_some("random reads by depth"),
            "random reads of depths from 1 to 256 (job R1)",
        );
        self.tried(
            "rate of the flash bus",
            (f64::from(rate(twin.bus)), "MT/s"),
            !fitting_others(&found.buses, twin.bus, found.limit).is_empty(),
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
            "write buffer",
            (twin.buffer.map_or(0.0, |buffer| buffer / 1e6), "MB"),
            drive
                .property(Quantity::Buffer)
                .map(|_| "bytes to the jump of the latency of writes after idle time"),
            "writes after idle time until their latency jumps (job W2); 16 MiB is chosen",
        );
        self.read_off(
            "planes of a die that program together",
            (f64::from(twin.planes()), ""),
            identifies_split(drive).then_some("tails of reads beside sequential writes; one, two or four"),
            "of dies, planes and tPROG only the product shows; dies of 512 Gb of four planes are chosen. The split: reads \
             beside sequential writes (jobs W3 and RW), with the rate of writes (job S1)",
        );
        self.read_off(
            "SLC cache",
            (twin.cache.map_or(0.0, |cache| cache.size / 1e9), "GB"),
            twin.cache.map(|_| "bytes to the first fall of sequential writes"),
            "sequential writes of the whole erased drive (job S1); the twin has none",
        );
        self.read_off(
            "work while idle",
            (twin.idle_gain.map_or(0.0, |gain| gain / 1e9), "GB"),
            drive.property(Quantity::IdleGain).map(|_| "bytes at full speed after a minute of idle time"),
            "writes after a minute of idle time in steady state (job G1); the twin does nothing while idle",
        );
        if let Some(zones) = twin.zones {
            let [empty, full] = zones.reset.unwrap_or_default();
            let from = zones.reset.map(|_| "resets of zones by what was written to them");
            let wanted = "resets of an empty and of a full zone; the twin's take the time of an erase";
            self.read_off("reset of an empty zone", (empty, "us"), from, wanted);
            self.read_off("reset of a full zone", (full, "us"), from, wanted);
        }
    }
}

/// Parameters that no measurement identifies.
const NEVER_IDENTIFIED: [(&str, &str); 3] = [
    ("erase time", "erases are suspended, so latencies hardly show it; the erase time of the part is chosen"),
    ("channels", "only the product of their number and rate shows; eight are chosen"),
    ("victim policy of GC", "uniform writes do not show it; greedy is chosen"),
];

/// The parameters that were identified, and those that were not.
fn parameters(drive: &Drive, found: &Found) -> (Vec<Identified>, Vec<NotIdentified>) {
    let twin = &found.twin;
    let mut sorted = Sorted::default();
    sorted.add_read_off(drive, found);
    for parameter in [
        Parameter::FastRead,
        Parameter::MiddleRead,
        Parameter::SlowRead,
        Parameter::Program,
        Parameter::SlcProgram,
        Parameter::Suspend,
        Parameter::Interval,
    ] {
        let name = parameter.name().to_owned();
        let is_limit = parameter == Parameter::Interval;
        match interval(parameter, found) {
            Some(interval) => sorted.identified.push(Identified {
                parameter: name,
                value: parameter.get(twin),
                unit: "us",
                interval: Some(interval),
                from: identified_by(parameter).into(),
            }),
            None if parameter == Parameter::SlcProgram && twin.cache.is_none() => (),
            // A limit was tried, and the sum did not fall by more than by chance.
            None if is_limit && twin.interval.is_none() && identifies_units(drive) => (),
            None => {
                let too_wide = "measured, but not precisely enough: its interval is wider than its value";
                let wanted =
                    if varied(parameter, found).is_some() { too_wide } else { identified_by(parameter) };
                sorted.missing.push(NotIdentified { parameter: name, wanted });
            }
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
        Parameter::Interval => "the greatest rate of reads by depth (job R1)",
    }
}

/// The 95 % interval of a parameter; `None` if it was not varied, or is too wide.
fn interval(parameter: Parameter, found: &Found) -> Option<[f64; 2]> {
    varied(parameter, found).filter(|[low, high]| libm::log(high / low) < 2.0 * WIDEST)
}

/// The 95 % interval of a parameter that was varied, however wide.
fn varied(parameter: Parameter, found: &Found) -> Option<[f64; 2]> {
    let varied = |of: Parameter| found.intervals.iter().find(|(varied, _)| *varied == of);
    let is_middle = parameter == Parameter::MiddleRead;
    let interval = varied(parameter).or_else(|| is_middle.then(|| varied(Parameter::Read)).flatten());
    interval.map(|(_, interval)| *interval)
}

/// The other values that were tried and that fit as well as the chosen one, but for chance.
fn fitting_others<T: Copy + PartialEq>(tried: &[(T, f64)], chosen: T, limit: f64) -> Vec<T> {
    tried.iter().filter(|(value, sum)| *value != chosen && *sum < limit).map(|(value, _)| *value).collect()
}

/// The comment at the rate of the bus. Other rates may fit as well.
fn bus_note(found: &Found) -> String {
    let others = fitting_others(&found.buses, found.twin.bus, found.limit);
    let others: Vec<String> = others.into_iter().map(|bus| rate(bus).to_string()).collect();
    let others = match others.as_slice() {
        [] => String::new(),
        [one] => format!(" ({one} fits as well)"),
        all => format!(" ({} fit as well)", all.join(" and ")),
    };
    format!("fitted: {} MT/s, one of three{others}", rate(found.twin.bus))
}

/// The comment at the key of a parameter: what it is from, with its interval.
fn note(origin: Origin, drive: &Drive, found: &Found) -> Option<String> {
    let times = |parameters: &[Parameter]| {
        let known: Vec<String> = parameters
            .iter()
            .filter_map(|parameter| {
                let [low, high] = interval(*parameter, found)?;
                let digits = if high < FEW { 2 } else { 0 };
                Some(format!("{} {low:.digits$} to {high:.digits$} us", parameter.name()))
            })
            .collect();
        let is_varied =
            parameters.iter().any(|parameter| found.intervals.iter().any(|(varied, _)| varied == parameter));
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
        Origin::Interval => times(&[Parameter::Interval]),
        Origin::Units => identifies_units(drive).then(|| "fitted: reads by depth".into()),
        Origin::Bus => identifies_bus(drive).then(|| bus_note(found)),
        Origin::Command => {
            write_latency(drive).map(|_| "measured: the lowest median latency of writes".into())
        }
        Origin::Link => link_note(drive, found.twin.link),
        Origin::Space => {
            drive.property(Quantity::Space).map(|space| format!("measured: {space:.0} GB to the first fall"))
        }
        Origin::SlcCache => {
            found.twin.cache.map(|cache| format!("measured: {:.0} GB to the first fall", cache.size / 1e9))
        }
        Origin::Bits => drive.property(Quantity::BitsPerCell).map(|_| "as the drive is described".into()),
        Origin::Split => identifies_split(drive)
            .then(|| "fitted: tails of reads beside sequential writes; one, two or four".into()),
        Origin::Suspends => identifies_suspend(drive)
            .then(|| "fitted: reads beside writes, with and without suspension".into()),
        Origin::Buffer => found
            .twin
            .buffer
            .map(|bytes| format!("measured: {:.0} MB to the jump of write latency", bytes / 1e6)),
        Origin::Idle => {
            let gain =
                found.twin.idle_gain.map(|gain| format!("measured: {:.1} GB after idle time", gain / 1e9));
            gain.map(|gain| gain + "; the idle time before work is chosen")
        }
        Origin::Zones => drive
            .property(Quantity::ZoneCapacity)
            .or(drive.property(Quantity::ZoneSize))
            .map(|_| "as the drive is described".into()),
        Origin::ZoneReset => Some("measured: times of resets by what was written".into()),
        Origin::ZoneFinish => {
            let is_finish = |one: &Measurement| matches!(one.load, Load::ZoneFinish { .. });
            drive.measured.iter().any(is_finish).then(|| "measured: times of finishes".into())
        }
    }
}

/// The comment at the link.
fn link_note(drive: &Drive, link: Link) -> Option<String> {
    let note = match link {
        Link::Sata { .. } => "as the drive is described",
        Link::Express { generation, payload, .. } => {
            let described = drive.property(Quantity::LinkGeneration)?;
            match (described as u32 == generation, payload) {
                (true, 256) => "as the drive is described",
                (true, _) => "fitted: packets of half the usual payload",
                (false, _) => {
                    "fitted: reads end at the rate of a slot that is a generation slower than the drive"
                }
            }
        }
    };
    Some(note.into())
}
