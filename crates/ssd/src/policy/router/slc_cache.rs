//! SLC cache: what the host writes goes to blocks in SLC mode, all of it or what is hot.

use wordline_kernel::state;

use super::{HotCold, Outgoing, Router};

/// Sends pages to the cache.
pub enum SlcCache {
    /// All of them.
    All,
    /// Those that are written again soon. The others go to blocks of all bits at once.
    Hot(HotCold),
}

state!(
    enum SlcCache {
        All,
        Hot(router),
    }
);

impl Router for SlcCache {
    fn streams(&self) -> u8 {
        match self {
            Self::All => 1,
            Self::Hot(router) => router.streams(),
        }
    }

    fn route(&mut self, page: &Outgoing) -> u8 {
        match self {
            Self::All => 0,
            Self::Hot(router) => router.route(page),
        }
    }

    fn cached(&self) -> Option<u8> {
        match self {
            Self::All => Some(0),
            Self::Hot(_) => Some(HotCold::HOT),
        }
    }
}
