//! Designs in Python: an object of Python answers questions of a device that are asked seldom.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use pyo3::prelude::*;
use pyo3::types::PyString;
use wordline_kernel::metrics::{Unit, Value};
use wordline_kernel::snapshot::{Broken, Reader, State, Writer};
use wordline_kernel::{Metric, Stream};
use wordline_lab as lab;
use wordline_nand::{BlockSetId, RowId};
use wordline_ssd::Design;
use wordline_ssd::contract;
use wordline_ssd::design::{Combination, Needs, Observes, Seam, Seen, View};
use wordline_ssd::policy::victim::{Candidates, Indexes};

use crate::errors::{refused, wrong_answer};
use crate::values::shown;

/// A class of designs: its name, how many blocks of each order its views show, and its counters.
#[pyclass(frozen, module = "wordline._native")]
pub struct Kind {
    name: &'static str,
    looks_at: usize,
    counters: Vec<(String, &'static Metric)>,
}

#[pymethods]
impl Kind {
    /// Counters are attributes, each with what it counts and its unit. Names live as long as the program, as those of classes do.
    #[new]
    fn new(name: &str, looks_at: usize, counters: Vec<(String, String, String)>) -> PyResult<Self> {
        let counter = |(attribute, meaning, unit): (String, String, String)| {
            let known = UNITS.iter().find(|known| known.name() == unit);
            let names = UNITS.map(Unit::name).join(", ");
            let unit = known.ok_or_else(|| refused("unit", &unit, &format!("one of {names}")))?;
            let metric = Metric::new(format!("{name}.{attribute}").leak(), *unit, meaning.leak());
            let metric: &'static Metric = Box::leak(Box::new(metric));
            Ok((attribute, metric))
        };
        let counters = counters.into_iter().map(counter).collect::<PyResult<_>>()?;
        Ok(Self { name: name.to_owned().leak(), looks_at, counters })
    }
}

/// Units that counts have.
const UNITS: [Unit; 6] =
    [Unit::Count, Unit::LogicalPages, Unit::Pages, Unit::Blocks, Unit::BlockSets, Unit::Bytes];

/// A block that could be cleaned.
#[pyclass(frozen, get_all, module = "wordline._native")]
#[derive(Clone, Copy)]
pub struct Block {
    /// Its number in the device.
    number: u32,
    /// Its valid logical pages.
    valid: u32,
    /// How often it was erased.
    erases: u32,
    /// How many blocks of the device were opened since it was.
    age: u64,
}

#[pymethods]
impl Block {
    fn __repr__(&self) -> String {
        let Self { number, valid, erases, age } = self;
        format!("<wordline.Block {number}: valid={valid}, erases={erases}, age={age}>")
    }
}

/// The device as a design sees it when it is asked for a victim.
#[pyclass(frozen, module = "wordline._native", name = "View")]
pub struct Shown {
    /// Logical pages of a block.
    #[pyo3(get)]
    pages: u32,
    /// The row of planes of which a block is to be cleaned.
    #[pyo3(get)]
    row: u32,
    /// Its free blocks.
    #[pyo3(get)]
    free_blocks: u32,
    /// The time, in picoseconds.
    #[pyo3(get)]
    now_ps: u64,
    oldest: Vec<Block>,
    fewest: Vec<Block>,
    looks_at: usize,
}

#[pymethods]
impl Shown {
    /// The blocks that were closed first, the oldest at the front; there may be fewer.
    fn oldest(&self, count: usize) -> PyResult<Vec<Block>> {
        self.first(&self.oldest, count)
    }

    /// The blocks with the fewest valid pages, fewest first; there may be fewer.
    fn fewest(&self, count: usize) -> PyResult<Vec<Block>> {
        self.first(&self.fewest, count)
    }
}

impl Shown {
    fn first(&self, blocks: &[Block], count: usize) -> PyResult<Vec<Block>> {
        if count > self.looks_at {
            let wanted =
                format!("at most {}: class ...(wl.Design, name=..., looks_at={count})", self.looks_at);
            return Err(refused("blocks of a view", count, &wanted));
        }
        Ok(blocks.iter().take(count).copied().collect())
    }
}

/// The design's own random stream.
#[pyclass(frozen, module = "wordline._native")]
pub struct Random(Mutex<Stream>);

#[pymethods]
impl Random {
    /// A whole number from 0 to below the bound, each equally likely.
    fn below(&self, bound: u64) -> PyResult<u64> {
        if bound == 0 {
            return Err(refused("the bound", bound, "at least 1"));
        }
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).below(bound))
    }

    /// A number from 0 to below 1.
    fn random(&self) -> f64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).unit()
    }
}

/// The calls of a design, over all devices that were made with it.
#[derive(Default)]
pub struct Calls {
    name: &'static str,
    raised: Mutex<Option<PyErr>>,
    calls: AtomicU64,
    nanoseconds: AtomicU64,
}

