//! The steady state of uniform random overwrites of whole pages.
//!
//! The device is laid in the shape that theory gives, and then overwrites itself through all of its engines until its write
//! amplification stands still: briefly where theory knows what the victim policy leaves, for as long as it takes elsewhere.

use wordline_kernel::{Duration, Instant, Seed, Stream};
use wordline_nand::{RowId, Stamp};

use super::in_place::Movers;
use super::lay::{Layer, Share};
use super::shape::{Drawn, Shape};
use super::watched::{Look, Steady, Watched};
use crate::ageing::{Ages, Untimed, carry_out};
use crate::block_device::{BlockDevice, Programmed};
use crate::command::{Command, Operation, SECTOR};
use crate::config::Config;
use crate::design::Seam;
use crate::device::Device;
use crate::map::LogicalPage;
use crate::policy::victim::Preference;
use crate::pools::EVERYTHING_IN;
use crate::precondition::ageing::End;
use crate::reclaim::config::Scope;

/// Blocks of pages for each row that are overwritten between two looks at the write amplification, where the shape that was laid
/// is that of the policy. Chosen: one is enough for a row to come to its next cleaning, and two for rows that by chance get
/// fewer pages than others.
const BLOCKS_A_WINDOW: u64 = 2;

/// Parts of the logical pages that are overwritten between two looks where it is another. Chosen: at a hundredth part even a
/// small device moves thousands of pages in a window.
const WINDOWS_PER_DRIVE: u64 = 50;

/// Windows after which the device counts as steady even if its write amplification still moves. Chosen: two drive
/// writes beyond a start that is close already.
const MOST_WINDOWS: u32 = 2 * WINDOWS_PER_DRIVE as u32;

/// Windows before which it does not count as steady. Chosen: the first has nothing before it, and one pair may be alike by chance.
const FEWEST_WINDOWS: u32 = 3;

/// A change of the write amplification between windows that counts as none. Chosen.
const STEADY_WITHIN: f64 = 0.01;

/// Pages that are overwritten for each replacement block of a block map in each of two windows. Chosen: one would do where no two
/// writes meet in a logical block.
const WRITES_A_REPLACEMENT: u64 = 8;

/// Pages by which random lookups are known ahead. Chosen: their time covers that of a fetch from memory.
const AHEAD: u32 = 8;

/// A page that was overwritten long ago; no version is numbered 0.
const DEAD: Stamp = Stamp { logical: 0, version: 0 };

impl Device {
    /// Fills the device and brings it to the steady state of uniform random overwrites of whole pages.
    ///
    /// Every page is laid to where it is in that state (`precondition/shape.rs`), and pages drawn at random are overwritten until the
    /// write amplification of successive windows stands still. The device is left as a host leaves it that wrote as fast as it could
    /// until now, and then flushed its buffer: with the free blocks that cleaning keeps up under full load, and with victims half
    /// cleaned. With a part of the map in flash it is left as after a rest. With a block map there is no more to it than
    /// replacement blocks, which are all begun anew a few times. In a device with several pools each is filled to the same
    /// share, and units of pages are overwritten where they are, for where else they would go depends on the sizes of what a host
    /// writes. It is left as after a rest, too.
    pub fn fill_steady(&mut self, seed: Seed) -> Steady {
        self.fill_steady_while(seed, &mut |_| true).expect("nobody stopped it")
    }

    /// The same with an observer; `None` if it was not finished.
    pub fn fill_steady_while(&mut self, seed: Seed, look: Look<'_>) -> Option<Steady> {
        let rests = self.core.map.translation().is_some() || self.writer.has_units();
        let end = if rests { End::Rested } else { End::AtWork };
        self.reach_steady(seed, self.core.base.config.logical_pages, end, look)
    }

    /// The same with the first `fraction` of the logical pages, left as by a host whose writes come at times of their own: no cleaning is due,
    /// no more blocks are free than it goes for, however little is valid, and the buffer is as full as the device keeps it. A
    /// short run then pays for its own writes alone.
    pub fn fill_steady_to(&mut self, seed: Seed, fraction: f64) -> Steady {
        self.fill_steady_to_while(seed, fraction, &mut |_| true).expect("nobody stopped it")
    }

