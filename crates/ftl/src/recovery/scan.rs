//! Scan of the pages after a power loss: which pages are read to rebuild the tables, and how long it takes.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wordline_device::Recovered;
use wordline_flash::{Class, Event, Ticket};
use wordline_kernel::{Column, Instant, Schedule};
use wordline_nand::{BlockSetId, DieId, PageId, Pool, Pools};

use crate::blocks::State;
use crate::engines::Ftl;
use crate::map::checkpoint::Checkpoints;
use crate::recovery::Recovery;

/// Scan progress of a die.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Cursor {
    block: BlockSetId,
    end: BlockSetId,
    /// Next page number of the block.
    page: u32,
    /// Pages of the discard table and of the directory, read in full after the blocks.
    tables: VecDeque<PageId>,
}

/// Scan of the pages after a power loss.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Scan {
    began: Instant,
    dies: Column<DieId, Cursor>,
    /// Number of dies that are still scanned; 0 before power returns.
    working: u32,
    pub(crate) found: Recovered,
}

/// Number of page numbers that this many locations of a block cover.
fn pages_of_locations(pool: &Pool, locations: u32) -> u32 {
    let pages = (locations * pool.locations.pages()).div_ceil(pool.locations.per_page());
    pages.div_ceil(pool.geometry.planes_per_row)
}

impl Scan {
    /// Scan that has not begun.
    pub(crate) fn of(pools: &Pools) -> Self {
        let dies = Column::from_fn(pools.dies() as usize, |die: DieId| {
            let geometry = &pools.of_die(die).geometry;
            let block = geometry.first_block(geometry.first_group_of(die));
            let end = BlockSetId(block.0 + geometry.groups_per_die * geometry.blocks_per_plane);
            Cursor { block, end, page: 0, tables: VecDeque::new() }
        });
        Self { began: Instant::ZERO, dies, working: 0, found: Recovered::default() }
    }

    /// Begins the scan when power returns at `now`.
    pub(crate) fn begin(&mut self, now: Instant) {
        (self.began, self.working) = (now, self.dies.ids().count() as u32);
    }

    /// Whether power has returned.
    pub(crate) fn has_begun(&self) -> bool {
        self.working > 0
    }

    /// Results of the scan if it ends at `now`.
    pub(crate) fn result_at(&self, now: Instant) -> Recovered {
        Recovered { time: now - self.began, ..self.found }
    }
}

impl Recovery {
    /// Pages that the scan in progress has read or is reading.
    pub fn pages_recovered(&self) -> u64 {
        self.scan.as_ref().map_or(0, |scan| scan.found.pages_read)
    }

    /// Pages that the scan still has to read. Slow: looks at every block.
    pub fn pages_to_recover(&self, ftl: &Ftl) -> u64 {
        let Some(scan) = &self.scan else { return 0 };
        let left_of_block = |block: BlockSetId, page: u32| {
            let all = pages_to_scan(block, ftl);
            match page {
                0 if all > 0 => 1 + all.saturating_sub(after_first_page(block, ftl)),
                page => all.saturating_sub(page),
            }
        };
        let left_of_die = |die: DieId| {
            let cursor = &scan.dies[die];
            let planes = ftl.config.pools.of_die(die).geometry.planes_per_row;
            let blocks = (cursor.block.0..cursor.end.0).map(BlockSetId);
            let pages = blocks.map(|block| match block == cursor.block {
                true => left_of_block(block, cursor.page),
                false => left_of_block(block, 0),
            });
            pages.map(u64::from).sum::<u64>() * u64::from(planes) + cursor.tables.len() as u64
        };
        scan.dies.ids().map(left_of_die).sum()
    }

