//! State of a pool: its GC watermarks, counts of valid pages, cell modes, program order and superblocks.

use wordline_kernel::{Column, state};
use wordline_nand::{BlockSetId, CellMode, PlaneGroupId};

use super::block::BlockMode;
use super::modes::ModeBlocks;
use super::program_order::Order;
use super::reprogram::Reprogram;
use super::super_blocks::SuperBlocks;
use super::{Block, State, StreamId, Streams};

/// Properties shared by the plane groups of a pool.
pub(super) struct PoolBlocks {
    /// Free blocks of each plane group that only GC may open; see [`Streams::reserved_blocks`].
    pub kept: usize,
    /// Blocks of each plane group that are not available for data; see [`Streams::active_blocks`].
    pub at_work: u32,
    /// GC watermarks: GC starts below the first number of free blocks and stops at the second.
    pub marks: [usize; 2],
    /// Whether GC counts as free space the locations that blocks in non-native modes cannot hold.
    pub counts_programs: bool,
    /// Pages of a program unit, if a unit has one map entry; `None` if each page has an entry.
    pub whole_unit: Option<u32>,
    /// Valid pages.
    pub valid: u64,
    /// Pages that will be programmed in this pool and have no location in it yet. Not counted for the first
    /// pool.
    pub on_their_way: u64,
    /// Number of valid pages above which host pages are migrated to the first pool.
    pub most: u64,
    /// Blocks in each cell mode other than the native one.
    pub modes: Vec<ModeBlocks>,
    /// `None` if word lines are programmed in numerical order.
    pub order: Option<Box<Order>>,
    /// `None` if no word line is reprogrammed.
    pub again: Option<Box<Reprogram>>,
    /// `None` if blocks are collected one by one.
    pub super_blocks: Option<Box<SuperBlocks>>,
}

state!(PoolBlocks {
    values { valid, on_their_way, most }
    parts { order, again, super_blocks }
    lists { modes }
    fixed { kept, at_work, marks, counts_programs, whole_unit }
});

impl PoolBlocks {
    /// A pool without valid pages, mapped by page, whose word lines are programmed in order.
    pub fn new(streams: Streams) -> Self {
        Self {
            kept: streams.reserved_blocks(),
            at_work: streams.active_blocks(),
            marks: [0, 0],
            counts_programs: false,
            whole_unit: None,
            valid: 0,
            on_their_way: 0,
            most: u64::MAX,
            modes: Vec::new(),
            order: None,
            again: None,
            super_blocks: None,
        }
    }

    /// Blocks in the mode of this block; `None` for a native block.
    #[inline]
    fn in_mode_of(&mut self, known: &Block) -> Option<&mut ModeBlocks> {
        if self.modes.is_empty() {
            return None;
        }
        let mode = known.mode.into();
        self.modes.iter_mut().find(|blocks| blocks.mode() == mode)
    }

    /// Records that a block was opened for a stream, in a cell mode.
    pub fn opened(&mut self, row: PlaneGroupId, stream: StreamId, block: BlockSetId, mode: CellMode) {
        if let Some(all) = &mut self.super_blocks {
            all.open(row, stream.0.into(), block);
        }
        if let Some(blocks) = self.modes.iter_mut().find(|blocks| blocks.mode() == mode) {
            blocks.opened(row);
        }
    }

    /// Records that a block was closed.
    #[inline]
    pub fn closed(&mut self, row: PlaneGroupId, block: BlockSetId, known: &Block) {
        if let Some(blocks) = self.in_mode_of(known) {
            blocks.closed(row, block);
        }
        if let Some(all) = &mut self.super_blocks {
            all.closed(block);
        }
    }

    /// Records that a block becomes a victim. Called before its state changes.
    #[inline]
    pub fn note_victim(&mut self, row: PlaneGroupId, block: BlockSetId, known: &Block) {
        if let Some(blocks) = self.in_mode_of(known) {
            blocks.note_victim(row);
        }
        if let Some(all) = &mut self.super_blocks {
            all.leave(row, block, known);
        }
    }

    /// Records that a block is pending retirement or out of service. Called before its state changes.
    pub fn pending_retirement(&mut self, row: PlaneGroupId, block: BlockSetId, known: &Block) {
        if let Some(all) = &mut self.super_blocks {
            all.leave(row, block, known);
            all.remove(block);
        }
    }

    /// Returns a block that is erased or out of service to the native mode. Called before its state changes.
    #[inline]
    pub fn reset_mode(&mut self, row: PlaneGroupId, known: &mut Block) {
        let was_victim = known.state == State::Victim;
        if let Some(blocks) = self.in_mode_of(known) {
            blocks.left(row, was_victim);
        }
        known.mode = BlockMode::Native;
    }

    /// Records that a victim was erased or taken out of service. Called before its state changes.
    #[inline]
    pub fn note_collected(&mut self, row: PlaneGroupId, block: BlockSetId, known: &mut Block) {
        self.reset_mode(row, known);
        if let Some(again) = &mut self.again {
            again.forget_block(block);
        }
        if let Some(all) = &mut self.super_blocks {
            all.remove(block);
        }
    }

    /// Records that a plane group is out of service.
    pub fn fail_group(&mut self, row: PlaneGroupId) {
        if let Some(again) = &mut self.again {
            again.forget_row(row);
        }
        if let Some(all) = &mut self.super_blocks {
            all.fail_group(row);
        }
    }

    /// Rebuilds the superblocks after a power cut, from the blocks found.
    pub fn found(&mut self, table: &Column<BlockSetId, Block>) {
        if let Some(all) = &mut self.super_blocks {
            all.find(table);
        }
    }

    /// Resets everything that a power cut loses.
    pub fn forget(&mut self) {
        (self.valid, self.on_their_way, self.most) = (0, 0, u64::MAX);
        self.modes.iter_mut().for_each(ModeBlocks::forget);
        if let Some(again) = &mut self.again {
            again.forget();
        }
        if let Some(all) = &mut self.super_blocks {
            all.forget();
        }
    }
}