    /// The same with an observer; `None` if it was not finished.
    pub fn fill_steady_to_while(&mut self, seed: Seed, fraction: f64, look: Look<'_>) -> Option<Steady> {
        self.reach_steady(seed, self.pages_in(fraction).max(1), End::Paced, look)
    }

    fn reach_steady(&mut self, seed: Seed, filled: u32, end: End, look: Look<'_>) -> Option<Steady> {
        self.core.base.space.pause_news(true);
        let steady = self.go_to_steady(seed, filled, end, look);
        self.core.base.space.pause_news(false);
        steady
    }

    fn go_to_steady(&mut self, seed: Seed, filled: u32, end: End, look: Look<'_>) -> Option<Steady> {
        let mut random = seed.stream("ssd.precondition", 0);
        let watched = &mut Watched::by(look);
        if let Some(block) = &self.core.base.config.file.ftl.mapping.block {
            let rows = u64::from(self.core.base.config.pools.rows());
            let window = WRITES_A_REPLACEMENT * u64::from(block.replacements) * rows;
            let windows = Windows { pages: window, fewest: 2, most: 2 };
            self.fill_watched(1.0, watched).then_some(())?;
            return self.overwrite((filled, windows), Vec::new(), End::Rested, random, watched);
        }
        watched.fills(u64::from(filled));
        let left = match self.writer.has_units() {
            true => self.lay_pools(filled, &mut random, watched)?,
            false => self.lay_rows(filled, end, &mut random, watched)?,
        };
        let windows = self.windows(filled);
        self.overwrite((filled, windows), left, end, random, watched)
    }

    /// Which victims are preferred, where theory knows. The blocks of a super block have one age, and there are enough of them to even out chance.
    fn preference(&self) -> Option<Preference> {
        let base = &self.core.base;
        let is_super = base.config.file.ftl.gc.scope == Scope::SuperBlock && base.config.pools.rows() > 1;
        let is_asked = !base.policies.designs.answers(Seam::Victim);
        let of_policy = self.core.reclaim.preference().filter(|_| is_asked);
        of_policy.map(|it| if is_super && it == Preference::Fewest { Preference::Oldest } else { it })
    }

    /// How much is overwritten. A window that opens fewer blocks than there are rows may pass without any cleaning.
    fn windows(&self, filled: u32) -> Windows {
        let pools = &self.core.base.config.pools;
        let round: u64 = pools.all_rows().map(|row| u64::from(pools.per_block_of(row))).sum();
        let part = if self.preference().is_some() { 0 } else { u64::from(filled) / WINDOWS_PER_DRIVE };
        Windows { pages: part.max(BLOCKS_A_WINDOW * round), fewest: FEWEST_WINDOWS, most: MOST_WINDOWS }
    }

    /// Lays the first `pages` logical pages. Returns those for which there was no room; `None` if it was not finished.
    fn lay_rows(
        &mut self,
        pages: u32,
        end: End,
        random: &mut Stream,
        watched: &mut Watched<'_>,
    ) -> Option<Vec<LogicalPage>> {
        let preference = self.preference().unwrap_or(Preference::Fewest);
        let mut left = Vec::new();
        let mut layer = Layer::of(&mut self.core, &mut self.writer);
        let rows = layer.core.base.config.pools.rows();
        layer.core.base.space.wait_for_rows(true);
        for row in (0..rows).map(RowId) {
            let placement = &layer.core.base.policies.placement;
            let home =
                (0..rows).find(|page| placement.home(*page, EVERYTHING_IN) == Some(row)).unwrap_or(row.0);
            let share = Share::new(home, rows, pages);
            let filling = Filling { share, extent: 1, page_of: &|page, _| Some(LogicalPage(page)) };
            let laid = layer.row(row, &filling, (preference, end), random);
            left.extend((laid..share.count).map(|n| LogicalPage(share.item(n))));
            watched.wrote(u64::from(laid)).then_some(())?;
        }
        layer.core.base.space.wait_for_rows(false);
        layer.tables(pages, watched);
        layer.finish();
        watched.goes_on.then_some(left)
    }

