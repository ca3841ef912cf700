//! Preconditioning: a device is filled, and brought to the steady state of random overwrites, in no simulated time.

mod watched;

use std::collections::VecDeque;

use wordline_kernel::{Seed, Stream, gcd};
use wordline_nand::{Location, Stamp};

use super::Device;
use crate::base::Base;
use crate::flash::Flash;
use crate::map::Map;
use crate::map::translation::{Translation, UNITS_IN_A_ROW};
use crate::map::{LogicalPage, Moved};
use crate::policy::mapper::TranslationPage;
use crate::policy::placement::Row;
use crate::space::{Space, StreamId};

pub(super) use watched::Watched;
pub use watched::{Look, Written};

/// What bringing a device to its steady state took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steady {
    /// Pages overwritten until the write amplification stood still.
    pub overwritten: u64,
    /// Write amplification of the collector over the last window: pages programmed a page written.
    pub amplification: f64,
}

/// Part of the logical pages that is overwritten between two looks at the write amplification. Chosen: at a hundredth
/// part even a small device moves thousands of pages in a window.
const WINDOWS_PER_DRIVE: u32 = 50;

/// Windows after which the device counts as steady even if its write amplification still moves. Chosen: two drive
/// writes beyond a start that is close already.
const MOST_WINDOWS: u32 = 2 * WINDOWS_PER_DRIVE;

/// Windows before which it does not count as steady. Chosen: the first has nothing before it, and one pair may be alike by chance.
const FEWEST_WINDOWS: u32 = 3;

/// Blocks of pages for each row that are overwritten last, while the collector keeps the host's pace. Chosen: one is
/// enough for a row to come to it, and two for rows that by chance get fewer pages than others.
const PACED_BLOCKS: u64 = 2;

/// Translation pages that are written for a page of the host at most. Chosen, as it is with timing.
const MOST_TABLES_A_PAGE: u8 = UNITS_IN_A_ROW;

/// A change of the write amplification between windows that counts as none. Chosen.
const STEADY_WITHIN: f64 = 0.01;

impl Device {
    /// Writes the first `fraction` of the logical pages once, in order.
    pub fn fill(&mut self, fraction: f64) {
        self.fill_while(fraction, &mut |_| true);
    }

    /// The same under the eyes of somebody; false if it was not finished.
    pub fn fill_while(&mut self, fraction: f64, look: Look<'_>) -> bool {
        self.fill_watched(fraction, &mut Watched::by(look))
    }

    pub(super) fn fill_watched(&mut self, fraction: f64, watched: &mut Watched<'_>) -> bool {
        let pages = (f64::from(self.core.base.config.logical_pages) * fraction.clamp(0.0, 1.0)) as u32;
        watched.fills(u64::from(pages));
        let mut filler = Filler::default();
        self.core.base.space.pause_cache(true);
        match self.core.map.whole_unit() {
            Some(unit) => {
                for page in (0..pages).step_by(unit as usize) {
                    self.write_unit_untimed(LogicalPage(page), pages, 0, &mut filler);
                    if !watched.wrote(u64::from(unit)) {
                        return false;
                    }
                }
            }
            None => {
                for page in 0..pages {
                    self.write_untimed(LogicalPage(page), &mut filler);
                    if !watched.wrote(1) {
                        return false;
                    }
                }
            }
        }
        self.lay_tables(pages, &mut filler, watched);
        self.align();
        watched.goes_on
    }

