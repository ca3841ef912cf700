//! Schedulers of a logical unit: placement of consecutive pages, and overtaking (NANDFlashSim, section 8.8).

mod die_first;
mod out_of_order;
mod plane_first;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::placement::Scheduler;
pub use die_first::DieFirst;
pub use out_of_order::OutOfOrder;
pub use plane_first::PlaneFirst;

/// The built-in schedulers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "kebab-case", deny_unknown_fields)]
pub enum SchedulerKind {
    /// Stripes pages over the dies, and serves them in the order of arrival.
    DieFirst {},
    /// Stripes pages over the planes of a die, then over the dies, and serves them in the order of arrival.
    PlaneFirst {},
    /// Places pages as plane-first does. An idle die never waits for a busy one.
    OutOfOrder {},
}

impl Default for SchedulerKind {
    fn default() -> Self {
        Self::PlaneFirst {}
    }
}

impl SchedulerKind {
    /// All schedulers, for tests and tables.
    pub const ALL: [Self; 3] = [Self::DieFirst {}, Self::PlaneFirst {}, Self::OutOfOrder {}];

    /// The policy.
    pub fn build(self) -> Box<dyn Scheduler> {
        match self {
            Self::DieFirst {} => Box::new(DieFirst),
            Self::PlaneFirst {} => Box::new(PlaneFirst),
            Self::OutOfOrder {} => Box::new(OutOfOrder),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::placement::{Shape, UnitLocation};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_page_has_a_place_of_its_own(dies in 1u32..9, planes in 1u32..9, rows in 1u32..20) {
            let shape = Shape { dies, planes, rows };
            for kind in SchedulerKind::ALL {
                let scheduler = kind.build();
                let mut seen = vec![false; (dies * planes * rows) as usize];
                for n in 0..dies * planes * rows {
                    let UnitLocation { die, plane, row } = scheduler.place(n, &shape);
                    prop_assert!(die < dies && plane < planes && row < rows);
                    let at = ((die * planes + plane) * rows + row) as usize;
                    prop_assert!(!std::mem::replace(&mut seen[at], true), "{kind:?} gives a place twice");
                }
            }
        }
    }
}
