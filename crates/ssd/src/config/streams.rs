//! The write streams of a device, and the marks of cleaning that follow from them.

use super::DeviceFile;
use crate::space::Streams;

impl DeviceFile {
    /// The write streams of each row: those of the policies, and those that `streams_of_map` adds on each side.
    pub fn streams(&self) -> Streams {
        let named = || (self.ftl.router.streams(), self.ftl.gc.relocator.streams(), 1);
        let (host, gc, open_blocks) = self.demands.map_or_else(named, |it| (it.host, it.gc, it.open_blocks));
        Streams { open_blocks, ..self.streams_beside(host, gc) }
    }

    /// The host's streams that the router, or the design in its place, tells apart.
    pub fn routed_streams(&self) -> u8 {
        self.demands.map_or_else(|| self.ftl.router.streams(), |demands| demands.host)
    }

    /// Free blocks up to which rows are cleaned at the least: beyond those kept for the collector, where it writes blocks in another mode than the native one, for
    /// it opens none of the kept ones for that.
    /// `pools` has a bit for each pool that this is asked for.
    pub(crate) fn least_stop(&self, pools: u16) -> u32 {
        let changes_mode = self.demands.is_some_and(|demands| demands.by_gc & pools != 0);
        self.streams().kept_blocks() as u32 + 1 + u32::from(changes_mode)
    }

    /// Raises the marks of cleaning that the configuration leaves out to the needs of the streams.
    pub fn raise_marks(&mut self, [start_is_chosen, stop_is_chosen]: [bool; 2]) {
        let (streams, least) = (self.streams(), self.least_stop(u16::MAX));
        let gc = &mut self.ftl.gc;
        gc.raise_marks(streams, start_is_chosen, stop_is_chosen);
        if !stop_is_chosen {
            gc.stop_at_free_blocks = gc.stop_at_free_blocks.max(least);
        }
    }
}
