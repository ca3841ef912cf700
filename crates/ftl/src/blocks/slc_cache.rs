//! Configuration of an SLC cache: blocks of a multi-bit part that take host writes in SLC mode, which is
//! fast. Later the pages are folded: relocated to native blocks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Complaints};
use wordline_nand::{Geometry, Locations, Part};

/// Blocks in SLC mode. The router selects the writes that go there.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SlcCacheFile {
    /// Blocks of each plane group reserved for the cache (the static part of the cache).
    pub blocks: u32,
    /// Dynamic part of the cache: the fraction of the other spare blocks of a plane group that the cache may
    /// use too. The other spare blocks are neither active nor counted in `blocks`, and their number shrinks
    /// as the device fills. The cache opens them only while the plane group has more free blocks than the GC
    /// start watermark.
    pub spare: f64,
    /// Data that the cache holds on an erased device, such as `100GB`. `spare` follows from it, and its own
    /// value does not matter. Only in the first pool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// Number of blocks in the cache of a plane group above which the oldest ones are folded even while the
    /// host is active. If absent, blocks are folded only if the plane group needs free blocks, or while the
    /// host is idle (`ftl.gc.background`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fold_above: Option<u32>,
}

impl Default for SlcCacheFile {
    /// Chosen: one block to be open, and one to be folded.
    fn default() -> Self {
        Self { blocks: 2, spare: 0.0, size: None, fold_above: None }
    }
}

impl SlcCacheFile {
    /// Adds complaints about these settings, below `key`, on these chips.
    pub fn check(
        &self,
        key: &str,
        part: &Part,
        locations: &Locations,
        geometry: &Geometry,
        wrong: &mut Complaints,
    ) {
        wrong.require(
            (0.0..=1.0).contains(&self.spare),
            &format!("{key}.spare"),
            self.spare,
            "a fraction from 0 to 1",
        );
        wrong.require(
            self.blocks > 0 || self.spare > 0.0,
            &format!("{key}.blocks"),
            self.blocks,
            format!("at least 1, or {key}.spare above 0"),
        );
        let blocks = geometry.blocks_per_plane;
        wrong.require(
            self.blocks < blocks,
            &format!("{key}.blocks"),
            self.blocks,
            format!("fewer than the {blocks} blocks of a plane group"),
        );
        wrong.require(
            part.timing.slc.is_some() && part.geometry.bits_per_cell > 1,
            key,
            format!("the part {}", part.name),
            "a part of several bits a cell with an SLC mode: part.timing.slc",
        );
        let pages = geometry.planes_per_row;
        wrong.require(
            pages.is_multiple_of(locations.pages()),
            "ftl.mapping.unit",
            locations.size,
            format!(
                "at most the {pages} pages that a program in SLC mode writes, which are a multiple of it"
            ),
        );
    }
}

impl SlcCacheFile {
    /// Sets the share of spare blocks by the size. Of the blocks of a plane group, `active` are not spare, and
    /// the cache leaves `free` for GC.
    pub fn set_share(
        &mut self,
        part: &Part,
        geometry: &Geometry,
        [active, free]: [u32; 2],
        wrong: &mut Complaints,
    ) {
        let Some(size) = self.size else { return };
        let bits = f64::from(part.geometry.bits_per_cell);
        let block = (geometry.capacity().0 / u64::from(geometry.blocks_per_plane)) as f64 / bits;
        let without =
            |kept: u32| f64::from(geometry.blocks_per_plane.saturating_sub(kept.saturating_add(self.blocks)));
        let others = without(active);
        let fixed = f64::from(self.blocks);
        // Written data take spare blocks from the cache, and a block in SLC mode holds less of them.
        let dynamic = size.0 as f64 / block - fixed;
        // The last block is opened when the others are full. Numbers of blocks are rounded down.
        let share = dynamic * (1.0 + 1e-9) / (others - ((dynamic - 1.0).max(0.0) / bits).ceil());
        let most = fixed + without(active.max(free)) / (1.0 + 1.0 / bits);
        let [least, most] = [fixed, most].map(|of| Bytes((of * block) as u64));
        let wanted = format!("from {least} (`blocks`) to {most} (all spare blocks)");
        let fits = (least..=most).contains(&size);
        wrong.require(fits, "ftl.slc_cache.size", size, wanted);
        if fits {
            self.spare = share.clamp(0.0, 1.0);
        }
    }
}
