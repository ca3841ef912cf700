//! Queries about blocks to suspend, to reclaim and to resume.

use wordline_nand::BlockSetId;

use super::table::Designs;
use super::{Design, Seam, Sight, View};
use crate::parts::Policies;
use crate::policy::frontier::OpenBlock;
use crate::space::{Streams, SuspendedBlocks};

impl Policies {
    /// Most blocks of a plane group that each stream of a pool may have suspended at once.
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

    /// Open block to suspend.
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

    /// Suspended block of a stream to reclaim.
    pub(crate) fn vacates(
        &mut self,
        open: &[OpenBlock<'_>],
        suspended: &SuspendedBlocks<'_>,
        sight: Sight<'_>,
    ) -> Option<BlockSetId> {
        let ask = |design: &mut dyn Design, view: &mut View<'_>| design.vacates(open, suspended, view);
        self.one_suspended("vacated", suspended, sight, ask)
    }

    /// Suspended block of a stream to resume.
    pub(crate) fn resumes(
        &mut self,
        suspended: &SuspendedBlocks<'_>,
        sight: Sight<'_>,
    ) -> Option<BlockSetId> {
        let ask = |design: &mut dyn Design, view: &mut View<'_>| design.resumes(suspended, view);
        self.one_suspended("opened again", suspended, sight, ask)
    }

    /// Suspended block that a design selects, if it is valid. `done` describes the intended action, for the
    /// error.
    fn one_suspended(
        &mut self,
        done: &str,
        suspended: &SuspendedBlocks<'_>,
        sight: Sight<'_>,
        ask: impl FnOnce(&mut dyn Design, &mut View<'_>) -> Option<BlockSetId>,
    ) -> Option<BlockSetId> {
        let pool = sight.space.pools().number_of_row(suspended.row());
        let design = self.designs.owner(Seam::Frontier, pool)?;
        let answer = self.designs.ask(design, sight, ask)?;
        if suspended.has(answer) {
            return Some(answer);
        }
        let allowed = || {
            let blocks: Vec<String> = suspended.iter().map(|block| format!("{:?}", block.block)).collect();
            format!("a suspended block of the stream ({}), or none", blocks.join(", "))
        };
        self.designs.note_wrong(Seam::Frontier, pool, format!("{answer:?} to be {done}"), allowed);
        None
    }
}
