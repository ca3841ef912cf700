//! Covering flushes ([`durability`](super::durability)) from the host and from the array itself. The array
//! flushes to free space in the partial parity log, and after a resync or a replay of that log.

use serde::{Deserialize, Serialize};

/// The array's own covering flush, while one is in progress.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct OwnFlush {
    /// Members that have not completed the flush.
    pub left: u32,
    /// Whether the flush failed on a member.
    pub failed: bool,
}
