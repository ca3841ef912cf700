//! Progress reports of preconditioning, with the option to stop it.

/// Pages between two progress reports. Chosen: less than a hundredth of a second.
const LOOK_EVERY: u64 = 1 << 14;

/// Function that receives the progress and returns whether to continue. After a stop the device can only be
/// discarded.
pub type ProgressFn<'a> = &'a mut dyn FnMut(FillProgress) -> bool;

/// Progress of preconditioning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FillProgress {
    /// Pages filled and overwritten so far.
    pub pages: u64,
    /// Pages to be filled before any is overwritten.
    pub filled: u64,
    /// Expected total of pages so far: more are needed if the write amplification is not stable.
    pub expected: u64,
}

/// Overwrites that brought a device to its steady state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steady {
    /// Pages overwritten until the write amplification was stable.
    pub overwritten: u64,
    /// Write amplification over the last window, in pages programmed per page written. `None` if nothing is
    /// overwritten.
    pub amplification: Option<f64>,
}

/// Pages written by preconditioning, and the function notified of them.
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

    /// Announces pages to be filled.
    pub(super) fn fills(&mut self, pages: u64) {
        self.written.filled = pages;
        self.written.expected += pages;
    }

    /// Announces pages to be overwritten, besides those announced already.
    pub(super) fn overwrites(&mut self, pages: u64) {
        self.written.expected += pages;
    }

    /// Counts pages written; returns whether to continue.
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
