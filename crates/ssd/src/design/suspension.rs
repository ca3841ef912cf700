//! Queries about blocks to suspend, to reclaim and to resume.

use wordline_nand::BlockSetId;

use super::table::Designs;
use super::{Design, DesignContext, ExtensionPoint, View};
use crate::blocks::{Streams, SuspendedBlocks};
use crate::parts::Policies;
use crate::policy::frontier::OpenBlock;

impl Policies {
    /// Most blocks that each stream of a pool may have suspended in a plane group.
    pub(crate) fn suspension_limits(&self, pool: usize, streams: Streams) -> Vec<u16> {
        let Designs { routes, gathered, .. } = &self.designs;
        let mut limits = vec![0; usize::from(streams.host + streams.gc)];
        if self.designs.owner(ExtensionPoint::Frontier, pool).is_some() {
            let of_host = routes.iter().flat_map(|routes| routes.suspended(pool));
            limits.iter_mut().zip(of_host).for_each(|(limit, own)| *limit = own);
            let of_collector = &mut limits[usize::from(streams.host)..];
            of_collector.iter_mut().zip(&gathered.suspended[pool]).for_each(|(limit, own)| *limit = *own);
        }
        limits
    }

    /// Selects an open block to suspend.
    pub(crate) fn select_to_suspend(
        &mut self,
        open: &[OpenBlock<'_>],
        suspended: &SuspendedBlocks<'_>,
        context: DesignContext<'_>,
    ) -> Option<BlockSetId> {
        let pool = context.blocks.pools().number_of_group(suspended.row());
        let design = self.designs.owner(ExtensionPoint::Frontier, pool)?;
        let decision = self
            .designs
            .query(design, context, |design, view| design.select_to_suspend(open, suspended, view))?;
        if open.iter().any(|open| open.block == decision && open.written > 0) {
            return Some(decision);
        }
        let allowed = || {
            let written = open.iter().filter(|open| open.written > 0);
            let blocks: Vec<String> = written.map(|open| format!("{:?}", open.block)).collect();
            format!("an open block of the stream that is written in part ({}), or none", blocks.join(", "))
        };
        self.designs.record_invalid(
            ExtensionPoint::Frontier,
            pool,
            format!("{decision:?} to suspend"),
            allowed,
        );
        None
    }

    /// Selects a suspended block of a stream to reclaim.
    pub(crate) fn select_to_reclaim(
        &mut self,
        open: &[OpenBlock<'_>],
        suspended: &SuspendedBlocks<'_>,
        context: DesignContext<'_>,
    ) -> Option<BlockSetId> {
        let ask =
            |design: &mut dyn Design, view: &mut View<'_>| design.select_to_reclaim(open, suspended, view);
        self.query_suspended("reclaimed", suspended, context, ask)
    }

    /// Selects a suspended block of a stream to resume.
    pub(crate) fn select_to_resume(
        &mut self,
        suspended: &SuspendedBlocks<'_>,
        context: DesignContext<'_>,
    ) -> Option<BlockSetId> {
        let ask = |design: &mut dyn Design, view: &mut View<'_>| design.select_to_resume(suspended, view);
        self.query_suspended("resumed", suspended, context, ask)
    }

    /// Selects a suspended block, if the design's decision is valid. `done` names the intended action in the
    /// error.
    fn query_suspended(
        &mut self,
        done: &str,
        suspended: &SuspendedBlocks<'_>,
        context: DesignContext<'_>,
        ask: impl FnOnce(&mut dyn Design, &mut View<'_>) -> Option<BlockSetId>,
    ) -> Option<BlockSetId> {
        let pool = context.blocks.pools().number_of_group(suspended.row());
        let design = self.designs.owner(ExtensionPoint::Frontier, pool)?;
        let decision = self.designs.query(design, context, ask)?;
        if suspended.has(decision) {
            return Some(decision);
        }
        let allowed = || {
            let blocks: Vec<String> = suspended.iter().map(|block| format!("{:?}", block.block)).collect();
            format!("a suspended block of the stream ({}), or none", blocks.join(", "))
        };
        self.designs.record_invalid(
            ExtensionPoint::Frontier,
            pool,
            format!("{decision:?} to be {done}"),
            allowed,
        );
        None
    }
}
