//! Data losses: pages that no read retry could read, pages on failed dies, and pages that share a word line with
//! a failed reprogram.

use wordline_flash::Task;
use wordline_ftl::Ftl;
use wordline_ftl::Sectors;
use wordline_ftl::contents::InjectedFault;
use wordline_ftl::map::LogicalPage;
use wordline_nand::{DataTag, Location, PageId};

use crate::engines::Core;

/// Records the loss of pages of a read that no retry could read: one bit for each page in `unread`.
pub(super) fn lose_unread(task: &Task, unread: u32, core: &mut Core) {
    let block = core.ftl.base.config.pools.block_of_page(task.page);
    for n in (0..task.planes).filter(|n| unread >> n & 1 != 0) {
        core.ftl.base.totals.unreadable_pages += 1;
        core.ftl.base.faults_at(block).unreadable_pages += 1;
        lose_page(PageId(task.page.0 + n), core);
    }
}

/// Records the loss of every location of a page.
fn lose_page(page: PageId, core: &mut Core) {
    let locations = core.ftl.base.config.pools.of_page(page).locations;
    let first = locations.location_of(page).0;
    for location in (first..first + locations.per_page()).map(Location) {
        if core.ftl.base.blocks.table().is_valid(location) {
            core.ftl.base.blocks.invalidate(location);
            lose_location(location, core);
        }
    }
}

/// Unmaps the page of a lost location, which is already invalid, and records its data as lost, except for
/// sectors in the buffer.
pub(super) fn lose_location(location: Location, core: &mut Core) {
    lose_stamped(location, core.ftl.base.flash.stamp(location), core);
}

/// Handles a failed program on the word line of a location with data tag `stamp`. The location's data are lost
/// if they are still valid and unreadable.
pub(super) fn lose_beside(location: Location, stamp: DataTag, core: &mut Core) {
    if core.ftl.base.blocks.table().is_valid(location) && core.ftl.base.flash.stamp(location) != stamp {
        core.ftl.base.blocks.invalidate(location);
        lose_stamped(location, stamp, core);
    }
}

/// Records the loss of a location with data tag `stamp`.
fn lose_stamped(location: Location, stamp: DataTag, core: &mut Core) {
    let Core { ftl: Ftl { base, map, map_cache, tables, .. }, cache, .. } = core;
    let DataTag { logical, version } = stamp;
    let page = LogicalPage(logical);
    let was = map.clear(page);
    assert_eq!(was, Some(location), "a valid location is where its logical page is mapped to");
    if base.config.is_table(page.0) {
        let row = base.blocks.table().group_of(base.config.pools.block_of(location));
        return tables.lose_table(page, row, map_cache);
    }
    map_cache.note_change(page, location, &base.blocks);
    let kept = cache.lose(page);
    let gone = base.page_size.full().without(kept.unwrap_or(Sectors::NONE));
    // The next version of the page in flash will have all sectors of it that are in the buffer now.
    let next = kept.map(|_| (version + 1, gone));
    if !gone.is_empty() {
        base.totals.lost_pages += 1;
        base.faults_at(base.config.pools.block_of(location)).lost_pages += 1;
    }
    if !base.has(InjectedFault::LossNotNoted) {
        map.lose(page, version, base.page_size.full(), next);
    }
}
