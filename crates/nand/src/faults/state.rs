//! Evaluation of the rules at the end of each command.

use std::collections::BTreeMap;

use wordline_kernel::{Column, Instant, Seed, Stream, state};

use super::levels::{ANY, LayerLevels, Sense};
use super::{Fails, Fault, FaultLocation, NumberRange, Trigger, WearFile};
use crate::Pools;
use crate::geometry::{BlockSetId, DieId, Geometry, PageId, PlaneGroupId};
use crate::layers::Layers;

/// Standard deviations above the mean that bound the factory bad blocks of a plane group. Chosen: one plane
/// group in a billion would exceed the bound. A vendor ships no chip with more bad blocks than its data sheet
/// allows.
const MAX_FACTORY_DEVIATIONS: f64 = 6.0;

/// The location of a command: ranges of planes and of pages in one block number of a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Site {
    pub(crate) die: DieId,
    pub(crate) plane: u32,
    pub(crate) planes: u32,
    pub(crate) block: u32,
    pub(crate) page: u32,
    pub(crate) pages: u32,
    /// Erases of the block so far.
    pub(crate) erases: u32,
}

impl Site {
    /// The location of `planes` planes, from the plane of `page` on, and of `pages` pages of their block.
    pub(crate) fn new(geometry: &Geometry, page: PageId, planes: u32, pages: u32, erases: u32) -> Self {
        let (block, offset) = geometry.split(page);
        let row = (geometry.group_of(block).0 - geometry.first.row) % geometry.groups_per_die;
        Self {
            die: geometry.die_of(block),
            plane: row * geometry.planes_per_row + offset % geometry.planes_per_row,
            planes,
            block: geometry.number_of(block),
            page: geometry.page_in_block(offset),
            pages,
            erases,
        }
    }
}

impl FaultLocation {
    fn matches_site(&self, site: &Site) -> bool {
        let Self { die, plane, block, page } = self;
        die.is_none_or(|numbers| numbers.contains(site.die.0))
            && block.is_none_or(|numbers| numbers.contains(site.block))
            && plane.is_none_or(|numbers| numbers.overlaps(site.plane, site.planes))
            && page.is_none_or(|numbers| numbers.overlaps(site.page, site.pages))
    }

    /// The planes of `site` that match, as a bit mask with the lowest bit for the first.
    fn planes_of(&self, site: &Site) -> u16 {
        let named = |n: &u32| self.plane.is_none_or(|numbers| numbers.contains(site.plane + n));
        (0..site.planes).filter(named).fold(0, |planes, n| planes | 1 << n)
    }
}

/// A rule with its state.
#[derive(Clone, Debug)]
struct Rule {
    fault: Fault,
    random: Stream,
    /// The seed of the streams of layers. Each layer has its own stream, so that its read reference voltages
    /// do not depend on the time of its first read. Devices that read in different orders thus have the same
    /// cells.
    of_layers: Seed,
    /// Matching operations so far.
    count: u64,
}

state!(Rule { values { random, of_layers, count } fixed { fault } });

impl Rule {
    fn new(fault: Fault, random: Stream) -> Self {
        Self { fault, of_layers: Seed(random.clone().bits()), random, count: 0 }
    }

    /// Counts a matching operation. Returns whether the rule fires.
    fn fires(&mut self, erases: u32, now: Instant) -> bool {
        self.count += 1;
        fires(&self.fault.when, self.count, &mut self.random, erases, now)
    }

    /// The set of read reference voltages that a layer needs by this rule. The number of the layer and the
    /// erases of its block select the stream.
    fn level_of(&mut self, layer: u64, erases: u32, now: Instant) -> Option<u8> {
        let levels = self.fault.level?;
        self.count += 1;
        let mut random = self.of_layers.stream("layer", layer | u64::from(erases) << 32);
        fires(&self.fault.when, self.count, &mut random, erases, now)
            .then(|| one_of(levels, &mut random) as u8)
    }
}

/// Whether a rule fires at its operation number `count`.
fn fires(when: &Trigger, count: u64, random: &mut Stream, erases: u32, now: Instant) -> bool {
    match *when {
        Trigger::Chance { probability, wear } => {
            random.unit() < probability * wear.map_or(1.0, |wear| share(wear, erases))
        }
        Trigger::Nth(n) => count == n,
        Trigger::Every(n) => count.is_multiple_of(n),
        Trigger::From(instant) => now >= instant,
    }
}

/// A uniformly drawn number of a range.
fn one_of(range: NumberRange, random: &mut Stream) -> u32 {
    range.least + random.below(u64::from(range.most - range.least) + 1) as u32
}

