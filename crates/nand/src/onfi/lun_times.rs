//! Times and limits of a LUN that are not in part files.

use wordline_kernel::Duration;

use crate::Part;

/// Times and limits of a LUN that are not in part files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LunTimes {
    /// Time to move a page from the cache register to a write-back register of a one-shot part.
    pub page_busy: Duration,
    /// Time that a resume adds to the remaining time.
    pub resume: Duration,
    /// Program time of a word line in MLC mode.
    pub mlc_program: Duration,
    /// Maximum reprogram passes of a word line in MLC mode.
    pub reprograms: u32,
    /// Layers of a block in which word lines may be reprogrammed in any order.
    pub layers_per_super_layer: u32,
}

impl LunTimes {
    /// The values for `part`:
    ///
    /// | value | is | from |
    /// |---|---|---|
    /// | `page_busy` | `timing.plane_busy` | chosen: the bus waits for the same hand-over between planes |
    /// | `resume` | 0 | chosen: MQSim, the source of the suspend times, counts none |
    /// | `mlc_program` | `timing.two_bit.program`, or the slowest program | chosen; ReSSD's table 4 has 2675 us for it, and 2705 us to reprogram |
    /// | `reprograms` | 2 | ReSSD, section 3.2 |
    /// | `layers_per_super_layer` | `super_layers.layers` | the part |
    pub fn of(part: &Part) -> Self {
        let slowest = || part.program_times().iter().copied().max().unwrap_or_default();
        Self {
            page_busy: part.timing.plane_busy,
            resume: Duration::ZERO,
            mlc_program: part.timing.two_bit.map_or_else(slowest, |two_bit| two_bit.program),
            reprograms: 2,
            layers_per_super_layer: part.super_layers.layers,
        }
    }
}
