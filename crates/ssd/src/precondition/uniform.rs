//! Steady state of uniform random overwrites of whole pages.
//!
//! The device is placed into the theoretical shape, and then overwrites itself through all of its engines
//! until its write amplification is stable: briefly if theory predicts the result of the victim policy,
//! otherwise for as long as it takes.

use wordline_kernel::{Duration, Instant, Seed, Stream};
use wordline_nand::{DataTag, PlaneGroupId};

use super::in_place::MigrationPolicies;
use super::placing::{Layer, Share};
use super::progress::{ProgressFn, ProgressReporter, Steady};
use super::shape::{Shape, ValidBitmap};
use crate::ageing::{Ages, UntimedCalendar, carry_out};
use crate::block_device::{BlockDevice, Programmed};
use crate::command::{Command, Operation, SECTOR};
use crate::config::Config;
use crate::design::ExtensionPoint;
use crate::device::Device;
use crate::gc::config::Scope;
use crate::map::LogicalPage;
use crate::policy::victim::Preference;
use crate::pools::FALLBACK_POOL;
use crate::precondition::ageing::End;

/// Blocks of pages for each plane group overwritten between two measurements of write amplification, if the
/// initial shape is that of the policy. Chosen: one is enough for a plane group to reach its next GC, and two
/// for groups that get fewer pages by chance.
const BLOCKS_A_WINDOW: u64 = 2;

/// Measurements for each drive write, if the initial shape is not that of the policy. Chosen: with a fiftieth
/// part even a small device relocates thousands of pages in a window.
const WINDOWS_PER_DRIVE: u64 = 50;

/// Windows after which the device counts as steady even if its write amplification still changes. Chosen: two
/// drive writes after a start that is close already.
const MOST_WINDOWS: u32 = 2 * WINDOWS_PER_DRIVE as u32;

/// Windows before which the device does not count as steady. Chosen: the first has no predecessor, and one
/// pair may agree by chance.
const FEWEST_WINDOWS: u32 = 3;

/// Change of the write amplification between windows that counts as none. Chosen.
const STEADY_WITHIN: f64 = 0.01;

/// Pages overwritten for each replacement block in each of two windows, with block-level mapping. Chosen: one
/// would do if no two writes met in a logical block.
const WRITES_A_REPLACEMENT: u64 = 8;

/// Pages by which random lookups are prefetched. Chosen: their time covers that of a fetch from memory.
const AHEAD: u32 = 8;

/// Stamp of a page overwritten long ago; no version has number 0.
const OVERWRITTEN: DataTag = DataTag { logical: 0, version: 0 };

impl Device {
    /// Fills the device and brings it to the steady state of uniform random overwrites of whole pages.
    ///
    /// Every page is placed where it is in that state (`precondition/shape.rs`), and random pages are
    /// overwritten until the write amplification of successive windows is stable. The final state is that
    /// after a host that wrote as fast as it could until now, and then flushed its buffer: with the free
    /// blocks that GC maintains under full load, and with victims partly collected. If part of the map is in
    /// flash, it is that after an idle time. With block-level mapping only the replacement blocks are begun
    /// anew a few times. In a device with several pools each is filled to the same fraction, and units are
    /// overwritten in place, because their destination would depend on the sizes of host writes; the final
    /// state is that after an idle time, too.
    pub fn fill_steady(&mut self, seed: Seed) -> Steady {
        self.fill_steady_while(seed, &mut |_| true).expect("nobody stopped it")
    }

    /// Does so with an observer; `None` if it was stopped.
    pub fn fill_steady_while(&mut self, seed: Seed, look: ProgressFn<'_>) -> Option<Steady> {
        let rests = self.core.map.translation().is_some() || self.writer.has_units();
        let end = if rests { End::Idle } else { End::UnderLoad };
        self.reach_steady(seed, self.core.base.config.logical_pages, end, look)
    }

