//! Configuration of MLC-mode blocks in a part with more bits in a cell. Word lines of such a block can be
//! reprogrammed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::Complaints;
use wordline_nand::onfi::LunTimes;
use wordline_nand::{CellMode, Pool};

use crate::policy::frontier::WordLines;

/// Blocks in MLC mode, for streams that a design opens in this mode.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TwoBitFile {
    /// Blocks of each plane group reserved for the mode.
    pub blocks: u32,
    /// Limit of further blocks in the mode, beyond `blocks`, in each plane group. It is a multiple of the
    /// other spare blocks: the spare blocks of the plane group that are neither active nor counted in
    /// `blocks`. A block in the mode gives up only a part of its capacity, so the multiple may exceed 1.
    /// Further blocks are opened only while the plane group has more free blocks than the GC start watermark.
    /// If absent, there is no limit. Host streams then always open blocks in the mode. GC streams open them
    /// while the plane group has more free blocks than the watermark.
    pub spare: Option<f64>,
}

impl Default for TwoBitFile {
    /// Chosen: one block to be open, and one to be collected.
    fn default() -> Self {
        Self { blocks: 2, spare: None }
    }
}

impl TwoBitFile {
    /// Adds complaints about these settings, below `key`, on these chips.
    ///
    /// Word lines may be reprogrammed up to `again` times.
    pub fn check(&self, key: &str, again: u8, pool: &Pool, wrong: &mut Complaints) {
        let Pool { part, geometry, locations } = pool;
        let pages = locations.pages();
        let bits = geometry.bits_per_cell();
        if !part.has_mode(CellMode::Mlc) {
            let found = format!("the part {}", part.name);
            wrong.add(
                key,
                found,
                "a one-shot part of three bits a cell or more with the time part.timing.reprogram",
            );
            return;
        }
        // A word line in the mode holds two of its `bits` pages. `bits / (bits - 2)` blocks in the mode give
        // up the capacity of one spare block.
        let most = f64::from(bits) / f64::from(bits - 2);
        let wanted = format!("from 0 to {most}: a block in the mode gives up {} of {bits} pages", bits - 2);
        let spare = self.spare.unwrap_or(most);
        wrong.require((0.0..=most).contains(&spare), &format!("{key}.spare"), spare, wanted);
        let wanted = format!("at least 1, or {key}.spare above 0");
        wrong.require(self.blocks > 0 || spare > 0.0, &format!("{key}.blocks"), self.blocks, wanted);
        let blocks = geometry.blocks_per_plane;
        let wanted = format!("fewer than the {blocks} blocks of a plane group");
        wrong.require(self.blocks < blocks, &format!("{key}.blocks"), self.blocks, wanted);
        let most = LunTimes::of(part).reprograms;
        wrong.require(
            u32::from(again) <= most,
            "designs",
            format!("a stream in {}", CellMode::Reprogrammed(again)),
            format!("at most {most} times, which the word lines of the part {} tolerate", part.name),
        );
        let shape = WordLines::of(part, geometry);
        wrong.require(
            again == 0 || shape.count() * bits == geometry.pages_per_block,
            "designs",
            format!("a stream in {}, with the part {}", CellMode::Reprogrammed(again), part.name),
            "a part with as many word lines in each layer",
        );
        let planes = geometry.planes_per_row;
        wrong.require(
            planes.is_multiple_of(pages),
            "ftl.mapping.unit",
            format!("{pages} pages"),
            format!("a divisor of the {planes} pages that a word line in MLC mode takes again at once"),
        );
    }
}
