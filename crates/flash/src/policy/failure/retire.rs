//! Retire: a block is retired at its first failed program or erase.

use wordline_kernel::state;

use super::{FailedOperation, Failure, FailureAction, FailurePolicy};

/// Retires a block at its first failed program or erase, as NAND data sheets require. Unreadable pages, and
/// programs that a design rejects, do not retire a block.
pub struct Retire;

state!(Retire {});

impl FailurePolicy for Retire {
    fn after(&mut self, failure: &Failure) -> FailureAction {
        match failure.failed {
            FailedOperation::Program | FailedOperation::Erase => FailureAction::Retire,
            FailedOperation::Read | FailedOperation::Rejected => FailureAction::Continue,
        }
    }
}
