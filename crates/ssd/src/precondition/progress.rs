//! Progress reports of preconditioning, with the option to stop it.

use wordline_device::preconditioning::{FillProgress, ProgressFn};

/// Pages between two progress reports. Chosen: they take less than 10 ms of computing.
const LOOK_EVERY: u64 = 1 << 14;

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
