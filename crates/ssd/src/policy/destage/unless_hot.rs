//! Unless hot: a page leaves at once, but not if it was written before in the present window of time.

use wordline_kernel::{Bytes, Duration, Instant, state};

use super::Destage;
use crate::map::LogicalPage;

/// Lets a page go the first time that it is written in a window; what is written again in it stays.
pub struct UnlessHot {
    window: Duration,
    in_flight: Bytes,
    /// When the present window ends.
    end: Instant,
    /// A bit for each page that was written in it, and these pages.
    bits: Vec<u64>,
    pages: Vec<u32>,
}

state!(UnlessHot { values { end, bits, pages } fixed { window, in_flight } });

impl UnlessHot {
    /// With windows of this length, and at most `in_flight` under way.
    pub fn new(window: Duration, in_flight: Bytes) -> Self {
        Self { window, in_flight, end: Instant::ZERO, bits: Vec::new(), pages: Vec::new() }
    }

    fn is_hot(&self, page: u32) -> bool {
        self.bits.get(page as usize / 64).is_some_and(|bits| bits >> (page % 64) & 1 != 0)
    }

    /// The bits of the pages around `page`; none where a state that was read is wrong.
    fn bits_of(&mut self, page: u32) -> Option<&mut u64> {
        self.bits.get_mut(page as usize / 64)
    }
}

impl Destage for UnlessHot {
    fn in_flight(&self) -> Option<Bytes> {
        Some(self.in_flight)
    }

    fn prepare(&mut self, pages: u32) {
        self.bits = vec![0; (pages as usize).div_ceil(64)];
        self.pages.clear();
        self.end = Instant::ZERO;
    }

    #[inline]
    fn leaves(&self, page: LogicalPage, now: Instant) -> bool {
        now >= self.end || !self.is_hot(page.0)
    }

    #[inline]
    fn written(&mut self, page: LogicalPage, now: Instant) {
        if now >= self.end {
            for page in std::mem::take(&mut self.pages) {
                self.bits_of(page).into_iter().for_each(|bits| *bits = 0);
            }
            self.end = now + self.window;
        }
        if !self.is_hot(page.0)
            && let Some(bits) = self.bits_of(page.0)
        {
            *bits |= 1 << (page.0 % 64);
            self.pages.push(page.0);
        }
    }
}