/// The factor on a rule's probability after `erases`: 0 up to `from`, 1 from `to` on.
fn share(wear: WearFile, erases: u32) -> f64 {
    if erases >= wear.to && erases > wear.from {
        return 1.0;
    }
    f64::from(erases.saturating_sub(wear.from)) / f64::from((wear.to - wear.from).max(1))
}

/// The rules of a device, and the faults that they have caused.
#[derive(Clone, Debug)]
pub struct Faults {
    pools: Pools,
    rules: Vec<Rule>,
    dead: Column<DieId, bool>,
    /// Pages that a sense could not read, and the further senses that they need; `u32::MAX` for never.
    unread: BTreeMap<PageId, u32>,
    /// `None` if no rule sets read reference voltages.
    needs: Option<LayerLevels>,
}

state!(Faults {
    values { dead, unread }
    parts { needs }
    lists { rules }
    fixed { pools }
});

impl Faults {
    /// The `rules` for the chips of `pools`.
    pub fn new(rules: &[Fault], pools: &Pools, seed: Seed) -> Self {
        let rule = |(n, fault): (u64, &Fault)| Rule::new(*fault, seed.stream("nand.faults", n));
        let of_levels = rules.iter().any(Fault::sets_read_levels);
        Self {
            rules: (0..).zip(rules).map(rule).collect(),
            dead: Column::filled(pools.dies() as usize, false),
            unread: BTreeMap::new(),
            needs: of_levels.then(|| LayerLevels::new(Layers::of(pools))),
            pools: pools.clone(),
        }
    }

    /// Factory bad block sets, in the order of plane groups. A block set is bad if the block of one of its
    /// planes is bad. No plane group has more than [`max_factory_bad`].
    pub fn factory_bad(&self) -> Vec<BlockSetId> {
        let rules: Vec<Fault> = self.rules.iter().map(|rule| rule.fault).collect();
        let mut streams: Vec<Stream> = self.rules.iter().map(|rule| rule.random.clone()).collect();
        let mut bad = Vec::new();
        for row in self.pools.all_groups() {
            let geometry = &self.pools.of_group(row).geometry;
            let mut left = max_factory_bad(&rules, geometry, row);
            for block in geometry.blocks_of(row) {
                let mut is_bad = false;
                for (fault, random) in rules.iter().zip(&mut streams).filter(|(f, _)| is_factory_bad(f)) {
                    let planes = matching_planes(fault, geometry, block);
                    let hits = (0..planes).filter(|_| random.unit() < chance(fault)).count();
                    is_bad |= hits > 0;
                }
                if is_bad && left > 0 {
                    left -= 1;
                    bad.push(block);
                }
            }
        }
        bad
    }

    /// Whether `die` has failed.
    pub fn has_failed(&self, die: DieId) -> bool {
        self.dead[die]
    }

    /// Number of failed dies.
    pub fn failed_dies(&self) -> u32 {
        self.dead.iter().filter(|dead| **dead).count() as u32
    }

    /// Counts a command that ends at `now` on `die`. Returns whether the die has failed, before or by this
    /// command.
    pub(crate) fn die_fails(&mut self, die: DieId, now: Instant) -> bool {
        let mut dead = self.dead[die];
        let applies = |fault: &Fault| {
            fault.fails == Fails::Die && fault.place.die.is_none_or(|numbers| numbers.contains(die.0))
        };
        for rule in self.rules.iter_mut().filter(|rule| applies(&rule.fault)) {
            dead |= rule.fires(0, now);
        }
        self.dead[die] = dead;
        dead
    }

    /// The planes in which a program or an erase at `site` fails by any rule, as a bit mask with the lowest
    /// bit for the first plane.
    pub(crate) fn failed_planes_of(&mut self, kind: Fails, site: &Site, now: Instant) -> u16 {
        let mut fails = 0;
        let applies = |fault: &Fault| fault.fails == kind && fault.place.matches_site(site);
        for rule in self.rules.iter_mut().filter(|rule| applies(&rule.fault)) {
            let planes = rule.fault.place.planes_of(site);
            fails |= if rule.fires(site.erases, now) { planes } else { 0 };
        }
        fails
    }

    /// Whether the page sensed at `site` is unreadable, by these rules or `by_cells`. The retries of a rule
    /// count down whatever read reference voltages they use, because no retry returns to the voltages of the
    /// sense that failed.
    pub(crate) fn is_sense_unreadable(
        &mut self,
        (sense, by_cells): (&Sense, bool),
        site: &Site,
        now: Instant,
    ) -> bool {
        if let Some(is_unread) = self.is_still_unread(sense.page) {
            return is_unread;
        }
        (self.is_wrong_level(sense, site, now) | by_cells) || self.becomes_unread(sense.page, site, now)
    }