    /// Lays the first `pages` logical pages, each unit in one of the pools drawn at random by the room they have. Returns those for
    /// which there was no room; `None` if it was not finished.
    fn lay_pools(
        &mut self,
        pages: u32,
        random: &mut Stream,
        watched: &mut Watched<'_>,
    ) -> Option<Vec<LogicalPage>> {
        let preference = self.preference().unwrap_or(Preference::Fewest);
        let per_unit = self.writer.subs().per_unit;
        let units = draw_pools(pages.div_ceil(per_unit), per_unit, &self.core.base.life.room, random);
        let mut left = Vec::new();
        let mut layer = Layer::of(&mut self.core, &mut self.writer);
        for (pool, units) in units.iter().enumerate() {
            let pools = &layer.core.base.config.pools;
            let rows: Vec<RowId> = pools.all_rows().filter(|row| pools.number_of_row(*row) == pool).collect();
            let extent = if layer.core.base.space.has_whole_units(rows[0]) { per_unit } else { 1 };
            let items = per_unit / extent;
            let page_of = |item: u32, n: u32| {
                let page = units[(item / items) as usize] * per_unit + item % items + n;
                (page < pages).then_some(LogicalPage(page))
            };
            let all = units.len() as u32 * items;
            let at_home = layer.at_home(&rows, (0..all).filter_map(|item| Some((item, page_of(item, 0)?))));
            for (n, row) in rows.iter().enumerate() {
                let share = match &at_home {
                    Some(items) => Share::of(&items[n]),
                    None => Share::new(n as u32, rows.len() as u32, all),
                };
                let filling = Filling { share, extent, page_of: &page_of };
                let laid = layer.row(*row, &filling, (preference, End::Rested), random);
                let rest = (laid..share.count).flat_map(|n| (0..extent).map(move |at| (share.item(n), at)));
                left.extend(rest.filter_map(|(item, at)| page_of(item, at)));
                watched.wrote(u64::from(laid * extent)).then_some(())?;
            }
        }
        layer.tables(pages, watched);
        layer.finish();
        watched.goes_on.then_some(left)
    }

    /// Overwrites the pages `first`, and then pages drawn at random of the first `filled`, until the write amplification stands
    /// still. `None` if it was not finished.
    fn overwrite(
        &mut self,
        (filled, windows): (u32, Windows),
        first: Vec<LogicalPage>,
        end: End,
        mut random: Stream,
        watched: &mut Watched<'_>,
    ) -> Option<Steady> {
        watched.overwrites(first.len() as u64 + u64::from(windows.fewest) * windows.pages);
        let host = self.core.base.config.clone();
        let unit = if self.writer.has_units() { self.writer.subs().per_unit } else { 1 };
        let mut progress =
            Progress::new(windows, [filled, unit].map(u64::from), BlockDevice::programmed(self));
        let mut first = first.into_iter();
        // By the times of writes the device goes as far as it wants before the next one.
        let depth = (end != End::Paced).then(|| host.pages_at_once());
        let next = &mut |programmed| {
            let command = first.by_ref().find_map(|page| host.overwriting(page, 1)).or_else(|| {
                let drawn = || {
                    let page = random.below(filled.into()) as u32;
                    host.overwriting(LogicalPage(page - page % unit), unit.min(filled - (page - page % unit)))
                };
                progress
                    .goes_on(programmed, watched)
                    .then(|| std::iter::repeat_with(drawn).flatten().next())?
            });
            watched.wrote(unit.into()).then_some((Instant::ZERO, command?))
        };
        let mut clock = Untimed::of::<Self>();
        // Where contents are followed, the device counts as filled, whatever it was overwritten with.
        let contents = self.core.base.contents.take();
        self.core.base.space.pause_modes(true);
        let movers = self.writer.has_units().then(|| Movers::set_aside(&mut self.core.base.policies));
        self.stop_clock();
        carry_out(self, next, depth, Duration::ZERO, &mut clock);
        self.write_out(end, &mut clock);
        self.come_to(end, &mut clock);
        self.forget_timers();
        movers.into_iter().for_each(|movers| movers.ask_again(&mut self.core.base.policies));
        self.core.base.contents = contents;
        self.core.base.space.pause_modes(false);
        self.writer.note_all_rows(&self.core);
        watched.goes_on.then_some(progress.steady)
    }
}

