//! Retire: a block that fails once is not trusted again.

use wordline_kernel::state;

use super::{After, Failed, Failure, FailurePolicy};

/// Retires a block at the first program or erase that fails in it, as the data sheets of NAND parts ask for. A page that
/// cannot be read is lost, but does not condemn its block, and nor does a program that a design does not accept.
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
