//! Single: everything the host writes goes to one stream.

use super::{Outgoing, Router};

/// Keeps all pages together.
pub struct Single;

impl Router for Single {
    fn streams(&self) -> u8 {
        1
    }

    fn route(&mut self, _: &Outgoing) -> u8 {
        0
    }
}