    /// Fills the device and brings it to the steady state of uniform random overwrites of whole pages.
    ///
    /// The tables are first filled in the shape of that state: under uniform writes a page stays valid with a
    /// probability that falls exponentially with the age of its block, from 1 for the newest block to the utilisation
    /// `u` of a victim, where `-ln(u) / (1 - u)` is the physical space over the logical (the limit of greedy and of
    /// first-in first-out cleaning for large blocks; Desnoyers, SYSTOR 2012). Random overwrites without timing then go
    /// on until the write amplification of successive windows stands still. The device is left as a host leaves it that
    /// wrote as fast as it could until now: with the free blocks that cleaning keeps up under full load, and with victims
    /// half cleaned. With a part of the map in flash it is left as after a rest. With a block map there is no more to it than
    /// replacement blocks, which are all begun anew a few times. In a device with several pools each is filled to the same
    /// share, and units of pages are overwritten where they are: where they would go depends on the sizes of what a host
    /// writes. It is left as after a rest, too.
    pub fn fill_steady(&mut self, seed: Seed) -> Steady {
        self.fill_steady_while(seed, &mut |_| true).expect("nobody stopped it")
    }

    /// The same under the eyes of somebody; `None` if it was not finished.
    pub fn fill_steady_while(&mut self, seed: Seed, look: Look<'_>) -> Option<Steady> {
        self.reach_steady(
            seed,
            self.core.base.config.logical_pages,
            self.core.map.translation().is_some(),
            look,
        )
    }

    /// The same with the first `fraction` of the logical pages, left as after a rest: with the free blocks that cleaning goes
    /// for, and no more, however little is valid. A short run then pays for its own writes alone.
    pub fn fill_steady_to(&mut self, seed: Seed, fraction: f64) -> Steady {
        self.fill_steady_to_while(seed, fraction, &mut |_| true).expect("nobody stopped it")
    }

    /// The same under the eyes of somebody; `None` if it was not finished.
    pub fn fill_steady_to_while(&mut self, seed: Seed, fraction: f64, look: Look<'_>) -> Option<Steady> {
        let pages = (f64::from(self.core.base.config.logical_pages) * fraction.clamp(0.0, 1.0)) as u32;
        self.reach_steady(seed, pages.clamp(1, self.core.base.config.logical_pages), true, look)
    }

    fn reach_steady(&mut self, seed: Seed, filled: u32, rested: bool, look: Look<'_>) -> Option<Steady> {
        let mut random = seed.stream("ssd.precondition", 0);
        let watched = &mut Watched::by(look);
        if self.core.map.by_block().is_some() {
            return self.fill_steady_mapped(random, watched);
        }
        self.core.base.space.pause_cache(true);
        let rested = rested || self.writer.has_units();
        let mut filler = Filler { rested, ..Filler::default() };
        watched.fills(u64::from(filled));
        match self.writer.has_units() {
            true => {
                self.fill_pools(filled, &mut filler, &mut random, watched);
                self.lay_tables(filled, &mut filler, watched);
            }
            false => self.lay_aged(filled, &mut filler, &mut random, watched),
        }
        watched.goes_on.then_some(())?;
        let pages = u64::from(filled);
        // A window that opens fewer blocks than there are rows may pass without any cleaning.
        let pools = &self.core.base.config.pools;
        let round: u64 = (0..pools.rows()).map(|row| u64::from(pools.per_block_of(row))).sum();
        let window = (pages / u64::from(WINDOWS_PER_DRIVE)).max(2 * round);
        watched
            .overwrites(u64::from(FEWEST_WINDOWS) * window + if rested { 0 } else { PACED_BLOCKS * round });
        let mut draws = Draws::new(random, pages);
        let mut steady = Steady { overwritten: 0, amplification: 0.0 };
        if self.writer.has_units() {
            // What is overwritten until there is something to be cleaned.
            let free = u64::from(self.core.base.config.pools.locations()) - pages;
            watched.overwrites(free);
            steady.overwritten += self.overwrite_drawn(free, &mut draws, &mut filler, watched)?;
        }
        for n in 1..=MOST_WINDOWS {
            if n > FEWEST_WINDOWS {
                watched.overwrites(window);
            }
            let before = filler.programmed;
            let overwritten = self.overwrite_drawn(window, &mut draws, &mut filler, watched)?;
            steady.overwritten += overwritten;
            let now = (filler.programmed - before) as f64 / overwritten as f64;
            let still = (now / steady.amplification - 1.0).abs() < STEADY_WITHIN;
            steady.amplification = now;
            if still && n >= FEWEST_WINDOWS {
                break;
            }
        }
        if !rested {
            filler.paced = true;
            steady.overwritten +=
                self.overwrite_drawn(PACED_BLOCKS * round, &mut draws, &mut filler, watched)?;
            self.core.reclaim.leave_at_work();
        }
        self.align();
        Some(steady)
    }

