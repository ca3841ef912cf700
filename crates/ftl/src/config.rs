//! Configuration of chips and FTL, and the check that turns a [`BackEndFile`] into a [`Config`].

mod block_map;
mod chips;
mod file;
mod map;
mod pools;
mod ranges;
mod recovery;
mod sizes;
mod spare;
mod streams;

use wordline_flash::Setup;
use wordline_kernel::{Bytes, Complaints, Duration};
use wordline_nand::faults::{FaultFile, max_factory_bad};
use wordline_nand::geometry::Layout;
use wordline_nand::part::PartFile;
use wordline_nand::{CellMode, Fault, Geometry, Locations, Part, Pool, Pools};

pub use crate::blocks::mlc::TwoBitFile;
pub use crate::blocks::slc_cache::SlcCacheFile;
pub use crate::blocks::wear::WearFile;
use crate::blocks::{ModeShare, ModeStreams, Streams};
pub use crate::gc::config::{FreeSpace, GcFile, Scope};
pub use crate::map::config::MappingFile;
use crate::policy::background::BackgroundKind;
use crate::policy::balancer::BalancerKind;
use crate::policy::mapper::CacheSize;
use crate::policy::placement::PlacementKind;
use crate::policy::router::RouterKind;
use crate::pools::{FALLBACK_POOL, Shares};
pub use file::{BackEndFile, Config, FtlFile};
pub(crate) use map::{discard_entry, discard_table_pages};
pub use recovery::{DiscardsAtCut, LowerPages, RecoveryFile};

impl BackEndFile {
    /// A back end of these chips, with defaults for all other keys.
    pub fn new(part: PartFile, layout: Layout) -> Self {
        Self {
            capacity: None,
            memory: None,
            keeps_memory: false,
            part,
            layout,
            pools: Vec::new(),
            ftl: FtlFile::default(),
            faults: Vec::new(),
            demands: None,
        }
    }

    /// Checks the configuration.
    ///
    /// # Errors
    /// All complaints, with the keys of the device's file.
    pub fn check(self) -> Result<Config, Complaints> {
        let mut wrong = Complaints::default();
        let config = self.check_beside(&mut wrong);
        wrong.into_result(()).map(|()| config.expect("chips that cannot be made are complained about"))
    }

    /// Checks the configuration. All complaints go to `wrong`. The result is sound only if there are none; it
    /// is `None` if the chips cannot be made.
    pub fn check_beside(mut self, wrong: &mut Complaints) -> Option<Config> {
        if let Some(geometry) = self.part.clone().check().ok().and_then(|part| self.layout.check(&part).ok())
        {
            self.set_blocks(&geometry, wrong);
            self.set_map_cache(&geometry);
        }
        let part = self.part.clone().check().map_err(|inner| wrong.nest("part", inner)).ok();
        let geometry = part
            .as_ref()
            .and_then(|part| self.layout.check(part).map_err(|inner| wrong.nest("layout", inner)).ok());
        self.check_ftl(wrong);
        self.check_reads(wrong);
        let (part, geometry) = (part?, geometry?);
        let locations = self.check_unit(&geometry, wrong)?;
        let unit = locations.size;
        let pools = Pools::one(Pool { part, geometry, locations });
        block_map::check_pools(&self, wrong);
        let pools = pools::add(&self.pools, pools, unit, wrong)?;
        pools::check(&self, &pools, unit, wrong);
        let Pool { part, geometry, locations } = pools.first();
        self.ftl.gc.check_chips(geometry, wrong);
        self.ftl.mapping.check(locations, wrong);
        block_map::check(&self, locations, wrong);
        if let Some((key, found, wanted)) = self.ftl.frontier.complaint(part, geometry) {
            wrong.add(format!("ftl.frontier.{key}"), found, wanted);
        }
        let active = self.streams().active_blocks();
        let free = self.ftl.gc.start_below_free_blocks;
        if let Some(cache) = &mut self.ftl.slc_cache {
            cache.set_share(part, geometry, [active, free], wrong);
            cache.check("ftl.slc_cache", part, locations, geometry, wrong);
        }
        if let Some(two_bit) = &self.ftl.two_bit {
            two_bit.check("ftl.two_bit", self.again(), pools.first(), wrong);
        }
        let faults = self.check_faults(&pools, wrong);
        let logical_pages = self.logical_pages(&pools, unit, &faults, wrong);
        Some(Config { file: self, pools, unit, logical_pages, faults })
    }