    /// Queues the next read of a die's scan. It reads the spare areas of one page number in all planes of a
    /// plane group, or a table page. Returns true when all dies are done and the device accepts commands
    /// again.
    pub fn continue_scan(&mut self, die: DieId, ftl: &mut Ftl, calendar: &mut impl Schedule<Event>) -> bool {
        let Some(mut scan) = self.scan.take() else { unreachable!("a scan is under way") };
        let Some((page, planes, bytes)) = next_read(&mut scan.dies[die], ftl) else {
            scan.working -= 1;
            if scan.working == 0 {
                self.end(&scan, calendar.now());
                ftl.digest.add(calendar.now().ps());
                return true;
            }
            self.scan = Some(scan);
            return false;
        };
        scan.found.pages_read += u64::from(planes);
        self.scan = Some(scan);
        let read = ftl.flash.read(die, calendar.now(), (Ticket::Scan(die), Class::Read), page);
        (read.planes, read.bytes, read.retried) = (planes, bytes, false);
        ftl.flash.start(die, &ftl.policies, calendar);
        false
    }
}

/// Number of page numbers to read in a block: the programmed page numbers, and the first unprogrammed one if
/// there is one in the block's mode.
fn pages_to_scan(block: BlockSetId, ftl: &Ftl) -> u32 {
    if ftl.blocks.table().state(block) == State::Bad {
        return 0;
    }
    let pool = ftl.config.pools.of_block(block);
    let (bits, chips) = (pool.geometry.bits_per_cell(), ftl.flash.chips());
    let pages = pool.geometry.pages_per_block / bits * chips.mode(block).bits(bits);
    (pages_of_locations(pool, chips.programmed(block)) + 1).min(pages)
}

/// Page number to read after the first page of a block. The first page shows whether the block was erased
/// since the last checkpoint. If it was not, the checkpoint covers the pages programmed before it.
fn after_first_page(block: BlockSetId, ftl: &Ftl) -> u32 {
    let known = ftl.tables.checkpoints().and_then(|checkpoints| checkpoints.known(block));
    match known {
        Some(known)
            if known.erases == ftl.flash.chips().erases()[block] && !ftl.blocks.is_reprogrammable(block) =>
        {
            pages_of_locations(ftl.config.pools.of_block(block), known.programmed).max(1)
        }
        _ => 1,
    }
}

/// Adds the table pages that are read in full: the discard table, and with a valid checkpoint also the
/// directory.
pub(super) fn scan_tables(scan: &mut Scan, ftl: &Ftl) {
    let Some(discards) = ftl.tables.discards() else { return };
    let is_valid = ftl.tables.checkpoints().is_some_and(Checkpoints::is_valid);
    let wanted = discards.tables().filter(|table| is_valid || discards.number_in_directory(*table).is_none());
    for logical in wanted.map(|table| discards.logical(table)) {
        if logical.0 >= ftl.map.pages() {
            return;
        }
        let Some(location) = ftl.map.get(logical) else { continue };
        let locations = &ftl.config.pools.of_location(location).locations;
        let die = ftl.config.pools.die_of(location);
        let first = locations.page_of(location).0;
        scan.dies[die].tables.extend((first..first + locations.pages()).map(PageId));
    }
}

/// Next read of a die: first page, number of pages, and bytes. `None` at the end.
fn next_read(cursor: &mut Cursor, ftl: &Ftl) -> Option<(PageId, u32, u32)> {
    while cursor.block < cursor.end && cursor.page >= pages_to_scan(cursor.block, ftl) {
        (cursor.block, cursor.page) = (BlockSetId(cursor.block.0 + 1), 0);
    }
    if cursor.block < cursor.end {
        let Pool { part, geometry, .. } = ftl.config.pools.of_block(cursor.block);
        let planes = geometry.planes_per_row;
        let page = geometry.page(cursor.block, cursor.page * planes);
        let is_first = cursor.page == 0;
        cursor.page = if is_first { after_first_page(cursor.block, ftl) } else { cursor.page + 1 };
        return Some((page, planes, planes * part.geometry.spare_size.0 as u32));
    }
    let page = cursor.tables.pop_front()?;
    let page_size = ftl.config.pools.of_page(page).part.geometry.page_size;
    Some((page, 1, ftl.config.unit.0.min(page_size.0) as u32))
}
