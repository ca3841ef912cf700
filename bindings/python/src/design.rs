//! Designs in Python: a Python object takes infrequent decisions of a device.

use std::sync::Arc;

use pyo3::prelude::*;
use wordline_flash::policy::failure;
use wordline_flash::policy::failure::FailureAction;
use wordline_ftl::config::Scope;
use wordline_ftl::design::{Combination, DeviceEvent, EventMask, ExtensionPoint, Needs, View};
use wordline_ftl::policy::background;
use wordline_ftl::policy::name_of as name_of_setting;
use wordline_ftl::policy::relocator::RelocatedPage;
use wordline_ftl::policy::router::HostPage;
use wordline_ftl::policy::victim::{Candidates, Indexes};
use wordline_ftl::{Design, Policies};
use wordline_kernel::metrics::Value;
use wordline_kernel::snapshot::{Reader, SnapshotError, State, Writer};
use wordline_kernel::{Duration, Metric};
use wordline_lab as lab;
use wordline_lab::Error;
use wordline_lab::devices::{Configured, Ssd, as_ssd};
use wordline_lab::error::Result as LabResult;
use wordline_lab::panics::without_panic_message;
use wordline_nand::{BlockSetId, PlaneGroupId};
use wordline_ssd::config::BufferMode;
use wordline_ssd::contract::{self, Trial};
use wordline_ssd::{BufferPolicies, Config, DeviceFile};

use crate::design_object::{CallStats, DesignObject};
use crate::errors::{broken_contract, device_error, is_refusal, refused};
use crate::kind::{Decision, Kind};
use crate::policies::{Admission, Leveller};
use crate::values::shown;
use crate::views::{Block, Failure, Moved, Resting, VictimView, Written};

/// Requirement on a decision that selects a stream, for messages.
const STREAM: &str = "the number of one of its streams, from 0";

/// A design whose decisions a Python object takes.
struct PythonDesign {
    asked: DesignObject,
    /// Number of blocks opened so far.
    opened: u64,
}

impl PythonDesign {
    /// Creates a design for one device.
    fn of(py: Python<'_>, object: &Py<PyAny>, calls: &Arc<CallStats>) -> PyResult<Self> {
        Ok(Self { asked: DesignObject::copied(py, object, calls)?, opened: 0 })
    }
}

impl State for PythonDesign {
    fn save_state(&self, to: &mut Writer<'_>) -> Result<(), SnapshotError> {
        let fields = self.asked.fields();
        let why = || SnapshotError::Inconsistent {
            why: format!("the design {} cannot be saved", self.asked.kind.name),
        };
        to.value("settings", &self.asked.settings())?;
        to.value("fields", &fields.ok_or_else(why)?)?;
        to.value("opened", &self.opened)
    }

    fn load_state(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        if !self.asked.has_settings(&from.value::<String>("settings")?) {
            let why = format!("other settings of the design {}", self.asked.kind.name);
            return Err(SnapshotError::Inconsistent { why });
        }
        self.asked.take_fields(&from.value::<String>("fields")?);
        self.opened = from.value("opened")?;
        Ok(())
    }
}

