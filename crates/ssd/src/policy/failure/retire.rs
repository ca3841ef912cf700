//! Retire: a block that fails once is retired.

use wordline_kernel::state;

use super::{FailedOperation, Failure, FailureAction, FailurePolicy};

/// Retires a block at its first failed program or erase, as the data sheets of NAND parts require. An
/// unreadable page is lost but does not retire its block, nor does a program that a design rejects.
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
