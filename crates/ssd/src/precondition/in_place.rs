//! In-place preconditioning: overwritten pages stay in their pool, whatever policies and designs would
//! decide.

use wordline_ftl::ActivePolicies;
use wordline_ftl::design::{ExtensionPoint, ExtensionPoints, PausedDecisions};
use wordline_ftl::policy::balancer::Balancer;
use wordline_ftl::policy::relocator::{Relocator, Single};
use wordline_ftl::policy::router::{HostPage, Router};
use wordline_kernel::state;

/// Decisions that can move pages between pools.
const MIGRATION_DECISIONS: ExtensionPoints = ExtensionPoints::of(&[
    ExtensionPoint::Pool,
    ExtensionPoint::Stream,
    ExtensionPoint::Balance,
    ExtensionPoint::Relocate,
]);

/// Paused policies and designs that can move pages between pools.
pub(super) struct MigrationPolicies {
    router: Box<dyn Router>,
    relocator: Box<dyn Relocator>,
    balancer: Option<Box<dyn Balancer>>,
    designs: PausedDecisions,
}

impl MigrationPolicies {
    /// Pauses the policies: each unit stays in its pool until [`resume_decisions`](Self::resume_decisions).
    pub(super) fn pause(policies: &mut ActivePolicies) -> Self {
        let pools: Vec<u8> =
            (0..policies.host_streams()).map(|stream| policies.pool_of_stream(stream)).collect();
        Self {
            designs: policies.designs.pause_decisions(MIGRATION_DECISIONS),
            router: std::mem::replace(&mut policies.router, Box::new(InPlace { pools })),
            relocator: std::mem::replace(&mut policies.relocator, Box::new(Single)),
            balancer: policies.balancer.take(),
        }
    }

    /// Restores the policies and designs.
    pub(super) fn resume_decisions(self, policies: &mut ActivePolicies) {
        (policies.router, policies.relocator, policies.balancer) =
            (self.router, self.relocator, self.balancer);
        policies.designs.resume_decisions(self.designs);
    }
}

/// Router that keeps each unit in its pool.
struct InPlace {
    /// Pool of each stream.
    pools: Vec<u8>,
}

state!(InPlace { fixed { pools } });

impl Router for InPlace {
    fn streams(&self) -> u8 {
        self.pools.len() as u8
    }

    fn route(&mut self, unit: &HostPage) -> u8 {
        let home = unit.home.unwrap_or(0);
        self.pools.iter().position(|pool| *pool == home).map_or(0, |stream| stream as u8)
    }

    fn pool(&self, stream: u8) -> u8 {
        self.pools[usize::from(stream)]
    }
}
