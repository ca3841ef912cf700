//! First in, first out.

use wordline_kernel::state;

use super::{EntryId, EntryList, Eviction};

/// Evicts the page that arrived first, however often it was used.
pub struct Fifo;

state!(Fifo {});

impl Eviction for Fifo {
    #[inline]
    fn next(&mut self, waiting: &EntryList) -> EntryId {
        waiting.first().expect("a page waits")
    }
}
