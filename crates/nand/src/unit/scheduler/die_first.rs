//! Die-first: consecutive pages go to different dies.

use crate::unit::placement::{Scheduler, Shape, UnitLocation};

/// Stripes pages over the dies, then over the planes, without regard to the plane addressing rule. Pages of
/// one plane group are far apart in the stream, so that they are seldom combined into one multi-plane
/// command.
#[derive(Clone, Copy, Debug)]
pub struct DieFirst;

impl Scheduler for DieFirst {
    fn place(&self, n: u32, shape: &Shape) -> UnitLocation {
        let (row, within) = (n / (shape.dies * shape.planes), n % (shape.dies * shape.planes));
        UnitLocation { die: within % shape.dies, plane: within / shape.dies, row }
    }

    fn allows_overtaking(&self) -> bool {
        false
    }
}
