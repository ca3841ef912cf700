//! Pages of the tables of a map, and the check of checkpoints.

use wordline_kernel::{Bytes, Complaints};
use wordline_nand::Pools;

use super::file::{BackEndFile, Config, FtlFile};
use super::recovery::DiscardsAtCut;

/// Bytes of an entry. It has a version, as in the data tag of a page. If checkpoints contain the whole map,
/// it also has the location of the page.
const ENTRY: [u64; 2] = [4, 8];

/// Number of pages of the table for this many logical pages, in locations of this size.
pub(crate) fn discard_table_pages(logical_pages: u32, location: Bytes, file: &BackEndFile) -> u32 {
    u64::from(logical_pages).div_ceil(location.0 / discard_entry(file)) as u32
}

/// Bytes of an entry of the discard table.
pub(crate) fn discard_entry(file: &BackEndFile) -> u64 {
    let has_places = file.ftl.recovery.checkpoint.is_some() && file.ftl.mapping.cache.is_none();
    ENTRY[usize::from(has_places)]
}

/// Adds complaints about checkpoints.
pub(super) fn check_recovery(file: &BackEndFile, wrong: &mut Complaints) {
    let recovery = &file.ftl.recovery;
    let Some(every) = recovery.checkpoint else { return };
    let key = "ftl.recovery.checkpoint";
    wrong.require(every >= Bytes::kib(64), key, every, "at least 64KiB");
    for (is_wrong, found, wanted) in [
        (
            recovery.discards != DiscardsAtCut::Kept,
            "it beside discards = \"forgotten\"",
            "discards = \"kept\"",
        ),
        (
            file.keeps_memory,
            "it beside buffer.power_loss_protection",
            "no protection, which keeps the memory",
        ),
    ] {
        wrong.require(!is_wrong, key, found, wanted);
    }
}

/// Number of pages of the discard table for this many logical pages; 0 if discards are not kept in flash.
/// If checkpoints are made, the directory of translation pages is included.
pub(super) fn discard_pages(file: &BackEndFile, pools: &Pools, unit: Bytes, logical_pages: u32) -> u32 {
    if file.ftl.recovery.discards_can_return() || file.keeps_memory {
        return 0;
    }
    let directory = directory_pages(file, pools, unit, logical_pages);
    discard_table_pages(logical_pages, unit, file) + directory
}

/// Number of pages of the directory that a checkpoint writes. The directory has the locations of all
/// translation pages, and of the units of a pool with coarse-grained mapping, whose map is in memory. 0
/// if the whole map is in memory: a checkpoint then writes the locations of all logical pages.
fn directory_pages(file: &BackEndFile, pools: &Pools, unit: Bytes, logical_pages: u32) -> u32 {
    let FtlFile { mapping, recovery, .. } = &file.ftl;
    if mapping.cache.is_none() || recovery.checkpoint.is_none() {
        return 0;
    }
    let per_unit = pools.first().locations.per_program;
    let units = if mapping.whole_units { logical_pages.div_ceil(per_unit) } else { 0 };
    let entries = mapping.translation_pages(unit, logical_pages) + units;
    u64::from(entries).div_ceil((unit.0 / mapping.entry.0.max(1)).max(1)) as u32
}

impl Config {
    /// Whether this is the logical page number of a translation page or of a page of the discard table.
    #[inline]
    pub fn is_table(&self, logical: u32) -> bool {
        logical >= self.logical_pages
    }

    /// Number of pages of the discard table, and of the directory of translation pages.
    pub fn discard_pages(&self) -> u32 {
        let Self { file, pools, unit, logical_pages, .. } = self;
        discard_pages(file, pools, *unit, *logical_pages)
    }

    /// Number of pages with versions in flash: logical pages and table pages. Unused numbers between them
    /// count.
    pub fn mapped_pages(&self) -> u32 {
        match self.discard_pages() {
            0 => self.logical_pages + self.translation_pages(),
            discards => self.first_discard_page() + discards,
        }
    }

    /// Logical page number of the first page of the discard table. With block-level mapping the table begins
    /// a logical block, so that a change of the table never merges host data.
    pub fn first_discard_page(&self) -> u32 {
        match self.file.ftl.mapping.block {
            Some(_) => self.logical_pages.next_multiple_of(self.locations().per_block()),
            None => self.logical_pages + self.translation_pages(),
        }
    }

    /// Number of logical blocks, including those for table pages. A logical block has as many pages as a
    /// multi-plane block has locations.
    pub fn logical_blocks(&self) -> u32 {
        self.mapped_pages().div_ceil(self.locations().per_block())
    }
}