impl Design for PythonDesign {
    fn name(&self) -> &'static str {
        self.asked.kind.name
    }

    fn needs(&self) -> Needs {
        let seams: Vec<ExtensionPoint> =
            self.asked.kind.decisions.iter().filter_map(|decision| decision.seam()).collect();
        let chooses = seams.contains(&ExtensionPoint::Victim);
        Needs {
            indexes: Indexes { by_closing: chooses, ..Indexes::default() },
            observes: if chooses { EventMask::BLOCKS } else { EventMask::NOTHING },
            streams: self.asked.kind.streams.clone(),
            gc_streams: self.asked.kind.gc_streams.clone(),
            ..Needs::of(&seams)
        }
    }

    fn victim(&mut self, from: Candidates<'_>, row: PlaneGroupId, view: &mut View<'_>) -> Option<BlockSetId> {
        let facts = |block: BlockSetId| {
            let facts = view.block(block);
            let age = self.opened.saturating_sub(facts.opened);
            Block { number: block.0, valid: from.valid(block), erases: facts.erases, age }
        };
        let looks_at = self.asked.kind.looks_at;
        let shown_view = VictimView {
            pages: from.pages_per_block(),
            row: row.0,
            free_blocks: view.free_blocks(row),
            now_ps: view.now().ps(),
            oldest: from.oldest_first().take(looks_at).map(facts).collect(),
            fewest: from.fewest_first().take(looks_at).map(facts).collect(),
            looks_at,
        };
        // An invalid block number. If the object raised an exception, the run ends with this decision.
        let otherwise = Some(BlockSetId(u32::MAX));
        self.asked.decide(Decision::Victim, shown_view, view.random(), otherwise, |decision| {
            if decision.is_none() {
                return Ok(None);
            }
            let block = decision.cast::<Block>().map_err(|_| "a block of the view, or None")?;
            Ok(Some(BlockSetId(block.get().number)))
        })
    }

    fn relocate(&mut self, page: &RelocatedPage, _pool: u8, view: &mut View<'_>) -> u8 {
        let streams = self.asked.kind.gc_streams.len();
        self.asked.decide(Decision::Relocate, Moved::of(page), view.random(), 0, |decision| {
            decision.extract().ok().filter(|n: &u8| usize::from(*n) < streams).ok_or(STREAM)
        })
    }

    fn stream(&mut self, written: &HostPage<'_>, _pool: u8, view: &mut View<'_>) -> u8 {
        let streams = self.asked.kind.streams.len();
        self.asked.decide(Decision::Stream, Written::of(written), view.random(), 0, |decision| {
            decision.extract().ok().filter(|n: &u8| usize::from(*n) < streams).ok_or(STREAM)
        })
    }

    fn idle_delay(&self) -> Option<Duration> {
        self.asked.kind.idle_after
    }

    fn free_blocks(&mut self, row: &background::IdleGroup, view: &mut View<'_>) -> u32 {
        self.asked.decide(Decision::Idle, Resting::of(row), view.random(), 0, |decision| {
            decision.extract().map_err(|_| "a number of free blocks, from 0")
        })
    }

    fn failed(&mut self, failure: &failure::Failure, view: &mut View<'_>) -> FailureAction {
        self.asked.decide(
            Decision::Failed,
            Failure::of(failure),
            view.random(),
            FailureAction::Retire,
            |decision| match decision.extract::<String>().as_deref() {
                Ok("retire") => Ok(FailureAction::Retire),
                Ok("close") => Ok(FailureAction::Close),
                Ok("go-on") => Ok(FailureAction::Continue),
                _ => Err("\"retire\", \"close\" or \"go-on\""),
            },
        )
    }

    fn observe(&mut self, seen: &DeviceEvent<'_>, view: &mut View<'_>) {
        if let DeviceEvent::Opened { block, .. } = seen {
            self.opened = view.block(*block).opened;
        }
    }

    fn measure(&self) -> Vec<(&'static Metric, Value)> {
        let counters = self.asked.kind.counters.iter();
        counters
            .filter_map(|(name, metric)| Some((*metric, Value::Count(self.asked.counter(name)?))))
            .collect()
    }
}

/// The class of a design.
pub fn kind_of(design: &Bound<'_, PyAny>) -> PyResult<Kind> {
    let kind =
        design.getattr("_kind").ok().and_then(|kind| Some(kind.cast_into::<Kind>().ok()?.get().clone()));
    kind.ok_or_else(|| refused("design", shown(design), "an instance of a subclass of wordline.Design"))
}

/// Attaches the design of a Python object to a device. Also returns its call statistics.
pub fn with_design(
    device: &lab::Device,
    design: &Bound<'_, PyAny>,
) -> PyResult<(lab::Device, Arc<CallStats>)> {
    let calls = CallStats::of(kind_of(design)?.name);
    let mut device = device.clone();
    device.configured = placed(&device.configured, design, &calls).map_err(device_error)?;
    Ok((device, calls))
}

/// Attaches a checked design object to a checked device.
pub fn placed(
    device: &Arc<dyn Configured>,
    design: &Bound<'_, PyAny>,
    calls: &Arc<CallStats>,
) -> LabResult<Arc<dyn Configured>> {
    let made = PythonDesign::of(design.py(), &design.clone().unbind(), calls)
        .map_err(|error| argument_error(error.to_string(), "an instance of a subclass of wordline.Design"))?;
    let mut ssd = check_fits(device, &made.asked.kind)?.clone();
    let (policies, _) = policies_with(design.py(), made, &ssd.config);
    ssd.config.file = with_gc_headroom(ssd.config.file, &policies, ssd.config.ftl.pools.count());
    ssd.config = ssd.config.check_policies(&policies).map_err(Error::Config)?;
    let (object, told) = (design.clone().unbind(), Arc::clone(calls));
    let with = ssd.with(move |_, _, config| {
        Python::attach(|py| {
            let made = PythonDesign::of(py, &object, &told).expect("it was made before");
            policies_with(py, made, config)
        })
    });
    Ok(Arc::new(with))
}

fn argument_error(found: String, wanted: &str) -> Error {
    Error::Argument { what: "design".into(), found, wanted: wanted.into() }
}

