//! The horizontal layers of blocks; the cells of one layer have similar properties.
//!
//! The vertical channels of a 3D part are wider at the top than at the bottom. Cells of one layer therefore
//! need the same parameters, and cells of different layers do not (cubeFTL, section 3). A block of a planar
//! part is one layer.

use std::ops::Range;

use wordline_kernel::id;

use crate::CellMode;
use crate::geometry::{BlockSetId, Geometry, PageId};
use crate::pools::{Pool, Pools};

id!(
    /// A horizontal layer of a block of one plane, counted over the device: the layers of a [`BlockSetId`]
    /// have consecutive numbers, plane by plane.
    LayerId
);

/// Maps each page to its layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Layers {
    pools: Vec<PoolLayers>,
    count: u32,
}

/// The layers of the blocks of a pool.
#[derive(Clone, Debug, PartialEq)]
struct PoolLayers {
    geometry: Geometry,
    /// The number of its first layer.
    first: u32,
    /// Layers of a block of one plane.
    per_block: u32,
    word_lines_per_layer: u32,
    /// The layer of each page of a block.
    of_page: Vec<u16>,
}

impl PoolLayers {
    fn new(pool: &Pool, first: u32) -> Self {
        let Pool { part, geometry, .. } = pool;
        let word_lines_per_layer = part.word_lines_per_layer();
        let layer = |page| (part.pages().word_line(page) / word_lines_per_layer) as u16;
        Self {
            geometry: *geometry,
            first,
            per_block: part.pages().word_lines().div_ceil(word_lines_per_layer),
            word_lines_per_layer,
            of_page: (0..geometry.pages_per_block).map(layer).collect(),
        }
    }

    fn per_block_set(&self) -> u32 {
        self.geometry.planes_per_row * self.per_block
    }

    fn first_of(&self, block: BlockSetId) -> u32 {
        self.first + (block.0 - self.geometry.first.block) * self.per_block_set()
    }
}

impl Layers {
    /// The layers of a device.
    pub fn of(pools: &Pools) -> Self {
        let mut all = Self { pools: Vec::with_capacity(pools.count()), count: 0 };
        for pool in pools.iter() {
            let pool = PoolLayers::new(pool, all.count);
            all.count += pool.geometry.block_sets() * pool.per_block_set();
            all.pools.push(pool);
        }
        all
    }

    /// Number of layers of the device, over all blocks.
    pub fn count(&self) -> usize {
        self.count as usize
    }

    /// The last pool for which `begins` is true.
    fn pool(&self, begins: impl Fn(&PoolLayers) -> bool) -> &PoolLayers {
        self.pools.iter().rfind(|pool| begins(pool)).expect("the first pool begins at 0")
    }

    /// The layer of `page` in a block of this mode: word lines have one page in SLC mode and two in MLC mode.
    pub fn layer_of(&self, page: PageId, mode: CellMode) -> LayerId {
        let pool = self.pool(|pool| pool.geometry.first.page <= page.0);
        let (block, offset) = pool.geometry.split(page);
        let plane = offset % pool.geometry.planes_per_row;
        let page = pool.geometry.page_in_block(offset);
        let layer = match mode {
            CellMode::Native => u32::from(pool.of_page[page as usize]),
            // Numbers beyond the word lines have no page, but can be sensed nevertheless.
            mode => (page / mode.bits(1) / pool.word_lines_per_layer).min(pool.per_block - 1),
        };
        LayerId(pool.first_of(block) + plane * pool.per_block + layer)
    }

    /// The layers of a block set, in all its planes.
    pub fn of_block(&self, block: BlockSetId) -> Range<u32> {
        let pool = self.pool(|pool| pool.geometry.first.block <= block.0);
        let first = pool.first_of(block);
        first..first + pool.per_block_set()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Layout;
    use crate::part::Part;
    use crate::part::tests::mqsim_file;

    fn part(layers: u32) -> Part {
        let mut file = mqsim_file();
        file.geometry.layers = layers;
        file.check().expect("the part is sound")
    }

    fn layers(layers: u32) -> (Layers, Geometry) {
        let part = part(layers);
        let geometry = Layout::on_one_channel(1, None).check(&part).expect("the layout is sound");
        (Layers::of(&Pools::of_pages(part, geometry)), geometry)
    }

    #[test]
    fn the_layers_of_a_planar_part_are_its_blocks_in_each_plane() {
        let (layers, geometry) = layers(1);
        assert_eq!(layers.count() as u32, geometry.block_sets() * 2);
        for page in (0..geometry.pages()).map(PageId) {
            let block = geometry.block_of(page);
            assert_eq!(layers.layer_of(page, CellMode::Native), LayerId(block.0 * 2 + page.0 % 2));
        }
    }

    #[test]
    fn the_word_lines_of_a_block_are_divided_among_its_layers() {
        // Eight pages of two bits: four word lines, two on each layer.
        let (layers, geometry) = layers(2);
        let third = geometry.page(BlockSetId(3), 0).0;
        let of = |page: u32, plane| layers.layer_of(PageId(third + 2 * page + plane), CellMode::Native).0;
        let first = layers.of_block(BlockSetId(3)).start;
        assert_eq!(layers.of_block(BlockSetId(3)), first..first + 4);
        for page in 0..8 {
            let layer = page / 4;
            assert_eq!((of(page, 0), of(page, 1)), (first + layer, first + 2 + layer), "page {page}");
        }
        let slc = |page: u32| layers.layer_of(PageId(third + 2 * page), CellMode::Slc).0;
        assert_eq!([0, 1, 2, 3, 7].map(slc), [first, first, first + 1, first + 1, first + 1]);
    }

    #[test]
    fn the_layers_of_a_second_pool_follow_those_of_the_first() {
        let geometry = Layout::on_one_channel(1, None).check(&part(1)).expect("the layout is sound");
        let mut pools = Pools::of_pages(part(1), geometry);
        pools.add(Pool { part: part(2), geometry, locations: crate::Locations::of_pages(&geometry) }, 1);
        let layers = Layers::of(&pools);
        // Sixteen blocks of two planes; the blocks of one part have one layer, those of the other have two.
        assert_eq!(layers.count(), 32 + 64);
        assert_eq!((layers.of_block(BlockSetId(15)), layers.of_block(BlockSetId(16))), (30..32, 32..36));
        assert_eq!(layers.layer_of(PageId(16 * 16 - 1), CellMode::Native), LayerId(31));
        assert_eq!(
            [0, 1, 14, 15].map(|n| layers.layer_of(PageId(256 + n), CellMode::Native).0),
            [32, 34, 33, 35]
        );
    }
}