    /// Does so with the first `fraction` of the logical pages, for an open-loop workload: no GC is due, no
    /// more blocks are free than it aims for, however little is valid, and the buffer is as full as the
    /// device keeps it. A short run then pays only for its own writes.
    pub fn fill_steady_to(&mut self, seed: Seed, fraction: f64) -> Steady {
        self.fill_steady_to_while(seed, fraction, &mut |_| true).expect("nobody stopped it")
    }

    /// Does so with an observer; `None` if it was stopped.
    pub fn fill_steady_to_while(
        &mut self,
        seed: Seed,
        fraction: f64,
        look: ProgressFn<'_>,
    ) -> Option<Steady> {
        self.reach_steady(seed, self.pages_in(fraction).max(1), End::OpenLoop, look)
    }

    fn reach_steady(&mut self, seed: Seed, filled: u32, end: End, look: ProgressFn<'_>) -> Option<Steady> {
        self.core.base.space.pause_events(true);
        let steady = self.go_to_steady(seed, filled, end, look);
        self.core.base.space.pause_events(false);
        steady
    }

    fn go_to_steady(&mut self, seed: Seed, filled: u32, end: End, look: ProgressFn<'_>) -> Option<Steady> {
        let mut random = seed.stream("ssd.precondition", 0);
        let watched = &mut ProgressReporter::by(look);
        if let Some(block) = &self.core.base.config.file.ftl.mapping.block {
            let rows = u64::from(self.core.base.config.pools.rows());
            let window = WRITES_A_REPLACEMENT * u64::from(block.replacements) * rows;
            let windows = Windows { pages: window, fewest: 2, most: 2 };
            self.fill_watched(1.0, watched).then_some(())?;
            return self.overwrite((filled, windows), Vec::new(), End::Idle, random, watched);
        }
        watched.fills(u64::from(filled));
        let left = match self.writer.has_units() {
            true => self.lay_pools(filled, &mut random, watched)?,
            false => self.lay_rows(filled, end, &mut random, watched)?,
        };
        let windows = self.windows(filled);
        self.overwrite((filled, windows), left, end, random, watched)
    }

    /// Preferred victims, where theory predicts the result. The blocks of a superblock have one age, and are
    /// enough to even out chance.
    fn preference(&self) -> Option<Preference> {
        let base = &self.core.base;
        let is_super = base.config.file.ftl.gc.scope == Scope::SuperBlock && base.config.pools.rows() > 1;
        let is_asked = !base.policies.designs.decides(ExtensionPoint::Victim);
        let of_policy = self.core.reclaim.preference().filter(|_| is_asked);
        of_policy.map(|it| if is_super && it == Preference::Fewest { Preference::Oldest } else { it })
    }

    /// Number of pages to overwrite. A window that opens fewer blocks than there are plane groups may pass
    /// without GC.
    fn windows(&self, filled: u32) -> Windows {
        let pools = &self.core.base.config.pools;
        let round: u64 = pools.all_groups().map(|row| u64::from(pools.per_block_of(row))).sum();
        let part = if self.preference().is_some() { 0 } else { u64::from(filled) / WINDOWS_PER_DRIVE };
        Windows { pages: part.max(BLOCKS_A_WINDOW * round), fewest: FEWEST_WINDOWS, most: MOST_WINDOWS }
    }

    /// Places the first `pages` logical pages. Returns those without room; `None` if it was stopped.
    fn lay_rows(
        &mut self,
        pages: u32,
        end: End,
        random: &mut Stream,
        watched: &mut ProgressReporter<'_>,
    ) -> Option<Vec<LogicalPage>> {
        let preference = self.preference().unwrap_or(Preference::Fewest);
        let mut left = Vec::new();
        let mut layer = Layer::of(&mut self.core, &mut self.writer);
        let rows = layer.core.base.config.pools.rows();
        layer.core.base.space.set_waiting_for_groups(true);
        for row in (0..rows).map(PlaneGroupId) {
            let placement = &layer.core.base.policies.placement;
            let home =
                (0..rows).find(|page| placement.home(*page, FALLBACK_POOL) == Some(row)).unwrap_or(row.0);
            let share = Share::new(home, rows, pages);
            let filling = GroupContents { share, extent: 1, page_of: &|page, _| Some(LogicalPage(page)) };
            let laid = layer.row(row, &filling, (preference, end), random);
            left.extend((laid..share.count).map(|n| LogicalPage(share.item(n))));
            watched.wrote(u64::from(laid)).then_some(())?;
        }
        layer.core.base.space.set_waiting_for_groups(false);
        layer.tables(pages, watched);
        layer.finish();
        watched.goes_on.then_some(left)
    }

