//! The write streams of a device, and the GC watermarks that depend on them.

use wordline_kernel::Complaints;
use wordline_nand::CellMode;

use super::file::{BackEndFile, Config};
use crate::blocks::mlc::TwoBitFile;
use crate::blocks::{ModeShare, ModeStreams, Streams};
use crate::policy::demands::Demands;

impl BackEndFile {
    /// Write streams of a plane group: the streams of the policies or designs, and `streams_of_map` more for
    /// the host and for GC each.
    pub fn streams(&self) -> Streams {
        let named = || self.streams_beside(self.ftl.router.streams(), self.ftl.gc.relocator.streams());
        self.demands.map_or_else(named, |Demands { host, gc, open_blocks, suspended, .. }| Streams {
            open_blocks,
            suspended,
            ..self.streams_beside(host, gc)
        })
    }

    /// Number of host streams that the router, or a design that replaces it, distinguishes.
    pub fn routed_streams(&self) -> u8 {
        self.demands.map_or_else(|| self.ftl.router.streams(), |demands| demands.host)
    }

    /// The smallest valid GC stop watermark, in free blocks: one more than the blocks reserved for GC. It is
    /// two more if GC writes blocks in non-native modes, because GC does not open reserved blocks in such a
    /// mode. Bit n of `pools` selects pool n.
    pub(crate) fn min_stop_watermark(&self, pools: u16) -> u32 {
        let changes_mode = self.demands.is_some_and(|demands| demands.by_gc & pools != 0);
        self.streams().reserved_blocks() as u32 + 1 + u32::from(changes_mode)
    }

    /// Raises the GC watermarks to the minimum that the streams need, except watermarks that the
    /// configuration sets.
    pub fn raise_watermarks(&mut self, [start_is_chosen, stop_is_chosen]: [bool; 2]) {
        let (streams, least) = (self.streams(), self.min_stop_watermark(u16::MAX));
        let gc = &mut self.ftl.gc;
        gc.raise_watermarks(streams, start_is_chosen, stop_is_chosen);
        if !stop_is_chosen {
            gc.stop_at_free_blocks = gc.stop_at_free_blocks.max(least);
        }
    }

    /// Whether a host or GC stream of a design opens blocks of a pool in a mode. False before designs were
    /// queried.
    pub fn writes_in(&self, pool: usize, mode: CellMode) -> bool {
        self.demands.is_some_and(|demands| demands.pools_in(mode) >> pool & 1 != 0)
    }

    /// Most reprograms of a word line in MLC mode over all host streams.
    pub fn again(&self) -> u8 {
        self.demands.map_or(0, |demands| demands.again)
    }

    /// MLC-mode blocks of a pool.
    pub fn two_bit_of(&self, pool: usize) -> Option<TwoBitFile> {
        pool.checked_sub(1).map_or(self.ftl.two_bit, |n| self.pools[n].two_bit)
    }

    /// Rejects a design with streams in MLC mode in the first pool if no blocks are configured for the mode.
    pub(super) fn check_two_bit(&self, wrong: &mut Complaints) {
        wrong.require(
            self.ftl.two_bit.is_some() || !self.writes_in(0, CellMode::Mlc),
            "ftl.two_bit",
            "nothing",
            "the number of blocks for a design's streams in MLC mode",
        );
    }
}

impl Config {
    /// Blocks of each pool that may be in non-native modes, for modes that streams use.
    pub fn mode_shares(&self, streams: impl Fn(usize, CellMode) -> ModeStreams) -> Vec<Vec<ModeShare>> {
        let of_pool = |pool| {
            let modes = CellMode::OF_BLOCKS.into_iter().filter(|mode| *mode != CellMode::Native);
            modes.filter_map(|mode| self.mode_share(pool, mode, streams(pool, mode))).collect()
        };
        (0..self.pools.count()).map(of_pool).collect()
    }
}
