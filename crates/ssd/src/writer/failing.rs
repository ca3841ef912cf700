//! Failed programs and erases: the failure policy decides what happens to the block, and the failed part of a GC
//! step is repeated.

use wordline_flash::Task;
use wordline_flash::policy::failure::{FailedOperation, Failure, FailureAction, MOST_FAILURES};
use wordline_ftl::Ftl;
use wordline_ftl::blocks::State;
use wordline_ftl::design::DesignContext;
use wordline_nand::{BlockSetId, Location, Operation, PageId, PlaneGroupId};

use crate::engines::Core;

/// Queries the failure policy about a block in which an operation failed, and acts on the decision.
pub(super) fn block_failed(failed: FailedOperation, block: BlockSetId, core: &mut Core) {
    let Ftl { config, totals, health, policies, flash, blocks, gc, block_map, .. } = &mut core.ftl;
    if blocks.table().state(block) == State::Bad {
        return;
    }
    let times = &mut health.failures[block][failed as usize];
    *times = times.saturating_add(1);
    let times = *times;
    let erases = flash.chips().erases()[block];
    let failure = Failure { failed, block, times: u32::from(times), erases };
    let after = match times == MOST_FAILURES {
        true => FailureAction::Retire,
        false => policies.failure_action(&failure, DesignContext { flash, blocks }),
    };
    if after != FailureAction::Continue {
        blocks.close(block);
    }
    if after == FailureAction::Retire && blocks.mark_for_retirement(block) {
        totals.grown_bad_blocks += 1;
        totals.faults_at(block, &config.pools).grown_bad_blocks += 1;
        let row = blocks.table().group_of(block);
        match block_map {
            Some(map) => map.pending_retirement(row, block),
            None => gc.mark_for_retirement(row, block),
        }
        core.ftl.check_end_of_life();
    }
}

/// Handles a program of a unit at `first` that failed or was rejected, for any engine. The data are still
/// available elsewhere.
pub(super) fn program_failed(failed: FailedOperation, first: Location, core: &mut Core) {
    let Ftl { config, totals, blocks, block_map, .. } = &mut core.ftl;
    let block = config.pools.block_of(first);
    if blocks.table().state(block) == State::Bad {
        return;
    }
    if failed == FailedOperation::Rejected {
        totals.rejected_programs += 1;
    } else {
        totals.program_failures += 1;
        totals.faults_at(block, &config.pools).program_failures += 1;
    }
    if let Some(map) = block_map {
        map.program_failed(blocks.table().group_of(block), block);
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
            core.ftl.gc.relocation_failed(row, task, &core.ftl.blocks);
        }
        core.ftl.blocks.program_done(task.location);
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
    let Ftl { config, totals, blocks, .. } = &mut core.ftl;
    totals.erases += 1;
    let block = config.pools.block_of_page(page);
    if blocks.table().state(block) == State::Bad {
        return;
    }
    totals.erase_failures += 1;
    totals.faults_at(block, &config.pools).erase_failures += 1;
    block_failed(FailedOperation::Erase, block, core);
    let blocks = &mut core.ftl.blocks;
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