    fn check_ftl(&self, wrong: &mut Complaints) {
        map::check_recovery(self, wrong);
        let ftl = &self.ftl;
        for (key, fraction, end) in [
            ("ftl.over_provisioning", ftl.over_provisioning, 1.0),
            ("ftl.factory_bad_blocks", ftl.factory_bad_blocks, 0.5),
        ] {
            let wanted = format!("a fraction from 0 to below {end}");
            wrong.require((0.0..end).contains(&fraction), key, fraction, wanted);
        }
        for (key, streams) in [
            ("ftl.router.streams", ftl.router.streams()),
            ("ftl.gc.relocator.streams", ftl.gc.relocator.streams()),
        ] {
            wrong.require((1..=16).contains(&streams), key, streams, "from 1 to 16");
        }
        if let Some((found, wanted)) = ftl.placement.complaint() {
            wrong.add("ftl.placement.order", found, wanted);
        }
        let wants_cache =
            self.uses_slc_cache() || matches!(ftl.gc.background, BackgroundKind::IdleFold { .. });
        wrong.require(
            ftl.slc_cache.is_some() || !wants_cache,
            "ftl.slc_cache",
            "nothing",
            "the SLC cache that ftl.router, ftl.gc.background or a stream of a design uses",
        );
        self.check_two_bit(wrong);
        if let Some((found, wanted)) = ftl.balancer.complaint() {
            wrong.add("ftl.balancer.least", found, wanted);
        }
        self.check_channels(wrong);
        let has_nothing_to_do = matches!(ftl.balancer, BalancerKind::Stealing { .. })
            && ftl.placement == PlacementKind::Dynamic {};
        wrong.require(
            !has_nothing_to_do,
            "ftl.balancer.policy",
            "stealing",
            "none: with ftl.placement dynamic no page is statically allocated to a plane group",
        );
        if let Some((found, wanted)) = ftl.router.complaint() {
            wrong.add("ftl.router.window", found, wanted);
        }
        if let Some((key, found, wanted)) = ftl.failure.complaint() {
            wrong.add(format!("ftl.failure.{key}"), found, wanted);
        }
        let time = ftl.read_retry.time;
        wrong.require(time <= Duration::from_ms(1_000), "ftl.read_retry.time", time, "at most 1s");
        ftl.gc.check(self.streams(), wrong);
        let (stop, least) = (ftl.gc.stop_at_free_blocks, self.min_stop_watermark(1));
        wrong.require(
            stop >= least || stop < ftl.gc.start_below_free_blocks,
            "ftl.gc.stop_at_free_blocks",
            stop,
            format!("at least {least}: GC opens blocks in another mode only while more are free than those kept for it"),
        );
        ftl.wear.check(wrong);
        ftl.scheduling.check("ftl.scheduling", wrong);
    }

    fn check_faults(&self, pools: &Pools, wrong: &mut Complaints) -> Vec<Fault> {
        let check = |(n, rule): (usize, &FaultFile)| {
            rule.check_pools(pools).map_err(|inner| wrong.nest(&format!("faults[{n}]"), inner)).ok()
        };
        self.faults.iter().enumerate().filter_map(check).collect()
    }

    /// Whether the router, a design that replaces it, or GC has a stream for blocks in SLC mode.
    pub fn uses_slc_cache(&self) -> bool {
        let of_router = matches!(self.ftl.router, RouterKind::SlcCache { .. });
        self.demands.map_or(of_router, |_| self.writes_in(0, CellMode::Slc))
    }

    /// Packages on a channel of each pool.
    pub fn packages(&self) -> Vec<u32> {
        let layouts = std::iter::once(&self.layout).chain(self.pools.iter().map(|pool| &pool.layout));
        layouts.map(|layout| layout.packages_per_channel).collect()
    }

