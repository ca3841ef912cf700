//! Power-loss recovery. A power loss leaves only the contents of the flash; the L2P map and the block table
//! are rebuilt from the data tags of its pages.
//!
//! Each data tag has a logical page and its version. The newest version is valid; GC may leave two copies of
//! one version, and then either can be used. Open blocks are programmed further, after interrupted programs.

mod scan;

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use wordline_device::Recovered;
use wordline_flash::Ticket;
use wordline_kernel::{Instant, state};
use wordline_nand::{
    BlockSetId, CellMode, CutLosses, DataTag, DieId, InFlightFate, Location, Operation, PlaneGroupId, Pool,
};

use crate::contents::InjectedFault;
use crate::design::{DesignContext, DeviceEvent, EventMask};
use crate::engines::Ftl;
use crate::map::LogicalPage;

pub(crate) use scan::Scan;

/// Power-loss recovery of a device.
#[derive(Default)]
pub struct Recovery {
    /// Scan in progress, from the power loss until all pages are scanned. `last` is the result of the last
    /// scan.
    scan: Option<Scan>,
    last: Option<Recovered>,
}

state!(Recovery { values { scan, last } });

/// Versions of logical pages.
type Versions = BTreeMap<LogicalPage, u32>;

/// Pages of a program unit that was queued for the host or for tables.
#[derive(Clone, Copy, Debug)]
pub struct PageCounts {
    /// Host pages.
    pub host: u64,
    /// Pages that are programmed only because other pages of their unit are.
    pub carried: u64,
    /// All data pages.
    pub data: u64,
}

/// Results of rebuilding the map of the flash.
pub struct Found {
    /// Pages that lost a write. Includes pages of a buffer that survived.
    pub lost: u64,
    /// Discarded pages that returned.
    pub returned: u64,
    /// Locations of all pages before the recovery; empty without translation pages.
    places: Vec<Option<Location>>,
    /// Pages whose latest version is in an invalid program unit, and the blocks that prove it.
    stale: Versions,
    tellers: BTreeSet<BlockSetId>,
}

impl Recovery {
    /// Cuts the power of the flash at `now`. Operations in progress are interrupted. `queued` counts the pages
    /// of the program unit of a plane group.
    pub fn cut_power(
        &self,
        now: Instant,
        ftl: &mut Ftl,
        queued: impl Fn(PlaneGroupId) -> PageCounts,
    ) -> CutLosses {
        let at_cut = match ftl.config.file.keeps_memory {
            true => InFlightFate::Completed,
            false => ftl.config.file.ftl.recovery.programs_at_cut.into(),
        };
        let torn = cut_flash(now, at_cut, ftl, queued);
        ftl.tables.note_interrupted(&torn, &mut ftl.map_cache);
        ftl.digest.add(now.ps());
        torn
    }

    /// Forgets all state outside of the flash that a power cut at `now` loses. The L2P map is unknown until
    /// [`rebuild_map`](Self::rebuild_map).
    pub fn forget(&mut self, now: Instant, ftl: &mut Ftl) {
        let keeps_memory = ftl.config.file.keeps_memory;
        if let Some(contents) = &mut ftl.contents {
            contents.forget(keeps_memory);
        }
        ftl.policies.forget();
        ftl.policies.designs.note_time(now);
        let context = DesignContext { flash: &ftl.flash, blocks: &ftl.blocks };
        ftl.policies.designs.observe(EventMask::POWER_LOST, context, || DeviceEvent::PowerLost);
        ftl.map.forget();
        ftl.tables.forget();
        if let Some(map) = &mut ftl.block_map {
            map.forget();
        }
        ftl.gc.forget();
        self.scan = Some(Scan::of(&ftl.config.pools));
    }

    /// Duration and results of the last recovery.
    pub fn last(&self) -> Option<Recovered> {
        self.last
    }

