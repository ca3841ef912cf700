//! Handling of failed commands: the failure policy decides what happens to the block, and the failed part of
//! a step is repeated.

use wordline_flash::Task;
use wordline_flash::policy::failure::{FailedOperation, Failure, FailureAction, MOST_FAILURES};
use wordline_nand::{BlockSetId, Location, Operation, PageId, PlaneGroupId};

use super::Gc;
use crate::base::Base;
use crate::blocks::State;
use crate::map::Map;

impl Gc {
    /// Queries the failure policy about a block in which an operation failed, and acts on the decision.
    pub(crate) fn failed(
        &mut self,
        failed: FailedOperation,
        block: BlockSetId,
        base: &mut Base,
        map: &mut Map,
    ) {
        if base.blocks.table().state(block) == State::Bad {
            return;
        }
        let times = &mut base.life.failures[block][failed as usize];
        *times = times.saturating_add(1);
        let times = *times;
        let erases = base.flash.chips().erases()[block];
        let failure = Failure { failed, block, times: u32::from(times), erases };
        let after =
            if times == MOST_FAILURES { FailureAction::Retire } else { base.failure_action(&failure) };
        if after != FailureAction::Continue {
            base.blocks.close(block);
        }
        if after == FailureAction::Retire && base.blocks.mark_for_retirement(block) {
            base.totals.grown_bad_blocks += 1;
            base.faults_at(block).grown_bad_blocks += 1;
            let row = base.blocks.table().group_of(block);
            if !map.pending_retirement(row, block) {
                self.mark_for_retirement(row, block);
            }
            map.check_end_of_life(base);
        }
    }

    /// Handles a program of a unit at `first` that failed or was rejected, for any engine. The data are still
    /// available elsewhere.
    pub(crate) fn program_failed(
        &mut self,
        failed: FailedOperation,
        first: Location,
        base: &mut Base,
        map: &mut Map,
    ) {
        let block = base.config.pools.block_of(first);
        if base.blocks.table().state(block) != State::Bad {
            if failed == FailedOperation::Rejected {
                base.totals.rejected_programs += 1;
            } else {
                base.totals.program_failures += 1;
                base.faults_at(block).program_failures += 1;
            }
            map.program_failed(base.blocks.table().group_of(block), block);
            self.failed(failed, block, base, map);
        }
    }

    /// Handles a failed program or erase of a GC step. After a program failure the pages, which are still in
    /// their victims, are programmed elsewhere. A failed erase is retried.
    pub(crate) fn step_failed(
        &mut self,
        failed: FailedOperation,
        row: PlaneGroupId,
        task: &Task,
        base: &mut Base,
        map: &mut Map,
    ) {
        if task.operation == Operation::Erase {
            self.erase_failed(task.page, base, map);
        } else {
            let first = task.location;
            let by_block = map.by_block().is_some();
            if matches!(task.operation, Operation::Copyback { .. }) && !by_block {
                self.collector.copyback_failed(row, base.config.pools.per_program(row));
            } else if !by_block {
                let stream = base.blocks.table().relocated_by(base.config.pools.block_of(first));
                self.collector.program_failed(row, stream.expect("the collector writes to its own streams"));
            }
            base.blocks.program_done(first);
            self.program_failed(failed, first, base, map);
        }
        if !map.command_done(row) {
            self.command_done(row);
        }
    }

    fn erase_failed(&mut self, page: PageId, base: &mut Base, map: &mut Map) {
        base.totals.erases += 1;
        let block = base.config.pools.block_of_page(page);
        if base.blocks.table().state(block) == State::Bad {
            return;
        }
        base.totals.erase_failures += 1;
        base.faults_at(block).erase_failures += 1;
        self.failed(FailedOperation::Erase, block, base, map);
        if base.blocks.table().is_pending_retirement(block) {
            self.collector.selected.take(block);
            base.blocks.retire(block);
            return;
        }
        let row = base.blocks.table().group_of(block);
        if !map.erase_again(row, block) {
            self.collector.erase_again(row, block);
        }
    }

    /// Queues a block for retirement.
    pub(crate) fn mark_for_retirement(&mut self, row: PlaneGroupId, block: BlockSetId) {
        self.collector.mark_for_retirement(row, block);
    }

    /// Records that a plane group is out of service.
    pub(crate) fn lose(&mut self, row: PlaneGroupId) {
        self.collector.lose(row);
    }
}