    /// Overwrites `pages` pages drawn at random, or a few more where whole units are overwritten. Returns how many; `None` if
    /// it was not finished.
    fn overwrite_drawn(
        &mut self,
        pages: u64,
        draws: &mut Draws,
        filler: &mut Filler,
        watched: &mut Watched<'_>,
    ) -> Option<u64> {
        let mut overwritten = 0;
        while overwritten < pages {
            let page = draws.next(self);
            let now = match self.writer.has_units() {
                true => self.overwrite_unit_untimed(page, filler),
                false => self.overwrite_untimed(page, filler),
            };
            overwritten += now;
            watched.wrote(now).then_some(())?;
        }
        Some(overwritten)
    }

    /// Fills rows with the first `pages` logical pages, in the shape of the steady state.
    fn lay_aged(&mut self, pages: u32, filler: &mut Filler, random: &mut Stream, watched: &mut Watched<'_>) {
        self.core.base.space.wait_for_rows(true);
        let mut left: Vec<(Share, u32)> = Vec::new();
        for row in 0..self.core.base.config.pools.rows() {
            let (share, placed) = self.age_row(row, pages, filler.rested, random);
            left.push((share, placed));
            if !watched.wrote(u64::from(placed)) {
                return;
            }
        }
        self.core.base.space.wait_for_rows(false);
        for (share, placed) in left {
            for n in placed..share.count {
                self.write_untimed(LogicalPage(share.page(n)), filler);
                if !watched.wrote(1) {
                    return;
                }
            }
        }
        self.lay_tables(pages, filler, watched);
    }

    /// Fills a row with its share of the first `pages` logical pages, in the shape of the steady state. How far its open block is
    /// written is drawn at random, so that the rows do not come to their next cleaning all at once.
    /// Returns the share and how much of it was placed: the rest found no room by chance.
    fn age_row(&mut self, row: Row, pages: u32, rested: bool, random: &mut Stream) -> (Share, u32) {
        let rows = self.core.base.config.pools.rows();
        let homes =
            (0..rows).find(|page| self.core.base.policies.placement.home(*page) == Some(row)).unwrap_or(row);
        let share = Share::new(homes, rows, pages);
        let keep_free = match rested {
            true => self.core.base.config.file.ftl.gc.stop_at_free_blocks as usize,
            false => self.core.base.space.kept(row) + 1,
        };
        let locations = self.core.base.config.pools.of_row(row).locations;
        let (per_block, unit) = (locations.per_block(), locations.per_program);
        let blocks = self.core.base.space.free(row).saturating_sub(keep_free) as u32;
        let open = random.below(u64::from(per_block / unit)) as u32 * unit;
        let all =
            u64::from(blocks) * u64::from(per_block) - u64::from(if open > 0 { per_block - open } else { 0 });
        let space = all as f64 / f64::from(share.count.max(1));
        let oldest = libm::log(victim_utilisation(space));
        let mut placed = 0;
        for n in 0..blocks {
            let age = 1.0 - (f64::from(n) + 0.5) / f64::from(blocks);
            let valid = (libm::exp(oldest * age) * (1u64 << 32) as f64) as u64;
            let count = if n + 1 == blocks && open > 0 { open } else { per_block };
            self.age_block(row, count, || {
                let lives = placed < share.count && random.below(1 << 32) < valid;
                placed += u32::from(lives);
                lives.then(|| [placed - 1, placed + AHEAD as u32].map(|n| LogicalPage(share.page(n))))
            });
        }
        (share, placed)
    }

