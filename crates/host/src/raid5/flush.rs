//! Covering flushes ([`durability`](super::durability)) from the host and from the array itself. The array
//! flushes to free space in the partial parity log, and after a resync or a replay of that log.

use serde::{Deserialize, Serialize};
use wordline_device::BlockDevice;

use super::array::Array;
use super::members::CompletedCommand;

/// The array's own covering flush, while one is in progress.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct OwnFlush {
    /// Members that have not completed the flush.
    pub left: u32,
    /// Whether the flush failed on a member.
    pub failed: bool,
}

impl<D: BlockDevice> Array<D> {
    pub(super) fn end_covering_flush(&mut self, failed: bool) {
        self.durability.end_flush(failed);
        let Self { durability, followed, .. } = self;
        if let Some(followed) = followed {
            followed.keep_partials(|row| durability.log.has(row));
        }
    }

    /// Completes the array's own flush on a member.
    pub(super) fn complete_own_flush(&mut self, over: &CompletedCommand) {
        let OwnFlush { left, failed } = &mut self.own_flush;
        *left -= 1;
        *failed |= over.failed;
        let failed = *failed;
        if *left == 0 {
            self.end_covering_flush(failed);
        }
    }
}
