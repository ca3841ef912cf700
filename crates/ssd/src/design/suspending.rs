//! Asks which blocks are set aside before they are full, and which of these are opened again.

use wordline_nand::BlockSetId;

use super::table::Designs;
use super::{Seam, Sight};
use crate::parts::Policies;
use crate::policy::frontier::OpenBlock;
use crate::space::{Streams, SuspendedBlocks};

impl Policies {
    /// Blocks of a row of a pool that each of its streams may have suspended at once.
    pub(crate) fn may_suspend(&self, pool: usize, streams: Streams) -> Vec<u16> {
        let Designs { routes, gathered, .. } = &self.designs;
        let mut limits = vec![0; usize::from(streams.host + streams.gc)];
        if self.designs.owner(Seam::Frontier, pool).is_some() {
            let of_host = routes.iter().flat_map(|routes| routes.suspended(pool));
            limits.iter_mut().zip(of_host).for_each(|(limit, own)| *limit = own);
            let of_collector = &mut limits[usize::from(streams.host)..];
            of_collector.iter_mut().zip(&gathered.suspended[pool]).for_each(|(limit, own)| *limit = *own);
        }
        limits
    }

    /// The one of these open blocks that is set aside.
    pub(crate) fn suspends(
        &mut self,
        open: &[OpenBlock<'_>],
        suspended: &SuspendedBlocks<'_>,
        sight: Sight<'_>,
    ) -> Option<BlockSetId> {
        let pool = sight.space.pools().number_of_row(suspended.row());
        let design = self.designs.owner(Seam::Frontier, pool)?;
        let answer =
            self.designs.ask(design, sight, |design, view| design.suspends(open, suspended, view))?;
        if open.iter().any(|open| open.block == answer && open.written > 0) {
            return Some(answer);
        }
        let allowed = || {
            let written = open.iter().filter(|open| open.written > 0);
            let blocks: Vec<String> = written.map(|open| format!("{:?}", open.block)).collect();
            format!("an open block of the stream that is written in part ({}), or none", blocks.join(", "))
        };
        self.designs.note_wrong(Seam::Frontier, pool, format!("{answer:?} to be suspended"), allowed);
        None
    }

    /// The suspended block of a stream that is opened again.
    pub(crate) fn resumes(
        &mut self,
        suspended: &SuspendedBlocks<'_>,
        sight: Sight<'_>,
    ) -> Option<BlockSetId> {
        let pool = sight.space.pools().number_of_row(suspended.row());
        let design = self.designs.owner(Seam::Frontier, pool)?;
        let answer = self.designs.ask(design, sight, |design, view| design.resumes(suspended, view))?;
        if suspended.has(answer) {
            return Some(answer);
        }
        let allowed = || {
            let blocks: Vec<String> = suspended.iter().map(|block| format!("{:?}", block.block)).collect();
            format!("a suspended block of the stream ({}), or none", blocks.join(", "))
        };
        self.designs.note_wrong(Seam::Frontier, pool, format!("{answer:?} to be opened again"), allowed);
        None
    }
}
