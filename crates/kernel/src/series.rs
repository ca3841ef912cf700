//! Time series: a quantity over simulated time, in a bounded number of equal windows. The bound does not
//! depend on the length of the run.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::{Duration, Instant};

/// A time series whose windows double in width whenever the run outgrows them. `T` is the sum of a window.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Series<T> {
    width: Duration,
    windows: Vec<T>,
    /// Span of the last window, where most samples fall.
    last: Range<Instant>,
}

/// Maximum number of windows: enough for a chart as wide as a screen.
const MAX_WINDOWS: usize = 512;

/// Initial width of a window.
const FIRST_WIDTH: Duration = Duration::from_us(1);

impl<T> Default for Series<T> {
    fn default() -> Self {
        Self { width: FIRST_WIDTH, windows: Vec::new(), last: Instant::ZERO..Instant::ZERO }
    }
}

impl<T: Default + Clone> Series<T> {
    /// The window that contains `at`. `merge` adds a later window to the one before it.
    #[inline]
    pub fn window(&mut self, at: Instant, merge: impl Fn(&mut T, &T)) -> &mut T {
        let index = if self.last.contains(&at) { self.windows.len() - 1 } else { self.find(at, merge) };
        &mut self.windows[index]
    }

    /// The index of the window that contains `at`, which is created if it does not exist.
    fn find(&mut self, at: Instant, merge: impl Fn(&mut T, &T)) -> usize {
        let mut index = (at.ps() / self.width.ps()) as usize;
        while index >= MAX_WINDOWS {
            self.halve(&merge);
            index = (at.ps() / self.width.ps()) as usize;
        }
        if index >= self.windows.len() {
            self.windows.resize(index + 1, T::default());
        }
        let begin = self.width.ps() * (self.windows.len() as u64 - 1);
        self.last = Instant::from_ps(begin)..Instant::from_ps(begin.saturating_add(self.width.ps()));
        index
    }

    fn halve(&mut self, merge: impl Fn(&mut T, &T)) {
        let halved = self.windows.chunks(2).map(|pair| {
            let mut sum = pair[0].clone();
            pair.iter().skip(1).for_each(|later| merge(&mut sum, later));
            sum
        });
        self.windows = halved.collect();
        self.width = self.width * 2;
    }

    /// Width of each window.
    pub fn width(&self) -> Duration {
        self.width
    }

    /// The middle of each window, in seconds, with its value; windows without a value are left out.
    pub fn points(&self, value: impl Fn(&T) -> Option<f64>) -> Vec<[f64; 2]> {
        let middle = |n: usize| (n as f64 + 0.5) * self.width.ps() as f64 / 1e12;
        let values = self.windows.iter().enumerate();
        values.filter_map(|(n, window)| value(window).map(|value| [middle(n), value])).collect()
    }

    /// The windows from the start of the run.
    pub fn windows(&self) -> &[T] {
        &self.windows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_when_windows_double() {
        let mut series = Series::<u64>::default();
        for us in 0..10_000 {
            *series.window(Instant::ZERO + Duration::from_us(us), |sum, next| *sum += next) += 1;
        }
        assert_eq!(series.windows().iter().sum::<u64>(), 10_000);
        assert_eq!(series.width(), Duration::from_us(32));
        assert!(series.windows()[..312].iter().all(|count| *count == 32));
    }

    #[test]
    fn what_comes_after_a_pause_goes_into_a_window_of_its_own() {
        let mut series = Series::<u64>::default();
        for us in [0, 2, 4, 3] {
            *series.window(Instant::ZERO + Duration::from_us(us), |sum, next| *sum += next) += 1;
        }
        assert_eq!(series.windows(), [1, 0, 1, 1, 1]);
    }
}
