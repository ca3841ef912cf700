//! The engines that hold what a device knows, left of those that act for the host: they are lent together.

use wordline_kernel::state;

use crate::base::Base;
use crate::cache::Cache;
use crate::map::Map;
use crate::reclaim::Reclaim;

/// What is where, what is in memory, and what is being cleaned. The writer, the recovery and the front end work on it.
pub(crate) struct Core {
    pub(crate) base: Base,
    pub(crate) map: Map,
    pub(crate) cache: Cache,
    pub(crate) reclaim: Reclaim,
}

state!(Core { parts { base, map, cache, reclaim } });
