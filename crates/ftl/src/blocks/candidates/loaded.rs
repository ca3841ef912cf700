//! Consistency check of closed blocks in a loaded snapshot.

use wordline_kernel::Id;
use wordline_kernel::ensure;
use wordline_kernel::ensure::ensure;
use wordline_nand::{BlockSetId, PlaneGroupId};

use super::{Buckets, ByClosing, ByInvalidation, Closed, Link, NONE, Numbered};

impl Closed {
    /// Checks the loaded state. It must have the shape of `new`, which is empty. It must have exactly the
    /// blocks that `of` reports as closed, each with its plane group and valid pages.
    pub(in crate::blocks) fn check(
        &self,
        new: &Self,
        of: impl Fn(BlockSetId) -> Option<(PlaneGroupId, u32)>,
    ) -> Result<(), String> {
        let blocks = new.buckets.links.len();
        ensure(self.has_shape_of(new), || "closed blocks of another device".into())?;
        let mut invalid = vec![0u64; new.full.len()];
        let (mut closed, mut candidates) = (0, vec![0; new.full.len()]);
        for (row, valid) in (0..blocks as u32).filter_map(|block| of(BlockSetId(block))) {
            let full = self.full[row];
            ensure(valid <= full, || format!("{valid} pages of {full} are valid in plane group {row}"))?;
            closed += 1;
            invalid[row.index()] += u64::from(full - valid);
            candidates[row.index()] += usize::from(valid < full);
        }
        let holds = self.invalid.iter().map(|pages| u64::from(*pages)).eq(invalid);
        ensure(holds, || "closed blocks have other pages to be collected than are counted".into())?;
        ensure(self.buckets.count(&of)? == closed, || "closed blocks are in no list".into())?;
        let is_candidate = |block: BlockSetId, row: PlaneGroupId| {
            block.index() < blocks
                && of(block).is_some_and(|(own, valid)| own == row && valid < self.full[row])
        };
        let numbered = self.numbered.as_ref().is_none_or(|list| list.has(&candidates, is_candidate));
        let by_closing = self.by_closing.as_ref().is_none_or(|list| list.has(&candidates, is_candidate));
        ensure(numbered && by_closing, || "GC candidates differ from the closed blocks".into())?;
        let by_invalidation = self.by_invalidation.as_ref().is_none_or(|ages| ages.are_past(&of));
        ensure(by_invalidation, || "the last invalidation of a block is in the future".into())
    }

    fn has_shape_of(&self, new: &Self) -> bool {
        let lengths = |one: &Self| {
            let Buckets { per_row, head, links, least } = &one.buckets;
            let buckets = [*per_row, head.len(), links.len(), least.len(), one.invalid.len()];
            let numbered = one.numbered.as_ref().map(|list| (list.list.len(), list.place.len()));
            let by_closing = one.by_closing.as_ref().map(|list| (list.order.len(), list.closed_at.len()));
            let by_invalidation =
                one.by_invalidation.as_ref().map(|ages| (ages.clock.len(), ages.last.len()));
            (buckets, numbered, by_closing, by_invalidation)
        };
        lengths(self) == lengths(new) && self.full.iter().eq(new.full.iter())
    }
}

impl Buckets {
    /// Counts the blocks of all lists, and checks that each is in its bucket.
    fn count(&self, of: &impl Fn(BlockSetId) -> Option<(PlaneGroupId, u32)>) -> Result<usize, String> {
        let (mut seen, mut count) = (vec![false; self.links.len()], 0);
        for (n, first) in self.head.iter().copied().enumerate().filter(|(_, first)| *first != NONE) {
            let (row, valid) = (PlaneGroupId::from_index(n / self.per_row), (n % self.per_row) as u32);
            let mut before = None;
            let mut at = first;
            while at != NONE {
                let block = BlockSetId(at);
                let is_first = ensure::is_first(&mut seen, block.index());
                let is_here = is_first
                    && of(block) == Some((row, valid))
                    && before.is_none_or(|before| before == self.links[block].previous);
                ensure(is_here, || {
                    format!("block {at} is listed with {valid} valid pages of plane group {row}")
                })?;
                let Link { next, .. } = self.links[block];
                (before, at, count) = (Some(at), next, count + 1);
            }
            // The `previous` link of the first block points to the last one.
            let ends = before == Some(self.links[BlockSetId(first)].previous);
            ensure(ends && self.least[row].get() <= valid, || {
                format!("the list of blocks with {valid} valid pages of plane group {row} is inconsistent")
            })?;
        }
        Ok(count)
    }
}

impl Numbered {
    /// Whether the index has `counts` candidates for each plane group, each in its place.
    fn has(&self, counts: &[usize], is_candidate: impl Fn(BlockSetId, PlaneGroupId) -> bool) -> bool {
        self.list.entries().all(|(row, list)| {
            let is_at =
                |(place, block): (u32, &BlockSetId)| is_candidate(*block, row) && self.place[*block] == place;
            list.len() == counts[row.index()] && (0..).zip(list).all(is_at)
        })
    }
}

impl ByClosing {
    /// Whether the index has `counts` candidates for each plane group, each at its closing number.
    fn has(&self, counts: &[usize], is_candidate: impl Fn(BlockSetId, PlaneGroupId) -> bool) -> bool {
        let are_past = self.closed < u64::MAX / 2 && self.closed_at.iter().all(|at| *at <= self.closed);
        are_past
            && self.order.entries().all(|(row, order)| {
                let is_at = |(at, block): (&u64, &BlockSetId)| {
                    is_candidate(*block, row) && self.closed_at[*block] == *at
                };
                order.len() == counts[row.index()] && order.iter().all(is_at)
            })
    }
}

impl ByInvalidation {
    /// Whether the last invalidation of each closed block is not after the clock of its plane group.
    fn are_past(&self, of: impl Fn(BlockSetId) -> Option<(PlaneGroupId, u32)>) -> bool {
        let runs_on = self.clock.iter().all(|clock| *clock < u64::MAX / 2);
        runs_on
            && self
                .last
                .entries()
                .all(|(block, last)| of(block).is_none_or(|(row, _)| *last <= self.clock[row]))
    }
}
