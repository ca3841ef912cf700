//! Single: all host writes go to one stream.

use wordline_kernel::state;

use super::{HostPage, Router};

/// Sends all pages to one stream.
pub struct Single;

state!(Single {});

impl Router for Single {
    fn streams(&self) -> u8 {
        1
    }

    fn route(&mut self, _: &HostPage) -> u8 {
        0
    }
}
