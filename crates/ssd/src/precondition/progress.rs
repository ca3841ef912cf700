//! Progress reports of preconditioning, with the option to stop it.

/// Pages between two progress reports. Chosen: they take less than 10 ms of computing.
const LOOK_EVERY: u64 = 1 << 14;

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

/// Counter of the pages that preconditioning writes, which reports them to a function.
pub(super) struct ProgressReporter<'a> {
    look: ProgressFn<'a>,
    written: FillProgress,
    look_at: u64,
    pub(super) goes_on: bool,
}

impl<'a> ProgressReporter<'a> {
    pub(super) fn by(look: ProgressFn<'a>) -> Self {
        let written = FillProgress { pages: 0, filled: 0, expected: 0 };
        Self { look, written, look_at: LOOK_EVERY, goes_on: true }
    }

    /// Adds pages to be filled to the expected total.
    pub(super) fn fills(&mut self, pages: u64) {
        self.written.filled = pages;
        self.written.expected += pages;
    }

    /// Adds pages to be overwritten to the expected total.
    pub(super) fn overwrites(&mut self, pages: u64) {
        self.written.expected += pages;
    }

    /// Counts written pages. Returns whether to continue.
    #[inline]
    pub(super) fn wrote(&mut self, pages: u64) -> bool {
        self.written.pages += pages;
        if self.written.pages >= self.look_at && self.goes_on {
            self.look_at = self.written.pages + LOOK_EVERY;
            self.goes_on = (self.look)(self.written);
        }
        self.goes_on
    }
}
