//! None: what has a home waits for it.

use super::{Balancer, Waiting};
use crate::policy::placement::Row;

/// Takes nothing.
pub struct None;

impl Balancer for None {
    fn is_on(&self) -> bool {
        false
    }

    fn take(&mut self, _: Row, _: &Waiting<'_>) -> Option<Row> {
        Option::None
    }
}
