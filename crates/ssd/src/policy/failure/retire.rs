//! Retire: a block that fails once is retired.

use wordline_kernel::state;

use super::{After, Failed, Failure, FailurePolicy};

/// Retires a block at its first failed program or erase, as the data sheets of NAND parts require. An
/// unreadable page is lost but does not retire its block, nor does a program that a design rejects.
pub struct Retire;

state!(Retire {});

impl FailurePolicy for Retire {
    fn after(&mut self, failure: &Failure) -> After {
        match failure.failed {
            Failed::Program | Failed::Erase => After::Retire,
            Failed::Read | Failed::Refused => After::GoOn,
        }
    }
}
