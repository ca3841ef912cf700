//! Least recently used.

use wordline_ftl::map::LogicalPage;
use wordline_kernel::ensure::ensure;
use wordline_kernel::state;

use super::{EntryId, EntryList, Eviction};

/// Evicts the page that was not read or written for the longest time.
#[derive(Default)]
pub struct Lru {
    by_use: EntryList,
}

state!(Lru { values { by_use } });

impl Eviction for Lru {
    fn prepare(&mut self, entries: u32) {
        self.by_use = EntryList::new(entries);
    }

    fn added(&mut self, entry: EntryId, _: LogicalPage) {
        self.by_use.push(entry);
    }

    fn used(&mut self, entry: EntryId) {
        self.by_use.move_to_end(entry);
    }

    fn removed(&mut self, entry: EntryId) {
        self.by_use.remove(entry);
    }

    fn next(&mut self, _: &EntryList) -> EntryId {
        self.by_use.first().expect("a page waits")
    }

    fn check_loaded(&self, waiting: &EntryList) -> Result<(), String> {
        ensure(self.by_use.has_same_entries(waiting), || {
            "the entries by their use are not those that wait".into()
        })
    }
}
