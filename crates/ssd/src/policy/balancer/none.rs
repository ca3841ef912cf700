//! None: what has a home waits for it.

use wordline_kernel::state;

use super::{Balancer, Waiting};
use crate::policy::placement::Row;

/// Takes nothing.
pub struct None;

state!(None {});

impl Balancer for None {
    fn is_on(&self) -> bool {
        false
    }

    fn take(&mut self, _: Row, _: &Waiting<'_>) -> Option<Row> {
        Option::None
    }
}
