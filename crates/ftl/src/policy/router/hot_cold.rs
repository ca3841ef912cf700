//! Hot-cold: pages that are overwritten soon go to one stream, the others to another.

use wordline_kernel::state;

use super::{HostPage, Router};

/// Takes a page as hot if at most `window` pages were written since its last write.
pub struct HotCold {
    /// Maximum number of pages written between two writes of a hot page.
    window: u32,
    /// For each page, the value of `writes` at its last write; 0 if it was never written.
    last: Vec<u32>,
    writes: u32,
}

state!(HotCold { values { writes } parts { last } fixed { window } });

impl HotCold {
    /// Stream of pages that are not overwritten soon.
    pub const COLD: u8 = 0;
    /// Stream of pages that are overwritten soon.
    pub const HOT: u8 = 1;

    /// Router for `pages` logical pages. `window` is a fraction of them.
    pub fn new(pages: u32, window: f64) -> Self {
        Self { window: (f64::from(pages) * window) as u32, last: vec![0; pages as usize], writes: 0 }
    }
}

impl Router for HotCold {
    fn streams(&self) -> u8 {
        2
    }

    fn route(&mut self, page: &HostPage) -> u8 {
        // The count wraps after 2^32 writes. A page that was not written for so long may then count as hot
        // once.
        self.writes = self.writes.checked_add(1).unwrap_or(1);
        let last = std::mem::replace(&mut self.last[page.logical as usize], self.writes);
        let hot = last != 0 && self.writes.wrapping_sub(last) <= self.window;
        if hot { Self::HOT } else { Self::COLD }
    }
}
