//! Host: the host selects the stream in its command, as with the NVMe streams directive.

use wordline_kernel::state;

use super::{HostPage, Router};

/// Uses the stream of the command that last wrote the page, modulo the number of streams.
pub struct Host {
    /// Number of streams that the device offers.
    pub streams: u8,
}

state!(Host { fixed { streams } });

impl Router for Host {
    fn streams(&self) -> u8 {
        self.streams
    }

    fn route(&mut self, page: &HostPage) -> u8 {
        page.tag % self.streams
    }
}
