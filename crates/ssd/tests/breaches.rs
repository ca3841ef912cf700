//! Breaches of the contract of designs, as values: the trial, the seed and the time of each.

use std::cell::Cell;

use wordline_ftl::Design;
use wordline_ftl::Policies;
use wordline_ftl::design::{Combination, ExtensionPoint, Needs, View};
use wordline_ftl::policy::victim::Candidates;
use wordline_kernel::{Duration, state};
use wordline_nand::{BlockSetId, PlaneGroupId};
use wordline_ssd::contract::{self, Trial};
use wordline_ssd::{BufferPolicies, Config};

use crate::common::small;

/// Selects the first candidate, or a block that does not exist.
struct First {
    is_wrong: bool,
}

state!(First { fixed { is_wrong } });

impl Design for First {
    fn name(&self) -> &'static str {
        "first"
    }

    fn needs(&self) -> Needs {
        Needs::of(&[ExtensionPoint::Victim])
    }

    fn victim(&mut self, from: Candidates<'_>, _: PlaneGroupId, _: &mut View<'_>) -> Option<BlockSetId> {
        if self.is_wrong { Some(BlockSetId(u32::MAX)) } else { from.fewest_first().next() }
    }
}

fn policies(is_wrong: bool) -> impl Fn(&Config) -> (Policies, BufferPolicies) {
    move |config| {
        let designs = Combination::of(vec![Box::new(First { is_wrong })]);
        (Policies::of(&config.ftl).with_designs(designs), BufferPolicies::of(config))
    }
}

#[test]
fn a_breach_is_a_value_with_the_trial_the_seed_and_the_time() {
    let failure =
        contract::try_policies(&small(), policies(true), || false).expect_err("there is no such block");
    assert_eq!((failure.trial, failure.seed), (Trial::Usual, 1));
    assert!(failure.at > Duration::ZERO, "{failure}");
    assert!(failure.what.starts_with("the design first made an invalid decision for `victim`"), "{failure}");
    assert!(failure.to_string().ends_with(&format!("(trial usual, seed 1, at {})", failure.at)), "{failure}");
}

#[test]
fn a_design_that_has_failed_by_itself_ends_its_trial_at_once() {
    let asked = Cell::new(0);
    let has_failed = || asked.replace(asked.get() + 1) == 99;
    let snapshots = (Trial::Snapshots, 7);
    let failure = contract::try_once(&small(), policies(false), has_failed, snapshots).expect_err("it fails");
    assert_eq!((failure.what.as_str(), asked.get()), ("the design failed", 100));
    assert_eq!((failure.trial, failure.seed), snapshots);
    contract::try_once(&small(), policies(false), || false, snapshots).expect("it keeps the contract");
}

#[test]
fn a_device_that_does_not_back_up_lower_pages_does_not_breach_the_contract() {
    let mut paired = small();
    (paired.part.geometry.bits_per_cell, paired.ftl.over_provisioning) = (2, 0.5);
    let cuts = (Trial::PowerCuts, 1);
    contract::try_once(&paired, policies(false), || false, cuts)
        .unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn a_device_on_which_a_design_cannot_be_is_a_breach_at_the_start() {
    let mut file = small();
    file.ftl.over_provisioning = 2.0;
    let failure =
        contract::try_policies(&file, policies(false), || false).expect_err("there is no such device");
    assert_eq!(failure.at, Duration::ZERO);
    assert!(failure.what.starts_with("the device: ftl.over_provisioning: found 2"), "{failure}");
}
