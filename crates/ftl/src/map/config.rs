//! Keys of `[ftl.mapping]`, and sizes derived from them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Complaints};
use wordline_nand::{Locations, Pools};

use super::block_map::config::BlockMapFile;
use super::checkpoint::{DiscardsAtCut, RecoveryFile};
use super::discards;
use crate::config::{BackEndFile, Config};
use crate::policy::mapper::CacheSize;

/// L2P mapping.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MappingFile {
    /// Mapping unit: either a flash page divided by a power of two, down to a sector, or a number of pages
    /// that divides the program unit. A smaller write needs a read-modify-write. The default is a flash page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<Bytes>,
    /// Whether the first of several pools uses coarse-grained mapping, with the program unit as the mapping
    /// unit. If a unit is written in part, the rest is read first, from any pool. Requires `pools`.
    pub whole_units: bool,
    /// Bytes of a sub-request: the unit of consecutive pages that are destaged together in a device with
    /// several pools. The default is the size of a program in the first pool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sub_request: Option<Bytes>,
    /// DRAM for a cached map (DFTL). A size, such as `2MiB`, turns the cached map on. A cached entry takes 4
    /// B more than an entry in flash, for its logical page number. The map itself is in flash, in translation
    /// pages. A translation page is as large as a mapping unit and is taken from the over-provisioning. With
    /// several pools, translation pages are in the last pool. If absent, the whole map is in DRAM. The map of
    /// `whole_units` is always in DRAM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<Bytes>,
    /// Size of an entry of a translation page, which has the location of one logical page.
    pub entry: Bytes,
    /// Fraction of the cache that is reserved for entries used again after they were loaded (segmented LRU);
    /// 0 for LRU.
    pub protected: f64,
    /// Block-level mapping: a page has a fixed offset in the data block of its logical block, or in the
    /// replacement block. The mapping unit must be a program unit, and the placement static. If absent, pages
    /// have no fixed offsets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<BlockMapFile>,
}

/// Bytes of the logical page number in an entry of a cached map, which is not found by its position. Chosen
/// as in DFTL, which numbers pages with 32 bits.
const NUMBER_OF_PAGE: Bytes = Bytes(4);

impl Default for MappingFile {
    /// Entries of 4 B (DFTL, section 3.3: a page of 2 KiB has 512 entries). Chosen: LRU, as in MQSim.
    fn default() -> Self {
        Self {
            unit: None,
            whole_units: false,
            sub_request: None,
            cache: None,
            entry: Bytes(4),
            protected: 0.0,
            block: None,
        }
    }
}

impl MappingFile {
    /// Adds complaints about the map cache.
    pub fn check(&self, locations: &Locations, wrong: &mut Complaints) {
        let Self { cache, entry, protected, .. } = *self;
        wrong.require(
            [4, 8].contains(&entry.0) && entry < locations.size,
            "ftl.mapping.entry",
            entry,
            "4B or 8B",
        );
        wrong.require(
            (0.0..1.0).contains(&protected),
            "ftl.mapping.protected",
            protected,
            "a fraction from 0 to below 1",
        );
        let least = (entry + NUMBER_OF_PAGE) * 2;
        let fits = cache.is_none_or(|cache| (least..=Bytes::gib(64)).contains(&cache));
        wrong.require(
            fits,
            "ftl.mapping.cache",
            cache.unwrap_or_default(),
            format!("from two entries ({least}) to 64GiB"),
        );
    }

    /// Translation pages for this many logical pages; 0 if the map is in memory.
    pub fn translation_pages(&self, unit: Bytes, logical_pages: u32) -> u32 {
        let Self { cache, entry, .. } = *self;
        let per_page = unit.0 / entry.0.max(1);
        if cache.is_some() { u64::from(logical_pages).div_ceil(per_page.max(1)) as u32 } else { 0 }
    }

    /// DRAM for the map of this many logical pages, and of `units` units with coarse-grained mapping.
    pub fn memory(&self, unit: Bytes, logical_pages: u32, units: u32) -> Bytes {
        let pages = match self.cache {
            None => self.entry * u64::from(logical_pages),
            Some(cache) => cache + self.entry * u64::from(self.translation_pages(unit, logical_pages)),
        };
        pages + self.entry * u64::from(units)
    }

    /// Cache size of the map of this many logical pages; `None` if the whole map is in memory.
    pub fn cache_size(&self, unit: Bytes, logical_pages: u32) -> Option<CacheSize> {
        let Self { cache, entry, protected, .. } = *self;
        let entries = (cache?.0 / (entry + NUMBER_OF_PAGE).0).min(logical_pages.max(2).into()) as u32;
        Some(CacheSize {
            entries,
            protected: (f64::from(entries) * protected) as u32,
            per_table: (unit.0 / entry.0) as u32,
            tables: self.translation_pages(unit, logical_pages),
        })
    }
}

impl RecoveryFile {
    /// Adds complaints about checkpoints of a device.
    pub(crate) fn check(&self, file: &BackEndFile, wrong: &mut Complaints) {
        let Self { checkpoint: Some(every), discards, .. } = *self else { return };
        let key = "ftl.recovery.checkpoint";
        wrong.require(every >= Bytes::kib(64), key, every, "at least 64KiB");
        for (is_wrong, found, wanted) in [
            (discards != DiscardsAtCut::Kept, "it beside discards = \"forgotten\"", "discards = \"kept\""),
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
    pub(crate) fn discard_pages(
        &self,
        file: &BackEndFile,
        pools: &Pools,
        unit: Bytes,
        logical_pages: u32,
    ) -> u32 {
        let protected = file.keeps_memory;
        if self.discards_can_return() || protected {
            return 0;
        }
        let directory = self.directory_pages(&file.ftl.mapping, pools, unit, logical_pages);
        discards::pages(logical_pages, unit, file) + directory
    }

    /// Number of pages of the directory that a checkpoint writes. The directory has the locations of all
    /// translation pages, and of the units of a pool with coarse-grained mapping, whose map is in memory. 0
    /// if the whole map is in memory: a checkpoint then writes the locations of all logical pages.
    fn directory_pages(&self, mapping: &MappingFile, pools: &Pools, unit: Bytes, logical_pages: u32) -> u32 {
        if mapping.cache.is_none() || self.checkpoint.is_none() {
            return 0;
        }
        let per_unit = pools.first().locations.per_program;
        let units = if mapping.whole_units { logical_pages.div_ceil(per_unit) } else { 0 };
        let entries = mapping.translation_pages(unit, logical_pages) + units;
        u64::from(entries).div_ceil((unit.0 / mapping.entry.0.max(1)).max(1)) as u32
    }
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
        file.ftl.recovery.discard_pages(file, pools, *unit, *logical_pages)
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