    /// Places the first `pages` logical pages, each unit in a random pool weighted by room. Returns those
    /// without room; `None` if it was stopped.
    fn lay_pools(
        &mut self,
        pages: u32,
        random: &mut Stream,
        watched: &mut ProgressReporter<'_>,
    ) -> Option<Vec<LogicalPage>> {
        let preference = self.preference().unwrap_or(Preference::Fewest);
        let per_unit = self.writer.subs().per_unit;
        let units = draw_pools(pages.div_ceil(per_unit), per_unit, &self.core.base.life.room, random);
        let mut left = Vec::new();
        let mut layer = Layer::of(&mut self.core, &mut self.writer);
        for (pool, units) in units.iter().enumerate() {
            let pools = &layer.core.base.config.pools;
            let rows: Vec<PlaneGroupId> =
                pools.all_groups().filter(|row| pools.number_of_group(*row) == pool).collect();
            let extent = if layer.core.base.space.is_coarsely_mapped(rows[0]) { per_unit } else { 1 };
            let items = per_unit / extent;
            let page_of = |item: u32, n: u32| {
                let page = units[(item / items) as usize] * per_unit + item % items + n;
                (page < pages).then_some(LogicalPage(page))
            };
            let all = units.len() as u32 * items;
            let at_home =
                layer.items_by_group(&rows, (0..all).filter_map(|item| Some((item, page_of(item, 0)?))));
            for (n, row) in rows.iter().enumerate() {
                let share = match &at_home {
                    Some(items) => Share::of(&items[n]),
                    None => Share::new(n as u32, rows.len() as u32, all),
                };
                let filling = GroupContents { share, extent, page_of: &page_of };
                let laid = layer.row(*row, &filling, (preference, End::Idle), random);
                let rest = (laid..share.count).flat_map(|n| (0..extent).map(move |at| (share.item(n), at)));
                left.extend(rest.filter_map(|(item, at)| page_of(item, at)));
                watched.wrote(u64::from(laid * extent)).then_some(())?;
            }
        }
        layer.tables(pages, watched);
        layer.finish();
        watched.goes_on.then_some(left)
    }

    /// Overwrites the pages `first`, and then random pages of the first `filled`, until the write
    /// amplification is stable. `None` if it was stopped.
    fn overwrite(
        &mut self,
        (filled, windows): (u32, Windows),
        first: Vec<LogicalPage>,
        end: End,
        mut random: Stream,
        watched: &mut ProgressReporter<'_>,
    ) -> Option<Steady> {
        watched.overwrites(first.len() as u64 + u64::from(windows.fewest) * windows.pages);
        let host = self.core.base.config.clone();
        let unit = if self.writer.has_units() { self.writer.subs().per_unit } else { 1 };
        let mut progress =
            Progress::new(windows, [filled, unit].map(u64::from), BlockDevice::programmed(self));
        let mut first = first.into_iter();
        // In an open loop the device runs as far as it wants before the next write.
        let depth = (end != End::OpenLoop).then(|| host.pages_at_once());
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
        let mut clock = UntimedCalendar::of::<Self>();
        // With data verification the device counts as filled, whatever it was overwritten with.
        let contents = self.core.base.contents.take();
        self.core.base.space.pause_modes(true);
        let movers = self.writer.has_units().then(|| MigrationPolicies::pause(&mut self.core.base.policies));
        self.stop_clock();
        carry_out(self, next, depth, Duration::ZERO, &mut clock);
        self.flush_all(end, &mut clock);
        self.finish_at(end, &mut clock);
        self.forget_timers();
        movers.into_iter().for_each(|movers| movers.resume_decisions(&mut self.core.base.policies));
        self.core.base.contents = contents;
        self.core.base.space.pause_modes(false);
        self.writer.update_all_groups(&self.core);
        watched.goes_on.then_some(progress.steady)
    }
}

