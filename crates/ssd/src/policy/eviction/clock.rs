//! The clock, also called second chance.

use wordline_kernel::state;

use super::{EntryId, EntryList, Eviction};
use crate::ensure::ensure;
use crate::map::LogicalPage;

/// Goes round the pages with a hand: one that was used since the hand passed it stays for another round, the first
/// that was not is let go. New pages come in behind the hand.
#[derive(Default)]
pub struct Clock {
    /// The face of the clock, unrolled: the hand is at its front.
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

    /// Each step of the hand takes back a use, so that the steps are no more than the uses.
    fn next(&mut self, _: &EntryList) -> EntryId {
        loop {
            let entry = self.face.first().expect("a page waits");
            if !std::mem::take(&mut self.used[entry.0 as usize]) {
                return entry;
            }
            self.face.renew(entry);
        }
    }

    fn check_loaded(&self, waiting: &EntryList) -> Result<(), String> {
        let holds = self.face.has_those_of(waiting) && self.used.len() == waiting.places();
        ensure(holds, || "the face of the clock has not the entries that wait".into())
    }
}
