//! Prepares a device before the first request: new, preconditioned, or restored from a snapshot.

use std::path::Path;

use wordline_device::BlockDevice;
use wordline_device::block_device::Shape;
use wordline_device::preconditioning::{FillProgress, Steady};
use wordline_device::snapshot::Agenda;
use wordline_kernel::{Instant, Seed};

use crate::devices::DeviceType;
use crate::error::{Error, Result};
use crate::load::{Load, Precondition, Start};
use crate::observer::{OVERWRITING, Observer, PRECONDITIONING, SAVING};
use crate::output::Output;
use crate::report::Quantity;
use crate::snapshot::{Snapshot, SnapshotState};
use crate::warm_up::warm_up;

/// A prepared device and its history.
pub(crate) struct Prepared<D: BlockDevice> {
    pub(crate) device: D,
    /// The pending events.
    pub(crate) agenda: Agenda<D::Event>,
    /// Seed of the device.
    pub(crate) seed: u64,
    /// The steps of the preparation, a sentence each.
    pub(crate) history: Vec<String>,
}

impl<D: BlockDevice> Prepared<D> {
    /// Prepares the device as `start` describes, and adds notes about it to the load.
    pub(crate) fn of<T: DeviceType<Device = D>>(
        device: &T,
        start: &Start,
        load: &mut Load,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        let prepared = match start {
            Start::Preconditioned(precondition) => {
                let kind = format!("a device of type {}", T::NAME);
                let made = device.build(Seed(load.seed));
                Self::preconditioned(made, *precondition, load.seed, Some((load, &kind)), observer)?
            }
            Start::Snapshot(path) => Self::restored(path, device)?,
        };
        match start {
            Start::Snapshot(path) => {
                let (path, history) = (path.display(), prepared.history.join("; then "));
                load.notes.push(format!("restored from the snapshot {path}: {history}"));
            }
            Start::Preconditioned(Precondition::Empty | Precondition::Filled(_)) => {}
            Start::Preconditioned(_) => load.notes.extend(prepared.history.last().cloned()),
        }
        load.notes.extend(device.notes(&prepared.device));
        Ok(prepared)
    }

    fn restored(path: &Path, device: &impl DeviceType<Device = D>) -> Result<Self> {
        let snapshot = Snapshot::open(path)?;
        let (seed, history) = (snapshot.head().seed, snapshot.head().history.clone());
        let (device, agenda) = snapshot.restore(device)?;
        device.audit(agenda.now - Instant::ZERO);
        Ok(Self { device, agenda, seed, history })
    }

    /// Preconditions a new device. Preconditioning by workload uses the requests of `load`.
    pub(crate) fn preconditioned(
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

    /// Saves the device in its present state.
    pub(crate) fn save(
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
pub(crate) fn pages_to_fill(start: &Start, shape: &Shape) -> Option<u64> {
    match start {
        Start::Preconditioned(Precondition::Filled(fraction)) => {
            Some((shape.capacity.0 as f64 / shape.logical_page.0 as f64 * fraction) as u64)
        }
        _ => None,
    }
}

/// The description of a snapshot to make.
pub struct SnapshotRequest<'a> {
    /// The name of the device.
    pub(crate) name: &'a str,
    /// Configuration.
    pub(crate) text: &'a str,
    /// The initial state to bring the device into.
    pub(crate) precondition: Precondition,
    /// The seed of the device.
    pub(crate) seed: u64,
    /// The output for the snapshot.
    pub(crate) to: Output,
}

/// Makes a snapshot of a device of a known type.
pub(crate) fn make_snapshot_of(
    device: &impl DeviceType,
    making: SnapshotRequest<'_>,
    observer: &mut dyn Observer,
) -> Result<()> {
    let SnapshotRequest { name, text, precondition, seed, to } = making;
    observer.phase(PRECONDITIONING, None);
    let prepared = Prepared::preconditioned(device.build(Seed(seed)), precondition, seed, None, observer)?;
    observer.phase(SAVING, None);
    prepared.save(name, text, to, observer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::NOTHING_CACHED;
    use crate::{Device, RunOptions, Selection, Unobserved, Workload};
    use wordline_ssd::Parts;
    use wordline_ssd::policy::router::Single;

    /// The reported phases: name, progress at the last call, and total expected at that time.
    #[derive(Default)]
    struct Phases(Vec<(&'static str, u64, u64)>);

    impl Observer for Phases {
        fn phase(&mut self, name: &'static str, total: Option<u64>) {
            self.0.push((name, 0, total.unwrap_or(0)));
        }

        fn set_total(&mut self, total: u64) {
            self.0.last_mut().expect("a phase has begun").2 = total;
        }

        fn phase_progress(&mut self, done: u64) -> bool {
            let (_, before, expected) = self.0.last_mut().expect("a phase has begun");
            assert!(*before <= done && done <= *expected, "{before} {done} {expected}");
            *before = done;
            true
        }
    }

    #[test]
    fn what_is_expected_of_preconditioning_is_what_it_does() {
        let set =
            ["part.geometry.blocks_per_plane=16", "ftl.over_provisioning=0.5"].map(str::to_owned).to_vec();
        let preset = Some("bench-512g".to_owned());
        let device = Device::load(&Selection { preset, set, ..Selection::default() }).expect("a device");
        let ssd = device.ssd().expect("an SSD");
        let pages = u64::from(ssd.config.logical_pages);
        for precondition in [Precondition::Filled(1.0), Precondition::Steady, Precondition::SteadyTo(0.5)] {
            let mut observer = Phases::default();
            observer.phase(PRECONDITIONING, None);
            let made = ssd.build(Seed(1));
            Prepared::preconditioned(made, precondition, 1, None, &mut observer).expect("a device");
            let filled = if precondition == Precondition::SteadyTo(0.5) { pages / 2 } else { pages };
            assert_eq!(observer.0[0].2, filled);
            let is_steady = precondition != Precondition::Filled(1.0);
            assert_eq!(observer.0.len(), 1 + usize::from(is_steady), "{precondition:?}");
            for (name, done, expected) in &observer.0 {
                // The observer is not called for the last few pages.
                assert!(expected - done < 40_000, "{precondition:?}, {name}: {done} of {expected}");
            }
        }
    }

    #[test]
    fn a_cache_that_the_router_of_a_design_of_ones_own_sends_nothing_to_is_noted() {
        let set = [
            "ftl.slc_cache.blocks=2",
            "ftl.router.policy=slc-cache",
            "part.geometry.blocks_per_plane=24",
            "ftl.over_provisioning=0.4",
        ];
        let set = set.iter().map(|text| (*text).to_owned()).collect();
        let selection = Selection { preset: Some("nvme-tlc".into()), file: None, set };
        let device = Device::load(&selection).expect("a device");
        let own = device.clone().with_parts(|base, _| Parts { router: Box::new(Single), ..base });
        let load = Workload { requests: Some(1), ..Workload::named("randread-4k") };
        for (device, expected) in [(own, true), (device, false)] {
            let run = crate::run(&device, &load, &RunOptions::default(), &mut Unobserved).expect("a run");
            assert_eq!(run.notes.iter().any(|note| note == NOTHING_CACHED), expected);
        }
    }
}