    /// Rebuilds the L2P map when power returns, from the data tags of the pages. The data tags are used at
    /// once; the scan only models the time of reading them.
    pub fn rebuild_map(&self, ftl: &mut Ftl) -> Found {
        ftl.tables.audit_record(&ftl.map, &ftl.map_cache, &ftl.blocks, &ftl.flash);
        let places = ftl.map_cache.places(&ftl.map);
        skip_torn_word_lines(ftl);
        let Ftl { blocks, flash, .. } = &mut *ftl;
        let chips = flash.chips();
        blocks.forget(|block| chips.programmed(block), |block| chips.erases()[block]);
        blocks.rebuild_word_lines(|location| chips.is_programmed(location));
        blocks.rebuild_reprogram_counts(|location| match chips.stamp(location) {
            DataTag::ERASED => None,
            DataTag::UNREADABLE => Some(u8::MAX),
            _ => Some(chips.reprograms(chips.pools().page_of(location))),
        });
        reset_modes(ftl);
        let (stale, tellers) = find_newest(ftl);
        if let Some(block_map) = &ftl.block_map {
            block_map.settle(&mut ftl.map, &mut ftl.blocks, ftl.flash.chips());
        }
        ftl.tables.recover(&ftl.map, &mut ftl.map_cache, &ftl.blocks, &ftl.flash);
        let (lost, returned) = accept_versions(&stale, ftl);
        Found { lost, returned, places, stale, tellers }
    }

    /// Rebuilds the other tables from what was found, after the buffer was restored. Returns the failed dies
    /// that still have blocks in use.
    pub fn rebuild_tables(&self, found: &Found, ftl: &mut Ftl) -> Vec<DieId> {
        ftl.tables.keep_discarded(&found.stale, &found.tellers, &ftl.map, &mut ftl.blocks);
        ftl.map_cache.note_moves_since(&found.places, &ftl.map, &ftl.blocks);
        ftl.tables.note_found(&ftl.map, &ftl.map_cache, &ftl.blocks, &ftl.flash);
        ftl.blocks.close_full();
        ftl.health.read_only = false;
        restore_retirements(ftl)
    }

    /// Begins the scan of the pages, after all tables were rebuilt.
    pub fn begin_scan(&mut self, found: &Found, ftl: &mut Ftl, now: Instant) {
        if let Some(map) = &mut ftl.block_map {
            map.rebuild(&mut ftl.blocks, ftl.flash.chips());
        }
        ftl.check_end_of_life();
        let mut scan = Scan::of(&ftl.config.pools);
        scan.begin(now);
        (scan.found.lost, scan.found.returned) = (found.lost, found.returned);
        scan::scan_tables(&mut scan, ftl);
        self.scan = Some(scan);
    }

    fn end(&mut self, scan: &Scan, now: Instant) {
        self.last = Some(scan.result_at(now));
    }

    /// Whether the L2P map is unknown: the power is off.
    pub fn is_without_map(&self) -> bool {
        self.scan.as_ref().is_some_and(|scan| !scan.has_begun())
    }

    /// Whether the device accepts commands.
    pub fn is_ready(&self) -> bool {
        self.scan.is_none()
    }
}

/// Cuts the power of the flash. Programs are counted when they are queued, so programs that did not happen
/// are subtracted. Programs on a failed die stay counted. Erases are counted when they end, so those in
/// progress are added: they wear their blocks.
fn cut_flash(
    now: Instant,
    at_cut: InFlightFate,
    ftl: &mut Ftl,
    queued: impl Fn(PlaneGroupId) -> PageCounts,
) -> CutLosses {
    let Ftl { flash, totals, config, block_map, gc, .. } = ftl;
    let erased_before = flash.chips().counts().block_sets_erased;
    let losses = flash.cut_power(now, at_cut, |task, chips| {
        let Pool { geometry, locations, .. } = config.pools.of_location(task.location);
        let block = locations.block_of(task.location);
        let happened = match task.again {
            0 => chips.is_programmed(task.location),
            times => chips.reprograms(task.page) >= times,
        };
        if happened || chips.has_failed(geometry.die_of(block)) {
            return;
        }
        let mode = chips.mode(block);
        let side_by_side = locations.of_adjacent_pages(geometry.planes_per_row);
        let unit = u64::from(match mode {
            CellMode::Native => locations.per_program,
            CellMode::Mlc if task.again > 0 => side_by_side,
            mode => side_by_side * mode.bits(geometry.bits_per_cell()),
        });
        match task.ticket {
            Ticket::HostUnit(row) => {
                let PageCounts { host, carried, .. } = queued(row);
                let mode = if task.again > 0 { CellMode::Reprogrammed(task.again) } else { mode };
                totals.uncount_group(host, carried, unit, mode);
            }
            Ticket::TableUnit(row) => {
                totals.uncount_tables(queued(row).data, unit);
            }
            Ticket::Gc(row, _) if !matches!(task.operation, Operation::Read | Operation::Erase) => {
                let moved = block_map.as_ref().map_or_else(|| gc.unit(row), |map| map.copies(row));
                totals.uncount_relocated(moved.len() as u64, unit, task.operation != Operation::Program);
            }
            _ => {}
        }
    });
    totals.erases += flash.chips().counts().block_sets_erased - erased_before;
    losses
}

