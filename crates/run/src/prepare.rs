//! Prepares a device before the first request: new, preconditioned, or restored from a snapshot.

use wordline_device::BlockDevice;
use wordline_device::block_device::Shape;
use wordline_device::preconditioning::{FillProgress, Steady};
use wordline_device::snapshot::Agenda;
use wordline_kernel::{Instant, Seed};

use crate::error::{Error, Result};
use crate::load::{Load, Precondition, Start};
use crate::observer::{OVERWRITING, Observer};
use crate::output::Output;
use crate::quantity::Quantity;
use crate::snapshot::{Snapshot, SnapshotState};
use crate::warm_up::warm_up;

/// A prepared device and its history.
pub struct Prepared<D: BlockDevice> {
    /// The device.
    pub device: D,
    /// The pending events.
    pub agenda: Agenda<D::Event>,
    /// Seed of the device.
    pub seed: u64,
    /// The steps of the preparation, a sentence each.
    pub history: Vec<String>,
}

impl<D: BlockDevice> Prepared<D> {
    /// Restores a device from a snapshot. `device` is new, with the configuration and the seed of the snapshot.
    ///
    /// # Errors
    /// Those of [`Snapshot::restore`].
    pub fn restored(snapshot: Snapshot, device: D) -> Result<Self> {
        let (seed, history) = (snapshot.head().seed, snapshot.head().history.clone());
        let (device, agenda) = snapshot.restore(device)?;
        Ok(Self { device, agenda, seed, history })
    }

    /// Preconditions a new device. Preconditioning by workload uses the requests of `load`, which is given
    /// with the kind of the device in words.
    ///
    /// # Errors
    /// [`Error::Stopped`] if the observer stopped it, and the errors of the requests.
    pub fn preconditioned(
        mut device: D,
        precondition: Precondition,
        seed: u64,
        load: Option<(&Load, &str)>,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        let mut agenda = Agenda { now: Instant::ZERO, events: Vec::new() };
        let mut overwrites = false;
        let look = &mut |written| phase_progress(written, &mut overwrites, observer);
        let done = match precondition {
            Precondition::Empty => "new: nothing was ever written".into(),
            Precondition::Filled(fraction) => {
                device.fill_while(fraction, look).then_some(()).ok_or(Error::Stopped)?;
                format!("filled: {fraction} of its logical pages were written once, in order")
            }
            Precondition::Steady => {
                let rests = load.is_some_and(|(load, _)| load.pace.has_pauses());
                let done = device.fill_steady_while(Seed(seed), rests.then_some(1.0), look);
                steady(done.ok_or(Error::Stopped)?, if rests { ", left as after an idle period" } else { "" })
            }
            Precondition::SteadyTo(fraction) => {
                let done = device.fill_steady_while(Seed(seed), Some(fraction), look);
                let of = format!(" of the first {fraction} of its logical pages");
                steady(done.ok_or(Error::Stopped)?, &of)
            }
            Precondition::Workload(drives) => {
                device.fill_while(1.0, look).then_some(()).ok_or(Error::Stopped)?;
                let (load, kind) = load.ok_or_else(no_workload)?;
                let (aged, done) = warm_up(&mut device, drives, load, kind, observer)?;
                agenda = aged;
                done
            }
        };
        device.audit(agenda.now - Instant::ZERO);
        Ok(Self { device, agenda, seed, history: vec![done] })
    }

    /// Saves the device in its present state, with its name and its configuration.
    ///
    /// # Errors
    /// Those of [`SnapshotState::save`].
    pub fn save(
        &self,
        name: &str,
        configuration: &str,
        to: Output,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        let Self { device, agenda, seed, history } = self;
        let moment = SnapshotState { device, agenda, name, configuration, seed: *seed, history };
        moment.save(to, &mut |bytes| observer.phase_progress(bytes))
    }
}

/// Reports the progress of preconditioning to an observer. Overwriting is reported as a phase of its own,
/// because a page takes longer to overwrite than to fill.
fn phase_progress(written: FillProgress, overwrites: &mut bool, observer: &mut dyn Observer) -> bool {
    let FillProgress { pages, filled, expected } = written;
    if pages <= filled || expected == filled {
        observer.set_total(filled);
        return observer.phase_progress(pages.min(filled));
    }
    if !std::mem::replace(overwrites, true) {
        observer.phase(OVERWRITING, Some(expected - filled));
    }
    observer.set_total(expected - filled);
    observer.phase_progress(pages.min(expected) - filled)
}

/// The error if preconditioning by workload is asked for, but there is no workload.
fn no_workload() -> Error {
    Error::Argument {
        what: "precondition".into(),
        found: "workload, but no workload is run".into(),
        wanted: "a run that saves the device, or empty, filled or steady-state".into(),
    }
}

/// A sentence about how a device, or the part `of` it, became steady. `of` may also describe its final state.
fn steady(done: Steady, of: &str) -> String {
    let overwritten = match done.amplification {
        Some(amplification) => format!(
            ": {} pages overwritten, with a final write amplification of {amplification:.3}",
            Quantity::Count(done.overwritten)
        ),
        None => ", by theory: nothing was overwritten".to_owned(),
    };
    format!("preconditioned to the steady state of uniform random writes{of}{overwritten}")
}

/// Number of pages that are written before the first request, for a device of this shape, if known.
pub fn pages_to_fill(start: &Start, shape: &Shape) -> Option<u64> {
    match start {
        Start::Preconditioned(Precondition::Filled(fraction)) => {
            Some((shape.capacity.0 as f64 / shape.logical_page.0 as f64 * fraction) as u64)
        }
        _ => None,
    }
}
