//! Filling before a run, with the clock of the device off.

use wordline_kernel::{Calendar, Seed};
use wordline_ssd::PhysicalDevice;
use wordline_ssd::block_device::Programmed;
use wordline_ssd::device::{Look, Steady, Written};

use super::layout::Page;
use super::ring::Origin;
use super::{Event, Pblk};

/// Pages between two looks. Chosen: some milliseconds.
const LOOK_EVERY: u64 = 4_096;

/// Rounds of overwrites at the most. Chosen: each writes every page once, on average, and ten are more than a steady state takes to come.
const ROUNDS: u64 = 10;

impl<D: PhysicalDevice> Pblk<D> {
    /// Writes pages with the clock of the device off, until `look` stops it; whether it did not. `before` were written, of `total`.
    pub(super) fn write_untimed(
        &mut self,
        pages: impl Iterator<Item = u32>,
        before: u64,
        total: u64,
        look: Look<'_>,
    ) -> bool {
        let mut calendar = Calendar::new();
        self.port.device.stop_clock();
        let filled = u64::from(self.map.pages());
        let mut goes_on = true;
        for (n, page) in (before..).zip(pages) {
            while !self.limiter.host_may_insert(self.ring.of(Origin::Host)) || !self.make_room(1) {
                self.make_way(&mut calendar);
            }
            self.write(Page(page));
            self.go_on(&mut calendar);
            if n.is_multiple_of(LOOK_EVERY) && !look(Written { pages: n, filled, expected: total }) {
                goes_on = false;
                break;
            }
        }
        self.writer.force(self.ring.head());
        self.go_on(&mut calendar);
        self.port.device.start_clock();
        goes_on
    }

    /// Goes on as if a write waited for room.
    fn make_way(&mut self, calendar: &mut Calendar<Event<D::Event>>) {
        let state = |pblk: &Self| (pblk.ring.synced(), pblk.ring.lengths(), pblk.counts.lines_freed);
        let before = state(self);
        self.front.is_filling = true;
        self.go_on(calendar);
        self.front.is_filling = false;
        assert!(state(self) != before, "nothing fails with the clock off: {}", self.tell());
    }

    /// Overwrites a first part of the pages at random until the write amplification of one round is within a hundredth of that of the round before.
    pub(super) fn overwrite(&mut self, seed: Seed, pages: u32, look: Look<'_>) -> Option<Steady> {
        let mut random = seed.stream("pblk.steady", 0);
        let (mut before, mut overwritten) = (f64::INFINITY, 0);
        for round in 1..=ROUNDS {
            let Programmed { host, other } = self.programmed_pages();
            let draws = (0..pages).map(|_| random.below(u64::from(pages)) as u32).collect::<Vec<_>>();
            let written = u64::from(pages) * round;
            if !self.write_untimed(draws.into_iter(), written, written + u64::from(pages), look) {
                return None;
            }
            overwritten += u64::from(pages);
            let now = self.programmed_pages();
            let programs = (now.host - host + now.other - other) as f64;
            let amplification = programs / (now.host - host).max(1) as f64;
            if (amplification - before).abs() < 0.01 * amplification || round == ROUNDS {
                return Some(Steady { overwritten, amplification: Some(amplification) });
            }
            before = amplification;
        }
        None
    }

    /// Pages that were programmed for the host, and for whatever else.
    pub(super) fn programmed_pages(&self) -> Programmed {
        let counts = &self.counts;
        let metadata = counts.smeta_blocks + counts.emeta_blocks;
        Programmed { host: counts.host_pages, other: counts.moved_pages + counts.padding + metadata }
    }
}
