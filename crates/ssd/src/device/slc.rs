//! What the host writes into the SLC cache: which rows take it there, and in which units.

use wordline_kernel::state;
use wordline_nand::{BlockSetId, PageId};

use super::Device;
use crate::Config;
use crate::ftl::blocks::{SlcShare, StreamId};
use crate::policy::placement::{Row, RowSet};

/// The stream of the host that goes to blocks in SLC mode.
#[derive(Clone, Debug)]
pub(super) struct Cached {
    /// Its number.
    pub stream: usize,
    /// Slots of a program in SLC mode.
    pub unit: u32,
    /// Rows that take such a program now.
    pub rows: RowSet,
}

state!(Cached { values { rows } fixed { stream, unit } });

impl Cached {
    pub fn new(share: &SlcShare, config: &Config) -> Self {
        Self { stream: usize::from(share.stream.0), unit: share.unit, rows: RowSet::new(config.pools.rows()) }
    }

    /// Whether a list's pages go to a row that caches them.
    #[inline]
    fn caches(&self, list: usize) -> bool {
        self.stream == list && !self.rows.is_empty()
    }
}

impl Device {
    /// Works out whether `row` takes a program in SLC mode.
    #[inline(never)]
    pub(super) fn note_slc(&mut self, row: Row) {
        let Self { slc, accepting, blocks, .. } = self;
        if let Some(slc) = slc {
            let is_slc = blocks.writes_slc(row, StreamId(slc.stream as u8));
            slc.rows.set(row, is_slc && accepting[slc.stream].contains(row));
        }
    }

    /// Complete pages that make a program unit of a list, where rows cache it or where they do not.
    #[inline]
    pub(super) fn unit_of(&self, list: usize) -> u32 {
        match &self.slc {
            Some(slc) if slc.caches(list) => slc.unit,
            _ => self.config.pools.get(super::sub_requests::pool_of(&self.subs, list)).slots.per_program,
        }
    }

    /// The row for the next program unit of a list: one that caches it is preferred.
    #[inline]
    pub(super) fn next_row_of(&mut self, list: usize) -> Row {
        let Self { policies, slc, accepting, .. } = self;
        let rows = match slc {
            Some(slc) if slc.caches(list) => &slc.rows,
            _ => &accepting[list],
        };
        let row = policies.placement.next(rows).expect("a row accepts");
        assert!(rows.contains(row), "the placement chose row {row}, which is busy or full");
        row
    }

    /// Whether a row takes larger program units of a list than it did when it was last looked at.
    #[inline]
    pub(super) fn is_outgrown(&mut self, row: Row, list: usize, unit: u32) -> bool {
        let outgrown = self.slc.is_some() && self.blocks.unit(row, StreamId(list as u8)) > unit;
        if outgrown {
            self.note_row(row);
        }
        outgrown
    }

    /// Erased blocks are in no mode.
    pub(super) fn set_modes(&mut self) {
        for block in self.config.pools.all_blocks() {
            if !self.blocks.is_slc(block) && self.flash.chips().programmed(block) == 0 {
                self.flash.set_slc(block, false);
            }
        }
    }

    /// Counts the pages of the collector's unit that come out of blocks in SLC mode.
    pub(super) fn count_folded(&mut self, row: Row) {
        if self.blocks.has_slc_cache() {
            let from_cache = self.collector.unit(row).iter();
            let pools = &self.config.pools;
            let from_cache = from_cache.filter(|moved| self.blocks.is_slc(pools.block_of(moved.from)));
            self.totals.folded += from_cache.count() as u64;
        }
    }

    /// Puts a block into the mode that it was opened in.
    #[inline]
    pub(super) fn set_mode(&mut self, page: PageId) {
        if self.blocks.has_slc_cache() {
            let block: BlockSetId = self.config.pools.block_of_page(page);
            let is_slc = self.blocks.is_slc(block);
            self.flash.set_slc(block, is_slc);
        }
    }

    /// Blocks in SLC mode that are not being folded.
    pub fn cached_blocks(&self) -> u32 {
        (0..self.config.pools.rows()).map(|row| self.blocks.cached(row)).sum()
    }
}
