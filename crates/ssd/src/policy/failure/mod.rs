//! Failure policies: how a block is treated after a failed program, erase or read in it.

mod retire;
mod tolerate;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::snapshot::State;
use wordline_nand::BlockSetId;

pub use retire::Retire;
pub use tolerate::Tolerate;

/// The operation that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failed {
    /// A program: its pages hold nothing that can be read. Their data are still in the buffer, or in the victim, and are
    /// written elsewhere whatever the policy says.
    Program,
    /// An erase.
    Erase,
    /// A read, after all its retries: the page is lost, and the host is told when it reads it.
    Read,
    /// A program that is over, whose outcome a design [does not accept](crate::Design::accepts): what it wrote is given up, and follows as
    /// after a program that failed.
    Refused,
}

/// A failure as a policy sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The operation that failed.
    pub failed: Failed,
    /// Where.
    pub block: BlockSetId,
    /// How often the same failed in this block, with this time.
    pub times: u32,
    /// How often the block was erased.
    pub erases: u32,
}

/// The treatment of the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// It takes nothing more. Its valid pages are moved, then it is out of use.
    Retire,
    /// It takes nothing more until it has been erased. A failed erase is tried again.
    Close,
    /// Nothing. An open block is written on behind the pages that failed; a failed erase is tried again.
    GoOn,
}

/// Decides what happens to a block in which something failed. It looks and answers; the mechanism acts. A block that has
/// failed [`MOST_FAILURES`] times is retired whatever the answer is.
pub trait FailurePolicy: State + Send {
    /// The treatment of the block.
    fn after(&mut self, failure: &Failure) -> After;
}

/// Failures of one kind that a block survives. Chosen: it ends tries that never succeed, and is what a byte holds.
pub const MOST_FAILURES: u8 = u8::MAX;

/// The failure policies that are built in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "kebab-case", deny_unknown_fields)]
pub enum FailureKind {
    /// A block in which a program or an erase failed is retired.
    Retire {},
    /// A block is retired after some failures.
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
    /// The policy.
    pub fn build(&self) -> Box<dyn FailurePolicy> {
        match self {
            Self::Retire {} => Box::new(Retire),
            Self::Tolerate { programs, reads } => Box::new(Tolerate { programs: *programs, reads: *reads }),
        }
    }

    /// The error in it: the key, what was found, and what was wanted.
    pub fn complaint(&self) -> Option<(&'static str, String, &'static str)> {
        match self {
            Self::Tolerate { programs: 0, .. } => Some(("programs", "0".into(), "at least 1")),
            _ => None,
        }
    }
}