    /// Whether the layer of the page needs other read reference voltages.
    fn is_wrong_level(&mut self, sense: &Sense, site: &Site, now: Instant) -> bool {
        let Some(needs) = &mut self.needs else { return false };
        let (layer, known) = needs.of(sense);
        let needed = known.unwrap_or_else(|| {
            let rules = self.rules.iter_mut().filter(|rule| rule.fault.place.matches_site(site));
            let level = |rule: &mut Rule| rule.level_of(u64::from(layer.0), site.erases, now);
            let drawn = rules.filter_map(level).max().unwrap_or(ANY);
            needs.set(layer, drawn);
            drawn
        });
        needed != ANY && needed != sense.level
    }

    /// For a page that an earlier sense could not read: whether this one cannot either.
    fn is_still_unread(&mut self, page: PageId) -> Option<bool> {
        let more = self.unread.get_mut(&page)?;
        if *more == u32::MAX {
            return Some(true);
        }
        *more -= 1;
        let is_read = *more == 0;
        if is_read {
            self.unread.remove(&page);
        }
        Some(!is_read)
    }

    /// Whether a rule makes the page unreadable with any voltages, for good or for some senses.
    fn becomes_unread(&mut self, page: PageId, site: &Site, now: Instant) -> bool {
        let mut needed = 0;
        let applies = |fault: &Fault| {
            fault.fails == Fails::Read && !fault.sets_read_levels() && fault.place.matches_site(site)
        };
        for rule in self.rules.iter_mut().filter(|rule| applies(&rule.fault)) {
            if rule.fires(site.erases, now) {
                let more = rule.fault.retries.map_or(u32::MAX, |range| one_of(range, &mut rule.random));
                needed = needed.max(more);
            }
        }
        if needed > 0 {
            self.unread.insert(page, needed);
        }
        needed > 0
    }

    /// Records a copyback of `pages` pages to the pages from `to` on. Its source begins with the page of
    /// `sense`, in a block erased `erases` times. The controller does not correct the data: a page that is
    /// unreadable in this sense is programmed with its errors, which no read reference voltages cure.
    pub(crate) fn copied(&mut self, sense: Sense, to: PageId, pages: u32, erases: u32, now: Instant) {
        for n in 0..pages {
            let page = PageId(sense.page.0 + n);
            let site = Site::new(&self.pools.of_page(page).geometry, page, 1, 1, erases);
            if self.is_sense_unreadable((&Sense { page, ..sense }, false), &site, now) {
                self.unread.insert(PageId(to.0 + n), u32::MAX);
            }
        }
    }

    /// Clears the unreadable pages of an erased block.
    pub(crate) fn erased(&mut self, block: BlockSetId) {
        if let Some(needs) = &mut self.needs {
            needs.erased(block);
        }
        if self.unread.is_empty() {
            return;
        }
        let geometry = &self.pools.of_block(block).geometry;
        let first = geometry.page(block, 0);
        let end = PageId(first.0 + geometry.pages_per_block_set());
        while let Some((page, _)) = self.unread.range(first..end).next() {
            let page = *page;
            self.unread.remove(&page);
        }
    }
}

fn is_factory_bad(fault: &Fault) -> bool {
    fault.fails == Fails::FactoryBad
}

fn chance(fault: &Fault) -> f64 {
    if let Trigger::Chance { probability, .. } = fault.when { probability } else { 0.0 }
}

/// Number of planes of a block set to which the rule applies.
fn matching_planes(fault: &Fault, geometry: &Geometry, block: BlockSetId) -> u32 {
    let site = Site::new(geometry, geometry.page(block, 0), 1, 1, 0);
    (0..geometry.planes_per_row)
        .filter(|n| fault.place.matches_site(&Site { plane: site.plane + n, ..site }))
        .count() as u32
}

/// Upper bound on the factory bad blocks of `row`: the blocks that are certainly bad, and for the other
/// blocks the mean plus six standard deviations.
pub fn max_factory_bad(rules: &[Fault], geometry: &Geometry, row: PlaneGroupId) -> u32 {
    let (mut sure, mut mean, mut variance) = (0, 0.0, 0.0);
    if !rules.iter().any(is_factory_bad) {
        return 0;
    }
    for block in geometry.blocks_of(row) {
        let good = rules.iter().filter(|fault| is_factory_bad(fault)).map(|fault| {
            let planes = matching_planes(fault, geometry, block);
            (0..planes).map(|_| 1.0 - chance(fault)).product::<f64>()
        });
        let good: f64 = good.product();
        if good <= 0.0 {
            sure += 1;
        } else {
            mean += 1.0 - good;
            variance += good * (1.0 - good);
        }
    }
    sure + (mean + MAX_FACTORY_DEVIATIONS * variance.sqrt()).ceil() as u32
}