/// Returns erased blocks to native mode.
fn reset_modes(ftl: &mut Ftl) {
    let Ftl { config, flash, blocks, .. } = ftl;
    for block in config.pools.all_blocks() {
        if blocks.table().is_native(block) && flash.chips().programmed(block) == 0 {
            flash.set_mode(block, CellMode::Native);
        }
    }
}

/// Skips pages that share a word line with an interrupted program, as long as they are next in their block.
fn skip_torn_word_lines(ftl: &mut Ftl) {
    for block in ftl.blocks.table().in_service() {
        let Pool { part, locations, .. } = ftl.config.pools.of_block(block);
        let is_native = ftl.flash.chips().mode(block) == CellMode::Native;
        if part.geometry.one_shot || part.geometry.bits_per_cell == 1 || !is_native {
            continue;
        }
        let unit = locations.per_program;
        let written = ftl.flash.chips().programmed(block);
        let first = written / unit;
        let is_torn = |page: u32| {
            let stamp = ftl.flash.stamp(locations.at(block, page * unit));
            stamp == DataTag::UNREADABLE
        };
        let in_torn_line =
            |page: &u32| part.pages().partners(*page).any(|other| other < first && is_torn(other));
        let skipped = (first..part.geometry.pages_per_block).take_while(in_torn_line).count() as u32;
        if written > 0 && skipped > 0 {
            ftl.flash.skip(block, skipped * unit);
        }
    }
}

/// Maps every logical page to its newest copy. In a coarsely mapped pool, only copies in the newest program
/// unit of a mapping unit are valid.
///
/// Returns the pages whose latest version is in an older program unit, each with that version. Such a version
/// is invalid, because the newest program unit does not contain the page. Also returns the blocks of these
/// newest program units, which must be kept as the only proof.
fn find_newest(ftl: &mut Ftl) -> (Versions, BTreeSet<BlockSetId>) {
    ftl.map.unmap_all();
    let newest = ftl.map.unit_writes().map(|writes| writes.newest(&ftl.blocks, ftl.flash.chips()));
    let mut stale = BTreeMap::new();
    for block in ftl.blocks.table().in_service() {
        let first = ftl.config.pools.at(block, 0);
        let end = match ftl.blocks.is_in_order(block) {
            true => ftl.flash.chips().programmed(block),
            false => ftl.config.pools.per_block(block),
        };
        for location in (first.0..first.0 + end).map(Location) {
            let stamp = ftl.flash.stamp(location);
            // Version 0: preconditioning wrote the page as invalid.
            if !stamp.is_data() || stamp.version == 0 {
                continue;
            }
            let logical = LogicalPage(stamp.logical);
            if let (Some(writes), Some(newest)) = (ftl.map.unit_writes(), &newest)
                && ftl.blocks.pool_of(ftl.blocks.table().group_of(block)).is_coarsely_mapped()
                && !writes.is_newest(newest, location, logical)
            {
                let version = stale.entry(logical).or_insert(0);
                *version = stamp.version.max(*version);
                continue;
            }
            let known = ftl.map.get(logical);
            if known.is_none_or(|known| is_newer(location, known, ftl)) {
                ftl.map.install(logical, location, &mut ftl.blocks);
            }
        }
    }
    forget_stale(&mut stale, ftl);
    let mut tellers = BTreeSet::new();
    if let (Some(writes), Some(newest)) = (ftl.map.unit_writes(), &newest) {
        tellers.extend(stale.keys().map(|page| writes.newest_block(newest, *page, &ftl.blocks)));
    }
    (stale, tellers)
}

