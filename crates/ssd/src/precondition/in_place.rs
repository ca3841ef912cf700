//! In place: what is overwritten stays in its pool, whatever the policies of the device would say.

use wordline_kernel::{Seed, state};

use crate::design::{Combination, Designs};
use crate::parts::Policies;
use crate::policy::balancer::Balancer;
use crate::policy::relocator::{Relocator, Single};
use crate::policy::router::{Outgoing, Router};

/// The policies, and the designs, that move pages between pools.
pub(super) struct Movers {
    router: Box<dyn Router>,
    relocator: Box<dyn Relocator>,
    balancer: Option<Box<dyn Balancer>>,
    designs: Designs,
}

impl Movers {
    /// Units stay in the pools of a device with so many that hold them, until these policies are [asked again](Self::ask_again).
    pub(super) fn set_aside(policies: &mut Policies, count: usize) -> Self {
        let pools: Vec<u8> =
            (0..policies.host_streams()).map(|stream| policies.pool_of_stream(stream)).collect();
        let none = Designs::new(Combination::default(), &*policies.router, count, Seed(0));
        Self {
            designs: std::mem::replace(&mut policies.designs, none),
            router: std::mem::replace(&mut policies.router, Box::new(InPlace { pools })),
            relocator: std::mem::replace(&mut policies.relocator, Box::new(Single)),
            balancer: policies.balancer.take(),
        }
    }

    /// They say again what goes where.
    pub(super) fn ask_again(self, policies: &mut Policies) {
        (policies.router, policies.relocator, policies.balancer) =
            (self.router, self.relocator, self.balancer);
        policies.designs = self.designs;
    }
}

/// A router that sends each unit to the pool that holds it.
struct InPlace {
    /// The pool of each stream.
    pools: Vec<u8>,
}

state!(InPlace { fixed { pools } });

impl Router for InPlace {
    fn streams(&self) -> u8 {
        self.pools.len() as u8
    }

    fn route(&mut self, unit: &Outgoing) -> u8 {
        let home = unit.home.unwrap_or(0);
        self.pools.iter().position(|pool| *pool == home).map_or(0, |stream| stream as u8)
    }

    fn pool(&self, stream: u8) -> u8 {
        self.pools[usize::from(stream)]
    }
}
