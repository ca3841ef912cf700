//! Engines that the writer uses, borrowed together as one argument.

use wordline_kernel::state;

use crate::base::Base;
use crate::cache::Cache;
use crate::gc::Gc;
use crate::map::Map;

/// Engines below the writer, the recovery and the front end.
pub(crate) struct Core {
    pub(crate) base: Base,
    pub(crate) map: Map,
    pub(crate) cache: Cache,
    pub(crate) gc: Gc,
}

state!(Core { parts { base, map, cache, gc } });
