//! Designs in Python: an object of Python answers questions of a device that are asked seldom.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use pyo3::prelude::*;
use pyo3::types::PyString;
use pyo3::{PyClass, PyClassInitializer};
use wordline_kernel::metrics::{Unit, Value};
use wordline_kernel::snapshot::{Broken, Reader, State, Writer};
use wordline_kernel::{Duration, Metric, Stream};
use wordline_lab as lab;
use wordline_lab::Error;
use wordline_nand::{BlockSetId, RowId};
use wordline_ssd::design::{Combination, Needs, Observes, Seam, Seen, View, WriteStream};
use wordline_ssd::policy::background;
use wordline_ssd::policy::failure::{self, After};
use wordline_ssd::policy::relocator::Leaving;
use wordline_ssd::policy::router::Outgoing;
use wordline_ssd::policy::victim::{Candidates, Indexes};
use wordline_ssd::{Config, Design, DeviceFile, Parts, contract};

use crate::errors::{of_device, refused, wrong_answer};
use crate::values::shown;
use crate::views::{Block, Failure, Moved, Random, Resting, Shown, Written};

/// A class of designs: its name, its methods that answer questions, how many blocks of each order its views show, its streams, how long the
/// host rests before it is asked what to do meanwhile, and its counters.
#[pyclass(frozen, module = "wordline._native")]
#[derive(Clone)]
pub struct Kind {
    name: &'static str,
    answers: Vec<Answer>,
    looks_at: usize,
    streams: Vec<WriteStream>,
    collector_streams: Vec<WriteStream>,
    rests_after: Option<Duration>,
    counters: Vec<(String, &'static Metric)>,
}

/// A method of a design that answers a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Victim,
    Relocate,
    Stream,
    Idle,
    Failed,
}

impl Answer {
    const ALL: [Self; 5] = [Self::Victim, Self::Relocate, Self::Stream, Self::Idle, Self::Failed];

    /// The name of the method.
    fn name(self) -> &'static str {
        match self {
            Self::Victim => "victim",
            Self::Relocate => "relocate",
            Self::Stream => "stream",
            Self::Idle => "idle",
            Self::Failed => "failed",
        }
    }

    fn seam(self) -> Seam {
        match self {
            Self::Victim => Seam::Victim,
            Self::Relocate => Seam::Relocate,
            Self::Stream => Seam::Stream,
            Self::Idle => Seam::Background,
            Self::Failed => Seam::Fail,
        }
    }
}

#[pymethods]
impl Kind {
    /// Counters are attributes, each with what it counts and its unit. Names live as long as the program, as those of classes do.
    #[new]
    fn new(
        name: &str,
        answers: Vec<String>,
        looks_at: usize,
        streams: [u8; 2],
        rests_after: Option<&str>,
        counters: Vec<(String, String, String)>,
    ) -> PyResult<Self> {
        let counter = |(attribute, meaning, unit): (String, String, String)| {
            let known = UNITS.iter().find(|known| known.name() == unit);
            let names = UNITS.map(Unit::name).join(", ");
            let unit = known.ok_or_else(|| refused("unit", &unit, &format!("one of {names}")))?;
            let metric = Metric::new(format!("{name}.{attribute}").leak(), *unit, meaning.leak());
            let metric: &'static Metric = Box::leak(Box::new(metric));
            Ok((attribute, metric))
        };
        let counters = counters.into_iter().map(counter).collect::<PyResult<_>>()?;
        let rests_after = rests_after.map(str::parse::<Duration>).transpose();
        let rests_after =
            rests_after.map_err(|_| refused("rests_after", "no time", "a time, such as \"10ms\""))?;
        let answers =
            Answer::ALL.into_iter().filter(|answer| answers.iter().any(|name| name == answer.name()));
        let stream = |kind: &str, n: u8| WriteStream::native(format!("{name} {kind} {n}").leak(), 0);
        let [streams, collector_streams] = [("host", streams[0]), ("collector", streams[1])]
            .map(|(kind, count)| (0..count).map(|n| stream(kind, n)).collect());
        let (name, answers) = (name.to_owned().leak(), answers.collect());
        Ok(Self { name, answers, looks_at, streams, collector_streams, rests_after, counters })
    }
}