    /// SLC-mode blocks of a pool.
    pub fn slc_cache_of(&self, pool: usize) -> Option<SlcCacheFile> {
        pool.checked_sub(1).map_or(self.ftl.slc_cache, |n| self.pools[n].slc_cache)
    }

    /// Blocks of each plane group of a pool that are reserved for non-native modes.
    fn blocks_for_modes(&self, pool: usize) -> u32 {
        let slc = self.slc_cache_of(pool).map_or(0, |cache| cache.blocks);
        slc.saturating_add(self.two_bit_of(pool).map_or(0, |two_bit| two_bit.blocks))
    }

    /// Whether any pool has blocks for streams in non-native modes.
    pub fn has_modes(&self) -> bool {
        self.has_slc_cache() || (0..=self.pools.len()).any(|pool| self.two_bit_of(pool).is_some())
    }

    /// Whether any pool has blocks for streams in SLC mode.
    pub fn has_slc_cache(&self) -> bool {
        (0..=self.pools.len()).any(|pool| self.slc_cache_of(pool).is_some())
    }

    /// Write streams of a plane group. `host` and `gc` each get the `streams_of_map` in addition.
    pub fn streams_beside(&self, host: u8, gc: u8) -> Streams {
        let of_map = self.streams_of_map();
        Streams { host: host.saturating_add(of_map), gc: gc.saturating_add(of_map), ..Streams::ONE_EACH }
    }

    /// Additional streams for table pages, for the host and for GC each: 1 if translation pages are in flash,
    /// or if discard records need native blocks or the pool of tables. Otherwise 0.
    fn streams_of_map(&self) -> u8 {
        let kept = self.ftl.recovery.discards == DiscardsAtCut::Kept;
        let written = kept && !self.keeps_memory;
        let apart = kept && self.has_modes() || written && !self.pools.is_empty();
        u8::from(self.ftl.mapping.cache.is_some() || apart)
    }

    /// Logical pages visible to the host. Each plane group must also have space for its working blocks.
    fn logical_pages(&self, pools: &Pools, unit: Bytes, faults: &[Fault], wrong: &mut Complaints) -> u32 {
        let all = spare::counted(self.ftl.reserved_blocks, pools, wrong);
        let logical = self.pages_of(all, unit);
        // GC needs one block in addition to the active blocks.
        let streams = self.streams();
        let at_work = Streams { suspended: 0, ..streams }.active_blocks() + 1;
        let working_beside =
            |free: u32| at_work.max(free.saturating_add(2)).saturating_add(streams.suspended);
        let working = working_beside(self.ftl.gc.max_free_blocks(None, None))
            .saturating_add(self.blocks_for_modes(FALLBACK_POOL));
        let bad_of = |geometry: &Geometry| {
            let bad = (f64::from(geometry.blocks_per_plane) * self.ftl.factory_bad_blocks).ceil() as u32;
            let by_rule = geometry.all_groups().map(|row| max_factory_bad(faults, geometry, row));
            bad + by_rule.max().unwrap_or(0)
        };
        let usable = |pool: &Pool, working: u32| {
            let kept = working.saturating_add(bad_of(&pool.geometry));
            let blocks = pool.geometry.blocks_per_plane.saturating_sub(kept);
            u64::from(blocks * pool.locations.per_block()) * u64::from(pool.geometry.rows())
        };
        // The first of several pools must have space for all pages, the last for translation pages.
        let most: u64 = usable(pools.first(), working);
        let geometry = &pools.first().geometry;
        let of = (&self.layout, self.ftl.mapping.block.is_none());
        ranges::check(&self.ftl.placement, of, pools, (unit, logical), most, wrong);
        let bad = bad_of(geometry);
        let of_map = self.ftl.mapping.translation_pages(unit, logical);
        let mut tables = of_map + map::discard_pages(self, pools, unit, logical);
        if self.ftl.mapping.block.is_some() && tables > 0 {
            // Table pages have logical blocks of their own, after the host's last one, which may be partial.
            let per_block = pools.first().locations.per_block();
            tables = (tables.div_ceil(per_block) + 1) * per_block;
        }
        let shares = Shares::of(pools, logical, tables);
        for (n, own) in self.pools.iter().enumerate() {
            let kept = self.ftl.gc.max_free_blocks(own.start_below_free_blocks, own.stop_at_free_blocks);
            let working = working_beside(kept).saturating_add(self.blocks_for_modes(n + 1));
            shares.check(n, usable(pools.get(n + 1), working), wrong);
        }
        let (all_here, tables) = (shares.in_pool(FALLBACK_POOL), shares.tables_in(FALLBACK_POOL));
        // Number of logical pages that fill the space together with their translation pages.
        let seen = most as f64 * f64::from(logical) / (all_here as f64).max(1.0);
        let least = 1.0 - seen / all;
        wrong.require(
            !(0.0..1.0).contains(&self.ftl.over_provisioning) || logical > 0 && all_here <= most,
            "ftl.over_provisioning",
            self.ftl.over_provisioning,
            format!(
                "{}: of {} blocks in a plane group{}, {working} are active or reserved{} and {bad} may be \
                 bad{}",
                spare::enough(least, all, logical),
                geometry.blocks_per_plane,
                if pools.count() > 1 {
                    " of the first pool, which takes data that other pools have no space for"
                } else {
                    ""
                },
                match streams.suspended {
                    0 => String::new(),
                    suspended =>
                        format!(" or suspended, {suspended} of them suspended by designs at the most"),
                },
                if tables > 0 { format!(", and {tables} table pages need space") } else { String::new() }
            ),
        );
        logical
    }
}

