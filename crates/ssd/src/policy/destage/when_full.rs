//! When full: no page is destaged before the buffer reaches its watermark.

use wordline_ftl::map::LogicalPage;
use wordline_kernel::{Bytes, Instant, state};

use super::Destage;

/// Leaves all destaging to the watermarks of the buffer and to flushes.
pub struct WhenFull;

state!(WhenFull {});

impl Destage for WhenFull {
    fn in_flight(&self) -> Option<Bytes> {
        None
    }

    fn leaves(&self, _: LogicalPage, _: Instant) -> bool {
        false
    }
}
