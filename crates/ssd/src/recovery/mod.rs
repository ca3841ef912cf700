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
use wordline_nand::{BlockSetId, CellMode, CutLosses, DataTag, InFlightFate, Location, Operation, Pool};

use crate::base::Base;
use crate::contents::InjectedFault;
use crate::design::{DeviceEvent, EventMask};
use crate::engines::Core;
use crate::map::LogicalPage;
use crate::writer::{PageCounts, Writer};

pub(crate) use scan::Scan;

/// Power-loss recovery of a device.
#[derive(Default)]
pub(crate) struct Recovery {
    /// Scan in progress, from the power loss until all pages are scanned. `last` is the result of the last
    /// scan.
    scan: Option<Scan>,
    last: Option<Recovered>,
}

state!(Recovery { values { scan, last } });

/// Versions of logical pages.
type Versions = BTreeMap<LogicalPage, u32>;

impl Recovery {
    /// Cuts the power at `now`. Operations in progress are interrupted, and all state outside of the flash is
    /// lost. The L2P map is unknown until [`begin`](Self::begin).
    pub(crate) fn cut(&mut self, now: Instant, core: &mut Core, writer: &mut Writer) -> CutLosses {
        let is_protected = core.base.config.file.buffer.is_protected();
        let at_cut = match is_protected {
            true => InFlightFate::Completed,
            false => core.base.config.file.ftl.recovery.programs_at_cut.into(),
        };
        let torn = cut_flash(now, at_cut, core, writer);
        core.tables.note_interrupted(&torn, &mut core.map_cache);
        core.base.digest(now.ps());
        core.cache.save_buffer(&core.base);
        if let Some(contents) = &mut core.base.contents {
            contents.forget(is_protected);
        }
        core.base.policies.forget();
        core.base.policies.designs.note_time(now);
        core.base.observe(EventMask::POWER_LOST, |_| DeviceEvent::PowerLost);
        core.map.forget();
        core.tables.forget();
        if let Some(map) = &mut core.block_map {
            map.forget();
        }
        core.cache.forget(&core.base.config);
        core.gc.forget();
        writer.forget();
        self.scan = Some(Scan::of(&core.base.config.pools));
        torn
    }

    /// Duration and results of the last recovery.
    pub(crate) fn last(&self) -> Option<Recovered> {
        self.last
    }

    /// Rebuilds the tables when power returns, and begins the scan of the pages. The rebuilding uses the data
    /// tags at once; the scan only models the time of reading them.
    pub(crate) fn begin(&mut self, core: &mut Core, writer: &mut Writer, now: Instant) {
        core.tables.audit_record(&core.map, &core.map_cache, &core.base);
        let before = core.map_cache.places(&core.map);
        skip_torn_word_lines(core);
        let Base { blocks, flash, .. } = &mut core.base;
        let chips = flash.chips();
        blocks.forget(|block| chips.programmed(block), |block| chips.erases()[block]);
        blocks.rebuild_word_lines(|location| chips.is_programmed(location));
        blocks.rebuild_reprogram_counts(|location| match chips.stamp(location) {
            DataTag::ERASED => None,
            DataTag::UNREADABLE => Some(u8::MAX),
            _ => Some(chips.reprograms(chips.pools().page_of(location))),
        });
        core.base.set_modes();
        let (stale, tellers) = find_newest(core);
        if let Some(block_map) = &core.block_map {
            block_map.settle(&mut core.map, &mut core.base);
        }
        core.tables.recover(&core.map, &mut core.map_cache, &core.base);
        let lost_and_returned = accept_versions(&stale, core);
        core.tables.keep_discarded(&stale, &tellers, &core.map, &mut core.base);
        core.map_cache.note_moves_since(&before, &core.map, &core.base.blocks);
        core.tables.note_found(&core.map, &core.map_cache, &core.base);
        core.base.blocks.close_full();
        core.base.life.read_only = false;
        restore_retirements(core, writer);
        if let Some(map) = &mut core.block_map {
            map.rebuild(&mut core.base.blocks, core.base.flash.chips());
        }
        core.check_end_of_life();
        let mut scan = Scan::of(&core.base.config.pools);
        scan.begin(now);
        (scan.found.lost, scan.found.returned) = lost_and_returned;
        scan::scan_tables(&mut scan, core);
        self.scan = Some(scan);
    }

