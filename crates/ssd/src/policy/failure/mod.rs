//! Failure policies: the action for a block after a failed program, erase or read in it.

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
    /// A program: its pages are unreadable. Their data are still in the buffer, or in the victim, and are
    /// programmed elsewhere whatever the policy decides.
    Program,
    /// An erase.
    Erase,
    /// A read, after all its retries: the page is lost, and host reads of it fail.
    Read,
    /// A program that completed, but whose outcome a design [does not accept](crate::Design::accepts): its
    /// data are dropped, and handled as after a failed program.
    Rejected,
}

/// A failure, as a policy sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Operation that failed.
    pub failed: FailedOperation,
    /// Block.
    pub block: BlockSetId,
    /// Number of failures of this kind in this block, including this one.
    pub times: u32,
    /// Number of erases of the block.
    pub erases: u32,
}

/// Action for the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureAction {
    /// Retire: the block accepts no more programs, and leaves service once its valid pages are relocated.
    Retire,
    /// Close: the block accepts no programs until it has been erased. A failed erase is retried.
    Close,
    /// Nothing. An open block is programmed further, behind the failed pages; a failed erase is retried.
    Continue,
}

/// Decides what happens to a block in which an operation failed. The policy looks and decides; the mechanism
/// acts. A block with [`MOST_FAILURES`] failures is retired in any case.
pub trait FailurePolicy: State + Send {
    /// Action for the block.
    fn after(&mut self, failure: &Failure) -> FailureAction;
}

/// Most failures of one kind in a block. Chosen: it ends retries that never succeed, and is the most that a
/// byte holds.
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
        /// Lost pages after which a block is retired; 0 for never.
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

    /// Invalid key, value found and value wanted, if any.
    pub fn complaint(&self) -> Option<(&'static str, String, &'static str)> {
        match self {
            Self::Tolerate { programs: 0, .. } => Some(("programs", "0".into(), "at least 1")),
            _ => None,
        }
    }
}
