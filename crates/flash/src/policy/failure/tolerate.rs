//! Tolerate: a block is retired after a number of failures.

use wordline_kernel::state;

use super::{FailedOperation, Failure, FailureAction, FailurePolicy};

/// Programs a block further after failed pages. Retires it after `programs` failed programs in its lifetime,
/// or after its first failed erase.
pub struct Tolerate {
    /// Failed programs after which a block is retired.
    pub programs: u32,
    /// Unreadable pages after which a block is retired; 0 for never.
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