    fn end(&mut self, scan: &Scan, now: Instant) {
        self.last = Some(scan.result_at(now));
    }

    /// Checks a loaded state: the map must match the host's writes. There is no check between a power loss
    /// and the return of power, when the map is unknown.
    pub(crate) fn check_loaded(&self, core: &Core) -> Result<(), String> {
        if self.scan.as_ref().is_some_and(|scan| !scan.has_begun()) {
            return Ok(());
        }
        core.map_cache.check_versions(&core.map, &core.base.flash)?;
        core.cache.check_versions(&core.base, &core.map)
    }

    /// Whether the device accepts commands.
    pub(crate) fn is_ready(&self) -> bool {
        self.scan.is_none()
    }
}

/// Cuts the power of the flash. Programs are counted when they are queued, so programs that did not happen
/// are subtracted. Programs on a failed die stay counted.
fn cut_flash(now: Instant, at_cut: InFlightFate, core: &mut Core, writer: &Writer) -> CutLosses {
    let Core { base: Base { flash, totals, config, .. }, block_map, gc, .. } = core;
    flash.cut_power(now, at_cut, |task, chips| {
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
                let PageCounts { host, carried, .. } = writer.rows().group(row).count_pages();
                let mode = if task.again > 0 { CellMode::Reprogrammed(task.again) } else { mode };
                totals.uncount_group(host, carried, unit, mode);
            }
            Ticket::TableUnit(row) => {
                totals.uncount_tables(writer.rows().group(row).count_pages().data, unit);
            }
            Ticket::Gc(row, _) if !matches!(task.operation, Operation::Read | Operation::Erase) => {
                let moved = block_map.as_ref().map_or_else(|| gc.unit(row), |map| map.copies(row));
                totals.uncount_relocated(moved.len() as u64, unit, task.operation != Operation::Program);
            }
            _ => {}
        }
    })
}

/// Skips pages that share a word line with an interrupted program, as long as they are next in their block.
fn skip_torn_word_lines(core: &mut Core) {
    for block in core.base.blocks.table().in_service() {
        let Pool { part, locations, .. } = core.base.config.pools.of_block(block);
        let is_native = core.base.flash.chips().mode(block) == CellMode::Native;
        if part.geometry.one_shot || part.geometry.bits_per_cell == 1 || !is_native {
            continue;
        }
        let unit = locations.per_program;
        let written = core.base.flash.chips().programmed(block);
        let first = written / unit;
        let is_torn = |page: u32| {
            let stamp = core.base.flash.stamp(locations.at(block, page * unit));
            stamp == DataTag::UNREADABLE
        };
        let in_torn_line =
            |page: &u32| part.pages().partners(*page).any(|other| other < first && is_torn(other));
        let skipped = (first..part.geometry.pages_per_block).take_while(in_torn_line).count() as u32;
        if written > 0 && skipped > 0 {
            core.base.flash.skip(block, skipped * unit);
        }
    }
}

/// Maps every logical page to its newest copy. In a coarsely mapped pool, only copies in the newest program
/// unit of a mapping unit are valid.
///
/// Returns the pages whose latest version is in an older program unit, each with that version. Such a version
/// is invalid, because the newest program unit does not contain the page. Also returns the blocks of these
/// newest program units, which must be kept as the only proof.
fn find_newest(core: &mut Core) -> (Versions, BTreeSet<BlockSetId>) {
    core.map.unmap_all();
    let newest =
        core.map.unit_writes().map(|writes| writes.newest(&core.base.blocks, core.base.flash.chips()));
    let mut stale = BTreeMap::new();
    for block in core.base.blocks.table().in_service() {
        let first = core.base.config.pools.at(block, 0);
        let end = match core.base.blocks.is_in_order(block) {
            true => core.base.flash.chips().programmed(block),
            false => core.base.config.pools.per_block(block),
        };
        for location in (first.0..first.0 + end).map(Location) {
            let stamp = core.base.flash.stamp(location);
            // Version 0: preconditioning wrote the page as invalid.
            if !stamp.is_data() || stamp.version == 0 {
                continue;
            }
            let logical = LogicalPage(stamp.logical);
            if let (Some(writes), Some(newest)) = (core.map.unit_writes(), &newest)
                && core.base.blocks.pool_of(core.base.blocks.table().group_of(block)).is_coarsely_mapped()
                && !writes.is_newest(newest, location, logical)
            {
                let version = stale.entry(logical).or_insert(0);
                *version = stamp.version.max(*version);
                continue;
            }
            let known = core.map.get(logical);
            if known.is_none_or(|known| is_newer(location, known, &core.base)) {
                core.map.install(logical, location, &mut core.base.blocks);
            }
        }
    }
    forget_stale(&mut stale, core);
    let mut tellers = BTreeSet::new();
    if let (Some(writes), Some(newest)) = (core.map.unit_writes(), &newest) {
        tellers.extend(stale.keys().map(|page| writes.newest_block(newest, *page, &core.base.blocks)));
    }
    (stale, tellers)
}