/// Units that counts have.
const UNITS: [Unit; 6] =
    [Unit::Count, Unit::LogicalPages, Unit::Pages, Unit::Blocks, Unit::BlockSets, Unit::Bytes];

/// The calls of a design, over all devices that were made with it.
#[derive(Default)]
pub struct Calls {
    name: &'static str,
    raised: Mutex<Option<PyErr>>,
    calls: AtomicU64,
    nanoseconds: AtomicU64,
}

impl Calls {
    /// Whether the design raised an exception.
    pub fn has_raised(&self) -> bool {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// The exception that the design raised, if it did.
    pub fn take_raised(&self) -> Option<PyErr> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// How often it was asked, and the part that it had in a run of so many seconds.
    pub fn told(&self, seconds: f64) -> String {
        let (name, calls) = (self.name, self.calls.load(Ordering::Relaxed));
        let percent = self.nanoseconds.load(Ordering::Relaxed) as f64 / 1e7 / seconds.max(1e-9);
        format!("the design {name} in Python was called {calls} times, {percent:.2} % of the time of the run")
    }
}

/// An answer that is the number of a stream.
const STREAM: &str = "the number of one of its streams, from 0";

/// An object of Python as a design.
struct PythonDesign {
    object: Py<PyAny>,
    kind: Kind,
    calls: Arc<Calls>,
    /// The number of the last opening of a block.
    opened: u64,
}

impl PythonDesign {
    /// A design of a device of its own: what the object counts or remembers is that of one device.
    fn of(py: Python<'_>, object: &Py<PyAny>, calls: &Arc<Calls>) -> PyResult<Self> {
        let object = py.import("copy")?.call_method1("copy", (object,))?;
        let kind = object.getattr("_kind")?.cast_into::<Kind>()?;
        let (kind, calls) = (kind.get().clone(), Arc::clone(calls));
        Ok(Self { object: object.unbind(), kind, calls, opened: 0 })
    }

    fn raise(&self, error: PyErr) {
        let mut raised = self.calls.raised.lock().unwrap_or_else(PoisonError::into_inner);
        raised.get_or_insert(error);
    }

    /// The answer of a method to `shown_view`, as `read` takes it; `otherwise` once an exception was raised, which ends the run.
    fn ask<'a, A, T>(
        &self,
        method: Answer,
        shown_view: A,
        stream: &mut Stream,
        otherwise: T,
        read: impl FnOnce(&Bound<'_, PyAny>) -> Result<T, &'a str>,
    ) -> T
    where
        A: PyClass + Into<PyClassInitializer<A>>,
    {
        if self.calls.has_raised() {
            return otherwise;
        }
        let began = Instant::now();
        let asked = |py: Python<'_>| {
            let random = Bound::new(py, Random(Mutex::new(stream.clone())))?;
            let answer =
                self.object.bind(py).call_method1(method.name(), (Bound::new(py, shown_view)?, &random));
            *stream = random.get().0.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let answer = answer?;
            read(&answer)
                .map_err(|wanted| wrong_answer(self.kind.name, method.name(), &shown(&answer), wanted))
        };
        let answer = self.call(asked);
        self.calls.calls.fetch_add(1, Ordering::Relaxed);
        self.calls.nanoseconds.fetch_add(began.elapsed().as_nanos() as u64, Ordering::Relaxed);
        answer.unwrap_or(otherwise)
    }

    /// The result of a call to the object; nothing where it raises an exception, which ends the run.
    fn call<T>(&self, call: impl FnOnce(Python<'_>) -> PyResult<T>) -> Option<T> {
        Python::attach(call).map_err(|error| self.raise(error)).ok()
    }
}

impl State for PythonDesign {
    fn save_state(&self, to: &mut Writer<'_>) -> Result<(), Broken> {
        let saved = |py: Python<'_>| self.object.bind(py).call_method0("_save")?.extract::<String>();
        to.value("fields", &self.call(saved).unwrap_or_default())?;
        to.value("opened", &self.opened)
    }

