//! The horizontal layers of the blocks, which cells of one kind make up.
//!
//! What the cells of a layer need is alike, what those of two layers need is not (cubeFTL, section 3): the vertical channels
//! of a 3D part are wider at the top than at the bottom. A block of a planar part is one layer.

use std::ops::Range;

use wordline_kernel::id;

use crate::Part;
use crate::geometry::{Geometry, PageId, RowBlockId};

id!(
    /// A horizontal layer of a block of one plane, counted over the device: those of a [`RowBlockId`] follow each other,
    /// plane by plane.
    LayerId
);

/// Which layer each page lies on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layers {
    geometry: Geometry,
    /// Layers of a block of one plane.
    per_block: u32,
    word_lines_per_layer: u32,
    /// The layer of each page of a block.
    of_page: Vec<u16>,
}

impl Layers {
    /// Those of a device of `part`.
    pub fn of(part: &Part, geometry: &Geometry) -> Self {
        let word_lines = part.pages().word_lines();
        let word_lines_per_layer = word_lines.div_ceil(part.geometry.layers);
        let layer = |page| (part.pages().word_line(page) / word_lines_per_layer) as u16;
        Self {
            geometry: *geometry,
            per_block: word_lines.div_ceil(word_lines_per_layer),
            word_lines_per_layer,
            of_page: (0..geometry.pages_per_block).map(layer).collect(),
        }
    }

    /// Layers of the device, over all blocks.
    pub fn count(&self) -> usize {
        (self.geometry.row_blocks() * self.per_row_block()) as usize
    }

    fn per_row_block(&self) -> u32 {
        self.geometry.planes_per_row * self.per_block
    }

    /// The layer that `page` lies on; `is_slc` says whether its block is in SLC mode, where each word line has one page.
    pub fn layer_of(&self, page: PageId, is_slc: bool) -> LayerId {
        let (block, offset) = self.geometry.split(page);
        let plane = offset % self.geometry.planes_per_row;
        let page = self.geometry.page_in_block(offset);
        let layer = match is_slc {
            // Numbers beyond the word lines name no page, but may be sensed all the same.
            true => (page / self.word_lines_per_layer).min(self.per_block - 1),
            false => u32::from(self.of_page[page as usize]),
        };
        LayerId(block.0 * self.per_row_block() + plane * self.per_block + layer)
    }

    /// The layers of a row block, in all its planes.
    pub fn of_block(&self, block: RowBlockId) -> Range<u32> {
        let first = block.0 * self.per_row_block();
        first..first + self.per_row_block()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Layout;
    use crate::part::tests::mqsim_file;

    fn layers(layers: u32) -> (Layers, Geometry) {
        let mut file = mqsim_file();
        file.geometry.layers = layers;
        let part = file.check().expect("the part is sound");
        let layout =
            Layout { channels: 1, packages_per_channel: 1, dies_per_package: 1, planes_per_row: None };
        let geometry = layout.check(&part).expect("the layout is sound");
        (Layers::of(&part, &geometry), geometry)
    }

    #[test]
    fn the_layers_of_a_planar_part_are_its_blocks_in_each_plane() {
        let (layers, geometry) = layers(1);
        assert_eq!(layers.count() as u32, geometry.row_blocks() * 2);
        for page in (0..geometry.pages()).map(PageId) {
            let block = geometry.block_of(page);
            assert_eq!(layers.layer_of(page, false), LayerId(block.0 * 2 + page.0 % 2));
        }
    }

    #[test]
    fn the_word_lines_of_a_block_are_divided_among_its_layers() {
        // Eight pages of two bits: four word lines, two on each layer.
        let (layers, geometry) = layers(2);
        let third = geometry.page(RowBlockId(3), 0).0;
        let of = |page: u32, plane| layers.layer_of(PageId(third + 2 * page + plane), false).0;
        let first = layers.of_block(RowBlockId(3)).start;
        assert_eq!(layers.of_block(RowBlockId(3)), first..first + 4);
        for page in 0..8 {
            let layer = page / 4;
            assert_eq!((of(page, 0), of(page, 1)), (first + layer, first + 2 + layer), "page {page}");
        }
        let slc = |page: u32| layers.layer_of(PageId(third + 2 * page), true).0;
        assert_eq!([0, 1, 2, 3, 7].map(slc), [first, first, first + 1, first + 1, first + 1]);
    }
}
