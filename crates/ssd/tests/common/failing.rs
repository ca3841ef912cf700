//! Random fault rules.

use std::ops::Range;

use proptest::prelude::*;
use wordline_flash::policy::failure::FailureKind;
use wordline_flash::read_retry::ReadRetryFile;
use wordline_kernel::Duration;
use wordline_nand::faults::{Fails, FaultFile, NumberRange, WearFile};
use wordline_ssd::DeviceFile;

/// When a rule causes a failure: rarely, often, once, at intervals, or with wear.
fn when() -> impl Strategy<Value = FaultFile> {
    let of = || FaultFile::new(Fails::Read);
    prop_oneof![
        (1u32..=100).prop_map(move |n| FaultFile { probability: Some(f64::from(n) / 500.0), ..of() }),
        (1u64..=200).prop_map(move |n| FaultFile { nth: Some(n), ..of() }),
        (5u64..=100).prop_map(move |n| FaultFile { every: Some(n), ..of() }),
        (0u32..=2, 1u32..=8).prop_map(move |(from, more)| FaultFile {
            probability: Some(0.2),
            wear: Some(WearFile { from, to: from + more }),
            ..of()
        }),
        (0u32..24, 0u32..4).prop_map(move |(first, more)| FaultFile {
            block: Some(NumberRange { least: first, most: (first + more).min(23) }),
            ..of()
        }),
    ]
}

/// Fault rule. A die fails after a number of commands or at a time.
pub fn rule() -> impl Strategy<Value = FaultFile> {
    let die = prop_oneof![
        (1u64..=400).prop_map(|n| FaultFile { nth: Some(n), ..FaultFile::new(Fails::Die) }),
        (0u64..=200).prop_map(|ms| FaultFile {
            at: Some(Duration::from_ms(ms)),
            die: Some(0.into()),
            ..FaultFile::new(Fails::Die)
        }),
    ];
    let bad = prop_oneof![
        (0u32..=40).prop_map(|n| FaultFile {
            probability: Some(f64::from(n) / 1e4),
            ..FaultFile::new(Fails::FactoryBad)
        }),
        (0u32..24).prop_map(|n| FaultFile { block: Some(n.into()), ..FaultFile::new(Fails::FactoryBad) }),
    ];
    prop_oneof![
        3 => when().prop_map(|when| FaultFile { fails: Fails::Program, ..when }),
        3 => when().prop_map(|when| FaultFile { fails: Fails::Erase, ..when }),
        3 => (when(), prop::option::of(1u32..=12))
            .prop_map(|(when, most)| FaultFile { retries: most.map(|most| NumberRange { least: 1, most }), ..when }),
        2 => (when(), 0u32..=4, 0u32..=5).prop_map(|(when, least, more)| FaultFile {
            level: Some(NumberRange { least, most: least + more }),
            ..when
        }),
        1 => die,
        1 => bad,
    ]
}

/// Fault rules of a device, and how the device handles failures.
#[derive(Clone, Debug)]
pub struct Faults {
    rules: Vec<FaultFile>,
    failure: FailureKind,
    read_retry: ReadRetryFile,
}

impl Faults {
    /// Adds the faults to `file`. Skips the case if too many blocks are bad from the start.
    pub fn strike(self, mut file: DeviceFile) -> Result<DeviceFile, TestCaseError> {
        file.faults = self.rules;
        file.ftl.failure = self.failure;
        file.ftl.read_retry = self.read_retry;
        let good = file.clone().check();
        prop_assume!(good.is_ok(), "{}", good.expect_err("it is not"));
        Ok(file)
    }
}

/// Faults with `rules` rules.
pub fn faults(rules: Range<usize>) -> impl Strategy<Value = Faults> {
    let retry = (0u8..8, 0u64..2).prop_map(|(levels, time)| ReadRetryFile {
        levels,
        time: Duration::from_us(time),
        ..ReadRetryFile::default()
    });
    (prop::collection::vec(rule(), rules), failure(), retry).prop_map(|(rules, failure, read_retry)| Faults {
        rules,
        failure,
        read_retry,
    })
}

fn failure() -> impl Strategy<Value = FailureKind> {
    prop_oneof![
        Just(FailureKind::Retire {}),
        (1u32..=300, 0u32..=3).prop_map(|(programs, reads)| FailureKind::Tolerate { programs, reads }),
    ]
}