    fn load_state(&mut self, from: &mut Reader<'_>) -> Result<(), Broken> {
        let fields: String = from.value("fields")?;
        self.call(|py| self.object.bind(py).call_method1("_load", (PyString::new(py, &fields),)).map(drop));
        self.opened = from.value("opened")?;
        Ok(())
    }
}

impl Design for PythonDesign {
    fn name(&self) -> &'static str {
        self.kind.name
    }

    fn needs(&self) -> Needs {
        let seams: Vec<Seam> = self.kind.answers.iter().map(|answer| answer.seam()).collect();
        let chooses = seams.contains(&Seam::Victim);
        Needs {
            indexes: Indexes { by_closing: chooses, ..Indexes::default() },
            observes: if chooses { Observes::BLOCKS } else { Observes::NOTHING },
            streams: self.kind.streams.clone(),
            collector_streams: self.kind.collector_streams.clone(),
            ..Needs::of(&seams)
        }
    }

    fn victim(&mut self, from: Candidates<'_>, row: RowId, view: &mut View<'_>) -> Option<BlockSetId> {
        let facts = |block: BlockSetId| {
            let facts = view.block(block);
            let age = self.opened.saturating_sub(facts.opened);
            Block { number: block.0, valid: from.valid(block), erases: facts.erases, age }
        };
        let looks_at = self.kind.looks_at;
        let shown_view = Shown {
            pages: from.pages_per_block(),
            row: row.0,
            free_blocks: view.free_blocks(row),
            now_ps: view.now().ps(),
            oldest: from.oldest_first().take(looks_at).map(facts).collect(),
            fewest: from.fewest_first().take(looks_at).map(facts).collect(),
            looks_at,
        };
        // No block has that number: the run ends with this event.
        let otherwise = Some(BlockSetId(u32::MAX));
        self.ask(Answer::Victim, shown_view, view.random(), otherwise, |answer| {
            if answer.is_none() {
                return Ok(None);
            }
            let block = answer.cast::<Block>().map_err(|_| "a block of the view, or None")?;
            Ok(Some(BlockSetId(block.get().number)))
        })
    }

    fn relocate(&mut self, page: &Leaving, _pool: u8, view: &mut View<'_>) -> u8 {
        let streams = self.kind.collector_streams.len();
        self.ask(Answer::Relocate, Moved::of(page), view.random(), 0, |answer| {
            answer.extract().ok().filter(|n: &u8| usize::from(*n) < streams).ok_or(STREAM)
        })
    }

    fn stream(&mut self, written: &Outgoing<'_>, _pool: u8, view: &mut View<'_>) -> u8 {
        let streams = self.kind.streams.len();
        self.ask(Answer::Stream, Written::of(written), view.random(), 0, |answer| {
            answer.extract().ok().filter(|n: &u8| usize::from(*n) < streams).ok_or(STREAM)
        })
    }

    fn rests_after(&self) -> Option<Duration> {
        self.kind.rests_after
    }

    fn free_blocks(&mut self, row: &background::Resting, view: &mut View<'_>) -> u32 {
        self.ask(Answer::Idle, Resting::of(row), view.random(), 0, |answer| {
            answer.extract().map_err(|_| "a number of free blocks, from 0")
        })
    }

    fn failed(&mut self, failure: &failure::Failure, view: &mut View<'_>) -> After {
        self.ask(Answer::Failed, Failure::of(failure), view.random(), After::Retire, |answer| {
            match answer.extract::<String>().as_deref() {
                Ok("retire") => Ok(After::Retire),
                Ok("close") => Ok(After::Close),
                Ok("go-on") => Ok(After::GoOn),
                _ => Err("\"retire\", \"close\" or \"go-on\""),
            }
        })
    }

    fn observe(&mut self, seen: &Seen<'_>, view: &mut View<'_>) {
        if let Seen::Opened { block, .. } = seen {
            self.opened = view.block(*block).opened;
        }
    }

    fn measure(&self) -> Vec<(&'static Metric, Value)> {
        let one = |py: Python<'_>, attribute: &str| self.object.bind(py).getattr(attribute)?.extract::<u64>();
        let counters = self.kind.counters.iter();
        counters
            .filter_map(|(name, metric)| Some((*metric, Value::Count(self.call(|py| one(py, name))?))))
            .collect()
    }
}

