//! None: pages wait for their assigned plane group.

use wordline_kernel::state;
use wordline_nand::RowId;

use super::{Balancer, Waiting};

/// Steals nothing.
pub struct None;

state!(None {});

impl Balancer for None {
    fn is_on(&self) -> bool {
        false
    }

    fn take(&mut self, _: RowId, _: &Waiting<'_>) -> Option<RowId> {
        Option::None
    }
}