/// Whether `location` has a newer version of a page than `known`. Of two copies of one version, the copy in
/// the block opened later is preferred: GC wrote it, and its victim then needs no more copies.
fn is_newer(location: Location, known: Location, base: &Base) -> bool {
    let version = |location| base.flash.stamp(location).version;
    let opening = |location| base.blocks.table().opening_number(base.config.pools.block_of(location));
    match version(location).cmp(&version(known)) {
        Ordering::Equal => opening(location) > opening(known),
        order => (order == Ordering::Greater) != base.has(InjectedFault::OldestAtRecovery),
    }
}

/// Unmaps pages that were discarded before the newest program unit of their mapping unit was written. The
/// newest unit has no copy of such a page, and an older unit has a later version than the copy found. Other
/// pages are removed from `stale`.
fn forget_stale(stale: &mut Versions, core: &mut Core) {
    stale.retain(|page, version| {
        core.map.version_in_flash(*page, &core.base.flash).is_none_or(|found| found < *version)
    });
    stale.keys().for_each(|page| core.map.unmap(*page, &mut core.base.blocks));
}

/// Accepts the versions found in flash as the last versions that the host wrote. The next write of a page
/// gets a version greater than any version of the page in flash, including its `stale` versions. Returns the
/// number of pages that lost a write, and the number of discarded pages that returned.
fn accept_versions(stale: &Versions, core: &mut Core) -> (u64, u64) {
    let (mut lost, mut returned) = (0, 0);
    let is_protected = core.base.config.file.buffer.is_protected();
    for page in (0..core.map.len()).map(LogicalPage) {
        let written = core.map.last_written(page);
        let found = core.map.version_in_flash(page, &core.base.flash);
        let is_host = !core.base.config.is_table(page.0);
        let void = if is_host {
            core.tables.last_discarded(page, found, &mut core.map, &mut core.base.blocks)
        } else {
            0
        };
        let stale = stale.get(&page).copied().unwrap_or(0);
        let known = core.map.lost_before_cut(page, found, void, is_protected, &mut core.base.blocks);
        lost += u64::from(is_host && written.is_some() && written != known.or(found));
        returned += u64::from(written.is_none() && core.map.get(page).is_some());
        // A later version must differ from every version that flash still has.
        let present = core.map.get(page).is_some() || core.map.is_lost(page);
        core.map.set_last_written(page, known.max(found).unwrap_or(0).max(void).max(stale), present);
    }
    (lost - core.cache.restore_buffer(&core.base, &mut core.map), returned)
}

/// Restores the queue of blocks pending retirement, which the bad-block table preserves, and registers failed
/// dies again.
fn restore_retirements(core: &mut Core, writer: &mut Writer) {
    let table = core.base.blocks.table();
    let retiring: Vec<_> =
        table.in_service().into_iter().filter(|block| table.is_pending_retirement(*block)).collect();
    for block in retiring {
        core.gc.mark_for_retirement(core.base.blocks.table().group_of(block), block);
    }
    for die in core.base.config.pools.all_dies() {
        if !core.base.flash.chips().has_failed(die) {
            continue;
        }
        let mut rows = core.base.config.pools.of_die(die).geometry.groups_of(die);
        rows.clone().for_each(|row| core.gc.lose(row));
        if rows.any(|row| core.base.blocks.table().is_in_use(row)) {
            writer.lose_die(die, core);
            core.check_end_of_life();
        }
    }
}