impl Config {
    /// Part of the first pool. Most devices have only this pool.
    pub fn part(&self) -> &Part {
        &self.pools.first().part
    }

    /// Dies and channels of the first pool.
    pub fn geometry(&self) -> &Geometry {
        &self.pools.first().geometry
    }

    /// Locations of the first pool.
    pub fn locations(&self) -> &Locations {
        &self.pools.first().locations
    }

    /// Logical pages of a sub-request, which leaves the buffer as a whole in a device with several pools.
    pub fn pages_per_sub_request(&self) -> u32 {
        let pages = |bytes: Bytes| (bytes.0 / self.unit.0) as u32;
        self.file.ftl.mapping.sub_request.map_or(self.pools.first().locations.per_program, pages)
    }

    /// Pool with coarse-grained mapping by program units, if there is one.
    pub fn pool_of_whole_units(&self) -> Option<usize> {
        self.file.ftl.mapping.whole_units.then_some(0)
    }

    /// GC watermarks of a pool, in free blocks of a plane group: where GC starts, and where it stops.
    pub fn gc_watermarks(&self, pool: usize) -> [u32; 2] {
        let gc = &self.file.ftl.gc;
        let own = pool.checked_sub(1).map(|n| &self.file.pools[n]);
        let start = own.and_then(|own| own.start_below_free_blocks).unwrap_or(gc.start_below_free_blocks);
        let stop = own.and_then(|own| own.stop_at_free_blocks).unwrap_or(gc.stop_at_free_blocks);
        [start, if own.is_some() { stop.max(start) } else { stop }]
    }

    /// Mapping units of the first pool if it has coarse-grained mapping; `None` if it is mapped by page.
    pub fn mapped_units(&self) -> Option<u32> {
        let units = || self.logical_pages.div_ceil(self.pages_per_sub_request());
        self.file.ftl.mapping.whole_units.then(units)
    }

