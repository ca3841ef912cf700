//! The counters of the FTL.

use wordline_kernel::counters;

use crate::programs::Programs;

counters! {
    /// The counters of the FTL since it was made.
    pub struct Counts {
        host_pages: "pblk.host_pages", LogicalPages, "Pages written for the host, including rewrites after failures.";
        moved_pages: "pblk.moved_pages", LogicalPages, "Pages relocated by GC.";
        padding: "pblk.padding", LogicalPages, "Logical blocks of padding, for flushes, failed writes and after power cuts.";
        smeta_blocks: "pblk.smeta_blocks", LogicalPages, "Logical blocks of metadata at the beginning of lines.";
        emeta_blocks: "pblk.emeta_blocks", LogicalPages, "Logical blocks of metadata at the end of lines.";
        resubmitted: "pblk.resubmitted", LogicalPages, "Entries of the ring whose write failed.";
        lines_collected: "pblk.lines_collected", Count, "Lines collected by GC.";
        victim_valid_pages: "pblk.victim_valid_pages", LogicalPages, "Valid pages of these lines when they were selected.";
        lines_freed: "pblk.lines_freed", Count, "Lines freed after their last page became invalid.";
        pages_collected: "pblk.pages_collected", LogicalPages, "Pages read by GC for relocation.";
        emeta_blocks_read: "pblk.emeta_blocks_read", LogicalPages, "Logical blocks of emeta read by GC.";
        emeta_read_failures: "pblk.emeta_read_failures", Count, "Reads among those that failed.";
        lost_pages: "pblk.lost_pages", LogicalPages, "Pages that GC could not read.";
        read_from_ring: "pblk.read_from_ring", LogicalPages, "Pages that the host read from the ring.";
        read_from_flash: "pblk.read_from_flash", LogicalPages, "Pages that the host read from the device.";
        trimmed_pages: "pblk.trimmed_pages", LogicalPages, "Pages that the host trimmed.";
        flushes: "pblk.flushes", Count, "Flushes sent to a device with a volatile write cache.";
        rejected: "pblk.rejected", LogicalPages, "Logical blocks of commands that the device rejected, because their chunks had closed early or gone offline.";
        rate_limited: "pblk.rate_limited", Count, "Writes that the rate limiter delayed.";
        chunks_lost: "pblk.chunks_lost", Count, "Chunks that went offline when they were reset.";
    }
}

impl Counts {
    /// Pages programmed by the FTL.
    pub(super) fn programs(&self) -> Programs {
        Programs {
            host: self.host_pages,
            relocated: Some(self.moved_pages),
            padding: self.padding,
            metadata: Some(self.smeta_blocks + self.emeta_blocks),
        }
    }
}