/// Returns the SSD, if the design can take its decisions on this device.
fn check_fits<'a>(device: &'a Arc<dyn Configured>, kind: &Kind) -> LabResult<&'a Ssd> {
    let no = |found: String, wanted: &str| Err(argument_error(found, wanted));
    let Some(ssd) = as_ssd(device) else {
        return no(format!("it with a device of the type {}", device.device_type()), "an SSD");
    };
    let (scope, mode) = (ssd.config.file.ftl.gc.scope, ssd.config.file.buffer.mode);
    // The view needs facts about blocks, which superblocks do not have.
    if kind.has(Decision::Victim) && scope != Scope::Row {
        let found = format!("it with ftl.gc.scope = \"{}\"", name_of_setting(&scope));
        return no(found, "an SSD with GC by plane group");
    }
    if kind.has(Decision::Admit) && mode != BufferMode::WriteBack {
        let found = format!("it with buffer.mode = \"{}\"", name_of_setting(&mode));
        return no(found, "\"write-back\": in the other modes every page is destaged at once");
    }
    Ok(ssd)
}

/// The policies of a device with a design for some of its decisions.
fn policies_with(py: Python<'_>, design: PythonDesign, config: &Config) -> (Policies, BufferPolicies) {
    let (mut policies, mut buffer) = (Policies::of(&config.ftl), BufferPolicies::of(config));
    let DesignObject { kind, .. } = &design.asked;
    if kind.has(Decision::Wear) {
        policies.wear = Box::new(Leveller::new(design.asked.shared(py), config.ftl.pools.rows()));
    }
    if let Some(in_flight) = kind.in_flight {
        buffer.destage = Box::new(Admission::new(design.asked.shared(py), in_flight));
    }
    (policies.with_designs(Combination::of(vec![Box::new(design)])), buffer)
}

/// Raises the watermarks of GC, if they are too low for the streams of a design.
fn with_gc_headroom(mut file: DeviceFile, policies: &Policies, pools: usize) -> DeviceFile {
    file.demands = policies.demands(pools).ok();
    file.raise_watermarks([false; 2]);
    file
}

/// A design during its test on small devices.
struct TrialDesign {
    object: Py<PyAny>,
    calls: Arc<CallStats>,
    device: DeviceFile,
}

impl TrialDesign {
    fn of(design: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (py, calls) = (design.py(), CallStats::of(kind_of(design)?.name));
        let object = design.clone().unbind();
        let made = PythonDesign::of(py, &object, &calls)?;
        let streams = made.asked.kind.streams.len() + made.asked.kind.gc_streams.len();
        let config = contract::small().check().expect("the device of the contract is one");
        let (policies, _) = policies_with(py, made, &config);
        let mut device = with_gc_headroom(contract::small(), &policies, config.ftl.pools.count());
        if streams > 2 {
            // Chosen: the device has few blocks, and each stream has an active block in each plane group.
            device.ftl.over_provisioning = 0.5;
        }
        Ok(Self { object, calls, device })
    }

    fn policies(&self, config: &Config) -> (Policies, BufferPolicies) {
        Python::attach(|py| {
            let made = PythonDesign::of(py, &self.object, &self.calls).expect("it was made before");
            policies_with(py, made, config)
        })
    }
}

/// Tests a design on small devices, with faults, power cuts and snapshots. Reads must return the data written
/// last, and all decisions must be valid.
#[pyfunction]
pub fn check_contract(py: Python<'_>, design: &Bound<'_, PyAny>) -> PyResult<()> {
    let tried = TrialDesign::of(design)?;
    let ended = py.detach(|| {
        without_panic_message(|| {
            contract::try_policies(
                &tried.device,
                |config| tried.policies(config),
                || tried.calls.has_raised(),
            )
        })
    });
    ended.map_err(|failure| broken_contract(tried.calls.name, &failure, tried.calls.take_raised()))
}

/// Tests that a design continues from a snapshot as it does without one. A design that raises an exception of
/// its own passes, because its runs will report the exception.
#[pyfunction]
pub fn check_restored(py: Python<'_>, design: &Bound<'_, PyAny>) -> PyResult<()> {
    let tried = TrialDesign::of(design)?;
    let once = |trial| {
        let has_failed = || tried.calls.has_raised();
        contract::try_once(&tried.device, |config| tried.policies(config), has_failed, (trial, 1))
    };
    let ended =
        py.detach(|| without_panic_message(|| once(Trial::Usual).ok().map(|()| once(Trial::Snapshots))));
    let Some(Err(failure)) = ended else { return Ok(()) };
    let raised = tried.calls.take_raised();
    // The package itself rejects a state that is not plain data, which is a failure.
    let is_its_own = raised.as_ref().is_some_and(|raised| !is_refusal(py, raised));
    if is_its_own { Ok(()) } else { Err(broken_contract(tried.calls.name, &failure, raised)) }
}
