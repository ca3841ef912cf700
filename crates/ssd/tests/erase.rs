//! Erase parameters: a design chooses the time of each erase, within the time of the part, and learns the time
//! used.

use wordline_device::{BlockDevice, Operation};
use wordline_flash::policy::tuner::ErasedBlock;
use wordline_ftl::Design;
use wordline_ftl::design::{Combination, DeviceEvent, EventMask, ExtensionPoint, Needs, View};
use wordline_kernel::metrics::{Unit, Value};
use wordline_kernel::{Duration, Instant, Metric, state};
use wordline_nand::faults::{Fails, FaultFile};
use wordline_nand::{CellMode, Parameters};
use wordline_ssd::{DeviceFile, contract};

use crate::common::{self, Rig, small};
use crate::designs::rig;

static MEASURED: [Metric; 3] = [
    Metric::new("erases.first_ps", Unit::Count, "Longest first erase of a block."),
    Metric::new("erases.later_ps", Unit::Count, "Longest later erase of a block."),
    Metric::new("erases.outcomes", Unit::Count, "Erases with an outcome."),
];

/// Design that chooses another time for the first erase of each block than for the others.
#[derive(Clone)]
struct Erases {
    /// Time of the first erase of a block and of the others, in percent of the time of the part.
    percent: [u64; 2],
    measured: [u64; 3],
    /// Whether the outcome is requested.
    outcome: bool,
}

state!(Erases { values { measured } fixed { percent, outcome } });

impl Erases {
    fn of(percent: [u64; 2]) -> Self {
        Self { percent, measured: [0; 3], outcome: false }
    }

    fn rig(&self, file: &DeviceFile) -> Rig {
        rig(file, Combination::of(vec![Box::new(self.clone())]))
    }
}

impl Design for Erases {
    fn name(&self) -> &'static str {
        "erases"
    }

    fn needs(&self) -> Needs {
        Needs { observes: EventMask::ERASED, ..Needs::of(&[ExtensionPoint::Tune]) }
    }

    fn erase_parameters(&self, block: &ErasedBlock) -> Parameters {
        let percent = self.percent[usize::from(block.erases > 0)];
        let erase = Some(Duration::from_ps(block.time.ps() * percent / 100));
        Parameters { erase, outcome: self.outcome, ..Parameters::DATA_SHEET }
    }

    fn observe(&mut self, seen: &DeviceEvent<'_>, _: &mut View<'_>) {
        let DeviceEvent::Erased { erases, array, outcome, .. } = *seen else { return };
        let longest = &mut self.measured[usize::from(erases > 1)];
        *longest = (*longest).max(array.ps());
        self.measured[2] += u64::from(outcome.is_some());
    }

    fn measure(&self) -> Vec<(&'static Metric, Value)> {
        MEASURED.iter().zip(self.measured).map(|(metric, count)| (metric, Value::Count(count))).collect()
    }
}

fn measured(rig: &Rig) -> [u64; 3] {
    let new = Rig::new(small(), 1).device.mark(Instant::ZERO);
    let metrics = rig.device.metrics(&new, rig.calendar_now());
    MEASURED.each_ref().map(|metric| match metrics.get(metric.name) {
        Some(Value::Count(count)) => count,
        other => panic!("{} is {other:?}", metric.name),
    })
}

/// Longest first and later erases of a device that is overwritten, in percent of the time of the part.
fn percent_used(file: &DeviceFile, design: &Erases) -> [u64; 2] {
    let mut rig = design.rig(file);
    while rig.device.totals().erases < 200 {
        rig.overwrite(2_000);
    }
    let whole = rig.device.config().ftl.pools.first().part.erase_time(CellMode::Native).ps();
    let [first, later, outcomes] = measured(&rig);
    assert_eq!(outcomes, if design.outcome { rig.device.totals().erases } else { 0 });
    [first, later].map(|time| time * 100 / whole)
}

