//! Preconditioning before a run, with the clock of the device off.

use wordline_device::PhysicalDevice;
use wordline_device::block_device::Programmed;
use wordline_device::preconditioning::{FillProgress, ProgressFn, Steady};
use wordline_kernel::{Calendar, Schedule, Seed};

use super::Pblk;
use super::direct_fill::lay_out;
use super::layout::Page;
use super::port::Event;
use super::ring::Origin;

/// Pages between two calls of the progress callback. Chosen: this takes some milliseconds.
const LOOK_EVERY: u64 = 4_096;

/// Length of a window over which write amplification is measured: as many overwritten pages as this number of
/// lines has. Chosen: twice the number of lines that are collected concurrently, so that victims from before
/// the window weigh little.
const LINES_A_WINDOW: u64 = 8;

/// Windows after which preconditioning ends, even if the state still drifts. Chosen: the state is close to
/// steady from the beginning.
const MOST_WINDOWS: u64 = 32;

/// Relative change of write amplification between windows below which the state is steady. Chosen: as for
/// SSDs.
const STEADY_WITHIN: f64 = 0.01;

impl<D: PhysicalDevice> Pblk<D> {
    /// Writes pages with the clock of the device off, until `look` stops it. Returns whether all pages were
    /// written. `before` pages of `total` were written earlier.
    pub(super) fn write_untimed(
        &mut self,
        pages: impl Iterator<Item = u32>,
        before: u64,
        total: u64,
        look: ProgressFn<'_>,
    ) -> bool {
        let mut calendar = Calendar::new();
        self.flash.port.device.stop_clock();
        let filled = u64::from(self.buffer.map.pages());
        let mut goes_on = true;
        for (n, page) in (before..).zip(pages) {
            while !self.flash.limiter.host_can_insert(self.buffer.ring.of(Origin::Host))
                || !self.buffer.make_space(1, &self.flash)
            {
                self.collect_for_fill(&mut calendar);
            }
            self.buffer.write(Page(page));
            self.flash.limiter.note_host_write(calendar.now());
            self.make_progress(&mut calendar);
            if n.is_multiple_of(LOOK_EVERY) && !look(FillProgress { pages: n, filled, expected: total }) {
                goes_on = false;
                break;
            }
        }
        self.writer.force(self.buffer.ring.head());
        self.make_progress(&mut calendar);
        self.flash.port.device.start_clock();
        self.flash.limiter.end_timer();
        goes_on
    }

    /// Runs the FTL as if a host write waited for space.
    fn collect_for_fill(&mut self, calendar: &mut Calendar<Event<D::Event>>) {
        let state = |pblk: &Self| {
            (pblk.buffer.ring.synced(), pblk.buffer.ring.lengths(), pblk.flash.counts.lines_freed)
        };
        let before = state(self);
        self.front.is_filling = true;
        self.make_progress(calendar);
        self.front.is_filling = false;
        assert!(state(self) != before, "nothing fails with the clock off: {}", self.describe());
    }

    /// Lays out the first `pages` pages as uniform random overwrites leave them. Then overwrites pages until
    /// write amplification and free lines are steady.
    pub(super) fn fill_steady(&mut self, seed: Seed, pages: u32, look: ProgressFn<'_>) -> Option<Steady> {
        let point = self.durable.point();
        let random = seed.stream("pblk.lay", 0);
        lay_out(&mut self.flash, &mut self.buffer.map, (pages, point), random, look).then_some(())?;
        let mut random = seed.stream("pblk.steady", 0);
        let window = LINES_A_WINDOW * u64::from(self.flash.layout.per_line());
        let (mut before, mut overwritten) = ((f64::INFINITY, self.flash.lines.free_chunks()), 0);
        while overwritten < MOST_WINDOWS * window {
            let Programmed { host, other } = self.flash.programmed();
            let draws = (0..window).map(|_| random.below(u64::from(pages)) as u32);
            let written = u64::from(pages) + overwritten;
            self.write_untimed(draws, written, written + window, look).then_some(())?;
            overwritten += window;
            let now = self.flash.programmed();
            let programs = (now.host - host + now.other - other) as f64;
            let amplification = programs / (now.host - host).max(1) as f64;
            let free = self.flash.lines.free_chunks();
            let is_still = (amplification - before.0).abs() < STEADY_WITHIN * amplification
                && free.abs_diff(before.1) <= self.flash.layout.units;
            before = (amplification, free);
            if is_still {
                break;
            }
        }
        Some(Steady { overwritten, amplification: Some(before.0) })
    }
}
