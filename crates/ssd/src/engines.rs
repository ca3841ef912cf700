//! The engines to the left of the writer, which are lent together as one argument.

use wordline_kernel::state;

use crate::base::Base;
use crate::cache::Cache;
use crate::map::Map;
use crate::reclaim::Reclaim;

/// The state that the writer, the recovery and the front end work on. It has no methods: what they do is theirs.
pub(crate) struct Core {
    pub(crate) base: Base,
    pub(crate) map: Map,
    pub(crate) cache: Cache,
    pub(crate) reclaim: Reclaim,
}

state!(Core { parts { base, map, cache, reclaim } });
