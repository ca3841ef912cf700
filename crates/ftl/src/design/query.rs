//! Queries to designs and policies, and checks of their decisions.

use wordline_device::InvalidDecision;
use wordline_flash::policy::failure::{Failure, FailureAction};
use wordline_kernel::chart::ChartData;
use wordline_kernel::metrics::Value;
use wordline_kernel::{Bytes, Duration, Metric};
use wordline_nand::{BlockSetId, CellMode, PlaneGroupId};

use super::table::{Designs, STREAM_DECISIONS};
use super::{CoalescedUnit, Design, DesignContext, ExtensionPoint, View, WaitingPages, WriteStream};
use crate::blocks::ModeStreams;
use crate::policies::ActivePolicies;
use crate::policy::background::IdleGroup;
use crate::policy::balancer::WaitingUnits;
use crate::policy::frontier::OpenBlock;
use crate::policy::placement::PlaneGroupSet;
use crate::policy::relocator::RelocatedPage;
use crate::policy::router::HostPage;
use crate::policy::victim::{Candidates, Indexes};

impl Designs {
    /// Whether some design decides at this extension point.
    #[inline]
    pub fn decides(&self, seam: ExtensionPoint) -> bool {
        self.claimed.has(seam)
    }

    /// Whether some design selects the streams of host pages.
    #[inline]
    pub fn routes(&self) -> bool {
        self.claimed.has_any(STREAM_DECISIONS)
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(super) fn query<T>(
        &mut self,
        design: usize,
        context: DesignContext<'_>,
        f: impl FnOnce(&mut dyn Design, &mut View<'_>) -> T,
    ) -> T {
        self.notify_pending(context);
        let Self { all, level, now, logical_pages, .. } = self;
        let (one, logical_pages) = (&mut all[design], *logical_pages);
        let random = &mut one.random;
        f(&mut *one.design, &mut View { context, level: *level, now: *now, logical_pages, random })
    }

    /// Records an invalid decision. Only the first one is kept, because later ones may follow from it.
    #[cold]
    pub(super) fn record_invalid(
        &self,
        seam: ExtensionPoint,
        pool: usize,
        decision: String,
        allowed: impl FnOnce() -> String,
    ) {
        let design = self.owner(seam, pool).map(|owner| self.all[owner].design.name());
        let _ = self.wrong.get_or_init(|| {
            Box::new(InvalidDecision { design, seam: seam.name(), decision, allowed: allowed() })
        });
    }

    /// The first invalid decision of a design, if there was one.
    #[inline]
    pub fn invalid_decision(&self) -> Option<&InvalidDecision> {
        self.wrong.get().map(|wrong| &**wrong)
    }

    /// Names of all designs.
    pub fn names(&self) -> Vec<&'static str> {
        self.all.iter().map(|one| one.design.name()).collect()
    }

    /// Metrics of all designs, with their values.
    pub fn measure(&self) -> impl Iterator<Item = (&'static Metric, Value)> + '_ {
        self.all.iter().flat_map(|one| one.design.measure())
    }

    /// Charts of all designs, each with the name of its design.
    pub fn charts(&self) -> impl Iterator<Item = (&'static str, ChartData)> + '_ {
        self.all
            .iter()
            .flat_map(|one| one.design.charts().into_iter().map(|drawn| (one.design.name(), drawn)))
    }

    /// Smallest written unit that goes to the first of several pools; `None` if sizes do not decide.
    pub(crate) fn min_size_for_first_pool(&self) -> Option<Bytes> {
        let owner = self.owner(ExtensionPoint::Pool, 0)?;
        self.all[owner].design.min_size_for_first_pool()
    }
}

impl ActivePolicies {
    /// Host streams that the router, or a design in its place, distinguishes.
    pub fn host_streams(&self) -> u8 {
        self.designs
            .routes
            .as_ref()
            .map_or_else(|| self.router.streams(), |routes| routes.streams.len() as u8)
    }

    pub(crate) fn gc_streams(&self) -> u8 {
        self.designs.gathered.most()
    }

    /// Pool of a host stream.
    pub fn pool_of_stream(&self, stream: u8) -> u8 {
        match &self.designs.routes {
            Some(routes) => routes.streams[usize::from(stream)].pool,
            None => self.router.pool(stream),
        }
    }

    /// Streams whose blocks in a pool are opened in a mode.
    pub fn mode_streams(&self, pool: usize, mode: CellMode) -> ModeStreams {
        let Designs { routes, gathered, .. } = &self.designs;
        let declared = routes.as_ref().map_or(0, |routes| routes.in_mode(pool, mode));
        let asks_router =
            mode == CellMode::Slc && pool == 0 && self.designs.owner(ExtensionPoint::Stream, 0).is_none();
        let routed = self.router.cached().filter(|_| asks_router).map_or(0, |stream| 1 << stream);
        ModeStreams { host: declared | routed, gc: gathered.in_mode(pool, mode) }
    }

    /// Selects the host stream for a page or unit that is destaged.
    #[inline]
    pub fn route(&mut self, page: &HostPage<'_>, context: DesignContext<'_>) -> u8 {
        if self.designs.routes() {
            return self.routed(page, context);
        }
        let (stream, streams) = (self.router.route(page), context.blocks.streams().host);
        if stream < streams {
            return stream;
        }
        self.designs.record_invalid(ExtensionPoint::Stream, 0, format!("stream {stream}"), || {
            format!("one of {streams}")
        });
        0
    }

    /// Selects the host stream if a design makes a decision about it: the pool, then the stream in it.
    #[inline(never)]
    fn routed(&mut self, page: &HostPage<'_>, context: DesignContext<'_>) -> u8 {
        let pools = context.blocks.pools().count();
        let mut pool = match self.designs.owner(ExtensionPoint::Pool, 0) {
            Some(design) => self.designs.query(design, context, |design, view| design.pool(page, view)),
            None if pools > 1 => {
                let stream = self.router.route(page);
                self.router.pool(stream)
            }
            None => 0,
        };
        if usize::from(pool) >= pools {
            let allowed = || format!("a pool from 0 to {}", pools - 1);
            self.designs.record_invalid(ExtensionPoint::Pool, 0, format!("pool {pool}"), allowed);
            pool = 0;
        }
        let at = usize::from(pool);
        let owner = self.designs.owner(ExtensionPoint::Stream, at);
        let routes = self.designs.routes.as_ref().expect("a design answers for streams of the host");
        let (first, count) = (routes.first[at], routes.first[at + 1] - routes.first[at]);
        let stream = match owner {
            Some(design) => {
                self.designs.query(design, context, |design, view| design.stream(page, pool, view))
            }
            None if count > 1 => self.router.route(page),
            None => 0,
        };
        if stream >= count {
            let allowed = || format!("one of the {count} of pool {pool}, counted from 0");
            self.designs.record_invalid(ExtensionPoint::Stream, at, format!("stream {stream}"), allowed);
            return first;
        }
        first + stream
    }

    /// Whether a design decides when pages that may stay in the buffer are destaged.
    #[inline]
    pub fn coalesces(&self) -> bool {
        self.designs.decides(ExtensionPoint::Coalesce)
    }

    /// Decides whether the waiting pages of a unit are destaged now.
    pub fn destages_now(&mut self, unit: &CoalescedUnit<'_>, context: DesignContext<'_>) -> bool {
        let Some(design) = self.designs.owner(ExtensionPoint::Coalesce, 0) else { return false };
        self.designs.query(design, context, |design, view| design.destages_now(unit, view))
    }

    /// Decides whether a waiting page is destaged together with another page of its unit.
    pub fn destages_with(&mut self, page: u32, other: u32, context: DesignContext<'_>) -> bool {
        let Some(design) = self.designs.owner(ExtensionPoint::Coalesce, 0) else { return true };
        self.designs.query(design, context, |design, view| design.destages_with(page, other, view))
    }

    /// Whether a page in another pool is programmed with the part of its unit that goes to the first pool.
    pub fn is_carried_along(&mut self, page: u32, context: DesignContext<'_>) -> bool {
        let Some(design) = self.designs.owner(ExtensionPoint::Coalesce, 0) else { return true };
        self.designs.query(design, context, |design, view| design.is_carried_along(page, view))
    }

    /// Selects one of `rows`, which must not be empty. All are in one pool.
    #[inline]
    pub fn place(&mut self, rows: &PlaneGroupSet, context: DesignContext<'_>) -> PlaneGroupId {
        let decision = if self.designs.decides(ExtensionPoint::Place) {
            self.placed(rows, context)
        } else {
            self.placement.next(rows)
        };
        match decision {
            Some(row) if rows.has(row) => row,
            _ => self.invalid_group(decision, rows, context),
        }
    }

    #[inline(never)]
    fn placed(&mut self, rows: &PlaneGroupSet, context: DesignContext<'_>) -> Option<PlaneGroupId> {
        let pool =
            rows.next_from(PlaneGroupId(0)).map_or(0, |row| context.blocks.pools().number_of_group(row));
        match self.designs.owner(ExtensionPoint::Place, pool) {
            Some(design) => {
                Some(self.designs.query(design, context, |design, view| design.place(rows, view)))
            }
            None => self.placement.next(rows),
        }
    }

    #[cold]
    fn invalid_group(
        &self,
        decision: Option<PlaneGroupId>,
        rows: &PlaneGroupSet,
        context: DesignContext<'_>,
    ) -> PlaneGroupId {
        let first = rows.next_from(PlaneGroupId(0)).expect("a row takes a program unit");
        let found = decision.map_or_else(|| "no plane group".into(), |row| format!("plane group {row}"));
        let allowed = || {
            let some: Vec<String> = rows.iter().take(8).map(|row| row.to_string()).collect();
            let more = if rows.iter().nth(8).is_some() { ", ..." } else { "" };
            format!("one of the plane groups that accept a program unit: {}{more}", some.join(", "))
        };
        self.designs.record_invalid(
            ExtensionPoint::Place,
            context.blocks.pools().number_of_group(first),
            found,
            allowed,
        );
        first
    }

    /// Whether word lines of a pool are programmed out of numerical order, or reprogrammed.
    pub(crate) fn orders_word_lines(&self, pool: usize) -> bool {
        !self.frontiers[pool].is_in_order()
            || self.designs.owner(ExtensionPoint::Frontier, pool).is_some()
            || self.again(pool).is_some()
    }

    /// Most reprograms of a word line for each host stream; `None` if no stream of the pool reprograms.
    pub(crate) fn again(&self, pool: usize) -> Option<Vec<u8>> {
        let streams = &self.designs.routes.as_ref()?.streams;
        let of_pool =
            |stream: &WriteStream| if usize::from(stream.pool) == pool { stream.again() } else { 0 };
        let most: Vec<u8> = streams.iter().map(of_pool).collect();
        most.iter().any(|times| *times > 0).then_some(most)
    }

    /// Most open blocks of a stream in a pool.
    pub(crate) fn open_blocks(&self, pool: usize) -> u8 {
        self.designs
            .owner(ExtensionPoint::Frontier, pool)
            .map_or(1, |design| self.designs.open_blocks(design))
    }

    /// Selects the open block of a stream and the word line for the next program.
    pub(crate) fn next_word_line(
        &mut self,
        open: &[OpenBlock<'_>],
        context: DesignContext<'_>,
    ) -> (usize, u32) {
        let which = if open.len() > 1 { self.open_block(open, context) } else { 0 };
        (which, self.word_line(&open[which], context))
    }

    fn open_block(&mut self, open: &[OpenBlock<'_>], context: DesignContext<'_>) -> usize {
        let pools = context.blocks.pools();
        let pool = pools.number_of_group(pools.group_of_block(open[0].block));
        let Some(design) = self.designs.owner(ExtensionPoint::Frontier, pool) else { return 0 };
        let decision = self.designs.query(design, context, |design, view| design.open_block(open, view));
        if decision < open.len() {
            return decision;
        }
        let allowed = || format!("one of the {} open blocks, counted from 0", open.len());
        self.designs.record_invalid(
            ExtensionPoint::Frontier,
            pool,
            format!("open block {decision}"),
            allowed,
        );
        0
    }

    /// Selects a word line of an open block. It must be unprogrammed, or one that can be reprogrammed.
    fn word_line(&mut self, open: &OpenBlock<'_>, context: DesignContext<'_>) -> u32 {
        let pools = context.blocks.pools();
        let pool = pools.number_of_group(pools.group_of_block(open.block));
        let decision = match self.designs.owner(ExtensionPoint::Frontier, pool) {
            Some(design) => self.designs.query(design, context, |design, view| design.word_line(open, view)),
            None => open.due_reprogram().unwrap_or_else(|| self.frontiers[pool].next(open)),
        };
        let may = decision < open.shape.count() && !open.is_programmed(decision);
        if may || open.can_reprogram(decision) {
            return decision;
        }
        let allowed = || {
            format!(
                "a word line of {:?} from 0 to {} that is unprogrammed or can be reprogrammed",
                open.block,
                open.shape.count() - 1
            )
        };
        self.designs.record_invalid(ExtensionPoint::Frontier, pool, format!("word line {decision}"), allowed);
        open.again.word_lines.first().copied().unwrap_or_else(|| open.first_unprogrammed())
    }

    /// Victim that a design selects in a plane group; the outer `None` if no design decides.
    #[inline]
    pub(crate) fn victim<'a>(
        &mut self,
        from: impl Fn() -> Candidates<'a>,
        row: PlaneGroupId,
        context: DesignContext<'a>,
    ) -> Option<Option<BlockSetId>> {
        let pool = if self.designs.decides(ExtensionPoint::Victim) {
            context.blocks.pools().number_of_group(row)
        } else {
            return None;
        };
        let owner = self.designs.owner(ExtensionPoint::Victim, pool)?;
        let chosen = self.designs.query(owner, context, |design, view| design.victim(from(), row, view));
        if chosen.is_none() && from().fewest_valid().is_some() {
            self.declined = Some(row);
        } else if self.declined == Some(row) {
            self.declined = None;
        }
        Some(chosen)
    }

    /// Records as an invalid decision that a design selected no victim although there were candidates, if one did.
    /// For a device whose commands wait for free blocks for ever.
    pub fn record_declined_victim(&self, context: DesignContext<'_>) {
        let Some(row) = self.declined else { return };
        let free = context.blocks.space().free(row);
        let allowed = || {
            format!(
                "a candidate of plane group {row}, which has {free} free blocks: commands wait for more of them"
            )
        };
        let pool = context.blocks.pools().number_of_group(row);
        self.designs.record_invalid(ExtensionPoint::Victim, pool, "no victim".into(), allowed);
    }

    /// Candidate indexes that the policy or some design needs.
    pub(crate) fn indexes(&self, of_policy: Indexes) -> Indexes {
        let needs = |one: &super::table::DesignEntry| one.design.needs();
        let answering =
            self.designs.all.iter().map(needs).filter(|needs| needs.decisions.has(ExtensionPoint::Victim));
        answering.map(|needs| needs.indexes).fold(of_policy, |sum, own| Indexes {
            numbered: sum.numbered || own.numbered,
            by_closing: sum.by_closing || own.by_closing,
            by_invalidation: sum.by_invalidation || own.by_invalidation,
        })
    }

    /// Records the selection of a victim that is not a candidate.
    #[cold]
    pub(crate) fn record_invalid_victim(
        &self,
        victim: BlockSetId,
        row: PlaneGroupId,
        context: DesignContext<'_>,
    ) {
        let table = context.blocks.table();
        let block = (victim.0 < context.blocks.pools().block_sets()).then(|| table.state(victim));
        let found = match block {
            Some(state) => format!("{victim:?}, which is {state:?} with {} valid pages", table.valid(victim)),
            None => format!("{victim:?}, which is none"),
        };
        let allowed = || {
            format!(
                "a candidate of plane group {row}: a closed block with an invalid page, a suspended block, or none"
            )
        };
        self.designs.record_invalid(
            ExtensionPoint::Victim,
            context.blocks.pools().number_of_group(row),
            found,
            allowed,
        );
    }

    /// Selects the GC stream for a valid page of a victim in `pool`.
    #[inline]
    pub(crate) fn relocate(
        &mut self,
        page: &RelocatedPage,
        pool: impl FnOnce() -> usize,
        context: DesignContext<'_>,
    ) -> u8 {
        if self.designs.decides(ExtensionPoint::Relocate) {
            return self.relocated(page, pool(), context);
        }
        let (decision, streams) = (self.relocator.route(page), context.blocks.streams().gc);
        if decision < streams { decision } else { self.invalid_stream(decision, streams, 0) }
    }

    #[inline(never)]
    fn relocated(&mut self, page: &RelocatedPage, pool: usize, context: DesignContext<'_>) -> u8 {
        let decision = match self.designs.owner(ExtensionPoint::Relocate, pool) {
            Some(design) => {
                self.designs.query(design, context, |design, view| design.relocate(page, pool as u8, view))
            }
            None => self.relocator.route(page),
        };
        let streams = self.designs.gathered.of_pools[pool];
        if decision < streams { decision } else { self.invalid_stream(decision, streams, pool) }
    }

    #[cold]
    fn invalid_stream(&self, decision: u8, streams: u8, pool: usize) -> u8 {
        let allowed = || format!("one of {streams}, counted from 0");
        self.designs.record_invalid(ExtensionPoint::Relocate, pool, format!("GC stream {decision}"), allowed);
        0
    }

    /// Selects the host stream in another pool to which a valid page of a victim in `pool` is migrated.
    pub(crate) fn migration_target(
        &mut self,
        page: &RelocatedPage,
        pool: usize,
        context: DesignContext<'_>,
    ) -> Option<u8> {
        let owner = self.designs.owner(ExtensionPoint::Relocate, pool)?;
        let there = self
            .designs
            .query(owner, context, |design, view| design.migration_target(page, pool as u8, view))?;
        let pools = context.blocks.pools();
        let to = usize::from(there.pool);
        let is_mapped_by_page = |to: usize| {
            let row = pools.get(to).geometry.all_groups().next();
            row.is_some_and(|row| !context.blocks.pool_of(row).is_coarsely_mapped())
        };
        let is_another = to < pools.count() && to != pool && is_mapped_by_page(to);
        let mut streams =
            (0..self.host_streams()).filter(|stream| self.pool_of_stream(*stream) == there.pool);
        let stream = streams.nth(usize::from(there.stream)).filter(|_| is_another);
        if stream.is_none() {
            let allowed = || "a host stream in another pool, which is mapped by page".into();
            let decision = format!("stream {} of pool {to}", there.stream);
            self.designs.record_invalid(ExtensionPoint::Relocate, pool, decision, allowed);
        }
        stream
    }

    /// Decides whether the valid pages of a victim of another pool are migrated to the first pool.
    pub(crate) fn leaves(
        &mut self,
        victim: BlockSetId,
        pool: usize,
        context: DesignContext<'_>,
        states: &[crate::policy::pool_state::PoolState],
    ) -> bool {
        match self.designs.owner(ExtensionPoint::Relocate, pool) {
            Some(design) => {
                self.designs.query(design, context, |design, view| design.leaves(victim, pool, view))
            }
            None => self.relocator.leaves(pool, states),
        }
    }

    /// Whether a design or policy steals work.
    #[inline]
    pub fn balances(&self) -> bool {
        self.balancer.is_some() || self.designs.decides(ExtensionPoint::Balance)
    }

    /// Selects the plane group from which an idle one steals a program unit.
    pub fn take(
        &mut self,
        idle: PlaneGroupId,
        waiting: &WaitingUnits<'_>,
        context: DesignContext<'_>,
    ) -> Option<PlaneGroupId> {
        let decision = match self.designs.owner(ExtensionPoint::Balance, 0) {
            Some(design) => {
                self.designs.query(design, context, |design, view| design.take(idle, waiting, view))
            }
            None => self.balancer.as_mut()?.take(idle, waiting),
        }?;
        if waiting.units.get(decision).is_some_and(|units| *units > 0) {
            return Some(decision);
        }
        let allowed = || "a plane group with a waiting program unit, or none".into();
        self.designs.record_invalid(ExtensionPoint::Balance, 0, format!("plane group {decision}"), allowed);
        None
    }

    /// Index of the sub-request that pool `to` steals, among those waiting for the first pool, oldest first.
    pub fn steal(
        &mut self,
        waiting: impl FnOnce() -> Vec<WaitingPages>,
        to: usize,
        context: DesignContext<'_>,
        states: &[crate::policy::pool_state::PoolState],
    ) -> Option<usize> {
        let Some(design) = self.designs.owner(ExtensionPoint::Balance, 0) else {
            return self.balancer.as_mut()?.steals(0, to, states).then_some(0);
        };
        let waiting = waiting();
        let decision =
            self.designs.query(design, context, |design, view| design.steal(&waiting, to, view))?;
        if decision < waiting.len() {
            return Some(decision);
        }
        let allowed = || format!("one of the {} that wait, counted from 0, or none", waiting.len());
        self.designs.record_invalid(ExtensionPoint::Balance, 0, format!("sub-request {decision}"), allowed);
        None
    }

    /// How long the host must be idle before background work starts; `None` if there is no background work.
    #[inline]
    pub(crate) fn idle_delay(&self) -> Option<Duration> {
        match self.designs.owner(ExtensionPoint::Background, 0) {
            Some(design) => self.designs.all[design].design.idle_delay(),
            None => self.background.as_ref()?.idle_delay(),
        }
    }

    /// Whether any background work is done while the host is idle.
    #[inline]
    pub(crate) fn has_background(&self) -> bool {
        self.background.is_some() || self.designs.decides(ExtensionPoint::Background)
    }

    /// Goals of background GC for a plane group: free blocks, if GC gains any, and SLC-cache blocks.
    pub(crate) fn idle_goals(
        &mut self,
        row: &IdleGroup,
        gains: bool,
        context: DesignContext<'_>,
    ) -> (u32, u32) {
        let Some(design) = self.designs.owner(ExtensionPoint::Background, 0) else {
            let Some(background) = &mut self.background else { return (0, row.cached_blocks) };
            let free = if gains { background.free_blocks(row) } else { 0 };
            return (free, background.cached_blocks(row));
        };
        self.designs.query(design, context, |design, view| {
            let free = if gains { design.free_blocks(row, view) } else { 0 };
            (free, design.cached_blocks(row, view))
        })
    }

    /// Action for a block in which a command failed.
    pub fn failure_action(&mut self, failure: &Failure, context: DesignContext<'_>) -> FailureAction {
        let blocks = context.blocks;
        let pool = blocks.pools().number_of_group(blocks.table().group_of(failure.block));
        match self.designs.owner(ExtensionPoint::Fail, pool) {
            Some(design) => self.designs.query(design, context, |design, view| design.failed(failure, view)),
            None => self.failure.after(failure),
        }
    }
}
