//! The keys of `[ftl.mapping]`, and what follows from them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Complaints};
use wordline_nand::{Locations, Pools};

use super::block_map::config::BlockMapFile;
use super::checkpoint::{DiscardsAtCut, RecoveryFile};
use super::discards;
use crate::config::{Config, DeviceFile, Protection};
use crate::policy::mapper::CacheSize;

/// The map from logical to physical places.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MappingFile {
    /// The unit of the map: a page divided by a power of two, down to a sector, or a number of pages of which a
    /// program unit is a multiple. A smaller write is completed by a read of the rest. Left out: a page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<Bytes>,
    /// Whether the first of several pools is mapped by program units: what is written of one is completed to a whole one
    /// by reads of the rest, from wherever it is. Wants `pools` beside it.
    pub whole_units: bool,
    /// The size of the units whose pages leave the buffer together in a device with several pools, in consecutive bytes.
    /// Left out: the size of a program of the first pool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sub_request: Option<Bytes>,
    /// DRAM for the map: a size, such as `2MiB`, turns the cached map (DFTL) on. An entry takes 4 B more there than in flash for the logical
    /// page that it is of. The map itself is in translation pages of the flash, as large as a mapping unit and taken from the over-provisioning; those of
    /// several pools are in the last one. Left out: the whole map is in DRAM, where the map of `whole_units` is always.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<Bytes>,
    /// Size of an entry of a translation page: the place of one logical page.
    pub entry: Bytes,
    /// Fraction of the cache that is kept for entries that were used again since they came in (segmented LRU); 0 for
    /// LRU.
    pub protected: f64,
    /// A map by whole blocks: each page has its place in the block of its logical block, or in a replacement block. Wants
    /// one program unit as mapping unit, and a fixed placement. Left out: pages may be anywhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<BlockMapFile>,
}

/// Bytes of the number of a logical page, beside each entry of a cached map: a map of entries without their numbers can
/// be looked up by position only. Chosen as in DFTL, whose pages are numbered with 32 bits.
const NUMBER_OF_PAGE: Bytes = Bytes(4);

impl Default for MappingFile {
    /// Entries of 4 B (DFTL: 512 of them in a page of 2 KiB; section 3.3). Chosen: LRU, as MQSim has it.
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
    /// Adds what is wrong with the cache.
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

    /// Translation pages that hold the places of this many logical pages; none if they are in memory.
    pub fn translation_pages(&self, unit: Bytes, logical_pages: u32) -> u32 {
        let Self { cache, entry, .. } = *self;
        let per_page = unit.0 / entry.0.max(1);
        if cache.is_some() { u64::from(logical_pages).div_ceil(per_page.max(1)) as u32 } else { 0 }
    }

    /// DRAM for the map of this many logical pages, and of this many units that have a map of their own.
    pub fn memory(&self, unit: Bytes, logical_pages: u32, units: u32) -> Bytes {
        let pages = match self.cache {
            None => self.entry * u64::from(logical_pages),
            Some(cache) => cache + self.entry * u64::from(self.translation_pages(unit, logical_pages)),
        };
        pages + self.entry * u64::from(units)
    }

    /// The cache of the map of this many logical pages; none if all of it is in memory.
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

impl DeviceFile {
    /// Adds what is wrong with checkpoints.
    pub(crate) fn check_checkpoint(&self, wrong: &mut Complaints) {
        let RecoveryFile { checkpoint: Some(every), discards, .. } = self.ftl.recovery else { return };
        let key = "ftl.recovery.checkpoint";
        wrong.require(every >= Bytes::kib(64), key, every, "at least 64KiB");
        for (is_wrong, found, wanted) in [
            (discards != DiscardsAtCut::Kept, "it beside discards = \"forgotten\"", "discards = \"kept\""),
            (
                self.buffer.power_loss_protection != Protection::None,
                "it beside buffer.power_loss_protection",
                "no protection, which keeps the memory",
            ),
        ] {
            wrong.require(!is_wrong, key, found, wanted);
        }
    }

    /// Pages that tell which of this many logical pages are discarded, and with checkpoints where translation pages are; none if
    /// flash does not.
    pub(crate) fn discard_pages(&self, pools: &Pools, unit: Bytes, logical_pages: u32) -> u32 {
        let protected = self.buffer.power_loss_protection != Protection::None;
        if self.ftl.recovery.discards == DiscardsAtCut::Forgotten || protected {
            return 0;
        }
        discards::pages(logical_pages, unit, self) + self.directory_pages(pools, unit, logical_pages)
    }

    /// Pages of the directory that a checkpoint writes: the place of each translation page, and of each unit of a pool that is mapped by
    /// whole units, whose map is in memory. None if the whole map is: a checkpoint has the places of all logical pages then.
    fn directory_pages(&self, pools: &Pools, unit: Bytes, logical_pages: u32) -> u32 {
        let mapping = &self.ftl.mapping;
        if mapping.cache.is_none() || self.ftl.recovery.checkpoint.is_none() {
            return 0;
        }
        let per_unit = pools.first().locations.per_program;
        let units = if mapping.whole_units { logical_pages.div_ceil(per_unit) } else { 0 };
        let entries = mapping.translation_pages(unit, logical_pages) + units;
        u64::from(entries).div_ceil((unit.0 / mapping.entry.0.max(1)).max(1)) as u32
    }
}

impl Config {
    /// Pages of which the flash holds a version: logical pages and pages of tables, with those that are left out between the two.
    pub fn mapped_pages(&self) -> u32 {
        match self.file.discard_pages(&self.pools, self.unit, self.logical_pages) {
            0 => self.logical_pages + self.translation_pages(),
            discards => self.first_discard_page() + discards,
        }
    }

    /// The number of the first page that tells of discards, counted as a logical page. Where blocks are mapped it begins a logical
    /// block, so that nothing of the host is merged because the table changed.
    pub fn first_discard_page(&self) -> u32 {
        match self.file.ftl.mapping.block {
            Some(_) => self.logical_pages.next_multiple_of(self.locations().per_block()),
            None => self.logical_pages + self.translation_pages(),
        }
    }

    /// Logical blocks: as many logical pages each as a block set has locations, and those of pages of tables.
    pub fn logical_blocks(&self) -> u32 {
        self.mapped_pages().div_ceil(self.locations().per_block())
    }
}
