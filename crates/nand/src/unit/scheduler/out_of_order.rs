//! Out of order: an idle die takes the next page that is for it.

use super::{Place, PlaneFirst, Scheduler};
use crate::unit::Shape;

/// Places pages as plane-first does. Pages for one die keep their order; those for different dies do not wait for
/// each other, and no page waits longer than for those before it on its own die.
#[derive(Clone, Copy, Debug)]
pub struct OutOfOrder;

impl Scheduler for OutOfOrder {
    fn place(&self, n: u32, shape: &Shape) -> Place {
        PlaneFirst.place(n, shape)
    }

    fn overtakes(&self) -> bool {
        true
    }
}