    /// The part of the configuration that the flash uses.
    pub fn flash(&self) -> Setup<'_> {
        Setup {
            pools: &self.pools,
            faults: &self.faults,
            read_retry: &self.file.ftl.read_retry,
            scheduling: &self.file.ftl.scheduling,
            backs_up_lower_pages: self.backs_up_lower_pages(),
        }
    }

    /// Whether the lower pages of a word line survive a power cut while its upper pages are programmed.
    pub fn backs_up_lower_pages(&self) -> bool {
        self.file.ftl.recovery.lower_pages == LowerPages::BackedUp
    }

    /// Bytes visible to the host.
    pub fn capacity(&self) -> Bytes {
        self.unit * u64::from(self.logical_pages)
    }

    /// Translation pages of a map in flash; 0 if the map is in memory.
    pub fn translation_pages(&self) -> u32 {
        self.file.ftl.mapping.translation_pages(self.unit, self.logical_pages)
    }

    /// Pages without host data: translation pages, discard records, and checkpoint records of translation
    /// pages.
    pub fn table_pages(&self) -> u32 {
        self.translation_pages() + self.discard_pages()
    }

    /// Numbers of logical pages for which each pool must have space.
    pub fn shares(&self) -> Shares {
        Shares::of(&self.pools, self.logical_pages, self.table_pages())
    }

    /// DRAM for the map. For a map in flash: the cache, and the locations of translation pages. With
    /// block-level mapping: the locations of logical blocks. If the first pool is mapped by units, their
    /// locations are added.
    pub fn map_memory(&self) -> Bytes {
        let mapping = &self.file.ftl.mapping;
        match mapping.block {
            Some(block) => block.memory(mapping.entry, self.logical_blocks(), self.pools.rows()),
            None => mapping.memory(self.unit, self.logical_pages, self.mapped_units().unwrap_or(0)),
        }
    }

    /// Size of the cached mapping table; `None` if the whole map is in memory.
    pub fn map_cache(&self) -> Option<CacheSize> {
        self.file.ftl.mapping.cache_size(self.unit, self.logical_pages)
    }

    /// Blocks of a pool that may be in a mode, for these streams; `None` if there are none.
    fn mode_share(&self, pool: usize, mode: CellMode, streams: ModeStreams) -> Option<ModeShare> {
        let (blocks, spare) = match mode {
            CellMode::Slc => self.file.slc_cache_of(pool).map(|cache| (cache.blocks, Some(cache.spare))),
            _ => self.file.two_bit_of(pool).map(|two_bit| (two_bit.blocks, two_bit.spare)),
        }
        .filter(|_| !streams.are_none())?;
        let Pool { geometry, locations, .. } = self.pools.get(pool);
        let (bits, page) = (geometry.bits_per_cell(), locations.of_adjacent_pages(geometry.planes_per_row));
        Some(ModeShare {
            mode,
            streams,
            unit: page * mode.bits(bits),
            cost: page * bits,
            blocks,
            spare,
            spare_above: self.gc_watermarks(pool)[0] as usize,
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::pools::PoolFile;

    include!("../tests/common/small.rs");

    #[test]
    fn a_device_without_spare_blocks_is_refused() {
        let mut file = small();
        file.ftl.over_provisioning = 0.1;
        let wrong = file.check().expect_err("24 blocks cannot spare 5");
        assert_eq!(wrong.0[0].key, "ftl.over_provisioning");
        assert!(wrong.0[0].wanted.starts_with("at least 0.2084"), "{wrong}");
    }

    #[test]
    fn copyback_is_refused_where_word_lines_are_programmed_at_once() {
        let mut file = small();
        file.ftl.gc.copyback = true;
        assert!(file.clone().check().is_ok());
        (file.part.geometry.bits_per_cell, file.part.geometry.one_shot) = (2, true);
        let wrong = file.check().expect_err("a copyback moves a page of each plane");
        assert_eq!(wrong.0[0].key, "ftl.gc.copyback");
    }

    #[test]
    fn planes_that_read_by_themselves_are_refused_in_every_pool() {
        let mut file = small();
        file.part.geometry.independent_reads = true;
        let wrong = file.clone().check().expect_err("no controller uses them");
        assert_eq!(wrong.0[0].key, "part.geometry.independent_reads");
        file.pools.push(PoolFile::new(file.part.clone(), file.layout));
        file.part.geometry.independent_reads = false;
        let wrong = file.check().expect_err("no controller uses them");
        assert_eq!(wrong.0[0].key, "pools[0].part.geometry.independent_reads");
    }

    #[test]
    fn more_blocks_than_there_are_cannot_be_kept_free() {
        let mut file = small();
        file.ftl.gc.stop_at_free_blocks = u32::MAX;
        let wrong = file.check().expect_err("a row has 24");
        assert_eq!(wrong.0[0].key, "ftl.gc.stop_at_free_blocks");
    }
}