fn name_of(design: &Bound<'_, PyAny>) -> PyResult<&'static str> {
    let kind = design.getattr("_kind").ok().and_then(|kind| Some(kind.cast_into::<Kind>().ok()?.get().name));
    kind.ok_or_else(|| {
        refused("design", shown(design), "an object of a class that is made of wordline.Design")
    })
}

/// A device with the design of an object of Python, and the calls of that.
pub fn with_design(device: &lab::Device, design: &Bound<'_, PyAny>) -> PyResult<(lab::Device, Arc<Calls>)> {
    let calls = Arc::new(Calls { name: name_of(design)?, ..Calls::default() });
    // Super blocks have no facts of their own.
    let kind = design.getattr("_kind")?.cast_into::<Kind>()?;
    let chooses = kind.get().answers.contains(&Answer::Victim);
    let scope = device.get("ftl.gc.scope");
    if device.ssd().is_none() || (chooses && scope.as_ref().and_then(toml::Value::as_str) != Some("row")) {
        let found = match scope {
            Some(scope) if device.ssd().is_some() => format!("it with ftl.gc.scope = {scope}"),
            _ => format!("it with a device of the type {}", device.configured.device_type()),
        };
        return Err(refused(
            "design",
            found,
            if chooses { "an SSD that cleans the blocks of rows" } else { "an SSD" },
        ));
    }
    let made = PythonDesign::of(design.py(), &design.clone().unbind(), &calls)?;
    let mut ssd = device.ssd().expect("it was asked above").clone();
    let parts = parts_with(made, &ssd.config);
    ssd.config.file = with_room(ssd.config.file, &parts, ssd.config.pools.count());
    ssd.config = parts.check(&ssd.config).map_err(|wrong| of_device(Error::Config(wrong)))?;
    let (object, told) = (design.clone().unbind(), Arc::clone(&calls));
    let with = ssd.with(move |_, config| {
        let made = Python::attach(|py| PythonDesign::of(py, &object, &told)).expect("it was made before");
        parts_with(made, config)
    });
    let mut device = device.clone();
    device.configured = Arc::new(with);
    Ok((device, calls))
}

/// The policies of a device, with a design for some of its questions.
fn parts_with(design: PythonDesign, config: &Config) -> Parts {
    Parts { designs: Combination::of(vec![Box::new(design)]), ..Parts::of(config) }
}

/// The same device, cleaned as early as the streams of a design want, where its keys say later.
fn with_room(mut file: DeviceFile, parts: &Parts, pools: usize) -> DeviceFile {
    file.demands = parts.demands(pools).ok();
    file.raise_marks([false; 2]);
    file
}

/// Tries a design on small devices: reads give back what was written, all answers are allowed, and so it is with faults, power cuts and
/// snapshots.
#[pyfunction]
pub fn check_contract(py: Python<'_>, design: &Bound<'_, PyAny>) -> PyResult<()> {
    let calls = Arc::new(Calls { name: name_of(design)?, ..Calls::default() });
    let made = PythonDesign::of(py, &design.clone().unbind(), &calls)?;
    let made_streams = made.kind.streams.len() + made.kind.collector_streams.len();
    let config = contract::small().check().expect("the device of the contract is one");
    let mut device = with_room(contract::small(), &parts_with(made, &config), config.pools.count());
    if made_streams > 2 {
        // Chosen: each stream has a block at work in each row, of which the device has few.
        device.ftl.over_provisioning = 0.5;
    }
    let (object, told) = (design.clone().unbind(), Arc::clone(&calls));
    let tried = py.detach(move || {
        std::panic::catch_unwind(AssertUnwindSafe(|| {
            contract::check(&device, |_| {
                let made = Python::attach(|py| PythonDesign::of(py, &object, &told));
                Box::new(made.expect("it was made before"))
            });
        }))
    });
    match (calls.take_raised(), tried) {
        (Some(raised), _) => Err(raised),
        (None, Ok(())) => Ok(()),
        (None, Err(panic)) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let found = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
            Err(wrong_answer(calls.name, "the contract", found, "what designs keep"))
        }
    }
}
