//! Progress reports while a device is written before a run, with the chance to stop.

/// Pages between two looks at whether preconditioning is to go on. Chosen: less than a hundredth of a second.
const LOOK_EVERY: u64 = 1 << 14;

/// A function that gets the progress of the writing, and returns whether to go on. After a stop the device can only
/// be thrown away.
pub type Look<'a> = &'a mut dyn FnMut(Written) -> bool;

/// How far the writing before the run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Pages that are filled and overwritten so far.
    pub pages: u64,
    /// How many there are to be filled before any is overwritten.
    pub filled: u64,
    /// How many it will be in the end, as far as can be told: more, if the write amplification does not stand still.
    pub expected: u64,
}

/// The overwrites that brought a device to its steady state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steady {
    /// Pages overwritten until the write amplification stood still.
    pub overwritten: u64,
    /// Write amplification over the last window: pages programmed a page written. None where nothing is overwritten.
    pub amplification: Option<f64>,
}

/// The pages written before the run, and the function that is told of them.
pub(super) struct Watched<'a> {
    look: Look<'a>,
    written: Written,
    look_at: u64,
    pub(super) goes_on: bool,
}

impl<'a> Watched<'a> {
    pub(super) fn by(look: Look<'a>) -> Self {
        let written = Written { pages: 0, filled: 0, expected: 0 };
        Self { look, written, look_at: LOOK_EVERY, goes_on: true }
    }

    /// This many pages are going to be filled.
    pub(super) fn fills(&mut self, pages: u64) {
        self.written.filled = pages;
        self.written.expected += pages;
    }

    /// This many are going to be overwritten, beside those already reported.
    pub(super) fn overwrites(&mut self, pages: u64) {
        self.written.expected += pages;
    }

    /// This many pages more are written; whether to go on.
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
