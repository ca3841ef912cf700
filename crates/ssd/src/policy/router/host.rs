//! Host: the stream that the host names in its command, as with the NVMe streams directive.

use wordline_kernel::state;

use super::{Outgoing, Router};

/// Sends a page to the stream of the command that wrote it last; numbers beyond the last stream go round.
pub struct Host {
    /// Streams that the device offers.
    pub streams: u8,
}

state!(Host { fixed { streams } });

impl Router for Host {
    fn streams(&self) -> u8 {
        self.streams
    }

    fn route(&mut self, page: &Outgoing) -> u8 {
        page.tag % self.streams
    }
}