    /// Fills `count` pages of a new block of a row with what `next` gives, or with what was overwritten long ago.
    /// Beside a page comes one that is wanted some pages later.
    fn age_block(&mut self, row: Row, count: u32, mut next: impl FnMut() -> Option<[LogicalPage; 2]>) {
        let unit = self.core.base.config.pools.per_program(row);
        for _ in 0..count / unit {
            let first = self.core.base.take(row, self.core.base.space.streams().host(0), unit);
            for location in (first.0..first.0 + unit).map(Location) {
                // No version is numbered 0.
                let mut stamp = Stamp { logical: 0, version: 0 };
                if let Some([logical, later]) = next() {
                    self.core.map.prefetch(later);
                    stamp = Stamp { logical: logical.0, version: self.core.map.written(logical) };
                    self.core.map.install(logical, location, &mut self.core.base);
                }
                self.core.base.flash.put(location, stamp);
            }
            self.core.base.space.program_done(first);
        }
    }

    /// Writes a whole page in no time.
    fn write_untimed(&mut self, logical: LogicalPage, filler: &mut Filler) {
        if self.core.map.by_block().is_some() {
            filler.programmed += self.write_mapped_untimed(logical);
            return;
        }
        let stream = self.core.base.space.streams().host(0);
        let row = self
            .core
            .base
            .policies
            .placement
            .home(logical.0)
            .unwrap_or_else(|| self.next_row(stream, filler));
        self.put_untimed(logical, row, stream, filler);
    }

    /// Puts a new version of a page into a row in no time, and cleans the row.
    pub(super) fn put_untimed(
        &mut self,
        logical: LogicalPage,
        row: Row,
        stream: StreamId,
        filler: &mut Filler,
    ) {
        let version = self.core.map.written(logical);
        let page = self.core.base.take(row, stream, 1);
        self.core.base.flash.put(page, Stamp { logical: logical.0, version });
        if Map::is_table(logical.0, &self.core.base) {
            self.core.map.install_table(logical, page, &mut self.core.base);
        } else {
            self.core.map.install(logical, page, &mut self.core.base);
        }
        self.core.base.space.program_done(page);
        filler.programmed += 1;
        self.clean_untimed(row, stream, filler);
    }

    /// Cleans a row in no time: with `paced` writing as a host that writes as fast as it can has to wait for it, else a block as
    /// soon as one is needed.
    pub(super) fn clean_untimed(&mut self, row: Row, stream: StreamId, filler: &mut Filler) {
        let pages = self.core.base.space.dearest(row);
        let collector = self.core.reclaim.untimed();
        let Base { space, flash, policies, .. } = &mut self.core.base;
        let map = &mut self.core.map;
        // What is moved out of one victim is written to translation pages before the next one is cleaned.
        let one_by_one = map.has_tables();
        let mut moved = 0;
        let move_page = |space: &mut Space, flash: &mut Flash, from, to, next: Option<Location>| {
            if let Some(next) = next {
                map.prefetch(LogicalPage(flash.stamp(next).logical));
            }
            let stamp = flash.stamp(from);
            flash.put(to, stamp);
            map.relocate(Moved { stamp, from }, to, space);
            if let Some(writes) = map.unit_writes_mut()
                && space.has_whole_units(space.row_of(space.pools().block_of(to)))
            {
                writes.write(to);
            }
            moved += 1;
        };
        match filler.paced {
            true => collector.pace_untimed(row, stream, pages, space, move_page, (flash, policies)),
            false => {
                collector.clean_untimed(row, space, move_page, (flash, policies), one_by_one, filler.rested);
            }
        }
        filler.programmed += moved;
        if moved > 0 {
            self.core.map.release_tables();
        }
    }

    /// Overwrites a page in no time, and writes the translation pages that the cache of the map gives up for it.
    /// Returns the one page.
    fn overwrite_untimed(&mut self, logical: LogicalPage, filler: &mut Filler) -> u64 {
        if let Some(translation) = self.core.map.translation_mut() {
            translation.look_up_untimed(logical);
        }
        self.write_untimed(logical, filler);
        self.note_written_untimed(logical);
        self.write_tables_untimed(1, filler);
        1
    }

