//! Tolerate: a block is retired after a number of failures.

use wordline_kernel::state;

use super::{FailedOperation, Failure, FailureAction, FailurePolicy};

/// Programs a block further behind failed pages until it has `programs` such failures, over all its erases. A
/// failed erase retires it at once.
pub struct Tolerate {
    /// Failed programs that retire a block.
    pub programs: u32,
    /// Lost pages that retire a block; 0 for never.
    pub reads: u32,
}

state!(Tolerate { fixed { programs, reads } });

impl FailurePolicy for Tolerate {
    fn after(&mut self, failure: &Failure) -> FailureAction {
        let enough = match failure.failed {
            FailedOperation::Program => failure.times >= self.programs,
            FailedOperation::Erase => true,
            FailedOperation::Rejected => false,
            FailedOperation::Read => self.reads > 0 && failure.times >= self.reads,
        };
        if enough { FailureAction::Retire } else { FailureAction::Continue }
    }
}
