//! The rate limiter: sets how much of the ring host and GC may occupy, from the number of free chunks.
//!
//! Entries leave the ring in order. So the shares of host and GC in the ring are also their shares of the
//! writes.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Duration, Instant, state};

use super::layout::Layout;

/// Entries of a window, the unit of the shares (Linux 5.10: NVM_MAX_VLBA).
const WINDOW: u32 = 64;

/// Time for which the host counts as active after a write (Linux 5.10, `pblk_rl_kick_u_timer`).
const ACTIVE: Duration = Duration::from_ms(5_000);

/// State of the limiter, with pblk's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum Pressure {
    /// Enough chunks are free: the host may use the whole ring.
    Off,
    /// Enough chunks are free, but a line has a write error: GC gets one window.
    Failed,
    /// Too few chunks are free. The host gets fewer windows as free chunks become fewer.
    Low,
    /// Data of a line exist only in the volatile cache of the device, and no flush is sent: GC of that line
    /// gets all of the ring, and all lines that can be opened.
    Stranded,
}

/// The rate limiter.
pub(super) struct Limiter {
    budget: u32,
    high: u32,
    reserved: u32,
    window: u32,
    /// The host gets one window for each `2^shift` free chunks. If `shift` is negative, each free chunk gives
    /// the host several windows.
    shift: i32,
    pressure: Pressure,
    of_host: u32,
    of_collector: u32,
    last_write: Option<Instant>,
    /// Whether the end of the silence that GC waits for is scheduled.
    has_timer: bool,
}

state!(Limiter {
    values { pressure, of_host, of_collector, last_write, has_timer }
    fixed { budget, high, reserved, window, shift }
});

/// Exponent of the next power of two.
fn order(number: u32) -> i32 {
    number.next_power_of_two().trailing_zeros() as i32
}

impl Limiter {
    pub(super) fn new(layout: &Layout) -> Self {
        let budget = layout.ring;
        // Rings below pblk's minimum still have two windows.
        let window = WINDOW.min(budget / 2);
        Self {
            budget,
            high: layout.high,
            reserved: layout.reserved,
            window,
            shift: order(layout.high) - order(budget / window),
            pressure: Pressure::Off,
            of_host: budget,
            of_collector: 0,
            last_write: None,
            has_timer: false,
        }
    }

    pub(super) fn pressure(&self) -> Pressure {
        self.pressure
    }

    /// Sets the shares for this number of free chunks and of lines with a write error. `has_stranded`: whether
    /// data of a line exist only in the volatile cache of the device.
    pub(super) fn update(&mut self, free: u32, failed_lines: u32, has_stranded: bool) {
        if has_stranded {
            (self.pressure, self.of_host, self.of_collector) = (Pressure::Stranded, 0, self.budget);
        } else if free < self.high {
            let windows = if self.shift >= 0 { free >> self.shift } else { free << -self.shift };
            self.pressure = Pressure::Low;
            self.of_host = if free <= self.reserved { 0 } else { (windows * self.window).min(self.budget) };
            self.of_collector = self.budget - self.of_host;
        } else {
            let is_failed = failed_lines > 0;
            self.pressure = if is_failed { Pressure::Failed } else { Pressure::Off };
            self.of_collector = if is_failed { self.window } else { 0 };
            self.of_host = self.budget - self.of_collector;
        }
    }

    /// Whether the host, which occupies `held` entries, may insert into the ring.
    #[inline]
    pub(super) fn host_can_insert(&self, held: u32) -> bool {
        held < self.of_host
    }

    /// Notes that the host wrote to the ring.
    #[inline]
    pub(super) fn note_host_write(&mut self, now: Instant) {
        self.last_write = Some(now);
    }

    /// Whether GC, which occupies `held` entries, may insert into the ring. While the host is not active, GC
    /// may use the whole ring.
    pub(super) fn gc_can_insert(&self, held: u32, now: Instant) -> bool {
        let is_active = self.last_write.is_some_and(|last| now < last + ACTIVE);
        held < self.of_collector || !is_active
    }

    /// When GC, which occupies `held` entries and has to wait, may insert at the latest if the host stays
    /// silent. `None` if it need not wait, or if this is scheduled already.
    pub(super) fn schedule_silence(&mut self, held: u32, now: Instant) -> Option<Instant> {
        if self.has_timer || self.gc_can_insert(held, now) {
            return None;
        }
        self.has_timer = true;
        self.last_write.map(|last| last + ACTIVE)
    }

    /// Notes that the scheduled time has come, or that its calendar is gone.
    pub(super) fn end_timer(&mut self) {
        self.has_timer = false;
    }

    /// Whether GC should run.
    #[inline]
    pub(super) fn needs_gc(&self) -> bool {
        self.pressure > Pressure::Off
    }

    /// Resets after a power cut.
    pub(super) fn forget(&mut self) {
        (self.last_write, self.has_timer) = (None, false);
    }

    /// The shares of host and GC, in ring entries.
    pub(super) fn shares(&self) -> [u32; 2] {
        [self.of_host, self.of_collector]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limiter(ring: u32, high: u32, reserved: u32) -> Limiter {
        let geometry = wordline_device::physical_device::Geometry {
            groups: 1,
            units_per_group: 1,
            chunks_per_unit: 100,
            blocks_per_chunk: 64,
            block_size: wordline_kernel::Bytes::kib(4),
            ws_min: 1,
            ws_opt: 1,
            mw_cunits: 0,
            ..Default::default()
        };
        Limiter::new(&Layout { ring, high, reserved, ..Layout::of(&geometry, 0.5, None) })
    }

    #[test]
    fn above_the_threshold_all_of_the_ring_is_the_hosts() {
        let mut limiter = limiter(1_024, 100, 10);
        limiter.update(100, 0, false);
        assert_eq!((limiter.shares(), limiter.pressure()), ([1_024, 0], Pressure::Off));
        limiter.update(100, 1, false);
        assert_eq!((limiter.shares(), limiter.pressure()), ([960, 64], Pressure::Failed));
        assert!(limiter.needs_gc());
    }

    #[test]
    fn below_it_each_window_of_free_chunks_is_one_of_entries() {
        // 16 windows for 128 chunks (the power of two above 100): one window for every eight chunks.
        let mut limiter = limiter(1_024, 100, 10);
        for (free, windows) in [(99, 12), (96, 12), (95, 11), (16, 2), (15, 1), (11, 1), (10, 0), (0, 0)] {
            limiter.update(free, 0, false);
            assert_eq!(limiter.shares(), [64 * windows, 1_024 - 64 * windows], "{free} are free");
            assert_eq!(limiter.pressure(), Pressure::Low);
        }
    }

    #[test]
    fn a_chunk_may_have_several_windows() {
        let mut limiter = limiter(1_024, 4, 1);
        limiter.update(3, 0, false);
        assert_eq!(limiter.shares(), [768, 256]);
    }

    #[test]
    fn the_collector_takes_everything_when_the_host_has_been_silent_for_five_seconds() {
        let mut limiter = limiter(1_024, 100, 10);
        limiter.update(96, 0, false);
        let now = Instant::ZERO;
        assert!(limiter.gc_can_insert(10_000, now));
        limiter.note_host_write(now);
        assert!(limiter.gc_can_insert(255, now) && !limiter.gc_can_insert(256, now));
        let later = now + ACTIVE;
        assert!(limiter.gc_can_insert(256, later));
        assert!(!limiter.gc_can_insert(256, now + Duration::from_ms(4_999)));
    }
}
