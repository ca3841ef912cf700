//! Cost-benefit: space gained, weighted by the age of the block, over the cost of copying.

use wordline_kernel::{Stream, state};
use wordline_nand::BlockSetId;

use super::{Candidates, Indexes, VictimPolicy};

/// Selects the block with the greatest `age (1 - u) / 2u` (Kawaguchi, Nishioka and Motoda, USENIX 1995). `u`
/// is the share of valid pages. The age is counted in pages, not in time. The count begins when the block
/// closes, and again whenever a page of the block becomes invalid. It counts the pages that became invalid in
/// closed blocks of the plane group. The block with fewer valid pages wins a tie.
///
/// Of all blocks with the same number of valid pages, only the oldest is compared, because it has the
/// greatest value.
pub struct CostBenefit;

state!(CostBenefit {});

impl VictimPolicy for CostBenefit {
    fn needs(&self) -> Indexes {
        Indexes { by_invalidation: true, ..Indexes::default() }
    }

    fn choose(&mut self, from: Candidates<'_>, _: &mut Stream) -> Option<BlockSetId> {
        let pages = u128::from(from.pages_per_block());
        let mut best: Option<(u128, u128, BlockSetId)> = None;
        for (block, age) in from.stalest() {
            let cost = u128::from(from.valid(block));
            // Age plus one, so that a block without valid pages always has a benefit.
            let benefit = u128::from(age + 1) * (pages - cost);
            if best.is_none_or(|(most, least, _)| benefit * least > most * cost) {
                best = Some((benefit, cost, block));
            }
        }
        best.map(|(.., block)| block)
    }
}