/// Whether `location` has a newer version of a page than `known`. Of two copies of one version, the copy in
/// the block opened later is preferred: GC wrote it, and its victim then needs no more copies.
fn is_newer(location: Location, known: Location, ftl: &Ftl) -> bool {
    let version = |location| ftl.flash.stamp(location).version;
    let opening = |location| ftl.blocks.table().opening_number(ftl.config.pools.block_of(location));
    let oldest_wins = InjectedFault::OldestAtRecovery.is_enabled(ftl.contents.as_deref());
    match version(location).cmp(&version(known)) {
        Ordering::Equal => opening(location) > opening(known),
        order => (order == Ordering::Greater) != oldest_wins,
    }
}

/// Unmaps pages that were discarded before the newest program unit of their mapping unit was written. The
/// newest unit has no copy of such a page, and an older unit has a later version than the copy found. Other
/// pages are removed from `stale`.
fn forget_stale(stale: &mut Versions, ftl: &mut Ftl) {
    stale.retain(|page, version| {
        ftl.map.version_in_flash(*page, &ftl.flash).is_none_or(|found| found < *version)
    });
    stale.keys().for_each(|page| ftl.map.unmap(*page, &mut ftl.blocks));
}

/// Accepts the versions found in flash as the last versions that the host wrote. The next write of a page
/// gets a version greater than any version of the page in flash, including its `stale` versions. Returns the
/// number of pages that lost a write, and the number of discarded pages that returned.
fn accept_versions(stale: &Versions, ftl: &mut Ftl) -> (u64, u64) {
    let (mut lost, mut returned) = (0, 0);
    let keeps_memory = ftl.config.file.keeps_memory;
    for page in (0..ftl.map.pages()).map(LogicalPage) {
        let written = ftl.map.last_written(page);
        let found = ftl.map.version_in_flash(page, &ftl.flash);
        let is_host = !ftl.config.is_table(page.0);
        let void =
            if is_host { ftl.tables.last_discarded(page, found, &mut ftl.map, &mut ftl.blocks) } else { 0 };
        let stale = stale.get(&page).copied().unwrap_or(0);
        let known = ftl.map.lost_before_cut(page, found, void, keeps_memory, &mut ftl.blocks);
        lost += u64::from(is_host && written.is_some() && written != known.or(found));
        returned += u64::from(written.is_none() && ftl.map.get(page).is_some());
        // A later version must differ from every version that flash still has.
        let present = ftl.map.get(page).is_some() || ftl.map.is_lost(page);
        ftl.map.set_last_written(page, known.max(found).unwrap_or(0).max(void).max(stale), present);
    }
    (lost, returned)
}

/// Restores the queue of blocks pending retirement, which the bad-block table preserves. Returns the failed
/// dies that still have blocks in use.
fn restore_retirements(ftl: &mut Ftl) -> Vec<DieId> {
    let table = ftl.blocks.table();
    let retiring: Vec<_> =
        table.in_service().into_iter().filter(|block| table.is_pending_retirement(*block)).collect();
    for block in retiring {
        ftl.gc.mark_for_retirement(ftl.blocks.table().group_of(block), block);
    }
    let mut failed = Vec::new();
    for die in ftl.config.pools.all_dies() {
        if !ftl.flash.chips().has_failed(die) {
            continue;
        }
        let mut rows = ftl.config.pools.of_die(die).geometry.groups_of(die);
        rows.clone().for_each(|row| ftl.gc.lose(row));
        failed.extend(rows.any(|row| ftl.blocks.table().is_in_use(row)).then_some(die));
    }
    failed
}
