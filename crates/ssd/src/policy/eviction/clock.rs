//! Clock, also called second chance.

use wordline_ftl::map::LogicalPage;
use wordline_kernel::ensure::ensure;
use wordline_kernel::state;

use super::{EntryId, EntryList, Eviction};

/// Moves a hand round the pages. A page that was used since the hand last passed it stays for another round.
/// The first page that was not used is evicted. New pages are inserted behind the hand.
#[derive(Default)]
pub struct Clock {
    /// Circular list of the entries, with the hand at its front.
    face: EntryList,
    used: Vec<bool>,
}

state!(Clock { values { face, used } });

impl Eviction for Clock {
    fn prepare(&mut self, entries: u32) {
        self.face = EntryList::new(entries);
        self.used = vec![false; entries as usize];
    }

    fn added(&mut self, entry: EntryId, _: LogicalPage) {
        self.face.push(entry);
        self.used[entry.0 as usize] = false;
    }

    fn used(&mut self, entry: EntryId) {
        self.used[entry.0 as usize] = true;
    }

    fn removed(&mut self, entry: EntryId) {
        self.face.remove(entry);
    }

    /// Moves the hand. Each step clears the use of an entry, so the loop ends.
    fn next(&mut self, _: &EntryList) -> EntryId {
        loop {
            let entry = self.face.first().expect("a page waits");
            if !std::mem::take(&mut self.used[entry.0 as usize]) {
                return entry;
            }
            self.face.move_to_end(entry);
        }
    }

    fn check_loaded(&self, waiting: &EntryList) -> Result<(), String> {
        let holds = self.face.has_same_entries(waiting) && self.used.len() == waiting.places();
        ensure(holds, || "the face of the clock has not the entries that wait".into())
    }
}
