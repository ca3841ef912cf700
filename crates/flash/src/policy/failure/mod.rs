//! Failure policies: what happens to a block after a failed program, erase or read.

mod retire;
mod tolerate;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::snapshot::State;
use wordline_nand::BlockSetId;

pub use retire::Retire;
pub use tolerate::Tolerate;

/// Operation that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailedOperation {
    /// A program: its pages are unreadable. The write buffer or the victim still has their data, which are
    /// programmed elsewhere in any case.
    Program,
    /// An erase.
    Erase,
    /// A read, after all its retries: the page is lost, and host reads of it fail.
    Read,
    /// A completed program whose outcome a design does not accept. Its data are
    /// programmed elsewhere, as after a failed program.
    Rejected,
}

/// A failure, as a policy sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Operation that failed.
    pub failed: FailedOperation,
    /// Block.
    pub block: BlockSetId,
    /// Failures of this kind in this block so far, including this one.
    pub times: u32,
    /// Erases of the block so far.
    pub erases: u32,
}

/// Action for the block of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureAction {
    /// The block is retired: it accepts no more programs, and leaves service when its valid pages are
    /// relocated.
    Retire,
    /// The block is closed: it accepts no programs until it is erased. A failed erase is repeated.
    Close,
    /// The block stays in use. If it is open, it is programmed further, after the failed pages. A failed
    /// erase is repeated.
    Continue,
}

/// Decides what happens to a block in which an operation failed. A block with [`MOST_FAILURES`] failures of
/// one kind is retired in any case.
pub trait FailurePolicy: State + Send {
    /// Action for the block.
    fn after(&mut self, failure: &Failure) -> FailureAction;
}

/// Failures of one kind after which a block is retired in any case. Chosen: it ends retries that never
/// succeed, and is the greatest count that fits in a byte.
pub const MOST_FAILURES: u8 = u8::MAX;

/// Built-in failure policies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "kebab-case", deny_unknown_fields)]
pub enum FailureKind {
    /// A block is retired after a failed program or erase.
    Retire {},
    /// A block is retired after several failures.
    Tolerate {
        /// Failed programs after which a block is retired.
        programs: u32,
        /// Unreadable pages after which a block is retired; 0 for never.
        #[serde(default)]
        reads: u32,
    },
}

impl Default for FailureKind {
    fn default() -> Self {
        Self::Retire {}
    }
}

impl FailureKind {
    /// Builds the policy.
    pub fn build(&self) -> Box<dyn FailurePolicy> {
        match self {
            Self::Retire {} => Box::new(Retire),
            Self::Tolerate { programs, reads } => Box::new(Tolerate { programs: *programs, reads: *reads }),
        }
    }

    /// Key with an invalid value, the value, and the allowed values, if any.
    pub fn complaint(&self) -> Option<(&'static str, String, &'static str)> {
        match self {
            Self::Tolerate { programs: 0, .. } => Some(("programs", "0".into(), "at least 1")),
            _ => None,
        }
    }
}
