//! Steady state of uniform random overwrites of whole pages.
//!
//! The pages are placed as theory predicts (`shape`). Then the device overwrites random pages until its write
//! amplification is stable. The overwriting is short if theory covers the victim policy. Otherwise it takes
//! as long as necessary.

use wordline_device::ageing::{Ages, UntimedCalendar, carry_out};
use wordline_device::block_device::Programmed;
use wordline_device::preconditioning::{ProgressFn, Steady};
use wordline_device::{BlockDevice, Command, Operation, SECTOR};
use wordline_ftl::Ftl;
use wordline_ftl::design::ExtensionPoint;
use wordline_ftl::gc::config::Scope;
use wordline_ftl::map::LogicalPage;
use wordline_ftl::policy::victim::Preference;
use wordline_ftl::pools::FALLBACK_POOL;
use wordline_kernel::{Duration, Instant, Seed, Stream};
use wordline_nand::{DataTag, PlaneGroupId};

use super::in_place::MigrationPolicies;
use super::placing::{Layer, Share};
use super::progress::ProgressReporter;
use super::shape::{Shape, ValidBitmap};
use crate::config::Config;
use crate::device::Device;
use crate::precondition::ageing::End;

/// Window size if theory covers the victim policy: for each plane group, this many blocks of pages are
/// overwritten between two measurements of write amplification. Chosen: a plane group reaches its next GC
/// after one block, or after two if by chance it gets fewer pages.
const BLOCKS_A_WINDOW: u64 = 2;

/// Measurements in each drive write, if theory does not cover the victim policy. Chosen: in a fiftieth of a
/// drive write even a small device relocates thousands of pages.
const WINDOWS_PER_DRIVE: u64 = 50;

/// Windows after which overwriting ends, even if the write amplification still changes. Chosen: two drive
/// writes, as the initial state is already close.
const MOST_WINDOWS: u32 = 2 * WINDOWS_PER_DRIVE as u32;

/// Windows before which overwriting does not end. Chosen: one pair of windows may agree by chance.
const FEWEST_WINDOWS: u32 = 3;

/// Relative change of the write amplification between windows below which it is stable. Chosen.
const STEADY_WITHIN: f64 = 0.01;

/// Pages overwritten for each replacement block in each of two windows, with block-level mapping. Chosen: one
/// page would be enough if no two writes went to the same logical block.
const WRITES_A_REPLACEMENT: u64 = 8;

/// Number of items by which random lookups are prefetched. Chosen: they take as long as a memory access.
const AHEAD: u32 = 8;

/// Data tag of a page that was overwritten long ago. Host writes have versions from 1 on.
const OVERWRITTEN: DataTag = DataTag { logical: 0, version: 0 };

impl Device {
    /// Fills the device and brings it to the steady state of uniform random overwrites of whole pages.
    ///
    /// The pages are placed as in that state (`precondition/shape.rs`). Then random pages are overwritten
    /// until the write amplification of successive windows is stable.
    ///
    /// The final state is under full load, after a flush of the write buffer: with the free blocks that GC
    /// maintains under full load, and with victims partly collected. In two cases it is the state after an
    /// idle time instead:
    ///
    /// * Part of the L2P map is in flash.
    /// * The device has several pools. Each is filled to the same fraction, and units are overwritten in
    ///   their pool, because the size of host writes would decide where else they go.
    ///
    /// With block-level mapping the device is filled once, and only the replacement blocks are renewed a few
    /// times. The final state is the state after an idle time.
    pub fn fill_steady(&mut self, seed: Seed) -> Steady {
        self.fill_steady_while(seed, &mut |_| true).expect("nobody stopped it")
    }

    /// Like [`fill_steady`](Self::fill_steady), and reports progress to `look`. `None` if `look` stopped it.
    pub fn fill_steady_while(&mut self, seed: Seed, look: ProgressFn<'_>) -> Option<Steady> {
        let rests = self.core.ftl.map_cache.translation().is_some() || self.writer.has_units();
        let end = if rests { End::Idle } else { End::UnderLoad };
        self.reach_steady(seed, self.core.ftl.config.logical_pages, end, look)
    }