impl Calls {
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

/// An object of Python as a design.
struct PythonDesign {
    object: Py<PyAny>,
    name: &'static str,
    looks_at: usize,
    counters: Vec<(String, &'static Metric)>,
    calls: Arc<Calls>,
    /// The number of the last opening of a block.
    opened: u64,
}

impl PythonDesign {
    /// A design of a device of its own: what the object counts or remembers is that of one device.
    fn of(py: Python<'_>, object: &Py<PyAny>, calls: &Arc<Calls>) -> PyResult<Self> {
        let object = py.import("copy")?.call_method1("copy", (object,))?;
        let kind = object.getattr("_kind")?.cast_into::<Kind>()?;
        let Kind { name, looks_at, counters } = kind.get();
        let (name, looks_at, counters, calls) = (*name, *looks_at, counters.clone(), Arc::clone(calls));
        Ok(Self { object: object.unbind(), name, looks_at, counters, calls, opened: 0 })
    }

    fn raise(&self, error: PyErr) {
        let mut raised = self.calls.raised.lock().unwrap_or_else(PoisonError::into_inner);
        raised.get_or_insert(error);
    }

    /// The answer of the object.
    fn ask(&self, py: Python<'_>, shown_view: Shown, stream: &mut Stream) -> PyResult<Option<BlockSetId>> {
        let random = Bound::new(py, Random(Mutex::new(stream.clone())))?;
        let answer = self.object.bind(py).call_method1("victim", (shown_view, &random));
        *stream = random.get().0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let answer = answer?;
        if answer.is_none() {
            return Ok(None);
        }
        match answer.cast::<Block>() {
            Ok(block) => Ok(Some(BlockSetId(block.get().number))),
            Err(_) => Err(wrong_answer(self.name, "victim", &shown(&answer), "a block of the view, or None")),
        }
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
        self.name
    }

    fn needs(&self) -> Needs {
        let indexes = Indexes { by_closing: true, ..Indexes::default() };
        Needs { indexes, observes: Observes::BLOCKS, ..Needs::of(&[Seam::Victim]) }
    }

    fn victim(&mut self, from: Candidates<'_>, row: RowId, view: &mut View<'_>) -> Option<BlockSetId> {
        let began = Instant::now();
        let facts = |block: BlockSetId| {
            let facts = view.block(block);
            let age = self.opened.saturating_sub(facts.opened);
            Block { number: block.0, valid: from.valid(block), erases: facts.erases, age }
        };
        let shown_view = Shown {
            pages: from.pages_per_block(),
            row: row.0,
            free_blocks: view.free_blocks(row),
            now_ps: view.now().ps(),
            oldest: from.oldest_first().take(self.looks_at).map(facts).collect(),
            fewest: from.fewest_first().take(self.looks_at).map(facts).collect(),
            looks_at: self.looks_at,
        };
        let answer = self.call(|py| self.ask(py, shown_view, view.random()));
        self.calls.calls.fetch_add(1, Ordering::Relaxed);
        self.calls.nanoseconds.fetch_add(began.elapsed().as_nanos() as u64, Ordering::Relaxed);
        // No block has that number: the run ends with this event.
        answer.unwrap_or(Some(BlockSetId(u32::MAX)))
    }

    fn observe(&mut self, seen: &Seen<'_>, view: &mut View<'_>) {
        if let Seen::Opened { block, .. } = seen {
            self.opened = view.block(*block).opened;
        }
    }

    fn measure(&self) -> Vec<(&'static Metric, Value)> {
        let one = |py: Python<'_>, attribute: &str| self.object.bind(py).getattr(attribute)?.extract::<u64>();
        let counters = self.counters.iter();
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
    let scope = device.get("ftl.gc.scope");
    if device.ssd().is_none() || scope.as_ref().and_then(toml::Value::as_str) != Some("row") {
        let found = match scope {
            Some(scope) => format!("it with ftl.gc.scope = {scope}"),
            None => format!("it with a device of the type {}", device.configured.device_type()),
        };
        return Err(refused("design", found, "an SSD that cleans the blocks of rows"));
    }
    PythonDesign::of(design.py(), &design.clone().unbind(), &calls)?;
    let (object, told) = (design.clone().unbind(), Arc::clone(&calls));
    let device = device.clone().with_parts(move |parts, _| {
        let made = Python::attach(|py| PythonDesign::of(py, &object, &told)).expect("it was made before");
        wordline_ssd::Parts { designs: Combination::of(vec![Box::new(made)]), ..parts }
    });
    Ok((device, calls))
}

/// Tries a design on small devices: reads give back what was written, all answers are allowed, and so it is with faults, power cuts and
/// snapshots.
#[pyfunction]
pub fn check_contract(py: Python<'_>, design: &Bound<'_, PyAny>) -> PyResult<()> {
    let calls = Arc::new(Calls { name: name_of(design)?, ..Calls::default() });
    PythonDesign::of(py, &design.clone().unbind(), &calls)?;
    let (object, told) = (design.clone().unbind(), Arc::clone(&calls));
    let tried = py.detach(move || {
        std::panic::catch_unwind(AssertUnwindSafe(|| {
            contract::check(&contract::small(), |_| {
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
