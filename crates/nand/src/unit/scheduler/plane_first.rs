//! Plane-first: consecutive pages go to the planes of one die.

use crate::unit::placement::{Scheduler, Shape, UnitLocation};

/// Stripes pages over the planes of a die, then over the dies. Neighbours in the stream satisfy the plane
/// addressing rule and fit in one multi-plane command.
#[derive(Clone, Copy, Debug)]
pub struct PlaneFirst;

impl Scheduler for PlaneFirst {
    fn place(&self, n: u32, shape: &Shape) -> UnitLocation {
        let (row, within) = (n / (shape.dies * shape.planes), n % (shape.dies * shape.planes));
        UnitLocation { die: within / shape.planes, plane: within % shape.planes, row }
    }

    fn allows_overtaking(&self) -> bool {
        false
    }
}