    /// A page that was looked up is at another place.
    pub(super) fn note_written_untimed(&mut self, logical: LogicalPage) {
        let place = self.core.map.get(logical).expect("it was just written");
        self.core.map.note_update(logical, None, place, &self.core.base);
    }

    /// Writes translation pages that changed, after `pages` pages of the host.
    pub(super) fn write_tables_untimed(&mut self, pages: u32, filler: &mut Filler) {
        for _ in 0..pages * u32::from(MOST_TABLES_A_PAGE) {
            let Some(table) = self.core.map.translation_mut().and_then(Translation::take_untimed) else {
                break;
            };
            self.write_table_untimed(table, filler);
        }
    }

    /// Writes the translation pages that tell of the first `pages` logical pages.
    fn lay_tables(&mut self, pages: u32, filler: &mut Filler, watched: &mut Watched<'_>) {
        let Some(translation) = self.core.map.translation() else { return };
        for table in translation.tables() {
            let Some(translation) = self.core.map.translation().filter(|_| watched.wrote(1)) else {
                return;
            };
            let mut held = translation.pages_of(table).take_while(|page| page.0 < pages);
            if held.any(|page| {
                self.core
                    .map
                    .get(page)
                    .is_some_and(|location| self.core.base.space.is_mapped_by_page(location))
            }) {
                self.write_table_untimed(table, filler);
            }
        }
    }

    fn write_table_untimed(&mut self, table: TranslationPage, filler: &mut Filler) {
        let Some(logical) = self.core.map.translation().map(|translation| translation.logical(table)) else {
            return;
        };
        let stream = self.core.base.space.streams().host(self.core.base.space.streams().host - 1);
        let row = if self.core.base.has_homes { self.next_for_tables() } else { self.next_with_room(stream) };
        let version = self.core.map.last_written(logical).unwrap_or(0) + 1;
        if let Some(translation) = self.core.map.translation_mut() {
            translation.written_untimed(table, version, row);
        }
        self.put_untimed(logical, row, stream, filler);
    }

    /// The next row that takes translation pages, where pages have homes.
    fn next_for_tables(&mut self) -> Row {
        loop {
            let row = self.writer.row_for_tables(&self.core).unwrap_or_else(|| {
                self.writer.note_all_rows(&self.core);
                self.writer
                    .row_for_tables(&self.core)
                    .expect("a device that was checked has room for its translation pages")
            });
            self.writer.note_row(row, &self.core);
            if self.writer.rows_for_tables().contains(row) {
                return row;
            }
        }
    }

    /// The row for the next page without a home: a program unit in each row, in the order of the placement.
    pub(super) fn next_row(&mut self, stream: StreamId, filler: &mut Filler) -> Row {
        let last = filler.last.filter(|(to, _)| *to == stream);
        let stay = last.filter(|(_, row)| filler.left > 0 && self.core.base.space.has_room(*row, stream, 1));
        let row = stay.map(|(_, row)| row).unwrap_or_else(|| {
            let row = self.next_with_room(stream);
            filler.left = self.core.base.config.pools.per_program(row);
            row
        });
        filler.left -= 1;
        filler.last = Some((stream, row));
        row
    }

    /// The next row that takes pages of a stream of the host.
    pub(super) fn next_with_room(&mut self, stream: StreamId) -> Row {
        let stream = usize::from(stream.0);
        loop {
            let row =
                self.core.base.policies.placement.next(self.writer.rows_of(stream)).unwrap_or_else(|| {
                    self.writer.note_all_rows(&self.core);
                    self.core
                        .base
                        .policies
                        .placement
                        .next(self.writer.rows_of(stream))
                        .expect("a device that was checked has room for its pages")
                });
            self.writer.note_row(row, &self.core);
            if self.writer.rows_of(stream).contains(row) {
                return row;
            }
        }
    }

