//! Whether a buffer that was read can be that of the device.

use super::{Buffer, EntryId, EntryState};
use crate::snapshot::ensure;

impl Buffer {
    /// The lengths of the lists whose lengths follow from the configuration.
    pub(crate) fn shape(&self) -> [usize; 2] {
        [self.entries.len(), self.dirty.places()]
    }

    /// Checks what was loaded: entries are in use or free, and are found by their pages, of which there are `pages`.
    pub(crate) fn check_loaded(&self, pages: u32) -> Result<(), String> {
        let is_free = |id: &EntryId| {
            self.entries.get(id.0 as usize).is_some_and(|entry| entry.state == EntryState::Free)
        };
        let free = self.entries.iter().filter(|entry| entry.state == EntryState::Free).count();
        ensure(self.free.iter().all(is_free) && free == self.free.len(), || {
            "entries are free and in use".into()
        })?;
        for (id, entry) in (0..).zip(&self.entries).filter(|(_, entry)| entry.state != EntryState::Free) {
            let is_found = entry.logical.0 < pages && self.find(entry.logical) == Some(EntryId(id));
            ensure(is_found, || format!("the buffer holds page {} and does not find it", entry.logical.0))?;
        }
        let dirty = self.entries.iter().filter(|entry| entry.state == EntryState::Dirty).count();
        ensure(self.dirty.is_sound() && self.dirty.len() as usize == dirty, || "a list without an end".into())
    }
}
