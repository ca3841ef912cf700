//! Failed commands of GC: the failed part of a step is repeated.

use wordline_flash::Task;
use wordline_nand::{BlockSetId, Operation, PlaneGroupId};

use super::Gc;
use crate::blocks::BlockManager;

impl Gc {
    /// Stages the pages of a failed program or copyback again.
    pub fn relocation_failed(&mut self, row: PlaneGroupId, task: &Task, blocks: &BlockManager) {
        if matches!(task.operation, Operation::Copyback { .. }) {
            self.collector.rows[row].copyback_failed(blocks.pools().per_program(row));
        } else {
            let block = blocks.pools().block_of(task.location);
            let stream = blocks.table().opened_by(block).gc();
            self.collector.rows[row].program_failed(stream.expect("the collector writes to its own streams"));
        }
    }

    /// Queues a block for another erase, after an erase of it failed.
    pub fn erase_again(&mut self, row: PlaneGroupId, block: BlockSetId) {
        self.collector.rows[row].read.push_back(block);
    }

    /// Forgets a victim that goes out of service.
    pub fn drop_victim(&mut self, block: BlockSetId) {
        self.collector.selected.take(block);
    }

    /// Queues a block for retirement.
    pub fn mark_for_retirement(&mut self, row: PlaneGroupId, block: BlockSetId) {
        self.collector.mark_for_retirement(row, block);
    }

    /// Records that a plane group is out of service.
    pub fn lose(&mut self, row: PlaneGroupId) {
        self.collector.lose(row);
    }
}
