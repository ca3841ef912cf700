//! Out of order: an idle die takes its next page.

use super::plane_first::PlaneFirst;
use crate::unit::placement::{Scheduler, Shape, UnitLocation};

/// Places pages as plane-first does. Pages of one die keep their order. A page does not wait for pages of
/// other dies.
#[derive(Clone, Copy, Debug)]
pub struct OutOfOrder;

impl Scheduler for OutOfOrder {
    fn place(&self, n: u32, shape: &Shape) -> UnitLocation {
        PlaneFirst.place(n, shape)
    }

    fn allows_overtaking(&self) -> bool {
        true
    }
}
