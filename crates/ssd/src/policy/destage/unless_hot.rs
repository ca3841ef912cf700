//! Unless hot: a page is destaged at once, unless it was written before in the current time window.

use wordline_ftl::map::LogicalPage;
use wordline_kernel::{Bytes, Duration, Instant, state};

use super::Destage;

/// Destages a page at once at its first write in a time window. Pages written again in the window stay in the
/// buffer.
pub struct UnlessHot {
    window: Duration,
    in_flight: Bytes,
    /// End of the current window.
    end: Instant,
    /// Bitmap of the pages written in the window. `pages` lists the same pages.
    bits: Vec<u64>,
    pages: Vec<u32>,
}

state!(UnlessHot { values { end, bits, pages } fixed { window, in_flight } });

impl UnlessHot {
    /// Policy with windows of length `window`, and at most `in_flight` data on its way to flash.
    pub fn new(window: Duration, in_flight: Bytes) -> Self {
        Self { window, in_flight, end: Instant::ZERO, bits: Vec::new(), pages: Vec::new() }
    }

    fn is_hot(&self, page: u32) -> bool {
        self.bits.get(page as usize / 64).is_some_and(|bits| bits >> (page % 64) & 1 != 0)
    }

    /// Bitmap word of `page`; `None` if a loaded state is invalid.
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
