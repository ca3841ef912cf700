//! When full: no page is destaged before the buffer reaches its watermark.

use wordline_kernel::{Bytes, Instant, state};

use super::Destage;
use crate::map::LogicalPage;

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
