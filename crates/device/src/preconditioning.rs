//! Progress and result of preconditioning.

/// Function that receives progress reports. Returns whether to continue; if not, the device is in an
/// undefined state.
pub type ProgressFn<'a> = &'a mut dyn FnMut(FillProgress) -> bool;

/// Progress of preconditioning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FillProgress {
    /// Pages filled and overwritten so far.
    pub pages: u64,
    /// Number of pages that are filled before the first overwrite.
    pub filled: u64,
    /// Total number of pages expected. It increases if the write amplification does not become stable.
    pub expected: u64,
}

/// Result of the overwrites that brought a device to its steady state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steady {
    /// Pages overwritten until the write amplification was stable.
    pub overwritten: u64,
    /// Write amplification in the last window: pages programmed for each page written. `None` if no pages
    /// were overwritten.
    pub amplification: Option<f64>,
}