impl Config {
    /// Pages that are programmed where every row is at work.
    fn pages_at_once(&self) -> u32 {
        self.pools.all_rows().map(|row| self.pools.per_program(row)).sum()
    }

    /// The command that overwrites this many logical pages; none where no namespace holds the first.
    fn overwriting(&self, page: LogicalPage, pages: u32) -> Option<Command> {
        let per_page = self.unit.0 / SECTOR.0;
        let first = u64::from(page.0) * per_page;
        let mut namespaces = self.namespaces.iter().zip(0..);
        let (of, namespace) = namespaces.find(|(of, _)| (of.base..of.base + of.sectors).contains(&first))?;
        let sector = first - of.base;
        let sectors = (per_page * u64::from(pages)).min(of.sectors - sector);
        Some(Command { operation: Operation::Write, sector, sectors, namespace, ..Command::default() })
    }
}

/// How much is overwritten between two looks at the write amplification, and how often.
#[derive(Clone, Copy, Debug)]
struct Windows {
    /// Pages of the host that are programmed in a window.
    pages: u64,
    fewest: u32,
    most: u32,
}

/// How far overwriting has come.
struct Progress {
    windows: Windows,
    /// Pages that were programmed when any was last, and those that the buffer took since; as many as would show that it takes all.
    seen: u64,
    taken: u64,
    enough: u64,
    /// Pages of a command.
    unit: u64,
    /// The programs at the beginning of the present window.
    begun: Programmed,
    over: u32,
    steady: Steady,
}

impl Progress {
    fn new(windows: Windows, [filled, unit]: [u64; 2], begun: Programmed) -> Self {
        let enough = 2 * filled.max(windows.pages);
        let seen = begun.host;
        Self {
            windows,
            seen,
            taken: 0,
            enough,
            unit,
            begun,
            over: 0,
            steady: Steady { overwritten: 0, amplification: None },
        }
    }

    /// Whether one more page is to be overwritten.
    fn goes_on(&mut self, now: Programmed, watched: &mut Watched<'_>) -> bool {
        let host = now.host - self.begun.host;
        if host >= self.windows.pages {
            let amplification = 1.0 + (now.other - self.begun.other) as f64 / host as f64;
            let before = self.steady.amplification.replace(amplification);
            (self.begun, self.over) = (now, self.over + 1);
            let is_still = before.is_some_and(|before| (amplification / before - 1.0).abs() < STEADY_WITHIN);
            if self.over >= self.windows.most || (is_still && self.over >= self.windows.fewest) {
                return false;
            }
            if self.over >= self.windows.fewest {
                watched.overwrites(self.windows.pages);
            }
        }
        // A buffer that holds all that is overwritten lets nothing through to flash.
        if now.host > self.seen {
            (self.seen, self.taken) = (now.host, 0);
        }
        self.taken += self.unit;
        if self.taken > self.enough {
            return false;
        }
        self.steady.overwritten += self.unit;
        true
    }
}

/// Deals the units out to the pools, drawn at random by the room they have. Returns the units of each pool.
fn draw_pools(units: u32, per_unit: u32, room: &[u64], random: &mut Stream) -> Vec<Vec<u32>> {
    let all = room.iter().sum();
    let mut dealt = vec![Vec::new(); room.len()];
    for unit in 0..units {
        let mut at = random.below(all);
        let drawn = room.iter().position(|room| {
            let here = at < *room;
            at = at.saturating_sub(*room);
            here
        });
        let has_room = |pool: &usize| (dealt[*pool].len() as u64 + 1) * u64::from(per_unit) <= room[*pool];
        let pool = drawn.filter(has_room).unwrap_or(0);
        dealt[pool].push(unit);
    }
    dealt
}

