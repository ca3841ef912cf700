//! Classes of designs in Python: their decision methods, and what these need from a device.

use pyo3::prelude::*;
use wordline_ftl::design::{ExtensionPoint, WriteStream};
use wordline_kernel::metrics::Unit;
use wordline_kernel::{Bytes, Duration, Metric};

use crate::errors::refused;

/// A class of designs. It has a name, decision methods, the number of blocks in each list of its views,
/// streams, and counters. It also has the host idle time before `idle` is called, and the bytes in flight to
/// flash at which writes wait.
#[pyclass(frozen, module = "wordline._native")]
#[derive(Clone)]
pub struct Kind {
    pub name: &'static str,
    pub decisions: Vec<Decision>,
    pub looks_at: usize,
    pub streams: Vec<WriteStream>,
    pub gc_streams: Vec<WriteStream>,
    pub idle_after: Option<Duration>,
    pub in_flight: Option<Bytes>,
    pub counters: Vec<(String, &'static Metric)>,
    /// Methods, texts and counters in the form in which the class gave them, for pickling.
    given: (Vec<String>, [Option<String>; 2], Vec<Counter>),
}

/// A decision method of a design.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Victim,
    Wear,
    Idle,
    Failed,
    Relocate,
    Stream,
    Admit,
}

impl Decision {
    const ALL: [Self; 7] =
        [Self::Victim, Self::Wear, Self::Idle, Self::Failed, Self::Relocate, Self::Stream, Self::Admit];

    /// Name of the method.
    pub fn name(self) -> &'static str {
        match self {
            Self::Victim => "victim",
            Self::Wear => "wear",
            Self::Idle => "idle",
            Self::Failed => "failed",
            Self::Relocate => "relocate",
            Self::Stream => "stream",
            Self::Admit => "admit",
        }
    }

    /// The decision as an extension point of designs; `None` if the method replaces a policy.
    pub fn seam(self) -> Option<ExtensionPoint> {
        match self {
            Self::Victim => Some(ExtensionPoint::Victim),
            Self::Relocate => Some(ExtensionPoint::Relocate),
            Self::Stream => Some(ExtensionPoint::Stream),
            Self::Idle => Some(ExtensionPoint::Background),
            Self::Failed => Some(ExtensionPoint::Fail),
            Self::Wear | Self::Admit => None,
        }
    }
}

/// Limits of the bytes in flight to flash. They are those of `buffer.destage.in_flight`.
const IN_FLIGHT: std::ops::RangeInclusive<Bytes> = Bytes(1)..=Bytes::gib(64);

#[pymethods]
impl Kind {
    /// Creates a class. A counter is an attribute with its meaning and unit. Its name lives as long as the
    /// program, as the name of a class does.
    #[new]
    fn new(
        name: &str,
        decisions: Vec<String>,
        looks_at: usize,
        streams: [u8; 2],
        texts: [Option<String>; 2],
        counters: Vec<(String, String, String)>,
    ) -> PyResult<Self> {
        let given = (decisions.clone(), texts.clone(), counters.clone());
        let [idle_after, in_flight] = texts;
        let counter = |(attribute, meaning, unit): (String, String, String)| {
            let known = UNITS.iter().find(|known| known.name() == unit);
            let names = UNITS.map(Unit::name).join(", ");
            let unit = known.ok_or_else(|| refused("unit", &unit, &format!("one of {names}")))?;
            let metric = Metric::new(format!("{name}.{attribute}").leak(), *unit, meaning.leak());
            let metric: &'static Metric = Box::leak(Box::new(metric));
            Ok((attribute, metric))
        };
        let counters = counters.into_iter().map(counter).collect::<PyResult<_>>()?;
        let idle_after = idle_after.map(|time| time.parse::<Duration>()).transpose();
        let idle_after =
            idle_after.map_err(|_| refused("idle_after", "no time", "a time, such as \"10ms\""))?;
        let size = |text: String| {
            let size = text.parse::<Bytes>().ok().filter(|size| IN_FLIGHT.contains(size));
            size.ok_or_else(|| refused("in_flight", &text, "a size from 1B to 64GiB, such as \"1MiB\""))
        };
        let in_flight = in_flight.map(size).transpose()?;
        let decisions =
            Decision::ALL.into_iter().filter(|decision| decisions.iter().any(|name| name == decision.name()));
        let stream = |kind: &str, n: u8| WriteStream::native(format!("{name} {kind} {n}").leak(), 0);
        let [streams, gc_streams] = [("host", streams[0]), ("collector", streams[1])]
            .map(|(kind, count)| (0..count).map(|n| stream(kind, n)).collect());
        let (name, decisions) = (name.to_owned().leak(), decisions.collect());
        Ok(Self { name, decisions, looks_at, streams, gc_streams, idle_after, in_flight, counters, given })
    }

    /// Pickles the class as a call of its constructor.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Made)> {
        let Self { name, looks_at, streams, gc_streams, given, .. } = slf.get();
        let (decisions, texts, counters) = given.clone();
        let counts = [streams.len() as u8, gc_streams.len() as u8];
        let made = ((*name).to_owned(), decisions, *looks_at, counts, texts, counters);
        Ok((slf.getattr("__class__")?, made))
    }
}

/// Arguments of the constructor: name, methods, number of blocks in views, numbers of streams, texts and
/// counters.
type Made = (String, Vec<String>, usize, [u8; 2], [Option<String>; 2], Vec<Counter>);

/// A counter: attribute, meaning and unit.
type Counter = (String, String, String);

impl Kind {
    /// Whether the class has the method of this decision.
    pub fn has(&self, decision: Decision) -> bool {
        self.decisions.contains(&decision)
    }
}

/// Units of counters.
const UNITS: [Unit; 6] =
    [Unit::Count, Unit::LogicalPages, Unit::Pages, Unit::Blocks, Unit::BlockSets, Unit::Bytes];
