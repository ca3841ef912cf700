//! Cost-benefit: the space gained, weighted by how long it will last, over the cost of copying.

use wordline_kernel::{Stream, state};
use wordline_nand::BlockSetId;

use super::{Candidates, Indexes, VictimPolicy};

/// Selects the block with the greatest `age (1 - u) / 2u`, where `u` is its share of valid pages and its age
/// the number of pages that the closed blocks of the plane group lost since it closed or lost one (Kawaguchi,
/// Nishioka and Motoda, USENIX 1995, with time counted in overwritten pages). Among blocks with equally many
/// valid pages the oldest is the best, so only those are compared. Fewer valid pages win a tie.
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
            // One more than the age, so that a block without valid pages always has a benefit.
            let benefit = u128::from(age + 1) * (pages - cost);
            if best.is_none_or(|(most, least, _)| benefit * least > most * cost) {
                best = Some((benefit, cost, block));
            }
        }
        best.map(|(.., block)| block)
    }
}
