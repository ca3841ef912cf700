//! How the controller drives its dies.

use wordline_kernel::Seed;

use crate::LatencyModel;
use crate::clock::Clocks;

/// How the controller drives its dies, and the source of their times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wiring {
    /// The clock domains.
    pub clocks: Clocks,
    /// Whether the dies of a channel share a chip enable, so that data out and status must address the die.
    pub shared_enable: bool,
    /// Whether the status register is read after every program and erase (NANDFlashSim, equations 2 and 3).
    /// Otherwise the ready/busy pin signals the end, and the status is known at that time.
    pub read_status: bool,
    /// The model of array times.
    pub latency: LatencyModel,
    /// The seed for times that are drawn from ranges of the part.
    pub seed: Seed,
}

impl Default for Wiring {
    /// Times are not rounded, every die has its own chip enable, and the ready/busy pin signals the end of an
    /// operation, as in controllers of whole devices.
    fn default() -> Self {
        Self {
            clocks: Clocks::CONTINUOUS,
            shared_enable: false,
            read_status: false,
            latency: LatencyModel::default(),
            seed: Seed(0),
        }
    }
}