    /// Pads what is left of program units that were written page by page.
    fn align(&mut self) {
        for row in 0..self.core.base.config.pools.rows() {
            let unit = self.core.base.config.pools.per_program(row);
            for stream in self.core.base.space.streams().all() {
                while self
                    .core
                    .base
                    .space
                    .open_place(row, stream)
                    .is_some_and(|place| !place.is_multiple_of(unit))
                {
                    let page = self.core.base.take(row, stream, 1);
                    self.core.base.flash.put(page, Stamp::PADDING);
                    self.core.base.space.program_done(page);
                }
            }
        }
        self.core.base.space.pause_cache(false);
        self.writer.note_all_rows(&self.core);
    }
}

/// Where untimed writes go next.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Filler {
    /// The stream and the row that were written to last.
    last: Option<(StreamId, Row)>,
    /// Pages left of the program unit.
    left: u32,
    /// Pages programmed.
    pub programmed: u64,
    /// Whether the collector keeps the host's pace instead of cleaning whole blocks.
    paced: bool,
    /// Whether it cleans until there are as many free blocks as it goes for.
    rested: bool,
}

/// Pages by which random look-ups are known ahead. Chosen: their time covers that of a fetch from memory.
const AHEAD: usize = 8;

/// Pages drawn at random that are known ahead, so that what is known of them, and then what their places hold, is in
/// the processor's cache when it is wanted.
struct Draws {
    random: Stream,
    pages: u64,
    drawn: VecDeque<LogicalPage>,
}

impl Draws {
    fn new(mut random: Stream, pages: u64) -> Self {
        let drawn = (0..2 * AHEAD).map(|_| LogicalPage(random.below(pages) as u32)).collect();
        Self { random, pages, drawn }
    }

    fn next(&mut self, device: &Device) -> LogicalPage {
        let new = LogicalPage(self.random.below(self.pages) as u32);
        device.core.map.prefetch(new);
        self.drawn.push_back(new);
        if let Some(location) = device.core.map.get(self.drawn[AHEAD]) {
            device.core.base.space.prefetch(location);
        }
        self.drawn.pop_front().expect("draws are known ahead")
    }
}

/// A row's share of the logical pages, scattered: the pages `first + rows * k`, with `k` in an order that hops
/// through the range by a step without common divisor.
struct Share {
    first: u32,
    rows: u32,
    count: u32,
    step: u64,
}

impl Share {
    fn new(first: u32, rows: u32, pages: u32) -> Self {
        let count = pages.saturating_sub(first).div_ceil(rows);
        // Near the golden section of the range, so that neighbours end up far apart.
        let near = (f64::from(count) * 0.618_033_988_75) as u64;
        let step = (near.max(1)..).find(|step| gcd(*step, u64::from(count.max(1))) == 1);
        Self { first, rows, count, step: step.expect("there is a prime above every number") }
    }

    fn page(&self, n: u32) -> u32 {
        let k = (u64::from(n) * self.step % u64::from(self.count.max(1))) as u32;
        self.first + self.rows * k
    }
}

/// The utilisation `u` of a victim when there is `space` times as much physical as logical space:
/// `-ln(u) / (1 - u) = space`, by bisection, for the left side falls as `u` grows.
fn victim_utilisation(space: f64) -> f64 {
    let (mut low, mut high) = (1e-12, 1.0 - 1e-9);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if -libm::log(middle) / (1.0 - middle) > space { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_visits_each_of_its_pages_once() {
        for (first, rows, pages) in [(0, 4, 100), (3, 4, 101), (1, 7, 8), (0, 1, 1)] {
            let share = Share::new(first, rows, pages);
            let mut seen: Vec<u32> = (0..share.count).map(|n| share.page(n)).collect();
            seen.sort_unstable();
            assert_eq!(seen, (first..pages).step_by(rows as usize).collect::<Vec<_>>());
        }
    }

    #[test]
    fn victim_utilisation_solves_its_equation() {
        for space in [1.02, 1.07, 1.28, 2.0] {
            let u = victim_utilisation(space);
            assert!((-libm::log(u) / (1.0 - u) - space).abs() < 1e-6, "{space}: {u}");
        }
    }
}
