//! Checks of a loaded write buffer.

use wordline_flash::RequestId;
use wordline_kernel::ensure::ensure;

use super::{Buffer, Entry, EntryId, EntryState};

impl Buffer {
    /// Lengths of the lists that follow from the configuration.
    pub(crate) fn shape(&self) -> [usize; 2] {
        [self.entries.len(), self.dirty.places()]
    }

    /// Checks a loaded state. Each entry must be either used or free. Used entries must be found by their
    /// pages, which must be among the first `pages`. Waiting requests must be `known`.
    pub(crate) fn check_loaded(&self, pages: u32, known: impl Fn(RequestId) -> bool) -> Result<(), String> {
        self.check_free()?;
        let is_index = self.index.is_sound(self.entries.len(), self.used().count());
        ensure(is_index, || "the index of the buffer differs from its pages".into())?;
        for (id, entry) in (0..).zip(&self.entries).filter(|(_, entry)| entry.state != EntryState::Free) {
            let is_found = entry.logical.0 < pages && self.find(entry.logical) == Some(EntryId(id));
            ensure(is_found, || format!("page {} of the buffer is not in its index", entry.logical.0))?;
        }
        self.check_dirty()?;
        let again = self.used().filter(|entry| entry.again).map(|entry| entry.again_epoch);
        let epochs = self.used().map(|entry| entry.epoch).chain(again);
        ensure(self.epochs.match_entries(epochs), || {
            "the buffer counts other epochs than its entries have".into()
        })?;
        let heads = self.used().map(|entry| entry.waiters);
        ensure(self.waiters.match_heads(heads, known), || {
            "requests wait for entries that do not exist".into()
        })
    }

    fn check_free(&self) -> Result<(), String> {
        let mut is_free: Vec<bool> =
            self.entries.iter().map(|entry| entry.state == EntryState::Free).collect();
        let count = is_free.iter().filter(|free| **free).count();
        let mut take = |id: &EntryId| is_free.get_mut(id.0 as usize).is_some_and(std::mem::take);
        ensure(count == self.free.len() && self.free.iter().all(&mut take), || {
            "entries are free and in use".into()
        })
    }

    fn check_dirty(&self) -> Result<(), String> {
        let is_dirty = |entry: &&Entry| entry.state == EntryState::Dirty;
        let dirty = self.entries.iter().filter(is_dirty).count();
        let is_list = self.dirty.is_sound() && self.dirty.len() as usize == dirty;
        ensure(is_list && self.dirty.iter().all(|id| is_dirty(&self.get(id))), || {
            "a list without an end".to_owned()
        })?;
        self.eviction.check_loaded(&self.dirty)?;
        let room = |entry: &Entry| u64::from(entry.weight);
        let taken: u64 = self.used().map(room).sum();
        let waiting: u64 = self.used().filter(is_dirty).map(room).sum();
        ensure((taken, waiting) == (self.taken.into(), self.waiting.into()), || {
            format!("the buffer counts {} sectors, {} of them dirty", self.taken, self.waiting)
        })
    }
}