/// The contents to fill a row with.
struct Filling<'a> {
    share: Share<'a>,
    /// Logical pages of an item of the share, which are valid together.
    extent: u32,
    /// The pages of an item, in the order of their places.
    page_of: &'a dyn Fn(u32, u32) -> Option<LogicalPage>,
}

impl Layer<'_> {
    /// For each of the rows of a pool, which are in the order of their numbers, the items whose page has its home there; none where pages have
    /// no homes.
    fn at_home(
        &self,
        rows: &[RowId],
        items: impl Iterator<Item = (u32, LogicalPage)>,
    ) -> Option<Vec<Vec<u32>>> {
        let base = &self.core.base;
        if !base.has_homes {
            return None;
        }
        let pool = base.config.pools.number_of_row(rows[0]);
        let mut at_home = vec![Vec::new(); rows.len()];
        for (item, page) in items {
            let home = base.policies.placement.home(page.0, pool)?;
            at_home[(home.0 - rows[0].0) as usize].push(item);
        }
        Some(at_home)
    }

    /// Fills a row in the shape of the steady state. How far its open block is written is drawn at random, so that the rows do not come
    /// to their next cleaning all at once. Returns how many items were laid: for the rest there is no room.
    fn row(
        &mut self,
        row: RowId,
        filling: &Filling<'_>,
        (preference, end): (Preference, End),
        random: &mut Stream,
    ) -> u32 {
        let base = &self.core.base;
        let locations = base.config.pools.of_row(row).locations;
        let (per_block, unit) = (locations.per_block(), locations.per_program);
        let kept = base.space.kept(row) + 1;
        let wanted = match end {
            End::Rested | End::Paced => base.space.marks(row)[1].max(kept),
            End::AtWork => kept,
        };
        // A row that has more to hold is left with fewer free blocks.
        let needed =
            (u64::from(filling.share.count) * u64::from(filling.extent)).div_ceil(per_block.into()) + 1;
        let free = base.space.free(row);
        let blocks = free.saturating_sub(kept).min(free.saturating_sub(wanted).max(needed as usize)) as u32;
        let open = random.below(u64::from(per_block / unit)) as u32 * unit;
        let [per_block, open] = [per_block, open].map(|pages| pages / filling.extent);
        let begun = if open > 0 { per_block - open } else { 0 };
        let room = (u64::from(blocks) * u64::from(per_block)).saturating_sub(begun.into());
        if room == 0 {
            return 0;
        }
        let (laid, full) = (u64::from(filling.share.count).min(room), room as f64 / f64::from(per_block));
        let shape = Shape::of(preference, full, per_block, laid as f64 / room as f64);
        let mut written = vec![per_block; blocks as usize];
        written.iter_mut().last().filter(|_| open > 0).into_iter().for_each(|youngest| *youngest = open);
        self.blocks(row, filling, &shape.draw(per_block, written, laid, random));
        laid as u32
    }

    /// Writes the blocks of a row, with the items of a share where an extent is valid.
    fn blocks(&mut self, row: RowId, Filling { share, extent, page_of }: &Filling<'_>, drawn: &Drawn) {
        let (unit, stream) = (self.core.base.config.pools.per_program(row), self.stream_to(row));
        let mut items = 0..share.count;
        let mut held = Vec::with_capacity(unit as usize);
        for block in 0..drawn.blocks() {
            for first in (0..drawn.written(block)).step_by((unit / extent) as usize) {
                for n in first..first + unit / extent {
                    let item = if drawn.is_valid(block, n) { items.next() } else { None };
                    if let Some(later) = item.filter(|n| n + AHEAD < share.count) {
                        page_of(share.item(later + AHEAD), 0).inspect(|page| self.core.map.prefetch(*page));
                    }
                    held.extend((0..*extent).map(|n| page_of(share.item(item?), n)));
                }
                self.unit(row, stream, DEAD, held.drain(..));
            }
        }
    }
}
