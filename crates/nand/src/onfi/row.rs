//! Row addresses: LUN, block and page in the bits of the row address cycles.

use super::Limit;
use crate::Part;

/// A decoded row address. `block` counts over all planes of the LUN, with the plane in its lowest bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    /// The LUN of the target.
    pub lun: u32,
    /// The block of the LUN, over all planes.
    pub block: u32,
    /// The page of the block.
    pub page: u32,
}

/// The layout of a target's row addresses: `lun << lun_shift | block << block_shift | page`. Each field has
/// as many bits as its maximum needs (Linux `drivers/mtd/nand/core.c`). If a count is not a power of two, the
/// numbers from the count on are holes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowAddressing {
    luns: u32,
    blocks: u32,
    pages: u32,
    planes: u32,
    block_shift: u32,
    lun_shift: u32,
}

/// Number of bits for values below `count`.
fn bits(count: u32) -> u32 {
    u32::BITS - count.saturating_sub(1).leading_zeros()
}

impl RowAddressing {
    /// The addressing of a target with `luns` LUNs of `part`.
    pub fn of(part: &Part, luns: u32) -> Self {
        let g = &part.geometry;
        let blocks = g.planes * g.blocks_per_plane;
        let block_shift = bits(g.pages_per_block);
        Self {
            luns,
            blocks,
            pages: g.pages_per_block,
            planes: g.planes,
            block_shift,
            lun_shift: bits(blocks) + block_shift,
        }
    }

    /// The LUN, block and page of a row address, or the component that the part does not have. Bits above the
    /// LUN number must be 0.
    pub fn split(&self, row: u32) -> Result<Row, Limit> {
        let row = u64::from(row);
        let field = |from: u32, width: u32| ((row >> from) & ((1 << width) - 1)) as u32;
        let page = field(0, self.block_shift);
        let block = field(self.block_shift, self.lun_shift - self.block_shift);
        let lun = (row >> self.lun_shift) as u32;
        if lun >= self.luns {
            return Err(Limit::NoSuchLun { lun, luns: self.luns });
        }
        self.check(Row { lun, block, page })
    }

    /// The LUN number in a row address, without a check.
    pub fn lun(&self, row: u32) -> u32 {
        (u64::from(row) >> self.lun_shift) as u32
    }

    /// `row` itself, or the component that the part does not have.
    pub fn check(&self, row: Row) -> Result<Row, Limit> {
        if row.block >= self.blocks {
            return Err(Limit::NoSuchBlock { block: row.block, blocks: self.blocks });
        }
        if row.page >= self.pages {
            return Err(Limit::Hole { row, pages: self.pages });
        }
        Ok(row)
    }

    /// The row address of `row`.
    pub fn join(&self, row: Row) -> u32 {
        // Computed in 64 bits: in the largest parts the LUN number lies above bit 31, and no address contains
        // it.
        ((u64::from(row.lun) << self.lun_shift) | (u64::from(row.block) << self.block_shift)) as u32
            | row.page
    }

    /// Number of row address cycles (ONFI: byte 101 of the parameter page). It is four if three cycles cannot
    /// address all rows of the part, otherwise three.
    pub fn cycles(&self) -> usize {
        (self.width().div_ceil(8) as usize).clamp(3, 4)
    }

    /// The address cycles of `row`, R1 first, without a check.
    pub fn encode(&self, row: Row) -> Vec<u8> {
        self.join(row).to_le_bytes()[..self.cycles()].to_vec()
    }

    /// A component of `row` that overflows its bits: its name, its value and its maximum.
    pub fn find_overflow(&self, row: Row) -> Option<(&'static str, u32, u32)> {
        let most = |bits: u32| (u64::from(u32::MAX) >> (u32::BITS - bits)) as u32;
        let page = ("page", row.page, most(self.block_shift));
        let block = ("block", row.block, most(self.lun_shift - self.block_shift));
        let lun = ("LUN", row.lun, most((8 * self.cycles() as u32).saturating_sub(self.lun_shift)));
        [lun, block, page].into_iter().find(|(_, found, most)| found > most)
    }

    /// The plane of `row`: the lowest bits of the block address.
    pub fn plane(&self, row: Row) -> u32 {
        row.block % self.planes
    }

    /// Number of bits of a row address.
    pub fn width(&self) -> u32 {
        self.lun_shift + bits(self.luns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::tests::mqsim_file;

    fn addressing(planes: u32, blocks: u32, pages: u32, bits_per_cell: u32, luns: u32) -> RowAddressing {
        let mut file = mqsim_file();
        file.geometry.planes = planes;
        file.geometry.blocks_per_plane = blocks / planes;
        file.geometry.pages_per_block = pages;
        file.geometry.bits_per_cell = bits_per_cell;
        RowAddressing::of(&file.check().expect("the part is sound"), luns)
    }

    /// Worked out by hand from the shifts of Linux `drivers/mtd/nand/core.c`.
    #[test]
    fn rows_are_built_as_linux_builds_them() {
        let binary = addressing(2, 2_048, 128, 1, 2);
        let row = Row { lun: 1, block: 5, page: 3 };
        assert_eq!(binary.join(row), 0x40283);
        assert_eq!(binary.split(0x40283), Ok(row));
        assert_eq!(binary.plane(row), 1);
        let tlc = addressing(2, 2_048, 1_152, 3, 1);
        let row = Row { lun: 0, block: 1_005, page: 1_151 };
        assert_eq!(tlc.join(row), 0x1f_6c7f);
        assert_eq!(tlc.split(0x1f_6c7f), Ok(row));
    }

    #[test]
    fn the_hole_above_the_last_page_is_refused() {
        let tlc = addressing(2, 2_048, 1_152, 3, 1);
        let row = Row { lun: 0, block: 1_005, page: 1_152 };
        assert_eq!(tlc.split(0x1f_6c80), Err(Limit::Hole { row, pages: 1_152 }));
        assert!(tlc.split(0x1f_6fff).is_err(), "the hole goes up to the next block");
        assert_eq!(tlc.split(0x1f_7000), Ok(Row { lun: 0, block: 1_006, page: 0 }));
    }

    #[test]
    fn blocks_and_luns_that_do_not_exist_are_refused() {
        let part = addressing(3, 1_500, 128, 1, 2);
        assert_eq!(part.split(1_500 << 7), Err(Limit::NoSuchBlock { block: 1_500, blocks: 1_500 }));
        assert_eq!(part.split(2 << 18), Err(Limit::NoSuchLun { lun: 2, luns: 2 }));
        assert_eq!(part.split(u32::MAX), Err(Limit::NoSuchLun { lun: 0x3fff, luns: 2 }));
    }

    #[test]
    fn every_row_reads_back() {
        let part = addressing(2, 6, 24, 3, 3);
        for lun in 0..3 {
            for block in 0..6 {
                for page in 0..24 {
                    let row = Row { lun, block, page };
                    assert_eq!(part.split(part.join(row)), Ok(row));
                }
            }
        }
    }
}