impl Config {
    /// Pages programmed at a time if every plane group is busy.
    fn pages_at_once(&self) -> u32 {
        self.pools.all_groups().map(|row| self.pools.per_program(row)).sum()
    }

    /// Command that overwrites this many logical pages; `None` if no namespace contains the first.
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

/// Pages overwritten between two measurements of write amplification, and the number of measurements.
#[derive(Clone, Copy, Debug)]
struct Windows {
    /// Host pages programmed in a window.
    pages: u64,
    fewest: u32,
    most: u32,
}

/// Progress of the overwrites.
struct Progress {
    windows: Windows,
    /// Programmed pages at the last change, pages taken by the buffer since, and the number of those that
    /// shows that it takes all.
    seen: u64,
    taken: u64,
    enough: u64,
    /// Pages of a command.
    unit: u64,
    /// Programs at the beginning of the current window.
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
    fn goes_on(&mut self, now: Programmed, watched: &mut ProgressReporter<'_>) -> bool {
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
        // A buffer that holds all overwritten pages lets none through to flash.
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

/// Distributes the units to random pools weighted by room. Returns the units of each pool.
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

/// Contents for a plane group.
struct GroupContents<'a> {
    share: Share<'a>,
    /// Logical pages of an item of the share, which are valid together.
    extent: u32,
    /// Pages of an item, in the order of their offsets.
    page_of: &'a dyn Fn(u32, u32) -> Option<LogicalPage>,
}

impl Layer<'_> {
    /// Items statically assigned to each plane group of a pool, in numerical order; `None` under dynamic
    /// allocation.
    fn items_by_group(
        &self,
        rows: &[PlaneGroupId],
        items: impl Iterator<Item = (u32, LogicalPage)>,
    ) -> Option<Vec<Vec<u32>>> {
        let base = &self.core.base;
        if !base.has_homes {
            return None;
        }
        let pool = base.config.pools.number_of_group(rows[0]);
        let mut at_home = vec![Vec::new(); rows.len()];
        for (item, page) in items {
            let home = base.policies.placement.home(page.0, pool)?;
            at_home[(home.0 - rows[0].0) as usize].push(item);
        }
        Some(at_home)
    }

    /// Fills a plane group in the shape of the steady state. The write pointer of its active block is random,
    /// so that the plane groups do not all reach their next GC at once. Returns the number of items placed:
    /// there is no room for the rest.
    fn row(
        &mut self,
        row: PlaneGroupId,
        filling: &GroupContents<'_>,
        (preference, end): (Preference, End),
        random: &mut Stream,
    ) -> u32 {
        let base = &self.core.base;
        let locations = base.config.pools.of_group(row).locations;
        let (per_block, unit) = (locations.per_block(), locations.per_program);
        let kept = base.space.kept(row) + 1;
        let wanted = match end {
            End::Idle | End::OpenLoop => base.space.marks(row)[1].max(kept),
            End::UnderLoad => kept,
        };
        // A plane group with more pages to hold is left with fewer free blocks.
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

    /// Writes the blocks of a plane group, with the items of a share where a mapping unit is valid.
    fn blocks(
        &mut self,
        row: PlaneGroupId,
        GroupContents { share, extent, page_of }: &GroupContents<'_>,
        drawn: &ValidBitmap,
    ) {
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
                self.unit(row, stream, OVERWRITTEN, held.drain(..));
            }
        }
    }
}
