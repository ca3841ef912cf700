//! Single: all relocated pages go to one stream.

use wordline_kernel::state;

use super::{RelocatedPage, Relocator};

/// Sends all relocated pages to one stream.
pub struct Single;

state!(Single {});

impl Relocator for Single {
    fn streams(&self) -> u8 {
        1
    }

    fn route(&mut self, _: &RelocatedPage) -> u8 {
        0
    }
}