    /// Fills only the first `fraction` of the logical pages and brings them to the steady state, for an
    /// open-loop workload. No GC is due, and no more blocks are free than the goal of GC, even if few pages
    /// are valid. The write buffer has its usual occupancy. All GC of a short run is then caused by the run
    /// itself.
    pub fn fill_steady_to(&mut self, seed: Seed, fraction: f64) -> Steady {
        self.fill_steady_to_while(seed, fraction, &mut |_| true).expect("nobody stopped it")
    }

    /// Like [`fill_steady_to`](Self::fill_steady_to), and reports progress to `look`. `None` if `look`
    /// stopped it.
    pub fn fill_steady_to_while(
        &mut self,
        seed: Seed,
        fraction: f64,
        look: ProgressFn<'_>,
    ) -> Option<Steady> {
        self.reach_steady(seed, self.pages_in(fraction).max(1), End::OpenLoop, look)
    }

    fn reach_steady(&mut self, seed: Seed, filled: u32, end: End, look: ProgressFn<'_>) -> Option<Steady> {
        self.core.ftl.blocks.pause_events(true);
        let steady = self.go_to_steady(seed, filled, end, look);
        self.core.ftl.blocks.pause_events(false);
        steady
    }

    fn go_to_steady(&mut self, seed: Seed, filled: u32, end: End, look: ProgressFn<'_>) -> Option<Steady> {
        let mut random = seed.stream("ssd.precondition", 0);
        let watched = &mut ProgressReporter::by(look);
        if let Some(block) = &self.core.ftl.config.file.ftl.mapping.block {
            let rows = u64::from(self.core.ftl.config.pools.rows());
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

    /// Kind of victim, if theory covers the victim policy. Greedy selection of superblocks is treated as
    /// FIFO. The blocks of a superblock have the same age, and there are enough of them to average out random
    /// differences.
    fn preference(&self) -> Option<Preference> {
        let Ftl { config, policies, .. } = &self.core.ftl;
        let is_super = config.file.ftl.gc.scope == Scope::SuperBlock && config.pools.rows() > 1;
        let is_asked = !policies.designs.decides(ExtensionPoint::Victim);
        let of_policy = self.core.ftl.gc.preference().filter(|_| is_asked);
        of_policy.map(|it| if is_super && it == Preference::Fewest { Preference::Oldest } else { it })
    }

    /// Size and number of the windows. A window in which fewer blocks are opened than there are plane groups
    /// could pass without GC.
    fn windows(&self, filled: u32) -> Windows {
        let pools = &self.core.ftl.config.pools;
        let round: u64 = pools.all_groups().map(|row| u64::from(pools.per_block_of(row))).sum();
        let part = if self.preference().is_some() { 0 } else { u64::from(filled) / WINDOWS_PER_DRIVE };
        Windows { pages: part.max(BLOCKS_A_WINDOW * round), fewest: FEWEST_WINDOWS, most: MOST_WINDOWS }
    }

    /// Places the first `pages` logical pages. Returns the pages that did not fit; `None` if stopped.
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
        let rows = layer.core.ftl.config.pools.rows();
        layer.core.ftl.blocks.set_waiting_for_groups(true);
        let is_periodic = layer.core.ftl.policies.placement.is_periodic();
        let groups: Vec<PlaneGroupId> = (0..rows).map(PlaneGroupId).collect();
        let at_home = match is_periodic {
            true => None,
            false => layer.items_by_group(&groups, (0..pages).map(|page| (page, LogicalPage(page)))),
        };
        for row in groups {
            let placement = &layer.core.ftl.policies.placement;
            let home =
                || (0..rows).find(|page| placement.home(*page, FALLBACK_POOL) == Some(row)).unwrap_or(row.0);
            let share = match &at_home {
                Some(pages) => Share::of(&pages[row.0 as usize]),
                None => Share::new(home(), rows, pages),
            };
            let filling = GroupContents { share, extent: 1, page_of: &|page, _| Some(LogicalPage(page)) };
            let laid = layer.row(row, &filling, (preference, end), random);
            left.extend((laid..share.count).map(|n| LogicalPage(share.item(n))));
            watched.wrote(u64::from(laid)).then_some(())?;
        }
        layer.core.ftl.blocks.set_waiting_for_groups(false);
        layer.tables(pages, watched);
        layer.finish();
        watched.goes_on.then_some(left)
    }

    /// Places the first `pages` logical pages in a device with several pools. Each unit goes to a random
    /// pool, weighted by capacity. Returns the pages that did not fit; `None` if stopped.
    fn lay_pools(
        &mut self,
        pages: u32,
        random: &mut Stream,
        watched: &mut ProgressReporter<'_>,
    ) -> Option<Vec<LogicalPage>> {
        let preference = self.preference().unwrap_or(Preference::Fewest);
        let per_unit = self.writer.subs().per_unit;
        let units = draw_pools(pages.div_ceil(per_unit), per_unit, &self.core.ftl.health.room, random);
        let mut left = Vec::new();
        let mut layer = Layer::of(&mut self.core, &mut self.writer);
        for (pool, units) in units.iter().enumerate() {
            let pools = &layer.core.ftl.config.pools;
            let rows: Vec<PlaneGroupId> =
                pools.all_groups().filter(|row| pools.number_of_group(*row) == pool).collect();
            let extent =
                if layer.core.ftl.blocks.pool_of(rows[0]).is_coarsely_mapped() { per_unit } else { 1 };
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

    /// Overwrites the pages `first`, then random pages below `filled`, until the write amplification is
    /// stable. `None` if stopped.
    fn overwrite(
        &mut self,
        (filled, windows): (u32, Windows),
        first: Vec<LogicalPage>,
        end: End,
        mut random: Stream,
        watched: &mut ProgressReporter<'_>,
    ) -> Option<Steady> {
        watched.overwrites(first.len() as u64 + u64::from(windows.fewest) * windows.pages);
        let host = self.core.config.clone();
        let unit = if self.writer.has_units() { self.writer.subs().per_unit } else { 1 };
        let mut progress =
            Progress::new(windows, [filled, unit].map(u64::from), BlockDevice::programmed(self));
        let mut first = first.into_iter();
        // In an open loop GC reaches its goals before the next write.
        let depth = (end != End::OpenLoop).then(|| pages_at_once(&host));
        let next = &mut |programmed| {
            let command = first.by_ref().find_map(|page| overwriting(&host, page, 1)).or_else(|| {
                let drawn = || {
                    let page = random.below(filled.into()) as u32;
                    let first = page - page % unit;
                    overwriting(&host, LogicalPage(first), unit.min(filled - first))
                };
                progress
                    .goes_on(programmed, watched)
                    .then(|| std::iter::repeat_with(drawn).flatten().next())?
            });
            watched.wrote(unit.into()).then_some((Instant::ZERO, command?))
        };
        let mut clock = UntimedCalendar::of::<Self>();
        // With data verification the pages keep their contents of the fill, so the overwrites are not
        // recorded.
        let contents = self.core.ftl.contents.take();
        self.core.ftl.blocks.pause_modes(true);
        let movers = self.writer.has_units().then(|| MigrationPolicies::pause(&mut self.core.ftl.policies));
        self.stop_clock();
        carry_out(self, next, depth, Duration::ZERO, &mut clock);
        end.reach(self, &mut clock);
        movers.into_iter().for_each(|movers| movers.resume_decisions(&mut self.core.ftl.policies));
        self.core.ftl.contents = contents;
        self.core.ftl.blocks.pause_modes(false);
        self.writer.update_all_groups(&self.core);
        watched.goes_on.then_some(progress.steady)
    }
}

/// Pages that all plane groups of a device together program at a time.
fn pages_at_once(config: &Config) -> u32 {
    config.ftl.pools.all_groups().map(|row| config.ftl.pools.per_program(row)).sum()
}

/// Command that overwrites `pages` logical pages from `page` on; `None` if `page` is in no namespace.
fn overwriting(config: &Config, page: LogicalPage, pages: u32) -> Option<Command> {
    let per_page = config.ftl.unit.0 / SECTOR.0;
    let first = u64::from(page.0) * per_page;
    let mut namespaces = config.namespaces.iter().zip(0..);
    let (of, namespace) = namespaces.find(|(of, _)| (of.base..of.base + of.sectors).contains(&first))?;
    let sector = first - of.base;
    let sectors = (per_page * u64::from(pages)).min(of.sectors - sector);
    Some(Command { operation: Operation::Write, sector, sectors, namespace, ..Command::default() })
}

/// Windows between measurements of write amplification.
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
    /// Detects a buffer that absorbs all writes. `seen` is the last number of programmed host pages, `taken`
    /// the pages written since it changed, and `enough` the value of `taken` at which overwriting stops.
    seen: u64,
    taken: u64,
    enough: u64,
    /// Pages in a command.
    unit: u64,
    /// Programmed pages at the start of the current window.
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

    /// Whether to overwrite one more page.
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
        // If the write buffer has space for all overwritten pages, none are programmed.
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

/// Assigns each unit to a random pool, weighted by capacity. Returns the units of each pool.
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

/// Contents of a plane group.
struct GroupContents<'a> {
    share: Share<'a>,
    /// Logical pages in an item of the share. They are valid together.
    extent: u32,
    /// Page of an item at an offset.
    page_of: &'a dyn Fn(u32, u32) -> Option<LogicalPage>,
}

impl Layer<'_> {
    /// Items assigned to each plane group of a pool under static allocation, in ascending order. `None` under
    /// dynamic allocation.
    fn items_by_group(
        &self,
        rows: &[PlaneGroupId],
        items: impl Iterator<Item = (u32, LogicalPage)>,
    ) -> Option<Vec<Vec<u32>>> {
        let Ftl { config, policies, .. } = &self.core.ftl;
        if !policies.placement.has_homes() {
            return None;
        }
        let pool = config.pools.number_of_group(rows[0]);
        let mut at_home = vec![Vec::new(); rows.len()];
        for (item, page) in items {
            let home = policies.placement.home(page.0, pool)?;
            at_home[(home.0 - rows[0].0) as usize].push(item);
        }
        Some(at_home)
    }

    /// Fills a plane group with the valid pages of the steady state. The write pointer of its active block is
    /// random, so that the plane groups do not reach their next GC all at once. Returns the number of items
    /// placed; the others did not fit.
    fn row(
        &mut self,
        row: PlaneGroupId,
        filling: &GroupContents<'_>,
        (preference, end): (Preference, End),
        random: &mut Stream,
    ) -> u32 {
        let Ftl { config, blocks, .. } = &self.core.ftl;
        let locations = config.pools.of_group(row).locations;
        let (per_block, unit) = (locations.per_block(), locations.per_program);
        let kept = blocks.space().kept(row) + 1;
        let wanted = match end {
            End::Idle | End::OpenLoop => blocks.space().marks(row)[1].max(kept),
            End::UnderLoad => kept,
        };
        // A plane group that has to store more pages gets fewer free blocks.
        let needed =
            (u64::from(filling.share.count) * u64::from(filling.extent)).div_ceil(per_block.into()) + 1;
        let free = blocks.space().free(row);
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

    /// Places the blocks of a plane group. Each valid mapping unit in `drawn` gets the next item of the
    /// share.
    fn blocks(
        &mut self,
        row: PlaneGroupId,
        GroupContents { share, extent, page_of }: &GroupContents<'_>,
        drawn: &ValidBitmap,
    ) {
        let (unit, stream) = (self.core.ftl.config.pools.per_program(row), self.stream_to(row));
        let mut items = 0..share.count;
        let mut held = Vec::with_capacity(unit as usize);
        for block in 0..drawn.blocks() {
            for first in (0..drawn.written(block)).step_by((unit / extent) as usize) {
                for n in first..first + unit / extent {
                    let item = if drawn.is_valid(block, n) { items.next() } else { None };
                    if let Some(later) = item.filter(|n| n + AHEAD < share.count) {
                        page_of(share.item(later + AHEAD), 0)
                            .inspect(|page| self.core.ftl.map.prefetch(*page));
                    }
                    held.extend((0..*extent).map(|n| page_of(share.item(item?), n)));
                }
                self.unit(row, stream, OVERWRITTEN, held.drain(..));
            }
        }
    }
}
