//! SLC cache: all host writes, or only hot pages, go to blocks in SLC mode.

use wordline_kernel::state;

use super::{HostPage, HotCold, Router};

/// Selects the pages that go to the cache.
pub enum SlcCache {
    /// All pages.
    All,
    /// Pages that are overwritten soon. The others go directly to native blocks.
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

    fn route(&mut self, page: &HostPage) -> u8 {
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