#[test]
fn an_erase_takes_the_time_that_a_design_chooses_by_the_age_of_the_block() {
    assert_eq!(percent_used(&small(), &Erases::of([100, 100])), [100, 100]);
    assert_eq!(percent_used(&small(), &Erases::of([40, 75])), [40, 75]);
    let told = Erases { outcome: true, ..Erases::of([40, 75]) };
    assert_eq!(percent_used(&small(), &told), [40, 75]);
    // Over cells as well.
    assert_eq!(percent_used(&common::with_cells(0.0), &Erases::of([40, 75])), [40, 75]);
}

#[test]
fn an_erase_of_the_whole_time_changes_nothing() {
    let digest = |designs| {
        let mut rig = rig(&small(), designs);
        rig.overwrite(3_000);
        rig.device.digest()
    };
    let whole = Combination::of(vec![Box::new(Erases::of([100, 100]))]);
    assert_eq!(digest(whole), digest(Combination::default()));
}

#[test]
fn shorter_erases_shorten_the_run() {
    let end = |percent| {
        let mut rig = Erases::of([percent; 2]).rig(&small());
        rig.overwrite(3_000);
        (rig.calendar_now(), rig.device.totals().erases)
    };
    let [(whole, erases), (half, others)] = [100, 50].map(end);
    assert!(half < whole && erases.abs_diff(others) < erases / 10, "{whole:?} {half:?} {erases} {others}");
}

#[test]
fn a_time_that_the_part_does_not_have_is_an_invalid_decision() {
    for (percent, found) in [(0, "an erase of 0s"), (101, "an erase of ")] {
        let mut rig = Erases::of([percent; 2]).rig(&small());
        for n in 0..20_000 {
            if rig.device.invalid_decision().is_some() {
                break;
            }
            rig.submit(Operation::Write, true, n * 7919 % 256 * 8, 8);
            while rig.device.outstanding() > 0 && rig.device.invalid_decision().is_none() {
                let event = rig.calendar.advance().expect("something happens");
                rig.device.handle(event, &mut rig.calendar);
            }
            rig.take_completions();
        }
        let wrong = rig.device.invalid_decision().expect("the part cannot do that");
        let text = wrong.to_string();
        assert!(
            text.starts_with("the design erases made an invalid decision for `tune`: found an erase of ")
        );
        assert!(wrong.decision.starts_with(found), "{text}");
        assert!(wrong.allowed.starts_with("a time above 0 up to "), "{text}");
        rig.audit();
    }
}

/// Design that draws the time of each erase from its erase count.
struct Drawn;

state!(Drawn {});

impl Design for Drawn {
    fn name(&self) -> &'static str {
        "drawn"
    }

    fn needs(&self) -> Needs {
        Needs { observes: EventMask::ERASED, ..Needs::of(&[ExtensionPoint::Tune]) }
    }

    fn erase_parameters(&self, block: &ErasedBlock) -> Parameters {
        let part = 1 + u64::from(block.block.0 * 7 + block.erases * 3) % 10;
        let erase = (part < 9).then(|| Duration::from_ps(block.time.ps() * part / 10));
        Parameters { erase, outcome: part % 2 == 0, ..Parameters::DATA_SHEET }
    }

    fn observe(&mut self, seen: &DeviceEvent<'_>, view: &mut View<'_>) {
        if let DeviceEvent::Erased { block, erases, .. } = *seen {
            assert_eq!(view.block(block).erases, erases);
        }
    }
}

#[test]
fn a_design_that_draws_erase_times_keeps_the_contract() {
    contract::check(&small(), |_| Box::new(Drawn));
    contract::check(&contract::small_with_slc(), |_| Box::new(Drawn));
    let mut suspends = small();
    suspends.ftl.scheduling.suspend_erases = true;
    suspends.faults.push(FaultFile { nth: Some(9), ..FaultFile::new(Fails::Erase) });
    contract::check(&suspends, |_| Box::new(Drawn));
}
