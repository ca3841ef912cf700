//! Failed programs and erases: the failure policy decides what happens to the block, and the failed part of a GC
//! step is repeated.

use wordline_flash::Task;
use wordline_flash::policy::failure::{FailedOperation, Failure, FailureAction, MOST_FAILURES};
use wordline_ftl::blocks::State;
use wordline_nand::{BlockSetId, Location, Operation, PageId, PlaneGroupId};

use crate::engines::Core;

/// Queries the failure policy about a block in which an operation failed, and acts on the decision.
pub(super) fn block_failed(failed: FailedOperation, block: BlockSetId, core: &mut Core) {
    let base = &mut core.ftl.base;
    if base.blocks.table().state(block) == State::Bad {
        return;
    }
    let times = &mut base.life.failures[block][failed as usize];
    *times = times.saturating_add(1);
    let times = *times;
    let erases = base.flash.chips().erases()[block];
    let failure = Failure { failed, block, times: u32::from(times), erases };
    let after = if times == MOST_FAILURES { FailureAction::Retire } else { base.failure_action(&failure) };
    if after != FailureAction::Continue {
        base.blocks.close(block);
    }
    if after == FailureAction::Retire && base.blocks.mark_for_retirement(block) {
        base.totals.grown_bad_blocks += 1;
        base.faults_at(block).grown_bad_blocks += 1;
        let row = base.blocks.table().group_of(block);
        match &mut core.ftl.block_map {
            Some(map) => map.pending_retirement(row, block),
            None => core.ftl.gc.mark_for_retirement(row, block),
        }
        core.ftl.check_end_of_life();
    }
}

/// Handles a program of a unit at `first` that failed or was rejected, for any engine. The data are still
/// available elsewhere.
pub(super) fn program_failed(failed: FailedOperation, first: Location, core: &mut Core) {
    let base = &mut core.ftl.base;
    let block = base.config.pools.block_of(first);
    if base.blocks.table().state(block) == State::Bad {
        return;
    }
    if failed == FailedOperation::Rejected {
        base.totals.rejected_programs += 1;
    } else {
        base.totals.program_failures += 1;
        base.faults_at(block).program_failures += 1;
    }
    if let Some(map) = &mut core.ftl.block_map {
        map.program_failed(base.blocks.table().group_of(block), block);
    }
    block_failed(failed, block, core);
}

/// Handles a failed program or erase of a GC step. After a program failure the pages, which are still in their
/// victims, are programmed elsewhere. A failed erase is retried.
pub(super) fn gc_step_failed(failed: FailedOperation, row: PlaneGroupId, task: &Task, core: &mut Core) {
    if task.operation == Operation::Erase {
        erase_failed(task.page, core);
    } else {
        if core.ftl.block_map.is_none() {
            core.ftl.gc.relocation_failed(row, task, &core.ftl.base);
        }
        core.ftl.base.blocks.program_done(task.location);
        program_failed(failed, task.location, core);
    }
    match &mut core.ftl.block_map {
        Some(map) => map.command_done(row),
        None => {
            core.ftl.gc.command_done(row);
        }
    }
}

fn erase_failed(page: PageId, core: &mut Core) {
    let base = &mut core.ftl.base;
    base.totals.erases += 1;
    let block = base.config.pools.block_of_page(page);
    if base.blocks.table().state(block) == State::Bad {
        return;
    }
    base.totals.erase_failures += 1;
    base.faults_at(block).erase_failures += 1;
    block_failed(FailedOperation::Erase, block, core);
    let blocks = &mut core.ftl.base.blocks;
    let row = blocks.table().group_of(block);
    if blocks.table().is_pending_retirement(block) {
        core.ftl.gc.drop_victim(block);
        blocks.retire(block);
    } else if let Some(map) = &mut core.ftl.block_map {
        map.erase_again(row, block);
    } else {
        core.ftl.gc.erase_again(row, block);
    }
}
