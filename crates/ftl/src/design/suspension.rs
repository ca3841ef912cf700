//! Queries about blocks to suspend, to reclaim and to resume, and about requests for work.

use wordline_nand::BlockSetId;

use super::table::Designs;
use super::{Design, DesignContext, ExtensionPoint, Maintenance, View};
use crate::blocks::{Streams, SuspendedBlocks};
use crate::policies::ActivePolicies;
use crate::policy::frontier::OpenBlock;

impl ActivePolicies {
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

    /// Work that a design requests. Without a request, the design is queried again after the next event that
    /// it observes.
    pub fn maintenance(&mut self, context: DesignContext<'_>) -> Option<Maintenance> {
        let design = self.designs.owner(ExtensionPoint::Maintain, 0);
        let request = design
            .and_then(|design| self.designs.query(design, context, |design, view| design.maintenance(view)));
        if request.is_none() {
            self.designs.is_maintenance_due = false;
        }
        let request = request?;
        let Some((found, allowed)) = self.wrong_request(&request, context) else { return Some(request) };
        self.designs.record_invalid(ExtensionPoint::Maintain, 0, found, || allowed);
        None
    }

    /// The part of a request that is not allowed, and what is allowed.
    fn wrong_request(&self, request: &Maintenance, context: DesignContext<'_>) -> Option<(String, String)> {
        let (table, blocks) = (context.blocks.table(), context.blocks.pools().block_sets());
        match request {
            Maintenance::Block(block) => {
                let state = (block.0 < blocks).then(|| table.state(*block));
                let found = match state {
                    Some(_) if table.can_be_collected(*block) => return None,
                    Some(state) => format!("{block:?}, which is {state:?}"),
                    None => format!("{block:?}, which is none"),
                };
                Some((found, "a block that is closed, or suspended without a program in progress".into()))
            }
            Maintenance::Pages(pages) => {
                let most = self.designs.logical_pages;
                let beyond = pages.iter().find(|page| page.0 >= most)?;
                Some((format!("logical page {}", beyond.0), format!("pages from 0 to {}", most - 1)))
            }
        }
    }
}
