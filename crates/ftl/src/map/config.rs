//! Keys of `[ftl.mapping]`, and sizes derived from them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Complaints};
use wordline_nand::Locations;

use super::block_map::config::BlockMapFile;
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
