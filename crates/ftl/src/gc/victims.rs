//! GC victim selection by the policy and the designs.

use wordline_flash::Flash;
use wordline_kernel::{Stream, state};
use wordline_nand::{BlockSetId, PlaneGroupId};

use crate::blocks::BlockManager;
use crate::design::DesignContext;
use crate::policies::ActivePolicies;
use crate::policy::victim::{Preference, VictimPolicy};

/// Victim policy and its random stream.
pub(super) struct Victims {
    policy: Box<dyn VictimPolicy>,
    random: Stream,
}

state!(Victims { values { random } parts { policy } });

impl Victims {
    pub(super) fn new(policy: Box<dyn VictimPolicy>, random: Stream) -> Self {
        Self { policy, random }
    }

    /// Preference of the policy, if theory predicts its write amplification.
    pub(super) fn preference(&self) -> Option<Preference> {
        self.policy.preference()
    }

    /// Selects the next victim of a plane group. A design selects the victim, if one decides. Otherwise the
    /// policy selects a closed block, and a suspended block replaces it if it gains more pages.
    pub(super) fn choose(
        &mut self,
        row: PlaneGroupId,
        blocks: &BlockManager,
        flash: &Flash,
        policies: &mut ActivePolicies,
    ) -> Option<BlockSetId> {
        let (context, candidates) = (DesignContext { flash, blocks }, || blocks.candidates(row));
        let chosen = policies.victim(candidates, row, context);
        let by_policy = || {
            let closed = self.policy.choose(candidates(), &mut self.random);
            blocks.pool_of(row).better_of_suspended(row, closed, blocks.table())
        };
        let victim = chosen.unwrap_or_else(by_policy)?;
        if blocks.table().is_candidate(victim, row) {
            return Some(victim);
        }
        policies.record_invalid_victim(victim, row, context);
        blocks.candidates(row).fewest_valid()
    }

    /// Selects a superblock, if superblocks are collected and not enough of them are in progress. Returns
    /// whether it did.
    pub(super) fn choose_super_block(
        &mut self,
        row: PlaneGroupId,
        blocks: &mut BlockManager,
        flash: &Flash,
        policies: &mut ActivePolicies,
    ) -> bool {
        let pool = blocks.pool_of(row);
        let Some(candidates) = pool.super_block_candidates() else { return false };
        let (context, again) =
            (DesignContext { flash, blocks }, || pool.super_block_candidates().expect("they are there"));
        let chosen = match policies.victim(again, row, context) {
            Some(chosen) => chosen,
            None => self.policy.choose(candidates, &mut self.random),
        };
        let Some(mut chosen) = chosen else { return false };
        if !pool.is_super_block_candidate(chosen) {
            policies.record_invalid_victim(chosen, row, context);
            let Some(first) = again().fewest_valid() else { return false };
            chosen = first;
        }
        blocks.choose_super_block(row, chosen);
        true
    }
}
