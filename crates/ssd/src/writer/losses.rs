//! Data losses: pages that no read retry could read, pages on failed dies, and pages that share a word line with
//! a failed reprogram.

use wordline_flash::Task;
use wordline_ftl::Ftl;
use wordline_ftl::Sectors;
use wordline_ftl::contents::InjectedFault;
use wordline_ftl::map::LogicalPage;
use wordline_nand::{DataTag, Location, PageId};

use crate::engines::Core;

/// Records the loss of pages of a read that no retry could read: one bit for each page in `unread`. Those in
/// `new` count.
pub(super) fn lose_unread(task: &Task, [unread, new]: [u32; 2], core: &mut Core) {
    let block = core.ftl.config.pools.block_of_page(task.page);
    for n in (0..task.planes).filter(|n| unread >> n & 1 != 0) {
        let count = u64::from(new >> n & 1);
        core.ftl.totals.unreadable_pages += count;
        core.ftl.totals.faults_at(block, &core.ftl.config.pools).unreadable_pages += count;
        lose_page(PageId(task.page.0 + n), core);
    }
}

/// Records the loss of every location of a page.
fn lose_page(page: PageId, core: &mut Core) {
    let locations = core.ftl.config.pools.of_page(page).locations;
    let first = locations.location_of(page).0;
    for location in (first..first + locations.per_page()).map(Location) {
        if core.ftl.blocks.table().is_valid(location) {
            core.ftl.blocks.invalidate(location);
            lose_location(location, core);
        }
    }
}

/// Unmaps the page of a lost location, which is already invalid, and records its data as lost, except for
/// sectors in the buffer.
pub(super) fn lose_location(location: Location, core: &mut Core) {
    lose_stamped(location, core.ftl.flash.stamp(location), core);
}

/// Handles a failed program on the word line of a location with data tag `stamp`. The location's data are lost
/// if they are still valid and unreadable.
pub(super) fn lose_beside(location: Location, stamp: DataTag, core: &mut Core) {
    if core.ftl.blocks.table().is_valid(location) && core.ftl.flash.stamp(location) != stamp {
        core.ftl.blocks.invalidate(location);
        lose_stamped(location, stamp, core);
    }
}

/// Records the loss of a location with data tag `stamp`.
fn lose_stamped(location: Location, stamp: DataTag, core: &mut Core) {
    let Core { ftl, cache, .. } = core;
    let Ftl { config, totals, blocks, map, map_cache, tables, .. } = ftl;
    let DataTag { logical, version } = stamp;
    let page = LogicalPage(logical);
    let was = map.clear(page);
    assert_eq!(was, Some(location), "a valid location is where its logical page is mapped to");
    if config.is_table(page.0) {
        let row = blocks.table().group_of(config.pools.block_of(location));
        return tables.lose_table(page, row, map_cache);
    }
    map_cache.note_change(page, location, blocks);
    let (kept, full) = (cache.lose(page), ftl.page_size.full());
    let gone = full.without(kept.unwrap_or(Sectors::NONE));
    // The next version of the page in flash will have all sectors of it that are in the buffer now.
    let next = kept.map(|_| (version + 1, gone));
    if !gone.is_empty() {
        totals.lost_pages += 1;
        totals.faults_at(config.pools.block_of(location), &config.pools).lost_pages += 1;
    }
    if !InjectedFault::LossNotNoted.is_enabled(ftl.contents.as_deref()) {
        map.lose(page, version, full, next);
    }
}
