//! Prepares a device of a known type before the first request, and makes snapshots.

use wordline_kernel::Seed;
use wordline_run::prepare::Prepared;

use crate::devices::DeviceType;
use crate::error::Result;
use crate::load::{Load, Precondition, Start};
use crate::observer::{Observer, PRECONDITIONING, SAVING};
use crate::output::Output;
use crate::snapshot::{self, Snapshot};

/// Prepares the device as `start` describes, and adds notes about it to the load.
pub(crate) fn prepare<T: DeviceType>(
    device: &T,
    start: &Start,
    load: &mut Load,
    observer: &mut dyn Observer,
) -> Result<Prepared<T::Device>> {
    let prepared = match start {
        Start::Preconditioned(precondition) => {
            let kind = format!("a device of type {}", T::NAME);
            let made = device.build(Seed(load.seed));
            Prepared::preconditioned(made, *precondition, load.seed, Some((load, &kind)), observer)?
        }
        Start::Snapshot(path) => snapshot::restore(Snapshot::open(path)?, device)?,
    };
    match start {
        Start::Snapshot(path) => {
            let (path, history) = (path.display(), prepared.history.join("; then "));
            load.notes.push(format!("restored from the snapshot {path}: {history}"));
        }
        Start::Preconditioned(precondition) => {
            let is_made = !matches!(precondition, Precondition::Empty | Precondition::Filled(_));
            load.notes.extend(prepared.history.last().filter(|_| is_made).cloned());
            load.notes.extend(unwritten(*precondition));
        }
    }
    load.notes.extend(device.notes(&prepared.device));
    Ok(prepared)
}

/// A note on logical pages that were never written: reads of them are far quicker than reads of data.
fn unwritten(state: Precondition) -> Option<String> {
    let part = match state {
        Precondition::Empty => "the device was empty before the run".to_owned(),
        Precondition::Filled(fraction) if fraction < 1.0 => {
            format!("{:.3} % of the logical pages were not written before the run", 100.0 * (1.0 - fraction))
        }
        _ => return None,
    };
    Some(format!("{part}: a read of data that was never written reads no flash"))
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
    use wordline_ftl::policy::router::Single;

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
        let pages = u64::from(ssd.config.ftl.logical_pages);
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
        let selection = Selection { preset: Some("bench-tlc".into()), file: None, set };
        let device = Device::load(&selection).expect("a device");
        let own = device.clone().with_policies(|ftl, buffer, _| {
            (wordline_ftl::Policies { router: Box::new(Single), ..ftl }, buffer)
        });
        let load = Workload { requests: Some(1), ..Workload::named("randread-4k") };
        for (device, expected) in [(own, true), (device, false)] {
            let run = crate::run(&device, &load, &RunOptions::default(), &mut Unobserved).expect("a run");
            assert_eq!(run.notes.iter().any(|note| note == NOTHING_CACHED), expected);
        }
    }
}
