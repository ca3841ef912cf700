//! List of entries in insertion order.

use serde::{Deserialize, Serialize};

wordline_kernel::id! {
    /// Number of an entry of the write buffer or of the read cache.
    EntryId
}

/// Stands for no entry.
pub const NONE: EntryId = EntryId(u32::MAX);

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Link {
    previous: EntryId,
    next: EntryId,
}

/// A list of numbered entries, which contains each entry at most once. Appending an entry, removing any
/// entry, and taking the first one have constant cost.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EntryList {
    links: Vec<Link>,
    first: EntryId,
    last: EntryId,
    len: u32,
}

impl Default for EntryList {
    fn default() -> Self {
        Self::new(0)
    }
}

impl EntryList {
    /// An empty list for the entries from 0 to `entries` (exclusive).
    pub fn new(entries: u32) -> Self {
        let links = vec![Link { previous: NONE, next: NONE }; entries as usize];
        Self { links, first: NONE, last: NONE, len: 0 }
    }

    /// Number of entries in the list.
    #[inline]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether the list is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The first entry.
    #[inline]
    pub fn first(&self) -> Option<EntryId> {
        (self.first != NONE).then_some(self.first)
    }

    /// The entry after `id`.
    #[inline]
    pub fn after(&self, id: EntryId) -> Option<EntryId> {
        let next = self.links[id.0 as usize].next;
        (next != NONE).then_some(next)
    }

    /// All entries, in order.
    pub fn iter(&self) -> impl Iterator<Item = EntryId> + Clone + '_ {
        std::iter::successors(self.first(), |id| self.after(*id))
    }

    /// Number of entries for which the list has slots.
    pub(crate) fn places(&self) -> usize {
        self.links.len()
    }

    /// Whether the links lead from the first entry to the last one, over as many entries as the list has.
    pub(crate) fn is_sound(&self) -> bool {
        let (mut at, mut before) = (self.first, NONE);
        for _ in 0..self.len {
            match self.links.get(at.0 as usize) {
                Some(link) if link.previous == before => (before, at) = (at, link.next),
                _ => return false,
            }
        }
        at == NONE && before == self.last
    }

    /// Whether this list is sound and has the same entries as another sound list, in any order.
    pub(crate) fn has_same_entries(&self, other: &Self) -> bool {
        let mut is_in = vec![false; self.places()];
        let fits = self.is_sound() && (self.places(), self.len) == (other.places(), other.len);
        if fits {
            self.iter().for_each(|id| is_in[id.0 as usize] = true);
        }
        fits && other.iter().all(|id| is_in[id.0 as usize])
    }

    /// Appends an entry that is not in the list.
    #[inline]
    pub fn push(&mut self, id: EntryId) {
        let last = std::mem::replace(&mut self.last, id);
        self.links[id.0 as usize] = Link { previous: last, next: NONE };
        match last {
            NONE => self.first = id,
            other => self.links[other.0 as usize].next = id,
        }
        self.len += 1;
    }

    /// Removes an entry, which must be in the list.
    #[inline]
    pub fn remove(&mut self, id: EntryId) {
        let Link { previous, next } = self.links[id.0 as usize];
        match previous {
            NONE => self.first = next,
            other => self.links[other.0 as usize].next = next,
        }
        match next {
            NONE => self.last = previous,
            other => self.links[other.0 as usize].previous = previous,
        }
        self.len -= 1;
    }

    /// Moves an entry of the list to its end.
    #[inline]
    pub fn move_to_end(&mut self, id: EntryId) {
        self.remove(id);
        self.push(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_a_plain_list(steps in prop::collection::vec((0u32..8, any::<bool>()), 0..100)) {
            let (mut list, mut model) = (EntryList::new(8), Vec::new());
            for (id, renew) in steps.into_iter().map(|(id, renew)| (EntryId(id), renew)) {
                match model.iter().position(|other| *other == id) {
                    None => list.push(id),
                    Some(at) => {
                        model.remove(at);
                        if renew { list.move_to_end(id) } else { list.remove(id) }
                        if !renew {
                            continue;
                        }
                    }
                }
                model.push(id);
                prop_assert_eq!(list.iter().collect::<Vec<_>>(), model.clone());
                prop_assert_eq!((list.first(), list.len() as usize), (model.first().copied(), model.len()));
            }
        }
    }
}
